// SPDX-License-Identifier: MIT
//
// Preconditions and ranges. Where a field breaks its grammar the response is the one that does no
// harm: a write with a broken If-Match fails, a broken If-None-Match or Range gets it all.

#include "http/preconditions.h"

#include "base/assert.h"
#include "http/date.h"

// ---- Entity tags, RFC 9110 §8.8.3 --------------------------------------------------------------

typedef struct entity_tag {
    slice opaque; // with its quotes
    bool weak;
} entity_tag;

static bool etag_is_octet(char c)
{
    unsigned char octet = (unsigned char)c;
    return octet == 0x21 || (octet >= 0x23 && octet != 0x7f);
}

// Takes an entity tag off the front of *text; false when there is none. W is upper case.
static bool etag_take(slice *text, entity_tag *tag)
{
    slice rest = *text;
    bool weak = rest.len >= 2 && rest.ptr[0] == 'W' && rest.ptr[1] == '/';
    if (weak) rest = slice_from(rest, 2);
    if (rest.len == 0 || rest.ptr[0] != '"') return false;
    size_t len = 1;
    while (len < rest.len && etag_is_octet(rest.ptr[len]))
        len++;
    if (len == rest.len || rest.ptr[len] != '"') return false;
    *tag = (entity_tag){ slice_make(rest.ptr, len + 1), weak };
    *text = slice_from(rest, len + 1);
    return true;
}

static bool etag_read(slice text, entity_tag *tag)
{
    return etag_take(&text, tag) && text.len == 0;
}

static bool etag_matches(entity_tag a, entity_tag b, bool strong)
{
    if (strong && (a.weak || b.weak)) return false;
    return slice_equal(a.opaque, b.opaque);
}

// Moves *list past white space and commas: between members, and where members are empty.
static bool etag_skip_commas(slice *list)
{
    bool comma = false;
    while (list->len && (list->ptr[0] == ',' || list->ptr[0] == ' ' || list->ptr[0] == '\t')) {
        if (list->ptr[0] == ',') comma = true;
        *list = slice_from(*list, 1);
    }
    return comma;
}

// Whether a list, read to its end, has a tag that matches. A comma may stand inside a tag, so the
// list cannot be split first.
static bool etag_list_matches(slice list, slice selected, bool strong)
{
    entity_tag own, tag;
    bool known = etag_read(selected, &own);
    bool matched = false;
    (void)etag_skip_commas(&list);
    while (list.len) {
        if (!etag_take(&list, &tag)) return false;
        if (known && etag_matches(tag, own, strong)) matched = true;
        if (!etag_skip_commas(&list) && list.len) return false;
    }
    return matched;
}

// The value of If-Match or If-None-Match against a representation that exists.
static bool precondition_names(slice value, const representation *selected, bool strong)
{
    slice trimmed = slice_trim(value);
    if (trimmed.len == 1 && trimmed.ptr[0] == '*') return true;
    return etag_list_matches(trimmed, selected->etag, strong);
}

// ---- Preconditions, RFC 9110 §13.2.2 -----------------------------------------------------------

// Whether selected was modified after the date in value. *known is false when the field is to be
// ignored: it is no date, or there is nothing to compare it with.
static bool precondition_modified_since(slice value, const representation *selected, bool *known)
{
    int64_t since = 0;
    *known = selected->last_modified >= 0 && date_read(slice_trim(value), selected->now, &since);
    return *known && selected->last_modified > since;
}

// Steps 1 and 2: may the request go on?
static bool precondition_expected(const preconditions *conditions, const representation *selected)
{
    if (conditions->if_match.ptr) return precondition_names(conditions->if_match, selected, true);
    if (!conditions->if_unmodified_since.ptr) return true;
    bool known;
    return !precondition_modified_since(conditions->if_unmodified_since, selected, &known);
}

// Steps 3 and 4: does the client have this representation already?
static bool precondition_has_it(const preconditions *conditions, const representation *selected,
                                bool safe)
{
    if (conditions->if_none_match.ptr) {
        return precondition_names(conditions->if_none_match, selected, false);
    }
    if (!safe || !conditions->if_modified_since.ptr) return false;
    bool known;
    bool modified = precondition_modified_since(conditions->if_modified_since, selected, &known);
    return known && !modified;
}

precondition_outcome precondition_evaluate(const preconditions *conditions,
                                           const representation *selected, bool safe)
{
    if (!precondition_expected(conditions, selected)) return PRECONDITION_FAILED;
    if (!precondition_has_it(conditions, selected, safe)) return PRECONDITION_PROCEED;
    return safe ? PRECONDITION_NOT_MODIFIED : PRECONDITION_FAILED;
}

