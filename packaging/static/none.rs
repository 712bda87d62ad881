// SPDX-License-Identifier: MIT
// Cargo wants a source file. There is nothing to compile.
