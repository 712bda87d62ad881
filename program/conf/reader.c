// SPDX-License-Identifier: MIT
//
// One small function for each state. Behind the first fault of a line the rest of the line is skipped, and
// behind the first of a file nothing is said of braces any more, since the fault may have swallowed one.

#include "conf/reader.h"

#include <string.h>

void conf_reader_begin(conf_reader *r, const char *file, conf_findings *findings,
                       const char *(*variable)(const char *name))
{
    memset(r, 0, sizeof *r);
    r->findings = findings;
    r->variable = variable;
    r->at = (conf_place){ file, 1, 1 };
    r->open[0].list.end = &r->first;
}

static void reader_fail(conf_reader *r)
{
    r->is_wrong = true;
    r->state = CONF_SKIPS;
}

#define READER_FAIL(r, at, ...) (conf_find((r)->findings, (at), __VA_ARGS__), reader_fail(r))

// ---- Lines ----

static conf_directive *reader_add(conf_reader *r)
{
    conf_memory *memory = r->findings->memory;
    conf_list *list = &r->open[r->depth].list;
    conf_directive *added = conf_take(memory, sizeof *added);
    conf_word *words = conf_take(memory, r->count * sizeof *words);
    if (!added || !words) return NULL;
    memcpy(words, r->words, r->count * sizeof *words);
    *added = (conf_directive){ .words = words, .count = r->count, .has_block = r->brace == '{' };
    *list->end = added;
    list->end = &added->next;
    return added;
}

static void reader_open_block(conf_reader *r)
{
    if (r->count == 0) {
        READER_FAIL(r, r->brace_at, "a \"{\" stands behind the name of a directive, on its line");
        return;
    }
    if (r->depth == CONF_DEPTH_MAX) {
        READER_FAIL(r, r->brace_at, "there are more than %d blocks inside one another",
                    CONF_DEPTH_MAX);
        return;
    }
    conf_directive *added = reader_add(r);
    if (!added) return;
    r->depth++;
    r->open[r->depth].at = r->brace_at;
    r->open[r->depth].list.end = &added->inner;
}

static void reader_close_block(conf_reader *r)
{
    if (r->depth > 0) r->depth--;
    else if (!r->is_wrong) READER_FAIL(r, r->brace_at, "this \"}\" closes no block");
}

static void reader_end_line(conf_reader *r)
{
    if (r->state != CONF_SKIPS) {
        if (r->brace == '{') reader_open_block(r);
        else if (r->brace == '}') reader_close_block(r);
        else if (r->count) (void)reader_add(r);
    }
    r->count = 0;
    r->brace = 0;
    r->state = CONF_SPACE;
}

// ---- Words ----

static void reader_begin_word(conf_reader *r, char c)
{
    conf_reader_state state = c == '"'               ? CONF_QUOTED
                              : c == '{' || c == '}' ? CONF_BRACE
                                                     : CONF_BARE;
    r->word_at = r->at;
    r->len = 0;
    r->has_variable = false;
    r->is_quoted = state == CONF_QUOTED;
    r->state = state;
}

static bool reader_has_room(conf_reader *r)
{
    if (r->brace == '{') {
        READER_FAIL(
            r, r->word_at,
            "nothing may follow a \"{\" on its line; what is in a block begins on the next");
    } else if (r->brace == '}') {
        READER_FAIL(r, r->word_at, "nothing may follow a \"}\" on its line");
    } else if (r->count == CONF_WORDS_MAX) {
        READER_FAIL(r, r->word_at, "a line has at most %d words", CONF_WORDS_MAX);
    } else {
        return true;
    }
    return false;
}

// The state behind the word is set by the caller, unless the word is wrong.
static bool reader_end_word(conf_reader *r)
{
    if (!reader_has_room(r)) return false;
    const char *copy = conf_copy(r->findings->memory, r->text, r->len);
    if (!copy) {
        reader_fail(r); // memory says that it is out
        return false;
    }
    r->words[r->count++] = (conf_word){ copy, r->word_at, r->is_quoted };
    return true;
}

