// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: the configuration of a server. The structs are made for designated initialisers, with chrono's
// units and std::function in place of C's pointers. 0, nullptr and empty mean default. New members are only ever added
// at the end.
#ifndef SKUA_CPP_CONFIG_HPP
#define SKUA_CPP_CONFIG_HPP

#include "connection.hpp"
#include "request.hpp"
#include "tls.hpp"

#include <functional>
#include <memory>
#include <mutex>

namespace skua {

// HTTP/2 and its limits: see skua_http2_desc.
struct http2 {
    bool off = false, h2c_off = false, tunnels = false;
    unsigned streams_max = 0, continuations_max = 0, settings_max = 0, replies_max = 0, empty_frames_max = 0;
    unsigned resets_max = 0, resets_per_second = 0, small_frames_max = 0, small_frames_per_second = 0;
    std::size_t held_octets_max = 0;

    operator skua_http2_desc() const noexcept
    {
        skua_http2_desc c{};
        c.off = off;
        c.h2c_off = h2c_off;
        c.tunnels = tunnels;
        c.streams_max = streams_max;
        c.continuations_max = continuations_max;
        c.settings_max = settings_max;
        c.replies_max = replies_max;
        c.empty_frames_max = empty_frames_max;
        c.resets_max = resets_max;
        c.resets_per_second = resets_per_second;
        c.small_frames_max = small_frames_max;
        c.small_frames_per_second = small_frames_per_second;
        c.held_octets_max = held_octets_max;
        return c;
    }
};

// The configuration of a server: see skua_config. Strings are copied when the server is made; functions live as long
// as the server.
struct config {
    using time = std::chrono::nanoseconds;

    const char *listen = nullptr, *hosts = nullptr, *backend = nullptr;
    unsigned workers = 0, backlog = 0, connections_max = 0;
    std::size_t head_octets_max = 0, target_octets_max = 0;
    unsigned fields_max = 0, params_max = 0;
    std::uint64_t content_octets_max = 0, discard_octets_max = 0, out_octets_max = 0;
    time head_timeout{}, keep_alive_timeout{}, stall_timeout{}, rate_window{}, handler_timeout{}, linger_timeout{};
    time stream_idle_timeout{}, unanswered_log{};
    bool half_close = false;
    std::uint64_t rate_octets_min = 0;
    skua_log_format log = SKUA_LOG_NONE;
    // Called with whole log lines, each ended by LF, instead of writing them to standard output. If it throws, the
    // exception and the lines are lost.
    // Thread: the server's log writer.
    std::function<void(std::string_view lines)> log_write = {};
    std::size_t memory_max = 0, log_buffer_max = 0;
    skua::tls tls = {};
    const char *trusted = nullptr;
    skua_forwarded forwarded = SKUA_FORWARDED_NONE;
    bool stats = false;
    bool accepts_from_reserve = false;
    const char *accept = nullptr;
    bool keep_alive_field = false, strict = false, strict_target = false;
    std::size_t trailer_octets_max = 0, chunk_ext_octets_max = 0, content_window_octets = 0, send_turn_octets_max = 0;
    unsigned parts_max = 0, part_files_max = 0;
    std::size_t part_head_octets_max = 0;
    const char *spool_directory = nullptr;
    std::uint64_t linger_octets_max = 0;
    unsigned disk_threads = 0, files_reserve = 0, blocking_threads = 0, blocking_queue_max = 0;
    const char *log_secrets = nullptr;
    skua::http2 http2 = {};
    // Called on each worker, before it serves and after its last request. Exceptions are logged.
    std::function<void(worker)> on_worker_start = {}, on_worker_end = {};
    // on_connect is called for each connection before anything is read or written; false, or an exception, which is
    // logged, closes it at once. on_close is called for each connection that was not refused, when it is closed and
    // its last request has ended.
    std::function<bool(connection)> on_connect = {};
    std::function<void(connection)> on_close = {};
    const skua_allocator *allocator = nullptr; // for the process; copied
    void (*panic)(const char *sentence) = nullptr;
};

// An address to listen on, for server::listener_add: see skua_listener_desc.
struct listener {
    const char *address = nullptr;
    int fd = -1; // a listening socket, used only without address; on success it belongs to the server
    bool tls = false;
    skua_forwarded forwarded = SKUA_FORWARDED_NONE;

