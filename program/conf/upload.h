// SPDX-License-Identifier: MIT
//
// Uploads of a configuration: which folders take files, and that nobody may write to them unasked.
#ifndef PROGRAM_CONF_UPLOAD_H
#define PROGRAM_CONF_UPLOAD_H

#include "conf/conf.h"
#include "upload/upload.h"

// Of a scope, and of those inside of it that have the same root.
struct conf_upload {
    upload_place place;
    const char *folder; // what requests below place.path write to; NULL: it is not known yet
    bool is_for_anyone; // needs no password
    conf_place at;
    const conf_site *site;
};

// Finds the folders for uploads and opens them, each for as long as the configuration is there. Faults become findings.
void conf_upload_open(conf *from);

// Adds the part for uploads to the pages of a root's listings, where a folder below it takes files. Returns: false without
// memory.
bool conf_upload_show(conf *from, const conf_site *site, const conf_scope *root,
                      skua_directory_config *how);

// Handler of PUT and DELETE, whose user is a conf_upload.
void conf_upload_handle(skua_request *request, void *upload);

#endif
