// SPDX-License-Identifier: MIT
//
// The state of a supervisor: its configuration, its servers, and the task that is under way.
#ifndef PROGRAM_SUPER_STATE_H
#define PROGRAM_SUPER_STATE_H

#include "conf/conf.h"
#include "super/server.h"

enum { SUPER_LEAVING_MAX = 16 }; // servers that still serve their last clients

// The tasks of a supervisor beside keeping a server alive. One is under way at a time.
typedef enum super_task {
    SUPER_IDLE,
    SUPER_RELOAD,  // another configuration, in the same server if it can be
    SUPER_UPGRADE, // another program
    SUPER_STOP,
    SUPER_TASKS
} super_task;

// A configuration, and the files that it was made of.
typedef struct super_conf {
    conf *conf;
    int source; // -1: there are none
} super_conf;

typedef struct super_state {
    const char *file;
    bool quiet;
    super_conf now;     // of the server that serves; its sites may have come by a reload
    super_conf started; // with which that server was started
    super_conf coming;  // of a task that is under way
    super_server serving, next, leaving[SUPER_LEAVING_MAX];
    super_task task;
    bool wanted[SUPER_TASKS]; // to be begun when the task is over
    pid_t trial;              // a new program that looks whether it can go on from here; 0: none
    int trial_control;        // where it says so; only with trial
    int64_t task_until_ns;    // when a server must have answered; 0: none is asked
    int64_t
        left_until_ns; // when the former server must have said that it accepts no more; 0: it need not
    bool stopping;
    unsigned stops;        // signals that asked for it
    unsigned crashes;      // in a row
    int64_t restart_at_ns; // 0: no server is to be started
    int64_t trim_at_ns;    // when sockets that nobody needs are closed; 0: there are none
    int64_t trim_until_ns; // at the latest, though somebody waits there
    int before; // the program before this one, while an upgrade is under way; -1: there is none
    unsigned accepted, refused;
    bool has_served;
    bool failed;
} super_state;

#endif
