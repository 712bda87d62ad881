// SPDX-License-Identifier: MIT
//
// The table of commands. Each is one row and one function; usage, checks and --help come from the row.

#include "command/command.h"

#include "conf/load.h"
#include "command/passwd.h"
#include "conf/serve.h"
#include "command/token.h"
#include "command/embed.h"
#include "command/health.h"
#include "command/precompress.h"
#include "common/say.h"
#include "super/client.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { COMMAND_DONE = 0, COMMAND_FAILED = 1, COMMAND_USAGE = 2 };

static int command_check(const command_words *words)
{
    return conf_is_right(words->config) ? COMMAND_DONE : COMMAND_FAILED;
}

static int command_explain(const command_words *words)
{
    bool has_method = words->count == 2;
    const char *method = has_method ? words->at[0] : "GET";
    return conf_explain_url(words->config, method, words->at[has_method]) ? COMMAND_DONE
                                                                          : COMMAND_FAILED;
}

static int command_passwd(const command_words *words)
{
    return conf_passwd(words->at[0], words->at[1]) ? COMMAND_DONE : COMMAND_FAILED;
}

static int command_token(const command_words *words)
{
    return conf_token(words->at[0], words->at[1]) ? COMMAND_DONE : COMMAND_FAILED;
}

static int command_compress(const command_words *words)
{
    return precompress(words->at[0]) ? COMMAND_DONE : COMMAND_FAILED;
}

static int command_embed(const command_words *words)
{
    const char *name = words->count == 2 ? words->at[1] : NULL;
    return embed(words->at[0], name) ? COMMAND_DONE : COMMAND_FAILED;
}

static int command_ask(super_task task, const command_words *words)
{
    char text[1024];
#ifdef __linux__
    bool done = super_client_ask(task, words->config, text, sizeof text);
#else
    bool done = false;
    (void)task, (void)words;
    (void)snprintf(text, sizeof text, "this system supports only the signals SIGHUP and SIGTERM");
#endif
    if (done) say("%s", text);
    else say_error("%s", text);
    return done ? COMMAND_DONE : COMMAND_FAILED;
}

static int command_reload(const command_words *words)
{
    return command_ask(SUPER_RELOAD, words);
}

static int command_upgrade(const command_words *words)
{
    return command_ask(SUPER_UPGRADE, words);
}

static int command_stop(const command_words *words)
{
    return command_ask(SUPER_STOP, words);
}

// The address of the status listener that a configuration has. Returns whether the file has no faults.
static bool command_ask_configured(const char *file, int *status)
{
    conf *c = conf_new();
    bool is_sound = c && conf_load(c, file);
    if (!c) say_error("%s", skua_status_text(SKUA_ENOMEM));
    if (is_sound && c->status) *status = health_ask(c->status) ? COMMAND_DONE : COMMAND_FAILED;
    conf_drop(c);
    return is_sound;
}

static int command_health(const command_words *words)
{
    int status = COMMAND_USAGE;
    if (words->count) return health_ask(words->at[0]) ? COMMAND_DONE : COMMAND_FAILED;
    if (words->config && !command_ask_configured(words->config, &status)) return COMMAND_FAILED;
    if (status == COMMAND_USAGE)
        say_error("health needs the address of a status listener: skua health ADDRESS, or -c FILE "
                  "with a line status ADDRESS");
    return status;
}

