// SPDX-License-Identifier: MIT
//
// Misuses of the functions that are told the sizes of structs, and programs that are newer than the library: a table,
// as scene.h says, with no include guard. The functions are named as programs call them.

#define NO_SIZES "sizes must be those of skua_sizes_here"
#define IS_NEWER                                                                                   \
    "the program was compiled with a newer skua.h, whose members this library does not know: it "  \
    "needs a newer library"
#define SMALLER(member) "sizes->" member " is smaller than what is in it"

// A struct with a member more, which is not 0; and the table of a header that has it.
#define NEWER(type, ...)                                                                           \
    ((const type *)(const void *)&(const struct {                                                  \
        type known;                                                                                \
        uint64_t more;                                                                             \
    }){ { __VA_ARGS__ }, 1 })
#define NEWER_SIZES(member) scene_sizes(offsetof(skua_sizes, member), 8)
#define OTHER_SIZES(member, less) scene_sizes(offsetof(skua_sizes, member), -(int)(less))

// ---- Without sizes ----

STOPS(skua_server_new, no_sizes, OUTSIDE, NO_SIZES,
      skua_server_free(skua_server_new_sized(NULL, NULL)))
STOPS(skua_server_new, empty_sizes, OUTSIDE, NO_SIZES,
      skua_server_free(skua_server_new_sized(NULL, &(skua_sizes){ 0 })))
STOPS(skua_tls_identity_new, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_tls_identity_new_sized(&(skua_tls_certificate){ .names = NULL }, 1,
                                              &(skua_tls_identity *){ NULL }, NULL, 0, NULL))
STOPS(skua_tls_reload, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_tls_reload_sized(s->server, &(skua_tls_desc){ .listen = NULL }, NULL, 0,
                                        NULL))
STOPS(skua_route_add, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_route_add_sized(s->server, &(skua_route_desc){ .pattern = "/" }, NULL))
STOPS(skua_site_route_add, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_site_route_add_sized(scene_site(s), &(skua_route_desc){ .pattern = "/" },
                                            NULL))
STOPS(skua_request_tls, no_sizes, HANDLER, NO_SIZES,
      (void)skua_request_tls_sized(s->request, &(skua_tls_info){ .version = NULL }, NULL))
STOPS(skua_multipart_read, no_sizes, HANDLER, NO_SIZES,
      s->status = skua_multipart_read_sized(s->request, nothing_parted, NULL, NULL))
STOPS(skua_multipart_collect, no_sizes, HANDLER, NO_SIZES,
      s->status = skua_multipart_collect_sized(s->request, 0, 0, nothing_formed, NULL, NULL))
STOPS(skua_content_spool, no_sizes, HANDLER, NO_SIZES,
      s->status = skua_content_spool_sized(s->request, 0, 0, nothing_spooled, NULL, NULL))
STOPS(skua_use, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_use_sized(s->server, "/", &(skua_middleware){ 0 }, NULL))
STOPS(skua_site_use, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_site_use_sized(scene_site(s), "/", &(skua_middleware){ 0 }, NULL))
STOPS(skua_route_group, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_route_group_sized(s->server, &(skua_group){ .prefix = "/a" }, NULL))
STOPS(skua_site_group, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_site_group_sized(scene_site(s), &(skua_group){ .prefix = "/a" }, NULL))
STOPS(skua_site_new, no_sizes, OUTSIDE, NO_SIZES,
      skua_site_free(skua_site_new_sized(s->server, &(skua_site_desc){ .hosts = "a" }, NULL)))
STOPS(skua_event_send, no_sizes, HANDLER, NO_SIZES,
      s->status = skua_event_send_sized(s->request, &(skua_event){ .comment = true }, NULL))
STOPS(skua_cookie_set, no_sizes, HANDLER, NO_SIZES,
      s->status = skua_cookie_set_sized(s->request, &(skua_cookie){ .name = "a" }, NULL))
STOPS(skua_filter_add, no_sizes, HANDLER, NO_SIZES,
      s->status = skua_filter_add_sized(s->request, &(skua_filter){ .user = NULL }, NULL))
STOPS(skua_use_compression, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_use_compression_sized(s->server, "/", NULL, NULL))
STOPS(skua_root_list, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_root_list_sized(s->root, SKUA_SLICE(""), nothing_listed, NULL, NULL))
STOPS(skua_file_open, no_sizes, HANDLER, NO_SIZES,
      skua_file_open_sized(s->worker, s->root, SKUA_SLICE("file"), nothing_opened, NULL, NULL))
