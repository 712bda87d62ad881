// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: a request, as handlers see it.
#ifndef SKUA_CPP_REQUEST_HPP
#define SKUA_CPP_REQUEST_HPP

#include "connection.hpp"
#include "values.hpp"
#include "worker.hpp"

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <utility>

namespace skua {

class request;

namespace detail {

// An event that a coroutine waits for, and the function that cancels the wait when the request is gone. NULL: it goes
// on waiting, because something still runs.
struct waiter {
    void (*cancel)(waiter *self) = nullptr;
    void (*drained)(waiter *self) = nullptr;
};

// A coroutine's hold on its request; lives in the coroutine's outermost frame.
struct life {
    skua_request *raw = nullptr;
    skua_worker *worker = nullptr;
    waiter *waits = nullptr;
    bool streams = false;
};

// Called when a request ends, newest first; lives in the request's memory.
struct ending {
    ending *next;
    void (*run)(ending *self, skua_request *raw, skua_end how);
};

class conversation;

// The state that this header keeps in a request's memory.
struct extra {
    life *alive = nullptr;
    conversation *talk = nullptr; // of a WebSocket that a coroutine serves
    ending *endings = nullptr;
    bool ended = false; // its endings have run
};

inline const char extra_key = 0;

// For C, where -1 means no limit.
constexpr std::int64_t time_or_ever(std::chrono::nanoseconds time) noexcept
{
    return time.count() < 0 ? -1 : time.count();
}

// The key of the status of the response to come; all copies of a request share it.
inline const char status_key = 0;

// Writes to the log the text that snprintf has made in room octets.
inline void log_line(skua_server *of, const char *line, int len, std::size_t room) noexcept
{
    if (len > 0) skua_log(of, { line, std::min(static_cast<std::size_t>(len), room - 1) });
}

// Logs an exception with its request. Allocates nothing, because memory may have run out.
inline void complain(const skua_request *raw, const char *what) noexcept
{
    char line[1024];
    skua_slice method = skua_request_method(raw), target = skua_request_target(raw);
    int len = std::snprintf(line, sizeof line, "%.*s %.*s: %s", static_cast<int>(std::min<std::size_t>(method.len, 32)),
                            method.ptr ? method.ptr : "", static_cast<int>(std::min<std::size_t>(target.len, 500)),
                            target.ptr ? target.ptr : "", what);
    log_line(skua_request_server(raw), line, len, sizeof line);
}

// Runs fn, which may throw, where no request waits for a response: an exception is logged, with the name of its
// source.
template <class F> void log_throw(skua_server *of, const char *where, F &&fn) noexcept
{
    char line[1024];
    int len = 0;
    try {
        fn();
        return;
    } catch (const cancelled &) {
        return;
    } catch (const std::exception &e) {
        len = std::snprintf(line, sizeof line, "%s: %s", where, e.what());
    } catch (...) {
        len = std::snprintf(line, sizeof line, "%s threw what is no std::exception", where);
    }
    log_line(of, line, len, sizeof line);
}

// Calls fn as log_throw does, where fn is a callback about a request, which the log then names.
template <class F> void log_throw_of(const skua_request *raw, F &&fn) noexcept
{
    try {
        fn();
    } catch (const std::exception &e) {
        complain(raw, e.what());
    } catch (...) {
        complain(raw, "a callback threw what is no std::exception");
    }
}

// The waiter is cancelled now, unless the operation that it waits for must complete first.
inline void give_up(life &of) noexcept
{
    of.raw = nullptr;
    waiter *waits = std::exchange(of.waits, nullptr);
    if (waits && waits->cancel) waits->cancel(waits);
    else of.waits = waits;
}

inline void request_ended(skua_request *raw, skua_end how, void *user)
{
    auto *kept = static_cast<extra *>(user);
    if (life *alive = std::exchange(kept->alive, nullptr)) give_up(*alive);
    // One that runs may add others.
    while (ending *at = kept->endings) {
        kept->endings = at->next;
        at->run(at, raw, how);
    }
    kept->ended = true;
}

inline extra &extra_of(skua_request *raw)
{
    if (void *kept = skua_request_get(raw, &extra_key)) return *static_cast<extra *>(kept);
    void *memory = skua_request_alloc(raw, sizeof(extra));
    if (!memory) throw std::bad_alloc();
    auto *kept = new (memory) extra;
    check(skua_request_follow(raw, request_ended, kept));
    skua_status status = skua_request_set(raw, &extra_key, kept);
    if (status) skua_request_unfollow(raw, request_ended, kept);
    check(status);
    return *kept;
}

// Memory of the request for an ending, which ending_add then adds.
template <class T> void *ending_memory(skua_request *raw)
{
    if (extra_of(raw).ended) throw error(SKUA_ECLOSED);
    void *memory = skua_request_alloc(raw, sizeof(T));
    if (!memory) throw std::bad_alloc();
    return memory;
}

inline void ending_add(skua_request *raw, ending *node)
{
    extra &kept = extra_of(raw);
    node->next = std::exchange(kept.endings, node);
}

} // namespace detail

struct cookie {
    std::string name = {}, value = {};
    std::string path = "/", domain = {};
    std::chrono::seconds max_age{ 0 }; // 0: until the browser closes; below 0: delete it
    bool secure = true, http_only = true, partitioned = false;
    skua_same_site same_site = SKUA_SAME_SITE_LAX;
};

struct event {
    std::string_view data, name = {}, id = {};
    std::chrono::milliseconds retry{ 0 };
    bool comment = false;
};

// How one file is served: see skua_serve_desc.
struct serve_options {
    const char *type = nullptr, *cache_control = nullptr;
    skua_etags etags = SKUA_ETAGS_AUTO;
    bool dotfiles = false, precompressed = false, compress = false;

