#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the library as one header: what is public, then the implementation under SKUA_IMPLEMENTATION.

    tools/dist.py [--root FOLDER] [--out dist/skua.h] [--names FILE] [--lines]

The C++ wrapper is written beside it, as one header too: skua.hpp, which includes skua.h.

Every .c file of src/ is taken, after the headers it includes. Names at file scope, tags, enumerators and
macros get the prefix skua__; members and locals keep theirs. It refuses, with FILE:LINE, what cannot be
one file: two files that declare the same static name, a public name that skua.h does not declare.
--names writes a header of its own, #define NAME skua__NAME for each function and object that files share,
by which the unit tests find them in the single header's implementation.
--lines keeps each file's lines and says by #line which they are, so that compilers, debuggers and assertions
name the source and not the header. The library that is built from here is compiled from such a text.
"""

import argparse
import pathlib
import re
import subprocess
import sys

from c_names import BLANK, Source, tokenize

PREFIX = "skua__"
PUBLIC = "include/skua/skua.h"
WRAPPER = "include/skua/skua.hpp"

# The order of folders; within one, a file comes after those it includes.
FOLDERS = ["base", "thread", "http", "io", "net", "route", "log", "disk", "exchange", "coding", "h1", "h2", "ws", "server", "topic", "bridge", "files"]

# Macros of the program's that have a meaning here, and are never prefixed or undefined when they are given.
OPTIONS = {"SKUA_ASSERT"}

# Lower-case macros that other people's headers are known to leave behind, and some upper-case ones that are
# as short: of curses.h, of old compilers, of windows.h, X11 and the like. Those that occur in the text are set
# aside while it is read. Names of libc's own are not here.
SET_ASIDE = set(
    """
    linux unix i386 OK ERR min max status small near far interface huge cdecl pascal
    Bool Status True False None Always Success Unsorted
    addch addchnstr addchstr addnstr addstr attroff attron attrset attr_get attr_off attr_on attr_set bkgd bkgdset
    border box chgat clear clrtobot clrtoeol color_set delch deleteln derwin echochar erase filter
    getbegyx getbkgd getch getmaxyx getnstr getparyx getstr getyx hline inch inchnstr inchstr innstr insch
    insdelln insertln insnstr insstr instr move refresh scrl scroll setscrreg standend standout subwin
    timeout touchline touchwin untouchwin vline
    """.split()
)

OPENING = """\
// SPDX-License-Identifier: MIT
//
// Skua {version}, commit {commit}: an HTTP server in one header. Written by tools/dist.py from the sources;
// changes belong there.
//
// In one C file of the program, before anything else is included:
//
//     #define SKUA_IMPLEMENTATION
//     #include "skua.h"
//
// In all others, C or C++, the include alone. Link with -lpthread; without the options below it needs libc and nothing else.
// C11 or later, gcc or clang; the declarations also as C++17 or later. What the implementation needs of the
// system (_GNU_SOURCE) it defines itself, so it must see no system header first, or be compiled with
// -D_GNU_SOURCE.
//
// Options, macros to be defined before the include:
//
//     SKUA_API                stands before every declaration. Define it as static, in a program of one file,
//                             and nothing is exported. Default: visibility("default").
//     SKUA_NODISCARD          stands before functions whose status must be looked at. Default: a warning.
//     SKUA_NO_HTTP2           leaves HTTP/2 out, with the implementation.
//     SKUA_ASSERT(condition)  what is done about a broken contract, after a sentence has told which, and when
//                             an assertion about the library itself fails; with the implementation.
//                             condition has no side effects. Must not return when it is false. Default:
//                             a message, and abort.
//     SKUA_PORTABLE           with the implementation: no SSE2, AVX2 or NEON.
//     SKUA_TLS                with the implementation: HTTPS, by OpenSSL 3.0 or later, whose headers it includes.
//                             Link with -lssl -lcrypto as well.
//     SKUA_ZLIB, SKUA_BROTLI, SKUA_ZSTD
//                             with the implementation: the content codings gzip, br and zstd, by the libraries of
//                             these names. Link with -lz, -lbrotlienc, -lzstd as well.
//     SKUA_REDIS              with the implementation: skua_topic_bridge, by hiredis. Link with -lhiredis as well.
//
// Names: public ones begin with skua_ or SKUA_. All others at file scope begin with skua__, and their macros
// are undefined at the end.
//
// The licence is at the end of this file.
"""

# Before the guard: what must come before any header of the system. A refusal is one line, not a thousand.
NEEDS = """\
#if defined(SKUA_IMPLEMENTATION) && !defined(SKUA_IMPLEMENTED)
#if defined(__cplusplus)
#error "SKUA_IMPLEMENTATION is C: define it in a .c file; C++ files include skua.h without it"
#undef SKUA_IMPLEMENTATION
#elif defined(__linux__) && \\
    ((defined(_FEATURES_H) && !defined(_GNU_SOURCE)) || (defined(__GLIBC__) && !defined(__USE_GNU)))
