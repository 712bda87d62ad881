// SPDX-License-Identifier: MIT

#include "conf/table.h"

#include "conf/take.h"
#include "common/suggest.h"

#include <string.h>

#define TABLE_MS 1000000ull
#define TABLE_DAY 86400000000000ull
#define TABLE_GIB (1ull << 30)

// A member of skua_config, and its least and greatest value.
#define TABLE_MEMBER(member, low, high)                                                            \
    .least = 1, .most = 1, .offset = offsetof(skua_config, member),                                \
    .width = sizeof(((skua_config *)0)->member), .min = (low), .max = (high)

#define TABLE_ARGUMENTS(low, high) .least = (low), .most = (high)

enum {
    TABLE_FILE = CONF_IN_FILE,
    TABLE_SITE = CONF_IN_SITE,
    TABLE_SCOPES = CONF_IN_DEFAULTS | CONF_IN_SITE | CONF_IN_PATH,
    TABLE_ROOTS = CONF_IN_SITE | CONF_IN_PATH,
    TABLE_RULES = TABLE_SCOPES | CONF_IN_METHOD
};

// clang-format off
static const conf_kind table_kinds[] = {
    // Blocks. Their content is for the checker.
    { "defaults", TABLE_FILE, "{", "", "defaults {", NULL, .has_block = true },
    { "site", TABLE_FILE, "NAME... {", "", "site example.org www.example.org {", NULL,
      TABLE_ARGUMENTS(1, CONF_WORDS_MAX), .repeats = true, .has_block = true },
    { "path", TABLE_SITE, "[=] /PATH/ {", "", "path /assets/ {", NULL, TABLE_ARGUMENTS(1, 2), .repeats = true,
      .has_block = true },
    { "method", TABLE_SCOPES, "METHOD... {", "", "method PUT DELETE {", NULL, TABLE_ARGUMENTS(1, 16), .repeats = true,
      .has_block = true },
    // The server.
    { "listen", TABLE_FILE, "ADDRESS [tls]", "", "listen :443 tls", conf_take_listen, TABLE_ARGUMENTS(1, 2),
      .repeats = true, .is_live = true },
    { "access_log", TABLE_FILE, "stdout|FILE|syslog|off [short|common|combined|json]", "stdout short",
      "access_log /var/log/skua/access.log json", conf_take_access_log, TABLE_ARGUMENTS(1, 2) },
    { "log_masks", TABLE_FILE, "NAME...|off", "token key password secret code", "log_masks token session",
      conf_take_log_masks, TABLE_ARGUMENTS(1, 64) },
    { "status", TABLE_FILE, "ADDRESS", "none", "status 127.0.0.1:9100", conf_take_status, TABLE_ARGUMENTS(1, 1) },
    { "pid_file", TABLE_FILE, "FILE", "none", "pid_file /run/skua/skua.pid", conf_take_pid_file, TABLE_ARGUMENTS(1, 1),
      .is_live = true },
    { "workers", TABLE_FILE, "NUMBER", "one per core", "workers 4", conf_take_number,
      TABLE_MEMBER(workers, 1, 1024), .is_live = true },
    { "backend", TABLE_FILE, "auto|epoll|uring|kqueue", "auto", "backend epoll", conf_take_backend,
      TABLE_ARGUMENTS(1, 1) },
    { "accept", TABLE_FILE, "auto|reuseport|handoff", "auto", "accept handoff", conf_take_accept,
      TABLE_ARGUMENTS(1, 1) },
    { "trusted_proxies", TABLE_FILE, "forwarded|x-forwarded|proxy NETWORK...", "none",
      "trusted_proxies x-forwarded 10.0.0.0/8 ::1", conf_take_trusted, TABLE_ARGUMENTS(2, CONF_WORDS_MAX) },
    { "grace", TABLE_FILE, "DURATION", "10s", "grace 30s", conf_take_grace, TABLE_ARGUMENTS(1, 1),
      .max = TABLE_DAY },
    { "drain_delay", TABLE_FILE, "DURATION", "0s", "drain_delay 15s", conf_take_drain_delay, TABLE_ARGUMENTS(1, 1),
      .max = TABLE_DAY, .is_live = true },
    { "start_timeout", TABLE_FILE, "DURATION", "30s", "start_timeout 2min", conf_take_start_timeout,
      TABLE_ARGUMENTS(1, 1), .max = TABLE_DAY, .is_live = true },
    { "user", TABLE_FILE, "USER [GROUP]", "the one that started it", "user www-data", conf_take_user,
      TABLE_ARGUMENTS(1, 2) },
    { "sandbox", TABLE_FILE, "on|off", "on", "sandbox off", conf_take_sandbox, TABLE_ARGUMENTS(1, 1) },
    { "sandbox_paths", TABLE_FILE, "PATH...", "those of the sites", "sandbox_paths /srv/shared",
      conf_take_sandbox_paths, TABLE_ARGUMENTS(1, CONF_WORDS_MAX) },
    // Deadlines.
    { "head_timeout", TABLE_FILE, "DURATION", "10s", "head_timeout 5s", conf_take_duration,
      TABLE_MEMBER(head_timeout_ns, TABLE_MS, TABLE_DAY) },
    { "keep_alive_timeout", TABLE_FILE, "DURATION", "60s", "keep_alive_timeout 2min", conf_take_duration,
      TABLE_MEMBER(keep_alive_timeout_ns, TABLE_MS, TABLE_DAY) },
    { "stall_timeout", TABLE_FILE, "DURATION", "30s", "stall_timeout 1min", conf_take_duration,
      TABLE_MEMBER(stall_timeout_ns, TABLE_MS, TABLE_DAY) },
    { "rate_window", TABLE_FILE, "DURATION", "15s", "rate_window 30s", conf_take_duration,
      TABLE_MEMBER(rate_window_ns, TABLE_MS, TABLE_DAY) },
    { "rate_min", TABLE_FILE, "OCTETS", "128", "rate_min 1KiB", conf_take_octets,
      TABLE_MEMBER(rate_octets_min, 1, TABLE_GIB) },
    { "handshake_timeout", TABLE_FILE, "DURATION", "10s", "handshake_timeout 5s", conf_take_duration,
      TABLE_MEMBER(tls.handshake_timeout_ns, TABLE_MS, TABLE_DAY) },
    // Limits.
    { "connections_max", TABLE_FILE, "NUMBER", "65536", "connections_max 10000", conf_take_number,
      TABLE_MEMBER(connections_max, 1, 1000000) },
    { "client_connections_max", TABLE_FILE, "NUMBER", "none", "client_connections_max 100", conf_take_client_connections,
      TABLE_ARGUMENTS(1, 1), .min = 1, .max = 1000000, .is_live = true },
    { "memory_max", TABLE_FILE, "OCTETS", "a quarter of the memory", "memory_max 512MiB", conf_take_octets,
      TABLE_MEMBER(memory_max, 1 << 20, 1024 * TABLE_GIB) },
    { "head_max", TABLE_FILE, "OCTETS", "16KiB", "head_max 32KiB", conf_take_octets,
      TABLE_MEMBER(head_octets_max, 64, 65535) },
    { "target_max", TABLE_FILE, "OCTETS", "8KiB", "target_max 4KiB", conf_take_octets,
      TABLE_MEMBER(target_octets_max, 1, 65535) },
    { "fields_max", TABLE_FILE, "NUMBER", "100", "fields_max 50", conf_take_number,
      TABLE_MEMBER(fields_max, 1, 1000) },
    { "discard_max", TABLE_FILE, "OCTETS", "64KiB", "discard_max 1MiB", conf_take_octets,
      TABLE_MEMBER(discard_octets_max, 1, TABLE_GIB) },
    { "strict_target", TABLE_FILE, "on|off", "off", "strict_target on", conf_take_switch,
      TABLE_MEMBER(strict_target, 0, 1) },
    { "keep_alive_field", TABLE_FILE, "on|off", "off", "keep_alive_field on", conf_take_switch,
      TABLE_MEMBER(keep_alive_field, 0, 1) },
    // HTTP/2.
    { "http2", TABLE_FILE, "on|off", "on", "http2 off", conf_take_http2, TABLE_ARGUMENTS(1, 1) },
    { "h2c", TABLE_FILE, "on|off", "on", "h2c off", conf_take_h2c, TABLE_ARGUMENTS(1, 1) },
    { "http2_streams_max", TABLE_FILE, "NUMBER", "100", "http2_streams_max 250", conf_take_number,
      TABLE_MEMBER(http2.streams_max, 1, 1000) },
    // TLS.
    { "tls_oldest", TABLE_FILE, "1.2|1.3", "1.2", "tls_oldest 1.3", conf_take_oldest, TABLE_ARGUMENTS(1, 1),
      .is_live = true },
    { "tls_groups", TABLE_FILE, "GROUP...", "X25519MLKEM768 X25519 P-256 P-384", "tls_groups X25519 P-256",
      conf_take_groups, TABLE_ARGUMENTS(1, 16), .is_live = true },
    { "session_tickets", TABLE_FILE, "on|off", "on", "session_tickets off", conf_take_tickets,
      TABLE_ARGUMENTS(1, 1), .is_live = true },
    { "ticket_keys", TABLE_FILE, "FILE", "random keys", "ticket_keys /etc/skua/tickets.key",
      conf_take_ticket_keys, TABLE_ARGUMENTS(1, 1), .is_live = true },
    { "certificate", TABLE_SITE, "FILE [KEY]", "", "certificate /etc/skua/a.pem /etc/skua/a.key",
      conf_take_certificate, TABLE_ARGUMENTS(1, 2), .repeats = true },
    { "client_certificates", TABLE_SITE, "AUTHORITIES optional|required", "none",
      "client_certificates /etc/skua/staff-ca.pem required", conf_take_clients, TABLE_ARGUMENTS(2, 2) },
    // Sites.
    { "root", TABLE_ROOTS, "FOLDER", "", "root /srv/example", conf_take_root, TABLE_ARGUMENTS(1, 1) },
    { "index", TABLE_SCOPES, "NAME", "index.html", "index home.html", conf_take_index, TABLE_ARGUMENTS(1, 1) },
    { "listing", TABLE_SCOPES, "on|off", "off", "listing on", conf_take_listing, TABLE_ARGUMENTS(1, 1) },
    { "dotfiles", TABLE_SCOPES, "on|off", "off", "dotfiles on", conf_take_dotfiles, TABLE_ARGUMENTS(1, 1) },
    { "links", TABLE_SCOPES, "inside|none|all", "inside", "links none", conf_take_links, TABLE_ARGUMENTS(1, 1) },
    { "canonical", TABLE_SITE, "URL", "", "canonical https://example.org", conf_take_canonical,
      TABLE_ARGUMENTS(1, 1) },
    { "spa", TABLE_SCOPES, "[on|off]", "off", "spa", conf_take_spa, TABLE_ARGUMENTS(0, 1) },
    { "clean_urls", TABLE_SCOPES, "[on|off]", "off", "clean_urls", conf_take_clean_urls,
      TABLE_ARGUMENTS(0, 1) },
    { "try", TABLE_SCOPES, "PATH...|off", "off", "try \"{path}.html\" /index.html", conf_take_try,
      TABLE_ARGUMENTS(1, 16) },
    { "not_found", TABLE_SCOPES, "PAGE|off", "404.html, if there is one", "not_found errors/404.html",
      conf_take_not_found, TABLE_ARGUMENTS(1, 1) },
    { "type", TABLE_SCOPES, ".ENDING TYPE", "by the ending of the name", "type .md \"text/markdown; charset=utf-8\"",
      conf_take_type, TABLE_ARGUMENTS(2, 2), .repeats = true },
    { "etag", TABLE_SCOPES, "auto|content|stat|off", "auto", "etag content", conf_take_etag, TABLE_ARGUMENTS(1, 1) },
    { "precompressed", TABLE_SCOPES, "on|off", "on", "precompressed off", conf_take_precompressed,
      TABLE_ARGUMENTS(1, 1) },
    { "upload", TABLE_ROOTS, "OCTETS [overwrite] [delete] [anyone], or off", "off", "upload 100MiB overwrite",
      conf_take_upload, TABLE_ARGUMENTS(1, 4) },
    { "archive", TABLE_ROOTS, "zip|tar..., or off", "off", "archive zip tar", conf_take_archive, TABLE_ARGUMENTS(1, 2) },
    { "redirect", TABLE_SITE, "FROM TO [STATUS]", "", "redirect \"/blog/{rest...}\" \"/news/{rest}\" 301",
      conf_take_redirect, TABLE_ARGUMENTS(2, 3), .repeats = true },
    { "rewrite", TABLE_SITE, "FROM TO", "", "rewrite \"/posts/{name}\" \"/blog/{name}.html\"", conf_take_rewrite,
      TABLE_ARGUMENTS(2, 2), .repeats = true },
    { "compress", TABLE_SCOPES, "[on|off|br|zstd|gzip...]", "br zstd gzip", "compress zstd gzip", conf_take_compress,
      TABLE_ARGUMENTS(0, 3) },
    { "security_headers", TABLE_SCOPES, "[on|off]", "off", "security_headers", conf_take_security,
      TABLE_ARGUMENTS(0, 1) },
    { "hsts", TABLE_SCOPES, "DURATION|off", "off", "hsts 365d", conf_take_hsts, TABLE_ARGUMENTS(1, 1) },
    { "cache", TABLE_SCOPES, "immutable|no-cache|no-store|DURATION|off", "no-cache for HTML",
      "cache 1h", conf_take_cache,
      TABLE_ARGUMENTS(1, 1) },
    { "cors", TABLE_SCOPES, "ORIGIN...|*|off", "off", "cors https://app.example.org", conf_take_cors,
      TABLE_ARGUMENTS(1, CONF_WORDS_MAX) },
    { "limit_requests", TABLE_RULES, "RATE [burst NUMBER]", "none", "limit_requests 50/s burst 100",
      conf_take_limit, TABLE_ARGUMENTS(1, 3) },
    { "limit_connections", TABLE_RULES, "NUMBER", "none", "limit_connections 20", conf_take_connections,
      TABLE_ARGUMENTS(1, 1) },
    { "limit_bandwidth", TABLE_RULES, "OCTETS/s", "none", "limit_bandwidth 10MiB/s", conf_take_bandwidth,
      TABLE_ARGUMENTS(1, 1) },
    { "header", TABLE_SCOPES, "NAME VALUE|off", "", "header X-Robots-Tag noindex", conf_take_header,
      TABLE_ARGUMENTS(2, 2), .repeats = true },
    { "preload", TABLE_SCOPES, "PATH style|script|font|image|fetch, or off", "none", "preload /style.css style",
      conf_take_preload, TABLE_ARGUMENTS(1, 2), .repeats = true },
    { "error_page", TABLE_SCOPES, "STATUS... FILE", "the server's page", "error_page 500 503 /etc/skua/sorry.html",
      conf_take_error_page, TABLE_ARGUMENTS(2, CONF_WORDS_MAX), .repeats = true },
    { "maintenance", TABLE_SITE, "FILE", "none", "maintenance /run/skua/closed", conf_take_maintenance,
      TABLE_ARGUMENTS(1, 1) },
    { "log", TABLE_SCOPES, "on|errors|off", "on", "log errors", conf_take_log, TABLE_ARGUMENTS(1, 1) },
    { "request_id", TABLE_SCOPES, "[on|off]", "off", "request_id", conf_take_request_id, TABLE_ARGUMENTS(0, 1) },
    { "allow", TABLE_RULES, "NETWORK...", "everyone", "allow 10.0.0.0/8 fd00::/8", conf_take_door,
      TABLE_ARGUMENTS(1, CONF_WORDS_MAX) },
    { "deny", TABLE_RULES, "NETWORK...|all", "nobody", "deny 192.0.2.0/24", conf_take_door,
      TABLE_ARGUMENTS(1, CONF_WORDS_MAX) },
    { "basic_auth", TABLE_RULES, "REALM FILE|off", "off", "basic_auth \"Staff only\" /etc/skua/staff.htpasswd",
      conf_take_guard, TABLE_ARGUMENTS(1, 2) },
    { "bearer_auth", TABLE_RULES, "REALM FILE|off", "off", "bearer_auth API /etc/skua/api.tokens",
      conf_take_guard, TABLE_ARGUMENTS(1, 2) },
};
// clang-format on

