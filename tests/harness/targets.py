# SPDX-License-Identifier: MIT
"""Builds for other systems and processors with zig's C compiler, which brings their headers and libraries.

Everything lands in build/cross, where zig keeps what it has compiled: a second run takes seconds.
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OUT = ROOT / "build/cross"

# Compiled and linked; what they make cannot run here.
ELSEWHERE = ["aarch64-macos", "x86_64-macos", "x86_64-freebsd", "aarch64-freebsd"]

# Static, and run here: as they are, or under an emulator.
RUN = {
    "x86_64-linux-musl": [],
    "x86-linux-musl": [],
    "aarch64-linux-musl": ["qemu-aarch64-static"],
    "riscv64-linux-musl": ["qemu-riscv64-static"],
}

# The sources of the library, split.
LIBRARY = sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("src/*/*.c"))
PROGRAMS = {
    "skua": sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("program/**/*.c")),
    "hello": ["tests/servers/hello.c", "tests/servers/options.c", "tests/servers/tls_options.c"],
}


def warnings():
    """The project's own list, as CMakeLists.txt has it; this compiler is clang."""
    text = (ROOT / "CMakeLists.txt").read_text()
    block = re.search(r"target_compile_options\(skua_options INTERFACE\n(.*?)\)", text, re.S).group(1)
    return re.sub(r"\$<\$<COMPILE_LANGUAGE:C>:([^>]*)>", r"\1", block).split()


def environment():
    cache = str(OUT / "cache")
    return {**os.environ, "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}


def compile_for(target, name, words):
    """Compiles and links for a target, warnings as errors. Returns where the program is."""
    folder = OUT / target
    folder.mkdir(parents=True, exist_ok=True)
    made, own = folder / name, folder / f"{name}.{os.getpid()}"  # others may be making it too
    static = ["-static"] if "musl" in target else []
    command = [
        sys.executable, "-m", "ziglang", "cc", "-target", target, "-Os", "-s", *static, *warnings(), "-Werror",
        "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", *words, "-o", str(own),
    ]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr.strip(), f"{target}: {done.stderr[-4000:]}"
    own.replace(made)
    return made


def build(target, name):
    """A program over the split library."""
    return compile_for(target, name, ["-std=c17", "-Iinclude", "-Imiddleware", "-Isrc", "-Iprogram", *LIBRARY, *PROGRAMS[name]])


SINGLE = """#define SKUA_IMPLEMENTATION
#include "skua.h"
int main(void)
{
    skua_server *server = skua_server_new(&(skua_config){ .listen = "127.0.0.1:8080" });
    return server && skua_run(server) == SKUA_OK ? 0 : 1;
}
"""


def build_single(target):
    """A program that is the single header and ten lines."""
    folder = OUT / "single" / target
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "tools/dist.py", "--out", str(folder / "skua.h")], cwd=ROOT, check=True)
    (folder / "app.c").write_text(SINGLE)
    return compile_for(target, "single", ["-std=c11", f"-I{folder}", str(folder / "app.c")])
