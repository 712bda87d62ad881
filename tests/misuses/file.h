// SPDX-License-Identifier: MIT
//
// Misuses of files, directories and prepared responses: a table, as scene.h says, with no
// include guard.

STOPS(skua_root_open, no_path, OUTSIDE, NO(path), s->status = skua_root_open(NULL, &s->other))
STOPS(skua_root_open, no_root, OUTSIDE, NO(root), s->status = skua_root_open("/", NULL))
STOPS(skua_root_follow, no_root, OUTSIDE, NO(root), skua_root_follow(NULL, SKUA_LINKS_ALL))
GIVES(skua_root_close, nothing, OUTSIDE, (skua_root_close(NULL), true))
STOPS(skua_root_list, no_root, OUTSIDE, NO(root),
      s->status = skua_root_list(NULL, SKUA_SLICE(""), nothing_listed, NULL))
STOPS(skua_root_list, no_octets, OUTSIDE, NO_OCTETS(path),
      s->status = skua_root_list(s->root, NOWHERE, nothing_listed, NULL))
STOPS(skua_root_list, no_function, OUTSIDE, NO(each),
      s->status = skua_root_list(s->root, SKUA_SLICE(""), NULL, NULL))

STOPS(skua_file_open, no_worker, HANDLER, NO(worker),
      skua_file_open(NULL, s->root, SKUA_SLICE("file"), nothing_opened, NULL))
STOPS(skua_file_open, on_another_thread, ELSEWHERE, OTHER_THAN_WORKER,
      skua_file_open(s->worker, s->root, SKUA_SLICE("file"), nothing_opened, NULL))
STOPS(skua_file_open, no_root, HANDLER, NO(root),
      skua_file_open(s->worker, NULL, SKUA_SLICE("file"), nothing_opened, NULL))
STOPS(skua_file_open, no_octets, HANDLER, NO_OCTETS(path),
      skua_file_open(s->worker, s->root, NOWHERE, nothing_opened, NULL))
STOPS(skua_file_open, no_function, HANDLER, NO(fn),
      skua_file_open(s->worker, s->root, SKUA_SLICE("file"), NULL, NULL))
STOPS(skua_file_load, no_file, FILE_HERE, NO(file),
      skua_file_load(NULL, 0, s->text, 1, nothing_loaded, NULL))
STOPS(skua_file_load, no_buffer, FILE_HERE, NO(buffer),
      skua_file_load(s->file, 0, NULL, 1, nothing_loaded, NULL))
STOPS(skua_file_load, no_function, FILE_HERE, NO(fn),
      skua_file_load(s->file, 0, s->text, 1, NULL, NULL))
STOPS(skua_file_load, on_another_thread, FILE_ELSEWHERE, OTHERS_FILE,
      skua_file_load(s->file, 0, s->text, 1, nothing_loaded, NULL))
STOPS(skua_file_read, no_file, FILE_HERE, NO(file),
      s->status = skua_file_read(NULL, 0, s->text, 1, &s->index))
STOPS(skua_file_read, no_buffer, FILE_HERE, NO(buffer),
      s->status = skua_file_read(s->file, 0, NULL, 1, &s->index))
STOPS(skua_file_read, no_octets, FILE_HERE, NO(octets),
      s->status = skua_file_read(s->file, 0, s->text, 1, NULL))
GIVES(skua_file_read, on_another_thread, FILE_ELSEWHERE,
      skua_file_read(s->file, 0, s->text, 1, &s->index) == SKUA_OK)
STOPS(skua_file_ref, no_file, FILE_HERE, NO(file), (void)skua_file_ref(NULL))
STOPS(skua_file_ref, on_another_thread, FILE_ELSEWHERE, OTHERS_FILE, (void)skua_file_ref(s->file))
STOPS(skua_file_unref, no_file, FILE_HERE, NO(file), skua_file_unref(NULL))
STOPS(skua_file_unref, on_another_thread, FILE_ELSEWHERE, OTHERS_FILE, skua_file_unref(s->file))
STOPS(skua_file_keep, no_file, FILE_HERE, NO(file),
      s->status = skua_file_keep(NULL, s->root, SKUA_SLICE("x")))
STOPS(skua_file_keep, no_root, FILE_HERE, NO(root),
      s->status = skua_file_keep(s->file, NULL, SKUA_SLICE("x")))
STOPS(skua_file_keep, no_octets, FILE_HERE, NO_OCTETS(path),
      s->status = skua_file_keep(s->file, s->root, NOWHERE))
GIVES(skua_file_keep, that_has_a_name, FILE_ELSEWHERE,
      skua_file_keep(s->file, s->root, SKUA_SLICE("x")) == SKUA_EUNSUPPORTED)
