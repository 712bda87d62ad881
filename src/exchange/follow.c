// SPDX-License-Identifier: MIT
//
// Followers of a request. They take the place of the function of skua_on_end while there are any, and call it last;
// so a request that nobody follows pays nothing for them.

#include "exchange/request.h"

#include "base/contract.h"

typedef struct request_follower request_follower;
typedef struct request_followers request_followers;

// Memory of the request. fn NULL: it has been called, or was taken back.
struct request_follower {
    request_follower *next;
    skua_end_fn *fn;
    void *user;
};

struct request_followers {
    request_follower *first; // the one added last
    unsigned count;          // of those with a function
    skua_end_fn *end;        // of skua_on_end
    void *end_user;
};

// A follower may take back others, and itself.
static void followers_tell(skua_request *r, skua_end how, void *user)
{
    const request_followers *all = user;
    for (request_follower *f = all->first; f; f = f->next) {
        skua_end_fn *fn = f->fn;
        f->fn = NULL;
        if (fn) fn(r, how, f->user);
    }
    if (all->end) all->end(r, how, all->end_user);
}

static request_followers *followers_of(const skua_request *r)
{
    return r->end == followers_tell ? r->end_user : NULL;
}

static request_followers *followers_begin(skua_request *r)
{
    request_followers *all = skua_request_alloc(r, sizeof *all);
    if (!all) return NULL;
    *all = (request_followers){ .end = r->end, .end_user = r->end_user };
    r->end = followers_tell;
    r->end_user = all;
    return all;
}

static void followers_end(skua_request *r, const request_followers *all)
{
    r->end = all->end;
    r->end_user = all->end_user;
}

void skua_on_end(skua_request *r, skua_end_fn *fn, void *user)
{
    request_expect(r, __func__);
    request_followers *all = followers_of(r);
    *(all ? &all->end : &r->end) = fn;
    *(all ? &all->end_user : &r->end_user) = user;
}

// Middleware is told of the end first, and may still add functions.
static bool request_can_be_followed(const skua_request *r)
{
    return r->life == LIFE_GOES_ON || r->entered;
}

skua_status skua_request_follow(skua_request *r, skua_end_fn *fn, void *user)
{
    request_expect(r, __func__);
    CONTRACT(fn, "fn must not be NULL");
    if (!request_can_be_followed(r)) return SKUA_ECLOSED;
    request_follower *f = skua_request_alloc(r, sizeof *f);
    request_followers *all = f ? followers_of(r) : NULL;
    if (f && !all) all = followers_begin(r);
    if (!all) return SKUA_ENOMEM;
    *f = (request_follower){ .next = all->first, .fn = fn, .user = user };
    all->first = f;
    all->count++;
    return SKUA_OK;
}

void skua_request_unfollow(skua_request *r, skua_end_fn *fn, void *user)
{
    request_expect(r, __func__);
    CONTRACT(fn, "fn must not be NULL");
    request_followers *all = followers_of(r);
    request_follower *f = all ? all->first : NULL;
    while (f && (f->fn != fn || f->user != user))
        f = f->next;
    if (!f) return;
    f->fn = NULL;
    if (--all->count == 0 && r->life == LIFE_GOES_ON) followers_end(r, all);
}
