// SPDX-License-Identifier: MIT
//
// Misuses of requests and what answers them: a table, as scene.h says, with no include guard.

// A function of a request: without one, on another thread, in a blocking handler unless it only
// reads, and when the request is gone. The code names it r.
#define READS(function, ...)                                                                       \
    STOPS(function, no_request, HANDLER, NO_REQUEST, skua_request *r = NULL; __VA_ARGS__)          \
    STOPS(function, on_another_thread, ELSEWHERE, OTHER_THAN_REQUEST,                              \
          skua_request *r = s->request;                                                            \
          __VA_ARGS__)                                                                             \
    STOPS(function, of_one_that_is_gone, GONE, IS_GONE, skua_request *r = s->request; __VA_ARGS__)
#define ACTS(function, ...)                                                                        \
    READS(function, __VA_ARGS__)                                                                   \
    STOPS(function, in_a_blocking_handler, BLOCKING, IN_BLOCKING, skua_request *r = s->request;    \
          __VA_ARGS__)
// One that responds or leads there, which gives SKUA_ECLOSED when the client has left, and from on_end
// on. ANSWERS: on the worker's thread alone; RESPONDS: also in a blocking handler.
#define ANSWERS(function, ...)                                                                     \
    ACTS(function, s->status = __VA_ARGS__)                                                        \
    ENDS(function, __VA_ARGS__)
#define RESPONDS(function, ...)                                                                    \
    READS(function, s->status = __VA_ARGS__)                                                       \
    ENDS(function, __VA_ARGS__)
#define ENDS(function, ...)                                                                        \
    GIVES(function, when_content_is_lost, LOST, (__VA_ARGS__) == SKUA_ECLOSED)                     \
    GIVES(function, in_on_end, LAST_WORDS, (__VA_ARGS__) == SKUA_ECLOSED)                          \
    GIVES(function, of_one_that_has_ended, ENDED, (__VA_ARGS__) == SKUA_ECLOSED)

// ---- Reading ----

READS(skua_request_method, (void)skua_request_method(r))
READS(skua_request_target, (void)skua_request_target(r))
READS(skua_request_path, (void)skua_request_path(r))
READS(skua_request_query, (void)skua_request_query(r))
READS(skua_request_authority, (void)skua_request_authority(r))
READS(skua_request_version, (void)skua_request_version(r))
READS(skua_request_is_secure, (void)skua_request_is_secure(r))
GIVES(skua_request_is_secure, of_one_that_has_ended, ENDED, !skua_request_is_secure(s->request))
READS(skua_request_scheme, (void)skua_request_scheme(r))
READS(skua_request_tls, (void)skua_request_tls(r, &(skua_tls_info){ .version = NULL }))
STOPS(skua_request_tls, no_info, HANDLER, NO(info), (void)skua_request_tls(s->request, NULL))
GIVES(skua_request_tls, in_the_clear, HANDLER,
      !skua_request_tls(s->request, &(skua_tls_info){ .version = NULL }))
GIVES(skua_request_tls, of_one_that_has_ended, ENDED,
      !skua_request_tls(s->request, &(skua_tls_info){ .version = NULL }))
READS(skua_etag, (void)skua_etag(r, SKUA_SLICE("\"a\"")))
STOPS(skua_etag, no_octets, HANDLER, NO_OCTETS(tag), (void)skua_etag(s->request, NOWHERE))
RESPONDS(skua_respond_tagged, skua_respond_tagged(r, NULL, SKUA_SLICE("")))
STOPS(skua_respond_tagged, no_octets, HANDLER, NO_OCTETS(content),
      s->status = skua_respond_tagged(s->request, NULL, NOWHERE))
ACTS(skua_respond_stats, skua_respond_stats(r, NULL))
ACTS(skua_serve_file, skua_serve_file(r, s->root, SKUA_SLICE("x"), NULL))
STOPS(skua_serve_file, no_root, HANDLER, NO(root),
      skua_serve_file(s->request, NULL, SKUA_SLICE("x"), NULL))
STOPS(skua_serve_file, no_octets, HANDLER, NO_OCTETS(path),
      skua_serve_file(s->request, s->root, NOWHERE, NULL))
