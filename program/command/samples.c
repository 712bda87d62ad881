// SPDX-License-Identifier: MIT
//
// Samples.

#include "command/samples.h"

#include "common/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const unsigned samples_kib[SAMPLES_COUNT] = { 4, 16, 32, 64, 128 };

static bool samples_path(const samples *s, unsigned kib, char path[PATH_MAX])
{
    int len = snprintf(path, PATH_MAX, "%s/%u", s->dir, kib);
    return len > 0 && len < PATH_MAX;
}

static bool samples_write(const samples *s, unsigned kib)
{
    char path[PATH_MAX], block[1024];
    if (!samples_path(s, kib, path)) return false;
    memset(block, 'a', sizeof block);
    FILE *file = fopen(path, "wbx");
    if (!file) return false;
    bool good = true;
    for (unsigned i = 0; i < kib && good; i++)
        good = fwrite(block, sizeof block, 1, file) == 1;
    return fclose(file) == 0 && good;
}

void samples_remove(const samples *s)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < SAMPLES_COUNT; i++) {
        if (samples_path(s, samples_kib[i], path)) (void)unlink(path);
    }
    (void)rmdir(s->dir);
}

static bool samples_fill(const samples *s)
{
    for (size_t i = 0; i < SAMPLES_COUNT; i++) {
        if (!samples_write(s, samples_kib[i])) return false;
    }
    return true;
}

bool samples_make(samples *s)
{
    const char *above = getenv("TMPDIR");
    if (!above || !*above) above = "/tmp";
    int len = snprintf(s->dir, sizeof s->dir, "%s/skua-XXXXXX", above);
    bool made = len > 0 && len < (int)sizeof s->dir && mkdtemp(s->dir);
    if (made && samples_fill(s)) return true;
    if (made) samples_remove(s);
    say_error("no files can be made in %s; TMPDIR may name another directory", above);
    return false;
}
