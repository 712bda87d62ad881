// SPDX-License-Identifier: MIT
//
// The command line: one table that is read, shown by --help, and searched for what was meant by a
// misspelt option.

#include "common/options.h"

#include "common/say.h"
#include "common/suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Takes an option's value (NULL for one without); false when it is wrong and has been said to be.
typedef bool option_take(options *o, const char *value);

typedef struct option {
    const char *name;
    char letter;          // 0: none
    const char *argument; // NULL: takes none
    option_take *take;    // NULL: answered at once
    const char *help;     // NULL: the default, accepted and not shown
} option;

// ---- Values ----

static bool options_read_number(const char *text, unsigned max, unsigned *number)
{
    unsigned n = 0;
    if (!*text) return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9') return false;
        n = n * 10 + (unsigned)(*text - '0');
        if (n > max) return false;
    }
    *number = n;
    return true;
}

static bool options_add_listen(options_listens *to, const char *name, const char *value)
{
    if (to->count == OPTIONS_LISTENS_MAX) {
        say_error("--%s can be given %d times", name, OPTIONS_LISTENS_MAX);
        return false;
    }
    to->at[to->count++] = value;
    return true;
}

static bool take_listen(options *o, const char *value)
{
    return options_add_listen(&o->plain, "listen", value);
}

static bool take_port(options *o, const char *value)
{
    o->has_port = true;
    if (address_is_port(value, &o->port)) return true;
    say_error("--port takes a number from 1 to 65535, or 0 for a free one, not \"%s\"", value);
    return false;
}

// A name is compared with what Host says before its colon: one with a port would never be found.
static bool host_has_port(const char *value)
{
    const char *colon = strrchr(value, ':'), *bracket = strrchr(value, ']');
    return colon && (!bracket || colon > bracket);
}

static bool take_host(options *o, const char *value)
{
    if (o->host_count == OPTIONS_HOSTS_MAX) {
        say_error("--host can be given %d times", OPTIONS_HOSTS_MAX);
        return false;
    }
    if (!*value || strpbrk(value, " \t/")) {
        say_error("\"%s\" is not a host name; --host takes a name like www.example.org, or \"*\"",
                  value);
        return false;
    }
    if (strchr(value, ':') != strrchr(value, ':') && value[0] != '[') {
        say_error("--host takes an address of IPv6 in brackets; try --host [%s]", value);
        return false;
    }
    if (host_has_port(value)) {
        say_error("--host takes a name without a port, as it holds for every port; try --host %.*s",
                  (int)(strrchr(value, ':') - value), value);
        return false;
    }
    o->hosts[o->host_count++] = value;
    return true;
}

static bool take_workers(options *o, const char *value)
{
    if (options_read_number(value, 1024, &o->workers)) return true;
    say_error("--workers takes a number from 1 to 1024, or 0 for one per core, not \"%s\"", value);
    return false;
}

static bool take_backend(options *o, const char *value)
{
    o->backend = value;
    return true;
}

static bool take_accept(options *o, const char *value)
{
    o->accept = value;
    if (strcmp(value, "auto") == 0 || strcmp(value, "reuseport") == 0) return true;
    if (strcmp(value, "handoff") == 0) return true;
    say_error("--accept takes auto, reuseport or handoff, not \"%s\"", value);
    return false;
}

static bool take_trusted(options *o, const char *value)
{
    o->trusted = value;
    return true;
}

static bool take_forwarded(options *o, const char *value)
{
    static const char *const names[] = { "forwarded", "x-forwarded", "proxy" };
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(value, names[i]) != 0) continue;
        o->forwarded = (skua_forwarded)(SKUA_FORWARDED_STANDARD + i);
        return true;
    }
    say_error("--forwarded takes forwarded, x-forwarded or proxy, not \"%s\"", value);
    return false;
}

static bool take_tls(options *o, const char *value)
{
    (void)value;
    o->tls = true;
    return true;
}

