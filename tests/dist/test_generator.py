# SPDX-License-Identifier: MIT
"""tools/dist.py prefixes what it should, leaves the rest, and refuses what cannot be one file."""

import re
import subprocess

import pytest
from compiling import make_header, refused, run
from server import ROOT

SPDX = "// SPDX-License-Identifier: MIT\n"
PUBLIC = SPDX + """#ifndef SKUA_H
#define SKUA_H
#define SKUA_VERSION "0.1.0"
#ifdef __cplusplus
extern "C" {
#endif
typedef struct skua_point { int low, value; } skua_point;
int skua_sum(const skua_point *point);
#ifdef __cplusplus
}
#endif
#endif
"""
POINT_H = SPDX + """#ifndef SKUA_BASE_POINT_H
#define SKUA_BASE_POINT_H
#include "skua/skua.h"
#include <sys/stat.h>
typedef skua_point point;
typedef enum mode { MODE_LOW = 1, MODE_HIGH } mode;
struct pair { int value; mode mode; };
#define TWICE(x) ((x) + (x))
extern const int limits[2];
int value(const point *p, mode how);
#endif
"""
POINT_C = SPDX + """#include "base/point.h"
#include <stddef.h>
const int limits[2] = { MODE_LOW, MODE_HIGH };
static const struct pair st_size = { .value = 3, .mode = MODE_LOW };
static long size_of(const struct stat *stat) { return (long)stat->st_size + (long)offsetof(struct pair, value); }
int value(const point *p, mode how)
{
    const char *name = "value MODE_LOW"; // value
    int low = p->low;
    goto limits;
limits:
    return how == MODE_HIGH ? TWICE(p->value + name[0] * 0) : low;
}
__attribute__((cold)) int cold(void);
int cold(void) { struct stat s = { 0 }; return (int)size_of(&s) + st_size.value; }
int skua_sum(const skua_point *point) { mode mode = MODE_HIGH; return value(point, mode) + limits[0] + cold() * 0; }
"""
GOOD = {"include/skua/skua.h": PUBLIC, "src/base/point.h": POINT_H, "src/base/point.c": POINT_C,
        "LICENSE": "A licence\n"}


def tree(folder, files=()):
    for name, text in {**GOOD, **dict(files)}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def text(tmp_path):
    return make_header(tmp_path / "out/skua.h", tree(tmp_path), tmp_path / "out/names.h").read_text()


