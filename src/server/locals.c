// SPDX-License-Identifier: MIT
//
// A key is written before anything that uses it is handed to the workers, so that they read it without a lock.
// What a worker has under a key is dropped on its own thread; the key is free when the last one has done so.

#include "server/locals.h"

#include "base/contract.h"
#include "base/memory.h"
#include "base/sized.h"
#include "server/post.h"
#include "server/server.h"

// A word to all workers that an object goes.
typedef struct locals_notice {
    skua_server *server;
    unsigned key;
    bool stays; // somebody could not be told
    struct {
        atomic_uint refs; // workers that have not heard of it, and the one who tells them
    } shared;
} locals_notice;

static void locals_drop(server_worker *w, unsigned key)
{
    const skua_local_desc *desc = &w->self.server->locals.list[key];
    void *object = w->locals[key];
    w->locals[key] = NULL;
    if (object && desc->drop) desc->drop(&w->self, object, desc->user);
}

void locals_drop_all(server_worker *w)
{
    for (unsigned key = 0; key < WORKER_LOCALS_MAX; key++) {
        if (w->locals[key]) locals_drop(w, key);
    }
}

bool locals_evict(server_worker *w)
{
    bool any = false;
    for (unsigned key = 0; key < WORKER_LOCALS_MAX; key++) {
        const skua_local_desc *desc = &w->self.server->locals.list[key];
        void *object = w->locals[key];
        if (object && desc->evict && desc->evict(&w->self, object, desc->user)) any = true;
    }
    return any;
}

void locals_shrink(server_worker *w)
{
    for (unsigned key = 0; key < WORKER_LOCALS_MAX; key++) {
        const skua_local_desc *desc = &w->self.server->locals.list[key];
        void *object = w->locals[key];
        if (object && desc->shrink) desc->shrink(&w->self, object, desc->user);
    }
}

void *skua_local(skua_worker *self, unsigned key)
{
    home_expect(self, __func__);
    server_worker *w = worker_of(self);
    const skua_local_desc *list = self->server->locals.list;
    CONTRACT(key < WORKER_LOCALS_MAX && list[key].make,
             "key is none that skua_local_add has given");
    if (!w->locals[key]) w->locals[key] = list[key].make(self, list[key].user);
    return w->locals[key];
}

skua_status skua_local_add_sized(skua_server *server, const skua_local_desc *desc, unsigned *key,
                                 const skua_sizes *sizes)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(desc);
    CONTRACT_SIZES(sizes);
    skua_local_desc own;
    desc = SIZED_GIVEN(desc, sizes->local_desc, &own);
    CONTRACT_GIVEN(desc->make);
    CONTRACT_GIVEN(key);
    skua_local_desc *list = server->locals.list;
    unsigned at = 0;
    (void)pthread_mutex_lock(&server->locals.changing);
    while (at < WORKER_LOCALS_MAX && list[at].make)
        at++;
    if (at < WORKER_LOCALS_MAX) list[at] = *desc;
    (void)pthread_mutex_unlock(&server->locals.changing);
    if (at == WORKER_LOCALS_MAX) return SKUA_ELIMIT;
    *key = at;
    return SKUA_OK;
}

// ---- Going ----

static void locals_free_key(skua_server *server, unsigned key)
{
    (void)pthread_mutex_lock(&server->locals.changing);
    server->locals.list[key] = (skua_local_desc){ 0 };
    (void)pthread_mutex_unlock(&server->locals.changing);
}

static void locals_notice_leave(locals_notice *notice)
{
    if (atomic_fetch_sub_explicit(&notice->shared.refs, 1, memory_order_acq_rel) != 1) return;
    if (!notice->stays) locals_free_key(notice->server, notice->key);
    memory_free(notice);
}

static void locals_heard(skua_worker *self, void *user)
{
    locals_notice *notice = user;
    locals_drop(worker_of(self), notice->key);
    locals_notice_leave(notice);
}

// A worker that is ending drops everything by itself. Without memory for a letter the object stays until then, and
// the key is not given to anybody else.
static void locals_tell(locals_notice *notice, server_worker *w)
{
    post *letter = post_new(locals_heard, notice);
    if (!letter) notice->stays = true;
    if (!letter) return;
    atomic_fetch_add_explicit(&notice->shared.refs, 1, memory_order_relaxed);
    if (post_send(letter, w)) return;
    notice->stays = true;
    memory_free(letter);
    locals_notice_leave(notice);
}

void skua_local_remove(skua_server *server, unsigned key)
{
    CONTRACT_SERVER(server);
    CONTRACT(key < WORKER_LOCALS_MAX && server->locals.list[key].make,
             "key is none that skua_local_add has given");
    if (!server->started) {
        locals_free_key(server, key);
        return;
    }
    if (!gate_enter(&server->running)) return; // workers begin with nothing, and end with nothing
    locals_notice *notice = memory_alloc(sizeof *notice);
    if (notice) {
        *notice = (locals_notice){ .server = server, .key = key };
        atomic_init(&notice->shared.refs, 1);
        for (unsigned i = 0; i < server_worker_count(server); i++)
            locals_tell(notice, server->workers[i]);
        locals_notice_leave(notice);
    }
    gate_leave(&server->running);
}
