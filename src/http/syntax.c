// SPDX-License-Identifier: MIT
//
// The small grammars, and the wide forms of their spans.

#include "http/syntax.h"
#include "http/wide.h"

#if defined(__x86_64__) && !defined(SKUA_PORTABLE)
#include <cpuid.h>
#include <immintrin.h>
#endif

// A row holds sixteen octets; tests/unit/http/test_syntax.c writes the same table from the
// grammars.
const uint8_t syntax_table[256] = {
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x42, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x00
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // 0x10
    0x42, 0x6f, 0x02, 0x43, 0x6f, 0x47, 0x6f, 0x6f,
    0x6e, 0x6e, 0x6f, 0x6f, 0x6e, 0x6f, 0x6f, 0x46, // 0x20
    0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f,
    0x7f, 0x7f, 0x4e, 0x6e, 0x42, 0x6e, 0x42, 0x46, // 0x30
    0x4e, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x6f,
    0x6f, 0x6f, 0x6f, 0x6f, 0x6f, 0x6f, 0x6f, 0x6f, // 0x40
    0x6f, 0x6f, 0x6f, 0x6f, 0x6f, 0x6f, 0x6f, 0x6f,
    0x6f, 0x6f, 0x6f, 0x46, 0x06, 0x46, 0x47, 0x6f, // 0x50
    0x47, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x6f,
    0x6f, 0x6f, 0x6f, 0x6f, 0x6f, 0x6f, 0x6f, 0x6f, // 0x60
    0x6f, 0x6f, 0x6f, 0x6f, 0x6f, 0x6f, 0x6f, 0x6f,
    0x6f, 0x6f, 0x6f, 0x46, 0x47, 0x46, 0x6f, 0x00, // 0x70
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42,
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, // 0x80
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42,
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, // 0x90
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42,
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, // 0xA0
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42,
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, // 0xB0
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42,
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, // 0xC0
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42,
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, // 0xD0
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42,
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, // 0xE0
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42,
    0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, 0x42, // 0xF0
};

static size_t span_portable(const char *ptr, size_t len, int classes)
{
    size_t n = 0;
    while (n < len && syntax_is(ptr[n], classes))
        n++;
    return n;
}

size_t syntax_span_token_portable(const char *ptr, size_t len)
{
    return span_portable(ptr, len, SYNTAX_TOKEN);
}

size_t syntax_span_field_portable(const char *ptr, size_t len)
{
    return span_portable(ptr, len, SYNTAX_FIELD);
}

size_t syntax_span_target_portable(const char *ptr, size_t len)
{
    return span_portable(ptr, len, SYNTAX_TARGET);
}

// Sixteen octets at a time, the last sixteen overlapping those before. Stops at an octet outside
// the wide class, which may still be of the class of syntax.h.
static inline size_t span_wide(const char *ptr, size_t len, wide_class class)
{
    size_t n = 0;
    for (; len - n >= WIDE_OCTETS; n += WIDE_OCTETS) {
        wide_mask outside = wide_outside(class, ptr + n);
        if (outside) return n + wide_first(outside);
    }
    if (n == len) return n;
    size_t seen = WIDE_OCTETS - (len - n);
    wide_mask outside = wide_drop(wide_outside(class, ptr + len - WIDE_OCTETS), seen);
    return outside ? n + wide_first(outside) : len;
}

#if defined(__x86_64__) && !defined(SKUA_PORTABLE)

__attribute__((target("avx2"))) static inline __m256i avx2_load(const char *ptr)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)ptr);
}

// SYNTAX_FIELD: from SP upward without DEL, and HTAB.
__attribute__((target("avx2"))) static inline uint32_t avx2_not_field(__m256i v)
{
    __m256i control = _mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1f)), v);
    __m256i tab = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\t'));
    __m256i del = _mm256_cmpeq_epi8(v, _mm256_set1_epi8(0x7f));
    return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(_mm256_andnot_si256(tab, control), del));
}

// A class of ASCII octets as two tables: row[low nibble] has bit 1 << (high nibble) for each
// member.
typedef struct avx2_class {
    uint8_t row[16];
} avx2_class;

static const avx2_class avx2_token = { { 0xe8, 0xfc, 0xf8, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc, 0xf8, 0xf8,
                                         0xf4, 0x54, 0xd0, 0x54, 0xf4, 0x70 } };
static const avx2_class avx2_target = { { 0xf8, 0xfc, 0xf8, 0xf8, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc,
                                          0xfc, 0xfc, 0xfc, 0xf4, 0xfc, 0xf4, 0x7c } };

__attribute__((target("avx2"))) static inline uint32_t avx2_outside(__m256i v, __m256i rows)
{
    __m256i bit_of = _mm256_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0, //
                                      1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(0x0f));
    __m256i row = _mm256_shuffle_epi8(rows, v); // 0 for an octet of 0x80 or more
    __m256i in = _mm256_and_si256(row, _mm256_shuffle_epi8(bit_of, high));
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(in, _mm256_setzero_si256()));
}