STOPS(skua_prepared_new, no_sizes, HANDLER, NO_SIZES,
      s->status = skua_prepared_new_sized(s->worker, &(skua_prepared_desc){ .status = 200 },
                                          &s->prepared, NULL))
STOPS(skua_local_add, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_local_add_sized(s->server, &(skua_local_desc){ .make = nothing_made },
                                       &s->key, NULL))
STOPS(skua_websocket, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_websocket_sized(s->server, "GET /socket", &(skua_websocket_desc){ 0 }, NULL))
STOPS(skua_site_websocket, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_site_websocket_sized(scene_site(s), "GET /", &(skua_websocket_desc){ 0 },
                                            NULL))
STOPS(skua_socket_receive, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_socket_receive_sized((skua_socket){ 0 }, 0, &s->message, NULL))
STOPS(skua_topic_publish, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_topic_publish_sized(s->server, SKUA_SLICE("a"), &(skua_publication){ 0 },
                                           NULL))
STOPS(skua_topic_bridge, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_topic_bridge_sized(s->server,
                                          &(skua_topic_bridge_desc){ .url = "redis://store" },
                                          NULL))
STOPS(skua_route_directory, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_route_directory_sized(s->server, "/", "/", NULL, NULL))
STOPS(skua_site_directory, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_site_directory_sized(scene_site(s), "/", "/", NULL, NULL))
STOPS(skua_serve_file, no_sizes, HANDLER, NO_SIZES,
      skua_serve_file_sized(s->request, s->root, SKUA_SLICE("file"), NULL, NULL))
STOPS(skua_route_assets, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_route_assets_sized(s->server, "/", &no_assets, NULL, NULL))
STOPS(skua_site_assets, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_site_assets_sized(scene_site(s), "/", &no_assets, NULL, NULL))
STOPS(skua_file_etag, no_sizes, OUTSIDE, NO_SIZES, char tag[SKUA_FILE_ETAG_OCTETS];
      (void)skua_file_etag_sized(INFO_OF(1), SKUA_SLICE("a"), 0, tag, NULL))
STOPS(skua_listener_add, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_listener_add_sized(s->server, &(skua_listener_desc){ .fd = 0 }, NULL, NULL))
STOPS(skua_server_stats, no_sizes, OUTSIDE, NO_SIZES,
      skua_server_stats_sized(s->server, &(skua_stats){ .memory_octets = 0 }, NULL))
STOPS(skua_stats_quantile_ns, no_sizes, OUTSIDE, NO_SIZES,
      (void)skua_stats_quantile_ns_sized(&(skua_stats){ .memory_octets = 0 }, 0, NULL))
STOPS(skua_stats_write, no_sizes, OUTSIDE, NO_SIZES,
      (void)skua_stats_write_sized(&(skua_stats){ .memory_octets = 0 }, NULL, 0, NULL))
STOPS(skua_test, no_sizes, OUTSIDE, NO_SIZES,
      s->status = skua_test_sized(s->server, "GET", "/", NULL, &(skua_test_response){ .status = 0 },
                                  NULL))
STOPS(skua_test_field, no_sizes, OUTSIDE, NO_SIZES,
      (void)skua_test_field_sized(&(skua_test_response){ .status = 0 }, "a", NULL))

// ---- A program that is newer than the library ----

STOPS(skua_server_new, newer, OUTSIDE, IS_NEWER,
      skua_server_free(skua_server_new_sized(NEWER(skua_config, .workers = 1),
                                             NEWER_SIZES(config))))
STOPS(skua_server_new, newer_allocator, OUTSIDE, IS_NEWER,
      skua_server_free(skua_server_new_sized(&(skua_config){ .allocator = NEWER(skua_allocator,
                                                                                .user = NULL) },
                                             NEWER_SIZES(allocator))))
STOPS(skua_server_new, newer_certificate, OUTSIDE, IS_NEWER,
      skua_server_free(skua_server_new_sized(
          &(skua_config){ .tls = { .certificates = NEWER(skua_tls_certificate, .file = "a"),
                                   .certificate_count = 1 } },
          NEWER_SIZES(tls_certificate))))
STOPS(skua_server_new, smaller_than_what_is_in_it, OUTSIDE, SMALLER("config"),
      skua_server_free(skua_server_new_sized(&(skua_config){ .workers = 1 },
                                             OTHER_SIZES(config, sizeof(skua_config)))))
STOPS(skua_server_new, tls_smaller_than_what_is_in_it, OUTSIDE, SMALLER("tls_desc"),
      skua_server_free(skua_server_new_sized(&(skua_config){ .workers = 1 },
                                             OTHER_SIZES(tls_desc, sizeof(skua_tls_desc)))))
