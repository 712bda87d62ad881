// SPDX-License-Identifier: MIT
//
// Site: what it hides, and how many there are.

#include "files/site.h"

#include "base/memory.h"

#include <stdatomic.h>

static struct {
    struct {
        atomic_uint count; // sites that are alive in this process
    } shared;
} sites;

void site_comes(void)
{
    atomic_fetch_add_explicit(&sites.shared.count, 1, memory_order_relaxed);
}

void site_leaves(void)
{
    atomic_fetch_sub_explicit(&sites.shared.count, 1, memory_order_relaxed);
}

unsigned site_count(void)
{
    unsigned count = atomic_load_explicit(&sites.shared.count, memory_order_relaxed);
    return count ? count : 1;
}

site *site_hold(site *s)
{
    atomic_fetch_add_explicit(&s->shared.refs, 1, memory_order_relaxed);
    return s;
}

void site_let_go(site *s)
{
    if (atomic_fetch_sub_explicit(&s->shared.refs, 1, memory_order_acq_rel) != 1) return;
    (void)pthread_mutex_destroy(&s->shared.lock);
    skua_root_close(s->root);
    memory_free(s->index);
    memory_free(s->cache_control);
    memory_free(s->list_markup);
    memory_free(s->list_script);
    memory_free(s->list_policy);
    memory_free(s->name);
    memory_free(s->fallback);
    memory_free(s->not_found);
    for (size_t i = 0; i < s->types_count; i++) {
        memory_free(s->types[i].ending);
        memory_free(s->types[i].type);
    }
    memory_free(s->types);
    for (size_t i = 0; i < s->tries_count; i++)
        memory_free(s->tries[i]);
    memory_free(s->tries);
    memory_free(s);
    site_leaves();
}

bool site_hides(const site *s, slice name)
{
    if (s->dotfiles) return false;
    for (size_t i = 0; i < name.len; i++) {
        bool begins = i == 0 || name.ptr[i - 1] == '/';
        if (!begins || name.ptr[i] != '.') continue;
        slice well_known = SKUA_SLICE(".well-known");
        bool is_first = i == 0 && name.len >= well_known.len &&
                        (name.len == well_known.len || name.ptr[well_known.len] == '/');
        if (!is_first || memcmp(name.ptr, well_known.ptr, well_known.len) != 0) return true;
    }
    return false;
}

const char *site_type(const site *s, slice name)
{
    for (size_t i = 0; i < s->types_count; i++) {
        slice ending = slice_of(s->types[i].ending);
        if (ending.len <= name.len &&
            slice_equal_nocase(slice_from(name, name.len - ending.len), ending))
            return s->types[i].type;
    }
    return NULL;
}
