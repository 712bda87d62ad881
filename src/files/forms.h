// SPDX-License-Identifier: MIT
//
// Forms: compressed content of files that handlers serve one by one. Each server has a site without
// a root that holds them, made when it is first needed; its caches bound them like those of a
// directory.
#ifndef SKUA_FILES_FORMS_H
#define SKUA_FILES_FORMS_H

#include "files/compression.h"

// A file of which a form is wanted.
typedef struct forms_wish {
    cache *forms;        // of forms_of
    slice key;           // tells the file from all others of the process
    const cached *entry; // of the file as it is, with what it offers
    skua_file *file;     // the same, open
    content_coding coding;
} forms_wish;

// The worker's cache for its server's forms. NULL: there can be none.
cache *forms_of(skua_worker *worker);

// The form, one more reference of it, if it is in the worker's cache; else NULL.
compressed *forms_find(const forms_wish *wish);

// Makes the form, as compression_want does.
compression_outcome forms_want(const forms_wish *wish, file_waiter *waiter);

#endif
