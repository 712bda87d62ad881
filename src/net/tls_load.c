// SPDX-License-Identifier: MIT
//
// Loading what TLS needs from files and memory. Files are read whole: PEM is parsed in memory, so
// that what is said about a file does not depend on how OpenSSL reads one.

#include "net/tls_load.h"

#ifdef SKUA_TLS

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

skua_status tls_load_fail(tls_load *load, skua_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(load->why, sizeof load->why, format, arguments);
    va_end(arguments);
    return status;
}

void tls_load_warn(const tls_load *load, const char *format, ...)
{
    char sentence[TLS_WHY_OCTETS];
    va_list arguments;
    if (!load->warn) return;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    load->warn(sentence, load->user);
}

skua_status tls_load_fail_openssl(tls_load *load, const char *what)
{
    unsigned long error = ERR_peek_error();
    const char *reason = ERR_reason_error_string(error);
    bool no_memory = error == 0 || ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE;
    ERR_clear_error();
    if (no_memory) return tls_load_fail(load, SKUA_ENOMEM, "cannot %s: memory ran out", what);
    return tls_load_fail(load, SKUA_EINVAL, "cannot %s: %s", what,
                         reason ? reason : "OpenSSL does not say why");
}

const char *tls_source_name(const tls_source *source)
{
    return source->file ? source->file : "given in memory";
}

// ---- Files ----

static skua_status load_status(int error)
{
    if (error == ENOENT || error == ENOTDIR) return SKUA_ENOENT;
    if (error == EACCES || error == EPERM) return SKUA_EACCES;
    if (error == EMFILE || error == ENFILE) return SKUA_ENOFILE;
    return error == ENOMEM ? SKUA_ENOMEM : SKUA_EIO;
}

const char *tls_load_text(skua_status status)
{
    return status == SKUA_ENOENT ? "there is no such file" : skua_status_text(status);
}

static skua_status load_fail_file(tls_load *load, const tls_source *source, int error)
{
    skua_status status = load_status(error);
    return tls_load_fail(load, status, "cannot read the %s %s: %s", source->what, source->file,
                         tls_load_text(status));
}

static skua_status load_all(int fd, tls_octets *octets)
{
    while (octets->len < (size_t)TLS_FILE_OCTETS_MAX) {
        ssize_t n = read(fd, octets->ptr + octets->len, (size_t)TLS_FILE_OCTETS_MAX - octets->len);
        if (n == 0) return SKUA_OK;
        if (n < 0 && errno != EINTR) return load_status(errno);
        if (n > 0) octets->len += (size_t)n;
    }
    return SKUA_ELIMIT;
}

static skua_status load_open_file(tls_load *load, const tls_source *source, int fd,
                                  tls_octets *octets, unsigned *mode)
{
    struct stat info;
    if (fstat(fd, &info) != 0) return load_fail_file(load, source, errno);
    if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) {
        return tls_load_fail(load, SKUA_EINVAL, "the %s %s is not a file", source->what,
                             source->file);
    }
    *octets = (tls_octets){ .ptr = memory_alloc(TLS_FILE_OCTETS_MAX) };
    if (!octets->ptr) return load_fail_file(load, source, ENOMEM);
    skua_status status = load_all(fd, octets);
    if (!status) {
        *mode = (unsigned)info.st_mode;
        return SKUA_OK;
    }
    tls_octets_free(octets);
    if (status != SKUA_ELIMIT) return load_fail_file(load, source, EIO);
    return tls_load_fail(load, status, "the %s %s has more than %d octets", source->what,
                         source->file, TLS_FILE_OCTETS_MAX - 1);
}

static skua_status load_copy(tls_load *load, const tls_source *source, tls_octets *octets)
{
    *octets = (tls_octets){ .ptr = memory_alloc(source->pem.len + 1), .len = source->pem.len };
    if (!octets->ptr)
        return tls_load_fail(load, SKUA_ENOMEM, "cannot read the %s: memory ran out", source->what);
    if (octets->len) memcpy(octets->ptr, source->pem.ptr, octets->len);
    return SKUA_OK;
}

skua_status tls_load_read(tls_load *load, const tls_source *source, tls_octets *octets,
                          unsigned *mode)
{
    *mode = 0;
    if (!source->file) return load_copy(load, source, octets);
    int fd = open(source->file, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return load_fail_file(load, source, errno);
    skua_status status = load_open_file(load, source, fd, octets, mode);
    (void)close(fd);
    return status;
}

void tls_octets_free(tls_octets *octets)
{
    if (octets->ptr) OPENSSL_cleanse(octets->ptr, octets->len);
    memory_free(octets->ptr);
    *octets = (tls_octets){ 0 };
}

#endif
