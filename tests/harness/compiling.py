# SPDX-License-Identifier: MIT
"""Compiling small programs, for the tests of the single header and of the packages."""

import contextlib
import re
import socket
import subprocess
import sys

from server import BUILD, ROOT, SLOW, lacks_tls

# Warnings that STYLE asks of C, and that a careful C++ program asks of the declarations.
C_WARNINGS = (
    "-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes "
    "-Wswitch-enum -Wvla -Wcast-qual -Wundef -Wwrite-strings -Wformat=2 -Wnull-dereference -Werror"
).split()
CXX_WARNINGS = "-Wall -Wextra -Wpedantic -Werror".split()

# A program whose server answers one address, printed as soon as it listens, until its standard input ends.
APP = """
#include <skua.h>

#include <stdio.h>

static void hello(skua_request *request, void *user)
{
    (void)user;
    if (skua_respond(request, 200, "text/plain", SKUA_SLICE("Hello, World!"))) return;
}

int main(void)
{
    const skua_config config = { .listen = "127.0.0.1:0", .workers = 1 };
    skua_server *server = skua_server_new(&config);
    if (!server || skua_route(server, "GET /", hello, NULL) || skua_start(server)) return 1;
    puts(skua_server_address(server, 0));
    fflush(stdout);
    while (getchar() != EOF) {
    }
    skua_stop(server, 0);
    skua_wait(server);
    skua_server_free(server);
    return 0;
}
"""


def sanitizers():
    """The options with which the library was built; its program has to be linked with them, too."""
    found = re.search(r"^SKUA_SANITIZE:\w+=(\S+)$", (BUILD / "CMakeCache.txt").read_text(), re.M)
    return [f"-fsanitize={found.group(1)}"] if found else []


MODULES = {"SKUA_ZLIB": "zlib", "SKUA_BROTLI": "libbrotlienc", "SKUA_ZSTD": "libzstd", "SKUA_REDIS": "hiredis"}


def needed_libraries(build=BUILD):
    """The options that link a program with the libraries that the static library of a build needs."""
    options = set(re.findall(r"^(SKUA_\w+):BOOL=ON$", (build / "CMakeCache.txt").read_text(), re.M))
    modules = [module for option, module in MODULES.items() if option in options]
    found = run(["pkg-config", "--static", "--libs", *modules]).split() if modules else []
    found += ["-lm"] if "SKUA_BROTLI" in options else []  # which its own file does not name
    return found if lacks_tls(build) else ["-lssl", "-lcrypto", *found]


def run(words, **options):
    """Runs a command that must succeed; what it says is in the failure if it doesn't."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}"
    return done.stdout


def refused(words, **options):
    """The output of a command that must fail."""
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False, **options)
    assert done.returncode != 0, f"{' '.join(map(str, words))} succeeded"
    return done.stderr


def make_header(out, root=ROOT, names=None):
    words = [sys.executable, ROOT / "tools/dist.py", "--root", root, "--out", out]
    run(words + (["--names", names] if names else []))
    return out


def symbols(file, *options):
    """The names that nm lists, with their letters."""
    lines = [line.split() for line in run(["nm", *options, file]).splitlines()]
    return {line[-1]: line[-2] for line in lines if len(line) >= 2}


@contextlib.contextmanager
def connected(program, **options):
    """A connection to a program made from APP, which is ended behind it."""
    process = subprocess.Popen([str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
    try:
        host, port = process.stdout.readline().strip().rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=SLOW) as peer:
            yield peer
        process.stdin.close()
        assert process.wait(SLOW) == 0
    finally:
        process.kill()
        process.wait()


def answers(program, lines="", **options):
    """Starts a program made from APP, fetches from it and ends it; the content it answered. lines: more fields of the request."""
    with connected(program, **options) as peer:
        peer.sendall(f"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{lines}\r\n".encode())
        answer = b"".join(iter(lambda: peer.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200 "), answer
    return answer.split(b"\r\n\r\n", 1)[1]
