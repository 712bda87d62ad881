// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: certificates, and how a server speaks TLS.
#ifndef SKUA_CPP_TLS_HPP
#define SKUA_CPP_TLS_HPP

#include "values.hpp"

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace skua {

// ---- What is given ----------------------------------------------------------------------------

// Client certificates: see skua_tls_clients.
struct tls_clients {
    skua_tls_asking asking = SKUA_TLS_ASK_NOT;
    const char *ca_file = nullptr; // PEM; or the same in memory:
    std::string_view ca_pem = {};

    operator skua_tls_clients() const noexcept
    {
        skua_tls_clients c{};
        c.asking = asking;
        c.ca_file = ca_file;
        c.ca_pem = slice(ca_pem);
        return c;
    }
};

// A certificate with its key: see skua_tls_certificate. Pointers are read during the call that it is passed to.
struct tls_certificate {
    const char *file = nullptr;
    std::string_view pem = {}; // the same in memory, where file is nullptr
    const char *key_file = nullptr;
    std::string_view key_pem = {};
    const char *names = nullptr;
    bool is_default = false;
    std::optional<tls_clients> clients = {};
};

namespace detail {

// Certificates in C's form, which points to the objects that it is made of.
class certificates {
public:
    explicit certificates(std::span<const tls_certificate> of)
    {
        clients_.reserve(of.size()); // because pointers to its elements are kept
        for (const tls_certificate &one : of)
            list_.push_back(converted(one));
    }
    certificates(const certificates &) = delete;
    certificates &operator=(const certificates &) = delete;

    const skua_tls_certificate *data() const noexcept { return list_.data(); }
    unsigned count() const noexcept { return static_cast<unsigned>(list_.size()); }

private:
    skua_tls_certificate converted(const tls_certificate &one)
    {
        skua_tls_certificate c{};
        c.file = one.file;
        c.pem = slice(one.pem);
        c.key_file = one.key_file;
        c.key_pem = slice(one.key_pem);
        c.names = one.names;
        c.is_default = one.is_default;
        if (one.clients) c.clients = &clients_.emplace_back(*one.clients);
        return c;
    }

    std::vector<skua_tls_clients> clients_;
    std::vector<skua_tls_certificate> list_;
};

// Room for the longest message about certificates.
constexpr std::size_t why_room = 512;

inline void check_why(skua_status status, const char *why)
{
    if (status == SKUA_OK) return;
    if (status == SKUA_ENOMEM) throw std::bad_alloc();
    throw error(status, *why ? why : skua_status_text(status));
}

} // namespace detail

// A reference to loaded certificates, for tls::choose; copies share them. They never change.
class tls_identity {
public:
    tls_identity() noexcept = default; // none

    // Loads one certificate, or several for the same names whose keys are of different kinds; names and is_default are
    // ignored.
    // Errors: skua::error with a sentence that says what is wrong with which.  Thread: any.
    explicit tls_identity(std::span<const tls_certificate> of)
    {
        const detail::certificates given(of);
        char why[detail::why_room] = "";
        detail::check_why(skua_tls_identity_new(given.data(), given.count(), &raw_, why, sizeof why), why);
    }
    explicit tls_identity(const tls_certificate &one) : tls_identity(std::span<const tls_certificate>(&one, 1)) {}
    tls_identity(const tls_identity &other) noexcept : raw_(other.raw_ ? skua_tls_identity_ref(other.raw_) : nullptr) {}
    tls_identity(tls_identity &&other) noexcept : raw_(other.release()) {}
    tls_identity &operator=(tls_identity other) noexcept
    {
        std::swap(raw_, other.raw_);
        return *this;
    }
    ~tls_identity() { skua_tls_identity_unref(raw_); }

    explicit operator bool() const noexcept { return raw_ != nullptr; }
    skua_tls_identity *raw() const noexcept { return raw_; }

    // Passes the reference to the caller.
    [[nodiscard]] skua_tls_identity *release() noexcept { return std::exchange(raw_, nullptr); }

private:
    skua_tls_identity *raw_ = nullptr;
};

// How a server speaks TLS: see skua_tls_desc. Without certificates and choose it does not speak TLS.
struct tls {
    const char *listen = nullptr;
    std::vector<tls_certificate> certificates = {};
    // Finds the certificate for a server name that certificates does not have, in lower case, empty if the client sent
    // none; an empty result means the default. An exception is logged, and the default is used.
    // Thread: the worker of the connection; several workers call it at once. It must not block. It lives as long as
    // the server.
    std::function<tls_identity(std::string_view server_name)> choose = {};
    skua_tls_version oldest_version = SKUA_TLS_DEFAULT;
    const char *groups = nullptr;
    tls_clients clients = {};
    const char *ticket_file = nullptr;
    bool no_tickets = false;
    const char *records = nullptr;
    std::chrono::nanoseconds handshake_timeout{ 0 };
    const char *keylog_file = nullptr;
};

namespace detail {

// list: of the same certificates; must live as long as the result is used. The caller sets choose and its user.
inline skua_tls_desc converted(const tls &of, const certificates &list) noexcept
{
    skua_tls_desc c{};
    c.listen = of.listen;
    c.certificates = list.data();
    c.certificate_count = list.count();
    c.oldest_version = of.oldest_version;
    c.groups = of.groups;
    c.clients = of.clients;
    c.ticket_file = of.ticket_file;
    c.no_tickets = of.no_tickets;
    c.records = of.records;
    c.handshake_timeout_ns = of.handshake_timeout.count();
    c.keylog_file = of.keylog_file;
    return c;
}

} // namespace detail

// ---- Certificates for development -------------------------------------------------------------

// A self-signed certificate and its key, in PEM; wiped when this object ends.
class tls_self_signed {
public:
    // names: host names and IP addresses, separated by spaces: "localhost 127.0.0.1 ::1". now: the certificate is
    // valid for 365 days, beginning one hour before.  Thread: any.
    explicit tls_self_signed(const char *names, std::chrono::system_clock::time_point now = std::chrono::system_clock::now())
    {
        auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
        check(skua_tls_self_signed(names, static_cast<std::int64_t>(seconds), &certificate_, &key_));
    }
    tls_self_signed(tls_self_signed &&other) noexcept
        : certificate_(std::exchange(other.certificate_, {})), key_(std::exchange(other.key_, {}))
    {
    }
    tls_self_signed &operator=(tls_self_signed &&) = delete;
    ~tls_self_signed()
    {
        skua_tls_free(certificate_);
        skua_tls_free(key_);
    }

    std::string_view certificate() const noexcept { return view(certificate_); }
    std::string_view key() const noexcept { return view(key_); }

    // For tls::certificates; it points to this object.
    operator tls_certificate() const noexcept { return { .pem = certificate(), .key_pem = key() }; }

private:
    skua_slice certificate_{}, key_{};
};

// The SHA-256 fingerprint of a certificate as browsers show it, and when the certificate expires.
struct tls_fingerprint {
    // For the first certificate in a PEM. Errors: skua::error, SKUA_EINVAL: there is none.  Thread: any.
    explicit tls_fingerprint(std::string_view certificate_pem)
    {
        std::int64_t seconds = 0;
        check(skua_tls_fingerprint(slice(certificate_pem), text_, &seconds));
        not_after = std::chrono::system_clock::time_point(std::chrono::seconds(seconds));
    }

    std::string_view text() const noexcept { return text_; } // 32 pairs of hexadecimal digits, separated by colons
    std::chrono::system_clock::time_point not_after;

private:
    char text_[96];
};

} // namespace skua

#endif // SKUA_CPP_TLS_HPP
