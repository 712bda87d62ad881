// SPDX-License-Identifier: MIT
//
// Preconditions, against a second reading of RFC 9110 §13.2.2 that shares no code but the dates'.
// Input: an octet of flags, then lines: the entity tag, If-Match, If-None-Match, If-Modified-Since,
// If-Unmodified-Since, If-Range. A line that is missing, or is "-", is a field that is absent.

#include "http/preconditions.h"
#include "http/date.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

static const int64_t MODIFIED = 784111777; // Sun, 06 Nov 1994 08:49:37 GMT

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

static slice take_line(slice *rest)
{
    if (rest->len == 0) return slice_make(NULL, 0);
    const char *end = memchr(rest->ptr, '\n', rest->len);
    size_t len = end ? (size_t)(end - rest->ptr) : rest->len;
    slice line = slice_make(rest->ptr, len);
    *rest = slice_from(*rest, end ? len + 1 : len);
    return len == 1 && line.ptr[0] == '-' ? slice_make(NULL, 0) : line;
}

// ---- The second reading: one pass of a machine over the octets of a list -----------------------

typedef enum list_state { GAP, WEAK, WEAK_SLASH, INSIDE, BEHIND, BROKEN } list_state;

typedef struct list_reading {
    list_state state;
    bool weak;
    slice tag; // from its quote on
    unsigned tags, strong_matches, weak_matches;
    bool loose; // commas or white space outside tags
} list_reading;

static list_state on_gap(list_reading *l, char c)
{
    l->weak = c == 'W';
    if (c == '"') return INSIDE;
    if (c == 'W') return WEAK;
    l->loose = true;
    return c == ' ' || c == '\t' || c == ',' ? GAP : BROKEN;
}

static list_state on_behind(list_reading *l, char c)
{
    l->loose = true;
    if (c == ',') return GAP;
    return c == ' ' || c == '\t' ? BEHIND : BROKEN;
}

static list_state on_octet(list_reading *l, char c)
{
    switch (l->state) {
    case GAP: return on_gap(l, c);
    case WEAK: return c == '/' ? WEAK_SLASH : BROKEN;
    case WEAK_SLASH: return c == '"' ? INSIDE : BROKEN;
    case INSIDE:
        if (c == '"') return BEHIND;
        return (unsigned char)c <= 0x20 || c == 0x7f ? BROKEN : INSIDE;
    case BEHIND: return on_behind(l, c);
    case BROKEN: break;
    }
    return BROKEN;
}

static list_reading read_list(slice list, slice own, bool own_weak)
{
    list_reading l = { .state = GAP };
    for (size_t i = 0; i < list.len; i++) {
        list_state next = on_octet(&l, list.ptr[i]);
        if (next == INSIDE && l.state != INSIDE) l.tag = slice_make(list.ptr + i, 0);
        l.tag.len++;
        if (next == BEHIND && l.state == INSIDE) {
            bool same = own.ptr && slice_equal(l.tag, own);
            l.tags++;
            l.weak_matches += same;
            l.strong_matches += same && !l.weak && !own_weak;
        }
        l.state = next;
    }
    return l;
}

typedef struct own_tag {
    slice opaque; // {NULL, 0}: none that is well formed
    bool weak;
} own_tag;

static own_tag read_own(slice etag)
{
    list_reading l = read_list(etag, slice_make(NULL, 0), false);
    if (l.state != BEHIND || l.tags != 1 || l.loose) return (own_tag){ { NULL, 0 }, false };
    return (own_tag){ l.tag, l.weak };
}

static bool is_star(slice value)
{
    value = slice_trim(value);
    return value.len == 1 && value.ptr[0] == '*';
}

static bool names(slice value, own_tag own, bool strong)
{
    if (is_star(value)) return true;
    list_reading l = read_list(value, own.opaque, own.weak);
    if (l.state != GAP && l.state != BEHIND) return false;
    return (strong ? l.strong_matches : l.weak_matches) > 0;
}

