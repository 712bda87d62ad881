// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: directories whose changes are counted.
#ifndef SKUA_CPP_WATCH_HPP
#define SKUA_CPP_WATCH_HPP

#include "files.hpp"
#include "lifetime.hpp"
#include "server.hpp"

#include <atomic>
#include <string>

namespace skua {

// A directory whose changes are counted; directories below it are not. It is closed when this object ends, and at the
// latest with its server. See skua_watch_open.
class watch : private detail::of_server {
public:
    // Watches root/path. It may wait for the disk; open_watch does not. The root must live as long.
    // Errors: skua::error, SKUA_ENOENT, SKUA_EACCES, SKUA_ELIMIT, SKUA_ENOFILE, SKUA_EIO, SKUA_EUNSUPPORTED;
    // SKUA_ECLOSED the server is gone.  Thread: any.
    watch(server &of, const root &in, std::string_view path) : watch()
    {
        skua_watch *opened = nullptr;
        check(skua_watch_open(of.raw(), in.raw(), slice(path), &opened));
        begin(of, opened);
    }

    // The same, or nothing if the disk may have to be asked.
    [[nodiscard]] static std::optional<watch> attempt(server &of, const root &in, std::string_view path)
    {
        skua_watch *opened = nullptr;
        skua_status status = SKUA_OK;
        if (!skua_watch_try(of.raw(), in.raw(), slice(path), &opened, &status)) return std::nullopt;
        check(status);
        std::optional<watch> made(watch{});
        made->begin(of, opened);
        return made;
    }

    watch(watch &&other) noexcept : watch() { take(other); }
    watch &operator=(watch &&other) noexcept
    {
        if (this == &other) return *this;
        leave();
        take(other);
        return *this;
    }
    ~watch() { leave(); }

    // The number of changes that have been seen; it never falls. Read it before opening a file there: while it stays
    // the same, the file is unchanged as far as is known. After the directory was moved, deleted or unmounted it grows
    // at every call.
    // Errors: skua::error, SKUA_ECLOSED: the server is gone, or the watch was moved.  Thread: any.
    std::uint64_t changes() const
    {
        const skua_watch *now = raw_.load(std::memory_order_acquire);
        if (!now) throw error(SKUA_ECLOSED);
        return skua_watch_changes(now);
    }

    // Whether writes to existing files count as well, as on Linux.  Thread: any.
    static bool includes_writes() noexcept { return skua_watch_includes_writes(); }

private:
    watch() noexcept : of_server(close) {}

    void begin(server &of, skua_watch *opened) noexcept
    {
        raw_.store(opened, std::memory_order_release);
        join(of.life());
    }
    void take(watch &other) noexcept
    {
        raw_.store(other.raw_.exchange(nullptr), std::memory_order_release);
        replace(other);
    }
    static void close(of_server *self, skua_server *of) noexcept
    {
        skua_watch *raw = static_cast<watch *>(self)->raw_.exchange(nullptr);
        if (raw) skua_watch_close(of, raw);
    }

    std::atomic<skua_watch *> raw_{ nullptr };
};

// skua::watch w = co_await skua::open_watch(app, root, "photos") opens a watch without making the worker wait for the
// disk.
[[nodiscard("to be awaited")]] inline task<watch> open_watch(server &of, const root &in, std::string path)
{
    if (auto now = watch::attempt(of, in, path)) co_return *std::move(now);
    co_return co_await blocking([&] { return watch(of, in, path); });
}

} // namespace skua

#endif // SKUA_CPP_WATCH_HPP
