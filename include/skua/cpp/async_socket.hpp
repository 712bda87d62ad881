// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: WebSockets that a coroutine serves, from the opening to the end. Callbacks put messages into a
// box, from which the coroutine takes them; while the box is full, the client is not read.
#ifndef SKUA_CPP_ASYNC_SOCKET_HPP
#define SKUA_CPP_ASYNC_SOCKET_HPP

#include "socket.hpp"
#include "task.hpp"

#include <cstring>

namespace skua
{

class async_socket;

namespace detail
{

// Messages that have arrived and have not been taken, one after another in memory that is used again. Taken octets are
// never moved: one string is read while the other is written. The memory counts in memory_max.
class message_box
{
  public:
    explicit message_box(skua_worker *of) noexcept : worker_(of)
    {
    }
    message_box(const message_box &) = delete;
    message_box &operator=(const message_box &) = delete;
    ~message_box()
    {
        count(0);
    }

    static constexpr std::size_t full = 16384; // octets; one message more than this fits
    static constexpr std::size_t kept = 4096;  // of memory, while there are none

    bool is_full() const noexcept
    {
        return coming_.size() >= full;
    }
    bool is_emptied() const noexcept
    {
        return coming_.empty();
    }
    // May throw std::bad_alloc; then the box is as it was.
    void put(std::string_view octets, bool text)
    {
        const head before{ octets.size(), text };
        coming_.reserve(coming_.size() + sizeof before + octets.size());
        coming_.append(reinterpret_cast<const char *>(&before), sizeof before).append(octets);
        count(taken_.capacity() + coming_.capacity());
    }
    std::optional<socket_message> take() noexcept
    {
        if (at_ == taken_.size() && !turn()) return std::nullopt;
        head before{};
        std::memcpy(&before, taken_.data() + at_, sizeof before);
        std::string_view octets(taken_.data() + at_ + sizeof before, before.len);
        at_ += sizeof before + before.len;
        return socket_message{ octets, before.text };
    }

  private:
    struct head {
        std::size_t len;
        bool text;
    };

    bool turn() noexcept
    {
        at_ = 0;
        taken_.clear();
        if (taken_.capacity() > kept) std::string().swap(taken_);
        taken_.swap(coming_);
        count(taken_.capacity() + coming_.capacity());
        return !taken_.empty();
    }
    void count(std::size_t octets) noexcept
    {
        if (octets != counted_)
            skua_memory_count(worker_, static_cast<std::int64_t>(octets) - static_cast<std::int64_t>(counted_));
        counted_ = octets;
    }

    skua_worker *const worker_;
    std::size_t counted_ = 0;
    std::string taken_, coming_;
    std::size_t at_ = 0;
};

// Shared by the callbacks and the coroutine of a socket; lives in the outermost frame of the coroutine.
class conversation
{
  public:
    conversation(skua_socket of, extra &kept, skua_worker *worker) noexcept : raw(of), kept_(kept), box_(worker)
    {
        kept_.talk = this;
    }
    conversation(const conversation &) = delete;
    conversation &operator=(const conversation &) = delete;
    ~conversation()
    {
        kept_.talk = nullptr;
    }

    std::optional<socket_message> take() noexcept
    {
        auto message = box_.take();
        if (is_paused_ && box_.is_emptied()) {
            is_paused_ = false;
            skua_socket_resume(raw);
        }
        return message;
    }
    void arrived(std::string_view octets, bool text)
    {
        box_.put(octets, text);
        if (waiting) {
            wake();
        } else if (box_.is_full() && !is_paused_) {
            is_paused_ = true;
            skua_socket_pause(raw);
        }
    }
    // The coroutine may have ended when this returns, and this with it.
    void wake()
    {
        if (once *who = std::exchange(waiting, nullptr)) who->complete();
    }

    const skua_socket raw;
    once *waiting = nullptr; // in receive
    socket_end end;

