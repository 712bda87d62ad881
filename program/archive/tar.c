// SPDX-License-Identifier: MIT

#include "archive/tar.h"

#include "archive/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    TAR_BLOCK_OCTETS = 512,
    TAR_NAME_OCTETS = 100,
    TAR_CHECKSUM_AT = 148,
    TAR_CHECKSUM_OCTETS = 8
};

// The most that eleven octal digits can say: of a size, and of a time in seconds.
#define TAR_NUMBER_MAX 077777777777

// Where each field of a header stands, and how long it is, with the NUL at its end.
typedef struct tar_field {
    size_t at, octets;
} tar_field;

static const tar_field tar_mode = { 100, 8 }, tar_owner = { 108, 8 }, tar_group = { 116, 8 },
                       tar_size = { 124, 12 }, tar_mtime = { 136, 12 };

static void tar_number(char *block, tar_field field, uint64_t number)
{
    (void)snprintf(block + field.at, field.octets, "%0*" PRIo64, (int)field.octets - 1, number);
}

// The sum of all octets, with its own field as if it were spaces.
static void tar_seal(char *block)
{
    unsigned sum = 0;
    memset(block + TAR_CHECKSUM_AT, ' ', TAR_CHECKSUM_OCTETS);
    for (size_t i = 0; i < TAR_BLOCK_OCTETS; i++)
        sum += (unsigned char)block[i];
    (void)snprintf(block + TAR_CHECKSUM_AT, TAR_CHECKSUM_OCTETS, "%06o", sum); // NUL, and a space
}

// A name or number that does not fit is cut: a pax header in front of it then says it in full.
static void tar_header(char *block, char kind, const char *name, size_t name_len, uint64_t size,
                       int64_t mtime_s)
{
    bool has_time = mtime_s >= 0 && mtime_s <= TAR_NUMBER_MAX;
    memset(block, 0, TAR_BLOCK_OCTETS);
    memcpy(block, name, name_len < TAR_NAME_OCTETS ? name_len : TAR_NAME_OCTETS);
    tar_number(block, tar_mode, kind == '5' ? 0755 : 0644);
    tar_number(block, tar_owner, 0);
    tar_number(block, tar_group, 0);
    tar_number(block, tar_size, size <= TAR_NUMBER_MAX ? size : 0);
    tar_number(block, tar_mtime, has_time ? (uint64_t)mtime_s : 0);
    block[156] = kind;
    memcpy(block + 257,
           "ustar\0"
           "00",
           8);
    tar_seal(block);
}

// ---- Beyond ustar ----

typedef struct tar_records {
    char *text;
    size_t len;
} tar_records;

// A record counts its own octets, those of the number too: "12 size=123\n".
static void tar_record(tar_records *to, const char *key, const char *value, size_t value_len)
{
    size_t rest = strlen(key) + value_len + 3, all = rest + 1;
    char number[24];
    int digits = 0;
    while (rest + (size_t)(digits = snprintf(number, sizeof number, "%zu", all)) != all)
        all = rest + (size_t)digits;
    int head = snprintf(to->text + to->len, all, "%s %s=", number, key);
    memcpy(to->text + to->len + head, value, value_len);
    to->text[to->len + all - 1] = '\n';
    to->len += all;
}

static void tar_number_record(tar_records *to, const char *key, int64_t number)
{
    char value[24];
    int len = snprintf(value, sizeof value, "%" PRId64, number);
    tar_record(to, key, value, (size_t)len);
}

// A name that is not UTF-8 says so; a short one needs no record, and means its octets.
static void tar_records_of(tar_records *to, const archive_member *member)
{
    bool is_text = utf8_is_right(member->name, member->name_len);
    bool is_long = member->name_len > TAR_NAME_OCTETS;
    bool is_plain = utf8_is_ascii(member->name, member->name_len) || !is_text;
    if (is_long && !is_text) tar_record(to, "hdrcharset", "BINARY", 6);
    if (is_long || !is_plain) tar_record(to, "path", member->name, member->name_len);
    if (member->size > TAR_NUMBER_MAX) tar_number_record(to, "size", (int64_t)member->size);
    if (member->mtime_s < 0 || member->mtime_s > TAR_NUMBER_MAX)
        tar_number_record(to, "mtime", member->mtime_s);
}

static size_t tar_padding(uint64_t octets)
{
    return (size_t)(-octets % TAR_BLOCK_OCTETS);
}

static size_t tar_head(const archive_member *member, char *piece)
{
    static const char name[] = "PaxHeader";
    tar_records records = { piece + TAR_BLOCK_OCTETS, 0 };
    size_t before = 0;
    tar_records_of(&records, member);
    if (records.len) {
        size_t padding = tar_padding(records.len);
        tar_header(piece, 'x', name, sizeof name - 1, records.len, member->mtime_s);
        memset(records.text + records.len, 0, padding);
        before = TAR_BLOCK_OCTETS + records.len + padding;
    }
    tar_header(piece + before, member->is_folder ? '5' : '0', member->name, member->name_len,
               member->size, member->mtime_s);
    return before + TAR_BLOCK_OCTETS;
}

static size_t tar_tail(const archive_member *member, char *piece)
{
    size_t padding = tar_padding(member->size);
    memset(piece, 0, padding);
    return padding;
}

static size_t tar_end(const archive_index *index, char *piece)
{
    (void)index;
    memset(piece, 0, (size_t)2 * TAR_BLOCK_OCTETS);
    return (size_t)2 * TAR_BLOCK_OCTETS;
}

const archive_format tar_format = {
    .name = "tar", .type = "application/x-tar", .head = tar_head, .tail = tar_tail, .end = tar_end
};
