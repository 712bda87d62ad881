// SPDX-License-Identifier: MIT
//
// The skua command: serves a directory. Exit status: 0 stopped, 1 could not start or go on, 2 not
// understood.

#include "archive/archive.h"
#include "common/banner.h"
#include "command/command.h"
#include "conf/serve_alone.h"
#include "hints.h"
#include "tls/https.h"
#include "common/notify.h"
#include "common/options.h"
#include "common/pulse.h"
#include "redirect.h"
#include "common/say.h"
#include "command/self_test.h"
#include "super/served.h"
#include "common/stop.h"
#include "streams.h"
#include "super/super.h"
#include "super/upgrade.h"
#include "common/watch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { EXIT_STOPPED = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

enum { HOSTS_OCTETS_MAX = OPTIONS_HOSTS_MAX * 256 };

// Each connection takes a descriptor; the soft limit of 1024 is there for programs that use select.
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

// A reader of standard error that goes away must not end the server; nor may SIGUSR1, by which other
// servers are told to open their logs again.
static void ignore_signals(void)
{
    struct sigaction action = { .sa_handler = SIG_IGN };
    (void)sigaction(SIGPIPE, &action, NULL);
    (void)sigaction(SIGUSR1, &action, NULL);
}

static bool add_host(char hosts[HOSTS_OCTETS_MAX], const char *name)
{
    size_t len = strlen(hosts), more = strlen(name);
    if (len + more + 2 > HOSTS_OCTETS_MAX) return false;
    if (len) hosts[len++] = ' ';
    memcpy(hosts + len, name, more + 1);
    return true;
}

