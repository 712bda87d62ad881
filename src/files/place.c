// SPDX-License-Identifier: MIT
//
// Routes of files.

#include "files/place.h"

#include "base/memory.h"
#include "files/site_response.h"

#include <stdio.h>

skua_status place_fail(const files_place *to, skua_status status, const char *what, const char *why)
{
    char sentence[256];
    (void)snprintf(sentence, sizeof sentence, "%s: %s", what, why);
    if (to->site) skua_site_set_error(to->site, sentence);
    else skua_server_set_error(to->server, sentence);
    return status;
}

const char *place_pattern_path(const char *pattern)
{
    if (strncmp(pattern, "GET ", 4) == 0) pattern += 4;
    size_t len = strlen(pattern);
    bool is_directory = len && pattern[0] == '/' && pattern[len - 1] == '/';
    return is_directory && !strpbrk(pattern, "{} ") ? pattern : NULL;
}

bool place_copy(char **copy, const char *text)
{
    *copy = text && *text ? memory_text(text) : NULL;
    return *copy || !text || !*text;
}

// The path without the "/" at its end.
static void place_handle_bare(skua_request *request, void *user)
{
    (void)user;
    site_respond_slash(request);
}

static skua_status place_route(const files_place *to, const char *pattern, const char *name,
                               skua_handler *handler, void *user)
{
    const skua_route_desc desc = {
        .pattern = pattern,
        .handler = handler,
        .user = user,
        .name = name,
    };
    return to->site ? skua_site_route_add(to->site, &desc) : skua_route_add(to->server, &desc);
}

skua_status place_add(const files_place *to, const char *path, const char *name,
                      skua_handler *handler, void *user)
{
    size_t len = strlen(path);
    char *pattern = memory_alloc(len + sizeof "GET ");
    if (!pattern) return SKUA_ENOMEM;
    memcpy(pattern, "GET ", 4);
    memcpy(pattern + 4, path, len + 1);
    skua_status status = place_route(to, pattern, name, handler, user);
    if (!status && len > 1) {
        pattern[4 + len - 1] = '\0';
        status = place_route(to, pattern, name, place_handle_bare, NULL);
        if (status == SKUA_EEXIST) status = SKUA_OK;
    }
    memory_free(pattern);
    return status;
}

skua_status place_give(const files_place *to, void (*release)(void *user), void *user)
{
    return to->site ? skua_site_on_free(to->site, release, user)
                    : skua_server_on_free(to->server, release, user);
}
