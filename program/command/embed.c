// SPDX-License-Identifier: MIT
//
// The files are found as a server finds them, and written in the order of their paths, so that the same folder makes the
// same header on every machine. Entity tags are hashes of what is in a file.

#include "command/embed.h"

#include "common/say.h"

#include <skua/skua.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    EMBED_TAG_OCTETS = 16,
    EMBED_ROW = 24,
    EMBED_GAIN = 16,
    EMBED_OCTETS_MIN = 512,
    EMBED_EPOCH_DIGITS_MAX = 12 // dates of 1970 to 9999 have no more
};

typedef struct embed_coding {
    skua_coding coding;
    const char *member;
} embed_coding;

static const embed_coding embed_codings[] = {
    { SKUA_CODING_BROTLI, "br" },
    { SKUA_CODING_ZSTD, "zstd" },
    { SKUA_CODING_GZIP, "gzip" },
};

enum { EMBED_CODINGS = sizeof embed_codings / sizeof *embed_codings };

typedef struct embedding {
    const char *folder, *name;
    skua_root *root;
    char **paths;
    size_t count, room;
    int64_t epoch; // when all files were modified, in seconds since 1970; -1: as each says
    bool failed;
} embedding;

// A folder that is listed, and those that it is in.
typedef struct embed_folder {
    const struct embed_folder *in; // NULL: it is the root
    embedding *of;
    const char *path; // "" for the root
    uint64_t inode;
    unsigned depth;
} embed_folder;

// A file, and what of it is written.
typedef struct embed_file {
    const char *path, *type;
    char *octets;
    size_t len;
    int64_t modified;            // seconds since 1970; 0: none
    size_t coded[EMBED_CODINGS]; // octets of each coding; 0: none
} embed_file;

static void embed_fail(embedding *e, const char *path, const char *why)
{
    say_error("%s%s%s cannot be embedded: %s", e->folder, *path ? "/" : "", path, why);
    e->failed = true;
}

// ---- Finding ----

static bool embed_keep(embedding *e, const char *path)
{
    if (e->count == e->room) {
        size_t room = e->room ? e->room * 2 : 64;
        char **grown = realloc(e->paths, room * sizeof *grown);
        if (!grown) return false;
        e->paths = grown;
        e->room = room;
    }
    e->paths[e->count] = strdup(path);
    return e->paths[e->count] && ++e->count;
}

static bool embed_entry(const char *name, const skua_file_info *info, void *user);

static void embed_list(embed_folder *folder)
{
    skua_status status =
        skua_root_list(folder->of->root, skua_slice_of(folder->path), embed_entry, folder);
    if (status) embed_fail(folder->of, folder->path, skua_status_text(status));
}

// A link may lead back up: such a folder would have no end.
static void embed_descend(const embed_folder *in, const char *path, uint64_t inode)
{
    embed_folder folder = {
        .in = in, .of = in->of, .path = path, .inode = inode, .depth = in->depth + 1
    };
    for (const embed_folder *at = in; at; at = at->in) {
        if (at->inode != inode) continue;
        embed_fail(in->of, path, "a link makes it a part of itself");
        return;
    }
    embed_list(&folder);
}

static bool embed_is_hidden(const embed_folder *folder, const char *name)
{
    return name[0] == '.' && !(folder->depth == 0 && strcmp(name, ".well-known") == 0);
}

static bool embed_entry(const char *name, const skua_file_info *info, void *user)
{
    const embed_folder *folder = user;
    embedding *e = folder->of;
    char path[PATH_MAX];
    if (embed_is_hidden(folder, name)) return true;
    int n = snprintf(path, sizeof path, "%s%s%s", folder->path, *folder->path ? "/" : "", name);
    bool fits = n > 0 && (size_t)n < sizeof path && folder->depth < EMBED_DEPTH_MAX;
    if (!fits) embed_fail(e, folder->path, "folders lie too deep in each other");
    else if (info->kind == SKUA_FILE_DIRECTORY) embed_descend(folder, path, info->inode);
    else if (info->kind == SKUA_FILE_REGULAR && !embed_keep(e, path))
        embed_fail(e, path, skua_status_text(SKUA_ENOMEM));
    return !e->failed;
}

