// SPDX-License-Identifier: MIT
//
// The password is never an argument: every user of a machine sees those.

#include "conf_passwd.h"

#include "conf_users.h"
#include "say.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

enum {
    PASSWD_OCTETS_MAX = 72, // bcrypt looks at no more
    PASSWD_SALT_OCTETS = 16,
    PASSWD_NAME_OCTETS_MAX = 255
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
    char question[PASSWD_NAME_OCTETS_MAX + 64], again[PASSWD_OCTETS_MAX + 2];
    (void)snprintf(question, sizeof question, "Password of %s: ", name);
    if (!passwd_ask(question, password)) return false;
    if (!isatty(STDIN_FILENO)) return true;
    if (!passwd_ask("The same again: ", again)) return false;
    bool same = strcmp(password, again) == 0;
    if (!same) say_error("these were two different passwords; nothing has changed");
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

// ---- The file ----

// Copies the lines of all others.
static void passwd_copy(FILE *from, FILE *to, const char *name)
{
    char *line = NULL;
    size_t room = 0, len = strlen(name);
    ssize_t n;
    while ((n = getline(&line, &room, from)) > 0) {
        bool is_own = (size_t)n > len && strncmp(line, name, len) == 0 && line[len] == ':';
        if (is_own) continue;
        (void)fputs(line, to);
        if (line[n - 1] != '\n') (void)fputc('\n', to);
    }
    free(line);
}

// A file that is there keeps its owner and its mode.
static void passwd_keep_mode(FILE *from, int fd)
{
    struct stat info;
    mode_t mode = 0640;
    if (from && fstat(fileno(from), &info) == 0) {
        mode = info.st_mode & 0777;
        if (fchown(fd, info.st_uid, info.st_gid) != 0) mode &= 0770;
    }
    (void)fchmod(fd, mode);
}

static bool passwd_write(FILE *from, FILE *to, const char *name, const char *hash)
{
    if (from) passwd_copy(from, to, name);
    (void)fprintf(to, "%s:%s\n", name, hash);
    passwd_keep_mode(from, fileno(to));
    return fflush(to) == 0 && !ferror(to) && fsync(fileno(to)) == 0;
}

static bool passwd_replace(const char *file, const char *name, const char *hash)
{
    char made[PATH_MAX];
    int n = snprintf(made, sizeof made, "%s.XXXXXX", file);
    int fd = n > 0 && (size_t)n < sizeof made ? mkstemp(made) : -1;
    FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!to) {
        if (fd >= 0) (void)close(fd);
        return false;
    }
    FILE *from = fopen(file, "r");
    bool is_new = !from && errno == ENOENT;
    bool written = (from || is_new) && passwd_write(from, to, name, hash);
    if (from) (void)fclose(from);
    written = fclose(to) == 0 && written && rename(made, file) == 0;
    if (!written) (void)unlink(made);
    return written;
}

// A link stays one: what it leads to is replaced.
static bool passwd_put(const char *file, const char *name, const char *hash)
{
    char *real = realpath(file, NULL);
    bool put = passwd_replace(real ? real : file, name, hash);
    free(real);
    return put;
}

static bool passwd_is_name(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)name[i] < ' ' || name[i] == ':' || name[i] == 0x7f) return false;
    }
    return len > 0 && len <= PASSWD_NAME_OCTETS_MAX && name[0] != '#';
}

bool conf_passwd(const char *file, const char *name)
{
    char password[PASSWD_OCTETS_MAX + 2], hash[CONF_HASH_OCTETS + 1];
    if (!conf_users_are_built()) {
        say_error("this skua was built without libcrypt, which passwords need");
        return false;
    }
    if (!passwd_is_name(name)) {
        say_error("\"%s\" cannot be the name of a user; one has no colon, no control characters, "
                  "and no # at its beginning",
                  name);
        return false;
    }
    if (!passwd_get(name, password)) return false;
    if (!passwd_hash(password, hash)) say_error("the password cannot be hashed on this system");
    else if (!passwd_put(file, name, hash)) say_error("%s cannot be written", file);
    else return true;
    return false;
}
