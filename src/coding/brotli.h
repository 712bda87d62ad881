// SPDX-License-Identifier: MIT
//
// The coding br, where it is built in.
#ifndef SKUA_CODING_BROTLI_H
#define SKUA_CODING_BROTLI_H

#include "coding/encoder.h"

extern const encoder_table brotli_encoder;

#endif
