// SPDX-License-Identifier: MIT
//
// Multipart. The delimiter begins with CR, and no CR is in a boundary: what has been matched of it
// and turns out to be content is content whole, and the search goes on with the octet that did not
// match.

#include "http/multipart.h"

#include "base/assert.h"
#include "http/part_head.h"

typedef enum multipart_state {
    MULTIPART_PREAMBLE,  // before the first delimiter
    MULTIPART_DELIMITED, // behind a delimiter: "-", padding or CR
    MULTIPART_PADDING,   // padding behind a delimiter, then CR
    MULTIPART_LF,        // LF of a delimiter's line
    MULTIPART_DASH,      // the second "-" of a close-delimiter
    MULTIPART_HEAD,
    MULTIPART_HEAD_LF,
    MULTIPART_CONTENT,
    MULTIPART_CLOSED, // behind the close-delimiter: padding, or CR
    MULTIPART_CLOSED_LF,
    MULTIPART_EPILOGUE,
    MULTIPART_FAILED
} multipart_state;

// bcharsnospace, RFC 2046 §5.1.1; a space only within.
static bool multipart_is_boundary(slice text)
{
    if (text.len == 0 || text.len > MULTIPART_BOUNDARY_MAX || text.ptr[text.len - 1] == ' ')
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i], lower = octet_lower(c);
        bool plain = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9');
        if (!plain && (c == 0 || !strchr("'()+_,-./:=? ", c))) return false;
    }
    return true;
}

// A second boundary is refused: a reader that takes the other one would see other parts.
bool multipart_boundary(slice content_type, char boundary[MULTIPART_BOUNDARY_MAX], size_t *len)
{
    if (content_type.len == 0) return false;
    slice media = param_head(&content_type), name, value, found = { NULL, 0 };
    if (!slice_equal_nocase(media, SKUA_SLICE("multipart/form-data"))) return false;
    while (param_next(&content_type, &name, &value)) {
        if (!slice_equal_nocase(name, SKUA_SLICE("boundary"))) continue;
        if (found.ptr) return false;
        found = value;
    }
    char text[2 * MULTIPART_BOUNDARY_MAX + 2];
    if (content_type.len || found.len == 0 || found.len > sizeof text) return false;
    memcpy(text, found.ptr, found.len);
    found = param_unquote(slice_make(text, found.len), text);
    if (!multipart_is_boundary(found)) return false;
    memcpy(boundary, found.ptr, found.len);
    *len = found.len;
    return true;
}

void multipart_init(multipart *m, const multipart_limits *limits, slice boundary, char *head)
{
    SKUA_ASSERT(boundary.len > 0 && boundary.len <= MULTIPART_BOUNDARY_MAX);
    *m = (multipart){ .limits = limits, .head = head };
    memcpy(m->delimiter, "\r\n--", 4);
    memcpy(m->delimiter + 4, boundary.ptr, boundary.len);
    m->delimiter_len = (uint8_t)(boundary.len + 4);
    m->matched = 2; // the first delimiter may stand at the very beginning
}

static multipart_event multipart_fail(multipart *m, uint16_t status, const char *reason)
{
    m->state = MULTIPART_FAILED;
    m->fault = fault_request(status, reason);
    return MULTIPART_FAULT;
}

// Before the first part and behind delimiters little is expected, and a little more is borne with.
static bool multipart_is_around(multipart *m, size_t octets)
{
    m->around += octets;
    return m->around <= m->limits->head_octets_max;
}

// ---- Delimiters ----

// Goes on with a delimiter that has begun. False: it is none, and what was held is content.
static bool multipart_match(multipart *m, slice *input)
{
    while (input->len && m->matched < m->delimiter_len) {
        if (input->ptr[0] != m->delimiter[m->matched]) return false;
        *input = slice_from(*input, 1);
        m->matched++;
        m->held++;
    }
    return true;
}

// The next piece of what is between delimiters, up to where one may begin; empty when the input is
// used up, or a delimiter is complete.
static slice multipart_between(multipart *m, slice *input)
{
    while (input->len) {
        if (m->matched == 0) {
            const char *cr = memchr(input->ptr, '\r', input->len);
            slice piece = slice_make(input->ptr, cr ? (size_t)(cr - input->ptr) : input->len);
            *input = slice_from(*input, piece.len);
            if (piece.len) return piece;
        }
        if (multipart_match(m, input)) break;
        slice piece = slice_make(m->delimiter + (m->matched - m->held), m->held);
        m->matched = m->held = 0;
        if (piece.len) return piece;
    }
    return slice_make("", 0);
}

static bool multipart_is_delimited(multipart *m)
{
    if (m->matched < m->delimiter_len) return false;
    m->matched = m->held = 0;
    m->around = 0;
    m->state = MULTIPART_DELIMITED;
    return true;
}

static multipart_event on_preamble(multipart *m, slice *input)
{
    for (;;) {
        slice piece = multipart_between(m, input);
        if (!multipart_is_around(m, piece.len))
            return multipart_fail(m, 413, "too much before the first part");
        if (piece.len) continue;
        (void)multipart_is_delimited(m);
        return MULTIPART_MORE;
    }
}

static multipart_event on_content(multipart *m, slice *input, slice *data)
{
    *data = multipart_between(m, input);
    if (data->len) return MULTIPART_DATA;
    return multipart_is_delimited(m) ? MULTIPART_END : MULTIPART_MORE;
}

