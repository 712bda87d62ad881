// SPDX-License-Identifier: MIT
//
// Accept-Encoding. A member that cannot be read gives the client nothing and takes nothing from it, so
// that the worst that can happen is content as it is.

#include "http/coding.h"

#include "http/syntax.h"

enum {
    CODING_UNSAID = 0xffff,  // no member names it
    CODING_WEIGHT_MAX = 1000 // q=1
};

static const char *const coding_names[CODING_COUNT] = { "identity", "gzip", "br", "zstd" };

slice coding_name(content_coding coding)
{
    return slice_of(coding_names[coding]);
}

// ---- Members ----

static bool coding_read_digits(slice digits, unsigned *weight)
{
    if (digits.len > 3) return false;
    static const unsigned worth[] = { 100, 10, 1 };
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.ptr[i] < '0' || digits.ptr[i] > '9') return false;
        *weight += worth[i] * (unsigned)(digits.ptr[i] - '0');
    }
    return *weight <= CODING_WEIGHT_MAX;
}

// qvalue, RFC 9110 §12.4.2: 0 or 1, and up to three digits behind a dot.
bool coding_read_qvalue(slice text, unsigned *weight)
{
    if (text.len == 0 || (text.ptr[0] != '0' && text.ptr[0] != '1')) return false;
    *weight = text.ptr[0] == '1' ? CODING_WEIGHT_MAX : 0;
    if (text.len == 1) return true;
    return text.ptr[1] == '.' && coding_read_digits(slice_from(text, 2), weight);
}

// The weight behind a coding, from its semicolon on. There is none but q.
static bool coding_read_weight(slice text, unsigned *weight)
{
    text = slice_trim(slice_from(text, 1));
    if (text.len < 2 || octet_lower(text.ptr[0]) != 'q' || text.ptr[1] != '=') return false;
    return coding_read_qvalue(slice_from(text, 2), weight);
}

static bool coding_read_member(slice member, slice *name, unsigned *weight)
{
    const char *semicolon = memchr(member.ptr, ';', member.len);
    *weight = CODING_WEIGHT_MAX;
    *name = member;
    if (!semicolon) return syntax_is_token(*name);
    name->len = (size_t)(semicolon - member.ptr);
    slice rest = slice_from(member, name->len);
    *name = slice_trim(*name);
    return syntax_is_token(*name) && coding_read_weight(rest, weight);
}

// x-gzip is what gzip was called once (RFC 9110 §8.4.1.3).
static content_coding coding_identify(slice name)
{
    if (slice_equal_nocase(name, SKUA_SLICE("x-gzip"))) return CODING_GZIP;
    unsigned coding = 0;
    while (coding < CODING_COUNT && !slice_equal_nocase(name, slice_of(coding_names[coding])))
        coding++;
    return (content_coding)coding;
}

// Of a coding that is named twice the lesser weight holds: nobody gets what he has refused.
static void coding_note(uint16_t *said, unsigned weight)
{
    if (weight < *said) *said = (uint16_t)weight;
}

static void coding_read_line(slice line, uint16_t *said, uint16_t *others)
{
    slice member, name;
    unsigned weight;
    while (syntax_list_next(&line, &member)) {
        if (!coding_read_member(member, &name, &weight)) continue;
        content_coding coding = coding_identify(name);
        if (coding < CODING_COUNT) coding_note(&said[coding], weight);
        else if (slice_equal(name, SKUA_SLICE("*"))) coding_note(others, weight);
    }
}

// ---- The whole ----

// "*" stands for every coding that is not named, identity too. Without it codings that are not named
// are refused, but identity is taken if there is nothing better.
coding_wishes coding_read(const slice *lines, size_t count)
{
    coding_wishes wishes;
    uint16_t others = CODING_UNSAID;
    for (unsigned i = 0; i < CODING_COUNT; i++)
        wishes.quality[i] = CODING_UNSAID;
    for (size_t i = 0; i < count; i++)
        coding_read_line(lines[i], wishes.quality, &others);
    for (unsigned i = 0; i < CODING_COUNT; i++) {
        if (wishes.quality[i] != CODING_UNSAID) continue;
        if (others != CODING_UNSAID) wishes.quality[i] = others;
        else wishes.quality[i] = i == CODING_IDENTITY;
    }
    return wishes;
}

content_coding coding_choose(const coding_wishes *wishes, const content_coding *order, size_t count)
{
    content_coding best = CODING_IDENTITY;
    unsigned wanted = wishes->quality[CODING_IDENTITY];
    for (size_t i = 0; i < count; i++) {
        unsigned quality = wishes->quality[order[i]];
        bool better = best == CODING_IDENTITY ? quality && quality >= wanted : quality > wanted;
        if (!better) continue;
        best = order[i];
        wanted = quality;
    }
    return wanted ? best : CODING_COUNT;
}
