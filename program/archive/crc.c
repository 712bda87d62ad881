// SPDX-License-Identifier: MIT
//
// Eight tables, so that eight octets are taken at a time: the worker adds up what it sends.

#include "archive/crc.h"

#include <pthread.h>

#define CRC_POLYNOMIAL 0xedb88320u

static uint32_t crc_tables[8][256];

static void crc_make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ CRC_POLYNOMIAL : crc >> 1;
        crc_tables[0][i] = crc;
    }
    for (unsigned table = 1; table < 8; table++) {
        for (unsigned i = 0; i < 256; i++) {
            uint32_t before = crc_tables[table - 1][i];
            crc_tables[table][i] = before >> 8 ^ crc_tables[0][before & 255];
        }
    }
}

static uint32_t crc_word(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t crc_eight(uint32_t crc, const unsigned char *at)
{
    uint32_t low = crc ^ crc_word(at), high = crc_word(at + 4);
    return crc_tables[7][low & 255] ^ crc_tables[6][low >> 8 & 255] ^
           crc_tables[5][low >> 16 & 255] ^ crc_tables[4][low >> 24] ^ crc_tables[3][high & 255] ^
           crc_tables[2][high >> 8 & 255] ^ crc_tables[1][high >> 16 & 255] ^
           crc_tables[0][high >> 24];
}

uint32_t crc_add(uint32_t crc, const char *octets, size_t len)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const unsigned char *at = (const unsigned char *)octets;
    (void)pthread_once(&once, crc_make_tables);
    crc = ~crc;
    for (; len >= 8; len -= 8, at += 8)
        crc = crc_eight(crc, at);
    for (; len; len--, at++)
        crc = crc >> 8 ^ crc_tables[0][(crc ^ *at) & 255];
    return ~crc;
}
