// SPDX-License-Identifier: MIT
//
// The filter is a list: each call that is allowed is one comparison, and those that are allowed by their arguments come
// first. The kernel remembers what is allowed whatever the arguments are, so that a long list costs nothing.
//
// A call fails, and does not end the process: a library that tries something new must not become an outage.

#include "sandbox/seccomp.h"

#ifdef __linux__

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// ---- The kernel's interface ----

typedef struct seccomp_line {
    uint16_t code;
    uint8_t yes, no; // lines to skip
    uint32_t value;
} seccomp_line;

typedef struct seccomp_program {
    uint16_t count;
    const seccomp_line *lines;
} seccomp_program;

enum { SECCOMP_OF_NUMBER = 0, SECCOMP_OF_ARCH = 4, SECCOMP_OF_ARGUMENTS = 16 }; // offsets of words
enum {
    SECCOMP_LOAD = 0x20,
    SECCOMP_AND = 0x54,
    SECCOMP_EQUAL = 0x15,
    SECCOMP_ABOVE = 0x25,
    SECCOMP_RETURN = 0x06
};
enum { SECCOMP_SET = 1, SECCOMP_ALL_THREADS = 1 };

#define SECCOMP_ALLOWS 0x7fff0000u
#define SECCOMP_FAILS(error) (0x00050000u | (uint32_t)(error))

#if defined(__x86_64__) && !defined(__ILP32__)
#define SECCOMP_ARCH 0xc000003eu
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
#define SECCOMP_ARCH 0xc00000b7u
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SECCOMP_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SECCOMP_SANITIZED
#endif
#endif

bool seccomp_is_known(void)
{
#ifdef SECCOMP_ARCH
    return true;
#else
    return false;
#endif
}

#ifdef SECCOMP_ARCH

// ---- What is allowed ----

static const uint16_t seccomp_calls[] = {
    // descriptors
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_preadv2,
    SYS_pwritev2, SYS_close, SYS_lseek, SYS_dup, SYS_dup3, SYS_fcntl, SYS_pipe2, SYS_eventfd2,
    SYS_sendfile, SYS_splice, SYS_fadvise64, SYS_readahead, SYS_close_range,
    // files, as Landlock lets them be opened
    SYS_openat, SYS_openat2, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_fstatfs, SYS_statfs,
    SYS_getdents64, SYS_readlinkat, SYS_faccessat, SYS_faccessat2, SYS_getcwd, SYS_inotify_init1,
    SYS_inotify_add_watch, SYS_inotify_rm_watch,
    // connections, which come by sockets that listen already
    SYS_accept4, SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_sendmsg, SYS_shutdown, SYS_getsockname,
    SYS_getpeername, SYS_getsockopt, SYS_setsockopt, SYS_listen,
    // waiting
    SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait, SYS_ppoll, SYS_nanosleep,
    SYS_clock_nanosleep, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_restart_syscall,
    // memory
    SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_mincore, SYS_membarrier,
    // threads
    SYS_futex, SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_set_tid_address, SYS_gettid,
    SYS_sched_yield, SYS_sched_getaffinity, SYS_exit, SYS_exit_group, SYS_rt_sigaction,
    SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_rt_sigtimedwait, SYS_rt_sigpending,
    // this process
    SYS_memfd_create, SYS_getpid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid,
    SYS_getrandom, SYS_getrlimit, SYS_prlimit64, SYS_getrusage, SYS_sysinfo, SYS_uname, SYS_capget,
    SYS_umask,
#ifdef __x86_64__
    SYS_open, SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_poll, SYS_epoll_wait,
    SYS_epoll_create, SYS_pipe, SYS_eventfd, SYS_dup2, SYS_accept, SYS_time, SYS_arch_prctl,
    SYS_inotify_init,
#endif
#if defined(SECCOMP_SANITIZED) && defined(SYS_getdents)
    SYS_getdents,
#endif
#ifdef SECCOMP_SANITIZED
    SYS_ptrace, SYS_wait4, SYS_clone, SYS_prctl, SYS_kill,
    SYS_tgkill, // by which it looks for leaks in the end
#endif
};

// A call that is allowed when an argument, masked, has that value.
typedef struct seccomp_case {
    uint16_t call;
    uint8_t argument;
    uint32_t mask, value;
} seccomp_case;

enum {
    SECCOMP_EXEC = 4,             // PROT_EXEC
    SECCOMP_THREAD = 0x10000,     // CLONE_THREAD
    SECCOMP_SET_NAME = 15,        // PR_SET_NAME
    SECCOMP_SET_VMA = 0x53564d41, // PR_SET_VMA: malloc names its memory
    SECCOMP_UNIX = 1,             // AF_UNIX
    SECCOMP_TCGETS = 0x5401,
    SECCOMP_TIOCOUTQ = 0x5411,
    SECCOMP_FIONREAD = 0x541b,
    SECCOMP_FIONBIO = 0x5421
};

static const seccomp_case seccomp_cases[] = {
    { SYS_mmap, 2, SECCOMP_EXEC, 0 },
    { SYS_mprotect, 2, SECCOMP_EXEC, 0 },
    { SYS_clone, 0, SECCOMP_THREAD, SECCOMP_THREAD },
    { SYS_prctl, 0, UINT32_MAX, SECCOMP_SET_NAME },
    { SYS_prctl, 0, UINT32_MAX, SECCOMP_SET_VMA },
    { SYS_ioctl, 1, UINT32_MAX, SECCOMP_TCGETS },
    { SYS_ioctl, 1, UINT32_MAX, SECCOMP_TIOCOUTQ },
    { SYS_ioctl, 1, UINT32_MAX, SECCOMP_FIONREAD },
    { SYS_ioctl, 1, UINT32_MAX, SECCOMP_FIONBIO },
};