    operator skua_listener_desc() const
    {
        if (!address && fd < 0) throw error(SKUA_EINVAL, "a skua::listener needs an address, or a descriptor");
        skua_listener_desc c{};
        c.address = address;
        c.fd = address ? 0 : fd;
        c.tls = tls;
        c.forwarded = forwarded;
        return c;
    }
};

// Opens a listening socket for server::listen_fd and listener::fd, in this process or in another one that it is passed
// to: see skua_socket_open. The socket belongs to the caller. shared: several sockets may listen on the address at
// once.
// Errors: skua::error with a sentence.  Thread: any.
[[nodiscard]] inline int socket_open(const char *address, unsigned backlog = 0, bool shared = false)
{
    int fd = -1;
    char why[detail::why_room] = "";
    detail::check_why(skua_socket_open(address, backlog, shared, &fd, why, sizeof why), why);
    return fd;
}

// A route with more than a handler: see skua_route_desc.
struct route_options {
    std::uint64_t content_octets_max = 0;
    std::chrono::nanoseconds timeout{ 0 }; // below 0: for ever
    const char *name = nullptr;
};

// How topics are carried to the servers of other machines: see skua_topic_bridge_desc.
struct topic_bridge {
    const char *url = nullptr;
    const char *stream = nullptr;
    std::uint64_t retained_max = 0, waiting_octets_max = 0, message_octets_max = 0;
    const char *gap_text = nullptr;
    // Called on worker 0 when publications of other machines are missing. It lives as long as the server.
    std::function<void()> gap = {};
};

namespace detail {

// The functions of a configuration, which the server calls.
class hooks {
public:
    explicit hooks(const config &of)
        : log_write_(of.log_write), on_worker_start_(of.on_worker_start), on_worker_end_(of.on_worker_end),
          on_connect_(of.on_connect), on_close_(of.on_close)
    {
        if (of.tls.choose) choose_ = std::make_shared<const chooser>(of.tls.choose);
    }
    hooks(const hooks &) = delete;
    hooks &operator=(const hooks &) = delete;

    void put_into(skua_config &c) noexcept
    {
        c.log_write = log_write_ ? write : nullptr;
        c.log_user = this;
        c.on_worker_start = on_worker_start_ ? worker_start : nullptr;
        c.on_worker_end = on_worker_end_ ? worker_end : nullptr;
        c.on_connect = on_connect_ ? connected : nullptr;
        c.on_close = closed; // also for the objects that connections keep
        c.hook_user = this;
        put_into(c.tls);
    }
    void put_into(skua_tls_desc &c) noexcept
    {
        c.choose = choose_ ? chosen : nullptr;
        c.choose_user = this;
    }

    using chooser = std::function<tls_identity(std::string_view)>;

    // Returns: the one before.
    std::shared_ptr<const chooser> choose_by(std::shared_ptr<const chooser> fn) noexcept
    {
        const std::lock_guard<std::mutex> guard(lock_);
        return std::exchange(choose_, std::move(fn));
    }

