// SPDX-License-Identifier: MIT
//
// Preloaded into a server process: when that makes its first thread, in its sandbox already, it tries the things that a
// sandbox is to refuse, and writes a line for each to the file SANDBOX_PROBE: its name, and the number of the error, or 0.
// With SANDBOX_LACKS in its environment the process has a kernel without Landlock and seccomp, as far as it can tell.

#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int report = -1;
static const char *root; // that the server may read

// It is opened before the sandbox, and only in the server process.
__attribute__((constructor)) static void probe_open(void)
{
    const char *file = getenv("SANDBOX_PROBE");
    root = getenv("SANDBOX_ROOT");
    if (file && root && getenv("SKUA_SERVER"))
        report = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static void probe_write(const char *name, long result)
{
    dprintf(report, "%s %d\n", name, result < 0 ? errno : 0);
}

static void probe_open_file(const char *name, const char *below, int flags)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s", *below == '/' && below[1] == '.' ? root : "", below);
    probe_write(name, open(path, flags | O_CLOEXEC, 0600));
}

static void probe_files(void)
{
    probe_open_file("read_inside", "/./index.html", O_RDONLY);
    probe_open_file("read_above", "/./../outside.txt", O_RDONLY);
    probe_open_file("read_passwd", "/etc/passwd", O_RDONLY);
    probe_open_file("list_root", "/", O_RDONLY | O_DIRECTORY);
    probe_open_file("write_inside", "/./index.html", O_WRONLY);
    probe_open_file("make_inside", "/./new.html", O_WRONLY | O_CREAT);
    probe_open_file("write_null", "/dev/null", O_WRONLY);
    probe_write("unlink", unlink(root));
    probe_write("mkdir", mkdir("/tmp/sandbox_probe", 0700));
    probe_write("chmod", chmod(root, 0777));
}

// By the calls that an upload may make; older ones are not let through at all.
static int probe_rename(const char *from, const char *to)
{
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

static int probe_link(const char *from, const char *to)
{
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

static int probe_unlink(const char *name, const char *same)
{
    (void)same;
    return unlinkat(AT_FDCWD, name, 0);
}

static void probe_two(const char *name, const char *from, const char *to,
                      int (*call)(const char *, const char *))
{
    char one[4096], other[4096];
    snprintf(one, sizeof one, "%s/%s", root, from);
    snprintf(other, sizeof other, "%s/%s", root, to);
    probe_write(name, call(one, other));
}

// The folder "in" takes uploads, and nothing beside it does: not by a name of its own, nor by one that is moved or linked.
static void probe_uploads(void)
{
    probe_open_file("make_upload", "/./in/new", O_WRONLY | O_CREAT);
    probe_open_file("make_beside", "/./new", O_WRONLY | O_CREAT);
    probe_open_file("make_by_dots", "/./in/../new", O_WRONLY | O_CREAT);
    probe_open_file("make_by_link", "/./in/beside/new", O_WRONLY | O_CREAT);
    probe_open_file("write_beside", "/./index.html", O_WRONLY);
    probe_open_file("nameless_beside", "/./", O_WRONLY | O_TMPFILE);
    probe_two("move_out", "in/new", "new", probe_rename);
    probe_two("move_in", "index.html", "in/index.html", probe_rename);
    probe_two("link_out", "in/new", "new", probe_link);
    probe_two("link_in", "index.html", "in/linked", probe_link);
    probe_two("remove_beside", "index.html", "", probe_unlink);
    probe_two("remove_upload", "in/new", "", probe_unlink);
}

static void probe_processes(void)
{
    char *words[] = { (char *)"true", NULL };
    probe_write("exec", execv("/bin/true", words));
    probe_write("fork", syscall(SYS_fork));
    probe_write("kill_parent", kill(getppid(), 0));
    probe_write("ptrace_parent", ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
    probe_write("setuid", syscall(SYS_setuid, 0));
    probe_write("chroot", chroot("/"));
    probe_write("unshare", syscall(SYS_unshare, 0x10000000));
    probe_write("bpf", syscall(SYS_bpf, 0, NULL, 0));
    probe_write("clone3", syscall(SYS_clone3, NULL, 0));
    probe_write("executable", mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
                                   -1, 0) == MAP_FAILED
                                  ? -1
                                  : 0);
}

static void probe_sockets(void)
{
    struct sockaddr_un somewhere = { .sun_family = AF_UNIX, .sun_path = "/run/none" };
    probe_write("socket_inet", socket(AF_INET, SOCK_STREAM, 0));
    probe_write("socket_unix", socket(AF_UNIX, SOCK_STREAM, 0));
    probe_write("socket_packet", socket(AF_PACKET, SOCK_RAW, 0));
    probe_write("connect", connect(0, (const struct sockaddr *)&somewhere, sizeof somewhere));
    probe_write("bind", bind(0, (const struct sockaddr *)&somewhere, sizeof somewhere));
}

long syscall(long number, ...)
{
    typedef long call(long, long, long, long, long, long, long);
    call *next = (call *)dlsym(RTLD_NEXT, "syscall");
    long words[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(arguments, long);
    va_end(arguments);
    if (getenv("SANDBOX_LACKS") && (number == 444 || number == SYS_seccomp)) {
        errno = ENOSYS;
        return -1;
    }
    return next(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *user)
{
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    create *next = (create *)dlsym(RTLD_NEXT, "pthread_create");
    if (report >= 0) {
        if (getenv("SANDBOX_UPLOADS")) probe_uploads();
        probe_files();
        probe_processes();
        probe_sockets();
        probe_write("done", 0);
        close(report);
        report = -1;
    }
    return next(thread, how, run, user);
}
