// SPDX-License-Identifier: MIT
//
// Heads of parts. What two readers could take for two things is refused: a name twice, a line
// folded.

#include "http/part_head.h"

#include "http/syntax.h"

// ---- Parameters ----

slice param_head(slice *rest)
{
    const char *end = rest->len ? memchr(rest->ptr, ';', rest->len) : NULL;
    slice head = slice_make(rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len);
    *rest = slice_from(*rest, head.len);
    return slice_trim(head);
}

static bool param_is_escape(slice text, size_t at)
{
    return text.ptr[at] == '\\' && at + 1 < text.len &&
           (text.ptr[at + 1] == '"' || text.ptr[at + 1] == '\\');
}

// The length of a token or a quoted string; 0 if there is neither.
static size_t param_value_len(slice text)
{
    if (text.len == 0 || text.ptr[0] != '"') return syntax_span_token(text.ptr, text.len);
    for (size_t i = 1; i < text.len; i++) {
        if (text.ptr[i] == '"') return i + 1;
        if (param_is_escape(text, i)) i++;
    }
    return 0;
}

bool param_next(slice *rest, slice *name, slice *value)
{
    slice text = slice_trim(*rest);
    while (text.len && text.ptr[0] == ';')
        text = slice_trim(slice_from(text, 1));
    bool separated = text.ptr > rest->ptr && memchr(rest->ptr, ';', (size_t)(text.ptr - rest->ptr));
    *rest = text;
    size_t n = text.len && separated ? syntax_span_token(text.ptr, text.len) : 0;
    if (n == 0 || n + 1 >= text.len || text.ptr[n] != '=') return false;
    *name = slice_make(text.ptr, n);
    text = slice_from(text, n + 1);
    n = param_value_len(text);
    if (n == 0) return false;
    *value = slice_make(text.ptr, n);
    *rest = slice_from(text, n);
    return true;
}

slice param_unquote(slice value, char *text)
{
    if (value.len < 2 || value.ptr[0] != '"') return value;
    slice inside = slice_make(value.ptr + 1, value.len - 2);
    size_t n = 0;
    for (size_t i = 0; i < inside.len; i++) {
        if (param_is_escape(inside, i)) i++;
        text[n++] = inside.ptr[i];
    }
    return slice_make(text, n);
}

// ---- Fields ----

// The next line of *rest, which ends in CRLF, without it.
static slice part_line(slice *rest)
{
    const char *end = memchr(rest->ptr, '\r', rest->len);
    slice line = slice_make(rest->ptr, end ? (size_t)(end - rest->ptr) : rest->len);
    *rest = slice_from(*rest, end ? line.len + 2 : line.len);
    return line;
}

static const char *part_field_read(slice line, skua_field *field)
{
    size_t n = syntax_span_token(line.ptr, line.len);
    if (n == 0 || n == line.len || line.ptr[n] != ':') return "a part's head is no field";
    *field = (skua_field){ slice_make(line.ptr, n), slice_trim(slice_from(line, n + 1)) };
    return syntax_is_field_value(field->value) ? NULL
                                               : "octets that no field may have in a part's head";
}

// A value of the head, which is the parser's own memory and may be written to.
static slice part_unquote(slice value)
{
    return param_unquote(value, (char *)(uintptr_t)value.ptr);
}

static const char *part_disposition_read(slice value, skua_part *part)
{
    if (part->name.ptr) return "Content-Disposition twice";
    if (!slice_equal_nocase(param_head(&value), SKUA_SLICE("form-data")))
        return "a part that is no form-data";
    slice name, content;
    while (param_next(&value, &name, &content)) {
        slice *place = slice_equal_nocase(name, SKUA_SLICE("name"))       ? &part->name
                       : slice_equal_nocase(name, SKUA_SLICE("filename")) ? &part->filename
                                                                          : NULL;
        if (!place) continue;
        if (place->ptr) return "a name twice";
        *place = part_unquote(content);
    }
    if (value.len) return "a parameter of Content-Disposition is broken";
    return part->name.ptr ? NULL : "a part without a name";
}

// RFC 7578 §4.7: not to be sent; these change nothing, the others would.
static const char *part_encoding_check(slice value)
{
    bool plain = slice_equal_nocase(value, SKUA_SLICE("binary")) ||
                 slice_equal_nocase(value, SKUA_SLICE("8bit")) ||
                 slice_equal_nocase(value, SKUA_SLICE("7bit"));
    return plain ? NULL : "a part that is encoded";
}

static const char *part_field_use(const skua_field *field, skua_part *part)
{
    if (slice_equal_nocase(field->name, SKUA_SLICE("Content-Disposition"))) {
        return part_disposition_read(field->value, part);
    }
    if (slice_equal_nocase(field->name, SKUA_SLICE("Content-Transfer-Encoding"))) {
        return part_encoding_check(field->value);
    }
    if (!slice_equal_nocase(field->name, SKUA_SLICE("Content-Type"))) return NULL;
    if (part->type.ptr) return "Content-Type twice";
    part->type = field->value;
    return NULL;
}

const char *part_head_read(slice head, skua_field *fields, unsigned *count, skua_part *part)
{
    *part = (skua_part){ .fields = fields };
    while (head.len > 2) {
        if (part->fields_count == *count) return "too many fields in a part's head";
        skua_field *field = &fields[part->fields_count++];
        const char *why = part_field_read(part_line(&head), field);
        if (!why) why = part_field_use(field, part);
        if (why) return why;
    }
    *count = (unsigned)part->fields_count;
    return part->name.ptr ? NULL : "a part without Content-Disposition";
}
