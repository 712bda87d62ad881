// SPDX-License-Identifier: MIT
//
// Post: a function for a worker, brought by a letter of its own.

#include "server/post.h"

#include "base/contract.h"
#include "base/memory.h"
#include "server/server.h"

struct post {
    mail letter; // first
    void (*fn)(skua_worker *worker, void *user);
    void *user;
};

static void post_deliver(mail *letter, void *reader)
{
    server_worker *w = reader;
    post p = *(post *)(void *)letter;
    memory_free(letter);
    p.fn(&w->self, p.user);
    gate_leave(&w->posting);
}

post *post_new(void (*fn)(skua_worker *worker, void *user), void *user)
{
    post *p = memory_alloc(sizeof *p);
    if (p) *p = (post){ .letter = { .deliver = post_deliver }, .fn = fn, .user = user };
    return p;
}

bool post_send(post *p, server_worker *w)
{
    if (!gate_enter(&w->posting)) return false;
    worker_post(&w->self, &p->letter);
    return true;
}

static skua_status post_to(server_worker *w, void (*fn)(skua_worker *worker, void *user),
                           void *user)
{
    post *p = post_new(fn, user);
    if (!p) return SKUA_ENOMEM;
    if (post_send(p, w)) return SKUA_OK;
    memory_free(p);
    return SKUA_ECLOSED;
}

skua_status skua_post(skua_server *server, unsigned index,
                      void (*fn)(skua_worker *worker, void *user), void *user)
{
    CONTRACT_SERVER(server);
    CONTRACT_GIVEN(fn);
    if (!gate_enter(&server->running)) return SKUA_ECLOSED;
    skua_status status = index < server_worker_count(server)
                             ? post_to(server->workers[index], fn, user)
                             : SKUA_EINVAL;
    gate_leave(&server->running);
    return status;
}
