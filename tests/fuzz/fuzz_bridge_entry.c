// SPDX-License-Identifier: MIT
//
// Entries of a bridge's stream. One that is understood is written and read again as the same. URLs of stores on the
// way: each part ends with NUL.
// Input: words, separated by LF.

#include "bridge/entry.h"
#include "bridge/url.h"

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len);

static void require(bool truth)
{
    if (!truth) __builtin_trap();
}

static size_t split(slice text, slice *words, size_t max)
{
    size_t count = 0;
    while (count < max) {
        const char *end = text.len ? memchr(text.ptr, '\n', text.len) : NULL;
        words[count++] = slice_make(text.ptr, end ? (size_t)(end - text.ptr) : text.len);
        if (!end) break;
        text = slice_from(text, words[count - 1].len + 1);
    }
    return count;
}

static void require_written_alike(const bridge_entry *entry)
{
    char number[BRIDGE_NUMBER_OCTETS];
    slice words[BRIDGE_WORDS_MAX];
    bridge_entry again;
    size_t count = bridge_entry_write(entry, number, words);
    require(count <= BRIDGE_WORDS_MAX && bridge_entry_read(words, count, &again));
    require(again.kind == entry->kind && again.number == entry->number);
    require(slice_equal(again.instance, entry->instance));
    if (!bridge_entry_publishes(entry)) return;
    require(slice_equal(again.topic, entry->topic) && slice_equal(again.message, entry->message));
    require(slice_equal(again.event, entry->event) && slice_equal(again.id, entry->id));
    require(!again.id.ptr == !entry->id.ptr);
}

int LLVMFuzzerTestOneInput(const uint8_t *octets, size_t len)
{
    slice text = slice_make((const char *)octets, len), words[BRIDGE_FIELDS_MAX + 2];
    bridge_entry entry;
    bridge_url url;
    size_t count = split(text, words, BRIDGE_FIELDS_MAX + 2);
    if (bridge_entry_read(words, count, &entry)) require_written_alike(&entry);
    if (bridge_url_read(text, &url)) return 0;
    require(strlen(url.host) <= BRIDGE_URL_PART_MAX && strlen(url.path) <= BRIDGE_URL_PART_MAX);
    require(strlen(url.user) <= BRIDGE_URL_PART_MAX && strlen(url.password) <= BRIDGE_URL_PART_MAX);
    require((url.host[0] != 0) != (url.path[0] != 0));
    require(url.database <= BRIDGE_DATABASE_MAX && url.port <= 65535);
    return 0;
}