    operator skua_serve_desc() const noexcept
    {
        skua_serve_desc c{};
        c.type = type;
        c.cache_control = cache_control;
        c.etags = etags;
        c.dotfiles = dotfiles;
        c.precompressed = precompressed;
        c.compress = compress;
        return c;
    }
};

// How a request's connection is protected. Views live as long as the request.
struct tls_info {
    std::string_view version, cipher;       // "TLSv1.3", "TLS_AES_128_GCM_SHA256"
    std::string_view server_name, protocol; // empty: none
    std::string_view client;                // the subject of its certificate; empty: it sent none
    std::span<const unsigned char> client_fingerprint; // SHA-256
    bool is_resumed = false;
};

namespace detail {

inline std::optional<tls_info> tls_of(const skua_request *raw) noexcept
{
    skua_tls_info from;
    if (!skua_request_tls(raw, &from)) return std::nullopt;
    tls_info info{ from.version, from.cipher, view(from.server_name), view(from.protocol), view(from.client), {},
                   from.is_resumed };
    if (from.client_fingerprint) info.client_fingerprint = { from.client_fingerprint, SKUA_TLS_FINGERPRINT_OCTETS };
    return info;
}

} // namespace detail

// A view of a request; copying it copies a pointer. It converts to false when the request is gone.
class request {
public:
    request() = default;
    explicit request(skua_request *raw, detail::life *alive = nullptr) noexcept : raw_(raw), life_(alive) {}

    explicit operator bool() const noexcept { return life_ ? life_->raw != nullptr : raw_ != nullptr; }

    // The C library's request. Throws cancelled if it is gone.
    skua_request *raw() const
    {
        skua_request *now = life_ ? life_->raw : raw_;
        if (!now) throw cancelled();
        return now;
    }

    // -- What was asked --

    std::string_view method() const { return view(skua_request_method(raw())); }
    std::string_view target() const { return view(skua_request_target(raw())); }
    std::string_view path() const { return view(skua_request_path(raw())); }
    std::string_view query() const { return view(skua_request_query(raw())); }
    std::string_view authority() const { return view(skua_request_authority(raw())); }
    int version() const { return skua_request_version(raw()); }
    std::string peer() const
    {
        char text[128];
        return std::string(text, skua_request_peer(raw(), text, sizeof text));
    }

    std::string_view id() { return view(skua_request_id(raw())); }
    bool is_secure() const { return skua_request_is_secure(raw()); }
    std::string_view scheme() const { return skua_request_scheme(raw()); }

    // Nothing when the request came in the clear.
    std::optional<tls_info> tls() const { return detail::tls_of(raw()); }

    // The first field of that name, or nothing.
    std::optional<std::string_view> field(const char *name) const { return detail::maybe(skua_request_field(raw(), name)); }

    template <std::invocable<std::string_view, std::string_view> F> void each_field(F &&each) const
    {
        skua_field line;
        for (std::size_t i = 0; skua_request_field_at(raw(), i, &line); i++) each(view(line.name), view(line.value));
    }