ACTS(skua_directory_serve, skua_directory_serve(r, s->directory, SKUA_SLICE("x")))
STOPS(skua_directory_serve, no_directory, HANDLER, NO(directory),
      skua_directory_serve(s->request, NULL, SKUA_SLICE("x")))
STOPS(skua_directory_serve, no_octets, HANDLER, NO_OCTETS(name),
      skua_directory_serve(s->request, s->directory, NOWHERE))
GIVES(skua_directory_serve, of_one_that_has_ended, ENDED,
      (skua_directory_serve(s->request, s->directory, SKUA_SLICE("file")), true))
GIVES(skua_serve_file, of_one_that_has_ended, ENDED,
      (skua_serve_file(s->request, s->root, SKUA_SLICE("file"), NULL), true))
READS(skua_request_path_is_plain, (void)skua_request_path_is_plain(r))
READS(skua_request_route, (void)skua_request_route(r))
READS(skua_request_pattern, (void)skua_request_pattern(r))
READS(skua_request_is_conditional, (void)skua_request_is_conditional(r))
READS(skua_request_param, (void)skua_request_param(r, "a"))
STOPS(skua_request_param, no_name, HANDLER, NO(name), (void)skua_request_param(s->request, NULL))
READS(skua_request_param_i64, (void)skua_request_param_i64(r, "a", 0, 1, &(int64_t){ 0 }))
STOPS(skua_request_param_i64, no_name, HANDLER, NO(name),
      (void)skua_request_param_i64(s->request, NULL, 0, 1, &(int64_t){ 0 }))
STOPS(skua_request_param_i64, no_value, HANDLER, NO(value),
      (void)skua_request_param_i64(s->request, "a", 0, 1, NULL))
READS(skua_request_query_i64, (void)skua_request_query_i64(r, "a", 0, 0, 1, &(int64_t){ 0 }))
STOPS(skua_request_query_i64, no_name, HANDLER, NO(name),
      (void)skua_request_query_i64(s->request, NULL, 0, 0, 1, &(int64_t){ 0 }))
STOPS(skua_request_query_i64, no_value, HANDLER, NO(value),
      (void)skua_request_query_i64(s->request, "a", 0, 0, 1, NULL))
READS(skua_request_param_at, (void)skua_request_param_at(r, 0, &s->field))
STOPS(skua_request_param_at, no_param, HANDLER, NO(param),
      (void)skua_request_param_at(s->request, 0, NULL))
READS(skua_request_field, (void)skua_request_field(r, "a"))
STOPS(skua_request_field, no_name, HANDLER, NO(name), (void)skua_request_field(s->request, NULL))
READS(skua_request_field_next, (void)skua_request_field_next(r, "a", &s->index, &s->octets))
STOPS(skua_request_field_next, no_name, HANDLER, NO(name),
      (void)skua_request_field_next(s->request, NULL, &s->index, &s->octets))
STOPS(skua_request_field_next, no_index, HANDLER, NO(index),
      (void)skua_request_field_next(s->request, "a", NULL, &s->octets))
STOPS(skua_request_field_next, no_value, HANDLER, NO(value),
      (void)skua_request_field_next(s->request, "a", &s->index, NULL))
READS(skua_request_field_at, (void)skua_request_field_at(r, 0, &s->field))
STOPS(skua_request_field_at, no_field, HANDLER, NO(field),
      (void)skua_request_field_at(s->request, 0, NULL))
READS(skua_request_query_param, (void)skua_request_query_param(r, "a"))
STOPS(skua_request_query_param, no_name, HANDLER, NO(name),
      (void)skua_request_query_param(s->request, NULL))
READS(skua_request_query_at, (void)skua_request_query_at(r, 0, &s->field))
STOPS(skua_request_query_at, no_param, HANDLER, NO(param),
      (void)skua_request_query_at(s->request, 0, NULL))
READS(skua_request_cookie_at, (void)skua_request_cookie_at(r, 0, &s->field))
STOPS(skua_request_cookie_at, no_cookie, HANDLER, NO(cookie),
      (void)skua_request_cookie_at(s->request, 0, NULL))
