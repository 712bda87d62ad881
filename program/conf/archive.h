// SPDX-License-Identifier: MIT
//
// Archives of a configuration: the folders that are sent as one file, and what is left out. An
// archive contains nothing that its client could not get by a single request.
#ifndef PROGRAM_CONF_ARCHIVE_H
#define PROGRAM_CONF_ARCHIVE_H

#include "archive/archive.h"
#include "conf/conf.h"

enum { CONF_ARCHIVE_FORMATS = 2 };

// The formats of a scope, with NULL behind the last.
typedef struct conf_archive_formats {
    const archive_format *at[CONF_ARCHIVE_FORMATS + 1];
} conf_archive_formats;

conf_archive_formats conf_archive_formats_of(const conf_scope *scope);

// Finds the roots that archives are made of and opens them, each for as long as the configuration is there. Faults become
// findings; what is left out of archives becomes notes.
void conf_archive_open(conf *from);

// Adds links to archives to the pages of a root's listings: of the archives that the innermost block around the page has.
// Returns: false without memory.
bool conf_archive_show(conf *from, const conf_site *site, const conf_scope *root,
                       skua_directory_config *how);

// Why an archive of what is in one scope has nothing of another one below it, or not for everyone; NULL: it has.
const char *conf_archive_gap(const conf_site *site, const conf_scope *of, const conf_scope *below);

// A site, for middleware around all of its requests.
typedef struct conf_archived {
    conf *from;
    conf_site *site;
} conf_archived;

void conf_archive_before(skua_request *request, void *archived);

#endif
