// SPDX-License-Identifier: MIT

#include "log/line_target.h"

#include "http/target.h"
#include "log/mask.h"

void line_put_target(line_text *text, const log_access *access, const char *secrets,
                     line_place place)
{
    char masked[LINE_TARGET_MAX];
    slice asked = mask_secrets(access->target, secrets, masked, sizeof masked);
    if (!access->version || asked.len == 0) {
        line_put_or_dash(text, asked, place, LINE_TARGET_MAX);
        return;
    }
    size_t used, room = LINE_TARGET_MAX - LINE_ESCAPE_MAX;
    text->at += target_escape(asked, text->at, room, &used);
    if (used < asked.len) line_puts(text, "...");
}

const char *line_version(int version)
{
    return version == 20 ? "2.0" : version == 10 ? "1.0" : "1.1";
}
