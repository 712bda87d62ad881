// SPDX-License-Identifier: MIT
//
// Made by tools/status_page.py from program/upload/page.

#include "upload/page.h"

// clang-format off
const char upload_page_before[] =
    "<p id=\"upload\" data-paths=\"";

const char upload_page_behind[] =
    "\" hidden><label>Upload files: <input type=\"file\" multiple></label> <output></output></p>\n";

const char upload_page_script[] =
    "'use strict';\n"
    "{\n"
    "  const part = document.getElementById('upload'), chosen = part.querySelector('input'), told = part.querySelector('output');\n"
    "  const here = decodeURIComponent(location.pathname);\n"
    "  part.hidden = !part.dataset.paths.split(' ').some(path => path && here.startsWith(decodeURIComponent(path)));\n"
    "  const failed = (file, why) => { told.textContent = file.name + ': ' + why; chosen.value = ''; };\n"
    "  chosen.addEventListener('change', async () => {\n"
    "    for (const [i, file] of [...chosen.files].entries()) {\n"
    "      told.textContent = 'uploading ' + file.name + ' (' + (i + 1) + ' of ' + chosen.files.length + ')';\n"
    "      try {\n"
    "        const response = await fetch('./' + encodeURIComponent(file.name), { method: 'PUT', body: file });\n"
    "        if (!response.ok) return failed(file, (await response.text()).trim());\n"
    "      } catch {\n"
    "        return failed(file, 'the connection was lost');\n"
    "      }\n"
    "    }\n"
    "    location.reload();\n"
    "  });\n"
    "}\n";

const char upload_page_script_hash[] = "sha256-NaobnJ2ifnvh4ES8mNuRWYcgWnXIw45tnGHR3fauiD0=";
// clang-format on
