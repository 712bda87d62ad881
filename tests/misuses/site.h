// SPDX-License-Identifier: MIT
//
// Misuses of sites: a table, as scene.h says, with no include guard.

#define SITE_IS_PUT "site has been put: it is the server's"

STOPS(skua_site_new, no_server, OUTSIDE, NO_SERVER,
      skua_site_free(skua_site_new(NULL, &(skua_site_desc){ .hosts = "a" })))
STOPS(skua_site_new, no_desc, OUTSIDE, NO(desc), skua_site_free(skua_site_new(s->server, NULL)))
STOPS(skua_site_new, no_hosts, OUTSIDE, NO(desc->hosts),
      skua_site_free(skua_site_new(s->server, &(skua_site_desc){ .release = NULL })))
GIVES(skua_site_free, nothing, OUTSIDE, (skua_site_free(NULL), true))
STOPS(skua_site_free, one_that_was_put, OUTSIDE, SITE_IS_PUT, skua_site_free(scene_put_site(s)))
STOPS(skua_site_error, no_site, OUTSIDE, NO(site), (void)skua_site_error(NULL))
STOPS(skua_site_server, no_site, OUTSIDE, NO(site), (void)skua_site_server(NULL))
GIVES(skua_site_server, the_one_it_was_made_for, OUTSIDE,
      skua_site_server(scene_site(s)) == s->server)
STOPS(skua_site_set_error, no_site, OUTSIDE, NO(site), skua_site_set_error(NULL, ""))
STOPS(skua_site_set_error, no_sentence, OUTSIDE, NO(sentence),
      skua_site_set_error(scene_site(s), NULL))
STOPS(skua_site_assets, no_site, OUTSIDE, NO(site),
      s->status = skua_site_assets(NULL, "/", &no_assets, NULL))
STOPS(skua_site_assets, no_pattern, OUTSIDE, NO(pattern),
      s->status = skua_site_assets(scene_site(s), NULL, &no_assets, NULL))
STOPS(skua_site_assets, no_assets, OUTSIDE, NO(assets),
      s->status = skua_site_assets(scene_site(s), "/", NULL, NULL))
STOPS(skua_site_directory, no_site, OUTSIDE, NO(site),
      s->status = skua_site_directory(NULL, "/", "/", NULL))
STOPS(skua_site_directory, no_pattern, OUTSIDE, NO(pattern),
      s->status = skua_site_directory(scene_site(s), NULL, "/", NULL))
STOPS(skua_site_directory, no_path, OUTSIDE, NO(path),
      s->status = skua_site_directory(scene_site(s), "/", NULL, NULL))
GIVES(skua_site_directory, a_server_that_runs, HANDLER,
      skua_site_directory(scene_site(s), "/", "/", NULL) == SKUA_OK)
STOPS(skua_site_on_free, no_site, OUTSIDE, NO(site),
      s->status = skua_site_on_free(NULL, nothing, NULL))
STOPS(skua_site_on_free, no_function, OUTSIDE, NO(release),
      s->status = skua_site_on_free(scene_site(s), NULL, NULL))
STOPS(skua_site_on_free, one_that_was_put, OUTSIDE, SITE_IS_PUT,
      s->status = skua_site_on_free(scene_put_site(s), nothing, NULL))
STOPS(skua_site_route, no_site, OUTSIDE, NO(site),
      s->status = skua_site_route(NULL, "/", nothing_handled, NULL))
STOPS(skua_site_route, no_pattern, OUTSIDE, NO(pattern),
      s->status = skua_site_route(scene_site(s), NULL, nothing_handled, NULL))
STOPS(skua_site_route, no_handler, OUTSIDE, NO(handler),
      s->status = skua_site_route(scene_site(s), "/", NULL, NULL))
STOPS(skua_site_route, one_that_was_put, OUTSIDE, SITE_IS_PUT,
      s->status = skua_site_route(scene_put_site(s), "/", nothing_handled, NULL))
STOPS(skua_site_route_add, no_site, OUTSIDE, NO(site),
      s->status = skua_site_route_add(NULL, &(skua_route_desc){ .pattern = "/" }))
STOPS(skua_site_route_add, no_desc, OUTSIDE, NO(desc),
      s->status = skua_site_route_add(scene_site(s), NULL))
STOPS(skua_site_route_add, no_pattern, OUTSIDE, NO(desc->pattern),
      s->status = skua_site_route_add(scene_site(s),
                                      &(skua_route_desc){ .handler = nothing_handled }))