READS(skua_request_cookie, (void)skua_request_cookie(r, "a"))
STOPS(skua_request_cookie, no_name, HANDLER, NO(name), (void)skua_request_cookie(s->request, NULL))
READS(skua_request_peer, (void)skua_request_peer(r, NULL, 0))
STOPS(skua_request_peer, no_text, HANDLER, NO(text), (void)skua_request_peer(s->request, NULL, 9))
GIVES(skua_request_peer, of_one_that_has_ended, ENDED,
      skua_request_peer(s->request, s->text, sizeof s->text) == 0 && !s->text[0])
READS(skua_request_id, (void)skua_request_id(r))
GIVES(skua_request_id, of_one_that_has_ended, ENDED, !skua_request_id(s->request).ptr)
READS(skua_request_peer_is_done, (void)skua_request_peer_is_done(r))
GIVES(skua_request_peer_is_done, of_one_that_has_ended, ENDED,
      skua_request_peer_is_done(s->request))
READS(skua_request_worker, (void)skua_request_worker(r))
READS(skua_request_server, (void)skua_request_server(r))
GIVES(skua_request_server, in_a_blocking_handler, BLOCKING,
      skua_request_server(s->read) == s->server)
GIVES(skua_request_method, of_one_that_has_ended, ENDED, skua_request_method(s->request).len == 3)
ACTS(skua_request_connection, (void)skua_request_connection(r))
GIVES(skua_request_connection, of_one_that_has_ended, ENDED, !skua_request_connection(s->request))
READS(skua_request_status, (void)skua_request_status(r))
ACTS(skua_request_sent, (void)skua_request_sent(r))
READS(skua_content_length, (void)skua_content_length(r))
READS(skua_request_trailer, (void)skua_request_trailer(r, "a"))
STOPS(skua_request_trailer, no_name, HANDLER, NO(name),
      (void)skua_request_trailer(s->request, NULL))
READS(skua_form, (void)skua_form(r, "a"))
STOPS(skua_form, no_name, HANDLER, NO(name), (void)skua_form(s->request, NULL))
READS(skua_form_param, (void)skua_form_param(r, s->octets, "a"))
STOPS(skua_form_param, no_octets, HANDLER, NO_OCTETS(content),
      (void)skua_form_param(s->request, NOWHERE, "a"))
STOPS(skua_form_param, no_name, HANDLER, NO(name),
      (void)skua_form_param(s->request, s->octets, NULL))
READS(skua_form_at, (void)skua_form_at(r, s->octets, 0, &s->field))
STOPS(skua_form_at, no_octets, HANDLER, NO_OCTETS(content),
      (void)skua_form_at(s->request, NOWHERE, 0, &s->field))
STOPS(skua_form_at, no_param, HANDLER, NO(param),
      (void)skua_form_at(s->request, s->octets, 0, NULL))

// ---- Its life ----

READS(skua_request_alloc, (void)skua_request_alloc(r, 1))
GIVES(skua_request_alloc, of_one_that_has_ended, ENDED, skua_request_alloc(s->request, 1))
ACTS(skua_request_timeout, skua_request_timeout(r, 1))
STOPS(skua_request_timeout, less_than_never, HANDLER, "timeout_ns must be -1, 0 or more",
      skua_request_timeout(s->request, -2))
GIVES(skua_request_timeout, of_one_that_has_ended, ENDED,
      (skua_request_timeout(s->request, 1), true))
ANSWERS(skua_request_offload, skua_request_offload(r, nothing, nothing_offloaded, NULL))
STOPS(skua_request_offload, no_work, HANDLER, NO(work),
      s->status = skua_request_offload(s->request, NULL, nothing_offloaded, NULL))
STOPS(skua_request_offload, no_done, HANDLER, NO(done),
      s->status = skua_request_offload(s->request, nothing, NULL, NULL))
ACTS(skua_request_hold, skua_request_hold(r))
ACTS(skua_request_drop, skua_request_drop(r))
STOPS(skua_request_drop, not_held, HANDLER, "called more often than skua_request_hold",
      skua_request_drop(s->request))
