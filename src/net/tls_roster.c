// SPDX-License-Identifier: MIT
//
// The certificates of a server. Those that share a name become one identity, so that OpenSSL can
// choose among them by what the client is able to check.

#include "net/tls_roster.h"

#ifdef SKUA_TLS

#include "base/assert.h"
#include "base/memory.h"

_Static_assert((int)TLS_NAME_SLOTS == (int)TLS_KEY_KINDS, "a slot for each kind of key");

typedef struct roster_entry {
    const skua_tls_certificate *from;
    tls_certificate certificate;
    tls_clients clients;
    bool has_name;
} roster_entry;

// A roster in the making.
typedef struct roster_work {
    roster_entry *entries;
    uint32_t count;
    const tls_clients *inherited;
    tls_load *load;
    tls_roster *roster;
    skua_status status; // of what was called with a function
    roster_entry *entry;
} roster_work;

static const char *roster_label(const roster_entry *entry)
{
    return entry->from->file ? entry->from->file : "given in memory";
}

static skua_status roster_fail_memory(roster_work *work)
{
    return tls_load_fail(work->load, SKUA_ENOMEM, "cannot read certificates: memory ran out");
}

// ---- Reading ----

static skua_status roster_read_entry(roster_work *work, roster_entry *entry)
{
    skua_status status = tls_certificate_read(entry->from, work->load, &entry->certificate);
    if (status) return status;
    if (entry->from->clients)
        return tls_clients_read(entry->from->clients, work->load, &entry->clients);
    return tls_clients_share(work->inherited, &entry->clients) ? SKUA_OK : roster_fail_memory(work);
}

// ---- Names ----

static skua_status roster_add_name(roster_work *work, roster_entry *entry, slice folded)
{
    entry->has_name = true;
    skua_status status = tls_names_add(&work->roster->names, folded, entry->certificate.kind,
                                       (uint32_t)(entry - work->entries));
    return status ? roster_fail_memory(work) : SKUA_OK;
}

// A name of the certificate's own. One that no client could send is left out.
static bool roster_take_name(slice name, void *user)
{
    roster_work *work = user;
    char folded[TLS_NAME_OCTETS_MAX];
    size_t len = tls_name_fold(name, true, folded);
    if (len) work->status = roster_add_name(work, work->entry, slice_make(folded, len));
    return work->status == SKUA_OK;
}

static skua_status roster_add_given_name(roster_work *work, roster_entry *entry, slice name)
{
    char folded[TLS_NAME_OCTETS_MAX];
    size_t len = tls_name_fold(name, true, folded);
    if (len) return roster_add_name(work, entry, slice_make(folded, len));
    return tls_load_fail(work->load, SKUA_EINVAL,
                         "\"%.*s\" is not a server name; the names of the certificate %s are host "
                         "names, as example.org or *.example.org, separated by spaces",
                         (int)(name.len < 100 ? name.len : 100), name.ptr, roster_label(entry));
}

static skua_status roster_add_names(roster_work *work, roster_entry *entry)
{
    work->entry = entry;
    work->status = SKUA_OK;
    if (!entry->from->names) {
        (void)tls_certificate_names(&entry->certificate, roster_take_name, work);
        return work->status;
    }
    skua_status status = SKUA_OK;
    for (const char *at = entry->from->names; *at && !status;) {
        size_t len = strcspn(at, " ");
        if (len) status = roster_add_given_name(work, entry, slice_make(at, len));
        at += len + (at[len] == ' ');
    }
    return status;
}

static skua_status roster_sort_names(roster_work *work)
{
    uint32_t other = 0;
    const tls_names_row *row = tls_names_sort(&work->roster->names, &other);
    if (!row) return SKUA_OK;
    const roster_entry *second = &work->entries[other];
    tls_key_kind kind = second->certificate.kind;
    const roster_entry *first = &work->entries[row->slots[kind]];
    return tls_load_fail(
        work->load, SKUA_EINVAL, "the name %s belongs to two certificates with %s keys, %s and %s",
        row->name, tls_key_kind_name(kind), roster_label(first), roster_label(second));
}

// ---- The default ----

// Returns the default's entry in *entry.
static skua_status roster_find_default(roster_work *work, uint32_t *entry)
{
    uint32_t found = TLS_ROSTER_NONE;
    for (uint32_t i = 0; i < work->count; i++) {
        if (!work->entries[i].from->is_default) continue;
        if (found != TLS_ROSTER_NONE) {
            return tls_load_fail(
                work->load, SKUA_EINVAL, "two certificates are the default, %s and %s",
                roster_label(&work->entries[found]), roster_label(&work->entries[i]));
        }
        found = i;
    }
    *entry = found != TLS_ROSTER_NONE ? found : 0;
    return SKUA_OK;
}

// A certificate without a name would never be shown, unless it is the default.
static skua_status roster_check_named(roster_work *work, uint32_t fallback)
{
    for (uint32_t i = 0; i < work->count; i++) {
        const roster_entry *entry = &work->entries[i];
        if (entry->has_name || i == fallback) continue;
        return tls_load_fail(work->load, SKUA_EINVAL,
                             "the certificate %s has no DNS name in it, and is not the default; "
                             "say what names it is for",
                             roster_label(entry));
    }
    return SKUA_OK;
}

// ---- Identities ----

static const roster_entry *roster_slot(const roster_work *work, const tls_names_row *row,
                                       unsigned slot)
{
    return row->slots[slot] == TLS_NAMES_NONE ? NULL : &work->entries[row->slots[slot]];
}