static bool take_tls_listen(options *o, const char *value)
{
    o->tls = true;
    return options_add_listen(&o->secure, "tls-listen", value);
}

static bool take_cert(options *o, const char *value)
{
    if (o->certificate_count == OPTIONS_CERTIFICATES_MAX) {
        say_error("--cert can be given %d times", OPTIONS_CERTIFICATES_MAX);
        return false;
    }
    o->tls = true;
    o->given[o->certificate_count++] = (skua_tls_certificate){ .file = value, .key_file = o->key };
    o->certificates = o->given;
    o->key = NULL;
    return true;
}

// A key is that of the certificate before it, or of the first one when it comes before that.
static bool take_key(options *o, const char *value)
{
    skua_tls_certificate *last = o->certificate_count ? &o->given[o->certificate_count - 1] : NULL;
    if (o->key || (last && last->key_file)) {
        say_error("--key %s has no --cert; each certificate has one key: --cert FILE --key FILE",
                  value);
        return false;
    }
    if (last) last->key_file = value;
    else o->key = value;
    return true;
}

static bool take_ticket_keys(options *o, const char *value)
{
    o->ticket_keys = value;
    return true;
}

static bool take_redirect_http(options *o, const char *value)
{
    (void)value;
    o->redirects = true;
    return true;
}

static bool take_hsts(options *o, const char *value)
{
    (void)value;
    o->hsts = true;
    return true;
}

static bool take_list(options *o, const char *value)
{
    (void)value;
    o->directory.list = true;
    return true;
}

static bool take_no_list(options *o, const char *value)
{
    (void)value;
    o->directory.list = false;
    return true;
}

static bool take_archive(options *o, const char *value)
{
    (void)value;
    o->archives = true;
    return true;
}

static bool take_dotfiles(options *o, const char *value)
{
    (void)value;
    o->directory.dotfiles = true;
    return true;
}

static bool take_links(options *o, const char *value)
{
    static const char *const names[] = { "inside", "none", "all" };
    static const skua_links links[] = { SKUA_LINKS_INSIDE, SKUA_LINKS_NONE, SKUA_LINKS_ALL };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(value, names[i]) != 0) continue;
        o->directory.links = links[i];
        return true;
    }
    say_error("--links takes inside, none or all, not \"%s\"", value);
    return false;
}

static bool take_index(options *o, const char *value)
{
    o->directory.index = value;
    if (*value && !strchr(value, '/')) return true;
    say_error("--index takes the name of a file, like index.html, not \"%s\"", value);
    return false;
}

// Below a name that is not there its pages are, so that none of them is a folder to be listed.
static bool take_spa(options *o, const char *value)
{
    (void)value;
    o->is_app = true;
    o->directory.list = false;
    return true;
}

static bool take_cache_control(options *o, const char *value)
{
    o->directory.cache_control = value;
    return true;
}

static bool take_log(options *o, const char *value)
{
    static const char *const names[] = { "none", "short", "common", "combined", "json" };
    static const skua_log_format formats[] = { SKUA_LOG_NONE, SKUA_LOG_SHORT, SKUA_LOG_COMMON,
                                               SKUA_LOG_COMBINED, SKUA_LOG_JSON };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(value, names[i]) != 0) continue;
        o->log = formats[i];
        return true;
    }
    say_error("--log takes none, short, common, combined or json, not \"%s\"", value);
    return false;
}

static bool take_config(options *o, const char *value)
{
    if (o->config) {
        say_error("one file can be served, not both %s and %s; a file can include others",
                  o->config, value);
        return false;
    }
    o->config = value;
    return true;
}

static bool take_quiet(options *o, const char *value)
{
    (void)value;
    o->quiet = true;
    return true;
}

static bool take_qr(options *o, const char *value)
{
    (void)value;
    o->shows_code = true;
    return true;
}

