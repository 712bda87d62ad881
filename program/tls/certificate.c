// SPDX-License-Identifier: MIT
//
// The program's own certificate. Certificate and key are two files, so that the first can be given
// to those who are to trust it. Each is replaced whole; a lock on the folder keeps programs that
// start at once from mixing theirs, and a pair that doesn't match is replaced.

#include "tls/certificate.h"

#include "common/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char certificate_file[] = "certificate.pem", key_file[] = "key.pem";

enum { CERTIFICATE_LIFE_S_MAX = 366 * 86400 };

// A compiler may leave out a memset of what is not read again.
static void wipe(char *octets, size_t len)
{
    for (volatile char *at = octets; len; len--)
        *at++ = 0;
}

void certificate_forget(certificate *c)
{
    wipe(c->key, sizeof c->key);
    c->key_len = 0;
}

// ---- The folder ----

// Returns: false if the user has no folder for configurations. Relative paths are to be ignored, by
// the XDG Base Directory Specification.
static bool folder_base(char base[PATH_MAX])
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int n = 0;
    if (config && config[0] == '/') n = snprintf(base, PATH_MAX, "%s", config);
    else if (home && home[0] == '/') n = snprintf(base, PATH_MAX, "%s/.config", home);
    return n > 0 && n < PATH_MAX;
}

// Returns: whether the folder is there, or else errno says why not.
static bool folder_make(const char *path)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

// Opens and locks the folder, which is made if need be. Returns: -1 if that failed.
static int folder_open(const char *base, char path[PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/skua", base);
    if (n >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (!folder_make(base) || !folder_make(path)) return -1;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) (void)flock(folder, LOCK_EX); // not every file system can
    return folder;
}

// ---- Files ----

// Returns: how many octets, or 0 for a file that is not to be used.
static size_t file_read_open(int fd, bool is_secret, char *octets)
{
    struct stat info;
    size_t len = 0;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return 0;
    if (is_secret && (info.st_uid != geteuid() || (info.st_mode & 077))) return 0;
    while (len < CERTIFICATE_OCTETS_MAX) {
        ssize_t n = read(fd, octets + len, CERTIFICATE_OCTETS_MAX - len);
        if (n <= 0) return n == 0 ? len : 0;
        len += (size_t)n;
    }
    return 0;
}

static size_t file_read(int folder, const char *name, bool is_secret, char *octets)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0;
    size_t len = file_read_open(fd, is_secret, octets);
    (void)close(fd);
    return len;
}

static bool file_fill(int fd, const char *octets, size_t len)
{
    while (len) {
        ssize_t n = write(fd, octets, len);
        if (n < 0) return false;
        octets += n;
        len -= (size_t)n;
    }
    return fsync(fd) == 0;
}

