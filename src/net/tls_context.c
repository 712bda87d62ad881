// SPDX-License-Identifier: MIT
//
// How a server speaks TLS.

#include "net/tls_context.h"

#ifdef SKUA_TLS

#include "base/assert.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <sys/uio.h>
#include <unistd.h>

// P-521 is left out: it is slow, and no client has nothing else.
static const char context_groups[] = "X25519MLKEM768 X25519 P-256 P-384";

bool tls_desc_is_given(const skua_tls_desc *desc)
{
    return desc->listen || desc->certificate_count || desc->choose;
}

// ---- Groups ----

static bool context_knows_group(SSL_CTX *scratch, const char *name)
{
    // OpenSSL has a macro here, which casts const away.
    bool knows = SSL_CTX_set1_groups_list(scratch, (char *)(uintptr_t)name) == 1;
    ERR_clear_error();
    return knows;
}

// Copies those that are known from text, where one unknown name would make OpenSSL refuse all.
static void context_filter_groups(SSL_CTX *scratch, const char *text, char *groups)
{
    char *at = groups;
    while (*text) {
        size_t len = strcspn(text, " ");
        memcpy(at, text, len);
        at[len] = '\0';
        if (len && context_knows_group(scratch, at)) {
            at += len;
            *at++ = ':';
        }
        text += len + (text[len] == ' ');
    }
    if (at > groups) at--;
    *at = '\0';
}

static skua_status context_read_groups(const char *text, tls_load *load, char **groups)
{
    SSL_CTX *scratch = SSL_CTX_new(TLS_server_method());
    *groups = memory_alloc(strlen(text) + 2);
    if (scratch && *groups) context_filter_groups(scratch, text, *groups);
    SSL_CTX_free(scratch);
    if (!scratch || !*groups)
        return tls_load_fail(load, SKUA_ENOMEM, "cannot read the groups: memory ran out");
    if (**groups) return SKUA_OK;
    return tls_load_fail(load, SKUA_EINVAL, "none of the groups \"%.100s\" is known to %s", text,
                         OpenSSL_version(OPENSSL_VERSION));
}

// ---- The rest of a description ----

static skua_status context_read_version(const skua_tls_desc *desc, tls_load *load, int *version)
{
    switch (desc->oldest_version) {
    case SKUA_TLS_DEFAULT:
    case SKUA_TLS_1_2: *version = TLS1_2_VERSION; return SKUA_OK;
    case SKUA_TLS_1_3: *version = TLS1_3_VERSION; return SKUA_OK;
    }
    return tls_load_fail(load, SKUA_EINVAL, "the oldest version of TLS is out of range");
}

static skua_status context_read_records(const skua_tls_desc *desc, tls_load *load, bool *by_openssl)
{
    *by_openssl = desc->records != NULL;
    if (!desc->records || strcmp(desc->records, "openssl") == 0) return SKUA_OK;
    return tls_load_fail(load, SKUA_EINVAL,
                         "\"%.40s\" cannot protect records; \"openssl\" can, or leave it out",
                         desc->records);
}

static skua_status context_read_timeout(const skua_tls_desc *desc, tls_load *load, int64_t *ns)
{
    *ns = desc->handshake_timeout_ns ? desc->handshake_timeout_ns : TLS_HANDSHAKE_TIMEOUT_NS;
    if (*ns > 0 && *ns <= (int64_t)86400 * 365 * 1000000000) return SKUA_OK;
    return tls_load_fail(load, SKUA_EINVAL, "the time for a handshake is out of range");
}

static skua_status context_read_tickets(const skua_tls_desc *desc, const tls_context *before,
                                        tls_load *load, tls_tickets **tickets)
{
    if (desc->no_tickets) return SKUA_OK;
    if (desc->ticket_file) return tls_tickets_read(desc->ticket_file, load, tickets);
    if (!before || !before->tickets || !tls_tickets_are_random(before->tickets))
        return tls_tickets_random(load, tickets);
    *tickets = tls_tickets_ref(before->tickets);
    return SKUA_OK;
}