#ifdef SKUA_TLS
STOPS(skua_tls_identity_new, newer_clients, OUTSIDE, IS_NEWER,
      s->status = skua_tls_identity_new_sized(
          &(skua_tls_certificate){ .clients = NEWER(skua_tls_clients, .ca_file = NULL) }, 1,
          &(skua_tls_identity *){ NULL }, NULL, 0, NEWER_SIZES(tls_clients)))
#endif
STOPS(skua_route_add, newer, OUTSIDE, IS_NEWER,
      s->status = skua_route_add_sized(s->server, NEWER(skua_route_desc, .pattern = "/"),
                                       NEWER_SIZES(route_desc)))
STOPS(skua_site_route_add, newer, OUTSIDE, IS_NEWER,
      s->status = skua_site_route_add_sized(scene_site(s), NEWER(skua_route_desc, .pattern = "/"),
                                            NEWER_SIZES(route_desc)))
STOPS(skua_multipart_read, newer, HANDLER, IS_NEWER,
      s->status = skua_multipart_read_sized(s->request, nothing_parted, NULL, NEWER_SIZES(part)))
STOPS(skua_multipart_collect, newer, HANDLER, IS_NEWER,
      s->status = skua_multipart_collect_sized(s->request, 0, 0, nothing_formed, NULL,
                                               NEWER_SIZES(form_part)))
STOPS(skua_content_spool, newer, HANDLER, IS_NEWER,
      s->status = skua_content_spool_sized(s->request, 0, 0, nothing_spooled, NULL,
                                           NEWER_SIZES(upload)))
STOPS(skua_use, newer, OUTSIDE, IS_NEWER,
      s->status = skua_use_sized(s->server, "/", NEWER(skua_middleware, .user = NULL),
                                 NEWER_SIZES(middleware)))
STOPS(skua_site_use, newer, OUTSIDE, IS_NEWER,
      s->status = skua_site_use_sized(scene_site(s), "/", NEWER(skua_middleware, .user = NULL),
                                      NEWER_SIZES(middleware)))
STOPS(skua_route_group, newer, OUTSIDE, IS_NEWER,
      s->status = skua_route_group_sized(s->server, NEWER(skua_group, .prefix = "/a"),
                                         NEWER_SIZES(group)))
STOPS(skua_route_group, newer_routes, OUTSIDE, IS_NEWER,
      s->status = skua_route_group_sized(
          s->server,
          &(skua_group){
              .prefix = "/a", .routes = NEWER(skua_route_desc, .pattern = "/"), .route_count = 1 },
          NEWER_SIZES(route_desc)))
STOPS(skua_site_group, newer_middleware, OUTSIDE, IS_NEWER,
      s->status = skua_site_group_sized(scene_site(s),
                                        &(skua_group){
                                            .prefix = "/a",
                                            .middleware = NEWER(skua_middleware, .user = NULL),
                                            .middleware_count = 1 },
                                        NEWER_SIZES(middleware)))
STOPS(skua_site_new, newer, OUTSIDE, IS_NEWER,
      skua_site_free(skua_site_new_sized(s->server, NEWER(skua_site_desc, .hosts = "a"),
                                         NEWER_SIZES(site_desc))))
STOPS(skua_event_send, newer, HANDLER, IS_NEWER,
      s->status = skua_event_send_sized(s->request, NEWER(skua_event, .comment = true),
                                        NEWER_SIZES(event)))
STOPS(skua_cookie_set, newer, HANDLER, IS_NEWER,
      s->status = skua_cookie_set_sized(s->request, NEWER(skua_cookie, .name = "a"),
                                        NEWER_SIZES(cookie)))
STOPS(skua_filter_add, newer, HANDLER, IS_NEWER,
      s->status = skua_filter_add_sized(s->request, NEWER(skua_filter, .user = NULL),
                                        NEWER_SIZES(filter)))
STOPS(skua_use_compression, newer, OUTSIDE, IS_NEWER,
      s->status = skua_use_compression_sized(s->server, "/", NEWER(skua_compression, .off = true),
                                             NEWER_SIZES(compression)))
STOPS(skua_root_list, newer, OUTSIDE, IS_NEWER,
      s->status = skua_root_list_sized(s->root, SKUA_SLICE(""), nothing_listed, NULL,
                                       NEWER_SIZES(file_info)))
STOPS(skua_file_open, newer, HANDLER, IS_NEWER,
      skua_file_open_sized(s->worker, s->root, SKUA_SLICE("file"), nothing_opened, NULL,
                           NEWER_SIZES(file_info)))
