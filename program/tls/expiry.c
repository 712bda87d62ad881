// SPDX-License-Identifier: MIT

#include "tls/expiry.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXPIRY_FILE_OCTETS_MAX = 65536 }; // the certificate stands first in its file

static struct {
    pthread_mutex_t lock;
    unsigned count;
    expiry all[EXPIRY_CERTIFICATES_MAX];
} expiries = { .lock = PTHREAD_MUTEX_INITIALIZER };

static size_t expiry_read(const char *file, char *pem)
{
    size_t len = 0;
    ssize_t n = 0;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0;
    while (len < EXPIRY_FILE_OCTETS_MAX &&
           (n = read(fd, pem + len, EXPIRY_FILE_OCTETS_MAX - len)) > 0)
        len += (size_t)n;
    (void)close(fd);
    return n < 0 ? 0 : len;
}

// The end of a path says more than its beginning.
static void expiry_keep_end(char kept[EXPIRY_NAME_OCTETS], const char *path)
{
    size_t len = strlen(path);
    if (len >= EXPIRY_NAME_OCTETS) path += len - (EXPIRY_NAME_OCTETS - 1);
    (void)snprintf(kept, EXPIRY_NAME_OCTETS, "%s", path);
}

static bool expiry_fill(expiry *one, const options *o, unsigned index)
{
    static char pem[EXPIRY_FILE_OCTETS_MAX]; // under the lock
    char fingerprint[96];
    const char *file = o->certificates[index].file;
    size_t len = file ? expiry_read(file, pem) : 0;
    if (!len || skua_tls_fingerprint((skua_slice){ pem, len }, fingerprint, &one->unix_s))
        return false;
    const char *names = o->certificates[index].names;
    (void)snprintf(one->name, sizeof one->name, "%s", names ? names : "*");
    expiry_keep_end(one->file, file);
    return true;
}

void expiry_note(const options *o)
{
    (void)pthread_mutex_lock(&expiries.lock);
    expiries.count = 0;
    for (unsigned i = 0; i < o->certificate_count && expiries.count < EXPIRY_CERTIFICATES_MAX; i++)
        expiries.count += expiry_fill(&expiries.all[expiries.count], o, i);
    (void)pthread_mutex_unlock(&expiries.lock);
}

unsigned expiry_get(expiry *all, unsigned room)
{
    (void)pthread_mutex_lock(&expiries.lock);
    unsigned count = expiries.count < room ? expiries.count : room;
    memcpy(all, expiries.all, count * sizeof *all);
    (void)pthread_mutex_unlock(&expiries.lock);
    return count;
}
