// SPDX-License-Identifier: MIT
//
// Misuses of servers, workers and timers: a table, as scene.h says, with no include guard.

STOPS(skua_server_free, in_a_handler, HANDLER, IN_CALLBACK, skua_server_free(s->server))
STOPS(skua_server_free, in_a_turn, TURN, IN_CALLBACK, skua_server_free(s->server))
STOPS(skua_server_free, in_a_test, TEST, IN_CALLBACK, skua_server_free(s->server))
STOPS(skua_server_free, in_on_worker_start, START_HOOK, IN_CALLBACK, skua_server_free(s->server))
STOPS(skua_server_free, in_a_drop, DROP, IN_CALLBACK, skua_server_free(s->server))
STOPS(skua_server_free, in_a_release, RELEASE, IN_CALLBACK, skua_server_free(s->server))
STOPS(skua_server_free, on_another_thread, STRANGER, OTHER_THAN_START, skua_server_free(s->server))
STOPS(skua_server_free, of_an_open_server, TURNED_BY, OTHER_THAN_START, skua_server_free(s->server))
STOPS(skua_server_free, of_a_tested_server, TESTED_BY, OTHER_THAN_START,
      skua_server_free(s->server))
GIVES(skua_server_free, nothing, OUTSIDE, (skua_server_free(NULL), true))
STOPS(skua_listen, no_server, OUTSIDE, NO_SERVER, s->status = skua_listen(NULL, "127.0.0.1:0"))
STOPS(skua_listen, no_address, OUTSIDE, NO(address), s->status = skua_listen(s->server, NULL))
GIVES(skua_listen, started, RUNNING, skua_listen(s->server, "127.0.0.1:0") == SKUA_ESTATE)
STOPS(skua_listen_fd, no_server, OUTSIDE, NO_SERVER, s->status = skua_listen_fd(NULL, 0))
STOPS(skua_socket_open, no_address, OUTSIDE, NO(address),
      s->status = skua_socket_open(NULL, 0, false, &s->pipe[0], NULL, 0))
STOPS(skua_socket_open, no_place, OUTSIDE, NO(fd),
      s->status = skua_socket_open("127.0.0.1:0", 0, false, NULL, NULL, 0))
STOPS(skua_socket_open, no_sentence, OUTSIDE, "why_room is given, but why is NULL",
      s->status = skua_socket_open("127.0.0.1:0", 0, false, &s->pipe[0], NULL, 1))
GIVES(skua_listen_fd, no_socket, OUTSIDE, skua_listen_fd(s->server, -1) == SKUA_EINVAL)
STOPS(skua_listen_inherited, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_listen_inherited(NULL, NULL))
STOPS(skua_listen_over_tls, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_listen_over_tls(NULL, 0))
GIVES(skua_listen_over_tls, no_such_address, OUTSIDE,
      skua_listen_over_tls(s->server, 9) == SKUA_EINVAL)
GIVES(skua_listen_over_tls, no_certificate, OUTSIDE,
      skua_listen_over_tls(s->server, 0) == SKUA_EINVAL)
GIVES(skua_listen_over_tls, started, RUNNING, skua_listen_over_tls(s->server, 0) == SKUA_ESTATE)
STOPS(skua_listen_forwarded, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_listen_forwarded(NULL, 0, SKUA_FORWARDED_NONE))
GIVES(skua_listen_forwarded, no_such_address, OUTSIDE,
      skua_listen_forwarded(s->server, 9, SKUA_FORWARDED_NONE) == SKUA_EINVAL)
GIVES(skua_listen_forwarded, nobody_is_trusted, OUTSIDE,
      skua_listen_forwarded(s->server, 0, SKUA_FORWARDED_PROXY) == SKUA_EINVAL)
GIVES(skua_listen_forwarded, started, RUNNING,
      skua_listen_forwarded(s->server, 0, SKUA_FORWARDED_NONE) == SKUA_ESTATE)
STOPS(skua_start, no_server, OUTSIDE, NO_SERVER, s->status = skua_start(NULL))
STOPS(skua_start, in_a_release, RELEASE, FREED, s->status = skua_start(s->server))
GIVES(skua_start, twice, RUNNING, skua_start(s->server) == SKUA_ESTATE)
GIVES(skua_start, in_a_handler, HANDLER, skua_start(s->server) == SKUA_ESTATE)
STOPS(skua_wait, no_server, OUTSIDE, NO_SERVER, skua_wait(NULL))
STOPS(skua_wait, in_a_handler, HANDLER, IN_CALLBACK, skua_wait(s->server))
STOPS(skua_wait, in_a_turn, TURN, IN_CALLBACK, skua_wait(s->server))
STOPS(skua_wait, in_a_test, TEST, IN_CALLBACK, skua_wait(s->server))
STOPS(skua_wait, in_a_drop, DROP, IN_CALLBACK, skua_wait(s->server))
STOPS(skua_wait, in_a_blocking_handler, BLOCKING, OTHER_THAN_START, skua_wait(s->server))
STOPS(skua_wait, on_another_thread, STRANGER, OTHER_THAN_START, skua_wait(s->server))
GIVES(skua_wait, not_started, OUTSIDE, skua_wait(s->server) == SKUA_OK)
STOPS(skua_run, no_server, OUTSIDE, NO_SERVER, s->status = skua_run(NULL))
STOPS(skua_run, in_a_release, RELEASE, FREED, s->status = skua_run(s->server))
GIVES(skua_run, in_a_handler, HANDLER, skua_run(s->server) == SKUA_ESTATE)
STOPS(skua_stop, no_server, OUTSIDE, NO_SERVER, skua_stop(NULL, 0))
STOPS(skua_open, no_server, OUTSIDE, NO_SERVER, s->status = skua_open(NULL))
STOPS(skua_open, in_a_release, RELEASE, FREED, s->status = skua_open(s->server))
GIVES(skua_open, started, RUNNING, skua_open(s->server) == SKUA_ESTATE)
STOPS(skua_fd, no_server, OUTSIDE, NO_SERVER, (void)skua_fd(NULL))
STOPS(skua_fd, on_another_thread, TURNED_BY, OTHER_THAN_OPEN, (void)skua_fd(s->server))
GIVES(skua_fd, not_open, OUTSIDE, skua_fd(s->server) == -1)
STOPS(skua_timeout_ns, no_server, OUTSIDE, NO_SERVER, (void)skua_timeout_ns(NULL))
STOPS(skua_timeout_ns, on_another_thread, TURNED_BY, OTHER_THAN_OPEN,
      (void)skua_timeout_ns(s->server))
