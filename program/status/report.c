// SPDX-License-Identifier: MIT

#include "status/report.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

static struct {
    pthread_mutex_t lock;
    conf_report now;
} reported = { .lock = PTHREAD_MUTEX_INITIALIZER };

void conf_report_resume(unsigned accepted, unsigned refused)
{
    (void)pthread_mutex_lock(&reported.lock);
    reported.now =
        (conf_report){ .used_since_unix_s = time(NULL), .accepted = accepted, .refused = refused };
    (void)pthread_mutex_unlock(&reported.lock);
}

void conf_report_start(void)
{
    conf_report_resume(0, 0);
}

void conf_report_reload(const char *sentence)
{
    conf_report *now = &reported.now;
    (void)pthread_mutex_lock(&reported.lock);
    now->last_tried_unix_s = time(NULL);
    now->is_refused = sentence != NULL;
    (void)snprintf(now->sentence, sizeof now->sentence, "%s", sentence ? sentence : "");
    if (sentence) now->refused++;
    else now->accepted++;
    if (!sentence) now->used_since_unix_s = now->last_tried_unix_s;
    (void)pthread_mutex_unlock(&reported.lock);
}

void conf_report_get(conf_report *report)
{
    (void)pthread_mutex_lock(&reported.lock);
    *report = reported.now;
    (void)pthread_mutex_unlock(&reported.lock);
}
