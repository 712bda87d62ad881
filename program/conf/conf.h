// SPDX-License-Identifier: MIT
//
// A configuration: the content of skua.conf, checked and ready to be served.
#ifndef PROGRAM_CONF_CONF_H
#define PROGRAM_CONF_CONF_H

#include "conf/network.h"
#include "conf/reader.h"
#include "conf/users.h"

#include <skua/skua.h>

#include <stdatomic.h>

enum {
    CONF_LISTENS_MAX = 16, // as many as a server may have
    CONF_CERTIFICATES_MAX = 256,
    CONF_PRELOADS_MAX = 16,
    CONF_AROUND_MAX =
        60 // limits and passwords of a site and its paths; the library has room for a few more
};

typedef struct conf_listen {
    const char *address;
    bool tls;
    conf_place at;
} conf_listen;

// A share of one client. It holds for all sites together that have it from the defaults. One of the three is given.
typedef struct conf_limit {
    double per_s, burst; // requests; burst: 0: as many as per_s
    double octets_per_s;
    unsigned running_max; // requests at once
    const char *methods;  // that it is for, with spaces between them; NULL: all
    conf_place at;
    struct skua_limit *table; // where the client's requests are counted; NULL: it is not built yet
    struct conf_limit *next;
} conf_limit;

// Who may come at all: all but these networks, or these alone.
typedef struct conf_door {
    bool is_for_them; // these alone
    const conf_network *networks;
    unsigned count;
    const char *methods; // as those of a limit
    conf_place at;
    struct conf_door *outer; // that holds, too; NULL: none
} conf_door;

typedef struct conf_guard conf_guard;
typedef struct conf_upload conf_upload;
typedef struct archive_folder archive_folder;

// Who has to name himself, or that those of outer blocks need not.
typedef struct conf_lock {
    conf_secret secret;
    conf_guard *guard;   // NULL: the outer ones are taken away
    const char *methods; // as those of a limit
    conf_place at;
    struct conf_lock *outer; // that holds, too; NULL: none
} conf_lock;

// A field of responses.
typedef struct conf_field {
    const char *name;
    const char *value; // NULL: there is none, whatever an outer scope says
    struct conf_field *next;
} conf_field;

// The content of responses with that status.
typedef struct conf_page {
    int status;
    const char *type;
    skua_slice content;
    struct conf_page *next;
} conf_page;

// A file that pages will need: a value of Link.
typedef struct conf_preload {
    const char *link;
    struct conf_preload *next;
} conf_preload;

// The media type of names that end so.
typedef struct conf_media {
    const char *ending, *type;
    struct conf_media *next;
} conf_media;

// Which requests have a line in the access log.
typedef enum conf_logged { CONF_LOGGED_ALL, CONF_LOGGED_ERRORS, CONF_LOGGED_NONE } conf_logged;

// The folder that a root was when it was last looked at.
typedef struct conf_root {
    uint64_t device, number;
    bool is_gone;
} conf_root;

// The rules of a path and all below it. Inner values replace outer ones; doors, passwords and limits add up.
typedef struct conf_scope {
    const char *path; // begins with "/", and ends with it unless it is exact
    bool is_exact;    // of that path alone, and of none below it
    conf_place at;
    const char *root; // its own; NULL: none
    conf_place root_at;
    conf_root root_seen;             // by the watch alone, once it is served
    skua_directory_config directory; // of roots
    conf_media *types;               // the first that fits counts
    bool is_app;                     // its index answers for what is not found
    const char *const *tries;        // paths that are tried before that, without the "/" in front
    size_t tries_count;
    skua_directory *opened; // its root, while sites are built of it
    bool compresses;
    bool has_security_fields;
    bool has_request_ids;   // each request has an id, in its response and in the log
    const char *hsts;       // a value of Strict-Transport-Security; NULL: none
    const char *origins;    // whose pages may read what is here; NULL: none
    const char *cache;      // a value of Cache-Control; NULL: none
    bool is_cache_off;      // pages of HTML have none either
    conf_field *fields;     // the first of a name counts
    conf_preload *preloads; // the last one first
    conf_page *pages;       // the first of a status counts
    conf_logged logged;
    conf_door *doors;        // all that hold, the innermost first
    conf_lock *locks;        // all that hold, the innermost first
    conf_limit *limits;      // its own, and at a site those of the defaults
    conf_upload *upload;     // that takes files here; NULL: none does
    unsigned archives;       // formats that its folders are sent in: a bit for each
    const char *archives_of; // the path of the scope that says so
    conf_place archives_at;
    archive_folder *archived; // its root, for archives; NULL: there are none of it
    struct conf_scope *next;
} conf_scope;