#error "skua.h needs _GNU_SOURCE, and a header of the system came first: \\
include skua.h before it, or compile this file with -D_GNU_SOURCE"
#undef SKUA_IMPLEMENTATION
#elif defined(__GLIBC__) && defined(__ILP32__) && !defined(__USE_FILE_OFFSET64)
#error "skua.h needs _FILE_OFFSET_BITS 64, and a header of the system came first: \\
include skua.h before it, or compile this file with -D_FILE_OFFSET_BITS=64"
#undef SKUA_IMPLEMENTATION
#else
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1
#endif
#if defined(__APPLE__) && !defined(_DARWIN_C_SOURCE)
#define _DARWIN_C_SOURCE 1
#endif
#if !defined(_FILE_OFFSET_BITS)
#define _FILE_OFFSET_BITS 64
#endif
#endif
#endif
"""

# Functions and objects that files share are static here. The unit tests, which stand outside, say otherwise.
BEGIN = """\

#if defined(SKUA_IMPLEMENTATION) && !defined(SKUA_IMPLEMENTED)
#define SKUA_IMPLEMENTED

#ifndef skua__shared
#define skua__shared static
#define skua__shared_object static
#endif
{options}
// Functions that nobody calls in one program, another one needs.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
"""

END = """\

#pragma GCC diagnostic pop

#undef skua__shared
#undef skua__shared_object
{macros}
#endif // SKUA_IMPLEMENTATION
"""


# Directives whose words are not C's.
KEPT = {"include", "pragma", "error"}


# Headers of the tests', included for them only, under an #if that is false elsewhere.
OF_TESTS = {"shim.h"}


class Refused(Exception):
    """The sources cannot be one file; the words say where and why."""


class File:
    def __init__(self, root, path):
        self.path = path
        self.source = Source((root / path).read_text())
        self.guard = guard_of(self.source.directives) if path.endswith(".h") else None
        self.includes = [name for name in map(included, self.source.directives) if name]


def included(line):
    """The name in an include of ours, in quotes or as <skua/...>; None for other directives."""
    if line.keyword != "include":
        return None
    name = re.search(r'"([^"]+)"|<(skua/[^>]+)>', "".join(t.text for t in line))
    return (name.group(1) or name.group(2)) if name and name.group(1) not in OF_TESTS else None


def guard_of(lines):
    """The include guard's name: the first directive is its #ifndef, and the second defines it."""
    if len(lines) >= 3 and lines[0].keyword == "ifndef" and lines[1].words == ["define", lines[0].words[1]]:
        return lines[0].words[1]
    return None


def read_tree(root):
    """All files of src/ by their path below it, headers too."""
    paths = sorted(p.relative_to(root).as_posix() for p in (root / "src").glob("*/*.[ch]"))
    for path in paths:
        if path.split("/")[1] not in FOLDERS:
            raise Refused(f"{path}:1: the folder has no place in FOLDERS")
    return {path.removeprefix("src/"): File(root, path) for path in paths}


def in_order(files):
    """Each file after those it includes; folders in their order, and each .c file after its folder's earlier ones."""
    out = []

    def visit(name):
        if name in out:
            return
        for each in files[name].includes:
            if each in files:
                visit(each)
        if name not in out:
            out.append(name)

    for name in sorted((n for n in files if n.endswith(".c")), key=lambda n: (FOLDERS.index(n.split("/")[0]), n)):
        visit(name)
    return [files[name] for name in out]


def check_text(files):
    """Refuses text that the rest of this program could not follow."""
    paths = {file.path.removeprefix("src/") for file in files} | {PUBLIC.removeprefix("include/")}
    for file in files:
        for token in file.source.tokens:
            if token.text == "##":
                raise Refused(f"{file.path}:{token.line}: ## makes names that cannot be prefixed")
        for line in file.source.directives:
            if (included(line) or PUBLIC.removeprefix("include/")) not in paths:
                raise Refused(f"{file.path}:{line[0].line}: there is no {included(line)} in src/")


def is_public(name):
    return name.startswith(("skua_", "SKUA_")) and not name.startswith(PREFIX)


def place(file, name):
    return f"{file.path}:{name.line}"


def declared_in_headers(files):
    """Functions that a header declares: files for different systems may each define them."""
    return {
        name.text
        for file in files
        if str(file.path).endswith(".h")
        for name in file.source.file_scope_names()
        if name.what == "function" and not name.is_definition
    }


