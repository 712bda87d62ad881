// SPDX-License-Identifier: MIT
//
// Numbers of 32 bits become all ones where they do not suffice, and the real one stands in a zip64 field.

#include "archive/zip.h"

#include "archive/utf8.h"

#include <string.h>
#include <time.h>

enum {
    ZIP_VERSION = 20, // folders
    ZIP_VERSION_64 = 45,
    ZIP_BY_UNIX = 3 << 8,
    ZIP_FLAG_FOLLOWS = 1 << 3, // checksum and sizes come behind the content
    ZIP_FLAG_UTF8 = 1 << 11,
    ZIP_EXTRA_64 = 1,
    ZIP_EXTRA_TIME = 0x5455,
    ZIP_EXTRA_TIME_OCTETS = 5,
    ZIP_FEW_MAX = 0xffff
};

#define ZIP_MANY_MAX 0xffffffffu

// ---- Numbers ----

typedef struct zip_text {
    char *piece;
    size_t len;
} zip_text;

static void zip_number(zip_text *to, uint64_t number, unsigned octets)
{
    for (unsigned i = 0; i < octets; i++)
        to->piece[to->len++] = (char)(unsigned char)(number >> 8 * i);
}

static void zip_two(zip_text *to, unsigned number)
{
    zip_number(to, number, 2);
}

// All ones where it does not suffice.
static void zip_four(zip_text *to, uint64_t number)
{
    zip_number(to, number < ZIP_MANY_MAX ? number : ZIP_MANY_MAX, 4);
}

static void zip_add(zip_text *to, const char *octets, size_t len)
{
    memcpy(to->piece + to->len, octets, len);
    to->len += len;
}

static bool zip_is_large(uint64_t number)
{
    return number >= ZIP_MANY_MAX;
}

// ---- What is said of a member twice ----

// In UTC, from 1980 to 2107; the time of ZIP_EXTRA_TIME counts for all who know it.
static uint32_t zip_dos_time(int64_t mtime_s)
{
    struct tm t;
    time_t time = (time_t)mtime_s;
    if (mtime_s < 315532800) return 1u << 21 | 1u << 16;
    if (!gmtime_r(&time, &t) || t.tm_year > 207) return 127u << 25 | 12u << 21 | 31u << 16;
    return (uint32_t)(t.tm_year - 80) << 25 | (uint32_t)(t.tm_mon + 1) << 21 |
           (uint32_t)t.tm_mday << 16 | (uint32_t)t.tm_hour << 11 | (uint32_t)t.tm_min << 5 |
           (uint32_t)t.tm_sec / 2;
}

// Nothing follows where nothing is to be said: those that read from a pipe can then go on at once.
static bool zip_follows(const archive_member *member)
{
    return member->size > 0;
}

static unsigned zip_flags(const archive_member *member)
{
    unsigned flags = zip_follows(member) ? ZIP_FLAG_FOLLOWS : 0;
    return utf8_is_right(member->name, member->name_len) ? flags | ZIP_FLAG_UTF8 : flags;
}

static bool zip_has_time(const archive_member *member)
{
    return member->mtime_s >= INT32_MIN && member->mtime_s <= INT32_MAX;
}

static void zip_add_time(zip_text *to, const archive_member *member)
{
    if (!zip_has_time(member)) return;
    zip_two(to, ZIP_EXTRA_TIME);
    zip_two(to, ZIP_EXTRA_TIME_OCTETS);
    zip_number(to, 1, 1); // that of modification
    zip_number(to, (uint64_t)member->mtime_s, 4);
}

static unsigned zip_time_octets(const archive_member *member)
{
    return zip_has_time(member) ? 4 + ZIP_EXTRA_TIME_OCTETS : 0;
}

// Version, flags, method and time: alike in the head and in the list.
static void zip_add_kind(zip_text *to, const archive_member *member, bool is_64)
{
    zip_two(to, is_64 ? ZIP_VERSION_64 : ZIP_VERSION);
    zip_two(to, zip_flags(member));
    zip_two(to, 0); // stored
    zip_number(to, zip_dos_time(member->mtime_s), 4);
}

// ---- The pieces ----

