// SPDX-License-Identifier: MIT
//
// Pipe. OpenSSL reads and writes by a BIO of ours.

#include "net/tls_pipe.h"

#ifdef SKUA_TLS

#include <openssl/bio.h>
#include <openssl/err.h>
#include <pthread.h>
#include <string.h>

enum { TLS_TYPE_APPLICATION = 23 };

// ---- Records that were sent ----

static void record_count_add(tls_record_count *count, const char *octets, size_t len)
{
    while (len) {
        if (count->body_left) {
            size_t part = len < count->body_left ? len : count->body_left;
            count->body_left -= (uint32_t)part;
            octets += part;
            len -= part;
            continue;
        }
        count->header[count->header_len++] = (uint8_t)*octets++;
        len--;
        if (count->header_len < sizeof count->header) continue;
        count->header_len = 0;
        count->body_left = (uint32_t)count->header[3] << 8 | count->header[4];
        if (count->header[0] == TLS_TYPE_APPLICATION) count->records++;
    }
}

// ---- The BIO ----

static int tls_bio_write(BIO *bio, const char *octets, int len)
{
    tls_pipe *p = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (len <= 0) return 0;
    if (!out_copy(p->wire, slice_make(octets, (size_t)len))) {
        p->no_memory = true;
        return -1;
    }
    if (p->counts) record_count_add(&p->sent, octets, (size_t)len);
    return len;
}

static int tls_bio_read(BIO *bio, char *to, int room)
{
    tls_pipe *p = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (room <= 0) return 0;
    if (p->in_len == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t n = p->in_len < (size_t)room ? p->in_len : (size_t)room;
    memcpy(to, p->in, n);
    p->in += n;
    p->in_len -= n;
    return (int)n;
}

static long tls_bio_ctrl(BIO *bio, int what, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return what == BIO_CTRL_FLUSH;
}

// One for the process, never freed: objects of any server may use it.
static BIO_METHOD *tls_bio_method;
static pthread_once_t tls_bio_once = PTHREAD_ONCE_INIT;

static void tls_bio_make(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "skua");
    if (!method) return;
    BIO_meth_set_write(method, tls_bio_write);
    BIO_meth_set_read(method, tls_bio_read);
    BIO_meth_set_ctrl(method, tls_bio_ctrl);
    tls_bio_method = method;
}

static BIO *tls_bio_new(tls_pipe *p)
{
    (void)pthread_once(&tls_bio_once, tls_bio_make);
    BIO *bio = tls_bio_method ? BIO_new(tls_bio_method) : NULL;
    if (!bio) return NULL;
    BIO_set_data(bio, p);
    BIO_set_init(bio, 1);
    return bio;
}

// ---- Life ----

bool tls_pipe_open(tls_pipe *p, SSL *ssl, out_queue *wire)
{
    *p = (tls_pipe){ .ssl = ssl, .wire = wire };
    BIO *bio = tls_bio_new(p);
    if (!bio) {
        tls_pipe_close(p);
        return false;
    }
    SSL_set_bio(ssl, bio, bio);
    return true;
}

void tls_pipe_move(tls_pipe *from, tls_pipe *to)
{
    *to = *from;
    *from = (tls_pipe){ 0 };
    BIO_set_data(SSL_get_rbio(to->ssl), to); // it writes by the same
    (void)SSL_set_app_data(to->ssl, NULL);
}

// Without the flags, freeing the object would look for its session in the context, under a lock.
void tls_pipe_close(tls_pipe *p)
{
    if (p->ssl) SSL_set_shutdown(p->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(p->ssl);
    p->ssl = NULL;
    ERR_clear_error();
}

#endif
