// SPDX-License-Identifier: MIT
//
// The start line. An address is shown as what can be opened in a browser.

#include "common/banner.h"

#include "common/address.h"
#include "common/network.h"
#include "common/qr.h"
#include "common/say.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BANNER_PATH_OCTETS = PATH_MAX + 1,
    BANNER_CODE_OCTETS = 4096 // 21 lines of 41 half blocks of three octets, and their ends
};

// The escape sequences of a terminal, or empty strings.
typedef struct banner_paint {
    const char *name, *dir, *url, *off;
} banner_paint;

static banner_paint banner_paint_of_terminal(void)
{
    if (!say_is_coloured()) return (banner_paint){ "", "", "", "" };
    return (banner_paint){ "\033[1;32m", "\033[1m", "\033[36m", "\033[0m" };
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

// Shows what somebody at another machine would type, for an address that is every one of this
// machine's.
static void banner_show_network(const char *address, bool is_secure, const banner_paint *paint)
{
    network others;
    network_find(&others, address[0] == '[');
    for (size_t i = 0; i < others.count; i++) {
        char whole[ADDRESS_OCTETS], url[ADDRESS_OCTETS];
        (void)snprintf(whole, sizeof whole, "%s%s", others.addresses[i], strrchr(address, ':'));
        address_write_url(whole, is_secure, url);
        (void)fprintf(stderr, "%s %s%s%s", i ? " or" : ", for other machines at", paint->url, url,
                      paint->off);
    }
    if (others.count) (void)fputc(',', stderr);
}

static void banner_show_addresses(const skua_server *server, bool redirects,
                                  const banner_paint *paint)
{
    const char *address;
    for (size_t i = 0; (address = skua_server_address(server, i)); i++) {
        char url[ADDRESS_OCTETS];
        bool is_secure = skua_server_address_is_secure(server, i);
        address_write_url(address, is_secure, url);
        (void)fprintf(stderr, " %s %s%s%s", i ? "and" : "at", paint->url, url, paint->off);
        if (redirects && !is_secure) (void)fputs(" (which sends there)", stderr);
        if (address_is_every(address)) banner_show_network(address, is_secure, paint);
    }
}

void banner_show(const skua_server *server, const char *dir, bool redirects)
{
    banner_paint paint = banner_paint_of_terminal();
    char path[BANNER_PATH_OCTETS];
    unsigned workers = skua_server_workers(server);
    banner_write_dir(dir, path);
    (void)fprintf(stderr, "%sskua%s %s serves %s%s%s", paint.name, paint.off, skua_version(),
                  paint.dir, path, paint.off);
    banner_show_addresses(server, redirects, &paint);
    (void)fprintf(stderr, " with %u worker%s (%s).%s\n", workers, workers == 1 ? "" : "s",
                  skua_server_backend(server), isatty(STDERR_FILENO) ? " Ctrl-C stops it." : "");
}

// Returns: whether other machines reach the server by the address, and whole is how.
static bool banner_find_reachable(const char *address, char whole[ADDRESS_OCTETS])
{
    network others;
    if (address_is_loopback(address) || !strrchr(address, ':') || address[0] == '/') return false;
    if (strncmp(address, "unix:", 5) == 0) return false;
    (void)snprintf(whole, ADDRESS_OCTETS, "%s", address);
    if (!address_is_every(address)) return true;
    network_find(&others, address[0] == '[');
    if (!others.count) return false;
    (void)snprintf(whole, ADDRESS_OCTETS, "%s%s", others.addresses[0], strrchr(address, ':'));
    return true;
}

// Dark and light are said to a terminal, whatever its own colours are: some cameras read no code that is inverted.
void banner_show_code(const skua_server *server)
{
    const char *address;
    char whole[ADDRESS_OCTETS], url[ADDRESS_OCTETS], text[BANNER_CODE_OCTETS];
    bool is_coloured = say_is_coloured();
    qr code;
    size_t i = 0;
    while ((address = skua_server_address(server, i)) && !banner_find_reachable(address, whole))
        i++;
    if (!address) {
        say_warning(
            "--qr: no other machine reaches this address; --listen 0.0.0.0 is for the network");
        return;
    }
    address_write_url(whole, skua_server_address_is_secure(server, i), url);
    if (!qr_make(&code, url)) return;
    (void)qr_write(&code, text, sizeof text);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        (void)fprintf(stderr, is_coloured ? "\033[97;40m%.*s\033[0m\n" : "%.*s\n",
                      (int)(end - line), line);
    }
    (void)fprintf(stderr, "%s\n", url);
}

void banner_warn(const skua_server *server)
{
    const char *address;
    for (size_t i = 0; (address = skua_server_address(server, i)); i++) {
        if (address_is_loopback(address)) continue;
        bool every = address_is_every(address);
        say_warning("other machines can reach %s%s and read everything that is served there",
                    every ? "port " : "", every ? strrchr(address, ':') + 1 : address);
    }
}
