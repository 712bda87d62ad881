// SPDX-License-Identifier: MIT
//
// HTTPS. Files are looked at again and again: that sees a change behind a symbolic link to a
// directory, which is how certbot replaces certificates, and on network file systems, too. A change
// counts when nothing has changed since the look before, so that a certificate and its key that are
// written one after the other are read together.

#include "tls/https.h"

#include "tls/certificate.h"
#include "tls/expiry.h"
#include "common/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { HTTPS_NAMES_OCTETS = OPTIONS_HOSTS_MAX * 256 + 64, HTTPS_WHY_OCTETS = 512 };

// A hash of all that tells that a file was written, or that another one was put in its place.
typedef uint64_t https_stamp;

static struct {
    const options *options;
    skua_server *server;
    certificate own; // empty where certificates were given
    char names[HTTPS_NAMES_OCTETS];
    char notice[PATH_MAX + 256]; // about a certificate of its own, for a person
    https_stamp loaded, seen;    // of all files, by the last load, and by the last look
} https;

// ---- Describing ----

// Adds a word to those in text, behind a space. Returns: false if there is no room.
static bool https_add_word(char *text, size_t room, const char *word, size_t word_len)
{
    size_t len = strlen(text);
    if (len + word_len + 2 > room) return false;
    if (len) text[len++] = ' ';
    memcpy(text + len, word, word_len);
    text[len + word_len] = '\0';
    return true;
}

static bool https_is_name(const char *name, size_t len)
{
    char alone[2 * ADDRESS_OCTETS];
    skua_slice pem, key;
    if (len >= sizeof alone) return false;
    memcpy(alone, name, len);
    alone[len] = '\0';
    if (skua_tls_self_signed(alone, time(NULL), &pem, &key)) return false;
    skua_tls_free(pem);
    skua_tls_free(key);
    return true;
}

// An address of IPv6 stands in brackets in Host, and without them in a certificate.
static bool https_add_host(const char *host)
{
    size_t len = strlen(host);
    bool has_brackets = len > 2 && host[0] == '[' && host[len - 1] == ']';
    if (has_brackets) {
        host++;
        len -= 2;
    }
    if (strcmp(host, "*") == 0) return true;
    if (https_is_name(host, len) && https_add_word(https.names, sizeof https.names, host, len))
        return true;
    say_error("--host %.*s is not a name that a certificate can have", (int)len, host);
    return false;
}

static bool https_write_names(const options *o)
{
    (void)snprintf(https.names, sizeof https.names, "localhost 127.0.0.1 ::1");
    for (size_t i = 0; i < o->host_count; i++) {
        if (!https_add_host(o->hosts[i])) return false;
    }
    return true;
}

// Without SKUA_TLS, the library says so to whatever it is asked.
static bool https_is_built(void)
{
    char text[96];
    if (skua_tls_fingerprint((skua_slice){ 0 }, text, NULL) != SKUA_EUNSUPPORTED) return true;
    say_error("this skua was built without TLS, which needs OpenSSL 3.0 or later");
    return false;
}

// The last one stays when no other can be had, so that it is tried again.
static bool https_get_own(void)
{
    static certificate fresh;
    if (!certificate_get(&fresh, https.names, time(NULL))) return false;
    https.own = fresh;
    certificate_forget(&fresh);
    return true;
}

// The description is valid until the next call.
static bool https_describe_own(skua_tls_desc *desc)
{
    static skua_tls_certificate pair;
    certificate *own = &https.own;
    if (!https_get_own()) return false;
    pair = (skua_tls_certificate){ .pem = { own->pem, own->pem_len },
                                   .key_pem = { own->key, own->key_len } };
    desc->certificates = &pair;
    desc->certificate_count = 1;
    return true;
}

static bool https_describe_again(skua_tls_desc *desc)
{
    const options *o = https.options;
    *desc = o->tls_settings;
    desc->certificates = o->certificates;
    desc->certificate_count = o->certificate_count;
    desc->ticket_file = o->ticket_keys;
    return o->certificate_count || https_describe_own(desc);
}

// ---- Stamps ----

#ifdef __APPLE__
static struct timespec https_written(const struct stat *info)
{
    return info->st_mtimespec;
}
static struct timespec https_changed(const struct stat *info)
{
    return info->st_ctimespec;
}
#else
static struct timespec https_written(const struct stat *info)
{
    return info->st_mtim;
}
static struct timespec https_changed(const struct stat *info)
{
    return info->st_ctim;
}
#endif

