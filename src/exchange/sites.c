// SPDX-License-Identifier: MIT
//
// Sites: tables and views.

#include "exchange/sites.h"

#include "base/assert.h"
#include "base/memory.h"
#include "http/syntax.h"
#include "route/router.h"

typedef struct site_slot {
    slice name;        // in the text of hosts of its site
    bool any_label;    // one label more comes before it
    served_site *site; // NULL: the slot is free
    unsigned number;   // of the site in the table
    unsigned hash;     // of the name
} site_slot;

struct site_table {
    struct {
        atomic_uint refs;
    } shared;
    site_slot *slots; // a hash table, at most half full
    unsigned room, used;
    served_site **sites; // each once
    unsigned count;
    site_slot rest; // every host that has no slot, if it has a site
};

enum { SITE_ASKED_OCTETS = 64 };

struct site_view {
    site_table *table; // NULL: it has been retired
    unsigned count, taken;
    site_seat *last;  // of asked; NULL: it has none
    size_t asked_len; // 0: nothing is kept
    char asked
        [SITE_ASKED_OCTETS]; // the authority that was looked for last: most requests are for the same
    site_seat seats[];       // of table's sites; taken of them have requests
};

// ---- Sites ----

served_site *site_ref(served_site *site)
{
    atomic_fetch_add_explicit(&site->shared.refs, 1, memory_order_relaxed);
    return site;
}

void site_unref(served_site *site)
{
    if (atomic_fetch_sub_explicit(&site->shared.refs, 1, memory_order_acq_rel) != 1) return;
    site->destroy(site);
}

// ---- Tables ----

site_table *site_table_ref(site_table *table)
{
    atomic_fetch_add_explicit(&table->shared.refs, 1, memory_order_relaxed);
    return table;
}

void site_table_unref(site_table *table)
{
    if (!table) return;
    if (atomic_fetch_sub_explicit(&table->shared.refs, 1, memory_order_acq_rel) != 1) return;
    for (unsigned i = 0; i < table->count; i++)
        site_unref(table->sites[i]);
    memory_free((void *)table->sites);
    memory_free(table->slots);
    memory_free(table);
}

// A name as the table knows it: "*.example.org" is any label before "example.org", "*" is the rest.
static site_slot site_slot_of(slice name, served_site *site)
{
    site_slot slot = { .name = name, .site = site };
    if (name.len == 1 && name.ptr[0] == '*') slot.name = (slice){ 0 };
    if (name.len > 2 && memcmp(name.ptr, "*.", 2) == 0) {
        slot.name = slice_from(name, 2);
        slot.any_label = true;
    }
    slot.hash = slice_hash_nocase(slot.name);
    return slot;
}

static bool site_slot_is(const site_slot *slot, slice name, bool any_label)
{
    return slot->any_label == any_label && slice_equal_nocase(slot->name, name);
}

// The place of a name, or the free one where it belongs. Names in the table are the program's, so that
// nobody else can aim at a place.
static site_slot *site_table_place(const site_table *table, slice name, bool any_label,
                                   unsigned hash)
{
    unsigned i = hash & (table->room - 1);
    while (table->slots[i].site &&
           !(table->slots[i].hash == hash && site_slot_is(&table->slots[i], name, any_label)))
        i = (i + 1) & (table->room - 1);
    return &table->slots[i];
}

static slice site_next_name(slice *rest)
{
    size_t at = 0, end;
    while (at < rest->len && rest->ptr[at] == ' ')
        at++;
    end = at;
    while (end < rest->len && rest->ptr[end] != ' ')
        end++;
    slice name = slice_make(rest->ptr + at, end - at);
    *rest = slice_from(*rest, end);
    return name;
}

static unsigned site_count_names(slice names)
{
    unsigned count = 0;
    while (site_next_name(&names).len)
        count++;
    return count;
}

static bool site_names_have(slice names, const site_slot *slot)
{
    for (slice name; (name = site_next_name(&names)).len;) {
        site_slot other = site_slot_of(name, NULL);
        if (other.hash == slot->hash && site_slot_is(slot, other.name, other.any_label))
            return true;
    }
    return false;
}

static site_table *site_table_new(unsigned names)
{
    unsigned room = 8;
    while (room / 2 < names)
        room *= 2;
    site_table *table = memory_zeroed(sizeof *table);
    if (!table) return NULL;
    atomic_init(&table->shared.refs, 1);
    table->room = room;
    table->slots = memory_array(room, sizeof *table->slots);
    table->sites = (served_site **)memory_array(names, sizeof *table->sites);
    if (table->slots && table->sites) return table;
    site_table_unref(table);
    return NULL;
}

