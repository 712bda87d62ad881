// SPDX-License-Identifier: MIT
//
// Reserve. Between closing one and opening the file somebody else may take the number, mostly a
// kernel that accepts by itself (io_uring): hence several tries.

#include "io/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock; // of all but the flag
    unsigned asked;       // by the servers that run, together
    unsigned users;       // roots, and servers whose connections may use it
    unsigned wanted, held;
    int first; // what the others are duplicates of, and never spent; -1: nothing is held
    int others[RESERVE_MAX];
    struct {
        atomic_bool is_short; // held < wanted
    } shared;
} reserve = { .lock = PTHREAD_MUTEX_INITIALIZER, .first = -1 };

// ---- With the lock ----

static void reserve_fill(void)
{
    while (reserve.held < reserve.wanted) {
        int fd = fcntl(reserve.first, F_DUPFD_CLOEXEC, 0);
        if (fd < 0) break;
        reserve.others[reserve.held++] = fd;
    }
    atomic_store_explicit(&reserve.shared.is_short, reserve.held < reserve.wanted,
                          memory_order_relaxed);
}

// Where there is no /dev/null, as in a bare chroot, there is no reserve.
static void reserve_settle(void)
{
    bool used = reserve.asked && reserve.users;
    if (used && reserve.first < 0) reserve.first = open("/dev/null", O_RDONLY | O_CLOEXEC);
    reserve.wanted = used && reserve.first >= 0 ? reserve.asked : 0;
    if (reserve.wanted > RESERVE_MAX) reserve.wanted = RESERVE_MAX;
    while (reserve.held > reserve.wanted)
        (void)close(reserve.others[--reserve.held]);
    if (!reserve.wanted && reserve.first >= 0) {
        (void)close(reserve.first);
        reserve.first = -1;
    }
    reserve_fill();
}

// ---- How many ----

static unsigned reserve_size(unsigned asked)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return 0;
    uint64_t all = (uint64_t)limit.rlim_cur, most = all / 2, size = asked ? asked : all / 8;
    if (size > RESERVE_MAX) size = RESERVE_MAX;
    return (unsigned)(size < most ? size : most);
}

unsigned reserve_add_server(unsigned asked)
{
    unsigned added = reserve_size(asked);
    (void)pthread_mutex_lock(&reserve.lock);
    reserve.asked += added;
    reserve_settle();
    (void)pthread_mutex_unlock(&reserve.lock);
    return added;
}

void reserve_drop_server(unsigned added)
{
    (void)pthread_mutex_lock(&reserve.lock);
    reserve.asked -= added;
    reserve_settle();
    (void)pthread_mutex_unlock(&reserve.lock);
}

void reserve_add_user(void)
{
    (void)pthread_mutex_lock(&reserve.lock);
    reserve.users++;
    reserve_settle();
    (void)pthread_mutex_unlock(&reserve.lock);
}

void reserve_drop_user(void)
{
    (void)pthread_mutex_lock(&reserve.lock);
    reserve.users--;
    reserve_settle();
    (void)pthread_mutex_unlock(&reserve.lock);
}

// ---- Spending and mending ----

// kept_share: one part of so many stays; 0: none.
static bool reserve_spend_but(unsigned kept_share, int error, unsigned times)
{
    if (error != EMFILE || times >= RESERVE_TRIES_MAX) return false;
    (void)pthread_mutex_lock(&reserve.lock);
    unsigned kept = kept_share ? (reserve.wanted + kept_share - 1) / kept_share : 0;
    bool any = reserve.held > kept;
    if (any) {
        atomic_store_explicit(&reserve.shared.is_short, true, memory_order_relaxed);
        (void)close(reserve.others[--reserve.held]);
    }
    (void)pthread_mutex_unlock(&reserve.lock);
    return any;
}

bool reserve_spend(int error, unsigned times)
{
    return reserve_spend_but(0, error, times);
}

bool reserve_spend_on_connection(int error, unsigned times)
{
    return reserve_spend_but(RESERVE_FILES_SHARE, error, times);
}

bool reserve_mend(void)
{
    if (!reserve_is_short()) return true;
    (void)pthread_mutex_lock(&reserve.lock);
    reserve_fill();
    bool whole = reserve.held == reserve.wanted;
    (void)pthread_mutex_unlock(&reserve.lock);
    return whole;
}

bool reserve_is_short(void)
{
    return atomic_load_explicit(&reserve.shared.is_short, memory_order_relaxed);
}

void reserve_close(int fd)
{
    (void)close(fd);
    (void)reserve_mend();
}
