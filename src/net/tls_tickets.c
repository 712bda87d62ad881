// SPDX-License-Identifier: MIT
//
// Keys of session tickets. Whoever learns a key can read the TLS 1.2 sessions whose tickets it made,
// so keys are forgotten. Each worker has a copy, and looks for new keys when its own are old: a lock
// once in twelve hours.

#include "net/tls_tickets.h"

#ifdef SKUA_TLS

#include "base/assert.h"
#include "base/memory.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

_Static_assert(sizeof(tls_ticket_key) == TLS_TICKET_KEY_OCTETS, "as it stands in a file");

struct tls_tickets {
    _Atomic uint32_t holders;
    bool rotates;
    pthread_mutex_t lock; // of what follows
    int64_t until_ns;     // INT64_MAX: they stay
    unsigned count;
    tls_ticket_key keys[TLS_TICKET_KEYS_MAX];
};

// ---- All workers' ----

static tls_tickets *tickets_new(void)
{
    tls_tickets *tickets = memory_zeroed(sizeof *tickets);
    if (!tickets) return NULL;
    if (pthread_mutex_init(&tickets->lock, NULL) != 0) {
        memory_free(tickets);
        return NULL;
    }
    atomic_init(&tickets->holders, 1);
    return tickets;
}

static skua_status tickets_fail_memory(tls_load *load)
{
    return tls_load_fail(load, SKUA_ENOMEM, "cannot make keys for session tickets: memory ran out");
}

skua_status tls_tickets_random(tls_load *load, tls_tickets **tickets)
{
    tls_tickets *t = tickets_new();
    if (!t) return tickets_fail_memory(load);
    t->rotates = true;
    *tickets = t;
    return SKUA_OK;
}

static skua_status tickets_take(tls_tickets *t, const char *file, const tls_octets *octets,
                                tls_load *load)
{
    size_t count = octets->len / TLS_TICKET_KEY_OCTETS;
    if (count == 0 || octets->len % TLS_TICKET_KEY_OCTETS || count > TLS_TICKET_KEYS_MAX) {
        return tls_load_fail(load, SKUA_EINVAL,
                             "the ticket keys %s have %zu octets; a key has %d, and there are 1 to "
                             "%d of them",
                             file, octets->len, TLS_TICKET_KEY_OCTETS, TLS_TICKET_KEYS_MAX);
    }
    memcpy(t->keys, octets->ptr, octets->len);
    t->count = (unsigned)count;
    t->until_ns = INT64_MAX;
    return SKUA_OK;
}

skua_status tls_tickets_read(const char *file, tls_load *load, tls_tickets **tickets)
{
    tls_source source = { .what = "ticket keys", .file = file };
    tls_octets octets;
    unsigned mode;
    skua_status status = tls_load_read(load, &source, &octets, &mode);
    if (status) return status;
    if (mode & (S_IROTH | S_IWOTH)) {
        tls_load_warn(load, "the ticket keys %s can be read by every user of this machine", file);
    }
    tls_tickets *t = tickets_new();
    status = t ? tickets_take(t, file, &octets, load) : tickets_fail_memory(load);
    tls_octets_free(&octets);
    if (status) tls_tickets_unref(t);
    else *tickets = t;
    return status;
}

bool tls_tickets_are_random(const tls_tickets *tickets)
{
    return tickets->rotates;
}

tls_tickets *tls_tickets_ref(tls_tickets *tickets)
{
    atomic_fetch_add_explicit(&tickets->holders, 1, memory_order_relaxed);
    return tickets;
}

void tls_tickets_unref(tls_tickets *tickets)
{
    if (!tickets) return;
    uint32_t before = atomic_fetch_sub_explicit(&tickets->holders, 1, memory_order_acq_rel);
    SKUA_ASSERT(before > 0);
    if (before > 1) return;
    OPENSSL_cleanse(tickets->keys, sizeof tickets->keys);
    (void)pthread_mutex_destroy(&tickets->lock);
    memory_free(tickets);
}

// A key in front of the others.
static void tickets_add(tls_tickets *t, int64_t now_ns)
{
    tls_ticket_key key;
    bool is_made = RAND_bytes(key.name, sizeof key.name) == 1 &&
                   RAND_priv_bytes(key.cipher, sizeof key.cipher) == 1 &&
                   RAND_priv_bytes(key.mac, sizeof key.mac) == 1;
    if (is_made) {
        memmove(t->keys + 1, t->keys, t->count * sizeof key);
        t->keys[0] = key;
        t->count++;
        t->until_ns = now_ns + TLS_TICKET_ROTATION_NS;
    }
    OPENSSL_cleanse(&key, sizeof key);
}

// Leaves what may stay beside a new key. A server that nobody came to for days has missed
// replacements, and then fewer may.
static void tickets_forget(tls_tickets *t, int64_t now_ns)
{
    unsigned kept = TLS_TICKET_KEYS_KEPT - 1;
    int64_t late_ns = now_ns - t->until_ns;
    for (; kept && late_ns >= TLS_TICKET_ROTATION_NS; late_ns -= TLS_TICKET_ROTATION_NS)
        kept--;
    for (; t->count > kept; t->count--)
        OPENSSL_cleanse(&t->keys[t->count - 1], sizeof t->keys[0]);
}

// ---- A worker's ----

void tls_ticket_view_init(tls_ticket_view *view, tls_tickets *tickets)
{
    *view = (tls_ticket_view){ .tickets = tls_tickets_ref(tickets), .until_ns = INT64_MIN };
}

void tls_ticket_view_deinit(tls_ticket_view *view)
{
    OPENSSL_cleanse(view->keys, sizeof view->keys);
    tls_tickets_unref(view->tickets);
    *view = (tls_ticket_view){ 0 };
}

static void view_refresh(tls_ticket_view *view, int64_t now_ns)
{
    tls_tickets *t = view->tickets;
    pthread_mutex_lock(&t->lock);
    if (t->rotates && (t->count == 0 || now_ns >= t->until_ns)) {
        tickets_forget(t, now_ns);
        tickets_add(t, now_ns);
    }
    memcpy(view->keys, t->keys, sizeof view->keys);
    view->count = t->count;
    view->until_ns = t->until_ns;
    pthread_mutex_unlock(&t->lock);
}

const tls_ticket_key *tls_ticket_view_first(tls_ticket_view *view, int64_t now_ns)
{
    if (now_ns >= view->until_ns) view_refresh(view, now_ns);
    return view->count ? &view->keys[0] : NULL;
}

const tls_ticket_key *tls_ticket_view_find(tls_ticket_view *view, int64_t now_ns,
                                           const unsigned char name[TLS_TICKET_NAME_OCTETS],
                                           bool *is_first)
{
    (void)tls_ticket_view_first(view, now_ns);
    for (unsigned i = 0; i < view->count; i++) {
        if (memcmp(view->keys[i].name, name, TLS_TICKET_NAME_OCTETS) != 0) continue;
        *is_first = i == 0;
        return &view->keys[i];
    }
    return NULL;
}

#endif