static bool take_grace(options *o, const char *value)
{
    char *end = NULL;
    double seconds = strtod(value, &end);
    if (end != value && !*end && seconds >= 0 && seconds <= 86400) {
        o->grace_ns = (int64_t)(seconds * 1e9);
        return true;
    }
    say_error("--grace takes seconds, from 0 to 86400, not \"%s\"", value);
    return false;
}

// ---- The table ----

static const option options_table[] = {
    { "config", 'c', "FILE", take_config, "serve the sites that FILE describes; no other options" },
    { "listen", 'l', "ADDRESS", take_listen,
      "address to listen on; may be repeated (127.0.0.1:8080)" },
    { "port", 'p', "N", take_port, "the port, where ADDRESS names none (8080)" },
    { "tls", 0, NULL, take_tls, "HTTPS, with a self-signed certificate" },
    { "cert", 0, "FILE", take_cert, "HTTPS, with this certificate chain; may be repeated" },
    { "key", 0, "FILE", take_key, "the key of the certificate before it (in the same file)" },
    { "tls-listen", 0, "ADDRESS", take_tls_listen,
      "address for HTTPS, beside HTTP at --listen; may be repeated" },
    { "ticket-keys", 0, "FILE", take_ticket_keys,
      "keys of session tickets that several machines share (random)" },
    { "redirect-http", 0, NULL, take_redirect_http,
      "listen on :443 and :80, and redirect HTTP to HTTPS" },
    { "hsts", 0, NULL, take_hsts, "tell browsers to use only HTTPS, for a year" },
    { "workers", 'w', "N", take_workers, "threads that serve (one per core)" },
    { "backend", 0, "NAME", take_backend,
      "how to talk to the kernel: auto, epoll or uring (auto)" },
    { "accept", 0, "WAY", take_accept,
      "how workers get connections: auto, reuseport or handoff (auto)" },
    { "host", 0, "NAME", take_host, "a host name to answer for; may be repeated; \"*\" is any" },
    { "trusted", 0, "NETWORKS", take_trusted,
      "proxies that are believed: \"10.0.0.0/8 ::1 unix\" (none)" },
    { "forwarded", 0, "FIELD", take_forwarded,
      "how they tell the client's address: forwarded, x-forwarded or proxy" },
    { "list", 0, NULL, take_list, NULL },
    { "no-list", 0, NULL, take_no_list, "do not list the directories that have no index" },
    { "archive", 0, NULL, take_archive, "offer folders as zip and tar files: /DIR/?archive=zip" },
    { "index", 0, "NAME", take_index, "the file that is sent for its directory (index.html)" },
    { "spa", 0, NULL, take_spa, "a single-page application: send its index for unknown paths" },
    { "dotfiles", 0, NULL, take_dotfiles, "serve names that begin with \".\" as well" },
    { "links", 0, "WHICH", take_links,
      "symbolic links to follow: inside (of DIR), none or all (inside)" },
    { "cache-control", 0, "VALUE", take_cache_control, "the Cache-Control of every file (none)" },
    { "log", 0, "FORMAT", take_log,
      "none, short, common, combined or json, to standard output (short)" },
    { "qr", 0, NULL, take_qr, "show the address as a QR code" },
    { "quiet", 'q', NULL, take_quiet, "no start line and no log" },
    { "grace", 0, "SECONDS", take_grace, "how long to wait for running requests at the end (10)" },
    { "self-test", 0, NULL, NULL, "measure what suits this machine, for a second or two" },
    { "version", 'V', NULL, NULL, "print the version" },
    { "help", 'h', NULL, NULL, "print this" },
};

enum { OPTIONS_COUNT = sizeof options_table / sizeof *options_table };

// Words that people who know other servers try: another name of an option, or one that no option
// has.
typedef struct foreign_word {
    const char *asked;
    char letter;       // 0: none
    const char *meant; // an option of the table; NULL: there is none
    const char *instead;
} foreign_word;

static const char instead_of_directory[] = "the directory is named without one: skua DIR";

