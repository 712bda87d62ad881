// SPDX-License-Identifier: MIT
//
// Links to folders are followed as requests follow them, so that a folder may be found below itself: there it is left
// out. It is known by its number and the time of its last change, as numbers alone repeat on other file systems.

#include "archive/walk.h"

#include "archive/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WALK_PATH_OCTETS = 2 * ARCHIVE_NAME_OCTETS_MAX };

#ifdef __APPLE__
#define WALK_WRITTEN(info) ((info).st_mtimespec)
#define WALK_CHANGED(info) ((info).st_ctimespec)
#else
#define WALK_WRITTEN(info) ((info).st_mtim)
#define WALK_CHANGED(info) ((info).st_ctim)
#endif

static bool walk_fail(archive_walk *walk, int status, const char *sentence)
{
    walk->status = status;
    walk->sentence = sentence;
    return false;
}

// ---- Entries ----

static bool walk_has_room(archive_walk *walk, size_t name_octets)
{
    if (walk->count == walk->room) {
        size_t room = walk->room ? 2 * walk->room : 64;
        archive_entry *more = realloc(walk->entries, room * sizeof *more);
        if (!more) return walk_fail(walk, 503, "");
        walk->entries = more;
        walk->room = room;
    }
    while (walk->names_room - walk->names_len < name_octets) {
        size_t room = walk->names_room ? 2 * walk->names_room : 4096;
        char *more = realloc(walk->names, room);
        if (!more) return walk_fail(walk, 503, "");
        walk->names = more;
        walk->names_room = room;
    }
    return true;
}

static bool walk_is_bounded(archive_walk *walk, size_t name_octets, unsigned depth)
{
    if (walk->count == ARCHIVE_ENTRIES_MAX)
        return walk_fail(walk, 403, "The folder has more files than an archive may have, 65536.");
    if (name_octets > ARCHIVE_PATH_OCTETS_MAX ||
        walk->names_len + name_octets > ARCHIVE_NAMES_OCTETS_MAX)
        return walk_fail(walk, 403, "The names of the folder's files are too long for an archive.");
    if (depth > ARCHIVE_DEPTH_MAX)
        return walk_fail(walk, 403, "The folder has folders deeper than an archive may have, 64.");
    return true;
}

static archive_entry walk_entry(const skua_file_info *info)
{
    return (archive_entry){ .is_folder = info->kind == SKUA_FILE_DIRECTORY,
                            .is_in = true,
                            .inode = info->inode,
                            .ctime_ns = info->ctime_ns,
                            .mtime_s = info->mtime_ns / 1000000000 };
}

static const char *walk_name(const archive_walk *walk, const archive_entry *entry)
{
    return walk->names + entry->name_at;
}

static void walk_write(archive_walk *walk, const char *octets, size_t len)
{
    memcpy(walk->names + walk->names_len, octets, len);
    walk->names_len += len;
}

// name: in the folder that is being looked at. The octets of its entry's name are those of the folder's, and these.
static bool walk_add(archive_walk *walk, const char *name, const skua_file_info *info)
{
    archive_entry added = walk_entry(info);
    size_t own = strlen(name), above = walk->entries[walk->next].name_len;
    added.name_at = (uint32_t)walk->names_len;
    added.name_len = (uint32_t)(above + own + added.is_folder);
    added.above = (uint32_t)walk->next;
    added.depth = (uint16_t)(walk->entries[walk->next].depth + added.is_folder);
    if (!walk_is_bounded(walk, added.name_len, added.depth) || !walk_has_room(walk, added.name_len))
        return false;
    walk_write(walk, walk_name(walk, &walk->entries[walk->next]), above);
    walk_write(walk, name, own);
    if (added.is_folder) walk_write(walk, "/", 1);
    walk->entries[walk->count++] = added;
    return true;
}

// ---- Left out ----

static bool walk_is_around(const archive_walk *walk, const skua_file_info *info)
{
    size_t at = walk->next;
    for (;;) {
        const archive_entry *entry = &walk->entries[at];
        if (entry->inode == info->inode && entry->ctime_ns == info->ctime_ns) return true;
        if (at == 0) return false;
        at = entry->above;
    }
}

static bool walk_may(const archive_walk *walk, const char *name, bool is_folder)
{
    char path[WALK_PATH_OCTETS];
    const archive_entry *above = &walk->entries[walk->next];
    int len = snprintf(path, sizeof path, "%s%.*s%s%s", walk->path, (int)above->name_len,
                       walk_name(walk, above), name, is_folder ? "/" : "");
    if (len < 0 || (size_t)len >= sizeof path) return false;
    return !walk->may || walk->may(walk->user, path, (size_t)len);
}

