#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds the program as one static file that runs on any Linux, with TLS and every content coding in it.

    python3 tools/release/static.py [x86_64|aarch64]...      build/static/PROCESSOR/skua

The libraries are built from the pinned sources of packaging/static/Cargo.lock. The compiler is zig's, which brings musl and is
pinned in tests/requirements.txt. Two builds of the same revision are the same octets, wherever they are made.
"""

import os
import pathlib
import shlex
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from release.common import BUILD, PROCESSORS, ROOT, epoch, run, version  # noqa: E402

OUT = BUILD / "static"
SOURCES = OUT / "sources"
FLAGS = ["-O2", "-fno-sanitize=all", "-fno-strict-aliasing", "-fstack-protector-strong", "-g0"]
# Parts of OpenSSL that a server does not need. The date and the folder of the certificates are in its text.
OPENSSL = ["no-shared", "no-tests", "no-docs", "no-apps", "no-legacy", "no-module", "no-dso", "no-engine", "no-comp", "no-ssl3",
           "no-zlib", "no-async", "--prefix=/usr", "--libdir=lib", "--openssldir=/etc/ssl"]
TIDY = {"LC_ALL": "C", "TZ": "UTC"}


def fetch():
    """The crates of Cargo.lock, unpacked; cargo has compared their checksums."""
    lock = (ROOT / "packaging/static/Cargo.lock").read_bytes()
    if (SOURCES / "Cargo.lock").exists() and (SOURCES / "Cargo.lock").read_bytes() == lock:
        return
    if not shutil.which("cargo"):
        raise SystemExit("The sources of the libraries come in crates: please install cargo.")
    shutil.rmtree(SOURCES, ignore_errors=True)
    SOURCES.mkdir(parents=True)
    for name in ("Cargo.toml", "none.rs", "Cargo.lock"):
        shutil.copy(ROOT / "packaging/static" / name, SOURCES / f"{name}.new")
        (SOURCES / f"{name}.new").rename(SOURCES / name)
    try:
        run(["cargo", "vendor", "--locked", "--quiet", "--versioned-dirs", "vendor"], cwd=SOURCES)
    except SystemExit:
        (SOURCES / "Cargo.lock").unlink()
        raise


def crate(name):
    found = sorted((SOURCES / "vendor").glob(f"{name}-[0-9]*"))
    if len(found) != 1:
        raise SystemExit(f"{name} is not among the sources once")
    return found[0]


class Target:
    """One processor's build: a folder with the compiler under names that hold no path."""

    def __init__(self, processor):
        self.processor, self.folder = processor, OUT / processor
        self.tools = self.folder / "tools"
        self.tools.mkdir(parents=True, exist_ok=True)
        zig = f"exec {shlex.quote(sys.executable)} -m ziglang"
        target = f"-target {processor}-linux-musl"
        for name, words in {"skua-cc": f"cc {target}", "skua-ar": "ar", "skua-ranlib": "ranlib"}.items():
            (self.tools / name).write_text(f'#!/bin/sh\n{zig} {words} "$@"\n')
            (self.tools / name).chmod(0o755)

    def run(self, words, cwd=ROOT):
        cache = str(OUT / "cache")
        run(words, cwd=cwd, env={**os.environ, **TIDY, "PATH": f"{self.tools}:{os.environ['PATH']}", "SOURCE_DATE_EPOCH": str(epoch()),
                                 "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache})

    def archive(self, name, sources, flags):
        """An archive of a few C files, in the order given."""
        folder, made = self.folder / name, self.folder / f"lib{name}.a"
        if made.exists():
            return
        folder.mkdir(exist_ok=True)
        objects = [f"{name}/{source.stem}.o" for source in sources]
        rules = [f"lib{name}.a: {' '.join(objects)}\n\tskua-ar rcsD $@ {' '.join(objects)}\n"]
        for source, made_of in zip(sources, objects):
            rules.append(f"{made_of}: {source}\n\tskua-cc {' '.join([*FLAGS, *flags])} -c -o $@ $<\n")
        (folder / "Makefile").write_text("".join(rules))
        self.run(["make", "-s", f"-j{os.cpu_count()}", "-f", folder / "Makefile", f"lib{name}.a"], cwd=self.folder)

    def openssl(self):
        made, to = self.folder / "openssl", self.folder / "openssl-build"
        if (made / "usr/lib/libssl.a").exists():
            return
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir()
        # by a relative path, since the names of source files are in the text of errors
        configure = os.path.relpath(crate("openssl-src") / "openssl/Configure", to)
        self.run([configure, PROCESSORS[self.processor]["openssl"], *OPENSSL, "CC=skua-cc", "AR=skua-ar", "RANLIB=skua-ranlib",
                  "CFLAGS=" + " ".join(FLAGS)], cwd=to)
        self.run(["make", "-s", f"-j{os.cpu_count()}", "build_libs"], cwd=to)
        self.run(["make", "-s", "install_dev", f"DESTDIR={made}"], cwd=to)

    def libraries(self):
        zlib, zstd, brotli = crate("libz-sys") / "src/zlib", crate("zstd-sys") / "zstd/lib", crate("brotlic-sys") / "brotli/c"
        self.archive("z", sorted(zlib.glob("*.c")), ["-DHAVE_UNISTD_H", "-D_LARGEFILE64_SOURCE=1"])
        self.archive("zstd", sorted([*zstd.glob("common/*.c"), *zstd.glob("compress/*.c")]), ["-DZSTD_DISABLE_ASM", f"-I{zstd}"])
        self.archive("brotlienc", sorted([*brotli.glob("common/*.c"), *brotli.glob("enc/*.c")]), [f"-I{brotli / 'include'}"])
        self.openssl()
        return [zlib, zstd, brotli / "include", self.folder / "openssl/usr/include"]

    def program(self):
        includes = self.libraries()
        text = self.folder / "skua.h"
        self.run([sys.executable, "tools/dist.py", "--out", text])
        library = self.folder / "library.c"
        library.write_text('#define SKUA_IMPLEMENTATION\n#include "skua.h"\n')
        sources = sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("program/**/*.c"))
        options = ["-DSKUA_TLS", "-DSKUA_ZLIB", "-DSKUA_BROTLI", "-DSKUA_ZSTD", "-DSKUA_CRYPT"]
        made = self.folder / "skua"
        self.run(["skua-cc", "-std=c17", *FLAGS, "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64", "-DNDEBUG", *options,
                  f"-ffile-prefix-map={ROOT}=.", f"-ffile-prefix-map={self.folder.relative_to(ROOT)}=.", "-static", "-s",
                  "-Iinclude", "-Imiddleware", "-Iprogram", *[f"-I{p}" for p in includes], library, *sources, "-o", self.folder / "skua.part",
                  f"-L{self.folder}", f"-L{self.folder / 'openssl/usr/lib'}", "-lssl", "-lcrypto", "-lzstd", "-lbrotlienc", "-lz", "-lm", "-lpthread"])
        (self.folder / "skua.part").rename(made)
        return made


def build(processor):
    fetch()
    return Target(processor).program()


if __name__ == "__main__":
    asked = sys.argv[1:] or ["x86_64"]
    unknown = [name for name in asked if name not in PROCESSORS]
    if unknown:
        raise SystemExit(f"no such processor: {unknown[0]}; there are {', '.join(PROCESSORS)}")
    for name in asked:
        made = build(name)
        print(f"{made.relative_to(ROOT)}: {version()}, {made.stat().st_size:,} octets")
