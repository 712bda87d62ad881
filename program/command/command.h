// SPDX-License-Identifier: MIT
//
// Commands: a first word that names one runs it, in place of serving a folder. ./check is the folder of that name.
#ifndef PROGRAM_COMMAND_COMMAND_H
#define PROGRAM_COMMAND_COMMAND_H

#include <stddef.h>

enum { COMMAND_OPERANDS_MAX = 4 };

// The words of a command line behind the command.
typedef struct command_words {
    const char *config; // of -c; NULL: none was given
    const char *at[COMMAND_OPERANDS_MAX];
    size_t count; // of at
} command_words;

typedef struct command {
    const char *name;
    const char *words; // as usage shows them
    const char *needs; // a noun phrase, for the sentence about words that are missing
    const char *help;  // of --help: a sentence without an end
    size_t least, most;
    enum { COMMAND_NO_CONFIG, COMMAND_MAY_CONFIG, COMMAND_CONFIG } config;
    int (*run)(const command_words *words); // returns the exit status
} command;

// The command that a word names; NULL when there is none.
const command *command_find(const char *word);

// Prints the commands, for --help.
void command_help(void);

// Reads the words behind the command, and runs it. words: NULL ends them.
// Returns the exit status: 2 when the words are wrong, which has been said.
int command_run(const command *asked, char **words);

#endif
