// SPDX-License-Identifier: MIT
//
// Chunk decoder: one small function per state, fed octet by octet, but for chunk data, which is
// handed on in the largest slices the input has and never looked at. What usually stands between
// two chunks, and runs inside an extension, are taken at once where the input holds them; whatever
// is rare or faulty in them is left for the states.
// Peers disagree about bare LF, white space, signs and over-long sizes here; that is how requests
// are smuggled, so the grammar of RFC 9112 §7.1 is taken literally. Its bad white space, around ";"
// and "=" only, must be read (RFC 9110 §5.6.3).
// Invariant: a state depends on the octets so far, never on how they were cut.

#include "http/chunk.h"

#include "http/syntax.h"

typedef enum chunk_state {
    CHUNK_ON_SIZE,
    CHUNK_ON_SIZE_LF,
    CHUNK_ON_EXT_NAME_START,
    CHUNK_ON_EXT_NAME,
    CHUNK_ON_EXT_NAME_SPACE, // behind a name: "=" or ";" comes
    CHUNK_ON_EXT_VALUE_START,
    CHUNK_ON_EXT_VALUE,
    CHUNK_ON_EXT_QUOTED,
    CHUNK_ON_EXT_ESCAPED,
    CHUNK_ON_EXT_END,
    CHUNK_ON_EXT_SPACE, // behind the size or a value: ";" comes
    CHUNK_ON_DATA,
    CHUNK_ON_DATA_CR,
    CHUNK_ON_DATA_LF,
    CHUNK_ON_TRAILER_START,
    CHUNK_ON_TRAILER_NAME,
    CHUNK_ON_TRAILER_VALUE,
    CHUNK_ON_TRAILER_LF,
    CHUNK_ON_LAST_LF,
    CHUNK_ENDED,
    CHUNK_FAILED
} chunk_state;

enum {
    CHUNK_DIGITS_MAX = 16,     // in all
    CHUNK_DIGITS_SURE = 15,    // so many are never too long, whatever they are
    CHUNK_FULL_SHIFT = 4 * 14, // a size with a digit above this has its 15 significant ones
    CHUNK_LIMIT_STATUS = 431,
    CHUNK_MEMORY_STATUS = 503
};

void chunk_decoder_init(chunk_decoder *decoder, const chunk_limits *limits, arena *memory)
{
    *decoder = (chunk_decoder){
        .limits = limits, .memory = memory, .state = CHUNK_ON_SIZE, .fault = FAULT_NONE
    };
}

static chunk_state chunk_fail(chunk_decoder *decoder, uint16_t status, const char *reason)
{
    decoder->fault = fault_framing(status, reason);
    return CHUNK_FAILED;
}

// The value of a HEXDIG: letters begin at 0x41 and 0x61, digits at 0x30.
static unsigned chunk_digit(char c)
{
    return ((unsigned)c & 15) + ((unsigned)c >> 6) * 9;
}

// ---- The size line ----------------------------------------------------------------------------

static chunk_state chunk_on_digit(chunk_decoder *decoder, char c)
{
    if (decoder->digits == CHUNK_DIGITS_MAX || decoder->left >> CHUNK_FULL_SHIFT) {
        return chunk_fail(decoder, 400, "chunk size too long");
    }
    decoder->digits++;
    decoder->left = decoder->left << 4 | chunk_digit(c);
    return CHUNK_ON_SIZE;
}

// Extensions mean nothing to us, so all they can do is cost: their octets are counted over the
// whole message, or a peer could send them for ever without sending content.
static bool chunk_ext_fits(chunk_decoder *decoder)
{
    return ++decoder->ext_octets <= decoder->limits->ext_octets_max;
}

static bool chunk_is_space(char c)
{
    return c == ' ' || c == '\t';
}

