// SPDX-License-Identifier: MIT
//
// Hints. The library says what is wrong; what to type instead is the program's to know.

#include "hints.h"

#include "say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HINT_OCTETS = 256, PORT_MAX = 65535, PORT_FREE_MIN = 1024 };

// The port of an address; 0 when it has none.
static long port_of(const char *address)
{
    const char *colon = strrchr(address, ':');
    return colon && strncmp(address, "unix:", 5) != 0 ? strtol(colon + 1, NULL, 10) : 0;
}

static void say_dir_missing(const char *dir)
{
    unsigned port;
    if (address_is_port(dir, &port)) { // some servers take it as an argument
        say_error("there is no directory %s; to listen on that port, say --port %s", dir, dir);
    } else {
        say_error("there is no directory %s", *dir ? dir : "with an empty name");
    }
}

bool hints_check_dir(const char *dir)
{
    struct stat info;
    if (stat(dir, &info) != 0) {
        if (errno == EACCES) say_error("there is no permission to look at %s", dir);
        else say_dir_missing(dir);
        return false;
    }
    if (!S_ISDIR(info.st_mode)) {
        say_error("%s is a file; skua serves directories", dir);
        return false;
    }
    if (access(dir, X_OK) != 0) {
        say_error("there is no permission to read in %s", dir);
        return false;
    }
    return true;
}

// The address that an error is about: the sentence of the library names it as the user or the
// kernel wrote it.
static const char *address_in(const char *sentence, const options *o)
{
    for (size_t i = 0; i < o->listen_count; i++) {
        if (strstr(sentence, o->listens[i])) return o->listens[i];
    }
    return o->listen_count == 1 ? o->listens[0] : NULL;
}

// Writes the same address with another port, as it would be typed.
static void hint_other_port(const options *o, const char *address, long port,
                            char hint[HINT_OCTETS])
{
    int host_len = (int)(strrchr(address, ':') - address);
    if (!o->has_listen) (void)snprintf(hint, HINT_OCTETS, "; try --port %ld", port);
    else (void)snprintf(hint, HINT_OCTETS, "; try --listen %.*s:%ld", host_len, address, port);
}

static void hint_write(const char *sentence, skua_status status, const options *o,
                       char hint[HINT_OCTETS])
{
    const char *address = address_in(sentence, o);
    long port = address ? port_of(address) : 0;
    hint[0] = '\0';
    if (port <= 0 || port > PORT_MAX) return;
    if (status == SKUA_EADDRINUSE)
        hint_other_port(o, address, port < PORT_MAX ? port + 1 : 0, hint);
    if (status == SKUA_EACCES && port < PORT_FREE_MIN)
        hint_other_port(o, address, port + 8000, hint);
}

void hints_say(const skua_server *server, skua_status status, const options *o)
{
    char hint[HINT_OCTETS];
    const char *sentence = skua_server_error(server);
    if (!*sentence) sentence = skua_status_text(status);
    hint_write(sentence, status, o, hint);
    say_error("%s%s", sentence, hint);
}