    // Calls each(std::string_view value) for every field of that name.
    template <std::invocable<std::string_view> F> void each_field(const char *name, F &&each) const
    {
        skua_slice value{};
        for (std::size_t at = 0; skua_request_field_next(raw(), name, &at, &value);) each(view(value));
    }

    // Call each(name, value), both std::string_view: for the parameters of the pattern that matched, those of the
    // query, those of a form (of the collected content, whatever its Content-Type), and the cookies, which are not
    // decoded.
    template <std::invocable<std::string_view, std::string_view> F> void each_param(F &&each) const
    {
        skua_field one;
        for (std::size_t i = 0; skua_request_param_at(raw(), i, &one); i++) each(view(one.name), view(one.value));
    }
    template <std::invocable<std::string_view, std::string_view> F> void each_query(F &&each) const
    {
        skua_field one;
        for (std::size_t i = 0; skua_request_query_at(raw(), i, &one); i++) each(view(one.name), view(one.value));
    }
    template <std::invocable<std::string_view, std::string_view> F> void each_form(F &&each) const
    {
        skua_field one;
        for (std::size_t i = 0; skua_form_at(raw(), slice(content()), i, &one); i++) each(view(one.name), view(one.value));
    }
    template <std::invocable<std::string_view, std::string_view> F> void each_cookie(F &&each) const
    {
        skua_field one;
        for (std::size_t i = 0; skua_request_cookie_at(raw(), i, &one); i++) each(view(one.name), view(one.value));
    }

    // The value of "{name}" in the pattern that matched; 400 if it is not a T, or not between min and max.
    template <class T = std::string_view> T param(const char *name) const
    {
        return detail::parameter<T>(view(skua_request_param(raw(), name)), name);
    }
    template <class T> T param(const char *name, T min, T max) const
    {
        return detail::in_range(param<T>(name), name, min, max);
    }

    // A query parameter, decoded; nothing when absent; 400 if it is not a T.
    template <class T = std::string_view> std::optional<T> query(const char *name) const
    {
        skua_slice text = skua_request_query_param(raw(), name);
        if (!text.ptr) return std::nullopt;
        return detail::parameter<T>(view(text), name);
    }

    template <class T> T query(const char *name, T otherwise) const { return query<T>(name).value_or(otherwise); }
    // The same, from min to max, or 400.
    template <class T> T query(const char *name, T otherwise, T min, T max) const
    {
        auto given = query<T>(name);
        return given ? detail::in_range(*given, name, min, max) : otherwise;
    }

    // A field of the collected form, decoded; nothing when absent; 400 if it is not a T. See skua_form.
    template <class T = std::string_view> std::optional<T> form(const char *name) const
    {
        skua_slice text = skua_form(raw(), name);
        if (!text.ptr) return std::nullopt;
        return detail::parameter<T>(view(text), name);
    }
    template <class T> T form(const char *name, T otherwise) const { return form<T>(name).value_or(otherwise); }
    // A parameter of a form in content, whatever its Content-Type. See skua_form_param.
    std::optional<std::string_view> form_in(std::string_view content, const char *name) const
    {
        return detail::maybe(skua_form_param(raw(), slice(content), name));
    }

    std::optional<std::string_view> cookie(const char *name) const { return detail::maybe(skua_request_cookie(raw(), name)); }

    // Whether the path can name a file: see skua_request_path_is_plain; and whether the request has preconditions or a
    // range.
    bool path_is_plain() const { return skua_request_path_is_plain(raw()); }
    bool is_conditional() const { return skua_request_is_conditional(raw()); }

    // The first trailer field of that name, once the content is complete.
    std::optional<std::string_view> trailer(const char *name) const { return detail::maybe(skua_request_trailer(raw(), name)); }

    // Octets of the response's content: octets queued so far; when the request has ended, octets handed to the kernel.
    std::uint64_t sent() const { return skua_request_sent(raw()); }

    bool peer_is_done() const { return skua_request_peer_is_done(raw()); }

