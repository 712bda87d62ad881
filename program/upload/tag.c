// SPDX-License-Identifier: MIT

#include "upload/tag.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __APPLE__
#define TAG_WRITTEN(info) ((info)->st_mtimespec)
#define TAG_CHANGED(info) ((info)->st_ctimespec)
#else
#define TAG_WRITTEN(info) ((info)->st_mtim)
#define TAG_CHANGED(info) ((info)->st_ctim)
#endif

enum { TAG_BUFFER_OCTETS = 1 << 16, TAG_UNSETTLED_S = 2 };

static const int64_t tag_second_ns = 1000000000;

static int64_t tag_ns(struct timespec time)
{
    return (int64_t)time.tv_sec * tag_second_ns + time.tv_nsec;
}

int64_t upload_tag_mtime_ns(const struct stat *info)
{
    return tag_ns(TAG_WRITTEN(info));
}

// A file that has just changed may change again within a tick of its clock: its tag is weak.
static bool tag_is_weak(const upload_file *file, int64_t unix_ns)
{
    return tag_ns(TAG_CHANGED(&file->found)) > unix_ns - TAG_UNSETTLED_S * tag_second_ns;
}

// No client knows it, and If-Match finds no weak one.
static void tag_set_unknown(upload_file *file)
{
    file->etag_len = (size_t)snprintf(file->etag, sizeof file->etag, "W/\"-\"");
}

static bool tag_open(upload_file *file)
{
    file->hashed = openat(file->above, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return file->hashed >= 0;
}

// How many octets were read; fewer than wanted: the file is shorter, or cannot be read.
static size_t tag_read(const upload_file *file, char *octets, size_t wanted)
{
    size_t got = 0;
    ssize_t n = 1;
    while (got < wanted && (n = read(file->hashed, octets + got, wanted - got)) > 0)
        got += (size_t)n;
    return got;
}

// By its content up to UPLOAD_HASHED_OCTETS, and by its size and times above.
static void tag_make(upload_file *file, int64_t unix_ns)
{
    char content[UPLOAD_HASHED_OCTETS];
    const skua_file_info info = {
        .size = (uint64_t)file->found.st_size,
        .mtime_ns = upload_tag_mtime_ns(&file->found),
        .ctime_ns = tag_ns(TAG_CHANGED(&file->found)),
    };
    size_t len = info.size <= sizeof content ? (size_t)info.size : 0;
    bool is_read = !len || (tag_open(file) && tag_read(file, content, len) == len);
    upload_tag_end(file);
    if (!is_read) return;
    file->etag_len = skua_file_etag(&info, (skua_slice){ content, len }, unix_ns, file->etag);
    if (!file->etag_len) tag_set_unknown(file);
}

// As SKUA_ETAGS_STAT has it for files of any size, but for those whose time says nothing.
static void tag_make_by_time(upload_file *file, int64_t unix_ns)
{
    int64_t mtime_ns = upload_tag_mtime_ns(&file->found);
    bool says_nothing = mtime_ns >= -tag_second_ns && mtime_ns <= tag_second_ns;
    if (!says_nothing)
        file->etag_len =
            (size_t)snprintf(file->etag, sizeof file->etag, "%s\"%llx-%llx\"",
                             tag_is_weak(file, unix_ns) ? "W/" : "",
                             (unsigned long long)file->found.st_size, (unsigned long long)mtime_ns);
}

void upload_tag_begin(upload_file *file, skua_etags etags, int64_t unix_ns)
{
    tag_set_unknown(file);
    switch (etags) {
    case SKUA_ETAGS_CONTENT:
        file->is_unhashed = file->found.st_size > UPLOAD_HASHED_OCTETS;
        if (!file->is_unhashed) tag_make(file, unix_ns);
        break;
    case SKUA_ETAGS_AUTO: tag_make(file, unix_ns); break;
    case SKUA_ETAGS_STAT: tag_make_by_time(file, unix_ns); break;
    case SKUA_ETAGS_OFF: break;
    }
}

// The file that was found, and as long as it was: another one would have another tag.
static bool tag_is_of_found(const upload_file *file)
{
    struct stat now;
    return fstat(file->hashed, &now) == 0 && now.st_ino == file->found.st_ino &&
           now.st_size == file->found.st_size &&
           upload_tag_mtime_ns(&now) == upload_tag_mtime_ns(&file->found);
}

// made: of all octets; else they could not be read.
static void tag_conclude(upload_file *file, bool made, int64_t unix_ns)
{
    char hashed[SKUA_FILE_ETAG_OCTETS];
    int len = made && tag_is_of_found(file) ? (int)skua_etag_hash_end(&file->hash, hashed) : 0;
    if (len)
        file->etag_len = (size_t)snprintf(file->etag, sizeof file->etag, "%s%.*s",
                                          tag_is_weak(file, unix_ns) ? "W/" : "", len, hashed);
    file->is_unhashed = false;
    upload_tag_end(file);
}

void upload_tag_go_on(upload_file *file, int64_t unix_ns)
{
    char octets[TAG_BUFFER_OCTETS];
    uint64_t size = (uint64_t)file->found.st_size;
    uint64_t end = file->hashed_octets + UPLOAD_TAG_SLICE_OCTETS;
    bool is_read = file->hashed >= 0 || tag_open(file);
    if (end > size) end = size;
    while (is_read && file->hashed_octets < end) {
        uint64_t left = end - file->hashed_octets;
        size_t wanted = left < sizeof octets ? (size_t)left : sizeof octets;
        is_read = tag_read(file, octets, wanted) == wanted;
        if (is_read) skua_etag_hash_add(&file->hash, (skua_slice){ octets, wanted });
        file->hashed_octets += wanted;
    }
    if (!is_read || end == size) tag_conclude(file, is_read, unix_ns);
}

void upload_tag_end(upload_file *file)
{
    if (file->hashed >= 0) (void)close(file->hashed);
    file->hashed = -1;
}