// A boundary is followed by "--", or by white space to the line's end (RFC 2046 §5.1.1). Anything
// else would be a longer boundary to some readers and this one to others.
static multipart_event on_delimited(multipart *m, char c)
{
    if (c == '-' && m->state == MULTIPART_DELIMITED) {
        m->state = MULTIPART_DASH;
        return MULTIPART_MORE;
    }
    if (c == '\r') {
        m->state = MULTIPART_LF;
        return MULTIPART_MORE;
    }
    if (c != ' ' && c != '\t') return multipart_fail(m, 400, "octets behind a boundary");
    m->state = MULTIPART_PADDING;
    return multipart_is_around(m, 1) ? MULTIPART_MORE
                                     : multipart_fail(m, 413, "padding behind a boundary");
}

static multipart_event on_delimiter_lf(multipart *m, char c)
{
    if (c != '\n') return multipart_fail(m, 400, "CR without LF behind a boundary");
    if (m->parts++ == m->limits->parts_max) return multipart_fail(m, 413, "too many parts");
    m->head_len = m->line = 0;
    m->state = MULTIPART_HEAD;
    return MULTIPART_MORE;
}

static multipart_event on_dash(multipart *m, char c)
{
    if (c != '-') return multipart_fail(m, 400, "octets behind a boundary");
    m->state = MULTIPART_CLOSED;
    return MULTIPART_MORE;
}

static multipart_event on_closed(multipart *m, char c)
{
    if (c == '\r') {
        m->state = MULTIPART_CLOSED_LF;
        return MULTIPART_MORE;
    }
    if (c != ' ' && c != '\t') return multipart_fail(m, 400, "octets behind the last boundary");
    return multipart_is_around(m, 1) ? MULTIPART_MORE
                                     : multipart_fail(m, 413, "padding behind a boundary");
}

static multipart_event on_closed_lf(multipart *m, char c)
{
    if (c != '\n') return multipart_fail(m, 400, "CR without LF behind the last boundary");
    m->state = MULTIPART_EPILOGUE;
    return MULTIPART_MORE;
}

// ---- Heads ----

static multipart_event multipart_begin(multipart *m)
{
    unsigned count = MULTIPART_FIELDS_MAX;
    const char *why = part_head_read(slice_make(m->head, m->head_len), m->fields, &count, &m->part);
    if (why) return multipart_fail(m, 400, why);
    m->state = MULTIPART_CONTENT;
    // a part without content may leave the empty line's CRLF to the delimiter, RFC 2046 §5.1.1
    m->matched = 2;
    return MULTIPART_BEGIN;
}

static multipart_event on_head(multipart *m, char c)
{
    if (m->head_len == m->limits->head_octets_max)
        return multipart_fail(m, 413, "a part's head is too long");
    m->head[m->head_len++] = c;
    if (m->state == MULTIPART_HEAD) {
        if (c == '\n') return multipart_fail(m, 400, "LF without CR in a part's head");
        if (c == '\r') m->state = MULTIPART_HEAD_LF;
        return MULTIPART_MORE;
    }
    if (c != '\n') return multipart_fail(m, 400, "CR without LF in a part's head");
    bool empty = m->head_len - m->line == 2;
    m->line = m->head_len;
    m->state = MULTIPART_HEAD;
    return empty ? multipart_begin(m) : MULTIPART_MORE;
}

// ---- The whole ----

static multipart_event multipart_step(multipart *m, char c)
{
    switch ((multipart_state)m->state) {
    case MULTIPART_DELIMITED:
    case MULTIPART_PADDING: return on_delimited(m, c);
    case MULTIPART_LF: return on_delimiter_lf(m, c);
    case MULTIPART_DASH: return on_dash(m, c);
    case MULTIPART_HEAD:
    case MULTIPART_HEAD_LF: return on_head(m, c);
    case MULTIPART_CLOSED: return on_closed(m, c);
    case MULTIPART_CLOSED_LF: return on_closed_lf(m, c);
    case MULTIPART_PREAMBLE:
    case MULTIPART_CONTENT:
    case MULTIPART_EPILOGUE:
    case MULTIPART_FAILED: break;
    }
    SKUA_ASSERT(false);
    return MULTIPART_FAULT;
}

multipart_event multipart_next(multipart *m, slice *input, slice *data)
{
    multipart_event event = MULTIPART_MORE;
    if (m->state == MULTIPART_FAILED) return MULTIPART_FAULT;
    while (input->len && event == MULTIPART_MORE) {
        if (m->state == MULTIPART_CONTENT) {
            event = on_content(m, input, data);
        } else if (m->state == MULTIPART_PREAMBLE) {
            event = on_preamble(m, input);
        } else if (m->state == MULTIPART_EPILOGUE) {
            *input = slice_from(*input, input->len); // to be ignored, RFC 2046 §5.1.1
        } else {
            char c = input->ptr[0];
            *input = slice_from(*input, 1);
            event = multipart_step(m, c);
        }
    }
    return event;
}

bool multipart_finish(multipart *m)
{
    if (m->state == MULTIPART_CLOSED || m->state == MULTIPART_EPILOGUE) return true;
    if (m->state != MULTIPART_FAILED) (void)multipart_fail(m, 400, "the last boundary is missing");
    return false;
}
