// SPDX-License-Identifier: MIT
//
// Site: a directory that is served at a path, and its configuration. Written before the server
// starts, read by every worker afterwards.
#ifndef SKUA_FILES_SITE_H
#define SKUA_FILES_SITE_H

#include "base/slice.h"

#include "http/coding.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    SITE_COMPRESSED_BUCKETS = 64,
    SITE_TYPES_MAX = 64,
    SITE_TRIES_MAX = 16,
    SITE_CACHE_OCTETS = 16 << 20, // of each worker, where nothing else is said
    SITE_CACHE_ENTRIES = 1024,
    SITE_CACHE_ENTRIES_MAX = 1 << 20
};

// A media type of a site's own.
typedef struct site_media {
    char *ending, *type;
} site_media;

typedef struct skua_directory {
    struct {
        atomic_uint refs;     // its routes', and those of the workers' caches
        pthread_mutex_t lock; // of what follows
        struct compressed *compressed[SITE_COMPRESSED_BUCKETS];
    } shared;
    skua_server *server;
    skua_root *root;
    unsigned local_key;          // of the workers' caches
    struct skua_directory *next; // of those that forms.h has
    size_t prefix_len;           // octets of a request's path before the name beneath the root
    char *index;                 // name of the file that answers for its directory
    char *cache_control;         // NULL: none
    bool list;
    char *list_markup, *list_script, *list_policy; // of their pages; NULL: none, or the usual one
    const char *(*list_markup_of)(slice path, void *user); // NULL: list_markup is for all
    void *list_markup_user;
    bool dotfiles;
    bool clean_urls;
    bool precompressed;
    bool compress;
    unsigned
        codings; // in which files are compressed or lie compressed; a bit for each content_coding
    content_coding order[CODING_COUNT - 1]; // these, the one that is best first
    unsigned order_count;
    char *name;      // of its routes; NULL: none
    char *fallback;  // NULL: none
    char *not_found; // NULL: none
    site_media *types;
    size_t types_count;
    char **tries; // with SITE_TRY_PATH in them
    size_t tries_count;
    skua_etags etags;
    size_t cache_octets_max;
    size_t small_octets_max;
    // the largest file that is kept in memory once it is asked for often
    size_t kept_octets_max;       // over TLS
    size_t kept_clear_octets_max; // in the clear
    size_t listings_octets_max;
    unsigned cache_entries_max;
    unsigned ranges_max;         // at most RANGES_MAX
    skua_file_decide_fn *decide; // NULL: every file is sent
    void *decide_user;
} site;

// The part of one of the tries that the path stands for which was asked for.
#define SITE_TRY_PATH "{path}"

// Whether one of the site's own rules hides name, a path beneath its root: a segment begins with
// ".", and it is not the first one and ".well-known" (RFC 8615), which is to be a directory.
bool site_hides(const site *s, slice name);

// The media type that the site has for files of that name; NULL: none of its own.
const char *site_type(const site *s, slice name);

// For every name it has a use of: one more, or one fewer. The last one closes the directory.
// Thread: any.
site *site_hold(site *s);
void site_let_go(site *s);

// How many sites there are in this process, at least 1: they share the file descriptors.
unsigned site_count(void);

// One more, or one fewer.
void site_comes(void);
void site_leaves(void);

#endif
