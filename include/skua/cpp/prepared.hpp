// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: responses made in advance, and entity tags of files.
#ifndef SKUA_CPP_PREPARED_HPP
#define SKUA_CPP_PREPARED_HPP

#include "files.hpp"
#include "worker.hpp"

#include <memory>
#include <span>
#include <string>

namespace skua {

// A field line for the spans that functions here take. Both live as long as it is used.
inline skua_field field(std::string_view name, std::string_view value) noexcept
{
    return { slice(name), slice(value) };
}

// The parts of a prepared response: see skua_prepared_desc. Everything is copied, except the file, of which the
// response adds a reference.
struct prepared_response {
    int status = 200; // 200..599
    std::span<const skua_field> fields = {};
    std::string_view content = {}; // in memory, or
    skua::file file = {};          // in a file, and
    std::uint64_t offset = 0, length = 0;
    bool has_length = false; // for 304: its length is stated
    // Octets before content that this response alone may write to; used only by the constructor with release.
    std::size_t headroom = 0;
};

// A reference to a response made in advance; copies share it. It belongs to the worker that made it and is used only
// there, so keep it in a skua::local, which gives each worker its own:
//
//     skua::local<skua::prepared> hello(app, [](skua::worker on) {
//         return skua::prepared(on, { .content = "Hello, World!" });
//     });
//     app.get("/", [&](skua::request &req) { skua::respond_prepared(req, hello(req.worker())); });
class prepared {
public:
    // Errors: skua::error, SKUA_EINVAL: the status is out of range, a field is malformed, or the server itself sets
    // it.
    prepared(worker on, const prepared_response &parts)
    {
        const skua_prepared_desc desc = converted(parts);
        check(skua_prepared_new(on, &desc, &raw_));
    }
    // The content is not copied, and must not change until release is called, once, on the worker; release is not
    // called if this throws.
    // Cost: an allocation for release.
    template <std::invocable F> prepared(worker on, const prepared_response &parts, F release)
    {
        auto held = std::make_unique<F>(std::move(release));
        skua_prepared_desc desc = converted(parts);
        desc.release = [](void *user) noexcept {
            std::unique_ptr<F> now(static_cast<F *>(user));
            (*now)();
        };
        desc.release_user = held.get();
        check(skua_prepared_new(on, &desc, &raw_));
        (void)held.release();
    }
    prepared(const prepared &other) : raw_(other.raw_ ? skua_prepared_ref(other.raw_) : nullptr) {}
    prepared(prepared &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
    prepared &operator=(prepared other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~prepared()
    {
        if (raw_) skua_prepared_unref(raw_);
    }

    skua_prepared *raw() const noexcept { return raw_; }

private:
    static skua_prepared_desc converted(const prepared_response &of) noexcept
    {
        skua_prepared_desc c{};
        c.status = of.status;
        c.fields = of.fields.data();
        c.fields_count = of.fields.size();
        c.content = slice(of.content);
        c.file = of.file.raw();
        c.offset = of.offset;
        c.length = of.length;
        c.has_length = of.has_length;
        c.headroom = of.headroom;
        return c;
    }

    skua_prepared *raw_ = nullptr;
};

// Responds with a prepared response. Fields that have been added are sent too. It allocates nothing.
inline void respond_prepared(const request &of, const prepared &with)
{
    check(skua_respond_prepared(of.raw(), with.raw()));
}

// The entity tag that directories give a file, for request::etag: see skua_file_etag. It converts to false if the file
// has none.
class file_etag {
public:
    // content: all of a file of at most 32768 octets; ignored for larger files. now: since 1970.  Thread: any.
    file_etag(const skua_file_info &info, std::string_view content, std::chrono::nanoseconds now) noexcept
        : len_(skua_file_etag(&info, slice(content), now.count(), text_))
    {
    }

    explicit operator bool() const noexcept { return len_ > 0; }
    operator std::string_view() const noexcept { return { text_, len_ }; }

private:
    char text_[SKUA_FILE_ETAG_OCTETS];
    std::size_t len_;
};

// The entity tag of content that comes piece by piece: that of SKUA_ETAGS_CONTENT.  Thread: any, one at a time for each.
class etag_hash {
public:
    void add(std::string_view octets) noexcept { skua_etag_hash_add(&hash_, slice(octets)); }

    // The tag, with its quotes. Nothing is added after it.
    std::string end()
    {
        char text[SKUA_FILE_ETAG_OCTETS];
        return std::string(text, skua_etag_hash_end(&hash_, text));
    }

private:
    skua_etag_hash hash_{};
};

} // namespace skua

#endif // SKUA_CPP_PREPARED_HPP