READS(skua_request_abort, skua_request_abort(r))
GIVES(skua_request_abort, of_one_that_has_ended, ENDED, (skua_request_abort(s->request), true))
READS(skua_request_close, skua_request_close(r))
GIVES(skua_request_close, of_one_that_has_ended, ENDED, (skua_request_close(s->request), true))
ACTS(skua_request_skip_log, skua_request_skip_log(r))
ACTS(skua_on_end, skua_on_end(r, NULL, NULL))
GIVES(skua_on_end, no_function, HANDLER, (skua_on_end(s->request, NULL, NULL), true))
ACTS(skua_request_follow, s->status = skua_request_follow(r, nothing_ended, s))
STOPS(skua_request_follow, no_function, HANDLER, NO(fn),
      s->status = skua_request_follow(s->request, NULL, s))
GIVES(skua_request_follow, of_one_that_has_ended, ENDED,
      skua_request_follow(s->request, nothing_ended, s) == SKUA_ECLOSED)
ACTS(skua_request_unfollow, skua_request_unfollow(r, nothing_ended, s))
STOPS(skua_request_unfollow, no_function, HANDLER, NO(fn),
      skua_request_unfollow(s->request, NULL, s))
GIVES(skua_request_unfollow, that_does_not_follow, ENDED,
      (skua_request_unfollow(s->request, nothing_ended, s), true))
READS(skua_request_set, s->status = skua_request_set(r, s, s))
STOPS(skua_request_set, no_key, HANDLER, NO(key), s->status = skua_request_set(s->request, NULL, s))
READS(skua_request_get, (void)skua_request_get(r, s))
STOPS(skua_request_get, no_key, HANDLER, NO(key), (void)skua_request_get(s->request, NULL))
ACTS(skua_next, skua_next(r))
STOPS(skua_next, in_a_handler, HANDLER, "called twice for one before, or for none",
      skua_next(s->request))
STOPS(skua_next, twice, BEFORE, "called twice for one before, or for none", skua_next(s->request);
      skua_next(s->request))
GIVES(skua_next, of_one_that_has_ended, ENDED, (skua_next(s->request), true))
ANSWERS(skua_ticket_take, skua_ticket_take(r, &s->ticket))
STOPS(skua_ticket_take, no_ticket, HANDLER, NO(ticket),
      s->status = skua_ticket_take(s->request, NULL))
STOPS(skua_resume, no_function, HANDLER, NO(fn), s->status = skua_resume(s->ticket, NULL, NULL))
GIVES(skua_resume, no_ticket, HANDLER,
      skua_resume((skua_ticket){ 0 }, nothing_resumed, NULL) == SKUA_ECLOSED)

// A request that is gone is not the next one's memory at once where the library is built to find
// faults, and is known for what it is.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
STOPS(skua_respond, of_one_that_was_replaced, REPLACED, IS_GONE,
      s->status = skua_respond(s->request, 200, NULL, SKUA_SLICE("another's")))
STOPS(skua_request_path, of_one_that_was_replaced, REPLACED, IS_GONE,
      (void)skua_request_path(s->request))
#endif

// ---- Reading content ----

ANSWERS(skua_content_read, skua_content_read(r, nothing_read, NULL))
STOPS(skua_content_read, no_function, HANDLER, NO(fn),
      s->status = skua_content_read(s->request, NULL, NULL))
GIVES(skua_content_read, twice, CONTENT,
      skua_content_read(s->request, nothing_read, NULL) == SKUA_ESTATE)
ACTS(skua_content_consume, skua_content_consume(r, 0))
STOPS(skua_content_consume, too_much, CONTENT,
      "more octets than were delivered and have not been consumed",
      skua_content_consume(s->request, 6))
GIVES(skua_content_consume, of_one_that_has_ended, ENDED,
      (skua_content_consume(s->request, 0), true))
ANSWERS(skua_content_limit, skua_content_limit(r, 1))
ANSWERS(skua_content_collect, skua_content_collect(r, 0, nothing_collected, NULL))
STOPS(skua_content_collect, no_function, HANDLER, NO(fn),
      s->status = skua_content_collect(s->request, 0, NULL, NULL))
ANSWERS(skua_content_spool, skua_content_spool(r, 0, 0, nothing_spooled, NULL))
STOPS(skua_content_spool, no_function, HANDLER, NO(fn),
      s->status = skua_content_spool(s->request, 0, 0, NULL, NULL))
ANSWERS(skua_multipart_read, skua_multipart_read(r, nothing_parted, NULL))
STOPS(skua_multipart_read, no_function, HANDLER, NO(fn),
      s->status = skua_multipart_read(s->request, NULL, NULL))
