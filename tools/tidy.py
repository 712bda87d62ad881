#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what the compiler cannot: layers, banned calls, licence lines, dead files, TODOs, comments, file sizes, where
functions are declared, and the format where make has installed clang-format.

Run as a test. Prints one line per finding, FILE:LINE: what is wrong and what to do, and exits with 1 if
there is any. With a folder as argument it checks that tree instead of the one it lies in.
"""

import ast
import pathlib
import re
import subprocess
import sys

# Which folders each rests on, besides itself and the public header: it may include those and what they rest on. Folders
# that are not listed (tests, bench) may include anything.
ARROWS = {
    "include/skua": set(),
    "compat/skua": set(),
    "middleware/skua": set(),
    "src/base": set(),
    "src/thread": {"src/base"},
    "src/http": {"src/base"},
    "src/io": {"src/thread"},
    "src/net": {"src/io"},
    "src/route": {"src/http"},
    "src/log": {"src/http", "src/thread"},
    "src/disk": {"src/io"},
    "src/exchange": {"src/route", "src/log", "src/disk", "src/net"},
    "src/h1": {"src/exchange"},
    "src/h2": {"src/exchange"},
    "src/ws": {"src/exchange"},
    "src/coding": {"src/exchange"},
    "src/server": {"src/h1", "src/h2", "src/ws"},
    "src/topic": {"src/server"},
    "src/bridge": {"src/topic"},
    "src/files": {"src/http"},
    "program/common": set(),
    "program/upload": set(),
    "program/archive": set(),
    "program/tls": {"program/common"},
    "program/status": {"program/tls"},
    "program/conf": {"program/status", "program/upload", "program/archive"},
    "program/sandbox": {"program/conf"},
    "program/super": {"program/sandbox"},
    "program/command": {"program/super"},
    "program": {"program/command"},
    "examples": set(),
    "tests/app": set(),
    "tests/servers": {"tests/app"},
}


def below(folder):
    """Everything that a folder rests on."""
    found = set()
    for other in ARROWS[folder]:
        found |= {other} | below(other)
    return found


LAYERS = {folder: below(folder) for folder in ARROWS}

# Folders that know no operating system: octets in, octets out. They may include these and no others.
PURE = {"src/http"}
PURE_HEADERS = {
    "stdalign.h", "stdbool.h", "stddef.h", "stdint.h", "stdlib.h", "string.h", "limits.h", "inttypes.h",
    "immintrin.h", "emmintrin.h", "arm_neon.h", "cpuid.h",
}

# Folders that are to compile where there is libc and no header of the kernel's.
LIBC_ALONE = ("include/", "compat/", "middleware/", "src/", "program/", "examples/")
KERNEL_HEADER = re.compile(r"(linux|asm|asm-generic)/")

# Calls that are not used, with what is used instead.
BANNED = {
    "strcpy": "memcpy with a length",
    "strncpy": "memcpy with a length",
    "strcat": "memcpy with a length",
    "strncat": "memcpy with a length",
    "stpcpy": "memcpy with a length",
    "sprintf": "snprintf",
    "vsprintf": "vsnprintf",
    "gets": "fgets",
    "scanf": "a bounded reader",
    "sscanf": "a bounded reader",
    "strtok": "slices",
    "strtok_r": "slices",
    "atoi": "a reader that reports overflow",
    "atol": "a reader that reports overflow",
    "atof": "a reader that reports overflow",
    "rand": "getrandom",
    "srand": "getrandom",
    "random": "getrandom",
    "alloca": "an arena",
    "signal": "sigaction",
    "gmtime": "gmtime_r",
    "localtime": "localtime_r",
    "ctime": "date.h",
    "asctime": "date.h",
    "strerror": "strerror_r",
    "mktemp": "mkstemp",
    "tmpnam": "mkstemp",
    "setjmp": "a status",
    "longjmp": "a status",
    "inet_ntoa": "inet_ntop",
    "inet_addr": "inet_pton",
    "gethostbyname": "getaddrinfo",
}

# Calls that only one file of src/ may make.
ONLY_IN_MEMORY = "src/base/memory.c"
MEMORY_CALL = re.compile(r"(?<![\w.>*])(malloc|calloc|realloc|reallocarray|aligned_alloc|posix_memalign|strdup|strndup|free)\s*\(")

# Headers whose functions are defined in other files, and why.
SPREAD = {
    "src/base/figure.h": "files count into what a worker has, and know no more of it",
    "src/io/changes.h": "each system has a file of its own",
    "src/io/sim.h": "the simulated kernel is a backend and a network",
}

LINES_MAX = 800
# One header is the interface, and most of it is comment; the other is copied into a program as one file.
WHOLE = {"include/skua/skua.h", "compat/skua/compat/httpserver.h"}
SOURCE = {".c", ".h", ".hpp", ".cpp"}
LICENSED = SOURCE | {".py", ".sh", ".cmake"}
LICENSED_NAMES = {"CMakeLists.txt", "Makefile", "setup", "run"}

# Sources that CMake finds by pattern. Others must be named in a CMakeLists.txt.
GLOBBED = [
    r"src/[^/]+/[^/]+\.c",
    r"program/([^/]+/)?[^/]+\.c",
    r"tests/unit/[^/]+/test_[^/]+\.c",
    r"tests/sim/test_[^/]+\.c",
    r"tests/scenarios/test_[^/]+\.c",
    r"tests/fuzz/fuzz_[^/]+\.c",
    r"examples/[^/]+\.(c|cpp)",
    r"bench/peers/[^/]+/[^/]+\.cpp",  # by entrants.py
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
TODO = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))")
DECLARED = re.compile(
    r"^(?!static|typedef|extern|struct|enum|#|\s)(?:__attribute__\(\(.*?\)\)\s*)*[A-Za-z_][\w \*]*?[ \*](\w+)\([^;{]*\)[^;{]*([;{])", re.MULTILINE
)
ASSERT = re.compile(r"(?<![\w.>])assert\s*\(")
COMMENT = re.compile(r'\s*(//|#|\*(?!/)|"{3})(?: |(?<="))(.*)|\s*(//|#)$')
RIDDLE = re.compile(r"(What|Whoever|Has) ")


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = sorted(self.listed())
        self.texts = {f: (root / f).read_text(errors="replace") for f in self.files if self.is_text(f)}

    def listed(self):
        """The files that git knows or would add; a tree without git is walked."""
        git = subprocess.run(
            ["git", "-C", str(self.root), "ls-files", "-co", "--exclude-standard"],
            capture_output=True, text=True, check=False,
        )
        if git.returncode == 0:
            names = [n for n in git.stdout.splitlines() if (self.root / n).is_file()]
        else:
            names = [str(p.relative_to(self.root)) for p in self.root.rglob("*") if p.is_file()]
        return [pathlib.PurePosixPath(n) for n in names]

    @staticmethod
    def is_text(file):
        return file.suffix in LICENSED or file.name in LICENSED_NAMES

    def sources(self):
        return [f for f in self.files if f.suffix in SOURCE]


def without_comments(text):
    """The text with comments and literals blanked, lines kept."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def folder_of(file):
    """The row of LAYERS a file belongs to, or None."""
    for folder in sorted(LAYERS, key=len, reverse=True):
        if str(file).startswith(folder + "/"):
            return folder
    return None


