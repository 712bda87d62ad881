// SPDX-License-Identifier: MIT
//
// The password is never an argument: every user of a machine sees those.

#include "command/passwd.h"

#include "command/names.h"
#include "conf/users.h"
#include "common/say.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <termios.h>
#include <unistd.h>

enum {
    PASSWD_OCTETS_MAX = 72, // bcrypt looks at no more
    PASSWD_SALT_OCTETS = 16
};

// ---- The password ----

// Reads a line. Returns: false when it cannot be a password.
static bool passwd_line(char password[PASSWD_OCTETS_MAX + 2])
{
    size_t len = 0;
    bool has_control = false;
    char c;
    while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n') {
        has_control = has_control || (unsigned char)c < ' ' || c == 0x7f;
        if (len <= PASSWD_OCTETS_MAX) password[len++] = c;
    }
    password[len] = '\0';
    if (has_control) say_error("a password has no control characters; nothing has changed");
    else if (len == 0) say_error("a password cannot be empty");
    else if (len > PASSWD_OCTETS_MAX)
        say_error("a password has at most %d octets, as bcrypt looks at no more",
                  PASSWD_OCTETS_MAX);
    else return true;
    return false;
}

// Ctrl-C is a character meanwhile, so that the terminal never stays mute.
static bool passwd_ask(const char *question, char password[PASSWD_OCTETS_MAX + 2])
{
    struct termios shown, hidden;
    if (tcgetattr(STDIN_FILENO, &shown) != 0) return passwd_line(password);
    hidden = shown;
    hidden.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
    (void)fputs(question, stderr);
    bool read_one = passwd_line(password);
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    (void)fputc('\n', stderr);
    return read_one;
}

static bool passwd_get(const char *name, char password[PASSWD_OCTETS_MAX + 2])
{
    char question[CONF_NAME_OCTETS_MAX + 64], again[PASSWD_OCTETS_MAX + 2];
    (void)snprintf(question, sizeof question, "Password of %s: ", name);
    if (!passwd_ask(question, password)) return false;
    if (!isatty(STDIN_FILENO)) return true;
    if (!passwd_ask("The same again: ", again)) return false;
    bool same = strcmp(password, again) == 0;
    if (!same) say_error("the two passwords differ; nothing has changed");
    return same;
}

// ---- The hash ----

// The base64 of bcrypt, which has an alphabet of its own and no padding.
static void passwd_salt(const unsigned char octets[PASSWD_SALT_OCTETS], char *text)
{
    static const char digits[] = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    unsigned bits = 0, count = 0;
    for (size_t i = 0; i < PASSWD_SALT_OCTETS; i++) {
        bits = bits << 8 | octets[i];
        for (count += 8; count >= 6; count -= 6)
            *text++ = digits[bits >> (count - 6) & 63];
    }
    *text++ = digits[bits << (6 - count) & 63];
    *text = '\0';
}

static bool passwd_hash(const char *password, char hash[CONF_HASH_OCTETS + 1])
{
    unsigned char random[PASSWD_SALT_OCTETS];
    char setting[CONF_HASH_OCTETS + 1] = "$2b$10$";
    if (getentropy(random, sizeof random) != 0) return false;
    passwd_salt(random, setting + strlen(setting));
    return conf_password_hash(setting, password, hash);
}

bool conf_passwd(const char *file, const char *name)
{
    char password[PASSWD_OCTETS_MAX + 2], hash[CONF_HASH_OCTETS + 1];
    if (!conf_users_are_built()) {
        say_error("this skua was built without libcrypt, which passwords need");
        return false;
    }
    if (!conf_names_is_name(name)) return false;
    if (!passwd_get(name, password)) return false;
    if (!passwd_hash(password, hash)) say_error("the password cannot be hashed on this system");
    else if (!conf_names_put(file, name, hash)) say_error("%s cannot be written", file);
    else return true;
    return false;
}