static void reader_add_octet(conf_reader *r, char c)
{
    if (r->len == CONF_WORD_OCTETS_MAX)
        READER_FAIL(r, r->word_at, "a word has at most %d octets", CONF_WORD_OCTETS_MAX);
    else r->text[r->len++] = c;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

// ---- Variables ----

static bool is_name_octet(char c, bool is_first)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return letter || (!is_first && c >= '0' && c <= '9');
}

static bool has_control(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f) return true;
    }
    return false;
}

static void reader_end_name(conf_reader *r)
{
    r->name[r->name_len] = '\0';
    const char *value = r->name_len ? r->variable(r->name) : NULL;
    if (!r->name_len) {
        READER_FAIL(r, r->mark_at, "the name of a variable is missing: ${NAME}");
    } else if (!value) {
        READER_FAIL(r, r->mark_at, "the environment has no variable %s", r->name);
    } else if (has_control(value)) {
        READER_FAIL(r, r->mark_at, "the value of the variable %s has control characters", r->name);
    } else {
        r->has_variable = true;
        r->state = r->is_quoted ? CONF_QUOTED : CONF_BARE;
        for (; *value && r->state != CONF_SKIPS; value++)
            reader_add_octet(r, *value);
    }
}

static void reader_on_name(conf_reader *r, char c)
{
    if (c == '}') {
        reader_end_name(r);
    } else if (!is_name_octet(c, r->name_len == 0)) {
        READER_FAIL(r, r->mark_at, "a variable is written ${NAME}, with letters, digits and _");
    } else if (r->name_len == CONF_VARIABLE_OCTETS_MAX) {
        READER_FAIL(r, r->mark_at, "the name of a variable has at most %d octets",
                    CONF_VARIABLE_OCTETS_MAX);
    } else {
        r->name[r->name_len++] = c;
    }
}

static void reader_begin_variable(conf_reader *r)
{
    r->mark_at = r->at;
    r->state = CONF_DOLLAR;
}

// ---- States ----

static void reader_on_bare(conf_reader *r, char c)
{
    if (is_blank(c)) {
        bool is_ended = r->len && r->text[r->len - 1] == ';' && !r->has_variable;
        if (is_ended) READER_FAIL(r, r->word_at, "a line ends by itself: leave the \";\" out");
        else if (reader_end_word(r)) r->state = CONF_SPACE;
    } else if (c == '$') {
        reader_begin_variable(r);
    } else if (c == '"') {
        READER_FAIL(r, r->at, "a quotation mark is inside a word; put the whole word into them");
    } else if (c == '{' || c == '}') {
        READER_FAIL(r, r->at,
                    "a \"%c\" is inside a word; put a space before it, or the word into quotation "
                    "marks",
                    c);
    } else {
        reader_add_octet(r, c);
    }
}

static void reader_on_space(conf_reader *r, char c)
{
    if (is_blank(c)) return;
    if (c == '#') {
        r->state = CONF_COMMENT;
        return;
    }
    reader_begin_word(r, c);
    if (r->state == CONF_BARE) reader_on_bare(r, c);
    if (r->state == CONF_BRACE) r->text[0] = c;
}

static void reader_on_brace(conf_reader *r, char c)
{
    char brace = r->text[0];
    if (!is_blank(c)) {
        READER_FAIL(r, r->word_at,
                    "a \"%c\" stands by itself; as a part of a word it needs quotation marks",
                    brace);
    } else if (brace == '}' && r->count) {
        READER_FAIL(r, r->word_at, "a \"}\" stands on a line of its own");
    } else if (reader_has_room(r)) {
        r->brace = brace;
        r->brace_at = r->word_at;
        r->state = CONF_SPACE;
    }
}

