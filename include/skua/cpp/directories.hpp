// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: how directories, embedded files and single files are served and compressed.
#ifndef SKUA_CPP_DIRECTORIES_HPP
#define SKUA_CPP_DIRECTORIES_HPP

#include "request.hpp"

#include <functional>
#include <vector>

namespace skua {

// How a directory is served: see skua_directory_config, also for the defaults; 0 and nullptr mean default.
struct directory_config {
    bool list = false, dotfiles = false;
    const char *index = nullptr, *cache_control = nullptr;
    std::size_t cache_octets_max = 0;
    unsigned cache_entries_max = 0;
    std::size_t small_octets_max = 0;
    unsigned ranges_max = 0;
    const char *list_markup = nullptr, *list_script = nullptr, *list_script_hash = nullptr;
    std::size_t listings_octets_max = 0;
    skua_links links = SKUA_LINKS_INSIDE;
    const char *fallback = nullptr, *not_found = nullptr;
    bool clean_urls = false, precompressed = false, compress = false;
    const char *codings = nullptr;
    std::vector<skua_media> types = {}; // { { ".md", "text/markdown; charset=utf-8" } }
    skua_etags etags = SKUA_ETAGS_AUTO;
    // Called for each file before it is sent. Returns 0, or the status of an error, or -1: it has responded, or will.
    // An exception becomes the response, as in a handler. path: beneath the directory, valid during the call.
    // Thread: the request's worker; several workers call it at once. It must not block. It lives as long as the server
    // or site.
    std::function<int(request &, std::string_view path, const skua_file_info &info)> decide = {};
    const char *name = nullptr;
    std::vector<const char *> tries = {}; // { "{path}.html" }
    skua_directory **opened = nullptr;    // receives the directory, for request::serve
    // Returns what list_markup is for the page at path: see skua_directory_config. It must not throw. Its lifetime is that of
    // decide.  Thread: the request's worker; several call at once.
    std::function<const char *(std::string_view path)> list_markup_of = {};
};

// How embedded files are served: see skua_assets_config.
struct assets_config {
    const char *index = nullptr, *cache_control = nullptr, *fallback = nullptr, *not_found = nullptr, *name = nullptr;

    operator skua_assets_config() const noexcept
    {
        skua_assets_config c{};
        c.index = index;
        c.cache_control = cache_control;
        c.fallback = fallback;
        c.not_found = not_found;
        c.name = name;
        return c;
    }
};

// How the responses below a prefix are compressed: see skua_compression.
struct compression {
    std::size_t octets_min = 0;
    bool off = false;
    const char *types = nullptr;

    operator skua_compression() const noexcept
    {
        skua_compression c{};
        c.octets_min = octets_min;
        c.off = off;
        c.types = types;
        return c;
    }
};

namespace detail {

// The functions of a directory, which live as long as what they are given to.
struct directory_functions {
    std::function<int(request &, std::string_view, const skua_file_info &)> decide;
    std::function<const char *(std::string_view)> list_markup_of;
};

// An exception becomes the response, as in a handler.
inline int decide(skua_request *raw, skua_slice path, const skua_file_info *info, void *user) noexcept
{
    try {
        request self(raw);
        return static_cast<directory_functions *>(user)->decide(self, view(path), *info);
    } catch (...) {
        request::fail(raw);
        return -1;
    }
}

inline const char *list_markup_of(skua_slice path, void *user) noexcept
{
    return static_cast<directory_functions *>(user)->list_markup_of(view(path));
}

// kept: its functions, which live as long as the server or site; NULL if it has none.
inline skua_directory_config converted(const directory_config &of, directory_functions *kept) noexcept
{
    skua_directory_config c{};
    c.list = of.list;
    c.dotfiles = of.dotfiles;
    c.index = of.index;
    c.cache_control = of.cache_control;
    c.cache_octets_max = of.cache_octets_max;
    c.cache_entries_max = of.cache_entries_max;
    c.small_octets_max = of.small_octets_max;
    c.ranges_max = of.ranges_max;
    c.list_markup = of.list_markup;
    c.list_script = of.list_script;
    c.list_script_hash = of.list_script_hash;
    c.listings_octets_max = of.listings_octets_max;
    c.links = of.links;
    c.fallback = of.fallback;
    c.not_found = of.not_found;
    c.clean_urls = of.clean_urls;
    c.precompressed = of.precompressed;
    c.compress = of.compress;
    c.codings = of.codings;
    c.types = of.types.data();
    c.types_count = of.types.size();
    c.etags = of.etags;
    c.decide = of.decide ? decide : nullptr;
    c.decide_user = kept;
    c.name = of.name;
    c.tries = of.tries.data();
    c.tries_count = of.tries.size();
    c.opened = of.opened;
    c.list_markup_of = of.list_markup_of ? list_markup_of : nullptr;
    c.list_markup_user = kept;
    return c;
}

} // namespace detail

} // namespace skua

#endif // SKUA_CPP_DIRECTORIES_HPP