STOPS(skua_respond_file, no_request, FILE_HERE, NO_REQUEST,
      s->status = skua_respond_file(NULL, 200, NULL, s->file, 0, 1))
STOPS(skua_respond_file, on_another_thread, FILE_ELSEWHERE, OTHER_THAN_REQUEST,
      s->status = skua_respond_file(s->request, 200, NULL, s->file, 0, 1))
STOPS(skua_respond_file, no_file, FILE_HERE, NO(file),
      s->status = skua_respond_file(s->request, 200, NULL, NULL, 0, 1))
GIVES(skua_respond_file, no_length, FILE_HERE,
      skua_respond_file(s->request, 200, NULL, s->file, 1, UINT64_MAX) == SKUA_EINVAL)
STOPS(skua_write_file, no_request, FILE_HERE, NO_REQUEST,
      s->status = skua_write_file(NULL, s->file, 0, 1))
STOPS(skua_write_file, on_another_thread, FILE_ELSEWHERE, OTHER_THAN_REQUEST,
      s->status = skua_write_file(s->request, s->file, 0, 1))
STOPS(skua_write_file, no_file, FILE_HERE, NO(file),
      s->status = skua_write_file(s->request, NULL, 0, 1))
STOPS(skua_watch_changes, no_watch, OUTSIDE, NO(watch), (void)skua_watch_changes(NULL))

STOPS(skua_prepared_new, no_worker, HANDLER, NO(worker),
      s->status = skua_prepared_new(NULL, &(skua_prepared_desc){ .status = 200 }, &s->prepared))
STOPS(skua_prepared_new, on_another_thread, ELSEWHERE, OTHER_THAN_WORKER,
      s->status = skua_prepared_new(s->worker, &(skua_prepared_desc){ .status = 200 },
                                    &s->prepared))
STOPS(skua_prepared_new, no_desc, HANDLER, NO(desc),
      s->status = skua_prepared_new(s->worker, NULL, &s->prepared))
STOPS(skua_prepared_new, no_fields, HANDLER, NO(desc->fields),
      s->status = skua_prepared_new(s->worker,
                                    &(skua_prepared_desc){ .status = 200, .fields_count = 1 },
                                    &s->prepared))
STOPS(skua_prepared_new, no_octets, HANDLER, NO_OCTETS(desc->content),
      s->status = skua_prepared_new(s->worker,
                                    &(skua_prepared_desc){ .status = 200, .content = NOWHERE },
                                    &s->prepared))
STOPS(skua_prepared_new, no_prepared, HANDLER, NO(prepared),
      s->status = skua_prepared_new(s->worker, &(skua_prepared_desc){ .status = 200 }, NULL))
GIVES(skua_prepared_new, no_status, HANDLER,
      skua_prepared_new(s->worker, &(skua_prepared_desc){ 0 }, &s->prepared) == SKUA_EINVAL)
STOPS(skua_prepared_ref, no_prepared, HANDLER, NO(prepared), (void)skua_prepared_ref(NULL))
STOPS(skua_prepared_ref, on_another_thread, ELSEWHERE, OTHERS_PREPARED,
      (void)skua_prepared_ref(s->prepared))
STOPS(skua_prepared_unref, no_prepared, HANDLER, NO(prepared), skua_prepared_unref(NULL))
STOPS(skua_prepared_unref, on_another_thread, ELSEWHERE, OTHERS_PREPARED,
      skua_prepared_unref(s->prepared))
STOPS(skua_respond_prepared, no_request, HANDLER, NO_REQUEST,
      s->status = skua_respond_prepared(NULL, s->prepared))
STOPS(skua_respond_prepared, on_another_thread, ELSEWHERE, OTHER_THAN_REQUEST,
      s->status = skua_respond_prepared(s->request, s->prepared))
STOPS(skua_respond_prepared, no_prepared, HANDLER, NO(prepared),
      s->status = skua_respond_prepared(s->request, NULL))
STOPS(skua_respond_prepared, of_another_worker, TWO_SERVERS, OTHERS_PREPARED,
      s->status = skua_respond_prepared(s->request, s->prepared))
STOPS(skua_respond_file, of_another_worker, TWO_SERVERS, OTHERS_FILE,
      s->status = skua_respond_file(s->request, 200, NULL, s->file, 0, 1))

STOPS(skua_route_assets, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_route_assets(NULL, "/", &no_assets, NULL))
STOPS(skua_route_assets, no_pattern, OUTSIDE, NO(pattern),
      s->status = skua_route_assets(s->server, NULL, &no_assets, NULL))
