/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * bits.h: a value of a dtype as 64 bits, zero-extended.
 */
#ifndef TBK_PROGRAM_BITS_H
#define TBK_PROGRAM_BITS_H

#include <stdbool.h>
#include <tbk/dtypes.h>

/* Returns whether the bits are a value of the dtype: a BOOL is 0 or 1. */
static inline bool program_bits_fit(uint32_t dtype, uint64_t bits) {
  int64_t size = tbk_dtype_bytes((int32_t)dtype);
  if (dtype == TBK_BOOL) return bits <= 1;
  return size >= 8 || bits >> (8 * size) == 0;
}

#endif /* TBK_PROGRAM_BITS_H */
