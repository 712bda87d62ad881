// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: the statistics of server::stats. All functions but respond_stats may be called on any thread.
#ifndef SKUA_CPP_STATS_HPP
#define SKUA_CPP_STATS_HPP

#include "request.hpp"

#include <chrono>
#include <string>

namespace skua {

// The longest duration that is counted at a place of skua_stats::durations; std::chrono::nanoseconds::max() for the last one.
inline std::chrono::nanoseconds stats_bound(unsigned index)
{
    return std::chrono::nanoseconds(skua_stats_bound_ns(index));
}

// A quantile of the durations: with 0.99, the duration that 99 of 100 requests did not exceed. See
// skua_stats_quantile_ns.
inline std::chrono::nanoseconds stats_quantile(const skua_stats &of, double quantile)
{
    return std::chrono::nanoseconds(skua_stats_quantile_ns(&of, quantile));
}

// Writes statistics in the text format of Prometheus.
inline std::string stats_text(const skua_stats &of)
{
    std::string text(skua_stats_write(&of, nullptr, 0) + 1, '\0');
    text.resize(skua_stats_write(&of, text.data(), text.size()));
    return text;
}

// A handler that responds with the statistics of its server: app.get("/metrics", skua::respond_stats). Protect the
// route, or serve it at an address of its own.
inline void respond_stats(request &of)
{
    skua_respond_stats(of.raw(), nullptr);
}

} // namespace skua

#endif // SKUA_CPP_STATS_HPP