static chunk_state chunk_on_size(chunk_decoder *decoder, char c)
{
    if (syntax_is(c, SYNTAX_HEX)) return chunk_on_digit(decoder, c);
    if (decoder->digits == 0) return chunk_fail(decoder, 400, "chunk size missing");
    if (c == '\r') return CHUNK_ON_SIZE_LF;
    if (c != ';' && !chunk_is_space(c))
        return chunk_fail(decoder, 400, "bad octet in a chunk size");
    if (!chunk_ext_fits(decoder)) return chunk_fail(decoder, 400, "chunk extensions too large");
    return c == ';' ? CHUNK_ON_EXT_NAME_START : CHUNK_ON_EXT_SPACE;
}

static chunk_state chunk_on_size_lf(chunk_decoder *decoder, char c)
{
    if (c != '\n') return chunk_fail(decoder, 400, "chunk size not ended by CRLF");
    decoder->digits = 0;
    return decoder->left ? CHUNK_ON_DATA : CHUNK_ON_TRAILER_START;
}

// A complete extension is followed by another one or by the end of the line; behind white space, by
// another one only.
static chunk_state chunk_on_ext_end(chunk_decoder *decoder, char c)
{
    bool spaced = decoder->state == CHUNK_ON_EXT_SPACE || decoder->state == CHUNK_ON_EXT_NAME_SPACE;
    if (c == ';') return CHUNK_ON_EXT_NAME_START;
    if (c == '\r' && !spaced) return CHUNK_ON_SIZE_LF;
    if (chunk_is_space(c)) return CHUNK_ON_EXT_SPACE;
    return chunk_fail(decoder, 400, "bad octet in a chunk extension");
}

static chunk_state chunk_on_ext_name_start(chunk_decoder *decoder, char c)
{
    if (syntax_is(c, SYNTAX_TOKEN)) return CHUNK_ON_EXT_NAME;
    if (chunk_is_space(c)) return CHUNK_ON_EXT_NAME_START;
    return chunk_fail(decoder, 400, "chunk extension without a name");
}

static chunk_state chunk_on_ext_name(chunk_decoder *decoder, char c)
{
    if (decoder->state == CHUNK_ON_EXT_NAME && syntax_is(c, SYNTAX_TOKEN)) return CHUNK_ON_EXT_NAME;
    if (chunk_is_space(c)) return CHUNK_ON_EXT_NAME_SPACE;
    return c == '=' ? CHUNK_ON_EXT_VALUE_START : chunk_on_ext_end(decoder, c);
}

static chunk_state chunk_on_ext_value(chunk_decoder *decoder, char c)
{
    if (syntax_is(c, SYNTAX_TOKEN)) return CHUNK_ON_EXT_VALUE;
    if (decoder->state == CHUNK_ON_EXT_VALUE) return chunk_on_ext_end(decoder, c);
    if (c == '"') return CHUNK_ON_EXT_QUOTED;
    if (chunk_is_space(c)) return CHUNK_ON_EXT_VALUE_START;
    return chunk_fail(decoder, 400, "chunk extension without a value");
}

static chunk_state chunk_on_ext_quoted(chunk_decoder *decoder, char c)
{
    if (decoder->state == CHUNK_ON_EXT_ESCAPED) {
        // HTAB, SP, VCHAR and obs-text, RFC 9110 §5.6.4: what a field value takes.
        if (syntax_is(c, SYNTAX_FIELD)) return CHUNK_ON_EXT_QUOTED;
        return chunk_fail(decoder, 400, "bad octet in a chunk extension");
    }
    if (syntax_is(c, SYNTAX_QUOTED)) return CHUNK_ON_EXT_QUOTED;
    if (c == '\\') return CHUNK_ON_EXT_ESCAPED;
    return c == '"' ? CHUNK_ON_EXT_END : chunk_fail(decoder, 400, "bad octet in a chunk extension");
}

static chunk_state chunk_in_ext(chunk_decoder *decoder, char c)
{
    if (c != '\r' && !chunk_ext_fits(decoder)) {
        return chunk_fail(decoder, 400, "chunk extensions too large");
    }
    switch (decoder->state) {
    case CHUNK_ON_EXT_NAME_START: return chunk_on_ext_name_start(decoder, c);
    case CHUNK_ON_EXT_NAME:
    case CHUNK_ON_EXT_NAME_SPACE: return chunk_on_ext_name(decoder, c);
    case CHUNK_ON_EXT_VALUE_START:
    case CHUNK_ON_EXT_VALUE: return chunk_on_ext_value(decoder, c);
    case CHUNK_ON_EXT_END:
    case CHUNK_ON_EXT_SPACE: return chunk_on_ext_end(decoder, c);
    default: return chunk_on_ext_quoted(decoder, c);
    }
}

