// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: slices and views, errors, and text as numbers.
#ifndef SKUA_CPP_VALUES_HPP
#define SKUA_CPP_VALUES_HPP

#include "../skua.h"

#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace skua {


inline std::string_view view(skua_slice octets) noexcept
{
    return octets.len ? std::string_view(octets.ptr, octets.len) : std::string_view();
}

inline skua_slice slice(std::string_view octets) noexcept
{
    return { octets.data(), octets.size() };
}

inline skua_slice slice(std::span<const std::byte> octets) noexcept
{
    return { reinterpret_cast<const char *>(octets.data()), octets.size() };
}

inline namespace literals {
constexpr std::uint64_t operator""_KiB(unsigned long long n) { return n << 10; }
constexpr std::uint64_t operator""_MiB(unsigned long long n) { return n << 20; }
} // namespace literals

// A function of skua.h failed.
class error : public std::runtime_error {
public:
    explicit error(skua_status status) : error(status, skua_status_text(status)) {}
    error(skua_status status, const std::string &sentence) : std::runtime_error(sentence), status_(status) {}
    skua_status status() const noexcept { return status_; }

private:
    skua_status status_;
};

// Thrown by a handler: the response is this status and its page. status: 400..599.
// sentence: shown to the client in the page, in place of the general explanation; from status 500 on it is also
// logged, with the request.
class http_error : public std::runtime_error {
public:
    explicit http_error(int status)
        : std::runtime_error("HTTP status " + std::to_string(status)), status_(status), says_(false)
    {
    }
    http_error(int status, const std::string &sentence) : std::runtime_error(sentence), status_(status), says_(true) {}
    int status() const noexcept { return status_; }
    // The sentence for the page; empty when none was given.
    std::string_view sentence() const noexcept { return says_ ? std::string_view(what()) : std::string_view(); }

private:
    int status_;
    bool says_;
};

// Thrown by everything that a coroutine awaits, and by its request, once the request is gone.
class cancelled : public std::exception {
public:
    const char *what() const noexcept override { return "the request is gone"; }
};

// The library's version, "0.2.0".
inline std::string_view version() noexcept
{
    return skua_version();
}

// The SHA-256 digest of octets, for tokens and signatures; it is too fast for passwords.
inline std::array<unsigned char, SKUA_SHA256_OCTETS> sha256(std::string_view octets) noexcept
{
    std::array<unsigned char, SKUA_SHA256_OCTETS> digest;
    skua_sha256(slice(octets), digest.data());
    return digest;
}

inline void check(skua_status status)
{
    if (status == SKUA_OK) return;
    if (status == SKUA_ENOMEM) throw std::bad_alloc();
    throw error(status);
}

// Reads text as a number or another type; nothing if it is not wholly one. bool is "true", "false", "1" or "0".
template <class T> std::optional<T> parse(std::string_view text)
{
    if constexpr (std::same_as<T, std::string_view> || std::same_as<T, std::string>) {
        return T(text);
    } else if constexpr (std::same_as<T, bool>) {
        if (text == "true" || text == "1") return true;
        if (text == "false" || text == "0") return false;
        return std::nullopt;
    } else {
        static_assert(std::is_arithmetic_v<T>, "skua::parse reads text, bool, integers and floating point");
        T value{};
        auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (text.empty() || failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
        return value;
    }
}

namespace detail {

// The callback, or none if the function is empty (a null pointer or an empty std::function): C then stops the process
// with a sentence at once, and not when the function would be called.
template <class C, class F> constexpr C *given(const F &fn, C *callback) noexcept
{
    if constexpr (std::is_constructible_v<F, std::nullptr_t> && requires { fn == nullptr; }) {
        if (fn == nullptr) return nullptr;
    }
    return callback;
}

inline std::optional<std::string_view> maybe(skua_slice text) noexcept
{
    if (!text.ptr) return std::nullopt;
    return view(text);
}

template <class T> T in_range(T value, const char *name, T min, T max)
{
    if (value < min || max < value) throw http_error(400, std::string("parameter ") + name + " is out of range");
    return value;
}

template <class T> T parameter(std::string_view text, const char *name)
{
    static_assert(!std::same_as<T, const char *>, "a view has no terminating NUL; ask for std::string");
    if (auto value = parse<T>(text)) return *std::move(value);
    throw http_error(400, std::string("parameter ") + name + " is not of its type");
}

} // namespace detail

} // namespace skua

#endif // SKUA_CPP_VALUES_HPP