STOPS(skua_route_assets, no_assets, OUTSIDE, NO(assets),
      s->status = skua_route_assets(s->server, "/", NULL, NULL))
GIVES(skua_route_assets, in_no_order, OUTSIDE,
      skua_route_assets(s->server, "/", &disordered_assets, NULL) == SKUA_EINVAL)
GIVES(skua_route_assets, no_directory, OUTSIDE,
      skua_route_assets(s->server, "/x", &no_assets, NULL) == SKUA_EINVAL)
STOPS(skua_route_directory, no_server, OUTSIDE, NO_SERVER,
      s->status = skua_route_directory(NULL, "/", "/", NULL))
STOPS(skua_route_directory, no_pattern, OUTSIDE, NO(pattern),
      s->status = skua_route_directory(s->server, NULL, "/", NULL))
STOPS(skua_route_directory, no_path, OUTSIDE, NO(path),
      s->status = skua_route_directory(s->server, "/", NULL, NULL))
STOPS(skua_compress_gains, no_octets, OUTSIDE, NO_OCTETS(type), (void)skua_compress_gains(NOWHERE))
#define NO_CODING "coding is none of skua_coding"
#define ENCODES(coding, effort, content, out, room, octets)                                        \
    s->status =                                                                                    \
        skua_encode((skua_coding)(coding), (skua_effort)(effort), content, out, room, octets)
STOPS(skua_coding_is_built, no_coding, OUTSIDE, NO_CODING,
      (void)skua_coding_is_built((skua_coding)0))
STOPS(skua_encode, no_coding, OUTSIDE, NO_CODING, size_t n; char out[9];
      ENCODES(4, 0, SKUA_SLICE("a"), out, 9, &n))
STOPS(skua_encode, no_effort, OUTSIDE, "effort is none of skua_effort", size_t n; char out[9];
      ENCODES(1, 3, SKUA_SLICE("a"), out, 9, &n))
STOPS(skua_encode, no_octets, OUTSIDE, NO_OCTETS(content), size_t n; char out[9];
      ENCODES(1, 0, NOWHERE, out, 9, &n))
STOPS(skua_encode, nowhere_to_write, OUTSIDE, NO(out), size_t n;
      ENCODES(1, 0, SKUA_SLICE("a"), NULL, 9, &n))
STOPS(skua_encode, nobody_is_told, OUTSIDE, NO(octets), char out[9];
      ENCODES(1, 0, SKUA_SLICE("a"), out, 9, NULL))

STOPS(skua_media_type, no_octets, OUTSIDE, NO_OCTETS(name), (void)skua_media_type(NOWHERE))
#define INFO_OF(octets)                                                                            \
    &(skua_file_info)                                                                              \
    {                                                                                              \
        .size = (octets)                                                                           \
    }
STOPS(skua_file_etag, no_info, OUTSIDE, NO(info), char tag[SKUA_FILE_ETAG_OCTETS];
      (void)skua_file_etag(NULL, SKUA_SLICE("a"), 0, tag))
STOPS(skua_file_etag, no_octets, OUTSIDE, NO_OCTETS(content), char tag[SKUA_FILE_ETAG_OCTETS];
      (void)skua_file_etag(INFO_OF(1), NOWHERE, 0, tag))
STOPS(skua_file_etag, nowhere_to_write, OUTSIDE, NO(etag),
      (void)skua_file_etag(INFO_OF(1), SKUA_SLICE("a"), 0, NULL))
STOPS(skua_file_etag, half_of_a_small_file, OUTSIDE, "content must be all of a small file",
      char tag[SKUA_FILE_ETAG_OCTETS];
      (void)skua_file_etag(INFO_OF(2), SKUA_SLICE("a"), 0, tag))
STOPS(skua_etag_hash_add, no_hash, OUTSIDE, NO(hash), skua_etag_hash_add(NULL, SKUA_SLICE("a")))
STOPS(skua_etag_hash_add, no_octets, OUTSIDE, NO_OCTETS(octets), skua_etag_hash hash = { 0 };
      skua_etag_hash_add(&hash, NOWHERE))
STOPS(skua_etag_hash_end, no_hash, OUTSIDE, NO(hash), char tag[SKUA_FILE_ETAG_OCTETS];
      (void)skua_etag_hash_end(NULL, tag))
STOPS(skua_etag_hash_end, nowhere_to_write, OUTSIDE, NO(etag), skua_etag_hash hash = { 0 };
      (void)skua_etag_hash_end(&hash, NULL))
GIVES(skua_test_free, nothing, OUTSIDE, (skua_test_free((skua_slice){ NULL, 0 }), true))
GIVES(skua_server_new, no_config, OUTSIDE, server_is_made(NULL))
