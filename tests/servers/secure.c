// SPDX-License-Identifier: MIT
//
// A server that tells how it was spoken to over TLS, and takes other certificates, so that the
// end-to-end tests can see what becomes of connections.

#include "options.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static skua_server *server;
static skua_config config; // the records and tickets that were asked for
static atomic_uint hellos; // that asked for another name than the certificate has

static void must(skua_status status)
{
    if (status == SKUA_OK || status == SKUA_ECLOSED) return;
    (void)fprintf(stderr, "secure: unexpected status: %s\n", skua_status_text(status));
    abort();
}

// Counts who asks for a name that is not known, and gives the usual certificate.
static skua_tls_identity *count_hello(skua_slice server_name, void *user)
{
    (void)user;
    if (server_name.len) atomic_fetch_add(&hellos, 1);
    return NULL;
}

// GET /tls: a line for each fact.
static void tell(skua_request *request, void *user)
{
    (void)user;
    skua_tls_info info = { .version = "none", .cipher = "none" };
    bool secure = skua_request_tls(request, &info);
    char text[512];
    int len = snprintf(text, sizeof text,
                       "scheme %s\nsecure %d\nversion %s\ncipher %s\nname %.*s\nprotocol %.*s\n"
                       "client %.*s\nresumed %d\nworker %u\n",
                       skua_request_scheme(request), secure, info.version, info.cipher,
                       (int)info.server_name.len, info.server_name.ptr, (int)info.protocol.len,
                       info.protocol.ptr, (int)info.client.len, info.client.ptr, info.is_resumed,
                       skua_worker_index(skua_request_worker(request)));
    must(skua_respond(request, 200, "text/plain", (skua_slice){ text, (size_t)len }));
}

// GET /hold: never answered. Its request is held, and looked at when the client has left: in on_end,
// and once more later.
enum { AFTER_NS = 50000000 }; // when the connection is gone too
static char held[1024];       // what was found

static void note(const skua_request *request, const char *when)
{
    skua_tls_info info = { .version = "none", .cipher = "none" };
    bool secure = skua_request_tls(request, &info);
    size_t len = strlen(held);
    (void)snprintf(held + len, sizeof held - len, "%s %s %d %d %s %s %.*s\n", when,
                   skua_request_scheme(request), skua_request_is_secure(request), secure,
                   info.version, info.cipher, (int)info.server_name.len, info.server_name.ptr);
}

static void look_again(skua_worker *worker, void *user)
{
    (void)worker;
    skua_request *request = user;
    note(request, "held");
    skua_request_drop(request);
}

static void on_held_end(skua_request *request, skua_end how, void *user)
{
    (void)how;
    (void)user;
    note(request, "end");
    must(skua_timer_start(skua_request_worker(request), AFTER_NS, 0, look_again, request, NULL));
}

static void hold(skua_request *request, void *user)
{
    (void)user;
    *held = 0;
    note(request, "handler");
    skua_request_hold(request);
    skua_on_end(request, on_held_end, NULL);
}

static void tell_held(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond(request, 200, "text/plain", (skua_slice){ held, strlen(held) }));
}

// GET /hellos: how many have been counted.
static void tell_hellos(skua_request *request, void *user)
{
    (void)user;
    char text[16];
    int len = snprintf(text, sizeof text, "%u", atomic_load(&hellos));
    must(skua_respond(request, 200, "text/plain", (skua_slice){ text, (size_t)len }));
}

// GET /large: as much as several flights hold.
static void give_much(skua_request *request, void *user)
{
    static char much[1 << 20];
    (void)user;
    must(skua_respond_borrowed(request, 200, "text/plain", (skua_slice){ much, sizeof much }, NULL,
                               NULL));
}

// GET /reload?cert=FILE&key=FILE: 200, or 400 and the sentence about why not.
static void reload(skua_request *request, void *user)
{
    (void)user;
    char cert[512], key[512], why[512] = "";
    skua_slice cert_file = skua_request_query_param(request, "cert");
    skua_slice key_file = skua_request_query_param(request, "key");
    (void)snprintf(cert, sizeof cert, "%.*s", (int)cert_file.len, cert_file.ptr);
    (void)snprintf(key, sizeof key, "%.*s", (int)key_file.len, key_file.ptr);
    skua_tls_certificate pair = { .file = cert, .key_file = key };
    skua_tls_desc desc = config.tls;
    desc.certificates = &pair;
    desc.certificate_count = 1;
    skua_status status = skua_tls_reload(server, &desc, why, sizeof why);
    must(skua_respond(request, status ? 400 : 200, "text/plain", (skua_slice){ why, strlen(why) }));
}

static void tell_site(skua_request *request, void *user)
{
    (void)user;
    must(skua_respond(request, 200, "text/plain", skua_request_query_param(request, "say")));
}

static void replace_sites(skua_request *request, void *user);

// A site for the words hosts, with an identity if there is a cert. Writes why there is none.
static skua_site *make_site(const char *hosts, const char *cert, const char *key, char why[512])
{
    skua_tls_identity *identity = NULL;
    skua_tls_certificate pair = { .file = cert, .key_file = key };
    if (*cert && skua_tls_identity_new(&pair, 1, &identity, why, 512)) return NULL;
    skua_site *site =
        skua_site_new(server, &(skua_site_desc){ .hosts = hosts, .identity = identity });
    skua_tls_identity_unref(identity);
    must(skua_site_route(site, "GET /site", tell_site, NULL));
    must(skua_site_route_add(
        site, &(skua_route_desc){ .pattern = "GET /sites", .blocking = replace_sites }));
    return site;
}

static void word(skua_request *request, const char *name, char text[512])
{
    skua_slice value = skua_request_query_param(request, name);
    (void)snprintf(text, 512, "%.*s", (int)value.len, value.ptr);
}

// GET /sites?hosts=A&cert=FILE&key=FILE&more=B: these sites and no others; the second has no certificate.
static void replace_sites(skua_request *request, void *user)
{
    (void)user;
    char hosts[512], cert[512], key[512], more[512], why[512] = "";
    skua_site *sites[2];
    size_t count = 0;
    word(request, "hosts", hosts);
    word(request, "cert", cert);
    word(request, "key", key);
    word(request, "more", more);
    bool failed = false;
    if (*hosts) {
        sites[0] = make_site(hosts, cert, key, why);
        failed = !sites[0];
        if (!failed) count++;
    }
    if (*more) sites[count++] = make_site(more, "", "", why);
    if (!failed) must(skua_sites_replace(server, sites, count));
    must(skua_respond(request, failed ? 400 : 200, "text/plain", (skua_slice){ why, strlen(why) }));
}

int main(int argc, char **argv)
{
    config = (skua_config){ .hosts = "*", .tls.choose = count_hello };
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--records") == 0) config.tls.records = argv[i + 1];
        if (strcmp(argv[i], "--tickets") == 0) config.tls.ticket_file = argv[i + 1];
    }
    server = server_with_options(&config, argc, argv);
    if (skua_route(server, "GET /tls", tell, NULL) || skua_route(server, "GET /hold", hold, NULL) ||
        skua_route(server, "GET /held", tell_held, NULL) ||
        skua_route(server, "GET /hellos", tell_hellos, NULL) ||
        skua_route(server, "GET /large", give_much, NULL) ||
        skua_route_blocking(server, "GET /reload", reload, NULL) ||
        skua_route_blocking(server, "GET /sites", replace_sites, NULL))
        return 1;
    return server_serve(server, "secure");
}
