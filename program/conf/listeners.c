// SPDX-License-Identifier: MIT
//
// Listeners are known by their addresses as they stand in the file. Removing them takes a second and a half, in which
// the thread of the watch has other things to do.

#include "conf/listeners.h"

#include "common/address.h"
#include "common/say.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { LISTENERS_ADDRESS_OCTETS = 256 };

typedef struct conf_listener {
    char address[LISTENERS_ADDRESS_OCTETS]; // empty: the place is free
    size_t index;                           // of the server's
    bool tls;
    bool goes;
} conf_listener;

static struct {
    skua_server *server;
    conf_listener all[CONF_LISTENS_MAX];
    pthread_t remover;
    bool is_removing;
    void (*then)(void);
} listeners;

static conf_listener *listeners_find(const char *address)
{
    for (unsigned i = 0; i < CONF_LISTENS_MAX; i++) {
        if (strcmp(listeners.all[i].address, address) == 0) return &listeners.all[i];
    }
    return NULL;
}

static bool listeners_has(const conf *c, const char *address)
{
    for (unsigned i = 0; i < c->listen_count; i++) {
        if (strcmp(c->listens[i].address, address) == 0) return true;
    }
    return false;
}

static bool listeners_note(const conf_listen *at, size_t index)
{
    conf_listener *one = listeners_find("");
    size_t len = strlen(at->address);
    if (!one || len >= sizeof one->address) return false;
    *one = (conf_listener){ .index = index, .tls = at->tls };
    memcpy(one->address, at->address, len + 1);
    return true;
}

void conf_listeners_begin(skua_server *server, const conf *c)
{
    memset(&listeners, 0, sizeof listeners);
    listeners.server = server;
    for (unsigned i = 0; i < c->listen_count; i++)
        (void)listeners_note(&c->listens[i], i);
}

// ---- Adding ----

static skua_status listeners_add_one(const conf_listen *at, int *fd)
{
    skua_listener_desc desc = { .address = at->address, .tls = at->tls };
    unsigned number;
    size_t index;
    bool is_given = fd || address_is_fd(at->address, &number);
    if (is_given) {
        desc.address = NULL;
        desc.fd = fd ? *fd : (int)number;
    }
    if (!listeners_find("")) return SKUA_ELIMIT;
    skua_status status = skua_listener_add(listeners.server, &desc, &index);
    if (status) return status;
    if (fd) *fd = -1;
    return listeners_note(at, index) ? SKUA_OK : SKUA_ELIMIT;
}

bool conf_listeners_add(const conf *c, int *fds, char *why, size_t room)
{
    skua_status status = SKUA_OK;
    conf_listeners_wait();
    for (unsigned i = 0; i < c->listen_count && !status; i++) {
        const conf_listener *there = listeners_find(c->listens[i].address);
        if (there && there->tls == c->listens[i].tls) continue;
        if (there) status = SKUA_EEXIST; // clients must not meet both
        else status = listeners_add_one(&c->listens[i], fds ? &fds[i] : NULL);
        if (status)
            (void)snprintf(why, room, "%.200s: %s", c->listens[i].address,
                           skua_status_text(status));
    }
    return !status;
}

// ---- Removing ----

static void *listeners_run(void *nothing)
{
    size_t going[CONF_LISTENS_MAX], count = 0;
    for (unsigned i = 0; i < CONF_LISTENS_MAX; i++) {
        conf_listener *one = &listeners.all[i];
        if (!one->goes) continue;
        going[count++] = one->index;
        *one = (conf_listener){ .index = 0 };
    }
    (void)!skua_listeners_remove(listeners.server, going, count);
    if (listeners.then) listeners.then();
    return nothing;
}

void conf_listeners_drop(const char *address)
{
    conf_listeners_wait();
    conf_listener *one = listeners_find(address);
    if (*address && one) one->goes = true;
}

void conf_listeners_remove(const conf *c, void (*then)(void))
{
    bool some = false;
    conf_listeners_wait();
    for (unsigned i = 0; i < CONF_LISTENS_MAX; i++) {
        conf_listener *one = &listeners.all[i];
        if (*one->address && !listeners_has(c, one->address)) one->goes = true;
        some = some || one->goes;
    }
    listeners.then = then;
    listeners.is_removing =
        some && pthread_create(&listeners.remover, NULL, listeners_run, NULL) == 0;
    if (!listeners.is_removing) (void)listeners_run(NULL);
}

void conf_listeners_wait(void)
{
    if (listeners.is_removing) (void)pthread_join(listeners.remover, NULL);
    listeners.is_removing = false;
}