static size_t zip_head(const archive_member *member, char *piece)
{
    zip_text to = { piece, 0 };
    bool is_64 = zip_is_large(member->size);
    zip_number(&to, 0x04034b50, 4);
    zip_add_kind(&to, member, is_64);
    zip_number(&to, 0, 4);
    zip_four(&to, is_64 ? ZIP_MANY_MAX : 0);
    zip_four(&to, is_64 ? ZIP_MANY_MAX : 0);
    zip_two(&to, (unsigned)member->name_len);
    zip_two(&to, zip_time_octets(member) + (is_64 ? 20u : 0u));
    zip_add(&to, member->name, member->name_len);
    zip_add_time(&to, member);
    if (is_64) { // its being there says that what follows the content has eight octets for each size
        zip_two(&to, ZIP_EXTRA_64);
        zip_two(&to, 16);
        zip_number(&to, 0, 8);
        zip_number(&to, 0, 8);
    }
    return to.len;
}

static size_t zip_tail(const archive_member *member, char *piece)
{
    zip_text to = { piece, 0 };
    unsigned octets = zip_is_large(member->size) ? 8 : 4;
    if (!zip_follows(member)) return 0;
    zip_number(&to, 0x08074b50, 4);
    zip_number(&to, member->crc, 4);
    zip_number(&to, member->size, octets);
    zip_number(&to, member->size, octets);
    return to.len;
}

// Only what does not suffice above stands here, in this order.
static void zip_add_64(zip_text *to, const archive_member *member)
{
    bool has_size = zip_is_large(member->size), has_offset = zip_is_large(member->offset);
    if (!has_size && !has_offset) return;
    zip_two(to, ZIP_EXTRA_64);
    zip_two(to, (has_size ? 16u : 0u) + (has_offset ? 8u : 0u));
    if (has_size) zip_number(to, member->size, 8);
    if (has_size) zip_number(to, member->size, 8);
    if (has_offset) zip_number(to, member->offset, 8);
}

static unsigned zip_64_octets(const archive_member *member)
{
    char piece[64];
    zip_text to = { piece, 0 };
    zip_add_64(&to, member);
    return (unsigned)to.len;
}

static size_t zip_entry(const archive_member *member, char *piece)
{
    zip_text to = { piece, 0 };
    bool is_64 = zip_64_octets(member) > 0;
    uint64_t mode = member->is_folder ? 040755 : 0100644;
    zip_number(&to, 0x02014b50, 4);
    zip_two(&to, ZIP_BY_UNIX | ZIP_VERSION_64);
    zip_add_kind(&to, member, is_64);
    zip_number(&to, member->crc, 4);
    zip_four(&to, member->size);
    zip_four(&to, member->size);
    zip_two(&to, (unsigned)member->name_len);
    zip_two(&to, zip_time_octets(member) + zip_64_octets(member));
    zip_two(&to, 0); // no comment
    zip_two(&to, 0); // the first disk
    zip_two(&to, 0);
    zip_number(&to, mode << 16 | (member->is_folder ? 0x10 : 0), 4);
    zip_four(&to, member->offset);
    zip_add(&to, member->name, member->name_len);
    zip_add_time(&to, member);
    zip_add_64(&to, member);
    return to.len;
}

static void zip_add_end_64(zip_text *to, const archive_index *index)
{
    zip_number(to, 0x06064b50, 4);
    zip_number(to, 44, 8); // octets of it that follow
    zip_two(to, ZIP_BY_UNIX | ZIP_VERSION_64);
    zip_two(to, ZIP_VERSION_64);
    zip_number(to, 0, 8); // two disks
    zip_number(to, index->count, 8);
    zip_number(to, index->count, 8);
    zip_number(to, index->octets, 8);
    zip_number(to, index->offset, 8);
    zip_number(to, 0x07064b50, 4); // where that stands
    zip_number(to, 0, 4);
    zip_number(to, index->offset + index->octets, 8);
    zip_number(to, 1, 4);
}

static size_t zip_end(const archive_index *index, char *piece)
{
    zip_text to = { piece, 0 };
    bool is_many = index->count >= ZIP_FEW_MAX;
    unsigned count = is_many ? ZIP_FEW_MAX : (unsigned)index->count;
    if (is_many || zip_is_large(index->offset) || zip_is_large(index->octets))
        zip_add_end_64(&to, index);
    zip_number(&to, 0x06054b50, 4);
    zip_number(&to, 0, 4); // two disks
    zip_two(&to, count);
    zip_two(&to, count);
    zip_four(&to, index->octets);
    zip_four(&to, index->offset);
    zip_two(&to, 0);
    return to.len;
}

const archive_format zip_format = { .name = "zip",
                                    .type = "application/zip",
                                    .head = zip_head,
                                    .tail = zip_tail,
                                    .entry = zip_entry,
                                    .end = zip_end };