    // The collected content; in a blocking handler always the whole content, elsewhere empty before it is collected.
    std::string_view content() const { return view(skua_request_content(raw())); }
    // The pattern that matched, and the name of its route or else the pattern; empty for none.
    std::string_view pattern() const { return text_of(skua_request_pattern(raw())); }
    std::string_view route() const { return text_of(skua_request_route(raw())); }
    // The content's length in octets; nothing when it is unknown.
    std::optional<std::uint64_t> content_length() const
    {
        std::int64_t length = skua_content_length(raw());
        return length < 0 ? std::nullopt : std::optional<std::uint64_t>(static_cast<std::uint64_t>(length));
    }
    // Limits the content that is still read: see skua_content_limit, which may refuse.
    void content_limit(std::uint64_t octets_max) { check(skua_content_limit(raw(), octets_max)); }
    // Sets the time for this request's handler; below 0: no limit. See skua_request_timeout.
    void timeout(std::chrono::nanoseconds time) { skua_request_timeout(raw(), detail::time_or_ever(time)); }
    // Close the connection after the response; leave the request out of the access log.
    void close() { skua_request_close(raw()); }
    void skip_log() { skua_request_skip_log(raw()); }
    // Whether nobody waits for the response any more: for blocking handlers that take long.
    bool is_gone() const { return skua_request_is_gone(raw()); }

    // -- Answering. Each throws error(SKUA_ESTATE) if the request is answered already. --

    // Adds a field to the response to come.
    request &set(const char *name, std::string_view value)
    {
        check(skua_field_add(raw(), name, slice(value)));
        return *this;
    }

    // Passes the content of the response through a filter, which is copied.
    request &filter(const skua_filter &f)
    {
        check(skua_filter_add(raw(), &f));
        return *this;
    }

    // Compresses the content of the response if it gains by that.
    request &compress()
    {
        check(skua_compress(raw()));
        return *this;
    }

    // Leaves the content of the response uncompressed.
    request &compress_off()
    {
        skua_compress_off(raw());
        return *this;
    }
    bool compress_is_off() const { return skua_compress_is_off(raw()); }

    // The response that is about to be sent: in middleware's head, and a filter's begin.
    std::optional<std::string_view> response_field(const char *name) const
    {
        return detail::maybe(skua_response_field(raw(), name));
    }
    std::optional<uint64_t> response_length() const
    {
        int64_t length = skua_response_length(raw());
        return length < 0 ? std::nullopt : std::optional<uint64_t>(static_cast<uint64_t>(length));
    }

    request &set(const skua::cookie &c)
    {
        skua_cookie desc{};
        desc.name = c.name.c_str();
        desc.value = slice(c.value);
        desc.path = c.path.empty() ? nullptr : c.path.c_str();
        desc.domain = c.domain.empty() ? nullptr : c.domain.c_str();
        desc.max_age_s = c.max_age.count();
        desc.secure = c.secure;
        desc.http_only = c.http_only;
        desc.same_site = c.same_site;
        desc.partitioned = c.partitioned;
        check(skua_cookie_set(raw(), &desc));
        return *this;
    }

    // Sets the status of the response to come, for all copies of the request; the default is 200.
    request &status(int code)
    {
        check(skua_request_set(raw(), &detail::status_key, reinterpret_cast<void *>(static_cast<std::intptr_t>(code))));
        return *this;
    }

    void respond(const char *type, std::string_view content)
    {
        check(skua_respond(raw(), status(), type, slice(content)));
    }
    // Responds with a status and no content.
    void respond(int status) { check(skua_respond(raw(), status, nullptr, skua_slice{})); }

    // Responds with content that is not copied and must not change until release has been called, once, whatever the
    // outcome. release must not throw.  Cost: an allocation for release.
    template <std::invocable F> void respond_borrowed(const char *type, std::string_view content, F release)
    {
        skua_request *to = raw();
        auto *held = new F(std::move(release));
        check(skua_respond_borrowed(
            to, status(), type, slice(content),
            +[](void *user) noexcept {
                std::unique_ptr<F> now(static_cast<F *>(user));
                (*now)();
            },
            held));
    }
    // Responds with content that never changes, such as a literal, without copying it.
    void respond_borrowed(const char *type, std::string_view content)
    {
        check(skua_respond_borrowed(raw(), status(), type, slice(content), nullptr, nullptr));
    }
    // Responds with a string that is moved, not copied: for long ones.
    void respond_owned(const char *type, std::string content)
    {
        auto kept = std::make_unique<std::string>(std::move(content));
        std::string_view octets = *kept;
        respond_borrowed(type, octets, [kept = std::move(kept)] {});
    }