def check_clashes(files):
    """Names that one file keeps to itself must not be declared by another."""
    owners, seams = {}, declared_in_headers(files)
    for file in files:
        for name in file.source.file_scope_names():
            if name.text == file.guard or not (name.is_definition or name.what == "typedef"):
                continue
            space = "tag" if name.space == "tag" else "ordinary"
            other, known = owners.setdefault((space, name.text), (file, name))
            if name.text in seams and name.what == known.what == "function":
                continue  # two at once the compiler finds
            if other is not file and not (name.words and name.words == known.words):
                raise Refused(
                    f"{place(file, name)}: {name.what} {name.text} is also in {place(other, known)}; "
                    "in one header they would clash, so one needs another name"
                )


def check_exports(files, public):
    """A name with the public prefix must be declared for the public."""
    declared = set(re.findall(r"\b(?:skua|SKUA)_\w+", public))
    for file in files:
        for name in file.source.file_scope_names():
            if name.text == file.guard or name.text in declared or name.text in OPTIONS:
                continue
            if is_public(name.text) and name.space != "macro":
                raise Refused(f"{place(file, name)}: {name.text} has the public prefix and is not in {PUBLIC}")


def collect(files):
    """The names that are renamed: those of the ordinary name space (macros too), and tags."""
    ordinary, tags = set(), set()
    for file in files:
        for name in [*file.source.file_scope_names(), *file.source.nested_names()]:
            if not is_public(name.text) and name.text != file.guard:
                (tags if name.space == "tag" else ordinary).add(name.text)
    return ordinary, tags


def typedefs(files, public):
    sources = [file.source for file in files] + [Source(public)]
    return {n.text for s in sources for n in s.file_scope_names() if n.what == "typedef"}


class Renamer:
    """Gives the tokens of a file the prefix, in place."""

    def __init__(self, ordinary, tags):
        self.ordinary = ordinary
        self.tags = tags

    def run(self, tokens):
        before = None
        for at, token in enumerate(tokens):
            if token.kind in BLANK:
                continue
            if token.kind == "name" and self.is_ours(tokens, at, before):
                token.text = PREFIX + token.text
            before = token

    def is_ours(self, tokens, at, before):
        token = tokens[at]
        if token.is_member or token.is_local or token.directive is not None and token.directive.keyword in KEPT:
            return False
        if before is not None and before.text in ("struct", "union", "enum"):
            return token.text in self.tags
        return token.text in self.ordinary and not is_attribute(tokens, at)


def is_attribute(tokens, at):
    """Whether the name is an attribute's, as cold in __attribute__((cold)), not an argument of one."""
    depth, significant = 0, [t for t in tokens[max(0, at - 40):at] if t.kind not in BLANK]
    for i in range(len(significant) - 1, -1, -1):
        text = significant[i].text
        if text in (";", "{", "}"):
            return False
        depth += (text == "(") - (text == ")")
        if text == "__attribute__":
            return depth == 2
    return False


def share(files):
    """Marks what files share: static here, by a macro that the unit tests may set otherwise. Returns the names."""
    shared = set()
    for file in files:
        for each in file.source.declarations:
            ours = [n for n in each.names if n.space == "ordinary" and not is_public(n.text)]
            linked = [n for n in ours if n.what in ("function", "object")]
            if not linked or each.storage is not None and each.storage.text in ("static", "typedef"):
                continue
            shared.update(n.text for n in linked)
            mark_shared(each, linked[0].what)
    return shared


def mark_shared(each, what):
    if each.storage is not None:  # extern
        each.storage.text = PREFIX + ("shared_object" if what == "object" else "shared")
    else:
        each.first.text = f"{PREFIX}shared {each.first.text}"


def body_of(file, with_lines):
    """The file's text without its guard and its includes of ours."""
    lines = file.source.directives
    dropped = [line for line in lines if included(line)]
    if file.guard:
        dropped += [lines[0], lines[1], lines[-1]]
    dropped = {id(line) for line in dropped}
    text = "".join(t.text for t in file.source.tokens if id(t.directive) not in dropped)
    if with_lines:
        return f'#line 1 "{file.path}"\n{text}'
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def implementation(files, with_lines):
    return "".join(f"\n// {file.path}\n\n{body_of(file, with_lines)}" for file in files)


def macros_left(files, ordinary):
    """The macros to undefine at the end."""
    names = {n.text for f in files for n in f.source.macros if n.is_definition and n.text != f.guard}
    return sorted(PREFIX + n if n in ordinary else n for n in names if n not in OPTIONS)