GIVES(skua_timeout_ns, not_open, OUTSIDE, skua_timeout_ns(s->server) == -1)
STOPS(skua_turn, no_server, OUTSIDE, NO_SERVER, s->status = skua_turn(NULL, 0))
STOPS(skua_turn, on_another_thread, TURNED_BY, OTHER_THAN_OPEN, s->status = skua_turn(s->server, 0))
STOPS(skua_turn, in_a_turn, TURN, IN_CALLBACK, s->status = skua_turn(s->server, 0))
GIVES(skua_turn, not_open, OUTSIDE, skua_turn(s->server, 0) == SKUA_ECLOSED)
STOPS(skua_server_error, no_server, OUTSIDE, NO_SERVER, (void)skua_server_error(NULL))
STOPS(skua_server_set_error, no_server, OUTSIDE, NO_SERVER, skua_server_set_error(NULL, ""))
STOPS(skua_server_set_error, no_sentence, OUTSIDE, NO(sentence),
      skua_server_set_error(s->server, NULL))
STOPS(skua_server_stats, no_server, OUTSIDE, NO_SERVER,
      skua_server_stats(NULL, &(skua_stats){ .memory_octets = 0 }))
STOPS(skua_server_stats, no_stats, OUTSIDE, NO(stats), skua_server_stats(s->server, NULL))
STOPS(skua_stats_quantile_ns, no_stats, OUTSIDE, NO(stats), (void)skua_stats_quantile_ns(NULL, 0))
STOPS(skua_stats_write, no_stats, OUTSIDE, NO(stats), (void)skua_stats_write(NULL, NULL, 0))
STOPS(skua_stats_write, no_text, OUTSIDE, NO(text),
      (void)skua_stats_write(&(skua_stats){ .memory_octets = 0 }, NULL, 1))
STOPS(skua_test, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_test(NULL, "GET", "/", NULL, &(skua_test_response){ .status = 0 }))
STOPS(skua_test, no_method, OUTSIDE, NO(method),
      s->status = skua_test(s->server, NULL, "/", NULL, &(skua_test_response){ .status = 0 }))
STOPS(skua_test, no_path, OUTSIDE, NO(path),
      s->status = skua_test(s->server, "GET", NULL, NULL, &(skua_test_response){ .status = 0 }))
STOPS(skua_test, no_result, OUTSIDE, NO(result),
      s->status = skua_test(s->server, "GET", "/", NULL, NULL))
GIVES(skua_test, started, RUNNING,
      skua_test(s->server, "GET", "/", NULL, &(skua_test_response){ .status = 0 }) == SKUA_ESTATE)
STOPS(skua_test_field, no_result, OUTSIDE, NO(result), (void)skua_test_field(NULL, "a"))
STOPS(skua_test_field, no_name, OUTSIDE, NO(name),
      (void)skua_test_field(&(skua_test_response){ .status = 0 }, NULL))
STOPS(skua_listener_add, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_listener_add(NULL, &(skua_listener_desc){ .fd = 0 }, NULL))
STOPS(skua_listener_add, no_desc, OUTSIDE, NO(desc),
      s->status = skua_listener_add(s->server, NULL, NULL))
STOPS(skua_listener_add, on_a_worker, HANDLER, ON_A_WORKER,
      s->status = skua_listener_add(s->server, &(skua_listener_desc){ .fd = 0 }, NULL))
GIVES(skua_listener_add, no_address, OUTSIDE,
      skua_listener_add(s->server, &(skua_listener_desc){ .address = "x" }, NULL) == SKUA_EINVAL)
STOPS(skua_listener_remove, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_listener_remove(NULL, 0))
STOPS(skua_listener_remove, on_a_worker, HANDLER, ON_A_WORKER,
      s->status = skua_listener_remove(s->server, 0))
STOPS(skua_listener_remove, of_one_that_is_turned, TURNED_BY, OTHER_THAN_OPEN_OR_CALLBACK,
      s->status = skua_listener_remove(s->server, 0))
GIVES(skua_listener_remove, no_such_index, RUNNING,
      skua_listener_remove(s->server, 7) == SKUA_ENOENT)