static const foreign_word foreign_words[] = {
    { "bind", 'b', "listen", NULL },
    { "address", 'a', "listen", NULL },
    { "addr", 0, "listen", NULL },
    { "threads", 't', "workers", NULL },
    { "hostname", 0, "host", NULL },
    { "hidden", 0, "dotfiles", NULL },
    { "symlinks", 0, "links", NULL },
    { "follow", 0, "links", NULL },
    { "follow-symlinks", 0, "links", NULL },
    { "autoindex", 0, "list", NULL },
    { "zip", 0, "archive", NULL },
    { "tar", 0, "archive", NULL },
    { "enable-zip", 0, "archive", NULL },
    { "enable-tar", 0, "archive", NULL },
    { "allow-archive", 0, "archive", NULL },
    { "single", 's', "spa", NULL },
    { "fallback", 0, "spa", NULL },
    { "silent", 0, "quiet", NULL },
    { "benchmark", 0, "self-test", NULL },
    { "directory", 'd', NULL, instead_of_directory },
    { "dir", 0, NULL, instead_of_directory },
    { "folder", 0, NULL, instead_of_directory },
    { "root", 'r', NULL, instead_of_directory },
    { "path", 0, NULL, instead_of_directory },
    { "ssl", 'S', "tls", NULL },
    { "https", 0, "tls", NULL },
    { "certificate", 0, "cert", NULL },
    { "certfile", 0, "cert", NULL },
    { "keyfile", 0, "key", NULL },
    { "private-key", 0, "key", NULL },
    { "redirect", 0, "redirect-http", NULL },
    { "redirect-https", 0, "redirect-http", NULL },
    { "cors", 0, NULL, "cors is a directive of a configuration: skua -c FILE" },
};

enum { FOREIGN_WORDS = sizeof foreign_words / sizeof *foreign_words };

void options_help(void)
{
    (void)puts(
        "usage: skua [OPTION]... [DIR]\n"
        "       skua -c FILE\n"
        "       skua COMMAND ...\n\n"
        "Serves the files below DIR, or below the working directory, over HTTP or HTTPS; or the\n"
        "sites that the configuration FILE describes.\n");
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const option *known = &options_table[i];
        char name[32];
        if (!known->help) continue;
        (void)snprintf(name, sizeof name, "%s %s", known->name,
                       known->argument ? known->argument : "");
        if (known->letter) (void)printf("  -%c, --%-22s%s\n", known->letter, name, known->help);
        else (void)printf("      --%-22s%s\n", name, known->help);
    }
    (void)puts(
        "\nADDRESS is 127.0.0.1:8080, [::1]:8080, :8080 (every address of this machine), a port\n"
        "or an address alone, unix:/path, or fd:3 (an inherited listening socket). Port 0 takes a\n"
        "free port. Without --listen, sockets that systemd passes are used instead of the default.\n"
        "Ctrl-C lets running requests finish; a second one stops at once. SIGHUP makes the server\n"
        "read its configuration again; certificates and ticket keys are read again on SIGHUP and\n"
        "when their files change.");
}

static options_outcome options_answer(const option *known)
{
    if (!known->letter) return OPTIONS_SELF_TEST;
    if (known->letter == 'h') return OPTIONS_HELP;
    (void)printf("skua %s\n", skua_version());
    return OPTIONS_ANSWERED;
}

// ---- Reading ----

static const option *options_find(const char *name, size_t len)
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const char *known = options_table[i].name;
        if (strlen(known) == len && memcmp(known, name, len) == 0) return &options_table[i];
    }
    return NULL;
}

static const option *options_find_letter(char letter)
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (options_table[i].letter == letter) return &options_table[i];
    }
    return NULL;
}

// The name, of an option or a foreign one, that an unknown one is near to; NULL when there is none.
static const char *options_nearest(const char *name, size_t len)
{
    suggestion near = suggestion_begin(name, len);
    for (size_t i = 0; i < OPTIONS_COUNT; i++)
        suggestion_offer(&near, options_table[i].name);
    for (size_t i = 0; i < FOREIGN_WORDS; i++)
        suggestion_offer(&near, foreign_words[i].asked);
    return near.meant;
}