    // Responds with text that printf makes from a format, which the compiler checks: req.format("application/json",
    // "[%d]", n).
    // type: nullptr for text/plain in UTF-8.
    void format(const char *type, const char *text, ...) SKUA_PRINTF(3, 4)
    {
        va_list arguments;
        va_start(arguments, text);
        skua_status done = skua_respond_vformat(raw(), status(), type, text, arguments);
        va_end(arguments);
        check(done);
    }

    // Responds with content and an entity tag made from it, or 304 if the client has that version.
    void respond_tagged(const char *type, std::string_view content)
    {
        check(skua_respond_tagged(raw(), type, slice(content)));
    }

    // Responds with a file beneath root, with ranges, conditions and types: see skua_serve_file.
    void serve_file(skua_root *root, std::string_view path, const serve_options &how = {})
    {
        const skua_serve_desc desc = how;
        skua_serve_file(raw(), root, slice(path), &desc);
    }

    // Responds with the file or directory that name names: see skua_directory_serve.
    void serve(skua_directory *directory, std::string_view name)
    {
        skua_directory_serve(raw(), directory, slice(name));
    }

    // Evaluates the preconditions against the resource's entity tag: see skua_etag. Returns: false: a response has
    // been given.
    bool etag(std::string_view tag) { return skua_etag(raw(), slice(tag)); }
    // Pieces are joined in the request's memory.
    template <std::convertible_to<std::string_view>... T> void text(const T &...pieces)
    {
        respond("text/plain; charset=utf-8", join(pieces...));
    }
    template <std::convertible_to<std::string_view>... T> void html(const T &...pieces)
    {
        respond("text/html; charset=utf-8", join(pieces...));
    }
    template <std::convertible_to<std::string_view>... T> void json(const T &...pieces)
    {
        respond("application/json", join(pieces...));
    }
    void error(int status) { check(skua_respond_error(raw(), status)); }
    void redirect(const char *location, int status = 303) { check(skua_redirect(raw(), status, location)); }

    // Sends an interim response, such as 103 (Early Hints), before the response.
    void inform(int status, std::span<const skua_field> fields) { check(skua_inform(raw(), status, fields.data(), fields.size())); }

    // Calls fn(how) once when the response's last octet has left or the request has failed. In middleware's on_end and
    // in such a function it calls fn behind that one; later, in a function of skua_on_end or for a request that is held,
    // it throws SKUA_ECLOSED.
    // Cost: memory of the request.
    template <std::invocable<skua_end> F> void on_end(F fn)
    {
        struct held : detail::ending {
            explicit held(F &&f) : ending{}, fn(std::move(f)) {}
            F fn;
        };
        auto *node = new (detail::ending_memory<held>(raw())) held(std::move(fn));
        node->run = [](detail::ending *self, skua_request *raw, skua_end how) {
            auto *me = static_cast<held *>(self);
            detail::log_throw_of(raw, [&] { me->fn(how); });
            me->~held();
        };
        detail::ending_add(raw(), node);
    }

    // -- Streams of content --

    // Begins a response whose content is written piece by piece.
    void stream(int status, const char *type, std::int64_t length = -1)
    {
        check(skua_respond_stream(raw(), status, type, length, life_ ? drained : nullptr, life_));
        if (life_) life_->streams = true;
    }
    // Queues octets, all or none. Returns: false: no room now (in a coroutine, use co_await send instead).
    bool write(std::string_view octets)
    {
        skua_status status = skua_write(raw(), slice(octets));
        if (status == SKUA_ELIMIT) return false;
        check(status);
        return true;
    }
    void finish()
    {
        if (life_) life_->streams = false;
        check(skua_finish(raw()));
    }
    void events()
    {
        check(skua_events_open(raw(), life_ ? drained : nullptr, life_));
        if (life_) life_->streams = true;
    }
    bool emit(const event &e)
    {
        skua_event out{};
        out.data = slice(e.data);
        out.name = slice(e.name);
        out.id = slice(e.id);
        out.retry_ms = e.retry.count();
        out.comment = e.comment;
        skua_status status = skua_event_send(raw(), &out);
        if (status == SKUA_ELIMIT) return false;
        check(status);
        return true;
    }