STOPS(skua_listeners_remove, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_listeners_remove(NULL, NULL, 0))
STOPS(skua_listeners_remove, no_indices, RUNNING, NO(indices),
      s->status = skua_listeners_remove(s->server, NULL, 1))
STOPS(skua_listeners_remove, on_a_worker, HANDLER, ON_A_WORKER,
      s->status = skua_listeners_remove(s->server, (size_t[]){ 0 }, 1))
STOPS(skua_listeners_remove, of_one_that_is_turned, TURNED_BY, OTHER_THAN_OPEN_OR_CALLBACK,
      s->status = skua_listeners_remove(s->server, (size_t[]){ 0 }, 1))
GIVES(skua_listeners_remove, no_such_index, RUNNING,
      skua_listeners_remove(s->server, (size_t[]){ 0, 7 }, 2) == SKUA_ENOENT)
STOPS(skua_workers_set, no_server, OUTSIDE, NO_SERVER, s->status = skua_workers_set(NULL, 1))
STOPS(skua_workers_set, on_a_worker, HANDLER, ON_A_WORKER,
      s->status = skua_workers_set(s->server, 1))
GIVES(skua_workers_set, not_running, OUTSIDE, skua_workers_set(s->server, 1) == SKUA_ESTATE)
STOPS(skua_server_on_free, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_server_on_free(NULL, nothing, NULL))
STOPS(skua_server_on_free, no_function, OUTSIDE, NO(release),
      s->status = skua_server_on_free(s->server, NULL, NULL))
STOPS(skua_server_address, no_server, OUTSIDE, NO_SERVER, (void)skua_server_address(NULL, 0))
GIVES(skua_server_address, no_such_index, OUTSIDE, !skua_server_address(s->server, 1))
STOPS(skua_server_address_is_secure, no_server, OUTSIDE, NO_SERVER,
      (void)skua_server_address_is_secure(NULL, 0))
GIVES(skua_server_address_is_secure, no_such_index, OUTSIDE,
      !skua_server_address_is_secure(s->server, 1))
STOPS(skua_server_workers, no_server, OUTSIDE, NO_SERVER, (void)skua_server_workers(NULL))
STOPS(skua_server_backend, no_server, OUTSIDE, NO_SERVER, (void)skua_server_backend(NULL))
STOPS(skua_log, no_server, OUTSIDE, NO_SERVER, skua_log(NULL, SKUA_SLICE("x")))
STOPS(skua_log, no_octets, OUTSIDE, NO_OCTETS(message), skua_log(s->server, NOWHERE))
GIVES(skua_log, not_running, OUTSIDE, (skua_log(s->server, SKUA_SLICE("x")), true))

STOPS(skua_route, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_route(NULL, "/", nothing_handled, NULL))
STOPS(skua_route, no_pattern, OUTSIDE, NO(pattern),
      s->status = skua_route(s->server, NULL, nothing_handled, NULL))
STOPS(skua_route, no_handler, OUTSIDE, NO(handler),
      s->status = skua_route(s->server, "/x", NULL, NULL))
GIVES(skua_route, in_a_handler, HANDLER,
      skua_route(s->server, "/x", nothing_handled, NULL) == SKUA_ESTATE)
STOPS(skua_route_blocking, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_route_blocking(NULL, "/", nothing_blocked, NULL))
STOPS(skua_route_blocking, no_pattern, OUTSIDE, NO(pattern),
      s->status = skua_route_blocking(s->server, NULL, nothing_blocked, NULL))
STOPS(skua_route_blocking, no_handler, OUTSIDE, NO(handler),
      s->status = skua_route_blocking(s->server, "/x", NULL, NULL))
STOPS(skua_route_add, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_route_add(NULL, &(skua_route_desc){ .pattern = "/" }))
STOPS(skua_route_add, no_desc, OUTSIDE, NO(desc), s->status = skua_route_add(s->server, NULL))
STOPS(skua_route_add, no_pattern, OUTSIDE, NO(desc->pattern),
      s->status = skua_route_add(s->server, &(skua_route_desc){ .handler = nothing_handled }))
STOPS(skua_route_add, no_handler, OUTSIDE,
      "desc must have a handler, one in blocking, or a directory",
      s->status = skua_route_add(s->server, &(skua_route_desc){ .pattern = "/" }))
STOPS(skua_route_add, two_handlers, OUTSIDE, "desc must not have two handlers",
      s->status = skua_route_add(s->server, &(skua_route_desc){ .pattern = "/",
                                                                .handler = nothing_handled,
                                                                .blocking = nothing_handled }))
STOPS(skua_route_add, a_directory_and_a_handler, OUTSIDE, "desc must not have two handlers",
      s->status = skua_route_add(s->server, &(skua_route_desc){ .pattern = "/",
                                                                .handler = nothing_handled,
                                                                .directory = "." }))
STOPS(skua_route_add, a_directory_with_a_limit, OUTSIDE,
      "a directory takes neither content_octets_max nor timeout_ns",
      s->status = skua_route_add(
          s->server, &(skua_route_desc){ .pattern = "/", .directory = ".", .timeout_ns = 1 }))
STOPS(skua_route_add, a_wrong_timeout, OUTSIDE, "timeout_ns must be -1, 0 or more",
      s->status = skua_route_add(s->server, &(skua_route_desc){ .pattern = "/",
                                                                .handler = nothing_handled,
                                                                .timeout_ns = -2 }))