// The order in which a server looks for them.
static int embed_order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// ---- Reading ----

// Builders of images set all times to the beginning of 1970, or a second later: such a time says nothing.
static int64_t embed_modified(const embedding *e, FILE *file)
{
    struct stat info;
    int64_t modified = e->epoch;
    if (modified < 0) modified = fstat(fileno(file), &info) ? 0 : (int64_t)info.st_mtime;
    return modified > 1 ? modified : 0;
}

static char *embed_read(embedding *e, const char *path, size_t *len, int64_t *modified)
{
    char whole[2 * PATH_MAX];
    (void)snprintf(whole, sizeof whole, "%s/%s", e->folder, path);
    FILE *file = fopen(whole, "rb");
    size_t room = 65536;
    char *octets = file ? malloc(room) : NULL;
    *len = 0;
    if (file) *modified = embed_modified(e, file);
    while (octets && !feof(file) && !ferror(file) && *len <= EMBED_OCTETS_MAX) {
        *len += fread(octets + *len, 1, room - *len, file);
        if (*len < room) continue;
        char *grown = realloc(octets, room *= 2);
        if (!grown) free(octets);
        octets = grown;
    }
    bool is_whole = octets && !ferror(file) && *len <= EMBED_OCTETS_MAX;
    if (!file) embed_fail(e, path, "it cannot be opened");
    else if (!is_whole) embed_fail(e, path, octets ? "it is too long" : "memory has run out");
    if (file) (void)fclose(file);
    if (is_whole) return octets;
    free(octets);
    return NULL;
}

// ---- Writing ----

// A text as a literal of C. Octets that are no plain ASCII are written in octal, which cannot swallow what follows.
static void embed_text(const char *text)
{
    (void)putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c > 0x7e || c == '"' || c == '\\' || c == '?') (void)printf("\\%03o", c);
        else (void)putchar(c);
    }
    (void)putchar('"');
}

// An array of no octets is none in C, so there is always one.
static void embed_octets(const embedding *e, size_t index, const char *member, const char *octets,
                         size_t len)
{
    (void)printf("static const unsigned char %s_%zu_%s[] = {", e->name, index, member);
    for (size_t i = 0; i < len; i++)
        (void)printf("%s%u,", i % EMBED_ROW ? "" : "\n    ", (unsigned)(unsigned char)octets[i]);
    (void)puts(len ? "\n};" : " 0 };");
}

static void embed_coded(embedding *e, size_t index, embed_file *file)
{
    size_t room = file->len - file->len / EMBED_GAIN;
    char *out = malloc(room);
    for (size_t i = 0; i < EMBED_CODINGS && out; i++) {
        const skua_slice content = { file->octets, file->len };
        skua_coding coding = embed_codings[i].coding;
        if (!skua_coding_is_built(coding)) continue;
        skua_status status =
            skua_encode(coding, SKUA_EFFORT_BEST, content, out, room, &file->coded[i]);
        if (!status) embed_octets(e, index, embed_codings[i].member, out, file->coded[i]);
        else if (status != SKUA_ELIMIT) embed_fail(e, file->path, skua_status_text(status));
    }
    if (!out) embed_fail(e, file->path, skua_status_text(SKUA_ENOMEM));
    free(out);
}

// A small file has the tag that it has on a disk. That of a larger one would be made of its time there.
static void embed_tag(const embed_file *file)
{
    const skua_slice content = { file->octets, file->len };
    const skua_file_info timeless = { .kind = SKUA_FILE_REGULAR, .size = file->len };
    char tag[SKUA_FILE_ETAG_OCTETS];
    unsigned char digest[SKUA_SHA256_OCTETS];
    if (skua_file_etag(&timeless, content, 0, tag)) {
        embed_text(tag);
        return;
    }
    skua_sha256(content, digest);
    (void)fputs("\"\\\"", stdout);
    for (size_t i = 0; i < EMBED_TAG_OCTETS; i++)
        (void)printf("%02x", digest[i]);
    (void)fputs("\\\"\"", stdout);
}

