// SPDX-License-Identifier: MIT
//
// A small proxy as a coroutine: it sends a request to another HTTP server and passes the response on, piece by
// piece, as fast as the client reads: relay 127.0.0.1:8081 127.0.0.1:8080 relays from the former.
#include <skua/skua.hpp>

#include <arpa/inet.h>
#include <cstdio>
#include <unistd.h>

// A connection to the other server. Its calls wait, so they are made on a helper thread.
class upstream {
public:
    explicit upstream(const sockaddr_in &to) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        if (fd_ < 0 || connect(fd_, reinterpret_cast<const sockaddr *>(&to), sizeof to)) throw skua::http_error(502);
    }
    upstream(upstream &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    upstream &operator=(upstream &&) = delete;
    ~upstream()
    {
        if (fd_ >= 0) close(fd_);
    }
    void ask(const std::string &request) const
    {
        if (::send(fd_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
            throw skua::http_error(502);
    }
    std::string read() const
    {
        std::string piece(65536, '\0');
        ssize_t n = recv(fd_, piece.data(), piece.size(), 0);
        if (n < 0) throw skua::http_error(502);
        piece.resize(static_cast<std::size_t>(n));
        return piece;
    }

private:
    int fd_;
};

static skua::task<> relay(skua::request req, const sockaddr_in &to)
{
    std::string ask = "GET " + std::string(req.target()) + " HTTP/1.0\r\nHost: localhost\r\n\r\n", head;
    upstream other = co_await skua::blocking([&] {
        upstream made(to);
        made.ask(ask);
        return made;
    });
    while (head.find("\r\n\r\n") == std::string::npos && head.size() < 16384) {
        std::string piece = co_await skua::blocking([&] { return other.read(); });
        if (piece.empty()) throw skua::http_error(502);
        head += piece;
    }
    std::string_view rest = std::string_view(head).substr(head.find("\r\n\r\n") + 4);
    req.stream(skua::parse<int>(std::string_view(head).substr(9, 3)).value_or(502), "application/octet-stream");
    co_await req.send(rest);
    for (;;) {
        std::string piece = co_await skua::blocking([&] { return other.read(); });
        if (piece.empty()) co_return;
        co_await req.send(piece);
    }
}

int main(int argc, char **argv)
try {
    sockaddr_in to{};
    std::string from = argc > 1 ? argv[1] : "127.0.0.1:8081";
    to.sin_family = AF_INET;
    to.sin_port = htons(skua::parse<std::uint16_t>(from.substr(from.find(':') + 1)).value_or(0));
    if (!inet_pton(AF_INET, from.substr(0, from.find(':')).c_str(), &to.sin_addr)) throw std::runtime_error("bad address");
    skua::server app;
    app.get("/", [&](skua::request req) { return relay(req, to); });
    app.listen(argc > 2 ? argv[2] : "127.0.0.1:8080").run();
} catch (const std::exception &e) {
    std::fprintf(stderr, "relay: %s\n", e.what());
    return 1;
}