def set_aside(text):
    """Pragmas that keep macros of the program's out of text, and those that give them back after it."""
    names = sorted(SET_ASIDE & {t.text for t in tokenize(text) if t.kind == "name"})
    before = "".join(f'#pragma push_macro("{n}")\n#undef {n}\n' for n in names)
    after = "".join(f'#pragma pop_macro("{n}")\n' for n in names)
    return before, after


def option_guards():
    """An option that is given stays; one that is not gets its default, which goes at the end."""
    before = "".join(f"#ifdef {n}\n#define {PREFIX}given_{n}\n#endif\n" for n in sorted(OPTIONS))
    after = "".join(
        f"#ifndef {PREFIX}given_{n}\n#undef {n}\n#endif\n#undef {PREFIX}given_{n}\n" for n in sorted(OPTIONS)
    )
    return before, after


def header(root, files, public, commit, with_lines=False):
    version = re.search(r'#define SKUA_VERSION "([^"]+)"', public).group(1)
    ordinary, tags = collect(files)
    types = typedefs(files, public)
    for file in files:
        file.source.mark_locals(types)
    renamer = Renamer(ordinary, tags)
    for file in files:
        renamer.run(file.source.tokens)
    shared = share(files)
    body = implementation(files, with_lines)
    options_before, options_after = option_guards()
    undefined = "".join(f"#undef {name}\n" for name in macros_left(files, ordinary)) + options_after
    text = (
        OPENING.format(version=version, commit=commit)
        + "\n" + NEEDS + "\n"
        + guarded(public)
        + BEGIN.format(options=options_before)
        + around(body)
        + END.format(macros=undefined)
        + "\n// The licence of all of the above:\n//\n"
        + commented((root / "LICENSE").read_text())
    )
    return text, shared


def around(text):
    before, after = set_aside(text)
    return f"\n{before}{text}\n{after}"


def guarded(public):
    """The public header, with other people's macros set aside between its guard and its end."""
    source = Source(public)
    start, end = source.directives[1][-1], source.directives[-1][0]
    at = {id(t): i for i, t in enumerate(source.tokens)}
    head = "".join(t.text for t in source.tokens[: at[id(start)] + 1])
    body = "".join(t.text for t in source.tokens[at[id(start)] + 1 : at[id(end)]])
    tail = "".join(t.text for t in source.tokens[at[id(end)] :])
    before, after = set_aside(body)
    return f"{head}\n\n{before}{body}{after}\n{tail}"


def commented(text):
    return "".join(f"// {line}".rstrip() + "\n" for line in text.splitlines())


def names_header(shared):
    lines = [f"#define {name} {PREFIX}{name}\n" for name in sorted(shared)]
    return (
        "// SPDX-License-Identifier: MIT\n//\n"
        "// What files of the library share is found by these names in the implementation of the single header.\n"
        + "".join(lines)
    )


def wrapper(root):
    """skua.hpp with the headers of its own in the place of their includes, each once."""
    done = set()

    def take(path):
        out = []
        for line in path.read_text().splitlines():
            own = re.fullmatch(r'#include "(\S+\.hpp)"', line)
            if own and path.parent / own.group(1) not in done:
                done.add(path.parent / own.group(1))
                out += take(path.parent / own.group(1))
            elif not own:
                out.append('#include "skua.h"' if line == '#include "../skua.h"' else line)
        return out

    return "\n".join(take(root / WRAPPER)) + "\n"


def commit_of(root):
    """The commit the tree is at, and whether it was changed since; "unknown" without git."""

    def git(*words):
        run = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
        return run.stdout.strip() if run.returncode == 0 else None

    if not (root / ".git").exists() or git("rev-parse", "HEAD") is None:
        return "unknown"
    changed = git("status", "--porcelain", "--", "src", "include")
    return git("rev-parse", "--short=12", "HEAD") + (" with changes" if changed else "")


def write(path, text):
    """Writes only what is new, so that nothing is built again for nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


def main():
    here = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="Writes the library as one header.")
    parser.add_argument("--root", type=pathlib.Path, default=here)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--names", type=pathlib.Path)
    parser.add_argument("--lines", action="store_true")
    words = parser.parse_args()
    try:
        files = in_order(read_tree(words.root))
        public = (words.root / PUBLIC).read_text()
        check_text(files)
        check_clashes(files)
        check_exports(files, public)
        text, shared = header(words.root, files, public, commit_of(words.root), words.lines)
    except Refused as why:
        sys.exit(str(why))
    out = words.out or words.root / "dist/skua.h"
    write(out, text)
    if (words.root / WRAPPER).exists():
        write(out.with_suffix(".hpp"), wrapper(words.root))
    if words.names:
        write(words.names, names_header(shared))


if __name__ == "__main__":
    main()