static void reader_on_dollar(conf_reader *r, char c)
{
    r->name_len = 0;
    if (c == '{') {
        r->state = CONF_NAME;
        return;
    }
    r->state = r->is_quoted ? CONF_QUOTED : CONF_BARE;
    reader_add_octet(r, '$');
}

static void reader_on_quoted(conf_reader *r, char c)
{
    if (c == '"') {
        if (reader_end_word(r)) r->state = CONF_BEHIND;
    } else if (c == '\r') {
        READER_FAIL(r, r->word_at, "the closing quotation mark is missing on this line");
    } else if (c == '\\') {
        r->mark_at = r->at;
        r->state = CONF_ESCAPE;
    } else if (c == '$') {
        reader_begin_variable(r);
    } else {
        reader_add_octet(r, c);
    }
}

static void reader_on_escape(conf_reader *r, char c)
{
    r->state = CONF_QUOTED;
    if (c == '"' || c == '\\' || c == '$') reader_add_octet(r, c);
    else
        READER_FAIL(r, r->mark_at,
                    "in quotation marks a \"\\\" stands before a quotation mark, \"\\\" or \"$\"; "
                    "\"\\\\\" is one \"\\\"");
}

static void reader_on_behind(conf_reader *r, char c)
{
    if (is_blank(c)) r->state = CONF_SPACE;
    else if (c == ';') READER_FAIL(r, r->at, "a line ends by itself: leave the \";\" out");
    else READER_FAIL(r, r->at, "a space is missing behind the quotation mark");
}

static void reader_step(conf_reader *r, char c)
{
    if (r->state == CONF_DOLLAR) {
        reader_on_dollar(r, c);
        if (r->state == CONF_NAME) return;
    }
    switch (r->state) {
    case CONF_SPACE: reader_on_space(r, c); break;
    case CONF_BARE: reader_on_bare(r, c); break;
    case CONF_BRACE: reader_on_brace(r, c); break;
    case CONF_QUOTED: reader_on_quoted(r, c); break;
    case CONF_ESCAPE: reader_on_escape(r, c); break;
    case CONF_BEHIND: reader_on_behind(r, c); break;
    case CONF_NAME: reader_on_name(r, c); break;
    case CONF_DOLLAR:
    case CONF_COMMENT:
    case CONF_SKIPS: break;
    }
}

// The end of a line ends a bare word as a blank does, and nothing else.
static void reader_on_line_end(conf_reader *r)
{
    if (r->state == CONF_DOLLAR) reader_on_dollar(r, ' ');
    if (r->state == CONF_BARE || r->state == CONF_BRACE) reader_step(r, ' ');
    if (r->state == CONF_QUOTED || r->state == CONF_ESCAPE)
        READER_FAIL(r, r->word_at, "the closing quotation mark is missing on this line");
    if (r->state == CONF_NAME) READER_FAIL(r, r->mark_at, "the \"}\" of \"${\" is missing");
    reader_end_line(r);
}

static void reader_take(conf_reader *r, char c)
{
    bool is_control = ((unsigned char)c < ' ' && !is_blank(c) && c != '\n') || c == 0x7f;
    if (c == '\n') {
        reader_on_line_end(r);
        r->at.line++;
        r->at.column = 1;
        return;
    }
    if (is_control && r->state != CONF_SKIPS)
        READER_FAIL(r, r->at, "a control character (0x%02x) is here", (unsigned char)c);
    else reader_step(r, c);
    if (((unsigned char)c & 0xc0) != 0x80)
        r->at.column++; // an octet that continues UTF-8 is no more
}

void conf_reader_feed(conf_reader *r, const char *octets, size_t len)
{
    for (size_t i = 0; i < len; i++)
        reader_take(r, octets[i]);
}

conf_directive *conf_reader_end(conf_reader *r)
{
    reader_on_line_end(r);
    if (r->depth && !r->is_wrong)
        READER_FAIL(r, r->open[r->depth].at,
                    "this block is not closed; a \"}\" on a line of its own is missing");
    return r->first;
}