// Under the lock, so another process of the same number in another container is not in the way.
static bool file_replace(int folder, const char *name, const char *octets, size_t len)
{
    char fresh[32];
    (void)snprintf(fresh, sizeof fresh, ".%s.new", name);
    (void)unlinkat(folder, fresh, 0); // of a program that was ended while it wrote
    int fd = openat(folder, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    bool is_filled = file_fill(fd, octets, len);
    int why = errno;
    if (close(fd) != 0 && is_filled) {
        why = errno;
        is_filled = false;
    }
    if (is_filled && renameat(folder, fresh, folder, name) == 0) return true;
    if (is_filled) why = errno;
    (void)unlinkat(folder, fresh, 0);
    errno = why;
    return false;
}

// ---- The certificate ----

static skua_slice certificate_pem(const certificate *c)
{
    return (skua_slice){ c->pem, c->pem_len };
}

// Names stand before the certificate, where readers of PEM skip text: RFC 7468 §2.
static bool certificate_write_title(char title[CERTIFICATE_OCTETS_MAX], const char *names)
{
    int n = snprintf(title, CERTIFICATE_OCTETS_MAX, "Made by skua for %s\n", names);
    return n > 0 && n < CERTIFICATE_OCTETS_MAX;
}

static bool certificate_has_title(const certificate *c, const char *names)
{
    char title[CERTIFICATE_OCTETS_MAX];
    if (!certificate_write_title(title, names)) return false;
    size_t len = strlen(title);
    return c->pem_len > len && memcmp(c->pem, title, len) == 0;
}

static bool certificate_matches_key(const certificate *c)
{
    skua_tls_certificate pair = { .pem = certificate_pem(c), .key_pem = { c->key, c->key_len } };
    skua_tls_identity *identity;
    if (skua_tls_identity_new(&pair, 1, &identity, NULL, 0)) return false;
    skua_tls_identity_unref(identity);
    return true;
}

static bool certificate_is_fit(certificate *c, const char *names, int64_t unix_s)
{
    if (!c->pem_len || !c->key_len || !certificate_has_title(c, names)) return false;
    if (skua_tls_fingerprint(certificate_pem(c), c->fingerprint, &c->expires_unix_s)) return false;
    int64_t left_s = c->expires_unix_s - unix_s;
    return left_s >= CERTIFICATE_RENEW_S && left_s <= CERTIFICATE_LIFE_S_MAX &&
           certificate_matches_key(c);
}

static bool certificate_read(certificate *c, int folder, const char *names, int64_t unix_s)
{
    c->pem_len = file_read(folder, certificate_file, false, c->pem);
    c->key_len = file_read(folder, key_file, true, c->key);
    return certificate_is_fit(c, names, unix_s);
}

static bool certificate_fill(certificate *c, const char *names, skua_slice pem, skua_slice key)
{
    if (!certificate_write_title(c->pem, names)) return false;
    size_t title = strlen(c->pem);
    if (pem.len > sizeof c->pem - title || key.len > sizeof c->key) return false;
    memcpy(c->pem + title, pem.ptr, pem.len);
    memcpy(c->key, key.ptr, key.len);
    c->pem_len = title + pem.len;
    c->key_len = key.len;
    return !skua_tls_fingerprint(certificate_pem(c), c->fingerprint, &c->expires_unix_s);
}

static bool certificate_make(certificate *c, const char *names, int64_t unix_s)
{
    skua_slice pem, key;
    skua_status status = skua_tls_self_signed(names, unix_s, &pem, &key);
    if (status) {
        say_error("no certificate could be made: %s", skua_status_text(status));
        return false;
    }
    bool is_filled = certificate_fill(c, names, pem, key);
    skua_tls_free(pem);
    skua_tls_free(key);
    if (!is_filled) say_error("no certificate could be made: it is for too many names");
    return is_filled;
}

static bool certificate_write(const certificate *c, int folder)
{
    return file_replace(folder, key_file, c->key, c->key_len) &&
           file_replace(folder, certificate_file, c->pem, c->pem_len);
}

static void certificate_say_not_kept(certificate *c)
{
    const char *why = "it cannot be written";
    if (errno == EACCES || errno == EPERM) why = "there is no permission";
    if (errno == EROFS) why = "it is read-only";
    if (errno == ENOSPC || errno == EDQUOT) why = "there is no space left";
    if (errno == ENOENT || errno == ENOTDIR) why = "there is no such folder";
    say_warning("the certificate is not kept in %s: %s", c->path, why);
    c->path[0] = '\0';
}

// A new one that cannot be kept is of use all the same.
static bool certificate_make_in(certificate *c, int folder, const char *names, int64_t unix_s)
{
    if (!certificate_make(c, names, unix_s)) return false;
    if (certificate_write(c, folder)) return true;
    certificate_say_not_kept(c);
    return true;
}

static bool certificate_get_in(certificate *c, int folder, const char *names, int64_t unix_s)
{
    size_t len = strlen(c->path);
    bool is_got =
        certificate_read(c, folder, names, unix_s) || certificate_make_in(c, folder, names, unix_s);
    if (c->path[0]) (void)snprintf(c->path + len, sizeof c->path - len, "/%s", certificate_file);
    return is_got;
}

bool certificate_get(certificate *c, const char *names, int64_t unix_s)
{
    char base[PATH_MAX];
    *c = (certificate){ 0 };
    if (!folder_base(base)) return certificate_make(c, names, unix_s);
    int folder = folder_open(base, c->path);
    if (folder < 0) {
        certificate_say_not_kept(c);
        return certificate_make(c, names, unix_s);
    }
    bool is_got = certificate_get_in(c, folder, names, unix_s);
    (void)close(folder);
    return is_got;
}
