// SPDX-License-Identifier: MIT

#include "archive/disposition.h"

#include "archive/utf8.h"

#include <stdio.h>
#include <string.h>

void archive_prefix(char prefix[ARCHIVE_PREFIX_OCTETS], skua_slice path)
{
    size_t end = path.len ? path.len - 1 : 0, begin = end; // at the "/"
    while (begin > 0 && path.ptr[begin - 1] != '/')
        begin--;
    skua_slice name = { path.ptr + begin, end - begin };
    if (!name.len || name.len + 2 > ARCHIVE_PREFIX_OCTETS) name = SKUA_SLICE("files");
    memcpy(prefix, name.ptr, name.len);
    memcpy(prefix + name.len, "/", 2);
}

static bool disposition_is_word(unsigned char c)
{
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_letter || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

// Octets that could end the quoted string, or be taken for a triplet or a path, become "_".
static void disposition_add_plain(char *to, const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)name[i];
        bool is_plain = disposition_is_word(c) || strchr(" !#$&'()+,;=@[]^`{}~", c);
        to[i] = c && is_plain ? (char)c : '_';
    }
    to[len] = '\0';
}

static void disposition_add_encoded(char *to, const char *name, size_t len)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)name[i];
        if (disposition_is_word(c)) {
            *to++ = (char)c;
            continue;
        }
        *to++ = '%';
        *to++ = digits[c >> 4];
        *to++ = digits[c & 15];
    }
    *to = '\0';
}

void archive_disposition(char text[ARCHIVE_DISPOSITION_OCTETS], const char *prefix,
                         const char *ending)
{
    char plain[ARCHIVE_PREFIX_OCTETS], encoded[3 * ARCHIVE_PREFIX_OCTETS];
    size_t len = strlen(prefix) - 1;
    disposition_add_plain(plain, prefix, len);
    int n =
        snprintf(text, ARCHIVE_DISPOSITION_OCTETS, "attachment; filename=\"%s.%s\"", plain, ending);
    if (memcmp(plain, prefix, len) == 0 || !utf8_is_right(prefix, len) || n < 0) return;
    disposition_add_encoded(encoded, prefix, len);
    (void)snprintf(text + n, ARCHIVE_DISPOSITION_OCTETS - (size_t)n, "; filename*=UTF-8''%s.%s",
                   encoded, ending);
}
