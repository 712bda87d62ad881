// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: several tasks of one request at a time, time limits, and callbacks that can be awaited. Everything
// runs on the request's worker. When the request is gone, each task is cancelled where it waits.
#ifndef SKUA_CPP_TOGETHER_HPP
#define SKUA_CPP_TOGETHER_HPP

#include "task.hpp"

#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <tuple>
#include <vector>

namespace skua {

// Thrown by skua::within.
struct timed_out : std::runtime_error {
    timed_out() : std::runtime_error("a task took longer than it may") {}
};

namespace detail {

// Tasks that run together. Each has its own state, so that it waits and can be cancelled by itself. The frame that
// awaits them continues when all have ended.
struct group : waiter {
    std::coroutine_handle<> parent;
    life *alive = nullptr;
    std::vector<life> lives;
    std::size_t left = 0, decider = 0;
    bool first_wins, decided = false;

    explicit group(bool first) noexcept : first_wins(first)
    {
        cancel = [](waiter *self) { static_cast<group *>(self)->give_up_all(); };
        drained = [](waiter *self) { static_cast<group *>(self)->drain_all(); };
    }

    void give_up_but(std::size_t one) noexcept
    {
        for (std::size_t i = 0; i < lives.size(); i++) {
            if (i != one) give_up(lives[i]);
        }
    }
    // Cancelled tasks end inside; the extra count keeps this object until they have.
    void give_up_all() noexcept
    {
        left++;
        give_up_but(lives.size());
        if (--left == 0) parent.resume();
    }
    void drain_all() noexcept
    {
        left++;
        for (life &one : lives) {
            if (one.waits && one.waits->drained) one.waits->drained(one.waits);
        }
        if (--left) return;
        if (alive->waits == this) alive->waits = nullptr;
        parent.resume();
    }
    // Task number i has ended. Returns: the frame that continues.
    std::coroutine_handle<> ended(std::size_t i, bool failed) noexcept
    {
        if (!decided && (first_wins || failed)) {
            decided = true;
            decider = i;
            give_up_but(i);
        }
        if (--left) return std::noop_coroutine();
        if (alive->waits == this) alive->waits = nullptr;
        return parent;
    }
};

// The frame around one of the tasks.
struct branch {
    struct promise_type : promise_base {
        group *all = nullptr;
        std::size_t number = 0;
        bool failed = false;

        branch get_return_object() noexcept { return branch(std::coroutine_handle<promise_type>::from_promise(*this)); }
        auto final_suspend() noexcept
        {
            struct told {
                bool await_ready() noexcept { return false; }
                std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept
                {
                    promise_type &p = h.promise();
                    return p.all->ended(p.number, p.failed);
                }
                void await_resume() noexcept {}
            };
            return told{};
        }
        void unhandled_exception() noexcept { std::terminate(); } // branch_run catches everything
        void return_void() noexcept {}
    };
    // Tells the promise how its task has ended.
    struct outcome_known {
        bool failed;
        bool await_ready() noexcept { return false; }
        bool await_suspend(std::coroutine_handle<promise_type> h) noexcept
        {
            h.promise().failed = failed;
            return false;
        }
        void await_resume() noexcept {}
    };

    explicit branch(std::coroutine_handle<promise_type> h) noexcept : frame(h) {}
    branch(branch &&other) noexcept : frame(std::exchange(other.frame, nullptr)) {}
    branch &operator=(branch &&) = delete;
    ~branch()
    {
        if (frame) frame.destroy();
    }
    std::coroutine_handle<promise_type> frame;
};

template <class T> using kept_value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;
template <class T> using outcome = std::variant<std::monostate, std::exception_ptr, kept_value<T>>;

template <class T> branch branch_run(task<T> work, outcome<T> &to)
{
    try {
        if constexpr (std::is_void_v<T>) {
            co_await work;
            to.template emplace<2>();
        } else {
            to.template emplace<2>(co_await work);
        }
    } catch (...) {
        to.template emplace<1>(std::current_exception());
    }
    co_await branch::outcome_known{ to.index() == 1 };
}

// Starts branches, and suspends the frame that awaits them until the last has ended.
struct group_awaiter {
    group all;
    std::vector<branch> branches;
    bool gone = false;

    explicit group_awaiter(bool first) noexcept : all(first) {}
    group_awaiter(group_awaiter &&other) noexcept : all(other.all.first_wins), branches(std::move(other.branches)) {}
    bool await_ready() const noexcept { return false; }