ANSWERS(skua_multipart_collect, skua_multipart_collect(r, 0, 0, nothing_formed, NULL))
STOPS(skua_multipart_collect, no_function, HANDLER, NO(fn),
      s->status = skua_multipart_collect(s->request, 0, 0, NULL, NULL))

// ---- Answering ----

RESPONDS(skua_field_add, skua_field_add(r, "A", SKUA_SLICE("b")))
STOPS(skua_field_add, no_name, HANDLER, NO(name),
      s->status = skua_field_add(s->request, NULL, SKUA_SLICE("b")))
ANSWERS(skua_filter_add, skua_filter_add(r, &whole_filter))
STOPS(skua_filter_add, no_filter, HANDLER, NO(filter),
      s->status = skua_filter_add(s->request, NULL))
ANSWERS(skua_compress, skua_compress(r))
ACTS(skua_compress_off, skua_compress_off(r))
ACTS(skua_compress_is_off, (void)skua_compress_is_off(r))
ACTS(skua_response_field, (void)skua_response_field(r, "a"))
STOPS(skua_response_field, no_name, HANDLER, NO(name), (void)skua_response_field(s->request, NULL))
ACTS(skua_response_length, (void)skua_response_length(r))
STOPS(skua_field_add, no_octets, HANDLER, NO_OCTETS(value),
      s->status = skua_field_add(s->request, "A", NOWHERE))
RESPONDS(skua_respond, skua_respond(r, 200, NULL, SKUA_SLICE("x")))
STOPS(skua_respond, no_octets, HANDLER, NO_OCTETS(content),
      s->status = skua_respond(s->request, 200, NULL, NOWHERE))
GIVES(skua_respond, in_a_head, HEAD,
      skua_respond(s->request, 200, NULL, SKUA_SLICE("x")) == SKUA_ESTATE)
GIVES(skua_respond, no_status, HANDLER,
      skua_respond(s->request, 0, NULL, SKUA_SLICE("x")) == SKUA_EINVAL)
GIVES(skua_respond, twice, HANDLER,
      skua_respond(s->request, 200, NULL, SKUA_SLICE("x")) == SKUA_OK &&
          skua_respond(s->request, 200, NULL, SKUA_SLICE("x")) == SKUA_ESTATE)
RESPONDS(skua_respond_borrowed, skua_respond_borrowed(r, 200, NULL, SKUA_SLICE("x"), nothing, NULL))
STOPS(skua_respond_borrowed, no_octets, HANDLER, NO_OCTETS(content),
      s->status = skua_respond_borrowed(s->request, 200, NULL, NOWHERE, nothing, NULL))
GIVES(skua_respond_borrowed, no_release, HANDLER,
      skua_respond_borrowed(s->request, 200, NULL, SKUA_SLICE("x"), NULL, NULL) == SKUA_OK)
ANSWERS(skua_respond_pull, skua_respond_pull(r, 200, NULL, -1, nothing_pulled, NULL))
STOPS(skua_respond_pull, no_function, HANDLER, NO(pull),
      s->status = skua_respond_pull(s->request, 200, NULL, -1, NULL, NULL))
STOPS(skua_pull_fn, no_octets, HANDLER,
      "returned SKUA_PULL_OCTETS without any; return SKUA_PULL_PENDING, and call skua_wake when "
      "there are some",
      s->status = skua_respond_pull(s->request, 200, NULL, -1, nothing_pulled, NULL))
STOPS(skua_pull_fn, too_many_octets, HANDLER, "gave more octets than there was room for",
      s->status = skua_respond_pull(s->request, 200, NULL, -1, too_much_pulled, NULL))
RESPONDS(skua_trailer_add, skua_trailer_add(r, "A", SKUA_SLICE("b")))
STOPS(skua_trailer_add, no_name, HANDLER, NO(name),
      s->status = skua_trailer_add(s->request, NULL, SKUA_SLICE("b")))
STOPS(skua_trailer_add, no_octets, HANDLER, NO_OCTETS(value),
      s->status = skua_trailer_add(s->request, "A", NOWHERE))
