// SPDX-License-Identifier: MIT
//
// The order matters: rules are made while everything can still be opened, and they come in force when the process is the
// other user already; the filter comes last, since it refuses what the steps before it need.

#include "sandbox/sandbox.h"

#ifdef __linux__

#include "conf/guard.h"
#include "conf/upload.h"
#include "sandbox/landlock.h"
#include "common/network.h"
#include "common/say.h"
#include "sandbox/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// ---- The user ----

enum { SANDBOX_CAPABILITIES_MAX = 64 };

typedef struct sandbox_who {
    const char *name; // NULL: it stays who it is
    uid_t uid;
    gid_t gid;
} sandbox_who;

static bool sandbox_find_who(const conf *c, sandbox_who *who)
{
    *who = (sandbox_who){ .name = NULL };
    if (!c->user) return true;
    const struct passwd *user = getpwnam(c->user);
    if (!user) say_error("there is no user %s", c->user);
    if (!user) return false;
    *who = (sandbox_who){ c->user, user->pw_uid, user->pw_gid };
    const struct group *group = c->group ? getgrnam(c->group) : NULL;
    if (c->group && !group) say_error("there is no group %s", c->group);
    if (c->group && !group) return false;
    if (group) who->gid = group->gr_gid;
    bool is_it = who->uid == geteuid() && who->gid == getegid();
    if (is_it) who->name = NULL;
    else if (geteuid() != 0) say_error("only root can become the user %s", c->user);
    return is_it || geteuid() == 0;
}

static bool sandbox_become(const sandbox_who *who)
{
    if (!who->name) return true;
    if (setgroups(0, NULL) == 0 && setresgid(who->gid, who->gid, who->gid) == 0 &&
        setresuid(who->uid, who->uid, who->uid) == 0 && (who->uid == 0 || setuid(0) != 0))
        return true;
    say_error("cannot become the user %s", who->name);
    return false;
}

// The kernel's structures of capset(2).
typedef struct sandbox_capability_head {
    uint32_t version;
    int32_t pid;
} sandbox_capability_head;

typedef struct sandbox_capability_sets {
    uint32_t effective, permitted, inheritable;
} sandbox_capability_sets;

