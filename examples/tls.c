// SPDX-License-Identifier: MIT
//
// HTTPS, with a certificate and its key, or with a self-signed one for this run:
// curl --cacert cert.pem https://localhost:8443/ ; curl -k https://localhost:8443/
#include <skua/skua.h>

#include <stdio.h>
#include <time.h>

static void tell(skua_request *request, void *user)
{
    (void)user;
    char text[512];
    skua_tls_info tls;
    if (!skua_request_tls(request, &tls)) { // never here: there is no address for plain HTTP
        skua_request_abort(request);
        return;
    }
    int len = snprintf(text, sizeof text, "%s, %s, for %.*s\n", tls.version, tls.cipher,
                       (int)tls.server_name.len, tls.server_name.ptr ? tls.server_name.ptr : "");
    skua_respond(request, 200, "text/plain", (skua_slice){ text, (size_t)len });
}

int main(int argc, char **argv)
{
    skua_tls_certificate certificate = { 0 };
    if (argc > 3) {
        certificate.file = argv[2];
        certificate.key_file = argv[3];
    } else if (skua_tls_self_signed("localhost 127.0.0.1 ::1", time(NULL), &certificate.pem,
                                    &certificate.key_pem)) {
        return 1;
    }
    skua_server *server = skua_server_new(&(skua_config){
        .tls = { .listen = argc > 1 ? argv[1] : "127.0.0.1:8443",
                 .certificates = &certificate,
                 .certificate_count = 1 },
        .log = SKUA_LOG_JSON,
    });
    skua_tls_free(certificate.pem); // they have been read
    skua_tls_free(certificate.key_pem);
    if (!server || skua_route(server, "GET /{$}", tell, NULL)) return 1;
    if (skua_run(server)) return 1; // the log says why
    skua_server_free(server);
}
