// SPDX-License-Identifier: MIT
//
// The file is looked at by the helper thread that checks a password, and never by a worker; so a user that was taken
// out may come in for some seconds more. A file that cannot be read any more leaves the users as they were.

#include "conf/guard.h"

#include "conf/lock.h"
#include "conf/response.h"
#include "conf/turns.h"
#include "common/say.h"
#include "common/source.h"

#include <skua/middleware/limit.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GUARD_LOOK_NS 2000000000

// One for the process: ten passwords that are wrong, and one more every six seconds.
static skua_limit_table guard_failures;
static const skua_limit_rates guard_rates = { .requests_per_s = 1.0 / 6, .burst = 10 };

static int64_t guard_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// ---- The file ----

#ifdef __APPLE__
#define GUARD_CHANGED(info) ((info)->st_ctimespec)
#else
#define GUARD_CHANGED(info) ((info)->st_ctim)
#endif

static bool guard_stamp(const char *file, conf_stamp *stamp)
{
    struct stat info;
    if (stat(file, &info) != 0) return false;
    *stamp = (conf_stamp){ GUARD_CHANGED(&info), info.st_size, info.st_ino };
    return true;
}

static bool guard_same(const conf_stamp *a, const conf_stamp *b)
{
    return a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec &&
           a->octets == b->octets && a->number == b->number;
}

// Returns: false when the file cannot be read, or is too large.
static bool guard_load(int fd, conf_memory *memory, skua_slice *octets)
{
    struct stat info;
    bool fits = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
                info.st_size <= CONF_USERS_OCTETS_MAX;
    size_t room = fits ? (size_t)info.st_size : 0, len = 0;
    char *text = fits ? conf_take(memory, room + 1) : NULL;
    ssize_t n = 1;
    while (text && n > 0 && len < room) {
        n = read(fd, text + len, room - len);
        if (n > 0) len += (size_t)n;
    }
    if (fd >= 0) (void)close(fd);
    *octets = (skua_slice){ text, len };
    return text && n >= 0;
}

// fd: of the file, closed; -1: it cannot be opened.
static conf_user *guard_read(int fd, const conf_guard *guard, conf_findings *findings)
{
    skua_slice octets;
    unsigned before = findings->count;
    if (!guard_load(fd, findings->memory, &octets)) {
        conf_find(findings, guard->at,
                  "the users of %s cannot be read, or have more than %d octets", guard->file,
                  CONF_USERS_OCTETS_MAX);
        return NULL;
    }
    conf_user *users = conf_users_read(octets, guard->secret, guard->file, findings);
    if (!users && findings->count == before)
        conf_find(findings, guard->at, "%s has no %s", guard->file,
                  guard->secret == CONF_TOKEN ? "tokens" : "users");
    return findings->count == before ? users : NULL;
}

static bool guard_check(skua_slice name, skua_slice secret, void *arg);

static void guard_drop(void *user)
{
    conf_guard *guard = user;
    conf_memory_free(&guard->memory);
    (void)pthread_mutex_destroy(&guard->lock);
}

conf_guard *conf_guard_new(conf_secret secret, const char *realm, const char *file, conf_place at,
                           conf_findings *findings)
{
    conf_guard *guard = conf_take(findings->memory, sizeof *guard);
    if (!guard || !file) return NULL;
    if (secret == CONF_PASSWORD && !conf_users_are_built()) {
        conf_find(findings, at, "this skua was built without libcrypt, which passwords need");
        return NULL;
    }
    guard->authentication =
        (skua_authentication){ .realm = realm, .check = guard_check, .arg = guard, .slow = true };
    (void)pthread_mutex_init(&guard->lock, NULL);
    if (!conf_memory_on_free(findings->memory, guard_drop, guard)) return NULL;
    guard->secret = secret;
    guard->file = file;
    guard->at = at;
    // what was read before the server began may have changed since: its first look reads it again
    if (!source_is_given()) (void)guard_stamp(file, &guard->stamp);
    conf_findings of_file = { .memory = &guard->memory };
    guard->users = guard_read(source_open(file, false), guard, &of_file);
    for (const conf_finding *one = of_file.first; one; one = one->next) {
        const char *place = conf_print(findings->memory, "%s", one->at.file);
        if (place)
            conf_find(findings, (conf_place){ place, one->at.line, one->at.column }, "%s",
                      one->sentence);
    }
    return guard->users && conf_known_begin(&guard->known) ? guard : NULL;
}

