# SPDX-License-Identifier: MIT
"""Writes program/status/page.c: the page of the status listener from program/status/page, in one piece, and its
policy; and program/upload/page.c: what the pages of listings have for uploads, from program/upload/page.

    python3 tools/status_page.py
"""

import base64
import hashlib
import pathlib

ROOT = pathlib.Path(__file__).parent.parent
STATUS = ROOT / "program/status/page"
UPLOAD = ROOT / "program/upload/page"
OUT = STATUS.with_suffix(".c")
UPLOADS = UPLOAD.with_suffix(".c")


def allowed(text):
    """How a Content-Security-Policy names an element with that content."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def literal(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"'


def written():
    style, script = ((STATUS / name).read_text() for name in ("status.css", "status.js"))
    page = (STATUS / "status.html").read_text().replace("STYLE", style).replace("SCRIPT", script)
    policy = (f"default-src 'none'; style-src {allowed(style)}; script-src {allowed(script)}; "
              "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    lines = "\n".join(f"    {literal(line)}," for line in page.splitlines())
    half = policy.index("script-src")
    return f"""// SPDX-License-Identifier: MIT
//
// Made by tools/status_page.py from program/status/page.

#include "status/page.h"

// clang-format off
const char *const status_page[] = {{
{lines}
    NULL,
}};

const char status_page_policy[] =
    "{policy[:half]}"
    "{policy[half:]}";
// clang-format on
"""


def written_uploads():
    script = (UPLOAD / "upload.js").read_text()
    before, behind = (UPLOAD / "upload.html").read_text().split("PATHS")
    lines = lambda text: "\n".join(f"    {literal(line)}" for line in text.splitlines())
    return f"""// SPDX-License-Identifier: MIT
//
// Made by tools/status_page.py from program/upload/page.

#include "upload/page.h"

// clang-format off
const char upload_page_before[] =
    {literal(before)[:-3]}";

const char upload_page_behind[] =
{lines(behind)};

const char upload_page_script[] =
{lines(script)};

const char upload_page_script_hash[] = "{allowed(script)[1:-1]}";
// clang-format on
"""


if __name__ == "__main__":
    OUT.write_text(written())
    UPLOADS.write_text(written_uploads())