typedef struct conf_redirect {
    const char *pattern, *to;
    int status;
    conf_place at;
    struct conf_redirect *next;
} conf_redirect;

// Files of another path answer.
typedef struct conf_rewrite {
    const char *pattern, *to;
    conf_place at;
    const struct conf_site *site;
    struct conf_rewrite *next;
} conf_rewrite;

typedef struct conf_site {
    conf_place at;
    const char *hosts; // with spaces between them, in lower case
    conf_scope scope;  // of "/"
    conf_scope *paths; // outer ones before inner ones
    conf_redirect *redirects;
    conf_rewrite *rewrites;
    unsigned first_certificate;      // its own are from this one on
    const skua_tls_clients *clients; // NULL: clients are asked for nothing
    conf_place clients_at;
    const char *canonical; // "https://example.org"; NULL: any
    const char *closed_by; // a file: while it is there the site is closed; NULL: none
    bool has_log_rules;    // a scope logs less than all
    bool has_origins, has_preloads;
    bool has_pages; // a scope has pages for errors
    bool has_archives;
    struct {
        atomic_bool is_closed;
    } shared;
    struct conf_site *next;
} conf_site;

// A path that the server process may read.
typedef struct conf_path {
    const char *path;
    struct conf_path *next;
} conf_path;

// Everything in it is of its memory, and stays until nobody has it: sites that were built from it hold it as long as
// requests go on in them.
typedef struct conf {
    conf_memory memory;
    conf_findings findings;
    const conf_directive *first; // as it was read
    skua_config server;          // but for what speaks of certificates
    conf_listen listens[CONF_LISTENS_MAX];
    unsigned listen_count;
    skua_tls_certificate certificates[CONF_CERTIFICATES_MAX];
    conf_place certificates_at[CONF_CERTIFICATES_MAX];
    unsigned certificate_count;
    const char *log_file; // NULL: standard output
    const char *syslog;   // a socket, in the place of standard output; NULL: none
    const char *status;   // an address; NULL: none
    conf_place status_at;
    const char *pid_file; // where the number of the process is written; NULL: nowhere
    int64_t grace_ns;
    int64_t drain_delay_ns;      // before a stop begins to drain
    int64_t start_timeout_ns;    // for a server process to become ready
    bool is_silent;              // its faults are not said
    bool is_played;              // requests are played, and change nothing
    const conf_network *trusted; // proxies
    conf_place trusted_at;
    unsigned trusted_count;
    unsigned client_connections_max; // 0: as many as there can be
    const char *user,
        *group;   // who the server process becomes; NULL: it stays who it is, or the user's group
    bool is_open; // the server process has no sandbox
    conf_path *sandbox_paths; // beside those of the sites
    conf_scope defaults;
    conf_findings notes; // what skua check says beside faults
    conf_site *sites;
    unsigned site_count;
    struct {
        atomic_uint refs;
    } shared;
} conf;

// One that is empty, and is dropped once. NULL: out of memory.
conf *conf_new(void);

// Each is dropped once more for it. Thread: any, as of conf_drop.
conf *conf_hold(conf *c);
void conf_drop(void *c); // a conf; NULL is allowed

#endif
