// SPDX-License-Identifier: MIT
//
// The coding zstd, where it is built in.
#ifndef SKUA_CODING_ZSTD_H
#define SKUA_CODING_ZSTD_H

#include "coding/encoder.h"

extern const encoder_table zstd_encoder;

#endif
