// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: a worker, one of the threads that serve, and memory of the program that it counts.
#ifndef SKUA_CPP_WORKER_HPP
#define SKUA_CPP_WORKER_HPP

#include "values.hpp"

#include <chrono>
#include <utility>

namespace skua {

// A view of a worker; copying it copies a pointer. It converts to skua_worker *. Valid while the worker runs; its
// functions are called on its thread, unless they say otherwise.
class worker {
public:
    worker(skua_worker *raw) noexcept : raw_(raw) {}
    operator skua_worker *() const noexcept { return raw_; }
    skua_worker *raw() const noexcept { return raw_; }

    // Its number, from 0, and its server.  Thread: any.
    unsigned index() const { return skua_worker_index(raw_); }
    skua_server *server() const { return skua_worker_server(raw_); }

    // The time at which this turn began: monotonic, and of the calendar.
    std::chrono::nanoseconds now() const { return std::chrono::nanoseconds(skua_worker_now_ns(raw_)); }
    std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds> time() const
    {
        return std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>(
            std::chrono::nanoseconds(skua_worker_unix_ns(raw_)));
    }

private:
    skua_worker *raw_;
};

// Octets of the program that count in config::memory_max as long as this object lives. It must end before its worker,
// on that worker. No call is refused. See skua_memory_count.
class counted_memory {
public:
    counted_memory(worker on, std::size_t octets) : on_(on) { resize(octets); }
    counted_memory(counted_memory &&other) noexcept : on_(other.on_), octets_(std::exchange(other.octets_, 0)) {}
    counted_memory &operator=(counted_memory &&) = delete;
    ~counted_memory()
    {
        if (octets_) skua_memory_count(on_, -octets_);
    }

    // Sets the number of octets that are counted.
    void resize(std::size_t octets)
    {
        auto now = static_cast<std::int64_t>(octets);
        skua_memory_count(on_, now - octets_);
        octets_ = now;
    }

private:
    worker on_;
    std::int64_t octets_ = 0;
};

} // namespace skua

#endif // SKUA_CPP_WORKER_HPP