STOPS(skua_route_group, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_route_group(NULL, &(skua_group){ .prefix = "/a" }))
STOPS(skua_route_group, no_group, OUTSIDE, NO(group), s->status = skua_route_group(s->server, NULL))
STOPS(skua_route_group, no_prefix, OUTSIDE, NO(group->prefix),
      s->status = skua_route_group(s->server, &(skua_group){ .route_count = 0 }))
STOPS(skua_route_group, no_routes, OUTSIDE, "group->routes has a count, but is NULL",
      s->status = skua_route_group(s->server, &(skua_group){ .prefix = "/a", .route_count = 1 }))
STOPS(skua_route_group, no_middleware, OUTSIDE, "group->middleware has a count, but is NULL",
      s->status = skua_route_group(s->server,
                                   &(skua_group){ .prefix = "/a", .middleware_count = 1 }))
STOPS(skua_route_group, no_pattern_in_it, OUTSIDE, NO(desc->pattern),
      s->status = skua_route_group(s->server, &(skua_group){ .prefix = "/a",
                                                             .routes = &(skua_route_desc){ 0 },
                                                             .route_count = 1 }))
GIVES(skua_route_group, while_it_runs, RUNNING,
      skua_route_group(s->server, &(skua_group){ .prefix = "/a" }) == SKUA_ESTATE)
STOPS(skua_on_error, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_on_error(NULL, "/", nothing_told, NULL))
STOPS(skua_on_error, no_prefix, OUTSIDE, NO(prefix),
      s->status = skua_on_error(s->server, NULL, nothing_told, NULL))
STOPS(skua_on_error, no_function, OUTSIDE, NO(fn),
      s->status = skua_on_error(s->server, "/", NULL, NULL))
STOPS(skua_use_compression, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_use_compression(NULL, "/", NULL))
STOPS(skua_use_compression, no_prefix, OUTSIDE, NO(prefix),
      s->status = skua_use_compression(s->server, NULL, NULL))
STOPS(skua_websocket, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_websocket(NULL, "GET /socket", &(skua_websocket_desc){ 0 }))
STOPS(skua_websocket, no_pattern, OUTSIDE, NO(pattern),
      s->status = skua_websocket(s->server, NULL, &(skua_websocket_desc){ 0 }))
STOPS(skua_websocket, no_desc, OUTSIDE, NO(desc),
      s->status = skua_websocket(s->server, "GET /socket", NULL))
GIVES(skua_websocket, started, RUNNING,
      skua_websocket(s->server, "GET /socket", &(skua_websocket_desc){ 0 }) == SKUA_ESTATE)
GIVES(skua_websocket, another_method, OUTSIDE,
      skua_websocket(s->server, "POST /socket", &(skua_websocket_desc){ 0 }) == SKUA_EINVAL)
GIVES(skua_websocket, no_origin, OUTSIDE,
      skua_websocket(s->server, "GET /socket", &(skua_websocket_desc){ .origins = "a.example" }) ==
          SKUA_EINVAL)
GIVES(skua_websocket, no_token, OUTSIDE,
      skua_websocket(s->server, "GET /socket", &(skua_websocket_desc){ .protocols = "a,b" }) ==
          SKUA_EINVAL)
STOPS(skua_socket_text, no_octets, OUTSIDE, NO_OCTETS(message),
      s->status = skua_socket_text((skua_socket){ 0 }, (skua_slice){ NULL, 1 }))
GIVES(skua_socket_text, none, ELSEWHERE,
      skua_socket_text((skua_socket){ 0 }, SKUA_SLICE("x")) == SKUA_ECLOSED)
GIVES(skua_socket_text, not_text, ELSEWHERE,
      skua_socket_text((skua_socket){ 0 }, SKUA_SLICE("\xff")) == SKUA_EINVAL)
STOPS(skua_socket_binary, no_octets, OUTSIDE, NO_OCTETS(message),
      s->status = skua_socket_binary((skua_socket){ 0 }, (skua_slice){ NULL, 1 }))
GIVES(skua_socket_binary, none, ELSEWHERE,
      skua_socket_binary((skua_socket){ 0 }, SKUA_SLICE("x")) == SKUA_ECLOSED)
STOPS(skua_socket_close, no_octets, OUTSIDE, NO_OCTETS(reason),
      (void)skua_socket_close((skua_socket){ 0 }, 0, (skua_slice){ NULL, 1 }))
GIVES(skua_socket_close, none, ELSEWHERE,
      skua_socket_close((skua_socket){ 0 }, 0, SKUA_SLICE("")) == SKUA_ECLOSED)
GIVES(skua_socket_close, no_such_code, ELSEWHERE,
      skua_socket_close((skua_socket){ 0 }, 1005, SKUA_SLICE("")) == SKUA_EINVAL)
GIVES(skua_socket_text, from_another_thread, SOCKET_ELSEWHERE,
      skua_socket_text(s->socket, SKUA_SLICE("x")) == SKUA_OK)
GIVES(skua_socket_binary, from_another_thread, SOCKET_ELSEWHERE,
      skua_socket_binary(s->socket, SKUA_SLICE("x")) == SKUA_OK)
GIVES(skua_socket_close, from_another_thread, SOCKET_ELSEWHERE,
      skua_socket_close(s->socket, 0, SKUA_SLICE("")) == SKUA_OK)
