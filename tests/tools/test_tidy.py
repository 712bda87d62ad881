# SPDX-License-Identifier: MIT
"""tools/tidy.py finds what it is there to find, and says nothing else."""

import subprocess
import sys

import pytest
from server import ROOT

SPDX = "// SPDX-License-Identifier: MIT\n"
GOOD = {
    "include/skua/skua.h": SPDX,
    "src/base/slice.h": SPDX + '#include "skua/skua.h"\n',
    "src/http/head.c": SPDX + '#include "base/slice.h"\n#include <string.h>\n// strcpy(a) is only spoken of\n',
    "src/files/cache.c": SPDX + "#include <skua/skua.h>\n#include <sys/stat.h>\n",
    "program/main.c": SPDX + "#include <skua/skua.h>\n",
}


def tidy(folder, files):
    for name, text in {**GOOD, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([sys.executable, ROOT / "tools/tidy.py", folder], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def test_good_tree(tmp_path):
    assert tidy(tmp_path, {}) == (0, "tidy: 5 files, no findings\n")


@pytest.mark.parametrize(
    "name,text,words",
    [
        ("src/http/a.c", SPDX + '#include "io/io.h"\n', "src/http may not include src/io/io.h"),
        ("src/files/a.c", SPDX + '#include "io/io.h"\n', "src/files may not include src/io/io.h"),
        ("src/base/a.c", SPDX + '#include "../io/io.h"\n', "src/base may not include src/io/io.h"),
        ("program/a.c", SPDX + '#include "base/slice.h"\n', "program may not include src/base/slice.h"),
        ("src/http/a.c", SPDX + "#include <unistd.h>\n", "knows no operating system"),
        ("src/io/a.c", SPDX + "#include <linux/sockios.h>\n", "libc alone"),
        ("src/io/a.c", SPDX + "void f(void)\n{\n    strcpy(a, b);\n}\n", "a.c:4: strcpy is banned"),
        ("src/io/a.c", SPDX + "int x = atoi(y);\n", "atoi is banned"),
        ("src/io/a.c", SPDX + "void *x = malloc(1);\n", "memory comes from base/memory.h"),
        ("src/io/a.c", SPDX + "void f(void) { free(x); }\n", "memory comes from base/memory.h"),
        ("src/io/a.c", SPDX + "void f(void) { assert(x); }\n", "use SKUA_ASSERT"),
        ("src/io/a.c", "int x;\n", "needs the line SPDX"),
        ("src/io/a.h", SPDX, "src/io/a.h:1: nothing includes it"),
        ("tests/unit/http/help.c", SPDX, "help.c:1: nothing builds it"),
        ("src/io/a.c", SPDX + "// TO" + "DO later\n", "without an issue"),
        ("src/io/a.c", SPDX + "//\n// What a file is.\n", 'a.c:3: the comment opens with "What"'),
        ("src/io/a.c", SPDX + "int x;\n    // Whoever reads it\n", 'opens with "Whoever"'),
        ("src/io/a.c", SPDX + "\n// Has the kernel tell.\n", 'opens with "Has"'),
        ("cmake/a.cmake", SPDX.replace("//", "#") + "\n# What is built\n", 'opens with "What"'),
        ("bench/a.py", SPDX.replace("//", "#") + '"""What is measured."""\n', 'opens with "What"'),
        ("src/io/a.c", SPDX + "\n" * 800, "past 800"),
        ("bench/a.py", SPDX.replace("//", "#") + "def f():\n    pass\n\n\ndef f():\n    pass\n", "a.py:6: f stands in line 2, too"),
        ("src/io/a.c", SPDX + "int home(void)\n{\n    return 1;\n}\n", "io.h:3: home is declared here and not in src/io/a.h"),
    ],
)
def test_findings(tmp_path, name, text, words):
    code, said = tidy(tmp_path, {"src/io/io.h": SPDX + "// of io.c\nint home(void);\n", "src/io/io.c": SPDX + '#include "io/io.h"\n', name: text})
    assert code == 1 and words in said
    assert "1 findings" in said


def test_comment_that_goes_on_with_what(tmp_path):
    text = SPDX + "\n// The kernel keeps\n// What it was given.  Whatever follows, has begun.\n"
    assert tidy(tmp_path, {"src/io/a.c": text})[0] == 0


def test_todo_with_an_issue(tmp_path):
    assert tidy(tmp_path, {"src/io/a.c": SPDX + "// TO" + "DO(#12) later\n"})[0] == 0