def test_result_compiles_and_computes(text, tmp_path):
    main = '#define SKUA_IMPLEMENTATION\n#include "skua.h"\n'
    main += "int main(void) { skua_point p = { 1, 4 }; return skua_sum(&p); }\n"
    (tmp_path / "out/main.c").write_text(main)
    words = ["cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
    run([*words, tmp_path / "out/main.c", "-o", tmp_path / "main"])
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 9


@pytest.mark.parametrize(
    "words",
    [
        "typedef skua_point skua__point;",                                   # a type
        "typedef enum skua__mode { skua__MODE_LOW = 1, skua__MODE_HIGH } skua__mode;",
        "struct skua__pair { int value; skua__mode mode; };",                # members keep their names
        "#define skua__TWICE(x) ((x) + (x))",
        "skua__shared_object const int skua__limits[2];",                    # shared, so static
        "skua__shared const int skua__limits[2] = { skua__MODE_LOW, skua__MODE_HIGH };",
        "skua__shared int skua__value(const skua__point *p, skua__mode how);",
        "{ .value = 3, .mode = skua__MODE_LOW }",                            # designators too
        "(const struct stat *stat) { return (long)stat->st_size",            # the system's names and members
        "offsetof(struct skua__pair, value)",
        '"value MODE_LOW"; // value',                                        # texts and comments
        "__attribute__((cold)) int skua__cold(void)",                        # attributes
        "{ skua__mode mode = skua__MODE_HIGH; return skua__value(point, mode)",  # locals and parameters
        "#undef skua__TWICE",
        "// src/base/point.c",
        "// A licence",
    ],
)
def test_prefixes(text, words):
    assert words in text


def test_a_seam_of_systems_may_be_defined_twice(tmp_path):
    files = {
        "src/base/seam.h": SPDX + "#ifndef SKUA_BASE_SEAM_H\n#define SKUA_BASE_SEAM_H\nint seam(void);\n#endif\n",
        "src/base/one.c": SPDX + '#include "base/seam.h"\n#ifdef __linux__\nint seam(void) { return 1; }\n#endif\n',
        "src/base/two.c": SPDX + '#include "base/seam.h"\n#ifndef __linux__\nint seam(void) { return 2; }\n#endif\n',
    }
    text = make_header(tmp_path / "out/skua.h", tree(tmp_path, files), tmp_path / "out/names.h").read_text()
    assert text.count("int skua__seam(void) {") == 2


def test_own_includes_and_guards_are_gone(text):
    assert re.findall(r'#include "', text.split("#define SKUA_IMPLEMENTED")[1]) == []
    assert "SKUA_BASE_POINT_H" not in text


def test_lines_are_those_of_the_sources(tmp_path):
    """With --lines whatever a compiler or an assertion says names the file and the line that a person edits."""
    run(["python3", ROOT / "tools/dist.py", "--root", tree(tmp_path), "--out", tmp_path / "skua.h", "--lines"])
    for path in ("src/base/point.h", "src/base/point.c"):
        written = (tmp_path / "skua.h").read_text().split(f'#line 1 "{path}"\n')[1].splitlines()
        for number, line in enumerate(GOOD[path].splitlines()):
            ours = not line.startswith(('#include "', "#ifndef", "#endif", "#define SKUA_BASE"))
            assert re.sub(r"skua__(shared(_object)? )?", "", written[number]) == (line.removeprefix("extern ") if ours else "")


def test_names_of_what_files_share(text, tmp_path):
    names = (tmp_path / "out/names.h").read_text()
    assert re.findall(r"#define (\w+) skua__\1\n", names) == ["cold", "limits", "value"]


@pytest.mark.parametrize(
    "files,words",
    [
        ({"src/base/a.c": SPDX + "static int near;\n", "src/base/b.c": SPDX + "\nstatic int near(void) { return 1; }\n"},
         "src/base/b.c:3: function near is also in src/base/a.c:2"),
        ({"src/base/a.c": SPDX + "static int value;\n"}, "src/base/point.c:7: function value is also in src/base/a.c:2"),
        ({"src/base/a.c": SPDX + "enum { NEAR };\n", "src/base/b.c": SPDX + "#define NEAR 1\n"},
         "src/base/b.c:2: macro NEAR is also in src/base/a.c:2"),
        ({"src/base/a.c": SPDX + "struct near { int x; };\n", "src/base/b.c": SPDX + "union near { int x; };\n"},
         "src/base/b.c:2: tag near is also in src/base/a.c:2"),
        ({"src/base/a.c": SPDX + "typedef int near;\n", "src/base/b.c": SPDX + "typedef long near;\n"},
         "src/base/b.c:2: typedef near is also in src/base/a.c:2"),
        ({"src/base/a.c": SPDX + "int skua_secret(void) { return 1; }\n"},
         "src/base/a.c:2: skua_secret has the public prefix and is not in include/skua/skua.h"),
        ({"src/base/a.c": SPDX + "#define GLUE(a, b) a ## b\n"}, "src/base/a.c:2: ## makes names that cannot be prefixed"),
        ({"src/new/a.c": SPDX + "int x;\n"}, "src/new/a.c:1: the folder has no place in FOLDERS"),
        ({"src/base/a.c": SPDX + '#include "base/none.h"\n'}, "src/base/a.c:2: there is no base/none.h"),
    ],
)
def test_refuses(tmp_path, files, words):
    assert words in refused(["python3", ROOT / "tools/dist.py", "--root", tree(tmp_path, files), "--out", tmp_path / "out.h"])
    assert not (tmp_path / "out.h").exists()


def test_the_same_words_may_be_repeated(tmp_path):
    """A typedef may stand in two headers, and a macro that was undefined may be defined again."""
    same = SPDX + "typedef struct near near;\n#define ONCE 1\n#undef ONCE\n"
    make_header(tmp_path / "out.h", tree(tmp_path, {"src/base/a.c": same, "src/base/b.c": same}))


def test_unchanged_file_is_left_alone(text, tmp_path):
    before = (tmp_path / "out/skua.h").stat().st_mtime_ns
    make_header(tmp_path / "out/skua.h", tmp_path)
    assert (tmp_path / "out/skua.h").stat().st_mtime_ns == before
