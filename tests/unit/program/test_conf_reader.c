// SPDX-License-Identifier: MIT
//
// The reader of skua.conf: what becomes of a text, the same wherever it is split, and the place and sentence
// of each fault.

#include "program/conf/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { DUMP_OCTETS = 4096 };

typedef struct dump {
    char text[DUMP_OCTETS];
    size_t len;
} dump;

static const char *variable(const char *name)
{
    if (strcmp(name, "NAME") == 0) return "value";
    if (strcmp(name, "TWO") == 0) return "a b";
    if (strcmp(name, "BRACE") == 0) return "{";
    if (strcmp(name, "EMPTY") == 0) return "";
    if (strcmp(name, "LINES") == 0) return "a\nb";
    return NULL;
}

__attribute__((format(printf, 2, 3))) static void dump_add(dump *d, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(d->text + d->len, sizeof d->text - d->len, format, arguments);
    va_end(arguments);
    assert_true(n >= 0 && (size_t)n < sizeof d->text - d->len);
    d->len += (size_t)n;
}

static void dump_directives(dump *d, const conf_directive *at)
{
    for (; at; at = at->next) {
        for (unsigned i = 0; i < at->count; i++) {
            const conf_word *word = &at->words[i];
            const char *mark = word->is_quoted ? "\"" : "";
            dump_add(d, "%u:%u=%s%s%s ", word->at.line, word->at.column, mark, word->text, mark);
        }
        if (at->has_block) {
            dump_add(d, "{ ");
            dump_directives(d, at->inner);
            dump_add(d, "} ");
        }
    }
}

// Reads text in two pieces, or octet by octet when split is beyond its end.
static void read_split(const char *text, size_t len, size_t split, dump *d)
{
    static conf_reader reader;
    conf_memory memory = { 0 };
    conf_findings findings = { .memory = &memory };
    conf_reader_begin(&reader, "f", &findings, variable);
    for (size_t i = 0; split > len && i < len; i++)
        conf_reader_feed(&reader, text + i, 1);
    if (split <= len) {
        conf_reader_feed(&reader, text, split);
        conf_reader_feed(&reader, text + split, len - split);
    }
    const conf_directive *first = conf_reader_end(&reader);
    d->len = 0;
    d->text[0] = '\0';
    assert_int_equal(reader.is_wrong, findings.count > 0);
    if (!reader.is_wrong) dump_directives(d, first);
    for (const conf_finding *at = findings.first; at; at = at->next)
        dump_add(d, "%s:%u:%u: %s\n", at->at.file, at->at.line, at->at.column, at->sentence);
    conf_memory_free(&memory);
}

static void expect(const char *text, const char *expected)
{
    static dump whole, split;
    size_t len = strlen(text);
    read_split(text, len, len, &whole);
    assert_string_equal(whole.text, expected);
    for (size_t i = 0; i <= len + 1; i++) {
        read_split(text, len, i, &split);
        assert_string_equal(split.text, whole.text);
    }
}

static void test_trees(void **state)
{
    (void)state;
    expect("", "");
    expect("\n\n \t\n# a { comment\n", "");
    expect("listen :80", "1:1=listen 1:8=:80 ");
    expect("listen :80\n", "1:1=listen 1:8=:80 ");
    expect(" a\tb\r\nc", "1:2=a 1:4=b 2:1=c ");
    expect("a # b\nc#d # e", "1:1=a 2:1=c#d ");
    expect("a \"b c\" \"\" \"#\" \"{\"", "1:1=a 1:3=\"b c\" 1:9=\"\" 1:12=\"#\" 1:16=\"{\" ");
    expect("a \"\\\"\\\\\\$\"", "1:1=a 1:3=\"\"\\$\" ");
    expect("a \\b ;c", "1:1=a 1:3=\\b 1:6=;c ");
    expect("a {\n b\n}\nc", "1:1=a { 2:2=b } 4:1=c ");
    expect("a {\n}", "1:1=a { } ");
    expect("a b { # c\n d {\n e\n } # f\n}\n", "1:1=a 1:3=b { 2:2=d { 3:2=e } } ");
    expect("\"a\" {\n}", "1:1=\"a\" { } ");
    expect("é é é", "1:1=é 1:3=é 1:5=é ");
}

static void test_variables(void **state)
{
    (void)state;
    expect("a ${NAME} \"${NAME}\"", "1:1=a 1:3=value 1:11=\"value\" ");
    expect("a x${NAME}y", "1:1=a 1:3=xvaluey ");
    expect("a ${TWO} b", "1:1=a 1:3=a b 1:10=b ");
    expect("a ${BRACE}\nb", "1:1=a 1:3={ 2:1=b ");
    expect("a ${EMPTY}", "1:1=a 1:3= ");
    expect("a $b $ \"$\" $$ \"$b\"", "1:1=a 1:3=$b 1:6=$ 1:8=\"$\" 1:12=$$ 1:15=\"$b\" ");
    expect("a $${NAME}", "1:1=a 1:3=$value ");
    expect("a \"\\${NAME}\"", "1:1=a 1:3=\"${NAME}\" ");
    expect("a ${NAME} # ${NONE}", "1:1=a 1:3=value ");
}