// ---- The trailer section ----------------------------------------------------------------------

// Names that frame, route or authenticate: whoever merged one from a trailer would read another
// message, or serve another client, so who sends them wants just that.
static const char *const chunk_trailers_refused[] = {
    "host",
    "authorization",
    "content-length",
    "www-authenticate",
    "transfer-encoding",
    "proxy-authenticate",
    "proxy-authorization",
};

// Other names that no trailer may have, since they modify the request, control the connection or
// caches, or say how to read the content (RFC 9110 §6.5.1). They mean nothing there.
static const char *const chunk_trailers_void[] = {
    "te",
    "age",
    "date",
    "vary",
    "range",
    "cookie",
    "expect",
    "pragma",
    "cookie2",
    "expires",
    "if-match",
    "if-range",
    "location",
    "trailer",
    "upgrade",
    "forwarded",
    "x-real-ip",
    "connection",
    "keep-alive",
    "set-cookie",
    "retry-after",
    "content-type",
    "max-forwards",
    "cache-control",
    "content-range",
    "if-none-match",
    "http2-settings",
    "x-forwarded-for",
    "content-encoding",
    "content-location",
    "proxy-connection",
    "x-forwarded-host",
    "x-forwarded-port",
    "if-modified-since",
    "sec-websocket-key",
    "x-forwarded-proto",
    "content-disposition",
    "if-unmodified-since",
};

static bool chunk_is_one_of(slice name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (slice_equal_nocase(name, slice_of(names[i]))) return true;
    }
    return false;
}

static bool chunk_trailer_is_refused(slice name)
{
    enum { COUNT = sizeof chunk_trailers_refused / sizeof *chunk_trailers_refused };
    return chunk_is_one_of(name, chunk_trailers_refused, COUNT);
}

bool chunk_trailer_allowed(slice name)
{
    enum { COUNT = sizeof chunk_trailers_void / sizeof *chunk_trailers_void };
    return !chunk_trailer_is_refused(name) && !chunk_is_one_of(name, chunk_trailers_void, COUNT);
}

// Most messages have no trailers, so there is no memory for them until one begins.
static bool chunk_trailers_ready(chunk_decoder *decoder)
{
    if (decoder->trailers) return true;
    decoder->trailer_text = arena_alloc(decoder->memory, decoder->limits->trailer_octets_max);
    if (!decoder->trailer_text) return false;
    decoder->trailers =
        arena_alloc(decoder->memory, decoder->limits->trailers_max * sizeof *decoder->trailers);
    return decoder->trailers != NULL;
}

static chunk_state chunk_keep(chunk_decoder *decoder, char c, chunk_state next)
{
    if (decoder->trailer_octets >= decoder->limits->trailer_octets_max) {
        return chunk_fail(decoder, CHUNK_LIMIT_STATUS, "trailer section too large");
    }
    decoder->trailer_text[decoder->trailer_octets++] = c;
    return next;
}

static chunk_state chunk_on_trailer_start(chunk_decoder *decoder, char c)
{
    if (c == '\r') return CHUNK_ON_LAST_LF;
    if (!syntax_is(c, SYNTAX_TOKEN)) return chunk_fail(decoder, 400, "bad octet in a trailer name");
    if (decoder->trailer_count >= decoder->limits->trailers_max) {
        return chunk_fail(decoder, CHUNK_LIMIT_STATUS, "too many trailers");
    }
    if (!chunk_trailers_ready(decoder)) {
        return chunk_fail(decoder, CHUNK_MEMORY_STATUS, "no memory for trailers");
    }
    decoder->mark = decoder->trailer_octets;
    return chunk_keep(decoder, c, CHUNK_ON_TRAILER_NAME);
}