ACTS(skua_wake, skua_wake(r))
GIVES(skua_wake, of_one_that_has_ended, ENDED, (skua_wake(s->request), true))
RESPONDS(skua_respond_stream, skua_respond_stream(r, 200, NULL, -1, NULL, NULL))
RESPONDS(skua_write, skua_write(r, SKUA_SLICE("x")))
STOPS(skua_write, no_octets, HANDLER, NO_OCTETS(octets),
      s->status = skua_write(s->request, NOWHERE))
GIVES(skua_write, not_begun, HANDLER, skua_write(s->request, SKUA_SLICE("x")) == SKUA_ESTATE)
READS(skua_write_room, (void)skua_write_room(r))
GIVES(skua_write_room, of_one_that_has_ended, ENDED, skua_write_room(s->request) == 0)
RESPONDS(skua_finish, skua_finish(r))
RESPONDS(skua_events_open, skua_events_open(r, NULL, NULL))
RESPONDS(skua_event_send, skua_event_send(r, &(skua_event){ .retry_ms = 1 }))
ANSWERS(skua_topic_join, skua_topic_join(r, SKUA_SLICE("a")))
ACTS(skua_topic_leave, (void)skua_topic_leave(r, SKUA_SLICE("a")))
GIVES(skua_topic_join, no_stream, HANDLER,
      skua_topic_join(s->request, SKUA_SLICE("a")) == SKUA_ESTATE &&
          skua_topic_leave(s->request, SKUA_SLICE("a")) == SKUA_ENOENT)
STOPS(skua_topic_join, no_octets, HANDLER, NO_OCTETS(topic),
      s->status = skua_topic_join(s->request, NOWHERE))
STOPS(skua_topic_leave, no_octets, HANDLER, NO_OCTETS(topic),
      (void)skua_topic_leave(s->request, NOWHERE))
STOPS(skua_event_send, no_event, HANDLER, NO(event), s->status = skua_event_send(s->request, NULL))
STOPS(skua_event_send, no_octets, HANDLER, NO_OCTETS(event->data),
      s->status = skua_event_send(s->request, &(skua_event){ .data = NOWHERE }))
ANSWERS(skua_upgrade, skua_upgrade(r, "a", NULL, NULL))
STOPS(skua_upgrade, no_protocol, HANDLER, NO(protocol),
      s->status = skua_upgrade(s->request, NULL, NULL, NULL))
RESPONDS(skua_respond_error, skua_respond_error(r, 404))
RESPONDS(skua_refuse, skua_refuse(r, 404, SKUA_SLICE("x")))
STOPS(skua_refuse, no_octets, HANDLER, NO_OCTETS(sentence),
      s->status = skua_refuse(s->request, 404, NOWHERE))
RESPONDS(skua_respond_text, skua_respond_text(r, 200, "x"))
STOPS(skua_respond_text, no_text, HANDLER, NO(text),
      s->status = skua_respond_text(s->request, 200, NULL))
RESPONDS(skua_respond_format, skua_respond_format(r, 200, NULL, "%d", 1))
RESPONDS(skua_respond_vformat, misuse_vformat(r, "%d", 1))
STOPS(skua_respond_format, no_format, HANDLER, NO(format),
      s->status = misuse_format(s->request, 200, NULL, NULL, 1))
STOPS(skua_respond_vformat, no_format, HANDLER, NO(format),
      s->status = misuse_vformat(s->request, NULL, 1))
RESPONDS(skua_respond_html, skua_respond_html(r, 200, "x"))
STOPS(skua_respond_html, no_html, HANDLER, NO(html),
      s->status = skua_respond_html(s->request, 200, NULL))
RESPONDS(skua_respond_json, skua_respond_json(r, 200, SKUA_SLICE("1")))
STOPS(skua_respond_json, no_octets, HANDLER, NO_OCTETS(json),
      s->status = skua_respond_json(s->request, 200, NOWHERE))
RESPONDS(skua_redirect, skua_redirect(r, 303, "/x"))
STOPS(skua_redirect, no_location, HANDLER, NO(location),
      s->status = skua_redirect(s->request, 303, NULL))
ANSWERS(skua_inform, skua_inform(r, 103, NULL, 0))
STOPS(skua_inform, no_fields, HANDLER, NO(fields),
      s->status = skua_inform(s->request, 103, NULL, 1))
