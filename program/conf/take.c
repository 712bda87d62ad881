// SPDX-License-Identifier: MIT
//
// Directives of the server. What only the library can judge, such as the names of groups, is left to it:
// building the server is a part of every check.

#include "conf/take.h"

#include "common/address.h"
#include "conf/files.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAKE_NETWORKS_MAX = 64 }; // of skua_config.trusted

#define TAKE_FAIL(c, word, ...) conf_find((c)->findings, (word)->at, __VA_ARGS__)

static const conf_word *take_last(const conf_directive *d)
{
    return &d->words[d->count - 1];
}

// ---- Members of skua_config ----

static void take_member(conf_checker *c, const conf_kind *kind, uint64_t value)
{
    char *at = (char *)&c->conf->server + kind->offset;
    unsigned narrow = (unsigned)value;
    bool truth = value != 0;
    if (kind->width == sizeof value) memcpy(at, &value, sizeof value);
    else if (kind->width == sizeof narrow) memcpy(at, &narrow, sizeof narrow);
    else memcpy(at, &truth, sizeof truth);
}

void conf_take_duration(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    conf_why why;
    int64_t ns;
    if (conf_read_duration(d->words[1].text, (int64_t)kind->min, (int64_t)kind->max, &ns, why))
        take_member(c, kind, (uint64_t)ns);
    else TAKE_FAIL(c, &d->words[1], "%s: %s", kind->name, why);
}

void conf_take_octets(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    conf_why why;
    uint64_t octets;
    if (conf_read_octets(d->words[1].text, kind->min, kind->max, &octets, why))
        take_member(c, kind, octets);
    else TAKE_FAIL(c, &d->words[1], "%s: %s", kind->name, why);
}

void conf_take_number(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    conf_why why;
    uint64_t number;
    if (conf_read_number(d->words[1].text, kind->min, kind->max, &number, why))
        take_member(c, kind, number);
    else TAKE_FAIL(c, &d->words[1], "%s: %s", kind->name, why);
}

static bool take_is_on(conf_checker *c, const conf_kind *kind, const conf_directive *d, bool *is_on)
{
    conf_why why;
    if (conf_read_switch(d->words[1].text, is_on, why)) return true;
    TAKE_FAIL(c, &d->words[1], "%s: %s", kind->name, why);
    return false;
}

void conf_take_switch(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool is_on;
    if (take_is_on(c, kind, d, &is_on)) take_member(c, kind, is_on);
}

// ---- Addresses ----

static bool take_is_ip6(const char *host, size_t len)
{
    char inner[64];
    struct in6_addr octets;
    if (len < 3 || len >= sizeof inner || host[0] != '[' || host[len - 1] != ']') return false;
    memcpy(inner, host + 1, len - 2);
    inner[len - 2] = '\0';
    return inet_pton(AF_INET6, inner, &octets) == 1;
}

static bool take_is_host(const char *host, size_t len)
{
    char text[64];
    struct in_addr octets;
    if (len >= sizeof text) return false;
    memcpy(text, host, len);
    text[len] = '\0';
    return len == 0 || strcmp(text, "*") == 0 || strcmp(text, "localhost") == 0 ||
           inet_pton(AF_INET, text, &octets) == 1 || take_is_ip6(host, len);
}

static bool take_is_address(conf_checker *c, const conf_word *word)
{
    unsigned number;
    const char *text = word->text, *colon = strrchr(text, ':');
    bool is_unix = strncmp(text, "unix:", 5) == 0;
    if (is_unix && text[5] == '/') return true;
    if (address_is_fd(text, &number)) return true;
    if (is_unix) TAKE_FAIL(c, word, "the path of a socket begins with \"/\": unix:/run/skua.sock");
    else if (address_is_port(text, &number))
        TAKE_FAIL(c, word,
                  "\"%s\" names no address; :%s is every one of this machine, and 127.0.0.1:%s for "
                  "itself alone",
                  text, text, text);
    else if (!colon || !address_is_port(colon + 1, &number) || text[strlen(text) - 1] == ']')
        TAKE_FAIL(c, word, "\"%s\" has no port from 0 to 65535; an address is written %s:80", text,
                  colon && text[0] != '[' ? "127.0.0.1" : text);
    else if (!take_is_host(text, (size_t)(colon - text)))
        TAKE_FAIL(c, word,
                  "\"%.*s\" is not an address; there are 192.0.2.1:80, [2001:db8::1]:80, :80, "
                  "localhost:80, unix:/path and fd:3",
                  (int)(colon - text), text);
    else return true;
    return false;
}

// Port 0 is another one each time.
static bool take_is_free_port(const char *address)
{
    const char *colon = strrchr(address, ':');
    return colon && strcmp(colon, ":0") == 0;
}