GIVES(skua_socket_close, twice, SOCKET_HERE,
      skua_socket_close(s->socket, 0, SKUA_SLICE("")) == SKUA_OK &&
          skua_socket_close(s->socket, 0, SKUA_SLICE("")) == SKUA_ECLOSED &&
          skua_socket_text(s->socket, SKUA_SLICE("x")) == SKUA_ECLOSED)
GIVES(skua_websocket, two_ways_of_taking_messages, OUTSIDE,
      skua_websocket(s->server, "GET /socket",
                     &(skua_websocket_desc){ .message = nothing_messaged,
                                             .receive = nothing_received }) == SKUA_EINVAL)
GIVES(skua_socket_begin, here, SOCKET_HERE,
      skua_socket_begin(s->socket, true) == SKUA_OK &&
          skua_socket_begin(s->socket, true) == SKUA_ESTATE &&
          skua_socket_text(s->socket, SKUA_SLICE("x")) == SKUA_ESTATE)
GIVES(skua_socket_begin, none, ELSEWHERE,
      skua_socket_begin((skua_socket){ 0 }, true) == SKUA_ECLOSED)
STOPS(skua_socket_begin, on_another_thread, SOCKET_ELSEWHERE, OTHER_THAN_WORKER,
      s->status = skua_socket_begin(s->socket, true))
GIVES(skua_socket_write, not_begun, SOCKET_HERE,
      skua_socket_write(s->socket, SKUA_SLICE("x")) == SKUA_ESTATE)
GIVES(skua_socket_write, not_text, SOCKET_HERE,
      skua_socket_begin(s->socket, true) == SKUA_OK &&
          skua_socket_write(s->socket, SKUA_SLICE("\xff")) == SKUA_EINVAL)
GIVES(skua_socket_write, none, ELSEWHERE,
      skua_socket_write((skua_socket){ 0 }, SKUA_SLICE("x")) == SKUA_ECLOSED)
STOPS(skua_socket_write, no_octets, OUTSIDE, NO_OCTETS(octets),
      s->status = skua_socket_write((skua_socket){ 0 }, NOWHERE))
STOPS(skua_socket_write, on_another_thread, SOCKET_ELSEWHERE, OTHER_THAN_WORKER,
      s->status = skua_socket_write(s->socket, SKUA_SLICE("x")))
GIVES(skua_socket_end, not_begun, SOCKET_HERE, skua_socket_end(s->socket) == SKUA_ESTATE)
GIVES(skua_socket_end, none, ELSEWHERE, skua_socket_end((skua_socket){ 0 }) == SKUA_ECLOSED)
STOPS(skua_socket_end, on_another_thread, SOCKET_ELSEWHERE, OTHER_THAN_WORKER,
      s->status = skua_socket_end(s->socket))
GIVES(skua_websocket, blocking_and_others, OUTSIDE,
      skua_websocket(s->server, "GET /socket",
                     &(skua_websocket_desc){ .message = nothing_messaged,
                                             .blocking = nothing_waited }) == SKUA_EINVAL)
STOPS(skua_socket_receive, no_message, OUTSIDE, NO(message),
      s->status = skua_socket_receive((skua_socket){ 0 }, 0, NULL))
STOPS(skua_socket_receive, on_the_worker, SOCKET_HERE, NO_BLOCKING_SOCKET,
      s->status = skua_socket_receive(s->socket, 0, &s->message))
STOPS(skua_socket_receive, on_another_thread, SOCKET_ELSEWHERE, NO_BLOCKING_SOCKET,
      s->status = skua_socket_receive(s->socket, 0, &s->message))
STOPS(skua_socket_receive, none, ELSEWHERE, NO_BLOCKING_SOCKET,
      s->status = skua_socket_receive((skua_socket){ 0 }, 0, &s->message))
STOPS(skua_socket_consume, more_than_came, SOCKET_HERE,
      "more octets than were delivered and have not been consumed",
      skua_socket_consume(s->socket, 1))
STOPS(skua_socket_consume, on_another_thread, SOCKET_ELSEWHERE, OTHER_THAN_WORKER,
      skua_socket_consume(s->socket, 0))
STOPS(skua_socket_pause, on_another_thread, SOCKET_ELSEWHERE, OTHER_THAN_WORKER,
      skua_socket_pause(s->socket))
GIVES(skua_socket_pause, none, ELSEWHERE, (skua_socket_pause((skua_socket){ 0 }), true))
STOPS(skua_socket_resume, on_another_thread, SOCKET_ELSEWHERE, OTHER_THAN_WORKER,
      skua_socket_resume(s->socket))
GIVES(skua_socket_resume, none, ELSEWHERE, (skua_socket_resume((skua_socket){ 0 }), true))
GIVES(skua_socket_resume, not_paused, SOCKET_HERE, (skua_socket_resume(s->socket), true))
GIVES(skua_socket_consume, none, ELSEWHERE, (skua_socket_consume((skua_socket){ 0 }, 1), true))
GIVES(skua_socket_join, here, SOCKET_HERE,
      skua_socket_join(s->socket, SKUA_SLICE("a")) == SKUA_OK &&
          skua_socket_leave(s->socket, SKUA_SLICE("b")) == SKUA_ENOENT &&
          skua_socket_leave(s->socket, SKUA_SLICE("a")) == SKUA_OK)
GIVES(skua_socket_join, closing, SOCKET_HERE,
      skua_socket_close(s->socket, 0, SKUA_SLICE("")) == SKUA_OK &&
          skua_socket_join(s->socket, SKUA_SLICE("a")) == SKUA_ESTATE)