STOPS(skua_prepared_new, newer, HANDLER, IS_NEWER,
      s->status = skua_prepared_new_sized(s->worker, NEWER(skua_prepared_desc, .status = 200),
                                          &s->prepared, NEWER_SIZES(prepared_desc)))
STOPS(skua_local_add, newer, OUTSIDE, IS_NEWER,
      s->status = skua_local_add_sized(s->server, NEWER(skua_local_desc, .make = nothing_made),
                                       &s->key, NEWER_SIZES(local_desc)))
STOPS(skua_websocket, newer, OUTSIDE, IS_NEWER,
      s->status = skua_websocket_sized(s->server, "GET /socket",
                                       NEWER(skua_websocket_desc, .user = NULL),
                                       NEWER_SIZES(websocket_desc)))
STOPS(skua_site_websocket, newer, OUTSIDE, IS_NEWER,
      s->status = skua_site_websocket_sized(scene_site(s), "GET /",
                                            NEWER(skua_websocket_desc, .user = NULL),
                                            NEWER_SIZES(websocket_desc)))
STOPS(skua_topic_publish, newer, OUTSIDE, IS_NEWER,
      s->status = skua_topic_publish_sized(s->server, SKUA_SLICE("a"),
                                           NEWER(skua_publication, .binary = true),
                                           NEWER_SIZES(publication)))
STOPS(skua_topic_bridge, newer, OUTSIDE, IS_NEWER,
      s->status = skua_topic_bridge_sized(s->server,
                                          NEWER(skua_topic_bridge_desc, .url = "redis://store"),
                                          NEWER_SIZES(topic_bridge_desc)))
STOPS(skua_route_directory, newer, OUTSIDE, IS_NEWER,
      s->status = skua_route_directory_sized(s->server, "/", "/",
                                             NEWER(skua_directory_config, .list = true),
                                             NEWER_SIZES(directory_config)))
STOPS(skua_site_directory, newer_types, OUTSIDE, IS_NEWER,
      s->status = skua_site_directory_sized(
          scene_site(s), "/", "/",
          &(skua_directory_config){ .types = NEWER(skua_media, .ending = ".a", .type = "a/a"),
                                    .types_count = 1 },
          NEWER_SIZES(media)))
STOPS(skua_route_directory, newer_files, OUTSIDE, IS_NEWER,
      s->status = skua_route_directory_sized(s->server, "/", "/",
                                             &(skua_directory_config){ .decide = nothing_decided },
                                             NEWER_SIZES(file_info)))
STOPS(skua_serve_file, newer, HANDLER, IS_NEWER,
      skua_serve_file_sized(s->request, s->root, SKUA_SLICE("file"),
                            NEWER(skua_serve_desc, .dotfiles = true), NEWER_SIZES(serve_desc)))
STOPS(skua_route_assets, newer, OUTSIDE, IS_NEWER,
      s->status = skua_route_assets_sized(s->server, "/",
                                          NEWER(skua_assets, .asset_octets = sizeof(skua_asset)),
                                          NULL, NEWER_SIZES(assets)))
STOPS(skua_site_assets, newer, OUTSIDE, IS_NEWER,
      s->status = skua_site_assets_sized(scene_site(s), "/", &no_assets,
                                         NEWER(skua_assets_config, .name = "a"),
                                         NEWER_SIZES(assets_config)))
STOPS(skua_file_etag, newer, OUTSIDE, IS_NEWER, char tag[SKUA_FILE_ETAG_OCTETS];
      (void)skua_file_etag_sized(NEWER(skua_file_info, .size = 1), SKUA_SLICE("a"), 0, tag,
                                 NEWER_SIZES(file_info)))
STOPS(skua_listener_add, newer, OUTSIDE, IS_NEWER,
      s->status = skua_listener_add_sized(s->server, NEWER(skua_listener_desc, .fd = 0), NULL,
                                          NEWER_SIZES(listener_desc)))
STOPS(skua_stats_quantile_ns, newer, OUTSIDE, IS_NEWER,
      (void)skua_stats_quantile_ns_sized(NEWER(skua_stats, .memory_octets = 0), 0,
                                         NEWER_SIZES(stats)))
STOPS(skua_stats_write, newer, OUTSIDE, IS_NEWER,
      (void)skua_stats_write_sized(NEWER(skua_stats, .memory_octets = 0), NULL, 0,
                                   NEWER_SIZES(stats)))
STOPS(skua_test_field, newer, OUTSIDE, IS_NEWER,
      (void)skua_test_field_sized(NEWER(skua_test_response, .status = 0), "a",
                                  NEWER_SIZES(test_response)))
