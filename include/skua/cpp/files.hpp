// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: directories and open files.
#ifndef SKUA_CPP_FILES_HPP
#define SKUA_CPP_FILES_HPP

#include "task.hpp"

#include <memory>
#include <span>

namespace skua {

// A directory beneath which files are opened; no path leads out of it. It must outlive the requests that use it.
class root {
public:
    explicit root(const char *path, skua_links links = SKUA_LINKS_INSIDE)
    {
        skua_root *opened = nullptr;
        if (skua_status status = skua_root_open(path, &opened)) throw error(status, std::string(path) + ": " + skua_status_text(status));
        raw_.reset(opened);
        skua_root_follow(opened, links);
    }

    skua_root *raw() const noexcept { return raw_.get(); }

    // Calls fn(std::string_view name, const skua_file_info &) for each entry of a directory; blocks. See skua_root_list.
    template <std::invocable<std::string_view, const skua_file_info &> F> void list(std::string_view path, F fn) const
    {
        struct call {
            F &fn;
            std::exception_ptr thrown = nullptr;
        } now{ fn };
        check(skua_root_list(
            raw(), slice(path),
            +[](const char *name, const skua_file_info *info, void *user) {
                auto *self = static_cast<call *>(user);
                try {
                    self->fn(std::string_view(name), *info);
                } catch (...) {
                    self->thrown = std::current_exception();
                }
                return !self->thrown;
            },
            &now));
        if (now.thrown) std::rethrow_exception(now.thrown);
    }

private:
    struct closer {
        void operator()(skua_root *raw) const noexcept { skua_root_close(raw); }
    };
    std::unique_ptr<skua_root, closer> raw_;
};

// A reference to an open file. It belongs to the worker that opened the file.
class file {
public:
    file() noexcept = default;
    // given: whether the reference is handed over, as by skua_file_open, or a new one is added, as for an upload.
    explicit file(skua_file *raw, bool given = false) noexcept : raw_(raw && !given ? skua_file_ref(raw) : raw) {}
    file(const file &other) noexcept : file(other.raw_) {}
    file(file &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    file &operator=(file other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~file()
    {
        if (raw_) skua_file_unref(raw_);
    }

    explicit operator bool() const noexcept { return raw_ != nullptr; }
    skua_file *raw() const noexcept { return raw_; }

    // Reads, and waits for the disk. Returns the number of octets; 0 at the end of the file.
    std::size_t read(std::uint64_t offset, std::span<char> room) const
    {
        std::size_t octets = 0;
        check(skua_file_read(raw_, offset, room.data(), room.size(), &octets));
        return octets;
    }

    // Gives a name to a file without one: see skua_file_keep.
    void keep(const root &in, std::string_view path) const { check(skua_file_keep(raw_, in.raw(), slice(path))); }

private:
    skua_file *raw_ = nullptr;
};

// A file that open has opened.
struct opened {
    skua::file file;
    skua_file_info info{};
};

namespace detail {

// Neither can be cancelled: the frame waits until the disk has answered, whatever happens to the request.
struct open_awaiter : once {
    skua_root *root;
    std::string path;
    skua_status status = SKUA_OK;
    opened got;

    open_awaiter(skua_root *in, std::string_view name) : root(in), path(name) {}
    bool await_ready() const noexcept { return false; }
    template <of_request P> bool await_suspend(std::coroutine_handle<P> h)
    {
        alive = h.promise().alive;
        if (!alive->raw) return false;
        skua_file_open(alive->worker, root, slice(path), told, this);
        return begun(alive, h);
    }
    static void told(skua_worker *, skua_status status, skua_file *raw, const skua_file_info *info, void *user)
    {
        auto *self = static_cast<open_awaiter *>(user);
        self->status = status;
        if (!status) self->got = { file(raw, true), *info };
        self->complete();
    }
    opened await_resume()
    {
        judge();
        if (status == SKUA_ENOENT) throw http_error(404);
        if (status == SKUA_EACCES) throw http_error(403);
        check(status);
        return std::move(got);
    }
};

struct load_awaiter : once {
    skua_file *from;
    std::uint64_t offset;
    std::span<char> room;
    skua_status status = SKUA_OK;
    std::size_t octets = 0;

    load_awaiter(skua_file *f, std::uint64_t at, std::span<char> to) noexcept : from(f), offset(at), room(to) {}
    bool await_ready() const noexcept { return false; }
    template <of_request P> bool await_suspend(std::coroutine_handle<P> h)
    {
        alive = h.promise().alive;
        if (!alive->raw) return false;
        skua_file_load(from, offset, room.data(), room.size(), told, this);
        return begun(alive, h);
    }
    static void told(skua_worker *, skua_status status, std::size_t octets, void *user)
    {
        auto *self = static_cast<load_awaiter *>(user);
        self->status = status;
        self->octets = octets;
        self->complete();
    }
    std::size_t await_resume() const
    {
        judge();
        check(status);
        return octets;
    }
};

} // namespace detail

// co_await skua::open(root, "a.txt") opens a file, and returns it with its skua_file_info. Errors: http_error 404 or
// 403.
[[nodiscard("to be awaited")]] inline auto open(const root &in, std::string_view path)
{
    return detail::open_awaiter(in.raw(), path);
}

// co_await skua::load(file, offset, room) reads without making the worker wait for the disk, and returns the number of
// octets.
[[nodiscard("to be awaited")]] inline auto load(const file &from, std::uint64_t offset, std::span<char> room)
{
    return detail::load_awaiter(from.raw(), offset, room);
}

// Responds with a part of a file, which the request keeps open.
inline void respond_file(const request &of, const char *type, const file &from, std::uint64_t offset, std::uint64_t length,
                         int status = 200)
{
    check(skua_respond_file(of.raw(), status, type, from.raw(), offset, length));
}

// Writes a part of a file to a response that request::stream has begun. Returns: false: there is no room now.
inline bool write_file(const request &of, const file &from, std::uint64_t offset, std::uint64_t length)
{
    skua_status status = skua_write_file(of.raw(), from.raw(), offset, length);
    if (status == SKUA_ELIMIT) return false;
    check(status);
    return true;
}

} // namespace skua

#endif // SKUA_CPP_FILES_HPP