enum { TABLE_KINDS = sizeof table_kinds / sizeof *table_kinds };

// Words of other servers' files.
typedef struct foreign_directive {
    const char *asked, *meant;
} foreign_directive;

static const foreign_directive table_foreign[] = {
    { "server", "site" },
    { "limit_except", "method" },
    { "server_name", "site" },
    { "virtualhost", "site" },
    { "host", "site" },
    { "location", "path" },
    { "handle", "path" },
    { "port", "listen" },
    { "bind", "listen" },
    { "ssl_certificate", "certificate" },
    { "ssl_certificate_key", "certificate" },
    { "cert", "certificate" },
    { "key", "certificate" },
    { "tls", "certificate" },
    { "document_root", "root" },
    { "file_server", "root" },
    { "dir", "root" },
    { "alias", "root" },
    { "encode", "compress" },
    { "gzip", "compress" },
    { "brotli", "compress" },
    { "basicauth", "basic_auth" },
    { "auth_basic", "basic_auth" },
    { "zip", "archive" },
    { "redir", "redirect" },
    { "return", "redirect" },
    { "autoindex", "listing" },
    { "list", "listing" },
    { "browse", "listing" },
    { "try_files", "try" },
    { "fallback", "spa" },
    { "errordocument", "error_page" },
    { "limit_conn", "limit_connections" },
    { "limit_rate", "limit_bandwidth" },
    { "types", "type" },
    { "mime", "type" },
    { "addtype", "type" },
    { "gzip_static", "precompressed" },
    { "expires", "cache" },
    { "cache_control", "cache" },
    { "add_header", "header" },
    { "limit_req", "limit_requests" },
    { "worker_processes", "workers" },
    { "threads", "workers" },
    { "set_real_ip_from", "trusted_proxies" },
    { "trusted", "trusted_proxies" },
    { "ssl_protocols", "tls_oldest" },
    { "keepalive_timeout", "keep_alive_timeout" },
    { "symlinks", "links" },
};

enum { TABLE_FOREIGN = sizeof table_foreign / sizeof *table_foreign };

const conf_kind *conf_kind_at(unsigned number)
{
    return number < TABLE_KINDS ? &table_kinds[number] : NULL;
}

const conf_kind *conf_kind_find(const char *name)
{
    for (size_t i = 0; i < TABLE_KINDS; i++) {
        if (strcmp(table_kinds[i].name, name) == 0) return &table_kinds[i];
    }
    return NULL;
}

const char *conf_kind_nearest(const char *name)
{
    suggestion near = suggestion_begin(name, strlen(name));
    for (size_t i = 0; i < TABLE_KINDS; i++)
        suggestion_offer(&near, table_kinds[i].name);
    for (size_t i = 0; i < TABLE_FOREIGN; i++)
        suggestion_offer(&near, table_foreign[i].asked);
    suggestion_offer(&near, "include");
    for (size_t i = 0; near.meant && i < TABLE_FOREIGN; i++) {
        if (strcmp(table_foreign[i].asked, near.meant) == 0) return table_foreign[i].meant;
    }
    return near.meant;
}