static void embed_row(const embedding *e, size_t index, const embed_file *file)
{
    (void)printf("#define %s_%zu { ", e->name, index);
    embed_text(file->path);
    (void)fputs(", ", stdout);
    if (strcmp(file->type, "application/octet-stream") == 0) (void)fputs("NULL", stdout);
    else embed_text(file->type);
    (void)fputs(", ", stdout);
    embed_tag(file);
    (void)printf(", { (const char *)%s_%zu_content, %zu }", e->name, index, file->len);
    for (size_t i = 0; i < EMBED_CODINGS; i++) {
        if (file->coded[i])
            (void)printf(", { (const char *)%s_%zu_%s, %zu }", e->name, index,
                         embed_codings[i].member, file->coded[i]);
        else (void)fputs(", { NULL, 0 }", stdout);
    }
    (void)printf(", %lld }\n", (long long)file->modified);
}

static void embed_write(embedding *e, size_t index)
{
    embed_file file = { .path = e->paths[index] };
    file.type = skua_media_type(skua_slice_of(file.path));
    file.octets = embed_read(e, file.path, &file.len, &file.modified);
    if (!file.octets) return;
    embed_octets(e, index, "content", file.octets, file.len);
    if (file.len >= EMBED_OCTETS_MIN && skua_compress_gains(skua_slice_of(file.type)))
        embed_coded(e, index, &file);
    embed_row(e, index, &file);
    free(file.octets);
}

// A list has a member at least, also without files: C has no empty arrays.
static void embed_write_all(embedding *e)
{
    (void)printf("// Files of a folder, made by: skua embed\n#include <skua/skua.h>\n\n");
    for (size_t i = 0; i < e->count && !e->failed; i++)
        embed_write(e, i);
    (void)printf("static const skua_asset %s_list[] = {\n", e->name);
    for (size_t i = 0; i < e->count; i++)
        (void)printf("    %s_%zu,\n", e->name, i);
    if (!e->count)
        (void)puts(
            "    { NULL, NULL, NULL, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, 0 },");
    (void)printf("};\n\nstatic const skua_assets %s = { %s_list, %zu, sizeof(skua_asset) };\n",
                 e->name, e->name, e->count);
}

static bool embed_is_name(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    size_t begins = strspn(name, first);
    return begins && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                       "0123456789")] == '\0';
}

// SOURCE_DATE_EPOCH is how builds that are to be the same each time say what time it is.
static bool embed_epoch(int64_t *epoch)
{
    const char *text = getenv("SOURCE_DATE_EPOCH");
    *epoch = -1;
    if (!text || !*text) return true;
    size_t digits = strspn(text, "0123456789");
    bool is_number = !text[digits] && digits <= EMBED_EPOCH_DIGITS_MAX;
    if (is_number) *epoch = strtoll(text, NULL, 10);
    else say_error("SOURCE_DATE_EPOCH is not a number of seconds: %s", text);
    return is_number;
}

bool embed(const char *folder, const char *name)
{
    embedding e = { .folder = folder, .name = name ? name : "assets" };
    if (!embed_epoch(&e.epoch)) return false;
    if (!embed_is_name(e.name)) {
        say_error("%s is not a name in C", e.name);
        return false;
    }
    skua_status status = skua_root_open(folder, &e.root);
    if (status) {
        embed_fail(&e, "", skua_status_text(status));
        return false;
    }
    embed_list(&(embed_folder){ .of = &e, .path = "" });
    if (e.count) qsort(e.paths, e.count, sizeof *e.paths, embed_order);
    if (!e.failed) embed_write_all(&e);
    for (size_t i = 0; i < e.count; i++)
        free(e.paths[i]);
    free(e.paths);
    skua_root_close(e.root);
    if (fflush(stdout) || ferror(stdout)) embed_fail(&e, "", "standard output cannot be written");
    return !e.failed;
}