// Finds one of a name's certificates to state what is asked of clients; all must ask the same.
// speaker: set on success.
static skua_status roster_check_clients(roster_work *work, const tls_names_row *row,
                                        const roster_entry **speaker)
{
    *speaker = NULL;
    for (unsigned i = 0; i < TLS_NAME_SLOTS; i++) {
        const roster_entry *entry = roster_slot(work, row, i);
        if (!entry) continue;
        if (!*speaker) *speaker = entry;
        if (tls_clients_equal(&(*speaker)->clients, &entry->clients)) continue;
        return tls_load_fail(work->load, SKUA_EINVAL,
                             "the certificates %s and %s are for the same name and ask different "
                             "things of clients",
                             roster_label(*speaker), roster_label(entry));
    }
    SKUA_ASSERT(*speaker);
    return SKUA_OK;
}

// *number: of the new identity.
static skua_status roster_add_identity(roster_work *work, const tls_names_row *row,
                                       uint32_t *number)
{
    tls_roster *roster = work->roster;
    const tls_certificate *certificates[TLS_KEY_KINDS] = { 0 };
    const roster_entry *speaker;
    skua_status status = roster_check_clients(work, row, &speaker);
    if (status) return status;
    for (unsigned i = 0; i < TLS_NAME_SLOTS; i++) {
        const roster_entry *entry = roster_slot(work, row, i);
        if (entry) certificates[i] = &entry->certificate;
    }
    skua_tls_identity *identity = tls_identity_new(certificates, &speaker->clients);
    if (!identity) return roster_fail_memory(work);
    *number = roster->count;
    roster->identities[roster->count++] = identity;
    return SKUA_OK;
}

// The identity of an earlier row with the same certificates; TLS_ROSTER_NONE: there is none.
static uint32_t roster_same(const tls_roster *roster, size_t before)
{
    const tls_names_row *rows = roster->names.rows;
    for (size_t i = 0; i < before; i++) {
        if (memcmp(rows[i].slots, rows[before].slots, sizeof rows->slots) == 0)
            return rows[i].value;
    }
    return TLS_ROSTER_NONE;
}

static skua_status roster_make_identities(roster_work *work)
{
    tls_roster *roster = work->roster;
    // One for each row at most, and one for a default without a name.
    roster->identities = memory_array(roster->names.count + 1, sizeof *roster->identities);
    skua_status status = roster->identities ? SKUA_OK : roster_fail_memory(work);
    for (size_t i = 0; i < roster->names.count && !status; i++) {
        tls_names_row *row = &roster->names.rows[i];
        row->value = roster_same(roster, i);
        if (row->value == TLS_ROSTER_NONE) status = roster_add_identity(work, row, &row->value);
    }
    return status;
}

static unsigned roster_slots_used(const tls_names_row *row)
{
    unsigned used = 0;
    for (unsigned i = 0; i < TLS_NAME_SLOTS; i++)
        used += row->slots[i] != TLS_NAMES_NONE;
    return used;
}

// The identity of the default certificate: where it has company under one of its names, with that.
static skua_status roster_set_fallback(roster_work *work, uint32_t entry)
{
    tls_roster *roster = work->roster;
    unsigned kind = work->entries[entry].certificate.kind;
    const tls_names_row *best = NULL;
    for (size_t i = 0; i < roster->names.count; i++) {
        const tls_names_row *row = &roster->names.rows[i];
        if (row->slots[kind] != entry) continue;
        if (!best || roster_slots_used(row) > roster_slots_used(best)) best = row;
    }
    if (best) {
        roster->fallback = best->value;
        return SKUA_OK;
    }
    tls_names_row alone = { .slots = { TLS_NAMES_NONE, TLS_NAMES_NONE, TLS_NAMES_NONE } };
    alone.slots[kind] = entry;
    return roster_add_identity(work, &alone, &roster->fallback);
}

// ---- All of it ----

static skua_status roster_fill(roster_work *work)
{
    uint32_t fallback = 0;
    skua_status status = SKUA_OK;
    for (uint32_t i = 0; i < work->count && !status; i++) {
        status = roster_read_entry(work, &work->entries[i]);
        if (!status) status = roster_add_names(work, &work->entries[i]);
    }
    if (!status) status = roster_sort_names(work);
    if (!status) status = roster_find_default(work, &fallback);
    if (!status) status = roster_check_named(work, fallback);
    if (!status) status = roster_make_identities(work);
    if (!status) status = roster_set_fallback(work, fallback);
    return status;
}

skua_status tls_roster_read(const skua_tls_certificate *certificates, unsigned count,
                            const tls_clients *inherited, tls_load *load, tls_roster *roster)
{
    *roster = (tls_roster){ .fallback = TLS_ROSTER_NONE };
    if (count == 0) return SKUA_OK;
    roster_work work = { .entries = memory_array(count, sizeof(roster_entry)),
                         .count = count,
                         .inherited = inherited,
                         .load = load,
                         .roster = roster };
    if (!work.entries) return roster_fail_memory(&work);
    for (uint32_t i = 0; i < count; i++)
        work.entries[i].from = &certificates[i];
    skua_status status = roster_fill(&work);
    for (uint32_t i = 0; i < count; i++) {
        tls_certificate_drop(&work.entries[i].certificate);
        tls_clients_drop(&work.entries[i].clients);
    }
    memory_free(work.entries);
    if (status) tls_roster_free(roster);
    return status;
}

uint32_t tls_roster_find(const tls_roster *roster, slice folded)
{
    const tls_names_row *row = tls_names_find(&roster->names, folded);
    return row ? row->value : TLS_ROSTER_NONE;
}

void tls_roster_free(tls_roster *roster)
{
    for (uint32_t i = 0; i < roster->count; i++)
        skua_tls_identity_unref(roster->identities[i]);
    memory_free(roster->identities);
    tls_names_free(&roster->names);
    *roster = (tls_roster){ .fallback = TLS_ROSTER_NONE };
}

#endif