// numbers: of the sites of the table before, plus 1; 0: it is not in this one yet. The last is the
// new site's.
static void site_table_put(site_table *table, unsigned *numbers, site_slot slot)
{
    if (numbers[slot.number] == 0) {
        table->sites[table->count++] = site_ref(slot.site);
        numbers[slot.number] = table->count;
    }
    slot.number = numbers[slot.number] - 1;
    if (slot.name.len == 0) {
        table->rest = slot;
        return;
    }
    site_slot *place = site_table_place(table, slot.name, slot.any_label, slot.hash);
    if (!place->site) table->used++;
    *place = slot;
}

// Puts a name of the table before, unless it is among those that change. Returns whether it is.
static bool site_table_keep(site_table *table, unsigned *numbers, slice names,
                            const site_slot *slot)
{
    if (!slot->site) return false;
    if (site_names_have(names, slot)) return true;
    site_table_put(table, numbers, *slot);
    return false;
}

static bool site_table_keep_all(site_table *table, unsigned *numbers, slice names,
                                const site_table *before)
{
    bool found = site_table_keep(table, numbers, names, &before->rest);
    for (unsigned i = 0; i < before->room; i++) {
        if (site_table_keep(table, numbers, names, &before->slots[i])) found = true;
    }
    return found;
}

site_table *site_table_with(const site_table *before, slice names, served_site *site, bool *found)
{
    unsigned kept = before ? before->used + 1 : 0, count = before ? before->count : 0;
    site_table *table = site_table_new(kept + site_count_names(names) + 1);
    unsigned *numbers = table ? memory_array(count + 1, sizeof *numbers) : NULL;
    if (!numbers) {
        site_table_unref(table);
        return NULL;
    }
    *found = before && site_table_keep_all(table, numbers, names, before);
    for (slice name; site && (name = site_next_name(&names)).len;) {
        site_slot slot = site_slot_of(name, site);
        slot.number = count;
        site_table_put(table, numbers, slot);
    }
    memory_free(numbers);
    return table;
}

// The most specific name counts: the whole, any first label, every other.
static const site_slot *site_table_find(const site_table *table, slice name)
{
    const site_slot *slot = site_table_place(table, name, false, slice_hash_nocase(name));
    if (name.len && slot->site) return slot;
    const char *dot = name.len ? memchr(name.ptr, '.', name.len) : NULL;
    if (dot && dot > name.ptr) {
        slice below = slice_from(name, (size_t)(dot - name.ptr) + 1);
        slot = site_table_place(table, below, true, slice_hash_nocase(below));
        if (below.len && slot->site) return slot;
    }
    return table->rest.site ? &table->rest : NULL;
}

// ---- Views ----

site_view *site_view_new(site_table *table)
{
    site_view *view = memory_zeroed(sizeof *view + table->count * sizeof *view->seats);
    if (!view) return NULL;
    view->table = site_table_ref(table);
    view->count = table->count;
    for (unsigned i = 0; i < view->count; i++)
        view->seats[i] = (site_seat){ .site = site_ref(table->sites[i]), .view = view };
    return view;
}

size_t site_view_method_octets_max(const site_view *view)
{
    const site_table *table = view->table;
    size_t longest = 0;
    for (unsigned i = 0; i < table->count; i++) {
        size_t octets = router_method_octets_max(table->sites[i]->parts.router);
        if (octets > longest) longest = octets;
    }
    return longest;
}

void site_view_retire(site_view *view)
{
    if (!view) return;
    site_table_unref(view->table);
    view->table = NULL;
    for (unsigned i = 0; i < view->count; i++) {
        if (view->seats[i].requests == 0) site_unref(view->seats[i].site);
    }
    if (view->taken == 0) memory_free(view);
}

site_seat *site_view_find(site_view *view, slice authority)
{
    bool is_asked = authority.len && authority.len == view->asked_len &&
                    memcmp(authority.ptr, view->asked, view->asked_len) == 0;
    if (is_asked) return view->last;
    const site_slot *slot = site_table_find(view->table, syntax_host_name(authority));
    view->last = slot ? &view->seats[slot->number] : NULL;
    view->asked_len = authority.len <= sizeof view->asked ? authority.len : 0;
    if (view->asked_len) memcpy(view->asked, authority.ptr, view->asked_len);
    return view->last;
}

void site_seat_take(site_seat *seat, skua_request *r)
{
    if (seat->requests++ == 0) seat->view->taken++;
    r->sited = r->keeps = true;
    r->seat = seat;
}

void site_seat_leave(site_seat *seat)
{
    site_view *view = seat->view;
    SKUA_ASSERT(seat->requests > 0 && view->taken > 0);
    if (--seat->requests) return;
    view->taken--;
    if (view->table) return;
    site_unref(seat->site);
    if (view->taken == 0) memory_free(view);
}
