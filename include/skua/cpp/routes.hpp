// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: functions that add handlers, which servers and sites have in common.
#ifndef SKUA_CPP_ROUTES_HPP
#define SKUA_CPP_ROUTES_HPP

#include "config.hpp"
#include "directories.hpp"
#include "request.hpp"
#include "task.hpp"
#include "websocket.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace skua {

namespace detail {

template <class F>
concept coroutine_handler = requires(F &fn, request r) {
    { fn(std::move(r)) } -> std::same_as<task<void>>;
};

template <class F>
concept plain_handler = requires(F &fn, request &r) {
    { fn(r) } -> std::same_as<void>;
};

// Whether a route has more than a handler on the worker.
inline bool has_more(const skua_route_desc &desc) noexcept
{
    return desc.blocking || desc.content_octets_max || desc.timeout_ns || desc.name;
}

// For C, which calls it once.
template <class F> void call_once(void *user) noexcept
{
    std::unique_ptr<F> now(static_cast<F *>(user));
    (*now)();
}

template <class F> void handle(skua_request *raw, void *user) noexcept
{
    F &fn = *static_cast<F *>(user);
    if constexpr (coroutine_handler<F>) {
        flight_run(fn, raw);
    } else {
        request self(raw);
        request::guard(raw, [&] { fn(self); });
    }
}

template <class F> void pass(skua_request *raw, void *user) noexcept
{
    F &fn = *static_cast<F *>(user);
    if constexpr (coroutine_handler<F>) {
        flight_pass(fn, raw);
    } else {
        request self(raw);
        request::guard(raw, [&] { fn(self); });
        if (skua_request_status(raw) == 0) skua_next(raw);
    }
}

} // namespace detail

template <class F>
concept handler = detail::plain_handler<F> || detail::coroutine_handler<F>;

