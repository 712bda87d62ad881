// SPDX-License-Identifier: MIT
//
// The part of a listing's page that sends files. Made by tools/status_page.py from program/upload/page.
#ifndef PROGRAM_UPLOAD_PAGE_H
#define PROGRAM_UPLOAD_PAGE_H

// HTML before and behind the paths that take files, which are percent-encoded, with spaces between them.
extern const char upload_page_before[], upload_page_behind[];

extern const char upload_page_script[];
extern const char upload_page_script_hash[]; // of the script, "sha256-…"

#endif