// FNV-1a.
static void https_stamp_add(https_stamp *stamp, int64_t value)
{
    for (unsigned shift = 0; shift < 64; shift += 8)
        *stamp = (*stamp ^ ((uint64_t)value >> shift & 0xff)) * 0x100000001b3u;
}

// A file that is not there adds what no file has.
static void https_stamp_file(https_stamp *stamp, const char *file)
{
    struct stat info;
    bool found = file && stat(file, &info) == 0;
    https_stamp_add(stamp, found);
    if (!found) return;
    const struct timespec written = https_written(&info), changed = https_changed(&info);
    https_stamp_add(stamp, written.tv_sec);
    https_stamp_add(stamp, written.tv_nsec);
    https_stamp_add(stamp, changed.tv_sec);
    https_stamp_add(stamp, changed.tv_nsec);
    https_stamp_add(stamp, info.st_size);
    https_stamp_add(stamp, (int64_t)info.st_dev);
    https_stamp_add(stamp, (int64_t)info.st_ino);
}

static https_stamp https_stamp_all(void)
{
    const options *o = https.options;
    https_stamp stamp = 0xcbf29ce484222325u;
    https_stamp_file(&stamp, o->ticket_keys);
    for (unsigned i = 0; i < o->certificate_count; i++) {
        const skua_tls_clients *clients = o->certificates[i].clients;
        https_stamp_file(&stamp, o->certificates[i].file);
        https_stamp_file(&stamp, o->certificates[i].key_file);
        https_stamp_file(&stamp, clients ? clients->ca_file : NULL);
    }
    return stamp;
}

static void https_write_notice(void)
{
    const certificate *own = &https.own;
    const char *what = "the certificate is its own, SHA-256";
    if (own->path[0]) {
        (void)snprintf(https.notice, sizeof https.notice,
                       "%s %s; browsers warn until they are told to trust %s", what,
                       own->fingerprint, own->path);
    } else if (own->pem_len) {
        (void)snprintf(https.notice, sizeof https.notice, "%s %s; the next start makes another",
                       what, own->fingerprint);
    }
}

bool https_describe(const options *o, skua_tls_desc *desc)
{
    *desc = (skua_tls_desc){ 0 };
    https.options = o;
    if (!o->tls) return true;
    if (!https_is_built()) return false;
    if (!o->certificate_count && !https_write_names(o)) return false;
    https.loaded = https.seen =
        https_stamp_all(); // before they are read, so that no change is missed
    if (!https_describe_again(desc)) return false;
    expiry_note(o);
    https_write_notice();
    return true;
}

void https_show(void)
{
    if (https.notice[0]) say("%s", https.notice);
}

// ---- Reading again ----

__attribute__((format(printf, 1, 2))) static void https_log(const char *format, ...)
{
    char text[HTTPS_WHY_OCTETS + 128];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n <= 0) return;
    size_t len = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    skua_log(https.server, (skua_slice){ text, len });
}

bool https_reload(void)
{
    skua_tls_desc desc;
    char why[HTTPS_WHY_OCTETS] = "";
    https.loaded = https.seen = https_stamp_all();
    if (!https_describe_again(&desc)) return false;
    skua_status status = skua_tls_reload(https.server, &desc, why, sizeof why);
    if (status) https_log("the certificates stay as they are: %s", why);
    else if (https.own.pem_len)
        https_log("the certificate is in use from now on: SHA-256 %s", https.own.fingerprint);
    else https_log("the certificates have been read again and are in use from now on");
    certificate_forget(&https.own);
    if (!status) expiry_note(https.options);
    return !status;
}

static bool https_has_to_renew(void)
{
    return https.own.pem_len && https.own.expires_unix_s - time(NULL) < CERTIFICATE_RENEW_S;
}

bool https_look(void)
{
    https_stamp now = https_stamp_all();
    bool has_settled = now == https.seen;
    https.seen = now;
    bool is_due = (has_settled && now != https.loaded) || https_has_to_renew();
    return !is_due || https_reload();
}

void https_begin(skua_server *server)
{
    certificate_forget(&https.own);
    https.server = server;
}

void https_use(const options *o)
{
    https.options = o;
    (void)https_reload();
}
