// SPDX-License-Identifier: MIT
//
// HPACK for tests in other languages. Reads commands, one a line, and answers those that ask:
//
//     decoder OCTETS      a new decoder whose table may have so many
//     encoder OCTETS      a new encoder
//     resize OCTETS       the limit that the peer of the encoder has set
//     drop                the encoder's table
//     decode HEX          answers the block's fields, NAME:VALUE in hex, with spaces between; or "fault"
//     encode FIELDS       fields as above; answers the block in hex

#include "http/hpack_decode.h"
#include "http/hpack_encode.h"

#include <stdio.h>
#include <stdlib.h>

enum { LINE_OCTETS = 1 << 20 };

static budget whole;
static lease memory;
static hpack_decoder decoder;
static hpack_encoder encoder;

static unsigned nibble(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

// Reads hex digits up to anything else, in place. *text is moved past them.
static slice unhex(char **text)
{
    char *start = *text, *out = start, *at = start;
    for (; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); at += 2)
        *out++ = (char)(nibble(at[0]) << 4 | nibble(at[1]));
    *text = at;
    return slice_make(start, (size_t)(out - start));
}

static void show(slice octets)
{
    for (size_t i = 0; i < octets.len; i++)
        printf("%02x", (unsigned char)octets.ptr[i]);
}

static void decode(char *text)
{
    hpack_field field;
    hpack_event event;
    hpack_decoder_begin(&decoder, unhex(&text));
    while ((event = hpack_decoder_next(&decoder, &field)) == HPACK_FIELD) {
        show(field.name);
        putchar(':');
        show(field.value);
        putchar(' ');
    }
    puts(event == HPACK_END ? "" : "fault");
}

static void encode(char *text)
{
    static char wire[LINE_OCTETS * 2];
    char *at = hpack_encode_begin(&encoder, wire);
    while (*text && *text != '\n') {
        slice name = unhex(&text);
        text++;
        slice value = unhex(&text);
        if (*text == ' ') text++;
        at = hpack_encode_field(&encoder, at, name, value, HPACK_INDEXING_BY_NAME);
    }
    show(slice_make(wire, (size_t)(at - wire)));
    puts("");
}

static void obey(char *line)
{
    char *word = strchr(line, ' ');
    uint32_t n = word ? (uint32_t)strtoul(word + 1, NULL, 10) : 0;
    if (strncmp(line, "decode ", 7) == 0) {
        decode(line + 7);
    } else if (strncmp(line, "encode ", 7) == 0) {
        encode(line + 7);
    } else if (strncmp(line, "decoder ", 8) == 0) {
        hpack_decoder_deinit(&decoder);
        hpack_decoder_init(&decoder, &memory, n, LINE_OCTETS);
    } else if (strncmp(line, "encoder ", 8) == 0) {
        hpack_encoder_deinit(&encoder);
        hpack_encoder_init(&encoder, &memory, n);
    } else if (strncmp(line, "resize ", 7) == 0) {
        hpack_encoder_resize(&encoder, n);
    } else {
        hpack_encoder_drop(&encoder);
    }
}

int main(void)
{
    static char line[LINE_OCTETS];
    budget_init(&whole, 1 << 26, 1);
    lease_init(&memory, &whole, 0, NULL);
    hpack_decoder_init(&decoder, &memory, HPACK_TABLE_OCTETS_AT_FIRST, LINE_OCTETS);
    hpack_encoder_init(&encoder, &memory, HPACK_TABLE_OCTETS_AT_FIRST);
    while (fgets(line, sizeof line, stdin))
        obey(line);
    hpack_decoder_deinit(&decoder);
    hpack_encoder_deinit(&encoder);
    lease_end(&memory);
    return 0;
}
