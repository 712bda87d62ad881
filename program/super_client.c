// SPDX-License-Identifier: MIT

#include "super_client.h"

#ifdef __linux__

bool super_client_listen(const char *pid_file)
{
    (void)pid_file;
    return true;
}

void super_client_close(void)
{
}

unsigned super_client_poll(struct pollfd *on, unsigned room)
{
    (void)on, (void)room;
    return 0;
}

void super_client_look(bool asked[SUPER_TASKS])
{
    (void)asked;
}

void super_client_begin(super_task task)
{
    (void)task;
}

void super_client_answer(super_task task, bool done, const char *text)
{
    (void)task, (void)done, (void)text;
}

#endif