RESPONDS(skua_cookie_set, skua_cookie_set(r, &(skua_cookie){ .name = "a" }))
STOPS(skua_cookie_set, no_cookie, HANDLER, NO(cookie),
      s->status = skua_cookie_set(s->request, NULL))
STOPS(skua_cookie_set, no_octets, HANDLER, NO_OCTETS(cookie->value),
      s->status = skua_cookie_set(s->request, &(skua_cookie){ .name = "a", .value = NOWHERE }))
GIVES(skua_cookie_set, no_name, HANDLER,
      skua_cookie_set(s->request, &(skua_cookie){ 0 }) == SKUA_EINVAL)

READS(skua_request_content, (void)skua_request_content(r))
GIVES(skua_request_content, none_collected, HANDLER, skua_request_content(s->request).len == 0)
READS(skua_request_is_gone, (void)skua_request_is_gone(r))
GIVES(skua_request_is_gone, goes_on, HANDLER, !skua_request_is_gone(s->request))
GIVES(skua_request_is_gone, of_one_that_has_ended, ENDED, skua_request_is_gone(s->request))

// ---- Blocking handlers ----

GIVES(skua_respond, in_a_blocking_handler, BLOCKING,
      skua_respond(s->request, 200, NULL, SKUA_SLICE("x")) == SKUA_OK &&
          skua_respond(s->request, 200, NULL, SKUA_SLICE("x")) == SKUA_ESTATE)
GIVES(skua_write, not_begun_in_a_blocking_handler, BLOCKING,
      skua_write(s->request, SKUA_SLICE("x")) == SKUA_ESTATE && skua_write_room(s->request) == 0)
STOPS(skua_field_add, no_name_in_a_blocking_handler, BLOCKING, NO(name),
      s->status = skua_field_add(s->request, NULL, SKUA_SLICE("b")))
STOPS(skua_respond_stream, drained_in_a_blocking_handler, BLOCKING,
      "drained must be NULL in a blocking handler, where skua_write waits",
      s->status = skua_respond_stream(s->request, 200, NULL, -1, nothing_drained, NULL))
STOPS(skua_events_open, drained_in_a_blocking_handler, BLOCKING,
      "drained must be NULL in a blocking handler, where skua_event_send waits",
      s->status = skua_events_open(s->request, nothing_drained, NULL))
GIVES(skua_request_status, in_a_blocking_handler, BLOCKING,
      skua_request_status(s->request) == 0 &&
          skua_respond(s->request, 404, NULL, SKUA_SLICE("x")) == SKUA_OK &&
          skua_request_status(s->request) == 404)
GIVES(skua_request_set, in_a_blocking_handler, BLOCKING,
      skua_request_set(s->request, s, s->text) == SKUA_OK &&
          skua_request_get(s->request, s) == s->text)

// ---- Connections ----

// A function of a connection: without one, on another thread, and when it has been closed.
#define CONNECTS(function, ...)                                                                    \
    STOPS(function, no_connection, HANDLER, NO(connection), skua_connection *c = NULL;             \
          __VA_ARGS__)                                                                             \
    STOPS(function, on_another_thread, ELSEWHERE, OTHER_THAN_CONNECTION,                           \
          skua_connection *c = s->connection;                                                      \
          __VA_ARGS__)                                                                             \
    STOPS(function, closed, CLOSED, CONNECTION_GONE, skua_connection *c = s->connection;           \
          __VA_ARGS__)

CONNECTS(skua_connection_peer, (void)skua_connection_peer(c, NULL, 0))
STOPS(skua_connection_peer, no_text, HANDLER, NO(text),
      (void)skua_connection_peer(s->connection, NULL, 9))
CONNECTS(skua_connection_id, (void)skua_connection_id(c))
CONNECTS(skua_connection_worker, (void)skua_connection_worker(c))
CONNECTS(skua_connection_set, skua_connection_set(c, s))
CONNECTS(skua_connection_get, (void)skua_connection_get(c))
GIVES(skua_connection_worker, in_on_connect, CONNECT_HOOK,
      skua_connection_worker(s->connection) == s->worker)

#undef READS
#undef ACTS
#undef ANSWERS
#undef RESPONDS
#undef ENDS
#undef CONNECTS
