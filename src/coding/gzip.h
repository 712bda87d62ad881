// SPDX-License-Identifier: MIT
//
// The coding gzip, where it is built in.
#ifndef SKUA_CODING_GZIP_H
#define SKUA_CODING_GZIP_H

#include "coding/encoder.h"

extern const encoder_table gzip_encoder;

#endif