void conf_take_listen(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    conf *to = c->conf;
    const conf_word *word = &d->words[1];
    if (!take_is_address(c, word)) return;
    for (unsigned i = 0; i < to->listen_count; i++) {
        if (take_is_free_port(word->text) || strcmp(to->listens[i].address, word->text) != 0)
            continue;
        TAKE_FAIL(c, word, "%s is listened on already, by line %u of %s", word->text,
                  to->listens[i].at.line, to->listens[i].at.file);
        return;
    }
    if (d->count == 3 && strcmp(d->words[2].text, "tls") != 0)
        TAKE_FAIL(c, &d->words[2], "behind the address there may be tls, not \"%s\"",
                  d->words[2].text);
    else if (to->listen_count == CONF_LISTENS_MAX)
        TAKE_FAIL(c, word, "%s may stand %d times", kind->name, CONF_LISTENS_MAX);
    else to->listens[to->listen_count++] = (conf_listen){ word->text, d->count == 3, word->at };
}

void conf_take_status(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    conf *to = c->conf;
    const conf_word *word = &d->words[1];
    (void)kind;
    if (!take_is_address(c, word)) return;
    to->status = word->text;
    to->status_at = word->at;
    to->server.stats = true;
}

void conf_take_pid_file(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const conf_word *word = &d->words[1];
    (void)kind;
    c->conf->pid_file = conf_files_resolve(c->findings->memory, word->text, word->at.file);
    if (!*word->text) conf_find(c->findings, word->at, "a file is to be named");
}

// ---- The log ----

// Why a log cannot be written; NULL: it seems that it can.
static const char *take_log_fault(conf_checker *c, const char *path)
{
    struct stat info;
    const char *slash = strrchr(path, '/');
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) return "it is a folder";
        return access(path, W_OK) == 0 ? NULL : "there is no permission";
    }
    const char *folder =
        slash ? conf_copy(c->findings->memory, path, (size_t)(slash - path) + 1) : ".";
    if (!folder || stat(folder, &info) != 0) return "its folder is missing";
    return access(folder, W_OK) == 0 ? NULL : "there is no permission to make it";
}

static void take_log_file(conf_checker *c, const conf_word *word)
{
    const char *path = conf_files_resolve(c->findings->memory, word->text, word->at.file);
    const char *fault = path ? take_log_fault(c, path) : NULL;
    if (fault) TAKE_FAIL(c, word, "the log %s cannot be written: %s", path, fault);
    c->conf->log_file = path;
}

void conf_take_access_log(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    static const char *const names[] = { "short", "common", "combined", "json", NULL };
    static const skua_log_format formats[] = { SKUA_LOG_SHORT, SKUA_LOG_COMMON, SKUA_LOG_COMBINED,
                                               SKUA_LOG_JSON };
    conf_why why;
    size_t at = 0;
    const conf_word *to = &d->words[1];
    bool is_off = strcmp(to->text, "off") == 0;
    if (d->count == 3 && is_off)
        TAKE_FAIL(c, &d->words[2], "a log that is off has no format; leave \"%s\" out",
                  d->words[2].text);
    else if (d->count == 3 && !conf_read_choice(d->words[2].text, names, &at, why))
        TAKE_FAIL(c, &d->words[2], "%s: %s", kind->name, why);
    c->conf->server.log = is_off ? SKUA_LOG_NONE : formats[at];
    if (is_off || strcmp(to->text, "stdout") == 0) return;
    if (strcmp(to->text, "syslog") == 0 || strncmp(to->text, "syslog:", 7) == 0) {
        c->conf->syslog = to->text[6] ? to->text + 7 : "/dev/log";
        return;
    }
    take_log_file(c, to);
}

void conf_take_log_masks(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    const char *names = "";
    bool is_off = d->count == 2 && strcmp(d->words[1].text, "off") == 0;
    for (unsigned i = 1; i < d->count && !is_off && names; i++) {
        const conf_word *word = &d->words[i];
        if (!*word->text || strpbrk(word->text, " =&?#%"))
            TAKE_FAIL(c, word, "%s: \"%s\" is no name of a parameter, as token is", kind->name,
                      word->text);
        names = conf_print(c->findings->memory, "%s %s", names, word->text);
    }
    c->conf->server.log_secrets = names;
}

// ---- Words ----

static bool take_choice(conf_checker *c, const conf_kind *kind, const conf_word *word,
                        const char *const *names, size_t *at)
{
    conf_why why;
    if (conf_read_choice(word->text, names, at, why)) return true;
    TAKE_FAIL(c, word, "%s: %s", kind->name, why);
    return false;
}

void conf_take_backend(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    static const char *const names[] = { "auto", "epoll", "uring", "kqueue", NULL };
    size_t at;
    if (take_choice(c, kind, &d->words[1], names, &at)) c->conf->server.backend = names[at];
}

