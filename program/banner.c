// SPDX-License-Identifier: MIT
//
// The start line. An address is shown as what can be opened in a browser.

#include "banner.h"

#include "say.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BANNER_URL_OCTETS = 256, BANNER_PATH_OCTETS = PATH_MAX + 1 };

// The escape sequences of a terminal, or empty strings.
typedef struct banner_paint {
    const char *name, *dir, *url, *off;
} banner_paint;

static banner_paint banner_paint_of_terminal(void)
{
    if (!say_is_coloured()) return (banner_paint){ "", "", "", "" };
    return (banner_paint){ "\033[1;32m", "\033[1m", "\033[36m", "\033[0m" };
}

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_every_address(const char *address)
{
    return begins_with(address, "0.0.0.0:") || begins_with(address, "[::]:");
}

static bool is_loopback(const char *address)
{
    return begins_with(address, "127.") || begins_with(address, "[::1]:") ||
           begins_with(address, "unix:");
}

static void banner_write_url(const char *address, char url[BANNER_URL_OCTETS])
{
    const char *port = strrchr(address, ':');
    if (begins_with(address, "unix:") || !port) {
        (void)snprintf(url, BANNER_URL_OCTETS, "%s", address);
        return;
    }
    const char *host = is_every_address(address) ? "localhost" : address;
    int host_len = host == address ? (int)(port - address) : (int)strlen(host);
    (void)snprintf(url, BANNER_URL_OCTETS, "http://%.*s%s", host_len, host,
                   strcmp(port, ":80") == 0 ? "" : port);
}

// "." says nothing to someone who comes back to the terminal an hour later.
static void banner_write_dir(const char *dir, char path[BANNER_PATH_OCTETS])
{
    const char *home = getenv("HOME");
    char whole[PATH_MAX];
    size_t home_len = home ? strlen(home) : 0;
    if (!realpath(dir, whole)) (void)snprintf(whole, sizeof whole, "%s", dir);
    bool in_home = home_len > 1 && strncmp(whole, home, home_len) == 0 &&
                   (whole[home_len] == '/' || !whole[home_len]);
    (void)snprintf(path, BANNER_PATH_OCTETS, "%s%s", in_home ? "~" : "",
                   whole + (in_home ? home_len : 0));
    say_clean(path);
}

static void banner_show_addresses(const skua_server *server, const banner_paint *paint)
{
    const char *address;
    for (size_t i = 0; (address = skua_server_address(server, i)); i++) {
        char url[BANNER_URL_OCTETS];
        banner_write_url(address, url);
        (void)fprintf(stderr, " %s %s%s%s%s", i ? "and" : "at", paint->url, url, paint->off,
                      is_every_address(address) ? " (every address)" : "");
    }
}

void banner_show(const skua_server *server, const char *dir)
{
    banner_paint paint = banner_paint_of_terminal();
    char path[BANNER_PATH_OCTETS];
    unsigned workers = skua_server_workers(server);
    banner_write_dir(dir, path);
    (void)fprintf(stderr, "%sskua%s %s serves %s%s%s", paint.name, paint.off, skua_version(),
                  paint.dir, path, paint.off);
    banner_show_addresses(server, &paint);
    (void)fprintf(stderr, " with %u worker%s (%s).%s\n", workers, workers == 1 ? "" : "s",
                  skua_server_backend(server), isatty(STDERR_FILENO) ? " Ctrl-C stops it." : "");
}

void banner_warn(const skua_server *server)
{
    const char *address;
    for (size_t i = 0; (address = skua_server_address(server, i)); i++) {
        if (is_loopback(address)) continue;
        say_warning("other machines can reach %s and read everything that is served there",
                    address);
    }
}