static chunk_state chunk_on_trailer_name(chunk_decoder *decoder, char c)
{
    if (syntax_is(c, SYNTAX_TOKEN)) return chunk_keep(decoder, c, CHUNK_ON_TRAILER_NAME);
    if (c != ':') return chunk_fail(decoder, 400, "bad octet in a trailer name");
    decoder->name_len = decoder->trailer_octets - decoder->mark;
    slice name = slice_make(decoder->trailer_text + decoder->mark, decoder->name_len);
    if (chunk_trailer_is_refused(name)) return chunk_fail(decoder, 400, "trailer name refused");
    return chunk_keep(decoder, c, CHUNK_ON_TRAILER_VALUE);
}

static chunk_state chunk_on_trailer_value(chunk_decoder *decoder, char c)
{
    if (syntax_is(c, SYNTAX_FIELD)) return chunk_keep(decoder, c, CHUNK_ON_TRAILER_VALUE);
    if (c != '\r') return chunk_fail(decoder, 400, "bad octet in a trailer value");
    return chunk_keep(decoder, c, CHUNK_ON_TRAILER_LF);
}

static chunk_state chunk_on_trailer_lf(chunk_decoder *decoder, char c)
{
    if (c != '\n') return chunk_fail(decoder, 400, "bare CR in a trailer");
    if (chunk_keep(decoder, c, CHUNK_ON_TRAILER_START) == CHUNK_FAILED) return CHUNK_FAILED;
    const char *line = decoder->trailer_text + decoder->mark;
    size_t line_len = decoder->trailer_octets - decoder->mark - 2;
    slice name = slice_make(line, decoder->name_len);
    slice value = slice_from(slice_make(line, line_len), decoder->name_len + 1);
    if (chunk_trailer_allowed(name))
        decoder->trailers[decoder->trailer_count++] = (skua_field){ name, slice_trim(value) };
    return CHUNK_ON_TRAILER_START;
}

// ---- The whole --------------------------------------------------------------------------------

static chunk_state chunk_on_data_end(chunk_decoder *decoder, char c)
{
    if (decoder->state == CHUNK_ON_DATA_CR && c == '\r') return CHUNK_ON_DATA_LF;
    if (decoder->state == CHUNK_ON_DATA_LF && c == '\n') return CHUNK_ON_SIZE;
    return chunk_fail(decoder, 400, "chunk not ended by CRLF");
}

static chunk_state chunk_step(chunk_decoder *decoder, char c)
{
    switch ((chunk_state)decoder->state) {
    case CHUNK_ON_SIZE: return chunk_on_size(decoder, c);
    case CHUNK_ON_SIZE_LF: return chunk_on_size_lf(decoder, c);
    case CHUNK_ON_EXT_NAME_START:
    case CHUNK_ON_EXT_NAME:
    case CHUNK_ON_EXT_NAME_SPACE:
    case CHUNK_ON_EXT_VALUE_START:
    case CHUNK_ON_EXT_VALUE:
    case CHUNK_ON_EXT_QUOTED:
    case CHUNK_ON_EXT_ESCAPED:
    case CHUNK_ON_EXT_END:
    case CHUNK_ON_EXT_SPACE: return chunk_in_ext(decoder, c);
    case CHUNK_ON_DATA_CR:
    case CHUNK_ON_DATA_LF: return chunk_on_data_end(decoder, c);
    case CHUNK_ON_TRAILER_START: return chunk_on_trailer_start(decoder, c);
    case CHUNK_ON_TRAILER_NAME: return chunk_on_trailer_name(decoder, c);
    case CHUNK_ON_TRAILER_VALUE: return chunk_on_trailer_value(decoder, c);
    case CHUNK_ON_TRAILER_LF: return chunk_on_trailer_lf(decoder, c);
    case CHUNK_ON_LAST_LF:
        return c == '\n' ? CHUNK_ENDED : chunk_fail(decoder, 400, "message not ended by CRLF");
    case CHUNK_ON_DATA:
    case CHUNK_ENDED:
    case CHUNK_FAILED: break; // they take no octet
    }
    return chunk_fail(decoder, 500, "chunk decoder in a state that takes no octet");
}

