// SPDX-License-Identifier: MIT
//
// A handler that asks several sources at once and responds with the answers that came in time:
// curl http://127.0.0.1:8080/offers/tea
#include <skua/skua.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

// A price, or null: of somebody who does not answer.
static std::string price(int pence)
{
    return pence < 0 ? "null" : std::to_string(pence);
}

// A library that waits: it is called on a helper thread.
static skua::task<int> ask_shop(std::string name)
{
    co_return co_await skua::blocking([&] {
        std::this_thread::sleep_for(20ms);
        if (name != "tea" && name != "coffee") throw skua::http_error(404, "no shop sells " + name);
        return name == "tea" ? 340 : 610;
    });
}

// A library that calls back, on a thread of its own.
static void market_price(const std::string &name, std::function<void(int)> done)
{
    std::thread([tea = name == "tea", done = std::move(done)] {
        std::this_thread::sleep_for(10ms);
        done(tea ? 312 : 595);
    }).detach();
}

static skua::task<int> ask_market(skua::request req, std::string name)
{
    skua::callback<int> told(req);
    market_price(name, told.resolver());
    co_return co_await told;
}

// Somebody who takes long at times.
static skua::task<int> bid(std::string name)
{
    co_await skua::sleep(name == "tea" ? 30s : 5ms);
    co_return 580;
}

static skua::task<int> ask_auction(std::string name)
{
    try {
        co_return co_await skua::within(300ms, bid(std::move(name)));
    } catch (const skua::timed_out &) {
        co_return -1;
    }
}

int main(int argc, char **argv)
{
    skua::server app({ .listen = argc > 1 ? argv[1] : "127.0.0.1:8080" });
    app.get("/offers/{name}", [](skua::request req) -> skua::task<> {
        std::string name(req.param("name"));
        auto [shop, market, auction] =
            co_await skua::when_all(ask_shop(name), ask_market(req, name), ask_auction(name));
        req.json("{\"shop\":", price(shop), ",\"market\":", price(market), ",\"auction\":", price(auction), "}\n");
    });
    app.run();
}