static skua_status context_open_keylog(const skua_tls_desc *desc, tls_load *load, int *fd)
{
    if (!desc->keylog_file) return SKUA_OK;
    *fd = open(desc->keylog_file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (*fd >= 0) return SKUA_OK;
    bool is_denied = errno == EACCES || errno == EPERM || errno == EROFS;
    skua_status status = is_denied ? SKUA_EACCES : errno == ENOENT ? SKUA_ENOENT : SKUA_EIO;
    return tls_load_fail(load, status, "cannot write the log of keys %s: %s", desc->keylog_file,
                         tls_load_text(status));
}

// ---- Making ----

static skua_status context_read(const skua_tls_desc *desc, const tls_context *before,
                                tls_load *load, tls_context *c)
{
    skua_status status = SKUA_OK;
    if (!desc->certificate_count && !desc->choose)
        status = tls_load_fail(load, SKUA_EINVAL, "there is no certificate for TLS");
    if (!status) status = context_read_version(desc, load, &c->version_min);
    if (!status) status = context_read_records(desc, load, &c->records_by_openssl);
    if (!status) status = context_read_timeout(desc, load, &c->handshake_timeout_ns);
    if (!status)
        status =
            context_read_groups(desc->groups ? desc->groups : context_groups, load, &c->groups);
    if (!status) status = tls_clients_read(&desc->clients, load, &c->clients);
    if (!status)
        status = tls_roster_read(desc->certificates, desc->certificate_count, &c->clients, load,
                                 &c->roster);
    if (!status) status = context_read_tickets(desc, before, load, &c->tickets);
    if (!status) status = context_open_keylog(desc, load, &c->keylog);
    return status;
}

skua_status tls_context_new(const skua_tls_desc *desc, const tls_context *before, tls_load *load,
                            tls_context **context)
{
    tls_context *c = memory_zeroed(sizeof *c);
    if (!c) return tls_load_fail(load, SKUA_ENOMEM, "cannot prepare TLS: memory ran out");
    atomic_init(&c->holders, 1);
    c->keylog = -1;
    c->h2 = load->h2;
    c->choose = desc->choose;
    c->choose_user = desc->choose_user;
    ERR_clear_error();
    skua_status status = context_read(desc, before, load, c);
    ERR_clear_error();
    if (status) tls_context_unref(c);
    else *context = c;
    return status;
}

tls_context *tls_context_ref(tls_context *context)
{
    atomic_fetch_add_explicit(&context->holders, 1, memory_order_relaxed);
    return context;
}

void tls_context_unref(tls_context *context)
{
    if (!context) return;
    uint32_t before = atomic_fetch_sub_explicit(&context->holders, 1, memory_order_acq_rel);
    SKUA_ASSERT(before > 0);
    if (before > 1) return;
    tls_roster_free(&context->roster);
    tls_clients_drop(&context->clients);
    tls_tickets_unref(context->tickets);
    if (context->keylog >= 0) (void)close(context->keylog);
    memory_free(context->groups);
    memory_free(context);
}

// ---- Using ----

skua_tls_identity *tls_context_identity(const tls_context *context, slice folded, uint32_t *number)
{
    const tls_roster *roster = &context->roster;
    *number = tls_roster_find(roster, folded);
    if (*number == TLS_ROSTER_NONE && context->choose) {
        skua_tls_identity *chosen = context->choose(folded, context->choose_user);
        if (chosen) return chosen;
    }
    if (*number == TLS_ROSTER_NONE) *number = roster->fallback;
    if (*number == TLS_ROSTER_NONE) return NULL;
    return roster->identities[*number];
}

// In one call, so that lines of several workers do not mix.
void tls_context_log_secret(const tls_context *context, const char *line)
{
    char end[] = "\n", *text;
    memcpy(&text, &line, sizeof text); // writev takes what is not const, and changes nothing
    struct iovec parts[] = { { text, strlen(line) }, { end, 1 } };
    if (context->keylog < 0) return;
    ssize_t written = writev(context->keylog, parts, 2);
    (void)written; // a disk that is full stops nobody's connection
}

#endif