GIVES(skua_socket_join, none, ELSEWHERE,
      skua_socket_join((skua_socket){ 0 }, SKUA_SLICE("a")) == SKUA_ECLOSED)
GIVES(skua_socket_leave, none, ELSEWHERE,
      skua_socket_leave((skua_socket){ 0 }, SKUA_SLICE("a")) == SKUA_ECLOSED)
STOPS(skua_socket_join, no_octets, SOCKET_HERE, NO_OCTETS(topic),
      s->status = skua_socket_join(s->socket, NOWHERE))
STOPS(skua_socket_leave, no_octets, SOCKET_HERE, NO_OCTETS(topic),
      (void)skua_socket_leave(s->socket, NOWHERE))
STOPS(skua_socket_join, on_another_thread, SOCKET_ELSEWHERE, OTHER_THAN_WORKER,
      s->status = skua_socket_join(s->socket, SKUA_SLICE("a")))
STOPS(skua_socket_leave, on_another_thread, SOCKET_ELSEWHERE, OTHER_THAN_WORKER,
      (void)skua_socket_leave(s->socket, SKUA_SLICE("a")))
STOPS(skua_drain, no_server, OUTSIDE, NO_SERVER, skua_drain(NULL))
STOPS(skua_leave, no_server, OUTSIDE, NO_SERVER, skua_leave(NULL))
GIVES(skua_topic_publish, before_the_start, OUTSIDE,
      skua_topic_publish(s->server, SKUA_SLICE("a"), &(skua_publication){ 0 }) == SKUA_ECLOSED)
GIVES(skua_topic_publish, no_name, ELSEWHERE,
      skua_topic_publish(s->server, SKUA_SLICE(""), &(skua_publication){ 0 }) == SKUA_EINVAL)
GIVES(skua_topic_publish, not_text, ELSEWHERE,
      skua_topic_publish(s->server, SKUA_SLICE("a"),
                         &(skua_publication){ .octets = SKUA_SLICE("\xff") }) == SKUA_EINVAL)
STOPS(skua_topic_bridge, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_topic_bridge(NULL, &(skua_topic_bridge_desc){ .url = "redis://store" }))
STOPS(skua_topic_bridge, no_desc, OUTSIDE, NO(desc), s->status = skua_topic_bridge(s->server, NULL))
STOPS(skua_topic_bridge, no_url, OUTSIDE, NO(desc->url),
      s->status = skua_topic_bridge(s->server, &(skua_topic_bridge_desc){ 0 }))
GIVES(skua_topic_bridge, started, RUNNING,
      skua_topic_bridge(s->server, &(skua_topic_bridge_desc){ .url = "redis://store" }) != SKUA_OK)
STOPS(skua_topic_publish, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_topic_publish(NULL, SKUA_SLICE("a"), &(skua_publication){ 0 }))
STOPS(skua_topic_publish, no_publication, OUTSIDE, NO(publication),
      s->status = skua_topic_publish(s->server, SKUA_SLICE("a"), NULL))
STOPS(skua_topic_publish, no_topic, OUTSIDE, NO_OCTETS(topic),
      s->status = skua_topic_publish(s->server, NOWHERE, &(skua_publication){ 0 }))
STOPS(skua_topic_publish, no_octets, OUTSIDE, NO_OCTETS(publication->octets),
      s->status = skua_topic_publish(s->server, SKUA_SLICE("a"),
                                     &(skua_publication){ .octets = NOWHERE }))
STOPS(skua_topic_publish, no_event, OUTSIDE, NO_OCTETS(publication->event),
      s->status = skua_topic_publish(s->server, SKUA_SLICE("a"),
                                     &(skua_publication){ .event = NOWHERE }))
STOPS(skua_topic_publish, no_id, OUTSIDE, NO_OCTETS(publication->id),
      s->status = skua_topic_publish(s->server, SKUA_SLICE("a"),
                                     &(skua_publication){ .id = NOWHERE }))
GIVES(skua_socket_request, here, SOCKET_HERE, skua_socket_request(s->socket) == s->request)
STOPS(skua_socket_request, on_another_thread, SOCKET_ELSEWHERE, OTHER_THAN_WORKER,
      (void)skua_socket_request(s->socket))
STOPS(skua_socket_protocol, on_another_thread, SOCKET_ELSEWHERE, OTHER_THAN_WORKER,
      (void)skua_socket_protocol(s->socket))
GIVES(skua_socket_request, none, ELSEWHERE, !skua_socket_request((skua_socket){ 0 }))
STOPS(skua_socket_set, on_another_thread, SOCKET_ELSEWHERE, OTHER_THAN_WORKER,
      (void)skua_socket_set(s->socket, s))
STOPS(skua_socket_get, on_another_thread, SOCKET_ELSEWHERE, OTHER_THAN_WORKER,
      (void)skua_socket_get(s->socket))
GIVES(skua_socket_set, none, ELSEWHERE, skua_socket_set((skua_socket){ 0 }, s) == SKUA_ECLOSED)
GIVES(skua_socket_get, none, ELSEWHERE, !skua_socket_get((skua_socket){ 0 }))
GIVES(skua_socket_get, kept, SOCKET_HERE,
      skua_socket_set(s->socket, s) == SKUA_OK && skua_socket_get(s->socket) == s)