static void test_faults(void **state)
{
    (void)state;
    expect("a \"b", "f:1:3: the closing quotation mark is missing on this line\n");
    expect("a \"b\nc \"d\r\n", "f:1:3: the closing quotation mark is missing on this line\n"
                               "f:2:3: the closing quotation mark is missing on this line\n");
    expect("a \"b\\", "f:1:3: the closing quotation mark is missing on this line\n");
    expect("a \"b\"c", "f:1:6: a space is missing behind the quotation mark\n");
    expect("a \"b\"{", "f:1:6: a space is missing behind the quotation mark\n");
    expect("a b\"c\"", "f:1:4: a quotation mark is inside a word; put the whole word into them\n");
    expect("a \"\\n\"",
           "f:1:4: in quotation marks a \"\\\" stands before a quotation mark, \"\\\" or "
           "\"$\"; \"\\\\\" is one \"\\\"\n");
    expect("a b;\n}", "f:1:3: a line ends by itself: leave the \";\" out\n");
    expect("a{\n}", "f:1:2: a \"{\" is inside a word; put a space before it, or the word into "
                    "quotation marks\n");
    expect("a }b",
           "f:1:3: a \"}\" stands by itself; as a part of a word it needs quotation marks\n");
    expect("a { b\n}",
           "f:1:5: nothing may follow a \"{\" on its line; what is in a block begins on "
           "the next\n");
    expect("a {\n} b", "f:2:3: nothing may follow a \"}\" on its line\n");
    expect("a {\nb }", "f:2:3: a \"}\" stands on a line of its own\n");
    expect("{\n}", "f:1:1: a \"{\" stands behind the name of a directive, on its line\n");
    expect("a\n}", "f:2:1: this \"}\" closes no block\n");
    expect("a {\nb {\n}\n", "f:1:3: this block is not closed; a \"}\" on a line of its own is "
                            "missing\n");
    expect("a ${NONE}", "f:1:3: the environment has no variable NONE\n");
    expect("a x${}", "f:1:4: the name of a variable is missing: ${NAME}\n");
    expect("a ${1}", "f:1:3: a variable is written ${NAME}, with letters, digits and _\n");
    expect("a ${A", "f:1:3: the \"}\" of \"${\" is missing\n");
    expect("a ${LINES}", "f:1:3: the value of the variable LINES has control characters\n");
    expect("a \x01 b\nc \x7f", "f:1:3: a control character (0x01) is here\n"
                               "f:2:3: a control character (0x7f) is here\n");
}

static void repeat(char *text, size_t *len, const char *piece, size_t times)
{
    for (size_t i = 0; i < times; i++) {
        memcpy(text + *len, piece, strlen(piece));
        *len += strlen(piece);
    }
    text[*len] = '\0';
}

// text: that of times pieces. fault: NULL when it is read.
static void expect_repeated(const char *before, const char *piece, size_t times, const char *behind,
                            const char *last, size_t lasts, const char *fault)
{
    static char text[16384];
    static dump d;
    size_t len = 0;
    repeat(text, &len, before, 1);
    repeat(text, &len, piece, times);
    repeat(text, &len, behind, 1);
    repeat(text, &len, last, lasts);
    if (fault) {
        read_split(text, len, 1, &d);
        assert_non_null(strstr(d.text, fault));
        return;
    }
    static conf_reader reader;
    conf_memory memory = { 0 };
    conf_findings findings = { .memory = &memory };
    conf_reader_begin(&reader, "f", &findings, variable);
    conf_reader_feed(&reader, text, len);
    (void)conf_reader_end(&reader);
    assert_int_equal(findings.count, 0);
    conf_memory_free(&memory);
}

static void test_limits(void **state)
{
    (void)state;
    expect_repeated("", "a", CONF_WORD_OCTETS_MAX, "", "", 0, NULL);
    expect_repeated("", "a", CONF_WORD_OCTETS_MAX + 1, "", "", 0, "a word has at most 4096 octets");
    expect_repeated("\"", "a", CONF_WORD_OCTETS_MAX, "\"", "", 0, NULL);
    expect_repeated("\"", "a", CONF_WORD_OCTETS_MAX + 1, "\"", "", 0,
                    "a word has at most 4096 octets");
    expect_repeated("", "a ", CONF_WORDS_MAX, "", "", 0, NULL);
    expect_repeated("", "a ", CONF_WORDS_MAX, "${NAME}", "", 0, "a line has at most 256 words");
    expect_repeated("", "a {\n", CONF_DEPTH_MAX, "", "}\n", CONF_DEPTH_MAX, NULL);
    expect_repeated("", "a {\n", CONF_DEPTH_MAX + 1, "", "}\n", CONF_DEPTH_MAX + 1,
                    "there are more than 16 blocks inside one another");
    expect_repeated("${", "A", CONF_VARIABLE_OCTETS_MAX, "}", "", 0, "the environment has no");
    expect_repeated("${", "A", CONF_VARIABLE_OCTETS_MAX + 1, "}", "", 0, "at most 128 octets");
}

// Findings beyond those that are kept are counted.
static void test_many_faults(void **state)
{
    (void)state;
    static conf_reader reader;
    conf_memory memory = { 0 };
    conf_findings findings = { .memory = &memory };
    conf_reader_begin(&reader, "f", &findings, variable);
    for (int i = 0; i <= CONF_FINDINGS_MAX; i++)
        conf_reader_feed(&reader, "a;\n", 3);
    (void)conf_reader_end(&reader);
    unsigned kept = 0;
    for (const conf_finding *at = findings.first; at; at = at->next)
        kept++;
    assert_int_equal(kept, CONF_FINDINGS_MAX);
    assert_int_equal(findings.count, CONF_FINDINGS_MAX + 1);
    conf_memory_free(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trees),       cmocka_unit_test(test_variables),
        cmocka_unit_test(test_faults),      cmocka_unit_test(test_limits),
        cmocka_unit_test(test_many_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