STOPS(skua_site_route_add, no_handler, OUTSIDE,
      "desc must have a handler, one in blocking, or a directory",
      s->status = skua_site_route_add(scene_site(s), &(skua_route_desc){ .pattern = "/" }))
STOPS(skua_site_route_add, two_handlers, OUTSIDE, "desc must not have two handlers",
      s->status = skua_site_route_add(scene_site(s),
                                      &(skua_route_desc){ .pattern = "/",
                                                          .handler = nothing_handled,
                                                          .blocking = nothing_handled }))
STOPS(skua_site_group, no_site, OUTSIDE, NO(site),
      s->status = skua_site_group(NULL, &(skua_group){ .prefix = "/a" }))
STOPS(skua_site_group, no_group, OUTSIDE, NO(group),
      s->status = skua_site_group(scene_site(s), NULL))
STOPS(skua_site_group, one_that_was_put, OUTSIDE, SITE_IS_PUT,
      s->status = skua_site_group(scene_put_site(s), &(skua_group){ .prefix = "/a" }))
STOPS(skua_site_websocket, no_site, OUTSIDE, NO(site),
      s->status = skua_site_websocket(NULL, "GET /", &(skua_websocket_desc){ 0 }))
STOPS(skua_site_websocket, no_pattern, OUTSIDE, NO(pattern),
      s->status = skua_site_websocket(scene_site(s), NULL, &(skua_websocket_desc){ 0 }))
STOPS(skua_site_websocket, no_desc, OUTSIDE, NO(desc),
      s->status = skua_site_websocket(scene_site(s), "GET /", NULL))
STOPS(skua_site_websocket, one_that_was_put, OUTSIDE, SITE_IS_PUT,
      s->status = skua_site_websocket(scene_put_site(s), "GET /", &(skua_websocket_desc){ 0 }))
STOPS(skua_site_use, no_site, OUTSIDE, NO(site),
      s->status = skua_site_use(NULL, "/", &(skua_middleware){ 0 }))
STOPS(skua_site_use, no_prefix, OUTSIDE, NO(prefix),
      s->status = skua_site_use(scene_site(s), NULL, &(skua_middleware){ 0 }))
STOPS(skua_site_use, no_middleware, OUTSIDE, NO(middleware),
      s->status = skua_site_use(scene_site(s), "/", NULL))
STOPS(skua_site_on_error, no_site, OUTSIDE, NO(site),
      s->status = skua_site_on_error(NULL, "/", nothing_told, NULL))
STOPS(skua_site_on_error, no_prefix, OUTSIDE, NO(prefix),
      s->status = skua_site_on_error(scene_site(s), NULL, nothing_told, NULL))
STOPS(skua_site_on_error, no_function, OUTSIDE, NO(fn),
      s->status = skua_site_on_error(scene_site(s), "/", NULL, NULL))
STOPS(skua_site_put, no_site, OUTSIDE, NO(site), s->status = skua_site_put(NULL))
STOPS(skua_site_put, twice, OUTSIDE, SITE_IS_PUT, s->status = skua_site_put(scene_put_site(s)))
GIVES(skua_site_put, from_another_thread, STRANGER, skua_site_put(scene_site(s)) == SKUA_OK)
GIVES(skua_site_put, in_a_handler, HANDLER, skua_site_put(scene_site(s)) == SKUA_OK)
GIVES(skua_site_put, in_a_blocking_handler, BLOCKING, skua_site_put(scene_site(s)) == SKUA_OK)
STOPS(skua_site_withdraw, no_server, OUTSIDE, NO_SERVER, s->status = skua_site_withdraw(NULL, "a"))
STOPS(skua_site_withdraw, no_hosts, OUTSIDE, NO(hosts),
      s->status = skua_site_withdraw(s->server, NULL))
STOPS(skua_sites_replace, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_sites_replace(NULL, NULL, 0))
STOPS(skua_sites_replace, no_sites, OUTSIDE, NO(sites),
      s->status = skua_sites_replace(s->server, NULL, 1))
STOPS(skua_sites_replace, one_that_was_put, OUTSIDE,
      "sites has one that is NULL, has been put, or is there twice",
      s->status = skua_sites_replace(s->server, (skua_site *[]){ scene_put_site(s) }, 1))
STOPS(skua_sites_replace, one_of_another_server, OUTSIDE, "sites has one of another server",
      s->status = skua_sites_replace(skua_server_new(NULL), (skua_site *[]){ scene_site(s) }, 1))
GIVES(skua_sites_replace, in_a_handler, HANDLER, skua_sites_replace(s->server, NULL, 0) == SKUA_OK)

#undef SITE_IS_PUT