    skua_server *server = nullptr; // for the log

private:
    static void write(skua_slice lines, void *user) noexcept
    {
        try {
            static_cast<hooks *>(user)->log_write_(view(lines));
        } catch (...) { // there is no log to tell of it
        }
    }
    static void worker_start(skua_worker *on, void *user) noexcept
    {
        auto *self = static_cast<hooks *>(user);
        log_throw(self->server, "on_worker_start", [&] { self->on_worker_start_(on); });
    }
    static void worker_end(skua_worker *on, void *user) noexcept
    {
        auto *self = static_cast<hooks *>(user);
        log_throw(self->server, "on_worker_end", [&] { self->on_worker_end_(on); });
    }
    static bool connected(skua_connection *raw, void *user) noexcept
    {
        auto *self = static_cast<hooks *>(user);
        bool may = false;
        log_throw(self->server, "on_connect", [&] { may = self->on_connect_(connection(raw)); });
        if (!may) detach(raw); // on_close is not called for it
        return may;
    }
    static void closed(skua_connection *raw, void *user) noexcept
    {
        auto *self = static_cast<hooks *>(user);
        if (self->on_close_) log_throw(self->server, "on_close", [&] { self->on_close_(connection(raw)); });
        detach(raw);
    }
    static skua_tls_identity *chosen(skua_slice server_name, void *user) noexcept
    {
        auto *self = static_cast<hooks *>(user);
        tls_identity found;
        log_throw(self->server, "tls.choose", [&] {
            if (auto fn = self->chooser_now()) found = (*fn)(view(server_name));
        });
        return found.release();
    }
    std::shared_ptr<const chooser> chooser_now()
    {
        const std::lock_guard<std::mutex> guard(lock_);
        return choose_;
    }

    std::function<void(std::string_view)> log_write_;
    std::function<void(worker)> on_worker_start_, on_worker_end_;
    std::function<bool(connection)> on_connect_;
    std::function<void(connection)> on_close_;
    std::mutex lock_; // of choose_, which a reload replaces
    std::shared_ptr<const chooser> choose_;
};

// list: of the configuration's certificates; lives as long as the result is used.
inline skua_config converted(const config &of, const certificates &list, hooks &functions) noexcept
{
    skua_config c{};
    c.listen = of.listen;
    c.hosts = of.hosts;
    c.workers = of.workers;
    c.backend = of.backend;
    c.accept = of.accept;
    c.backlog = of.backlog;
    c.connections_max = of.connections_max;
    c.keep_alive_field = of.keep_alive_field;
    c.strict = of.strict;
    c.head_octets_max = of.head_octets_max;
    c.target_octets_max = of.target_octets_max;
    c.fields_max = of.fields_max;
    c.params_max = of.params_max;
    c.trailer_octets_max = of.trailer_octets_max;
    c.chunk_ext_octets_max = of.chunk_ext_octets_max;
    c.content_octets_max = of.content_octets_max;
    c.content_window_octets = of.content_window_octets;
    c.discard_octets_max = of.discard_octets_max;
    c.out_octets_max = of.out_octets_max;
    c.send_turn_octets_max = of.send_turn_octets_max;
    c.strict_target = of.strict_target;
    c.memory_max = of.memory_max;
    c.parts_max = of.parts_max;
    c.part_head_octets_max = of.part_head_octets_max;
    c.part_files_max = of.part_files_max;
    c.spool_directory = of.spool_directory;
    c.head_timeout_ns = of.head_timeout.count();
    c.keep_alive_timeout_ns = of.keep_alive_timeout.count();
    c.stall_timeout_ns = of.stall_timeout.count();
    c.rate_window_ns = of.rate_window.count();
    c.rate_octets_min = of.rate_octets_min;
    c.handler_timeout_ns = of.handler_timeout.count();
    c.linger_timeout_ns = of.linger_timeout.count();
    c.linger_octets_max = of.linger_octets_max;
    c.stream_idle_timeout_ns = of.stream_idle_timeout.count();
    c.unanswered_log_ns = of.unanswered_log.count();
    c.half_close = of.half_close;
    c.disk_threads = of.disk_threads;
    c.files_reserve = of.files_reserve;
    c.blocking_threads = of.blocking_threads;
    c.blocking_queue_max = of.blocking_queue_max;
    c.log = of.log;
    c.log_buffer_max = of.log_buffer_max;
    c.log_secrets = of.log_secrets;
    c.tls = converted(of.tls, list);
    c.http2 = of.http2;
    c.allocator = of.allocator;
    c.panic = of.panic;
    c.trusted = of.trusted;
    c.forwarded = of.forwarded;
    c.stats = of.stats;
    c.accepts_from_reserve = of.accepts_from_reserve;
    functions.put_into(c);
    return c;
}

} // namespace detail

} // namespace skua

#endif // SKUA_CPP_CONFIG_HPP
