// SPDX-License-Identifier: MIT
//
// Hints. The library says what is wrong; what to type instead is the program's to know.

#include "hints.h"

#include "common/say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HINT_OCTETS = 256, PORT_MAX = 65535, PORT_FREE_MIN = 1024 };

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
static const char *address_in(const char *sentence, const options_listens *listens)
{
    for (size_t i = 0; i < listens->count; i++) {
        if (strstr(sentence, listens->at[i])) return listens->at[i];
    }
    return NULL;
}

static const char *address_meant(const char *sentence, const options *o)
{
    const char *found = address_in(sentence, &o->secure);
    if (!found && !o->makes_redirect) found = address_in(sentence, &o->plain);
    if (found || o->plain.count + o->secure.count > 1) return found;
    return o->plain.count ? o->plain.at[0] : o->secure.at[0];
}

// Writes the same address with another port, as it would be typed.
static void hint_other_port(const options *o, const char *address, long port,
                            char hint[HINT_OCTETS])
{
    int host_len = (int)(strrchr(address, ':') - address);
    const char *name =
        o->has_tls_listen && address_in(address, &o->secure) ? "tls-listen" : "listen";
    if (!o->has_listen) (void)snprintf(hint, HINT_OCTETS, "; try --port %ld", port);
    else (void)snprintf(hint, HINT_OCTETS, "; try --%s %.*s:%ld", name, host_len, address, port);
}

static void hint_write(const char *sentence, skua_status status, const options *o,
                       char hint[HINT_OCTETS])
{
    const char *address = address_meant(sentence, o);
    long port = address ? (long)address_port(address) : 0;
    hint[0] = '\0';
    if (port <= 0 || port > PORT_MAX) return;
    if (status == SKUA_EADDRINUSE)
        hint_other_port(o, address, port < PORT_MAX ? port + 1 : 0, hint);
    if (status == SKUA_EACCES && port < PORT_FREE_MIN)
        hint_other_port(o, address, port + 8000, hint);
}

static bool keys_are_lacking(const options *o)
{
    for (unsigned i = 0; i < o->certificate_count; i++) {
        if (!o->certificates[i].key_file) return true;
    }
    return false;
}

void hints_say(const skua_server *server, skua_status status, const options *o)
{
    char hint[HINT_OCTETS];
    const char *sentence = skua_server_error(server);
    if (!*sentence) sentence = skua_status_text(status);
    hint_write(sentence, status, o, hint);
    if (strstr(sentence, "has no private key") && keys_are_lacking(o))
        (void)snprintf(hint, sizeof hint, "; say where it is by --key FILE");
    say_error("%s%s", sentence, hint);
}