void conf_take_accept(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    static const char *const names[] = { "auto", "reuseport", "handoff", NULL };
    size_t at;
    if (take_choice(c, kind, &d->words[1], names, &at)) c->conf->server.accept = names[at];
}

// The words from the one at first on, with spaces between them.
static const char *take_joined(conf_checker *c, const conf_directive *d, unsigned first)
{
    const char *all = "";
    for (unsigned i = first; i < d->count && all; i++)
        all =
            conf_print(c->findings->memory, "%s%s%s", all, i > first ? " " : "", d->words[i].text);
    return all;
}

void conf_take_trusted(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    static const char *const names[] = { "forwarded", "x-forwarded", "proxy", NULL };
    static const skua_forwarded fields[] = { SKUA_FORWARDED_STANDARD, SKUA_FORWARDED_X,
                                             SKUA_FORWARDED_PROXY };
    conf_network *networks = conf_take(c->findings->memory, d->count * sizeof *networks);
    size_t at;
    if (!networks || !take_choice(c, kind, &d->words[1], names, &at)) return;
    if (d->count - 2 > TAKE_NETWORKS_MAX)
        TAKE_FAIL(c, &d->words[2 + TAKE_NETWORKS_MAX], "%d networks are the most",
                  TAKE_NETWORKS_MAX);
    for (unsigned i = 2; i < d->count; i++) {
        if (conf_network_read(d->words[i].text, &networks[i - 2])) continue;
        TAKE_FAIL(c, &d->words[i],
                  "\"%s\" is no network; there are 10.0.0.0/8, 192.0.2.7, fd00::/8 and unix",
                  d->words[i].text);
        return;
    }
    c->conf->server.forwarded = fields[at];
    c->conf->server.trusted = take_joined(c, d, 2);
    c->conf->trusted = networks;
    c->conf->trusted_at = d->words[0].at;
    c->conf->trusted_count = d->count - 2;
}

void conf_take_client_connections(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    conf_why why;
    uint64_t most;
    if (conf_read_number(d->words[1].text, kind->min, kind->max, &most, why))
        c->conf->client_connections_max = (unsigned)most;
    else TAKE_FAIL(c, &d->words[1], "%s: %s", kind->name, why);
}

void conf_take_grace(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    conf_why why;
    if (!conf_read_duration(d->words[1].text, 0, (int64_t)kind->max, &c->conf->grace_ns, why))
        TAKE_FAIL(c, &d->words[1], "%s: %s", kind->name, why);
}

void conf_take_drain_delay(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    conf_why why;
    if (!conf_read_duration(d->words[1].text, 0, (int64_t)kind->max, &c->conf->drain_delay_ns, why))
        TAKE_FAIL(c, &d->words[1], "%s: %s", kind->name, why);
}

void conf_take_start_timeout(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    conf_why why;
    if (!conf_read_duration(d->words[1].text, 1000000, (int64_t)kind->max,
                            &c->conf->start_timeout_ns, why))
        TAKE_FAIL(c, &d->words[1], "%s: %s", kind->name, why);
}

void conf_take_http2(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool is_on;
    if (take_is_on(c, kind, d, &is_on)) c->conf->server.http2.off = !is_on;
}

void conf_take_h2c(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool is_on;
    if (take_is_on(c, kind, d, &is_on)) c->conf->server.http2.h2c_off = !is_on;
}

// ---- TLS ----

void conf_take_oldest(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    static const char *const names[] = { "1.2", "1.3", NULL };
    static const skua_tls_version versions[] = { SKUA_TLS_1_2, SKUA_TLS_1_3 };
    size_t at;
    if (take_choice(c, kind, &d->words[1], names, &at))
        c->conf->server.tls.oldest_version = versions[at];
}

void conf_take_groups(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    (void)kind;
    c->conf->server.tls.groups = take_joined(c, d, 1);
}

void conf_take_tickets(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    bool is_on;
    if (take_is_on(c, kind, d, &is_on)) c->conf->server.tls.no_tickets = !is_on;
}

void conf_take_ticket_keys(conf_checker *c, const conf_kind *kind, const conf_directive *d)
{
    enum { KEY_OCTETS = 80 };
    struct stat info;
    const conf_word *word = take_last(d);
    const char *path = conf_files_resolve(c->findings->memory, word->text, word->at.file);
    (void)kind;
    if (!path) return;
    if (access(path, R_OK) != 0 || stat(path, &info) != 0)
        TAKE_FAIL(c, word, "there is no permission to read %s, or no such file", path);
    else if (info.st_size == 0 || info.st_size % KEY_OCTETS != 0)
        TAKE_FAIL(c, word, "%s has %lld octets; ticket keys have %d each", path,
                  (long long)info.st_size, KEY_OCTETS);
    else c->conf->server.tls.ticket_file = path;
}
