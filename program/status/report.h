// SPDX-License-Identifier: MIT
//
// Report on the configuration: when the one in use was read, and what became of the last attempt at another.
#ifndef PROGRAM_STATUS_REPORT_H
#define PROGRAM_STATUS_REPORT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct conf_report {
    int64_t used_since_unix_s;  // the one in use; 0: there is none
    int64_t last_tried_unix_s;  // 0: there was no reload
    unsigned accepted, refused; // reloads
    bool is_refused;            // the last reload was
    char sentence[512];         // why, with its file and line
} conf_report;

// The first configuration is in use.
void conf_report_start(void);

// The same in a process that goes on for another one, in which there were so many reloads.
void conf_report_resume(unsigned accepted, unsigned refused);

// A reload has ended. sentence: why it was refused; NULL: it was not.
void conf_report_reload(const char *sentence);

// Thread: any, as of the others.
void conf_report_get(conf_report *report);

#endif