  private:
    extra &kept_;
    message_box box_;
    bool is_paused_ = false;
};

// NULL if its coroutine has ended.
inline extra *conversing(skua_socket raw) noexcept
{
    auto *kept = static_cast<extra *>(skua_request_get(skua_socket_request(raw), &extra_key));
    return kept && kept->talk ? kept : nullptr;
}

inline void async_message(skua_socket raw, skua_slice octets, bool text, void *) noexcept
{
    extra *kept = conversing(raw);
    if (!kept) return;
    try {
        kept->talk->arrived(view(octets), text);
    } catch (const std::bad_alloc &) {
        skua_socket_close(raw, 1013, slice("out of memory"));
    }
}

inline void async_drain(skua_socket raw, void *) noexcept
{
    extra *kept = conversing(raw);
    waiter *waits = kept && kept->alive ? kept->alive->waits : nullptr;
    if (waits && waits->drained) waits->drained(waits);
}

// This side closes the socket: a wait for a message, or for room, ends. Everything else goes on as long as the
// request.
inline void async_closing(skua_socket raw, unsigned code, skua_slice reason, void *) noexcept
{
    extra *kept = conversing(raw);
    if (!kept) return;
    kept->talk->end.set(code, view(reason));
    kept->talk->wake();
    async_drain(raw, nullptr);
}

// A wait for a message ends first, by an empty result and not an exception; then everything else is cancelled.
inline void async_close(skua_socket raw, unsigned code, skua_slice reason, void *) noexcept
{
    struct detaching {
        skua_socket raw;
        ~detaching() { detach(raw); }
    } last{ raw };
    extra *kept = conversing(raw);
    if (!kept) return;
    if (!kept->talk->end.code()) kept->talk->end.set(code, view(reason));
    kept->talk->wake();
    if (life *alive = std::exchange(kept->alive, nullptr)) give_up(*alive);
}

struct socket_receive_awaiter : once {
    conversation &of;
    std::optional<socket_message> message;

    explicit socket_receive_awaiter(conversation &with) noexcept : of(with)
    {
    }
    bool await_ready() noexcept
    {
        message = of.take();
        return message || of.end.code();
    }
    template <of_request P> bool await_suspend(std::coroutine_handle<P> h)
    {
        alive = h.promise().alive;
        if (!alive->raw) return false;
        if (of.waiting) throw std::logic_error("two tasks receive from one socket");
        cancel = [](waiter *self) {
            auto *me = static_cast<socket_receive_awaiter *>(self);
            me->of.waiting = nullptr;
            me->complete();
        };
        of.waiting = this;
        return begun(alive, h);
    }
    std::optional<socket_message> await_resume()
    {
        if (message || of.end.code()) return message;
        judge();
        return of.take();
    }
};

struct socket_send_awaiter : once {
    const skua_socket to;
    const std::string_view message;
    const bool text;
    skua_status status = SKUA_OK;

    socket_send_awaiter(skua_socket s, std::string_view octets, bool is_text) noexcept
        : to(s), message(octets), text(is_text)
    {
    }
    // False: there is no room yet.
    bool push() noexcept
    {
        status = text ? skua_socket_text(to, slice(message)) : skua_socket_binary(to, slice(message));
        return status != SKUA_ELIMIT;
    }
    bool await_ready() noexcept
    {
        return push();
    }
    template <of_request P> bool await_suspend(std::coroutine_handle<P> h)
    {
        alive = h.promise().alive;
        if (!alive->raw) return false;
        cancel = [](waiter *self) { static_cast<socket_send_awaiter *>(self)->complete(); };
        drained = [](waiter *self) {
            auto *me = static_cast<socket_send_awaiter *>(self);
            if (me->push()) me->complete();
        };
        return begun(alive, h);
    }
    void await_resume() const
    {
        if (status == SKUA_ECLOSED || status == SKUA_ELIMIT) throw cancelled();
        check(status);
    }
};

} // namespace detail

// A socket in the coroutine that serves it:
//
//     app.websocket("GET /echo", [](skua::async_socket &socket, skua::request) -> skua::task<> {
//         while (auto message = co_await socket.receive()) co_await socket.send(*message);
//     });
//
// When the coroutine returns, the socket is closed with code 1000; when it throws, with 1011, and the exception is
// logged. When the socket is closed, by either side, receive returns nothing once all messages that had arrived have
// been taken, and is_closed is true. Everything else that the coroutine awaits then, or later, throws skua::cancelled,
// also inside of when_any and within, unless they wait for a receive. A close by this side ends receive and send at
// once; anything else that the coroutine awaits is cancelled when the client has answered the close, or
// close_timeout_ns after it.
// The client is not read while 16 KiB of its messages wait. Lifetime: that of the coroutine; others keep a copy of the
// socket: skua::socket copy = socket;
class async_socket : public socket
{
  public:
    explicit async_socket(detail::conversation &with) noexcept : socket(with.raw), with_(with)
    {
    }
    async_socket(const async_socket &) = delete;
    async_socket &operator=(const async_socket &) = delete;