static const foreign_word *foreign_find(const char *name)
{
    for (size_t i = 0; name && i < FOREIGN_WORDS; i++) {
        if (strcmp(foreign_words[i].asked, name) == 0) return &foreign_words[i];
    }
    return NULL;
}

// asked: as it was typed, with its dashes. near: the name that it may mean; NULL for nothing.
static options_outcome options_say_unknown(const char *asked, size_t len, const char *near)
{
    const foreign_word *word = foreign_find(near);
    const char *meant = word ? word->meant : near;
    if (meant) say_error("there is no option %.*s; did you mean --%s?", (int)len, asked, meant);
    else if (word) say_error("there is no option %.*s; %s", (int)len, asked, word->instead);
    else say_error("there is no option %.*s; skua --help lists them", (int)len, asked);
    return OPTIONS_WRONG;
}

static options_outcome options_say_unknown_letter(char letter)
{
    const char asked[] = { '-', letter, '\0' }, *near = NULL;
    for (size_t i = 0; i < FOREIGN_WORDS; i++) {
        if (foreign_words[i].letter == letter) near = foreign_words[i].asked;
    }
    return options_say_unknown(asked, strlen(asked), near);
}

// The arguments that have not been read.
typedef struct options_rest {
    char **at, **end;
} options_rest;

// given: the value that came with the option, or NULL.
static options_outcome options_apply(options *o, const option *known, const char *given,
                                     options_rest *rest)
{
    if (!known->argument && given) {
        say_error("--%s takes no value", known->name);
        return OPTIONS_WRONG;
    }
    if (!known->take) return options_answer(known);
    if (known->argument && !given) {
        if (rest->at == rest->end) {
            say_error("--%s needs a value: --%s %s", known->name, known->name, known->argument);
            return OPTIONS_WRONG;
        }
        given = *rest->at++;
    }
    if (known->take != take_config && known->take != take_quiet) o->not_config = known->name;
    return known->take(o, given) ? OPTIONS_SERVE : OPTIONS_WRONG;
}

static options_outcome options_read_long(options *o, const char *name, options_rest *rest)
{
    size_t len = strcspn(name, "=");
    const option *known = options_find(name, len);
    if (!known) return options_say_unknown(name - 2, len + 2, options_nearest(name, len));
    return options_apply(o, known, name[len] ? name + len + 1 : NULL, rest);
}

// -q, -qh, -l ADDRESS, -lADDRESS
static options_outcome options_read_letters(options *o, const char *letters, options_rest *rest)
{
    for (; *letters; letters++) {
        const option *known = options_find_letter(*letters);
        if (!known) return options_say_unknown_letter(*letters);
        bool takes_rest = known->argument && letters[1];
        options_outcome outcome = options_apply(o, known, takes_rest ? letters + 1 : NULL, rest);
        if (outcome != OPTIONS_SERVE || takes_rest) return outcome;
    }
    return OPTIONS_SERVE;
}

static options_outcome options_read_dir(options *o, const char *dir)
{
    if (o->dir) {
        say_error("one directory can be served, not both %s and %s", o->dir, dir);
        return OPTIONS_WRONG;
    }
    o->dir = dir;
    return OPTIONS_SERVE;
}

static options_outcome options_read_one(options *o, bool *only_names, options_rest *rest)
{
    const char *argument = *rest->at++;
    if (*only_names || argument[0] != '-' || !argument[1]) return options_read_dir(o, argument);
    if (strcmp(argument, "--") == 0) {
        *only_names = true;
        return OPTIONS_SERVE;
    }
    if (argument[1] == '-') return options_read_long(o, argument + 2, rest);
    return options_read_letters(o, argument + 1, rest);
}