enum {
    SECCOMP_CALLS = sizeof seccomp_calls / sizeof *seccomp_calls,
    SECCOMP_CASES = sizeof seccomp_cases / sizeof *seccomp_cases,
    SECCOMP_NEWEST = 454, // numbers above it are later than this list
    SECCOMP_LINES_MAX = 16 + 6 * (SECCOMP_CASES + 4) + 2 * (SECCOMP_CALLS + 16)
};

// ---- The filter ----

typedef struct seccomp_filter {
    seccomp_line lines[SECCOMP_LINES_MAX];
    uint16_t count;
} seccomp_filter;

static void seccomp_add(seccomp_filter *f, seccomp_line line)
{
    f->lines[f->count++] = line;
}

static void seccomp_answer(seccomp_filter *f, uint32_t answer)
{
    seccomp_add(f, (seccomp_line){ SECCOMP_RETURN, 0, 0, answer });
}

static void seccomp_load(seccomp_filter *f, uint32_t offset)
{
    seccomp_add(f, (seccomp_line){ SECCOMP_LOAD, 0, 0, offset });
}

static void seccomp_allow(seccomp_filter *f, uint32_t call)
{
    seccomp_add(f, (seccomp_line){ SECCOMP_EQUAL, 0, 1, call });
    seccomp_answer(f, SECCOMP_ALLOWS);
}

// The number is loaded before it, and behind it.
static void seccomp_allow_case(seccomp_filter *f, const seccomp_case *one)
{
    seccomp_add(f, (seccomp_line){ SECCOMP_EQUAL, 0, 5, one->call });
    seccomp_load(f, SECCOMP_OF_ARGUMENTS + 8u * one->argument);
    seccomp_add(f, (seccomp_line){ SECCOMP_AND, 0, 0, one->mask });
    seccomp_add(f, (seccomp_line){ SECCOMP_EQUAL, 0, 1, one->value });
    seccomp_answer(f, SECCOMP_ALLOWS);
    seccomp_load(f, SECCOMP_OF_NUMBER);
}

// The pointer of clone3 hides its flags, so that libraries are to fall back on clone.
static void seccomp_begin(seccomp_filter *f)
{
    f->count = 0;
    seccomp_load(f, SECCOMP_OF_ARCH);
    seccomp_add(f, (seccomp_line){ SECCOMP_EQUAL, 1, 0, SECCOMP_ARCH });
    seccomp_answer(f, SECCOMP_FAILS(EPERM));
    seccomp_load(f, SECCOMP_OF_NUMBER);
    seccomp_add(f, (seccomp_line){ SECCOMP_EQUAL, 0, 1, SYS_clone3 });
    seccomp_answer(f, SECCOMP_FAILS(ENOSYS));
}

static void seccomp_allow_rights(seccomp_filter *f, const seccomp_rights *rights)
{
    static const uint16_t writes[] = { SYS_fsync,
                                       SYS_flock,
                                       SYS_linkat,
                                       SYS_unlinkat,
                                       SYS_utimensat,
#ifdef SYS_utimensat_time64
                                       SYS_utimensat_time64,
#endif
#ifdef SYS_renameat
                                       SYS_renameat,
#endif
                                       SYS_renameat2 };
    static const seccomp_case unix_socket = { SYS_socket, 0, UINT32_MAX, SECCOMP_UNIX };
    if (rights->connect) seccomp_allow_case(f, &unix_socket);
    if (rights->connect) seccomp_allow(f, SYS_connect);
    for (size_t i = 0; rights->writes && i < sizeof writes / sizeof *writes; i++)
        seccomp_allow(f, writes[i]);
    if (!rights->uring) return;
    seccomp_allow(f, SYS_io_uring_setup);
    seccomp_allow(f, SYS_io_uring_enter);
    seccomp_allow(f, SYS_io_uring_register);
}

// A process may end itself by a signal, as an assertion does, and send none to others. Numbers of x32 are all above
// the newest.
static void seccomp_end(seccomp_filter *f)
{
    const seccomp_case own = { SYS_tgkill, 0, UINT32_MAX, (uint32_t)getpid() };
    seccomp_allow_case(f, &own);
    seccomp_add(f, (seccomp_line){ SECCOMP_ABOVE, 0, 1, SECCOMP_NEWEST });
    seccomp_answer(f, SECCOMP_FAILS(ENOSYS));
    seccomp_answer(f, SECCOMP_FAILS(EPERM));
}

bool seccomp_enter(const seccomp_rights *rights)
{
    static seccomp_filter filter;
    seccomp_begin(&filter);
    for (size_t i = 0; i < SECCOMP_CASES; i++)
        seccomp_allow_case(&filter, &seccomp_cases[i]);
    seccomp_allow_rights(&filter, rights);
    for (size_t i = 0; i < SECCOMP_CALLS; i++)
        seccomp_allow(&filter, seccomp_calls[i]);
    seccomp_end(&filter);
    const seccomp_program program = { filter.count, filter.lines };
    return syscall(SYS_seccomp, SECCOMP_SET, SECCOMP_ALL_THREADS, &program) == 0;
}

#else

bool seccomp_enter(const seccomp_rights *rights)
{
    (void)rights;
    errno = ENOSYS;
    return false;
}

#endif
#endif