static chunk_event chunk_take_data(chunk_decoder *decoder, slice *input, slice *data)
{
    size_t n = input->len < decoder->left ? input->len : (size_t)decoder->left;
    *data = slice_make(input->ptr, n);
    *input = slice_from(*input, n);
    decoder->left -= n;
    if (decoder->left == 0) decoder->state = CHUNK_ON_DATA_CR;
    return CHUNK_DATA;
}

static bool chunk_begins_line(slice text, size_t at)
{
    return text.len - at >= 2 && text.ptr[at] == '\r' && text.ptr[at + 1] == '\n';
}

// The CRLF behind content.
static void chunk_take_data_end(chunk_decoder *decoder, slice *input)
{
    if (!chunk_begins_line(*input, 0)) return;
    *input = slice_from(*input, 2);
    decoder->state = CHUNK_ON_SIZE;
}

// A size line without extensions.
static void chunk_take_size_line(chunk_decoder *decoder, slice *input)
{
    size_t most = input->len < CHUNK_DIGITS_SURE ? input->len : CHUNK_DIGITS_SURE, n = 0;
    uint64_t size = 0;
    for (; n < most && syntax_is(input->ptr[n], SYNTAX_HEX); n++)
        size = size << 4 | chunk_digit(input->ptr[n]);
    if (n == 0 || !chunk_begins_line(*input, n)) return;
    *input = slice_from(*input, n + 2);
    decoder->left = size;
    decoder->state = size ? CHUNK_ON_DATA : CHUNK_ON_TRAILER_START;
}

// In a name, a value or quoted text the octets of its class change nothing but their count.
static void chunk_take_ext_run(chunk_decoder *decoder, slice *input)
{
    int class = decoder->state == CHUNK_ON_EXT_QUOTED ? SYNTAX_QUOTED : SYNTAX_TOKEN;
    size_t most = decoder->limits->ext_octets_max - decoder->ext_octets, n = 0;
    if (most > input->len) most = input->len;
    while (n < most && syntax_is(input->ptr[n], class))
        n++;
    decoder->ext_octets += n;
    *input = slice_from(*input, n);
}

static bool chunk_is_in_ext_run(const chunk_decoder *decoder)
{
    return decoder->state == CHUNK_ON_EXT_NAME || decoder->state == CHUNK_ON_EXT_VALUE ||
           decoder->state == CHUNK_ON_EXT_QUOTED;
}

// Octet by octet, but for runs, to the next event.
__attribute__((noinline)) static chunk_event chunk_run(chunk_decoder *decoder, slice *input,
                                                       slice *data)
{
    for (;;) {
        if (chunk_is_in_ext_run(decoder)) chunk_take_ext_run(decoder, input);
        if (decoder->state == CHUNK_ENDED) return CHUNK_END;
        if (decoder->state == CHUNK_FAILED) return CHUNK_FAULT;
        if (input->len == 0) return CHUNK_MORE;
        if (decoder->state == CHUNK_ON_DATA) return chunk_take_data(decoder, input, data);
        chunk_state next = chunk_step(decoder, input->ptr[0]);
        decoder->state = (uint8_t)next;
        if (next != CHUNK_FAILED) *input = slice_from(*input, 1);
    }
}

chunk_event chunk_next(chunk_decoder *decoder, slice *input, slice *data)
{
    if (decoder->state == CHUNK_ON_DATA_CR) chunk_take_data_end(decoder, input);
    if (decoder->state == CHUNK_ON_SIZE && decoder->digits == 0)
        chunk_take_size_line(decoder, input);
    if (decoder->state == CHUNK_ON_DATA && input->len) return chunk_take_data(decoder, input, data);
    return chunk_run(decoder, input, data);
}

size_t chunk_write_size(char *out, uint64_t size)
{
    size_t digits = 1;
    while (digits < 16 && size >> (4 * digits))
        digits++;
    for (size_t i = digits; i-- > 0; size >>= 4)
        out[i] = "0123456789abcdef"[size & 15];
    out[digits] = '\r';
    out[digits + 1] = '\n';
    return digits + 2;
}
