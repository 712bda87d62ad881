// SPDX-License-Identifier: MIT
//
// Part of skua.hpp: sites, which have hosts of their own and can be added and removed while their server runs.
#ifndef SKUA_CPP_SITE_HPP
#define SKUA_CPP_SITE_HPP

#include "server.hpp"

#include <memory>
#include <span>
#include <vector>

namespace skua {

// Routes, middleware and error functions for some hosts of a server, which may run. A site is made, filled, and put
// into the server. Its objects live until the last of its requests has ended. See skua_site.
class site : public detail::routes<site> {
public:
    // identity: the certificate of its hosts; the site adds a reference. nullptr: that of the server's configuration.
    site(skua::server &of, const char *hosts, skua_tls_identity *identity = nullptr)
        : objects_(std::make_unique<detail::kept_objects>())
    {
        skua_site_desc desc{};
        desc.hosts = hosts;
        desc.identity = identity;
        desc.release = [](void *user) { delete static_cast<detail::kept_objects *>(user); };
        desc.user = objects_.get();
        raw_.reset(skua_site_new(of.raw(), &desc));
        if (!raw_) throw std::bad_alloc();
        kept_ = objects_.release(); // released with the site
    }

    skua_site *raw() const noexcept { return raw_.get(); }

    // The server beside which the site was made.
    skua_server *server() const { return skua_site_server(raw()); }

    // Registers fn to be called when the site is freed and none of its requests is left, before its objects are
    // destroyed.
    // Thread: the worker that had the last of its requests, or the thread of the call that freed it.
    template <std::invocable F> site &on_free(F fn)
    {
        auto held = std::make_unique<F>(std::move(fn));
        check(skua_site_on_free(raw(), detail::call_once<F>, held.get()));
        (void)held.release();
        return *this;
    }

    site &directory(const char *pattern, const char *path, const directory_config &how = {})
    {
        const skua_directory_config desc = detail::converted(how, keep_functions(how));
        return judge(skua_site_directory(raw(), pattern, path, &desc));
    }
    site &assets(const char *pattern, const skua_assets &files, const assets_config &how = {})
    {
        const skua_assets_config desc = how;
        return judge(skua_site_assets(raw(), pattern, &files, &desc));
    }

    // Puts the site into the server: it serves its hosts from now on. It then belongs to the server, and nothing more
    // can be added.
    void put()
    {
        judge(skua_site_put(raw()));
        given();
    }

    // Replaces all sites of a server at once; the new ones then belong to the server. On failure nothing has changed.
    // See skua_sites_replace.  Thread: any.
    static void replace(skua::server &of, std::span<site> sites)
    {
        std::vector<skua_site *> list;
        for (const site &one : sites) list.push_back(one.raw());
        skua_status status = skua_sites_replace(of.raw(), list.data(), list.size());
        for (const site &one : sites) {
            const char *why = status ? skua_site_error(one.raw()) : "";
            if (*why) throw error(status, why);
        }
        check(status);
        for (site &one : sites) one.given();
    }

private:
    friend class detail::routes<site>;
    template <class> friend class detail::route_group;

    // It belongs to the server.
    void given() noexcept
    {
        (void)raw_.release();
        kept_ = nullptr;
    }

    struct freer {
        void operator()(skua_site *raw) const noexcept { skua_site_free(raw); }
    };

    skua_status add(const skua_route_desc &desc)
    {
        if (detail::has_more(desc)) return skua_site_route_add(raw(), &desc);
        return skua_site_route(raw(), desc.pattern, desc.handler, desc.user);
    }
    skua_status add_middleware(const char *prefix, const skua_middleware *desc)
    {
        return skua_site_use(raw(), prefix, desc);
    }
    skua_status add_error(const char *prefix, skua_error_fn *fn, void *user)
    {
        return skua_site_on_error(raw(), prefix, fn, user);
    }
    skua_status add_websocket(const char *pattern, const skua_websocket_desc *desc)
    {
        return skua_site_websocket(raw(), pattern, desc);
    }
    skua_server *of_server() const noexcept { return server(); }
    detail::kept_objects &objects()
    {
        if (!kept_) throw error(SKUA_ESTATE, "the site has been put, and nothing more can be added to it");
        return *kept_;
    }

    site &judge(skua_status status)
    {
        if (status) throw error(status, skua_site_error(raw()));
        return *this;
    }

    std::unique_ptr<detail::kept_objects> objects_; // until they are passed to the site
    detail::kept_objects *kept_ = nullptr;
    std::unique_ptr<skua_site, freer> raw_;
};

} // namespace skua

#endif // SKUA_CPP_SITE_HPP
