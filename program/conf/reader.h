// SPDX-License-Identifier: MIT
//
// Reader of a configuration: octets in, a tree of directives out. It opens no file. Octets may come in
// pieces of any size, and the tree is the same.
//
//     NAME WORD "A QUOTED WORD" ${NAME} {    # up to the end of the line
//         NAME WORD
//     }
//
// A line is a directive. Words are bare or in quotation marks, where \" \\ and \$ stand for " \ and $.
// ${NAME} is a variable of the environment, in both kinds, and never makes two words of one.
#ifndef PROGRAM_CONF_READER_H
#define PROGRAM_CONF_READER_H

#include "conf/findings.h"

enum {
    CONF_WORD_OCTETS_MAX = 4096,
    CONF_WORDS_MAX = 256, // of a line
    CONF_DEPTH_MAX = 16,  // blocks inside blocks
    CONF_VARIABLE_OCTETS_MAX = 128
};

typedef struct conf_word {
    const char *text;
    conf_place at;
    bool is_quoted;
} conf_word;

typedef struct conf_directive {
    conf_word *words; // the first is its name
    unsigned count;   // of words, at least 1
    bool has_block;
    struct conf_directive *inner; // the first in its block
    struct conf_directive *next;  // in the block that it is in
} conf_directive;

// Directives in order.
typedef struct conf_list {
    conf_directive *first, **end;
} conf_list;

typedef enum conf_reader_state {
    CONF_SPACE,  // between words
    CONF_BARE,   // in a bare word
    CONF_BRACE,  // behind a "{" or "}" that began a word
    CONF_QUOTED, // in quotation marks
    CONF_ESCAPE, // behind a "\" in quotation marks
    CONF_BEHIND, // behind the closing quotation mark
    CONF_DOLLAR, // behind a "$"
    CONF_NAME,   // in "${"
    CONF_COMMENT,
    CONF_SKIPS // to the end of a line that is wrong
} conf_reader_state;

typedef struct conf_reader {
    conf_findings *findings;
    const char *(*variable)(const char *name); // its value; NULL: there is none
    conf_reader_state state;
    conf_place at;      // of the octet that comes next
    conf_place mark_at; // of the "$" or the "\" behind which the reader is
    bool is_wrong;      // there was a finding in this file
    bool is_quoted;     // this word is
    bool has_variable;  // is in it
    char brace;         // of this line: '{', '}', or 0
    conf_place brace_at;
    conf_word words[CONF_WORDS_MAX];
    unsigned count;
    conf_place word_at;
    char text[CONF_WORD_OCTETS_MAX + 1];
    size_t len;
    char name[CONF_VARIABLE_OCTETS_MAX + 1];
    size_t name_len;
    struct {
        conf_list list;
        conf_place at; // of its "{"
    } open[CONF_DEPTH_MAX + 1];
    unsigned depth;
    conf_directive *first; // the tree
} conf_reader;

// file: the name that places have; kept, like findings. variable: getenv, or what stands for it.
void conf_reader_begin(conf_reader *reader, const char *file, conf_findings *findings,
                       const char *(*variable)(const char *name));

void conf_reader_feed(conf_reader *reader, const char *octets, size_t len);

// Returns: the first directive, or NULL when there is none. Whether it can be used: !is_wrong.
conf_directive *conf_reader_end(conf_reader *reader);

#endif