    // Join a topic, once the response is an event stream; leave it. See skua_topic_join.
    void join_topic(std::string_view topic) { check(skua_topic_join(raw(), slice(topic))); }
    void leave_topic(std::string_view topic) noexcept { skua_topic_leave(raw(), slice(topic)); }

    // -- In a coroutine --

    // The whole content; throws http_error(413) past limit, cancelled if it will never be complete.
    [[nodiscard("to be awaited")]] auto body(std::uint64_t limit = 0);
    // Writes all octets, waiting for room; begins a stream if there is none. octets must live until this is done.
    [[nodiscard("to be awaited")]] auto send(std::string_view octets);

    // -- With a callback --

    // Calls fn(request &, std::string_view) with the whole content. It is not called when the content is refused or
    // lost.
    template <std::invocable<request &, std::string_view> F> void collect(std::uint64_t limit, F fn)
    {
        void *memory = skua_request_alloc(raw(), sizeof(F));
        if (!memory) throw std::bad_alloc();
        auto *kept = new (memory) F(std::move(fn));
        skua_status status = skua_content_collect(
            raw(), limit,
            detail::given(*kept,
                          +[](skua_request *of, skua_status came, skua_slice content, void *user) {
                              auto *held = static_cast<F *>(user);
                              if (came == SKUA_OK) {
                                  guard(of, [&] {
                                      request self(of);
                                      (*held)(self, view(content));
                                  });
                              }
                              held->~F();
                          }),
            kept);
        if (status) {
            kept->~F();
            check(status);
        }
    }

    skua::worker worker() const { return skua_request_worker(raw()); }

    // The request's connection; empty once on_end has returned. On the worker only: see skua_request_connection.
    skua::connection connection() const { return skua::connection(skua_request_connection(raw())); }

    // Runs fn, which may throw, for a C callback: an exception becomes the response and is logged.
    template <class F> static void guard(skua_request *raw, F &&fn) noexcept
    {
        try {
            fn();
        } catch (...) {
            fail(raw);
        }
    }

    // Called from a catch block: responds and logs. raw: the request, or its memory if it is held; gone then says that
    // nobody waits for a response.
    static void fail(skua_request *raw, bool gone = false) noexcept
    {
        try {
            throw;
        } catch (const cancelled &) {
        } catch (const http_error &e) {
            if (e.status() >= 500 && !e.sentence().empty()) detail::complain(raw, e.what());
            if (!gone) refuse(raw, e.status(), e.sentence());
        } catch (const std::bad_alloc &e) {
            detail::complain(raw, e.what());
            if (!gone) refuse(raw, 503);
        } catch (const std::exception &e) {
            detail::complain(raw, e.what());
            if (!gone) refuse(raw, 500);
        } catch (...) {
            detail::complain(raw, "a handler threw what is no std::exception");
            if (!gone) refuse(raw, 500);
        }
    }

private:
    static std::string_view text_of(const char *text) { return text ? std::string_view(text) : std::string_view(); }

    // Responds with an error, or ends a response that has begun, so that no client is left waiting.
    static void refuse(skua_request *raw, int status, std::string_view sentence = {}) noexcept
    {
        if (status < 400 || status > 599) {
            detail::complain(raw, "a skua::http_error has a status that is no error");
            status = 500;
        }
        if (skua_request_status(raw)) skua_request_abort(raw);
        else skua_refuse(raw, status, slice(sentence));
    }

    int status() const
    {
        auto code = reinterpret_cast<std::intptr_t>(skua_request_get(raw(), &detail::status_key));
        return code ? static_cast<int>(code) : 200;
    }

    static void drained(skua_request *, void *user)
    {
        auto *alive = static_cast<detail::life *>(user);
        if (alive->waits && alive->waits->drained) alive->waits->drained(alive->waits);
    }

    template <class... T> std::string_view join(const T &...pieces)
    {
        if constexpr (sizeof...(pieces) == 1) {
            return (std::string_view(pieces), ...);
        } else {
            std::size_t len = (std::size_t(0) + ... + std::string_view(pieces).size());
            char *start = static_cast<char *>(skua_request_alloc(raw(), len + 1)), *at = start;
            if (!start) throw std::bad_alloc();
            ((at += std::string_view(pieces).copy(at, len)), ...);
            return { start, len };
        }
    }

    skua_request *raw_ = nullptr;
    detail::life *life_ = nullptr;
};

} // namespace skua

#endif // SKUA_CPP_REQUEST_HPP
