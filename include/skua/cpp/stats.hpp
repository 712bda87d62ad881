// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: the counts of server::stats. All of it may be called on any thread, but for respond_stats.
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

// The duration that so much of all requests did not exceed, 0.99 for that of 99 in 100: see skua_stats_quantile_ns.
inline std::chrono::nanoseconds stats_quantile(const skua_stats &of, double quantile)
{
    return std::chrono::nanoseconds(skua_stats_quantile_ns(&of, quantile));
}

// The text format of Prometheus.
inline std::string stats_text(const skua_stats &of)
{
    std::string text(skua_stats_write(&of, nullptr, 0) + 1, '\0');
    text.resize(skua_stats_write(&of, text.data(), text.size()));
    return text;
}

// A handler that responds so with the statistics of its server: app.get("/metrics", skua::respond_stats). The route should be
// guarded, or on an address of its own.
inline void respond_stats(request &of)
{
    skua_respond_stats(of.raw(), nullptr);
}

} // namespace skua

#endif // SKUA_CPP_STATS_HPP