// Gives each address what it lacks. Returns how many lacked a port.
static unsigned options_complete_listens(options_listens *listens, unsigned port)
{
    unsigned used = 0;
    for (size_t i = 0; i < listens->count; i++) {
        unsigned number;
        if (!address_complete(listens->at[i], port, listens->completed[i])) continue;
        used += !address_is_port(listens->at[i], &number);
        listens->at[i] = listens->completed[i];
    }
    return used;
}

static bool options_complete_addresses(options *o)
{
    unsigned used = options_complete_listens(&o->plain, o->port);
    used += options_complete_listens(&o->secure, o->port);
    if (used || !o->has_port) return true;
    say_error("--port %u is for an address without a port, and every address that is given has one",
              o->port);
    return false;
}

static bool options_check_tls(const options *o)
{
    if (o->key) {
        say_error("--key %s has no --cert; the two belong together: --cert FILE --key FILE",
                  o->key);
        return false;
    }
    const char *needs = o->redirects     ? "redirect-http"
                        : o->hsts        ? "hsts"
                        : o->ticket_keys ? "ticket-keys"
                                         : NULL;
    if (o->tls || !needs) return true;
    say_error("--%s needs HTTPS; add --tls, or --cert FILE --key FILE", needs);
    return false;
}

static bool options_check_proxies(const options *o)
{
    if (!o->forwarded == !o->trusted) return true;
    if (o->trusted)
        say_error(
            "--trusted needs --forwarded, the field in which proxies tell the client's address");
    else say_error("--forwarded needs --trusted, the proxies that are believed");
    return false;
}

// HTTPS takes the addresses that HTTP would have, unless it has its own.
static void options_share_listens(options *o)
{
    bool is_default = o->plain.count + o->secure.count == 0;
    bool is_public = is_default && o->redirects && !o->has_port;
    o->has_listen = !is_default;
    o->has_tls_listen = o->secure.count > 0;
    if (is_default) o->plain.at[o->plain.count++] = is_public ? ":443" : "127.0.0.1";
    if (!o->tls || o->secure.count) return;
    o->secure = o->plain;
    o->plain.count = 0;
}

// Without an address of its own, the redirect is at port 80 beside HTTPS.
static void options_place_redirect(options *o)
{
    char *at = o->plain.completed[0];
    if (!o->redirects || o->plain.count) return;
    for (size_t i = 0; i < o->secure.count && !o->plain.count; i++)
        o->plain.count = address_with_port(o->secure.at[i], ADDRESS_PORT_HTTP, at);
    o->plain.at[0] = at;
    o->makes_redirect = o->plain.count > 0;
}

static bool options_complete(options *o)
{
    if (!o->dir) o->dir = ".";
    if (o->quiet) o->log = SKUA_LOG_NONE;
    if (!options_check_tls(o) || !options_check_proxies(o)) return false;
    if (o->archives && !o->directory.list) {
        say_error(
            "an archive reveals all names, as a listing does; leave --archive or --no-list out");
        return false;
    }
    options_share_listens(o);
    if (!options_complete_addresses(o)) return false;
    options_place_redirect(o);
    return true;
}

// A file says all that options do, so that one place tells how a server is set up.
static options_outcome options_complete_config(const options *o)
{
    if (o->dir) say_error("-c %s says what is served; leave %s out", o->config, o->dir);
    else if (o->not_config)
        say_error("-c %s takes the place of all options; leave --%s out", o->config, o->not_config);
    else return OPTIONS_SERVE_CONFIG;
    return OPTIONS_WRONG;
}

options_outcome options_read(options *o, int argc, char **argv)
{
    options_rest rest = { argv + (argc > 0), argv + argc };
    bool only_names = false;
    *o = (options){
        .log = SKUA_LOG_SHORT, .grace_ns = 10000000000, .port = ADDRESS_PORT, .directory.list = true
    };
    while (rest.at < rest.end) {
        options_outcome outcome = options_read_one(o, &only_names, &rest);
        if (outcome != OPTIONS_SERVE) return outcome;
    }
    if (o->config) return options_complete_config(o);
    return options_complete(o) ? OPTIONS_SERVE : OPTIONS_WRONG;
}