    // co_await socket.receive(): the next message; nothing when the socket is closed. One task at a time.
    [[nodiscard("to be awaited")]] auto receive() noexcept
    {
        return detail::socket_receive_awaiter(with_);
    }
    // The same as a task, for skua::within and skua::when_any; a cancelled one takes no message.
    task<std::optional<socket_message>> receive_task()
    {
        co_return co_await receive();
    }

    // co_await socket.send("text") sends a message. It waits for room if how.slow is SKUA_WEBSOCKET_WAIT; otherwise it
    // does as socket::text.
    // message: must live until this is done.
    // Errors: skua::cancelled when the socket is closed; skua::error for text that is not UTF-8, or a message longer
    // than queued_octets_max.
    [[nodiscard("to be awaited")]] auto send(std::string_view message) noexcept
    {
        return detail::socket_send_awaiter(raw(), message, true);
    }
    [[nodiscard("to be awaited")]] auto send(const socket_message &message) noexcept
    {
        return detail::socket_send_awaiter(raw(), message.octets, message.text);
    }
    [[nodiscard("to be awaited")]] auto send_binary(std::string_view message) noexcept
    {
        return detail::socket_send_awaiter(raw(), message, false);
    }
    [[nodiscard("to be awaited")]] auto send_binary(std::span<const std::byte> message) noexcept
    {
        return detail::socket_send_awaiter(raw(), view(slice(message)), false);
    }

    // After the close: the code and the reason, as websocket::close gets them.
    bool is_closed() const noexcept
    {
        return with_.end.code() != 0;
    }
    unsigned code() const noexcept
    {
        return with_.end.code();
    }
    std::string_view reason() const noexcept
    {
        return with_.end.reason();
    }

  private:
    detail::conversation &with_;
};

namespace detail
{

template <class F>
concept socket_coroutine = requires(F &fn, async_socket &socket, request of) {
    { fn(socket, std::move(of)) } -> std::same_as<task<void>>;
};

// The coroutine of one socket. Returns: the code that it is closed with then.
template <class F> task<unsigned> socket_serve_whole(F &fn, conversation &talk, request of, skua_request *raw)
{
    async_socket here(talk);
    try {
        co_await fn(here, of);
    } catch (const cancelled &) {
    } catch (const std::exception &e) {
        complain(raw, e.what());
        co_return 1011;
    } catch (...) {
        complain(raw, "a coroutine threw what is no std::exception");
        co_return 1011;
    }
    co_return 1000;
}

template <class F> flight socket_run(F &fn, skua_socket socket, skua_request *raw)
{
    life alive;
    unsigned code = 1011;
    try {
        hold tie(raw, alive);
        conversation talk(socket, extra_of(raw), alive.worker);
        co_await flight::promise_type::told{ &alive };
        code = co_await socket_serve_whole(fn, talk, request(raw, &alive), raw);
    } catch (...) {
        complain(raw, "no memory to serve a socket with");
    }
    (void)skua_socket_close(socket, code, {});
}

} // namespace detail

} // namespace skua

#endif // SKUA_CPP_ASYNC_SOCKET_HPP