def resolve(tree, file, name):
    """The file of the tree that an include of file means, or None."""
    for place in (file.parent, *map(pathlib.PurePosixPath, ("src", "program", "include", "compat", "middleware", "tests", "."))):
        candidate = pathlib.PurePosixPath(normal(place / name))
        if candidate in tree.texts:
            return candidate
    return None


def normal(path):
    parts = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def includes(tree, file):
    for number, line in enumerate(tree.texts[file].splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(2)


def check_layers(tree):
    for file in tree.sources():
        folder = folder_of(file)
        if not folder:
            continue
        for number, name in includes(tree, file):
            target = resolve(tree, file, name)
            if target is None:
                if folder in PURE and name not in PURE_HEADERS:
                    yield file, number, f"{folder} knows no operating system: <{name}>"
                continue
            there = folder_of(target)
            public = there in {"include/skua", "compat/skua", "middleware/skua"}
            if public or there == folder or there in LAYERS[folder]:
                continue
            yield file, number, f"{folder} may not include {target}"


def check_kernel_headers(tree):
    for file in tree.sources():
        if str(file).startswith(LIBC_ALONE):
            for number, name in includes(tree, file):
                if KERNEL_HEADER.match(name):
                    yield file, number, f"<{name}> is the kernel's: libc alone means libc alone; declare what is needed"


def check_calls(tree):
    for file in tree.sources():
        text = without_comments(tree.texts[file])
        for number, line in enumerate(text.splitlines(), 1):
            for match in CALL.finditer(line):
                name = match.group(1)
                yield file, number, f"{name} is banned; use {BANNED[name]}"
            if str(file).startswith("src/") and str(file) != ONLY_IN_MEMORY and MEMORY_CALL.search(line):
                yield file, number, "memory comes from base/memory.h, so that a program can supply its own"
            if str(file).startswith("src/") and ASSERT.search(line):
                yield file, number, "assert is off in release; use SKUA_ASSERT"


def check_licence(tree):
    for file, text in tree.texts.items():
        if not any("SPDX-License-Identifier: MIT" in line for line in text.splitlines()[:2]):
            yield file, 1, "needs the line SPDX-License-Identifier: MIT at its top"


def check_dead(tree):
    included = {resolve(tree, f, name) for f in tree.sources() for _, name in includes(tree, f)}
    builds = {f.parent: t for f, t in tree.texts.items() if f.name == "CMakeLists.txt"}
    for file in tree.sources():
        if file in included or str(file).startswith(("include/", "compat/", "middleware/")):
            continue
        if file.suffix in {".h", ".hpp"}:
            yield file, 1, "nothing includes it"
        elif not any(re.fullmatch(p, str(file)) for p in GLOBBED) and not is_named(file, builds):
            yield file, 1, "nothing builds it"


def is_named(file, builds):
    """Whether a CMakeLists.txt above names the file."""
    for folder, text in builds.items():
        if folder in file.parents:
            name = re.escape(str(file.relative_to(folder)))
            if re.search(rf"(?<![\w/]){name}\b", unrolled(text)):
                return True
    return is_compiled_by_tests(file)


def unrolled(text):
    """A CMakeLists.txt with the body of each foreach repeated for its items."""

    def repeat(match):
        variable, *items = match.group(1).split()
        return "\n".join(match.group(2).replace(f"${{{variable}}}", item) for item in items)

    return re.sub(r"(?s)\bforeach\(([^)]*)\)(.*?)\bendforeach\(\)", repeat, text)


def is_compiled_by_tests(file):
    """Small helpers that a test compiles for itself lie beside it."""
    return any(
        file.name in path.read_text(errors="replace")
        for path in (ROOT / file.parent).glob("*.py")
    )


def check_todos(tree):
    for file, text in tree.texts.items():
        if file.name == "tidy.py" or file.name == "test_tidy.py":
            continue
        for number, line in enumerate(text.splitlines(), 1):
            match = TODO.search(line)
            if match:
                yield file, number, f"{match.group(1)} without an issue: write {match.group(1)}(#N), or do it"


def check_riddles(tree):
    """A comment that begins with its subject is understood at first reading."""
    for file, text in tree.texts.items():
        before = None  # what the line before says as a comment; None: it is none
        for number, line in enumerate(text.splitlines(), 1):
            match = COMMENT.match(line)
            said = (match.group(2) or "") if match else None
            opens = not before or (match and match.group(1) == '"""')
            riddle = RIDDLE.match(said or "")
            if riddle and opens:
                yield file, number, f'the comment opens with "{riddle.group(1)}": begin with its subject'
            before = said


def check_size(tree):
    for file, text in tree.texts.items():
        lines = text.count("\n")
        if lines > LINES_MAX and str(file) not in WHOLE:
            yield file, lines, f"{lines} lines: past {LINES_MAX} a file holds two nouns"


def functions(text, end):
    """Names and lines of the functions that are declared (end ";") or defined (end "{") at the outermost level."""
    text = without_comments(text)
    for match in DECLARED.finditer(text):
        if match.group(2) == end:
            yield match.group(1), text.count("\n", 0, match.start(1)) + 1


def check_homes(tree):
    """A reader who looks for a function finds it in the file that its header is named after."""
    homes = {}
    for file, text in tree.texts.items():
        if file.suffix == ".c" and file.parts[0] == "src":
            for name, _ in functions(text, "{"):
                homes.setdefault(name, set()).add(file)
    for file, text in tree.texts.items():
        if file.suffix != ".h" or file.parts[0] != "src" or str(file) in SPREAD:
            continue
        for name, number in functions(text, ";"):
            if name in homes and file.with_suffix(".c") not in homes[name]:
                home = sorted(homes[name])[0].with_suffix(".h")
                yield file, number, f"{name} is declared here and not in {home}"


def check_twice(tree):
    """Of two functions of a name Python keeps the last: the first test never runs."""
    for file, text in tree.texts.items():
        if file.suffix != ".py":
            continue
        found = {}
        for node in ast.parse(text).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                if node.name in found:
                    yield file, node.lineno, f"{node.name} stands in line {found[node.name]}, too, which never runs"
                found[node.name] = node.lineno


def check_format(tree):
    tool = tree.root / "build/venv/bin/clang-format"
    if not tool.exists():
        return
    files = [str(f) for f in tree.sources() if f.suffix in {".c", ".h"}]
    done = subprocess.run([tool, "--dry-run", *files], cwd=tree.root, capture_output=True, text=True, check=False)
    for file, number in dict(re.findall(r"^(.+?):(\d+):\d+: warning: code should be clang-formatted", done.stderr, re.MULTILINE)).items():
        yield file, number, "is not formatted: run make format"


CHECKS = [
    check_layers, check_kernel_headers, check_calls, check_licence, check_dead, check_todos, check_riddles, check_size,
    check_homes, check_twice, check_format,
]
ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    global ROOT
    if len(sys.argv) > 1:
        ROOT = pathlib.Path(sys.argv[1]).resolve()
    tree = Tree(ROOT)
    found = [finding for check in CHECKS for finding in check(tree)]
    for file, number, words in found:
        print(f"{file}:{number}: {words}")
    print(f"tidy: {len(tree.texts)} files, {len(found) or 'no'} findings")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