// A request would not get these: hidden names, what is no file, and names with a "\", which no path of a request may have
// and which some programs take for a "/".
static bool walk_takes(const archive_walk *walk, const char *name, const skua_file_info *info)
{
    bool is_folder = info->kind == SKUA_FILE_DIRECTORY;
    if (name[0] == '.' && !walk->has_hidden) return false;
    if (info->kind == SKUA_FILE_OTHER || strchr(name, '\\')) return false;
    return walk_may(walk, name, is_folder) && !(is_folder && walk_is_around(walk, info));
}

static bool walk_each(const char *name, const skua_file_info *info, void *user)
{
    archive_walk *walk = user;
    walk->looked++;
    return !walk_takes(walk, name, info) || walk_add(walk, name, info);
}

// ---- Steps ----

// The folder itself: where it is found again below itself it is known.
static bool walk_begin(archive_walk *walk)
{
    char path[WALK_PATH_OCTETS];
    struct stat found = { 0 };
    int len = snprintf(path, sizeof path, "%s/%s", walk->folder, walk->path + walk->root_octets);
    if (len < 0 || (size_t)len >= sizeof path) return walk_fail(walk, 404, "");
    (void)stat(path, &found); // where it is not there, the list of it says so
    const skua_file_info info = {
        .kind = SKUA_FILE_DIRECTORY,
        .inode = found.st_ino,
        .mtime_ns = (int64_t)WALK_WRITTEN(found).tv_sec * 1000000000,
        .ctime_ns = (int64_t)WALK_CHANGED(found).tv_sec * 1000000000 + WALK_CHANGED(found).tv_nsec,
    };
    if (!walk_has_room(walk, 1)) return false;
    walk->entries[walk->count++] = walk_entry(&info);
    return true;
}

// A folder that went since it was found is left out, and so is what is in one that may not be read. All else that is
// missing would make an archive that looks whole and is not.
static void walk_judge(archive_walk *walk, skua_status status)
{
    archive_entry *entry = &walk->entries[walk->next];
    bool is_gone = status == SKUA_ENOENT || status == SKUA_EACCES;
    if (!status || walk->status) return;
    if (is_gone && walk->next == 0) (void)walk_fail(walk, 404, "");
    else if (is_gone) entry->is_in = false;
    else (void)walk_fail(walk, status == SKUA_EIO ? 500 : 503, "");
}

static void walk_list(archive_walk *walk)
{
    char path[WALK_PATH_OCTETS];
    const archive_entry *entry = &walk->entries[walk->next];
    int len = snprintf(path, sizeof path, "%s%.*s", walk->path + walk->root_octets,
                       (int)entry->name_len, walk_name(walk, entry));
    bool fits = len >= 0 && (size_t)len < sizeof path;
    skua_status status = SKUA_ENOENT;
    if (fits)
        status = skua_root_list(walk->root, (skua_slice){ path, (size_t)len }, walk_each, walk);
    walk_judge(walk, status);
}

// ---- Order ----

typedef struct walk_sorted {
    const char *name;
    size_t len;
    archive_entry entry;
} walk_sorted;

static int walk_compare(const void *a, const void *b)
{
    const walk_sorted *one = a, *other = b;
    size_t len = one->len < other->len ? one->len : other->len;
    int order = memcmp(one->name, other->name, len);
    return order ? order : (one->len > other->len) - (one->len < other->len);
}

// By name, so that an archive of the same files is the same each time, and folders come before what is in them.
static bool walk_sort(archive_walk *walk)
{
    walk_sorted *all = malloc(walk->count * sizeof *all);
    if (!all) return walk_fail(walk, 503, "");
    for (size_t i = 0; i < walk->count; i++) {
        const archive_entry *entry = &walk->entries[i];
        all[i] = (walk_sorted){ walk_name(walk, entry), entry->name_len, *entry };
    }
    qsort(all, walk->count, sizeof *all, walk_compare);
    for (size_t i = 0; i < walk->count; i++)
        walk->entries[i] = all[i].entry;
    free(all);
    return true;
}

void archive_walk_on(archive_walk *walk)
{
    walk->looked = 0;
    if (!walk->count && !walk_begin(walk)) return;
    for (; walk->next < walk->count && walk->looked < ARCHIVE_STEP_ENTRIES && !walk->status;
         walk->next++, walk->looked++)
        if (walk->entries[walk->next].is_folder) walk_list(walk);
    if (walk->status || walk->next < walk->count) return;
    walk->is_complete = walk_sort(walk);
}

void archive_walk_free(archive_walk *walk)
{
    free(walk->entries);
    free(walk->names);
    walk->entries = NULL;
    walk->names = NULL;
}