__attribute__((target("avx2"))) static size_t avx2_span_field(const char *ptr, size_t len)
{
    size_t n = 0;
    for (; len - n >= 32; n += 32) {
        uint32_t outside = avx2_not_field(avx2_load(ptr + n));
        if (outside) return n + (size_t)__builtin_ctz(outside);
    }
    return n;
}

__attribute__((target("avx2"))) static size_t avx2_span_class(const char *ptr, size_t len,
                                                              const avx2_class *class)
{
    __m128i row = _mm_loadu_si128((const __m128i *)(const void *)class->row);
    __m256i rows = _mm256_broadcastsi128_si256(row);
    size_t n = 0;
    for (; len - n >= 32; n += 32) {
        uint32_t outside = avx2_outside(avx2_load(ptr + n), rows);
        if (outside) return n + (size_t)__builtin_ctz(outside);
    }
    return n;
}

// Whether the processor has AVX2 and the system keeps the registers whole. Compilers offer to ask,
// but what they link for that knows every processor there is, and is larger than all of this file.
__attribute__((target("xsave"))) static bool avx2_ask(void)
{
    enum { WHOLE = 6 }; // both halves, in the system's register of what it keeps
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || (_xgetbv(0) & WHOLE) != WHOLE)
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
}

static bool avx2_is_there(void)
{
    enum { UNKNOWN, ABSENT, PRESENT };
    static int known; // set by whoever asks first, and all come to the same
    int there = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (there == UNKNOWN) {
        there = avx2_ask() ? PRESENT : ABSENT;
        __atomic_store_n(&known, there, __ATOMIC_RELAXED);
    }
    return there == PRESENT;
}

// How many octets at the start are of the class, seen thirty-two at a time; the rest is the
// caller's.
static size_t span_long(const char *ptr, size_t len, wide_class class)
{
    if (!avx2_is_there()) return 0;
    switch (class) {
    case WIDE_NAME: return avx2_span_class(ptr, len, &avx2_token);
    case WIDE_FIELD: return avx2_span_field(ptr, len);
    case WIDE_TARGET: return avx2_span_class(ptr, len, &avx2_target);
    case WIDE_HOST:
    case WIDE_TEXT:
    case WIDE_PATH: break;
    }
    return 0;
}

#else

static size_t span_long(const char *ptr, size_t len, wide_class class)
{
    (void)ptr;
    (void)len;
    (void)class;
    return 0;
}

#endif

// Below this many octets the widest registers are not worth asking for.
enum { SPAN_LONG_OCTETS = 64 };

// The wide forms may stop early, at rare octets or short of the end: the portable form goes on from
// there.
static inline size_t syntax_span(const char *ptr, size_t len, wide_class class)
{
    if (len == 0) return 0;
    size_t n = len >= SPAN_LONG_OCTETS ? span_long(ptr, len, class) : 0;
    if (len - n >= WIDE_OCTETS) n += span_wide(ptr + n, len - n, class);
    return n + span_portable(ptr + n, len - n, wide_grammar(class));
}

size_t syntax_span_token(const char *ptr, size_t len)
{
    return syntax_span(ptr, len, WIDE_NAME);
}

// Media types and short values are of 8 to 16 octets.
size_t syntax_span_field(const char *ptr, size_t len)
{
    if (len - 8 <= 8 && wide_holds_few(WIDE_TEXT, ptr, len)) return len;
    return syntax_span(ptr, len, WIDE_FIELD);
}

size_t syntax_span_target(const char *ptr, size_t len)
{
    return syntax_span(ptr, len, WIDE_TARGET);
}

bool syntax_is_token(slice text)
{
    return text.len > 0 && syntax_span_token(text.ptr, text.len) == text.len;
}

bool syntax_is_field_value(slice text)
{
    return syntax_span_field(text.ptr, text.len) == text.len;
}

bool syntax_is_protocol(slice text)
{
    const char *slash = text.len ? memchr(text.ptr, '/', text.len) : NULL;
    if (!slash) return syntax_is_token(text);
    size_t name_len = (size_t)(slash - text.ptr);
    return syntax_is_token(slice_make(text.ptr, name_len)) &&
           syntax_is_token(slice_from(text, name_len + 1));
}

static size_t host_span_digits(slice text)
{
    size_t n = 0;
    while (n < text.len && text.ptr[n] >= '0' && text.ptr[n] <= '9')
        n++;
    return n;
}

// dec-octet, RFC 3986 §3.2.2: 0 to 255 without leading zeros.
static bool host_take_dec_octet(slice *text)
{
    size_t n = host_span_digits(*text);
    if (n == 0 || n > 3 || (n > 1 && text->ptr[0] == '0')) return false;
    int value = 0;
    for (size_t i = 0; i < n; i++)
        value = value * 10 + (text->ptr[i] - '0');
    *text = slice_from(*text, n);
    return value <= 255;
}