static void sandbox_drop_capabilities(void)
{
    sandbox_capability_head head = { .version = 0x20080522 };
    sandbox_capability_sets sets[2] = { { 0 } }, none[2] = { { 0 } };
    for (int i = 0; i < SANDBOX_CAPABILITIES_MAX; i++)
        (void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    (void)syscall(SYS_capget, &head, sets);
    if (memcmp(sets, none, sizeof none) != 0) (void)syscall(SYS_capset, &head, none);
}

// ---- Files ----

// A file is replaced by renaming another one, so its folder counts; so does that of what a link leads to.
static void sandbox_read_around(const landlock *rules, const char *file)
{
    char path[PATH_MAX], real[PATH_MAX];
    if (!file || snprintf(path, sizeof path, "%s", file) >= (int)sizeof path) return;
    const char *names[] = { path, realpath(file, real) ? real : NULL };
    for (size_t i = 0; i < 2; i++) {
        char *slash = names[i] ? strrchr(names[i], '/') : NULL;
        if (!slash) continue;
        *(slash == names[i] ? slash + 1 : slash) = '\0';
        landlock_read(rules, names[i]);
    }
}

static void sandbox_read_scope(const landlock *rules, const conf_scope *scope)
{
    if (scope->root) landlock_read(rules, scope->root);
    if (scope->upload && scope->upload->folder) landlock_write(rules, scope->upload->folder);
    for (const conf_lock *lock = scope->locks; lock; lock = lock->outer)
        if (lock->guard) sandbox_read_around(rules, lock->guard->file);
}

static void sandbox_read_sites(const landlock *rules, const conf *c)
{
    for (const conf_site *site = c->sites; site; site = site->next) {
        sandbox_read_scope(rules, &site->scope);
        for (const conf_scope *path = site->paths; path; path = path->next)
            sandbox_read_scope(rules, path);
    }
}

static void sandbox_read_keys(const landlock *rules, const conf *c)
{
    for (unsigned i = 0; i < c->certificate_count; i++) {
        const skua_tls_certificate *one = &c->certificates[i];
        sandbox_read_around(rules, one->file);
        sandbox_read_around(rules, one->key_file);
        if (one->clients) sandbox_read_around(rules, one->clients->ca_file);
    }
    sandbox_read_around(rules, c->server.tls.ticket_file);
}

// The library asks how many cores and how much memory its group of processes may use, and keeps a descriptor of
// /dev/null as a reserve.
static void sandbox_read_system(const landlock *rules)
{
    static const char *const needed[] = { "/proc/self", "/sys/fs/cgroup", "/dev/null" };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        landlock_read(rules, needed[i]);
}

// ---- All together ----

static bool sandbox_takes_files(const conf *c)
{
    bool takes = false;
    for (const conf_site *site = c->sites; site; site = site->next) {
        takes = takes || site->scope.upload;
        for (const conf_scope *path = site->paths; path; path = path->next)
            takes = takes || path->upload;
    }
    return takes;
}

static bool sandbox_filter_calls(const conf *c)
{
    const char *backend = c->server.backend;
    const seccomp_rights rights = { .uring = !backend || strcmp(backend, "epoll") != 0,
                                    .connect = c->syslog != NULL,
                                    .writes = sandbox_takes_files(c) };
    return seccomp_enter(&rights);
}

// The library reads the time zone at its first use, and the banner this machine's addresses.
static void sandbox_prepare_library(void)
{
    tzset();
    network_keep();
}

static bool sandbox_begin_rules(const conf *c, landlock *rules)
{
    if (c->is_open || !landlock_begin(rules)) return false;
    sandbox_read_system(rules);
    sandbox_read_sites(rules, c);
    sandbox_read_keys(rules, c);
    for (const conf_path *at = c->sandbox_paths; at; at = at->next)
        landlock_read(rules, at->path);
    return true;
}

static void sandbox_say_missing(bool files, bool calls)
{
    const char *filter =
        seccomp_is_known() ? "seccomp" : "seccomp, which has no filter for this machine";
    if (files && calls) return;
    say_warning(
        "these parts of the sandbox are not in force, because the kernel lacks or forbids them: %s%s%s",
        files ? "" : "Landlock", files || calls ? "" : " and ", calls ? "" : filter);
}

bool sandbox_enter(const conf *c)
{
    sandbox_who who;
    landlock rules;
    if (!sandbox_find_who(c, &who)) return false;
    bool files = sandbox_begin_rules(c, &rules);
    if (!c->is_open) sandbox_prepare_library();
    if (!sandbox_become(&who)) return false;
    if (c->is_open) return true;
    sandbox_drop_capabilities();
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    files = files && landlock_end(&rules);
    bool calls = sandbox_filter_calls(c);
    sandbox_say_missing(files, calls);
    return true;
}

// ---- Another configuration ----

static bool sandbox_can_read(const char *file, char *why, size_t room)
{
    int fd = file ? open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd >= 0) (void)close(fd);
    if (fd >= 0 || !file) return true;
    (void)snprintf(why, room, "%.300s cannot be read", file);
    return false;
}

// A file without a name leaves nothing behind, and there is none of that other name.
static bool sandbox_can_write(const conf_upload *upload, char *why, size_t room)
{
    char path[PATH_MAX];
    if (!upload || !upload->folder) return true;
    int fd = open(upload->folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    bool can = fd >= 0 || errno == EOPNOTSUPP;
    if (fd >= 0) (void)close(fd);
    (void)snprintf(path, sizeof path, "%s/.skua-upload-none", upload->folder);
    can = can && (unlinkat(AT_FDCWD, path, 0) == 0 || errno != EPERM);
    if (!can) (void)snprintf(why, room, "%.300s cannot be written to", upload->folder);
    return can;
}

static bool sandbox_covers_scope(const conf_scope *scope, char *why, size_t room)
{
    bool covers = sandbox_can_read(scope->root, why, room);
    for (const conf_lock *lock = scope->locks; lock && covers; lock = lock->outer)
        covers = !lock->guard || sandbox_can_read(lock->guard->file, why, room);
    return covers && sandbox_can_write(scope->upload, why, room);
}

bool sandbox_covers(const conf *c, char *why, size_t room)
{
    bool covers = sandbox_can_read(c->server.tls.ticket_file, why, room);
    for (unsigned i = 0; i < c->certificate_count && covers; i++) {
        const skua_tls_certificate *one = &c->certificates[i];
        covers = sandbox_can_read(one->file, why, room) &&
                 sandbox_can_read(one->key_file, why, room) &&
                 (!one->clients || sandbox_can_read(one->clients->ca_file, why, room));
    }
    for (const conf_site *site = c->sites; site && covers; site = site->next) {
        covers = sandbox_covers_scope(&site->scope, why, room);
        for (const conf_scope *path = site->paths; path && covers; path = path->next)
            covers = sandbox_covers_scope(path, why, room);
    }
    return covers;
}

#endif