// --host adds names; this machine's own ones stay. Returns NULL when none were given.
static const char *hosts_of(const options *o, char hosts[HOSTS_OCTETS_MAX])
{
    static const char *const own[] = { "localhost", "127.0.0.1", "[::1]" };
    hosts[0] = '\0';
    if (!o->host_count) return NULL;
    for (size_t i = 0; i < o->host_count; i++) {
        if (strcmp(o->hosts[i], "*") == 0) return "*";
        if (!add_host(hosts, o->hosts[i])) say_warning("--host %s is too long", o->hosts[i]);
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        (void)add_host(hosts, own[i]);
    return hosts;
}

static skua_server *server_of(const options *o)
{
    char hosts[HOSTS_OCTETS_MAX];
    skua_tls_desc tls;
    if (!https_describe(o, &tls)) return NULL;
    skua_config config = { .hosts = hosts_of(o, hosts),
                           .workers = o->workers,
                           .backend = o->backend,
                           .accept = o->accept,
                           .log = o->log,
                           .tls = tls,
                           .trusted = o->trusted,
                           .forwarded = o->forwarded };
    skua_server *server = skua_server_new(&config);
    if (!server) say_error("%s", skua_status_text(SKUA_ENOMEM));
    return server;
}

// Where the server listens, as far as it has been said.
typedef struct listening {
    skua_server *server;
    size_t count; // of its addresses
} listening;

static skua_status listen_over_tls(listening *at, bool is_secure)
{
    size_t index = at->count++;
    return is_secure ? skua_listen_over_tls(at->server, index) : SKUA_OK;
}

static skua_status listen_at(listening *at, const options_listens *listens, bool is_secure)
{
    skua_status status = SKUA_OK;
    for (size_t i = 0; i < listens->count && !status; i++) {
        unsigned fd;
        const char *address = listens->at[i];
        status = address_is_fd(address, &fd) ? skua_listen_fd(at->server, (int)fd)
                                             : skua_listen(at->server, address);
        if (!status) status = listen_over_tls(at, is_secure);
    }
    return status;
}

static bool names_sockets(const options_listens *listens)
{
    unsigned fd;
    for (size_t i = 0; i < listens->count; i++) {
        if (address_is_fd(listens->at[i], &fd)) return true;
    }
    return false;
}

// Sockets that the process was started with speak what an address of --listen would, unless the
// options name them one by one.
static skua_status listen_inherited(listening *at, const options *o)
{
    unsigned inherited = 0;
    bool is_secure = o->tls && !o->has_tls_listen;
    if (names_sockets(&o->plain) || names_sockets(&o->secure)) return SKUA_OK;
    skua_status status = skua_listen_inherited(at->server, &inherited);
    if (inherited && is_secure && o->redirects && !o->has_listen) {
        skua_server_set_error(at->server,
                              "--redirect-http needs to know which of the sockets that skua was "
                              "started with speak HTTPS; say --tls-listen fd:3 --listen fd:4");
        return SKUA_EINVAL;
    }
    for (unsigned i = 0; i < inherited && !status; i++)
        status = listen_over_tls(at, is_secure);
    return status;
}

// Inherited sockets take the place of the address that stands for none.
static skua_status listen_to(skua_server *server, const options *o)
{
    listening at = { .server = server };
    skua_status status = listen_inherited(&at, o);
    bool is_replaced = at.count && !o->has_listen && !o->has_port;
    if (status || is_replaced) return status;
    status = listen_at(&at, &o->secure, true);
    return status ? status : listen_at(&at, &o->plain, false);
}

// Folders as archives. markup: for the pages of listings, of ARCHIVE_MARKUP_OCTETS.
static skua_status add_archives(skua_server *server, const options *o, char *markup)
{
    static archive_place place; // of the one server
    place =
        (archive_place){ archive_folder_open(o->dir, o->directory.links), o->directory.dotfiles };
    const skua_middleware around = { .before = archive_before, .user = &place };
    if (!place.folder) return SKUA_ENOMEM;
    (void)archive_markup(archive_formats, markup);
    skua_status status = skua_server_on_free(server, archive_folder_close, place.folder);
    if (status) archive_folder_close(place.folder);
    return status ? status : skua_use(server, "/", &around);
}

static bool begin(skua_server *server, const options *o)
{
    char markup[ARCHIVE_MARKUP_OCTETS];
    skua_status status = listen_to(server, o);
    skua_directory_config how = o->directory;
    how.compress = true;
    if (o->archives) how.list_markup = markup;
    if (!status && o->archives) status = add_archives(server, o, markup);
    if (o->is_app) how.fallback = how.index ? how.index : "index.html";
    if (!status) status = skua_route_directory(server, "/", o->dir, &how);
    if (!status) status = redirect_add(server, o);
    if (!status) status = skua_start(server);
    if (status) hints_say(server, status, o);
    return !status;
}

static struct {
    skua_server *server;
    bool is_tls;
} watched;

static void look(void)
{
    if (watched.is_tls) (void)https_look();
    if (pulse_look(watched.server)) notify_alive();
}

static void read_again(void)
{
    notify_reloading();
    if (watched.is_tls) (void)https_reload();
    notify_ready();
}

// Returns whether it was stopped, and did not end by itself; the library has then logged why.
static bool run(skua_server *server, const options *o)
{
    https_begin(server);
    watched.server = server;
    watched.is_tls = o->tls;
    if (o->tls || notify_wants_pulse())
        (void)watch_begin(&(watch_desc){ .look = look, .asked = read_again });
    stop_on_signals(server, o->grace_ns, o->quiet, watch_wake);
    notify_ready();
    banner_warn(server);
    if (!o->quiet) {
        banner_show(server, o->dir, o->redirects);
        https_show();
    }
    if (o->shows_code) banner_show_code(server);
    bool stopped = skua_wait(server) == SKUA_OK;
    if (stopped && !o->quiet) say("stopped");
    stop_forget();
    watch_end();
    return stopped;
}

static int serve(const options *o)
{
    if (!hints_check_dir(o->dir)) return EXIT_FAILED;
    raise_descriptor_limit();
    skua_server *server = server_of(o);
    if (!server) return EXIT_FAILED;
    stop_hold_signals();
    bool served = begin(server, o) && run(server, o);
    skua_server_free(server);
    return served ? EXIT_STOPPED : EXIT_FAILED;
}

static int serve_configured(const options *o)
{
    raise_descriptor_limit();
#ifdef __linux__
    bool stopped = super_run(o->config, o->quiet);
#else
    bool stopped = conf_serve_alone(o->config, o->quiet);
#endif
    return stopped ? EXIT_STOPPED : EXIT_FAILED;
}

#ifdef __linux__
// A process that another program of Skua has begun, and has told so by its environment. Returns: its exit status; -1:
// it is none.
static int go_on(void)
{
    super_inherited inherited = super_inherit();
    int supervisor = served_socket();
    bool done = false;
    if (supervisor >= 0) done = served_run(supervisor);
    else if (inherited.trial >= 0) done = super_try(&inherited);
    else if (inherited.state >= 0) done = super_go_on(inherited.state);
    else return -1;
    return done ? EXIT_STOPPED : EXIT_FAILED;
}
#endif

int main(int argc, char **argv)
{
    options o;
    const command *asked = argc > 1 ? command_find(argv[1]) : NULL;
    if (!streams_complete()) return EXIT_FAILED;
    ignore_signals();
#ifdef __linux__
    int went_on = go_on();
    if (went_on >= 0) return went_on;
#endif
    if (asked) return command_run(asked, argv + 2);
    notify_open();
    switch (options_read(&o, argc, argv)) {
    case OPTIONS_SERVE: return serve(&o);
    case OPTIONS_SERVE_CONFIG: return serve_configured(&o);
    case OPTIONS_SELF_TEST: return self_test_run() ? EXIT_STOPPED : EXIT_FAILED;
    case OPTIONS_HELP:
        options_help();
        command_help();
        return EXIT_STOPPED;
    case OPTIONS_ANSWERED: return EXIT_STOPPED;
    case OPTIONS_WRONG: break;
    }
    return EXIT_USAGE;
}