GIVES(skua_socket_protocol, none, ELSEWHERE, !skua_socket_protocol((skua_socket){ 0 }).len)
STOPS(skua_use, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_use(NULL, "/", &(skua_middleware){ 0 }))
STOPS(skua_use, no_prefix, OUTSIDE, NO(prefix),
      s->status = skua_use(s->server, NULL, &(skua_middleware){ 0 }))
STOPS(skua_use, no_middleware, OUTSIDE, NO(middleware), s->status = skua_use(s->server, "/", NULL))
STOPS(skua_local_add, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_local_add(NULL, &(skua_local_desc){ .make = nothing_made }, &s->key))
STOPS(skua_local_add, no_desc, OUTSIDE, NO(desc),
      s->status = skua_local_add(s->server, NULL, &s->key))
STOPS(skua_local_add, no_make, OUTSIDE, NO(desc->make),
      s->status = skua_local_add(s->server, &(skua_local_desc){ 0 }, &s->key))
STOPS(skua_local_add, no_key, OUTSIDE, NO(key),
      s->status = skua_local_add(s->server, &(skua_local_desc){ .make = nothing_made }, NULL))
STOPS(skua_local_remove, no_server, OUTSIDE, NO_SERVER, skua_local_remove(NULL, s->key))
STOPS(skua_local_remove, no_such_key, OUTSIDE, "key is none that skua_local_add has given",
      skua_local_remove(s->server, s->key + 1))
STOPS(skua_local, no_worker, HANDLER, NO(worker), (void)skua_local(NULL, s->key))
STOPS(skua_local, no_such_key, HANDLER, "key is none that skua_local_add has given",
      (void)skua_local(s->worker, s->key + 1))
STOPS(skua_local, on_another_thread, ELSEWHERE, OTHER_THAN_WORKER,
      (void)skua_local(s->worker, s->key))
STOPS(skua_worker_index, no_worker, HANDLER, NO(worker), (void)skua_worker_index(NULL))
GIVES(skua_worker_index, on_another_thread, ELSEWHERE, skua_worker_index(s->worker) == 0)
STOPS(skua_worker_server, no_worker, HANDLER, NO(worker), (void)skua_worker_server(NULL))
GIVES(skua_worker_server, on_another_thread, ELSEWHERE, skua_worker_server(s->worker) == s->server)
STOPS(skua_worker_now_ns, no_worker, HANDLER, NO(worker), (void)skua_worker_now_ns(NULL))
STOPS(skua_worker_now_ns, on_another_thread, ELSEWHERE, OTHER_THAN_WORKER,
      (void)skua_worker_now_ns(s->worker))
STOPS(skua_worker_unix_ns, no_worker, HANDLER, NO(worker), (void)skua_worker_unix_ns(NULL))
STOPS(skua_worker_unix_ns, on_another_thread, ELSEWHERE, OTHER_THAN_WORKER,
      (void)skua_worker_unix_ns(s->worker))
STOPS(skua_memory_count, no_worker, HANDLER, NO(worker), skua_memory_count(NULL, 1))
STOPS(skua_memory_count, on_another_thread, ELSEWHERE, OTHER_THAN_WORKER,
      skua_memory_count(s->worker, 1))
STOPS(skua_memory_count, more_taken_back, HANDLER, "more was taken back than was counted",
      skua_memory_count(s->worker, INT64_MIN))
STOPS(skua_timer_start, no_worker, HANDLER, NO(worker),
      s->status = skua_timer_start(NULL, 0, 0, nothing_done, NULL, NULL))
STOPS(skua_timer_start, no_function, HANDLER, NO(fn),
      s->status = skua_timer_start(s->worker, 0, 0, NULL, NULL, NULL))
STOPS(skua_timer_start, on_another_thread, ELSEWHERE, OTHER_THAN_WORKER,
      s->status = skua_timer_start(s->worker, 0, 0, nothing_done, NULL, NULL))
STOPS(skua_timer_stop, on_another_thread, ELSEWHERE, OTHER_THAN_WORKER,
      (void)skua_timer_stop(s->timer))
GIVES(skua_timer_stop, none, ELSEWHERE, !skua_timer_stop((skua_timer){ 0 }))
STOPS(skua_poll_start, no_worker, HANDLER, NO(worker),
      s->status = skua_poll_start(NULL, s->pipe[0], 0, nothing_polled, NULL, NULL))
STOPS(skua_poll_start, no_function, HANDLER, NO(fn),
      s->status = skua_poll_start(s->worker, s->pipe[0], 0, NULL, NULL, NULL))
STOPS(skua_poll_start, on_another_thread, ELSEWHERE, OTHER_THAN_WORKER,
      s->status = skua_poll_start(s->worker, s->pipe[0], 0, nothing_polled, NULL, NULL))
STOPS(skua_poll_start, no_such_event, HANDLER, POLL_EVENTS,
      s->status = skua_poll_start(s->worker, s->pipe[1], SKUA_POLL_ERROR, nothing_polled, NULL,
                                  NULL))
GIVES(skua_poll_start, no_descriptor, HANDLER,
      skua_poll_start(s->worker, -1, 0, nothing_polled, NULL, NULL) == SKUA_EINVAL)
STOPS(skua_poll_change, on_another_thread, ELSEWHERE, OTHER_THAN_WORKER,
      s->status = skua_poll_change(s->poll, 0))