// ---- On a helper thread ----

static void guard_replace(conf_guard *guard, conf_memory memory, conf_user *users, conf_stamp stamp)
{
    (void)pthread_mutex_lock(&guard->lock);
    conf_memory before = guard->memory;
    guard->memory = memory;
    guard->users = users;
    guard->stamp = stamp;
    guard->readings++;
    conf_known_forget(&guard->known);
    (void)pthread_mutex_unlock(&guard->lock);
    conf_memory_free(&before);
}

static void guard_read_again(conf_guard *guard, conf_stamp stamp)
{
    conf_memory memory = { 0 };
    conf_findings findings = { .memory = &memory };
    int fd = open(guard->file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    conf_user *users = guard_read(fd, guard, &findings);
    if (users) {
        guard_replace(guard, memory, users, stamp);
        return;
    }
    say_warning("the users of %s stay as they were: skua check says what is wrong", guard->file);
    conf_memory_free(&memory);
}

// The last stamp is kept also for a file that is wrong, so that it is said once.
static void guard_look(conf_guard *guard)
{
    conf_stamp stamp;
    int64_t now_ns = guard_now_ns();
    (void)pthread_mutex_lock(&guard->lock);
    bool is_due = !guard->looked_ns || now_ns - guard->looked_ns >= GUARD_LOOK_NS / 2;
    conf_stamp before = guard->stamp;
    if (is_due) guard->looked_ns = now_ns;
    (void)pthread_mutex_unlock(&guard->lock);
    if (!is_due || !guard_stamp(guard->file, &stamp) || guard_same(&stamp, &before)) return;
    guard_read_again(guard, stamp);
    (void)pthread_mutex_lock(&guard->lock);
    guard->stamp = stamp;
    (void)pthread_mutex_unlock(&guard->lock);
}

// A name that is nobody's takes as long as one that is somebody's: its time must not tell.
static bool guard_check_password(conf_guard *guard, skua_slice name, skua_slice password)
{
    char hash[CONF_HASH_OCTETS + 1] = "";
    (void)pthread_mutex_lock(&guard->lock);
    const conf_user *user = conf_users_find(guard->users, name);
    memcpy(hash, user ? user->hash : guard->users->hash, CONF_HASH_OCTETS);
    (void)pthread_mutex_unlock(&guard->lock);
    return conf_password_fits(hash, password) && user;
}

static bool guard_check_token(conf_guard *guard, skua_slice token)
{
    char hash[CONF_DIGEST_OCTETS + 1];
    conf_token_hash(token, hash);
    (void)pthread_mutex_lock(&guard->lock);
    bool fits = conf_token_fits(guard->users, hash);
    (void)pthread_mutex_unlock(&guard->lock);
    return fits;
}

static bool guard_check(skua_slice name, skua_slice secret, void *arg)
{
    conf_guard *guard = arg;
    guard_look(guard);
    (void)pthread_mutex_lock(&guard->lock);
    conf_known_tag tag = conf_known_tag_of(&guard->known, name, secret);
    bool passed = conf_known_has(&guard->known, tag);
    unsigned readings = guard->readings;
    (void)pthread_mutex_unlock(&guard->lock);
    if (passed) return true;
    passed = guard->secret == CONF_TOKEN ? guard_check_token(guard, secret)
                                         : guard_check_password(guard, name, secret);
    (void)pthread_mutex_lock(&guard->lock);
    if (passed && readings == guard->readings) conf_known_add(&guard->known, tag);
    (void)pthread_mutex_unlock(&guard->lock);
    return passed;
}

// ---- On the worker ----

// The key under which the count of failures is kept with a request. The guard's own address is that of its first member,
// under which its user is kept.
static const void *guard_key(const conf_guard *guard)
{
    return &guard->lock;
}

static bool guard_knows(conf_guard *guard, const skua_credentials *c)
{
    (void)pthread_mutex_lock(&guard->lock);
    bool is_fresh = guard->looked_ns && guard_now_ns() - guard->looked_ns < GUARD_LOOK_NS;
    bool knows = is_fresh && conf_known_has(&guard->known,
                                            conf_known_tag_of(&guard->known, c->name, c->secret));
    (void)pthread_mutex_unlock(&guard->lock);
    return knows;
}

// A password that was right is no failure. entry: taken, and not given back yet.
static void guard_forgive(skua_limit_entry *entry)
{
    (void)pthread_mutex_lock(skua_limit_lock());
    entry->requests = entry->requests > 1 ? entry->requests - 1 : 0;
    (void)pthread_mutex_unlock(skua_limit_lock());
}

// fail2ban's filter reads these lines.
static void guard_log_failure(skua_request *request, const conf_guard *guard)
{
    char peer[128], line[256];
    size_t len = skua_request_peer(request, peer, sizeof peer);
    int n = snprintf(line, sizeof line, "wrong %s from %.*s",
                     guard->secret == CONF_TOKEN ? "token" : "name or password", (int)len, peer);
    if (n > 0 && (size_t)n < sizeof line)
        skua_log(skua_request_server(request), (skua_slice){ line, (size_t)n });
}

// The count of failures is the entry that this request has taken, until it ends.
static void guard_done(skua_request *request, void *user)
{
    skua_credentials *c = user;
    const skua_authentication *a = c->asker;
    skua_limit_entry *entry = request ? skua_request_get(request, guard_key(a->arg)) : NULL;
    if (request && !c->passed) guard_log_failure(request, a->arg);
    if (entry && c->passed) guard_forgive(entry);
    skua_authentication_done(request, user);
}

static void guard_ask(skua_request *request, conf_guard *guard, skua_credentials *c)
{
    char key[128];
    skua_limit_entry *entry = NULL;
    size_t len = skua_limit_address(request, key);
    double wait_s = len ? skua_limit_take(&guard_failures, &guard_rates, key, len, &entry) : 0;
    if (wait_s > 0) {
        skua_limit_refuse(request, wait_s);
    } else if (entry && skua_request_set(request, guard_key(guard), entry)) {
        skua_limit_give(&guard_failures, entry, 0);
        skua_respond_error(request, 503);
    } else if (turns_take(request, c, guard_done)) {
        skua_field_add(request, "Retry-After", SKUA_SLICE("1"));
        skua_respond_error(request, 503);
    }
}

static bool guard_holds(const conf_guarded *guarded, const skua_request *request)
{
    if (conf_response_is_redirect(request, guarded->site)) return false;
    const conf_lock *locks = conf_response_scope(request, guarded->site)->locks;
    return conf_lock_holds(locks, guarded->guard, skua_request_method(request));
}

void conf_guard_before(skua_request *request, void *user)
{
    const conf_guarded *guarded = user;
    conf_guard *guard = guarded->guard;
    if (!guard_holds(guarded, request)) {
        skua_next(request);
        return;
    }
    skua_credentials *c = skua_credentials_new(request, &guard->authentication);
    if (!c) return; // it has responded
    bool is_token = guard->secret == CONF_TOKEN;
    if (!(is_token ? skua_bearer_read(request, c) : skua_basic_read(request, c))) {
        skua_authentication_refuse(request, &guard->authentication, is_token ? "Bearer" : "Basic",
                                   is_token ? "" : SKUA_BASIC_MORE);
    } else if (guard_knows(guard, c)) {
        c->passed = true;
        skua_authentication_done(request, c);
    } else {
        guard_ask(request, guard, c);
    }
}

void conf_guard_end(skua_request *request, skua_end how, void *user)
{
    const conf_guarded *guarded = user;
    skua_limit_entry *entry = skua_request_get(request, guard_key(guarded->guard));
    (void)how;
    if (entry) skua_limit_give(&guard_failures, entry, 0);
}
