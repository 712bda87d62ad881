// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: content codings, and media types. All functions may be called on any thread.
#ifndef SKUA_CPP_CODINGS_HPP
#define SKUA_CPP_CODINGS_HPP

#include "values.hpp"

#include <span>
#include <string>

namespace skua {

// The media type for a file name: see skua_media_type.
inline std::string_view media_type(std::string_view name) noexcept
{
    return skua_media_type(slice(name));
}

// Whether the library is compiled with a coding.
inline bool coding_is_built(skua_coding coding) noexcept
{
    return skua_coding_is_built(coding);
}

// Whether content of a media type usually becomes shorter by compression: see skua_compress_gains.
inline bool compress_gains(std::string_view type) noexcept
{
    return skua_compress_gains(slice(type));
}

// Compresses content in one call into room. SKUA_EFFORT_BEST takes a second for each half MiB: see skua::blocking.
// Returns: the number of octets written; nothing if the room does not suffice.
// Errors: skua::error, SKUA_EUNSUPPORTED: the coding is not built in.
inline std::optional<std::size_t> encode(skua_coding coding, skua_effort effort, std::string_view content, std::span<char> room)
{
    std::size_t octets = 0;
    skua_status status = skua_encode(coding, effort, slice(content), room.data(), room.size(), &octets);
    if (status == SKUA_ELIMIT) return std::nullopt;
    check(status);
    return octets;
}

// The same as a string; nothing if it would not be shorter than the content.
inline std::optional<std::string> encode(skua_coding coding, skua_effort effort, std::string_view content)
{
    std::string shorter(content.size(), '\0');
    auto octets = encode(coding, effort, content, std::span<char>(shorter));
    if (!octets) return std::nullopt;
    shorter.resize(*octets);
    return shorter;
}

} // namespace skua

#endif // SKUA_CPP_CODINGS_HPP