namespace detail {

// An object that a server or a site owns, and destroys at its end.
struct kept {
    void *object;
    void (*drop)(void *object);
    kept(void *o, void (*d)(void *)) noexcept : object(o), drop(d) {}
    kept(kept &&other) noexcept : object(std::exchange(other.object, nullptr)), drop(other.drop) {}
    kept &operator=(kept &&) = delete;
    ~kept()
    {
        if (object) drop(object);
    }
};

using kept_objects = std::vector<kept>;

template <class Of> class route_group;

// The routes, middleware and error functions of Self, which adds them and keeps the objects.
template <class Self> class routes {
public:
    // pattern: as for skua_route, "GET /users/{id}". how: the route's own time, limit on content, or name.
    template <handler F> Self &route(const char *pattern, F fn, const route_options &how = {})
    {
        F *held = keep(std::move(fn));
        skua_route_desc desc = described(pattern, held, how);
        desc.handler = detail::given(*held, detail::handle<F>);
        return judge(self().add(desc));
    }
    template <handler F> Self &get(std::string_view path, F fn, const route_options &how = {})
    {
        return method("GET ", path, std::move(fn), how);
    }
    template <handler F> Self &post(std::string_view path, F fn, const route_options &how = {})
    {
        return method("POST ", path, std::move(fn), how);
    }
    template <handler F> Self &put(std::string_view path, F fn, const route_options &how = {})
    {
        return method("PUT ", path, std::move(fn), how);
    }
    template <handler F> Self &patch(std::string_view path, F fn, const route_options &how = {})
    {
        return method("PATCH ", path, std::move(fn), how);
    }
    template <handler F> Self &del(std::string_view path, F fn, const route_options &how = {})
    {
        return method("DELETE ", path, std::move(fn), how);
    }
    template <handler F> Self &any(std::string_view path, F fn, const route_options &how = {})
    {
        return method("", path, std::move(fn), how);
    }

    // A member function of an object that outlives the server: app.route("GET /x", object, &type::on_x).
    template <class T, class R> Self &route(const char *pattern, T &object, R (T::*member)(request &))
    {
        return self().route(pattern, [&object, member](request &r) { (object.*member)(r); });
    }
    template <class T> Self &route(const char *pattern, T &object, task<> (T::*member)(request))
    {
        return self().route(pattern, [&object, member](request r) { return (object.*member)(r); });
    }

    // fn(request &) runs on a thread of the pool, where it may wait, after the content has been collected.
    template <detail::plain_handler F> Self &blocking(const char *pattern, F fn, const route_options &how = {})
    {
        F *held = keep(std::move(fn));
        skua_route_desc desc = described(pattern, held, how);
        desc.blocking = detail::given(*held, detail::handle<F>);
        return judge(self().add(desc));
    }

    // WebSockets at a pattern, "GET /live/{room}".
    Self &websocket(const char *pattern, skua::websocket fns)
    {
        detail::socket_route *held = keep(detail::socket_route(std::move(fns), self().of_server(), pattern));
        skua_websocket_desc desc = websocket_desc(*held);
        return judge(self().add_websocket(pattern, &desc));
    }
    // The same, with a coroutine for each socket: fn(skua::async_socket &, skua::request). See skua::async_socket.
    template <detail::socket_coroutine F> Self &websocket(const char *pattern, F fn, const websocket_options &how = {})
    {
        skua::websocket fns;
        fns.how = how;
        fns.serve = std::move(fn);
        return self().websocket(pattern, std::move(fns));
    }

    // Runs middleware around every request at or below prefix. fn(request &), or a coroutine of request, which may
    // wait: it responds, or returns and the request goes on.
    template <handler F> Self &before(const char *prefix, F fn)
    {
        F *held = keep(std::move(fn));
        skua_middleware desc{};
        desc.before = detail::pass<F>;
        desc.user = held;
        return judge(self().add_middleware(prefix, detail::given(*held, &desc)));
    }
    // Calls fn(request &, int status) before the response's head is written; it may add fields.
    template <std::invocable<request &, int> F> Self &on_head(const char *prefix, F fn)
    {
        F *held = keep(std::move(fn));
        skua_middleware desc{};
        desc.head = [](skua_request *raw, int status, void *user) {
            detail::log_throw_of(raw, [&] {
                request self(raw);
                (*static_cast<F *>(user))(self, status);
            });
        };
        desc.user = held;
        return judge(self().add_middleware(prefix, detail::given(*held, &desc)));
    }
    // Calls fn(request &, int status, std::string_view sentence) for errors at or below prefix. It responds before it
    // returns; otherwise the server's page is sent. In it, std::current_exception() is the exception that a handler
    // has thrown, if any.
    template <std::invocable<request &, int, std::string_view> F> Self &on_error(const char *prefix, F fn)
    {
        F *held = keep(std::move(fn));
        return judge(self().add_error(
            prefix,
            detail::given(*held, +[](skua_request *raw, int status, skua_slice sentence, void *user) {
                detail::log_throw_of(raw, [&] {
                    request self(raw);
                    self.status(status);
                    (*static_cast<F *>(user))(self, status, view(sentence));
                });
            }),
            held));
    }
    // Calls fn(request &, skua_end) when a request has ended.
    template <std::invocable<request &, skua_end> F> Self &on_end(const char *prefix, F fn)
    {
        F *held = keep(std::move(fn));
        skua_middleware desc{};
        desc.end = [](skua_request *raw, skua_end how, void *user) {
            detail::log_throw_of(raw, [&] {
                request self(raw);
                (*static_cast<F *>(user))(self, how);
            });
        };
        desc.user = held;
        return judge(self().add_middleware(prefix, detail::given(*held, &desc)));
    }

    // Adds middleware in C, such as that of <skua/middleware/…>.
    Self &use(const char *prefix, const skua_middleware &m) { return judge(self().add_middleware(prefix, &m)); }

    // The same functions, with every pattern and prefix below this one ("/api"): app.group("/api").get("/users", fn).
    detail::route_group<Self> group(std::string_view prefix) { return detail::route_group<Self>(self(), prefix); }

protected:
    // The object that holds its functions; NULL if there are none.
    detail::directory_functions *keep_functions(const directory_config &of)
    {
        if (!of.decide && !of.list_markup_of) return nullptr;
        return keep(detail::directory_functions{ of.decide, of.list_markup_of });
    }

    template <class F> F *keep(F &&fn)
    {
        using held = std::remove_cvref_t<F>;
        auto made = std::make_unique<held>(std::forward<F>(fn));
        self().objects().emplace_back(made.get(), [](void *object) { delete static_cast<held *>(object); });
        return made.release();
    }

private:
    Self &self() noexcept { return static_cast<Self &>(*this); }

    Self &judge(skua_status status) { return self().judge(status); }

    static skua_route_desc described(const char *pattern, void *user, const route_options &how) noexcept
    {
        skua_route_desc desc{};
        desc.pattern = pattern;
        desc.user = user;
        desc.content_octets_max = how.content_octets_max;
        desc.timeout_ns = detail::time_or_ever(how.timeout);
        desc.name = how.name;
        return desc;
    }

    template <class F> Self &method(const char *name, std::string_view path, F fn, const route_options &how)
    {
        return route((name + std::string(path)).c_str(), std::move(fn), how);
    }
};

// Routes below a prefix of a server, a site or another group, which outlives this object.
template <class Of> class route_group : public routes<route_group<Of>> {
public:
    route_group(Of &of, std::string_view prefix) : of_(of), prefix_(prefix) {}

    // A group below this one. It uses the same server, site or group.
    route_group group(std::string_view prefix) { return route_group(of_, below(prefix)); }

private:
    friend class routes<route_group<Of>>;
    template <class> friend class route_group;

    // The pattern with the prefix before its path.
    std::string below(std::string_view text) const
    {
        std::size_t path = text.find(' ') == text.npos ? 0 : text.find(' ') + 1;
        if (text.substr(path, 1) != "/")
            throw error(SKUA_EINVAL, "\"" + std::string(text) + "\": behind its method, a pattern of a group begins with \"/\"");
        return std::string(text.substr(0, path)) + prefix_ + std::string(text.substr(path));
    }

    skua_status add(skua_route_desc desc)
    {
        const std::string pattern = below(desc.pattern);
        desc.pattern = pattern.c_str();
        return of_.add(desc);
    }
    skua_status add_websocket(const char *pattern, const skua_websocket_desc *desc)
    {
        return of_.add_websocket(below(pattern).c_str(), desc);
    }
    // "/", also after a method, is the prefix itself with everything below.
    std::string prefix_of(const char *prefix) const
    {
        std::string text = below(prefix);
        std::string_view given(prefix);
        if (given == "/" || given.ends_with(" /")) text.pop_back();
        return text;
    }
    skua_status add_middleware(const char *prefix, const skua_middleware *desc)
    {
        return of_.add_middleware(prefix_of(prefix).c_str(), desc);
    }
    skua_status add_error(const char *prefix, skua_error_fn *fn, void *user)
    {
        return of_.add_error(prefix_of(prefix).c_str(), fn, user);
    }
    kept_objects &objects() { return of_.objects(); }
    skua_server *of_server() { return of_.of_server(); }

    route_group &judge(skua_status status)
    {
        (void)of_.judge(status);
        return *this;
    }

    Of &of_;
    std::string prefix_;
};

} // namespace detail

} // namespace skua

#endif
