// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: content that arrives or leaves piece by piece, forms with files, and tunnels. Functions that are
// passed here live in the request's memory until it has ended. An exception from them ends the response as in a
// handler.
#ifndef SKUA_CPP_CONTENT_HPP
#define SKUA_CPP_CONTENT_HPP

#include "request.hpp"

#include <memory>
#include <span>

namespace skua {

namespace detail {

// Keeps a function with the request, until that has ended.
template <class F> F *keep_with(request &of, F &&fn)
{
    struct held : ending {
        explicit held(F &&f) : ending{}, fn(std::move(f)) {}
        F fn;
    };
    auto *node = new (ending_memory<held>(of.raw())) held(std::move(fn));
    node->run = [](ending *self, skua_request *, skua_end) { static_cast<held *>(self)->~held(); };
    ending_add(of.raw(), node);
    return &node->fn;
}

} // namespace detail

// Reads the content as it arrives: fn(request &, skua_content_event, std::string_view octets), see skua_content_read.
// The octets count as consumed when fn returns, unless it returns a number: then only that many do, and consume gives
// back the rest.
template <std::invocable<request &, skua_content_event, std::string_view> F> void read_content(request of, F fn)
{
    F *kept = detail::keep_with(of, std::move(fn));
    check(skua_content_read(
        of.raw(),
        +[](skua_request *raw, skua_content_event event, skua_slice octets, void *user) {
            request::guard(raw, [&] {
                request self(raw);
                F &call = *static_cast<F *>(user);
                if constexpr (std::is_void_v<std::invoke_result_t<F &, request &, skua_content_event, std::string_view>>) {
                    call(self, event, view(octets));
                    if (octets.len) skua_content_consume(raw, octets.len);
                } else if (std::size_t n = call(self, event, view(octets)); n && octets.len) {
                    skua_content_consume(raw, n);
                }
            });
        },
        kept));
}

// Gives back octets of content that were not consumed before.
inline void consume(const request &of, std::size_t octets)
{
    skua_content_consume(of.raw(), octets);
}

// Reads the parts of a form (multipart/form-data) as they arrive: fn(request &, skua_part_event, const skua_part *,
// std::string_view octets), see skua_multipart_read. The octets count as consumed when fn returns.
template <std::invocable<request &, skua_part_event, const skua_part *, std::string_view> F> void read_parts(request of, F fn)
{
    F *kept = detail::keep_with(of, std::move(fn));
    skua_status status = skua_multipart_read(
        of.raw(),
        +[](skua_request *raw, skua_part_event event, const skua_part *part, skua_slice octets, void *user) {
            request::guard(raw, [&] {
                request self(raw);
                (*static_cast<F *>(user))(self, event, part, view(octets));
                if (octets.len) skua_content_consume(raw, octets.len);
            });
        },
        kept);
    if (status == SKUA_EINVAL) throw http_error(415);
    check(status);
}

// Reads a whole form, large parts into files: fn(request &, std::span<const skua_form_part>), see
// skua_multipart_collect. fn is not called for a form that was refused, or is not complete.
template <std::invocable<request &, std::span<const skua_form_part>> F>
void collect_parts(request of, F fn, std::size_t memory_max = 0, std::uint64_t octets_max = 0)
{
    F *kept = detail::keep_with(of, std::move(fn));
    skua_status status = skua_multipart_collect(
        of.raw(), memory_max, octets_max,
        +[](skua_request *raw, skua_status came, const skua_form_part *parts, std::size_t count, void *user) {
            if (came) return;
            request::guard(raw, [&] {
                request self(raw);
                (*static_cast<F *>(user))(self, std::span<const skua_form_part>(parts, count));
            });
        },
        kept);
    if (status == SKUA_EINVAL) throw http_error(415);
    check(status);
}

// Reads the whole content, into a file if it is large: fn(request &, const skua_upload &), see skua_content_spool.
template <std::invocable<request &, const skua_upload &> F>
void spool(request of, F fn, std::size_t memory_max = 0, std::uint64_t octets_max = 0)
{
    F *kept = detail::keep_with(of, std::move(fn));
    check(skua_content_spool(
        of.raw(), memory_max, octets_max,
        +[](skua_request *raw, skua_status came, const skua_upload *upload, void *user) {
            if (came) return;
            request::guard(raw, [&] {
                request self(raw);
                (*static_cast<F *>(user))(self, *upload);
            });
        },
        kept));
}

// Responds with content that fn(std::span<char> room, std::size_t &octets) writes when it can be sent: see
// skua_respond_pull. An exception counts as SKUA_PULL_ERROR. length: in octets; -1 when unknown.
template <std::invocable<std::span<char>, std::size_t &> F>
void pull(request of, int status, const char *type, std::int64_t length, F fn)
{
    F *kept = detail::keep_with(of, std::move(fn));
    check(skua_respond_pull(
        of.raw(), status, type, length,
        +[](skua_request *raw, char *buffer, std::size_t room, std::size_t *octets, void *user) {
            skua_pulled came = SKUA_PULL_ERROR;
            detail::log_throw_of(raw, [&] { came = (*static_cast<F *>(user))(std::span<char>(buffer, room), *octets); });
            return came;
        },
        kept));
}

namespace detail {

// The state of a filter that could not begin, which fails.
inline char filter_failed = 0;

template <class S> struct filter_state {
    std::unique_ptr<S> with;
    skua_server *server; // for the log

    static skua_filtered run(void *user, skua_slice *content, skua_flush flush, char *out, std::size_t room,
                             std::size_t *octets) noexcept
    {
        skua_filtered done = SKUA_FILTER_FAILED;
        if (user == &filter_failed) return done;
        auto *self = static_cast<filter_state *>(user);
        log_throw(self->server, "a filter", [&] {
            std::string_view rest = view(*content);
            done = self->with->run(rest, flush, std::span<char>(out, room), *octets);
            *content = slice(rest);
        });
        return done;
    }
    static void end(void *user) noexcept
    {
        if (user != &filter_failed) delete static_cast<filter_state *>(user);
    }
};

} // namespace detail

// Passes the content of the response through a filter. Called before the response is given. begin(request &, int
// status) is called when the response is known, and returns the filter's state, a std::unique_ptr<S>, or an empty one
// to leave the response unchanged. Then
//
//     skua_filtered S::run(std::string_view &content, skua_flush flush, std::span<char> out, std::size_t &octets)
//
// takes octets from the front of content and writes to out. Exceptions are logged, and the response becomes 500, or is
// cut off if its head has left. The state is destroyed when no more content will come. See skua_filter.
template <std::invocable<request &, int> F> void filter_content(request of, F begin)
{
    using state = detail::filter_state<typename std::invoke_result_t<F &, request &, int>::element_type>;
    skua_filter desc{};
    desc.begin = [](skua_request *raw, int status, void *user) noexcept {
        void *made = &detail::filter_failed;
        detail::log_throw_of(raw, [&] {
            request self(raw);
            auto with = (*static_cast<F *>(user))(self, status);
            made = with ? new state{ std::move(with), skua_request_server(raw) } : nullptr;
        });
        return made;
    };
    desc.run = state::run;
    desc.end = state::end;
    desc.user = detail::keep_with(of, std::move(begin));
    check(skua_filter_add(of.raw(), &desc));
}

// Lets a source that returned SKUA_PULL_PENDING be pulled again.
inline void wake(const request &of)
{
    skua_wake(of.raw());
}

// Adds a trailer field: see skua_trailer_add.
inline void trailer(const request &of, const char *name, std::string_view value)
{
    check(skua_trailer_add(of.raw(), name, slice(value)));
}

// Takes the connection over for another protocol: see skua_upgrade. Then read_content receives, and the request's
// write and finish send.
// Returns: false: the client does not ask for that protocol, and nothing was responded.
inline bool upgrade(const request &of, const char *protocol)
{
    skua_status status = skua_upgrade(of.raw(), protocol, nullptr, nullptr);
    if (status == SKUA_EPROTOCOL) return false;
    check(status);
    return true;
}

} // namespace skua

#endif // SKUA_CPP_CONTENT_HPP