static const command commands[] = {
    { "check", "-c FILE", "a file", "report faults in FILE", 0, 0, COMMAND_CONFIG, command_check },
    { "compress", "FOLDER", "a folder", "write FILE.br, FILE.zst and FILE.gz beside its files", 1,
      1, COMMAND_NO_CONFIG, command_compress },
    { "embed", "FOLDER [NAME]", "a folder", "write its files as a C header, for skua_route_assets",
      1, 2, COMMAND_NO_CONFIG, command_embed },
    { "explain", "[METHOD] URL -c FILE", "a URL and a file",
      "show which directives apply to URL, and the response", 1, 2, COMMAND_CONFIG,
      command_explain },
    { "passwd", "FILE NAME", "a file and a name", "add a user to a file for basic_auth", 2, 2,
      COMMAND_NO_CONFIG, command_passwd },
    { "token", "FILE NAME", "a file and a name",
      "make a token, and add its hash to a file for bearer_auth", 2, 2, COMMAND_NO_CONFIG,
      command_token },
    { "reload", "-c FILE", "a file", "make the server of FILE read it again", 0, 0, COMMAND_CONFIG,
      command_reload },
    { "upgrade", "-c FILE", "a file",
      "replace the program of the server of FILE by the installed one", 0, 0, COMMAND_CONFIG,
      command_upgrade },
    { "stop", "-c FILE", "a file", "stop the server of FILE", 0, 0, COMMAND_CONFIG, command_stop },
    { "health", "ADDRESS | -c FILE", "an address or a file",
      "check the health of a server through its status listener", 0, 1, COMMAND_MAY_CONFIG,
      command_health },
};

enum { COMMANDS = sizeof commands / sizeof *commands };

void command_help(void)
{
    (void)puts("\nCommands:");
    for (size_t i = 0; i < COMMANDS; i++)
        (void)printf("  %-10s%-22s%s\n", commands[i].name, commands[i].words, commands[i].help);
}

const command *command_find(const char *word)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, word) == 0) return &commands[i];
    }
    return NULL;
}

static bool command_say_usage(const command *asked)
{
    say_error("%s needs %s: skua %s %s; ./%s is the directory", asked->name, asked->needs,
              asked->name, asked->words, asked->name);
    return false;
}

// The value of an option that stands for the configuration, or the word behind it. Returns how many words
// that takes; 0: the word is no such option.
static size_t command_take_config(char **words, const char **value)
{
    static const char name[] = "--config";
    const char *word = words[0];
    size_t len = sizeof name - 1;
    *value = NULL;
    if (strncmp(word, name, len) == 0 && word[len] == '=') *value = word + len + 1;
    else if (strncmp(word, "-c", 2) == 0 && word[2]) *value = word + 2;
    else if (strcmp(word, "-c") == 0 || strcmp(word, name) == 0) *value = words[1];
    else return 0;
    return *value == words[1] && *value ? 2 : 1;
}

// only_names: behind "--" a word that begins with "-" is an operand, too.
static bool command_take(const command *asked, command_words *taken, char ***at, bool *only_names)
{
    const char *word = **at, *value;
    size_t used =
        *only_names || asked->config == COMMAND_NO_CONFIG ? 0 : command_take_config(*at, &value);
    if (used) {
        if (!value || taken->config) return command_say_usage(asked);
        taken->config = value;
        *at += used;
        return true;
    }
    ++*at;
    if (!*only_names && strcmp(word, "--") == 0) return *only_names = true;
    if (!*only_names && word[0] == '-' && word[1]) {
        say_error("skua %s has no option %s; it takes %s", asked->name, word, asked->words);
        return false;
    }
    if (taken->count == asked->most) return command_say_usage(asked);
    taken->at[taken->count++] = word;
    return true;
}

static bool command_asks_help(char **words)
{
    return *words && !words[1] && (strcmp(*words, "--help") == 0 || strcmp(*words, "-h") == 0);
}

int command_run(const command *asked, char **words)
{
    if (command_asks_help(words)) {
        (void)printf("usage: skua %s %s, to %s\n", asked->name, asked->words, asked->help);
        return COMMAND_DONE;
    }
    command_words taken = { 0 };
    bool only_names = false;
    while (*words) {
        if (!command_take(asked, &taken, &words, &only_names)) return COMMAND_USAGE;
    }
    bool lacks_config = asked->config == COMMAND_CONFIG && !taken.config;
    if (taken.count >= asked->least && !lacks_config) return asked->run(&taken);
    (void)command_say_usage(asked);
    return COMMAND_USAGE;
}