// A date is a strong validator only once the second it names is over: until then the representation
// may change again under the same date, and halves of two be joined. RFC 9110 §8.8.2.2.
static bool precondition_date_is_strong(const representation *selected)
{
    return selected->last_modified >= 0 && selected->last_modified < selected->now;
}

bool precondition_range_applies(const preconditions *conditions, const representation *selected)
{
    if (!conditions->if_range.ptr) return true;
    slice value = slice_trim(conditions->if_range);
    entity_tag tag, own;
    if (etag_read(value, &tag)) {
        return etag_read(selected->etag, &own) && etag_matches(tag, own, true);
    }
    int64_t date;
    if (!date_read(value, selected->now, &date)) return false;
    return precondition_date_is_strong(selected) && date == selected->last_modified;
}

// ---- Ranges, RFC 9110 §14.1 --------------------------------------------------------------------

// Takes digits off the front of *text; how many there were. Numbers past 64 bits are as good as the
// largest: no representation reaches that far.
static size_t range_take_number(slice *text, uint64_t *number)
{
    uint64_t n = 0;
    size_t len = 0;
    for (; len < text->len; len++) {
        unsigned digit = (unsigned)(unsigned char)text->ptr[len] - '0';
        if (digit > 9) break;
        n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
    }
    *text = slice_from(*text, len);
    *number = n;
    return len;
}

// Reads one member of the set; false when the whole is to be sent instead. r->length is 0 when the
// member is not satisfiable.
static bool range_read_spec(slice spec, uint64_t size, range *r)
{
    uint64_t first, last;
    bool has_first = range_take_number(&spec, &first) > 0;
    if (spec.len == 0 || spec.ptr[0] != '-') return false;
    spec = slice_from(spec, 1);
    bool has_last = range_take_number(&spec, &last) > 0;
    if (spec.len || (!has_first && !has_last)) return false;
    if (!has_first) { // a suffix; longer than the representation, it is all of it
        // The last octets of nothing are all of it too, but no Content-Range could say so.
        if (size == 0 && last > 0) return false;
        uint64_t length = last < size ? last : size;
        *r = (range){ size - length, length };
        return true;
    }
    if (has_last && last < first) return false;
    if (!has_last || last >= size) last = size - 1;
    *r = first < size ? (range){ first, last - first + 1 } : (range){ 0, 0 };
    return true;
}

// Takes "bytes=" off the front; range units are case-insensitive, RFC 9110 §14.1.
static bool range_take_unit(slice *value)
{
    slice unit = slice_make("bytes=", 6);
    if (value->len < unit.len) return false;
    if (!slice_equal_nocase(slice_make(value->ptr, unit.len), unit)) return false;
    *value = slice_from(*value, unit.len);
    return true;
}

// The next member of the set, which may be empty; false at the end.
static bool range_next_spec(slice *set, slice *spec)
{
    if (set->len == 0) return false;
    const char *comma = memchr(set->ptr, ',', set->len);
    size_t len = comma ? (size_t)(comma - set->ptr) : set->len;
    *spec = slice_trim(slice_make(set->ptr, len));
    *set = slice_from(*set, comma ? len + 1 : len);
    return true;
}

// Many small ranges, or overlapping ones that come to more than the whole, cost far more to answer
// than to ask for: those get the whole, RFC 9110 §14.2. Unsatisfiable ones count too.
range_outcome range_read(slice value, uint64_t size, unsigned ranges_max, range *ranges,
                         unsigned *count)
{
    SKUA_ASSERT(ranges_max <= RANGES_MAX);
    value = slice_trim(value);
    if (!range_take_unit(&value)) return RANGE_WHOLE;
    unsigned asked = 0, kept = 0;
    uint64_t left = size; // of what they may come to together
    for (slice spec; range_next_spec(&value, &spec);) {
        range r;
        if (spec.len == 0) continue;
        if (asked++ == ranges_max || !range_read_spec(spec, size, &r)) return RANGE_WHOLE;
        if (r.length == 0) continue;
        if (r.length > left) return RANGE_WHOLE;
        left -= r.length;
        ranges[kept++] = r;
    }
    if (asked == 0) return RANGE_WHOLE;
    if (kept == 0) return RANGE_UNSATISFIABLE;
    *count = kept;
    return RANGE_PARTIAL;
}
