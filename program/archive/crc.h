// SPDX-License-Identifier: MIT
//
// The CRC-32 of zip: polynomial 0xEDB88320, as in ISO 3309.
#ifndef PROGRAM_ARCHIVE_CRC_H
#define PROGRAM_ARCHIVE_CRC_H

#include <stddef.h>
#include <stdint.h>

// crc: that of the octets before, 0 at first.  Returns: with these octets.  Thread: any.
uint32_t crc_add(uint32_t crc, const char *octets, size_t len);

#endif