STOPS(skua_poll_change, no_such_event, HANDLER, POLL_EVENTS,
      s->status = skua_poll_change(s->poll, 16))
GIVES(skua_poll_change, none, ELSEWHERE, skua_poll_change((skua_poll){ 0 }, 0) == SKUA_ECLOSED)
STOPS(skua_poll_stop, on_another_thread, ELSEWHERE, OTHER_THAN_WORKER,
      (void)skua_poll_stop(s->poll))
GIVES(skua_poll_stop, none, ELSEWHERE, !skua_poll_stop((skua_poll){ 0 }))
STOPS(skua_stop_on_signals, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_stop_on_signals(NULL, 0))
GIVES(skua_stop_on_signals, twice, OUTSIDE,
      skua_stop_on_signals(s->server, 1) == SKUA_OK &&
          skua_stop_on_signals(s->server, 2) == SKUA_OK)
STOPS(skua_offload, no_worker, HANDLER, NO(worker),
      s->status = skua_offload(NULL, nothing, nothing_done, NULL))
STOPS(skua_offload, no_work, HANDLER, NO(work),
      s->status = skua_offload(s->worker, NULL, nothing_done, NULL))
STOPS(skua_offload, no_done, HANDLER, NO(done),
      s->status = skua_offload(s->worker, nothing, NULL, NULL))
STOPS(skua_offload, on_another_thread, ELSEWHERE, OTHER_THAN_WORKER,
      s->status = skua_offload(s->worker, nothing, nothing_done, NULL))
STOPS(skua_post, no_server, OUTSIDE, NO_SERVER, s->status = skua_post(NULL, 0, nothing_done, NULL))
STOPS(skua_post, no_function, RUNNING, NO(fn), s->status = skua_post(s->server, 0, NULL, NULL))
GIVES(skua_post, no_such_worker, RUNNING,
      skua_post(s->server, 1, nothing_done, NULL) == SKUA_EINVAL)
GIVES(skua_post, not_running, OUTSIDE, skua_post(s->server, 0, nothing_done, NULL) == SKUA_ECLOSED)

STOPS(skua_test_request, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_test_request(NULL, SKUA_SLICE("x"), &s->octets))
STOPS(skua_test_request, no_octets, OUTSIDE, NO_OCTETS(octets),
      s->status = skua_test_request(s->server, NOWHERE, &s->octets))
STOPS(skua_test_request, no_received, OUTSIDE, NO(received),
      s->status = skua_test_request(s->server, SKUA_SLICE("x"), NULL))
STOPS(skua_test_request, in_a_test, TEST, IN_CALLBACK,
      s->status = skua_test_request(s->server, SKUA_SLICE("x"), &s->octets))
STOPS(skua_test_request, in_a_handler, HANDLER, IN_CALLBACK,
      s->status = skua_test_request(s->server, SKUA_SLICE("x"), &s->octets))
STOPS(skua_test_request, on_another_thread, TESTED_BY, OTHER_THAN_START,
      s->status = skua_test_request(s->server, SKUA_SLICE("x"), &s->octets))
GIVES(skua_test_request, running, RUNNING,
      skua_test_request(s->server, SKUA_SLICE("x"), &s->octets) == SKUA_ESTATE)

STOPS(skua_watch_open, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_watch_open(NULL, s->root, SKUA_SLICE(""), &s->watch))
STOPS(skua_watch_open, no_root, OUTSIDE, NO(root),
      s->status = skua_watch_open(s->server, NULL, SKUA_SLICE(""), &s->watch))
STOPS(skua_watch_open, no_octets, OUTSIDE, NO_OCTETS(path),
      s->status = skua_watch_open(s->server, s->root, NOWHERE, &s->watch))
STOPS(skua_watch_open, no_watch, OUTSIDE, NO(watch),
      s->status = skua_watch_open(s->server, s->root, SKUA_SLICE(""), NULL))
STOPS(skua_watch_try, no_server, OUTSIDE, NO_SERVER,
      (void)!skua_watch_try(NULL, s->root, SKUA_SLICE(""), &s->watch, &s->status))
STOPS(skua_watch_try, no_root, OUTSIDE, NO(root),
      (void)!skua_watch_try(s->server, NULL, SKUA_SLICE(""), &s->watch, &s->status))
STOPS(skua_watch_try, no_octets, OUTSIDE, NO_OCTETS(path),
      (void)!skua_watch_try(s->server, s->root, NOWHERE, &s->watch, &s->status))
STOPS(skua_watch_try, no_watch, OUTSIDE, NO(watch),
      (void)!skua_watch_try(s->server, s->root, SKUA_SLICE(""), NULL, &s->status))
STOPS(skua_watch_try, no_status, OUTSIDE, NO(status),
      (void)!skua_watch_try(s->server, s->root, SKUA_SLICE(""), &s->watch, NULL))
STOPS(skua_watch_close, no_server, OUTSIDE, NO_SERVER, skua_watch_close(NULL, s->watch))
STOPS(skua_watch_close, no_watch, OUTSIDE, NO(watch), skua_watch_close(s->server, NULL))
STOPS(skua_sha256, no_octets, OUTSIDE, NO_OCTETS(octets),
      skua_sha256(NOWHERE, (unsigned char[SKUA_SHA256_OCTETS]){ 0 }))
STOPS(skua_sha256, no_digest, OUTSIDE, NO(digest), skua_sha256(SKUA_SLICE(""), NULL))