static bool host_is_ipv4(slice text)
{
    for (int i = 0; i < 4; i++) {
        if (i > 0) {
            if (text.len == 0 || text.ptr[0] != '.') return false;
            text = slice_from(text, 1);
        }
        if (!host_take_dec_octet(&text)) return false;
    }
    return text.len == 0;
}

// One side of "::", or the whole address: groups of one to four hexadecimal digits parted by ":",
// the last of which may be an IPv4 address if ipv4_may_end. Returns the groups, 9 when it is not of
// that form.
static unsigned host_count_groups(slice text, bool ipv4_may_end)
{
    enum { BROKEN = 9 };
    unsigned groups = 0;
    while (text.len) {
        size_t n = 0;
        while (n < text.len && syntax_is(text.ptr[n], SYNTAX_HEX))
            n++;
        if (n < text.len && text.ptr[n] == '.') {
            return ipv4_may_end && groups <= 6 && host_is_ipv4(text) ? groups + 2 : BROKEN;
        }
        if (n == 0 || n > 4 || ++groups > 8) return BROKEN;
        text = slice_from(text, n);
        if (text.len == 0) break;
        if (text.ptr[0] != ':' || text.len == 1) return BROKEN;
        text = slice_from(text, 1);
    }
    return groups;
}

// IPv6address, RFC 3986 §3.2.2; zones are for the host that has them only (RFC 6874), so never
// here.
static bool host_is_ipv6(slice text)
{
    for (size_t i = 0; i + 1 < text.len; i++) {
        if (text.ptr[i] != ':' || text.ptr[i + 1] != ':') continue;
        unsigned before = host_count_groups(slice_make(text.ptr, i), false);
        unsigned after = host_count_groups(slice_from(text, i + 2), true);
        return before + after <= 7;
    }
    return host_count_groups(text, true) == 8;
}

// IPvFuture: "v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" ).
static bool host_is_ipvfuture(slice text)
{
    if (text.len < 4 || octet_lower(text.ptr[0]) != 'v') return false;
    size_t n = 1;
    while (n < text.len && syntax_is(text.ptr[n], SYNTAX_HEX))
        n++;
    if (n == 1 || n + 1 >= text.len || text.ptr[n] != '.') return false;
    for (n++; n < text.len; n++) {
        if (text.ptr[n] != ':' && !syntax_is(text.ptr[n], SYNTAX_HOST)) return false;
    }
    return true;
}

// Length of the IP-literal at the start, brackets included; 0 when there is none.
static size_t host_span_literal(slice text)
{
    const char *close = memchr(text.ptr, ']', text.len);
    if (!close) return 0;
    slice inner = slice_make(text.ptr + 1, (size_t)(close - text.ptr) - 1);
    return host_is_ipv6(inner) || host_is_ipvfuture(inner) ? inner.len + 2 : 0;
}

// Length of the reg-name at the start; IPv4 addresses are of its form.
static size_t host_span_name(slice text)
{
    size_t n = 0;
    while (n < text.len) {
        if (syntax_is(text.ptr[n], SYNTAX_HOST)) {
            n++;
        } else if (text.ptr[n] == '%' && text.len - n >= 3 &&
                   syntax_is(text.ptr[n + 1], SYNTAX_HEX) &&
                   syntax_is(text.ptr[n + 2], SYNTAX_HEX)) {
            n += 3;
        } else {
            break;
        }
    }
    return n;
}

// A port without a host is refused: it could only come from an http URI with an empty host, which
// recipients must reject (RFC 9110 §4.2.1).
bool syntax_is_host(slice text)
{
    if (text.len == 0) return true;
    size_t n = text.ptr[0] == '[' ? host_span_literal(text) : host_span_name(text);
    if (n == 0) return false;
    text = slice_from(text, n);
    if (text.len == 0) return true;
    if (text.ptr[0] != ':') return false;
    text = slice_from(text, 1);
    return host_span_digits(text) == text.len;
}

// Octets up to the comma that ends a member; commas in quoted strings don't.
static size_t list_member_len(slice text)
{
    bool quoted = false;
    size_t n = 0;
    for (; n < text.len; n++) {
        char c = text.ptr[n];
        if (c == ',' && !quoted) break;
        if (c == '"') quoted = !quoted;
        if (c == '\\' && quoted && n + 1 < text.len) n++;
    }
    return n;
}

slice syntax_host_name(slice authority)
{
    bool address = authority.len && authority.ptr[0] == '[';
    const char *end =
        authority.len ? memchr(authority.ptr, address ? ']' : ':', authority.len) : NULL;
    if (end) authority.len = (size_t)(end - authority.ptr) + (address ? 1 : 0);
    if (authority.len > 1 && authority.ptr[authority.len - 1] == '.') authority.len--;
    return authority;
}

bool syntax_list_next(slice *rest, slice *member)
{
    while (rest->len) {
        size_t n = list_member_len(*rest);
        slice found = slice_trim(slice_make(rest->ptr, n));
        *rest = slice_from(*rest, n < rest->len ? n + 1 : n);
        if (found.len == 0) continue;
        *member = found;
        return true;
    }
    return false;
}