    bool start(life *alive, std::coroutine_handle<> parent)
    {
        gone = !alive->raw;
        if (gone || branches.empty()) return false;
        all.alive = alive;
        all.parent = parent;
        all.lives.assign(branches.size(), life{ alive->raw, alive->worker });
        all.left = branches.size() + 1;
        alive->waits = &all;
        for (std::size_t i = 0; i < branches.size(); i++) {
            branch::promise_type &p = branches[i].frame.promise();
            p.all = &all;
            p.number = i;
            p.alive = &all.lives[i];
            if (all.decided || !alive->raw) all.left--; // it is not started any more
            else branches[i].frame.resume();
        }
        if (--all.left) return true;
        if (alive->waits == &all) alive->waits = nullptr;
        return false;
    }
    // The number of the task that decides, which is the first that has ended or failed.
    std::size_t decided() const
    {
        if (gone || (all.alive && !all.alive->raw)) throw cancelled();
        return all.decided ? all.decider : branches.size();
    }
    template <class T> static kept_value<T> take(outcome<T> &of)
    {
        if (of.index() == 1) std::rethrow_exception(std::get<1>(of));
        return std::get<2>(std::move(of));
    }
};

template <bool First, class... T> struct tuple_awaiter : group_awaiter {
    std::tuple<outcome<T>...> outcomes;
    std::tuple<task<T>...> tasks;

    explicit tuple_awaiter(task<T>... given) : group_awaiter(First), tasks(std::move(given)...) {}
    template <of_request P> bool await_suspend(std::coroutine_handle<P> h)
    {
        begin(std::index_sequence_for<T...>());
        return start(h.promise().alive, h);
    }
    template <std::size_t... I> void begin(std::index_sequence<I...>)
    {
        (branches.push_back(branch_run(std::move(std::get<I>(tasks)), std::get<I>(outcomes))), ...);
    }
    auto await_resume() { return taken(decided(), std::index_sequence_for<T...>()); }

    template <std::size_t... I> auto taken(std::size_t at, std::index_sequence<I...>)
    {
        if constexpr (First) {
            std::optional<std::variant<kept_value<T>...>> found;
            ((at == I ? (void)found.emplace(std::in_place_index<I>, take<T>(std::get<I>(outcomes))) : void()), ...);
            return std::move(*found);
        } else {
            ((at == I ? (void)take<T>(std::get<I>(outcomes)) : void()), ...);
            return std::tuple<kept_value<T>...>(take<T>(std::get<I>(outcomes))...);
        }
    }
};

template <class T> struct list_awaiter : group_awaiter {
    std::vector<outcome<T>> outcomes;
    std::vector<task<T>> tasks;

    explicit list_awaiter(std::vector<task<T>> given) : group_awaiter(false), outcomes(given.size()), tasks(std::move(given)) {}
    template <of_request P> bool await_suspend(std::coroutine_handle<P> h)
    {
        for (std::size_t i = 0; i < tasks.size(); i++)
            branches.push_back(branch_run(std::move(tasks[i]), outcomes[i]));
        return start(h.promise().alive, h);
    }
    auto await_resume()
    {
        std::size_t at = decided();
        if (at < outcomes.size()) (void)take<T>(outcomes[at]);
        if constexpr (!std::is_void_v<T>) {
            std::vector<T> values;
            for (outcome<T> &one : outcomes)
                values.push_back(take<T>(one));
            return values;
        }
    }
};

} // namespace detail

// auto [user, posts] = co_await skua::when_all(find_user(id), find_posts(id)) runs tasks together and continues when
// all have ended. When one throws, the others are cancelled, and the exception is passed on. A task<> gives
// std::monostate.
template <class... T> [[nodiscard("to be awaited")]] auto when_all(task<T>... tasks)
{
    return detail::tuple_awaiter<false, T...>(std::move(tasks)...);
}

// The same for any number of tasks of one type; gives a vector, or nothing for task<>.
template <class T> [[nodiscard("to be awaited")]] auto when_all(std::vector<task<T>> tasks)
{
    return detail::list_awaiter<T>(std::move(tasks));
}

// Continues with the first task that ends, as a std::variant whose index tells which; its exception is passed on. The
// others are cancelled; a job on a helper thread is waited for.
template <class... T> [[nodiscard("to be awaited")]] auto when_any(task<T>... tasks)
{
    static_assert(sizeof...(T) > 0, "nothing would ever end");
    return detail::tuple_awaiter<true, T...>(std::move(tasks)...);
}

namespace detail {

inline task<> sleep_through(std::chrono::nanoseconds delay)
{
    co_await sleep(delay);
}

template <class T, class E> task<T> first_or(task<T> work, task<> other, E thrown)
{
    auto done = co_await when_any(std::move(work), std::move(other));
    if (done.index() == 1) throw thrown;
    if constexpr (!std::is_void_v<T>) co_return std::get<0>(std::move(done));
}

} // namespace detail

// co_await skua::within(2s, ask(other)) throws skua::timed_out when it takes longer, and cancels it.
template <class T> task<T> within(std::chrono::nanoseconds limit, task<T> work)
{
    return detail::first_or(std::move(work), detail::sleep_through(limit), timed_out());
}

// ---- Callbacks --------------------------------------------------------------------------------

// A value that a callback provides. Pass resolver() to the library that calls back, once, on any thread, before the
// server is destroyed, and await this object.
//
//     skua::callback<int> answer(req);
//     client.ask("…", answer.resolver());
//     int n = co_await answer;
template <class T = void> class callback {
    struct state;
    struct awaiter;

public:
    explicit callback(const request &of) : state_(std::make_shared<state>())
    {
        skua_worker *worker = skua_request_worker(of.raw());
        state_->server = skua_worker_server(worker);
        state_->index = skua_worker_index(worker);
    }
    callback(callback &&) noexcept = default;
    callback &operator=(callback &&) = delete;
    ~callback() = default;

    // A function of T, or of nothing. Copies share their state; the first call counts. May throw std::bad_alloc.
    auto resolver() const
    {
        return [to = state_](auto &&...value) { to->resolve(std::forward<decltype(value)>(value)...); };
    }

    auto operator co_await() const { return awaiter(state_); }

private:
    struct awaiter : detail::once {
        std::shared_ptr<state> of;
        explicit awaiter(std::shared_ptr<state> s) : of(std::move(s)) {}
        awaiter(awaiter &&) = delete;
        bool await_ready() const noexcept { return false; }
        template <detail::of_request P> bool await_suspend(std::coroutine_handle<P> h)
        {
            alive = h.promise().alive;
            if (of->arrived || !alive->raw) return false;
            of->waiting = this;
            cancel = [](detail::waiter *self) {
                auto *me = static_cast<awaiter *>(self);
                me->of->waiting = nullptr;
                me->complete();
            };
            return begun(alive, h);
        }
        T await_resume() const
        {
            judge();
            if constexpr (!std::is_void_v<T>) return std::move(*of->value);
        }
    };

    struct state : std::enable_shared_from_this<state> {
        skua_server *server = nullptr;
        unsigned index = 0;
        std::mutex lock; // guards resolved and value until the value has arrived
        bool resolved = false;
        std::optional<detail::kept_value<T>> value;
        // The worker's.
        bool arrived = false;
        detail::once *waiting = nullptr;

        template <class... V> void resolve(V &&...v)
        {
            using held = std::shared_ptr<state>;
            auto own = std::make_unique<held>(this->shared_from_this());
            {
                std::lock_guard<std::mutex> guard(lock);
                if (std::exchange(resolved, true)) return;
                value.emplace(std::forward<V>(v)...);
            }
            auto arrive = [](skua_worker *, void *user) {
                std::unique_ptr<held> now(static_cast<held *>(user));
                state &s = **now;
                s.arrived = true;
                if (detail::once *w = std::exchange(s.waiting, nullptr)) w->complete();
            };
            if (skua_post(server, index, arrive, own.get()) == SKUA_OK) (void)own.release();
        }
    };

    std::shared_ptr<state> state_;
};

namespace detail {

inline task<> until_stopped(request of, std::stop_token token)
{
    callback<> told(of);
    std::stop_callback on(std::move(token), told.resolver());
    co_await told;
}

} // namespace detail

// co_await skua::stoppable(req, token, work()) throws skua::cancelled when a stop is requested, on any thread, and
// cancels the work.
template <class T> task<T> stoppable(request of, std::stop_token token, task<T> work)
{
    return detail::first_or(std::move(work), detail::until_stopped(std::move(of), std::move(token)), cancelled());
}

} // namespace skua

#endif