static precondition_outcome expected(const preconditions *c, const representation *r, bool safe)
{
    own_tag own = read_own(r->etag);
    int64_t date = 0;
    if (c->if_match.ptr && !names(c->if_match, own, true)) return PRECONDITION_FAILED;
    if (!c->if_match.ptr && c->if_unmodified_since.ptr && r->last_modified >= 0 &&
        date_read(slice_trim(c->if_unmodified_since), r->now, &date) && r->last_modified > date) {
        return PRECONDITION_FAILED;
    }
    if (c->if_none_match.ptr) {
        if (!names(c->if_none_match, own, false)) return PRECONDITION_PROCEED;
        return safe ? PRECONDITION_NOT_MODIFIED : PRECONDITION_FAILED;
    }
    if (safe && c->if_modified_since.ptr && r->last_modified >= 0 &&
        date_read(slice_trim(c->if_modified_since), r->now, &date) && r->last_modified <= date) {
        return PRECONDITION_NOT_MODIFIED;
    }
    return PRECONDITION_PROCEED;
}

// ---- Properties -------------------------------------------------------------------------------

static void require_order(const preconditions *c, const representation *r)
{
    precondition_outcome reading = precondition_evaluate(c, r, true);
    precondition_outcome writing = precondition_evaluate(c, r, false);
    require(reading == expected(c, r, true));
    require(writing == expected(c, r, false));
    require(writing != PRECONDITION_NOT_MODIFIED);
    require(reading != PRECONDITION_FAILED || writing == PRECONDITION_FAILED);
    if (c->if_none_match.ptr && is_star(c->if_none_match)) require(reading != PRECONDITION_PROCEED);
}

// Empty members change no list.
static void require_empty_members_mean_nothing(preconditions c, const representation *r)
{
    slice list = c.if_none_match;
    if (!list.ptr || is_star(list)) return;
    precondition_outcome before = precondition_evaluate(&c, r, true);
    char *loose = malloc(list.len + 8);
    require(loose != NULL);
    memcpy(loose, ",\t, ", 4);
    memcpy(loose + 4, list.ptr, list.len);
    memcpy(loose + 4 + list.len, " ,, ", 4);
    c.if_none_match = slice_make(loose, list.len + 8);
    require(precondition_evaluate(&c, r, true) == before);
    free(loose);
}

static void require_strong_range(const preconditions *c, const representation *r)
{
    bool applies = precondition_range_applies(c, r);
    if (!c->if_range.ptr) {
        require(applies);
        return;
    }
    own_tag own = read_own(r->etag);
    slice value = slice_trim(c->if_range);
    int64_t date = -1;
    bool is_date = date_read(value, r->now, &date);
    own_tag asked = read_own(value);
    bool by_tag = asked.opaque.ptr && own.opaque.ptr && !asked.weak && !own.weak &&
                  slice_equal(asked.opaque, own.opaque);
    bool by_date = is_date && r->last_modified >= 0 && date == r->last_modified && date < r->now;
    require(applies == (by_tag || by_date));
}

// A date that can be read is read the same when it is written again.
static void require_same_date(slice text, int64_t now)
{
    int64_t date = 0, again = 0;
    if (!text.ptr || !date_read(text, now, &date) || date < 0 || date > 253402300799) return;
    char out[DATE_OCTETS];
    date_write(out, date);
    require(date_read(slice_make(out, DATE_OCTETS), 0, &again));
    require(again == date);
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    if (len < 1) return 0;
    slice rest = slice_make((const char *)octets + 1, len - 1);
    representation selected = { .etag = take_line(&rest),
                                .last_modified = octets[0] & 1 ? MODIFIED : -1,
                                .now = MODIFIED + (octets[0] & 2 ? 3600 : 0) };
    preconditions conditions = { .if_match = take_line(&rest),
                                 .if_none_match = take_line(&rest),
                                 .if_modified_since = take_line(&rest),
                                 .if_unmodified_since = take_line(&rest),
                                 .if_range = take_line(&rest) };
    require_order(&conditions, &selected);
    require_empty_members_mean_nothing(conditions, &selected);
    require_strong_range(&conditions, &selected);
    require_same_date(conditions.if_modified_since, selected.now);
    return 0;
}
