// SPDX-License-Identifier: MIT
//
// Names of precompressed files, and which coding of a file a client takes.

#include "files/siblings.h"

// A client that sends more lines than that gets files as they are.
enum { SIBLINGS_LINES_MAX = 8 };

slice siblings_suffix(content_coding coding)
{
    static const char *const suffixes[CODING_COUNT] = { "", ".gz", ".br", ".zst" };
    return slice_of(suffixes[coding]);
}

static content_coding siblings_coding(slice name)
{
    for (unsigned coding = CODING_GZIP; coding < CODING_COUNT; coding++) {
        if (slice_equal(name, coding_name((content_coding)coding))) return (content_coding)coding;
    }
    return CODING_IDENTITY;
}

bool siblings_order(site *s, const char *names)
{
    const char *at =
        names && *names ? names : "br zstd gzip"; // the one that is usually smallest first
    for (s->order_count = 0, s->codings = 0; *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        content_coding coding = siblings_coding(slice_make(at, len));
        if (coding == CODING_IDENTITY || s->codings & 1U << coding) return false;
        s->codings |= 1U << coding;
        s->order[s->order_count++] = coding;
        at += len;
    }
    return s->order_count > 0;
}

// Most clients say the same as the one before.
static bool siblings_read(const skua_request *request, cache *c)
{
    slice lines[SIBLINGS_LINES_MAX], more;
    size_t count = 0, index = 0;
    while (count < SIBLINGS_LINES_MAX &&
           skua_request_field_next(request, "Accept-Encoding", &index, &lines[count]))
        count++;
    if (!count) return false;
    if (count == 1 && lines[0].len && lines[0].len == c->wished_len &&
        memcmp(lines[0].ptr, c->wished, c->wished_len) == 0)
        return true;
    if (count == SIBLINGS_LINES_MAX &&
        skua_request_field_next(request, "Accept-Encoding", &index, &more))
        return false;
    c->wishes = coding_read(lines, count);
    c->wished_len = count == 1 && lines[0].len <= sizeof c->wished ? lines[0].len : 0;
    if (c->wished_len) memcpy(c->wished, lines[0].ptr, c->wished_len);
    return true;
}

// set: of codings.
static content_coding siblings_choose_of(const cache *c, unsigned set)
{
    const site *s = c->site;
    content_coding order[CODING_COUNT - 1];
    size_t kinds = 0;
    for (unsigned i = 0; i < s->order_count; i++) {
        if (set & 1U << s->order[i]) order[kinds++] = s->order[i];
    }
    return coding_choose(&c->wishes, order, kinds);
}

content_coding siblings_choose(skua_request *request, cache *c, const cached *entry)
{
    if (!siblings_read(request, c)) return CODING_IDENTITY;
    unsigned offers = skua_compress_is_off(request) ? 0 : entry->offers;
    bool wants_parts =
        skua_request_is_conditional(request) && skua_request_field(request, "Range").ptr;
    content_coding coding =
        siblings_choose_of(c, wants_parts ? entry->siblings : entry->siblings | offers);
    return coding == CODING_COUNT && wants_parts ? siblings_choose_of(c, offers) : coding;
}

__attribute__((cold)) bool siblings_refuse_identity(const skua_request *request, cache *c)
{
    return siblings_read(request, c) && !c->wishes.quality[CODING_IDENTITY];
}
