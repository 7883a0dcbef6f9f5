/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sort_key.c: elements as unsigned numbers of the same order.
 */
#include "sort.h"

/* Signed numbers begin at the least. */
static uint64_t key_of_integer(uint64_t bits, int64_t bytes) {
  return bits ^ UINT64_C(1) << (8 * bytes - 1);
}

/* The bits of a real number grow with its size, of a negative one as it gets less. -0 is 0, and all NaN are the
 * same, above infinity, whose bits are those of the exponent. */
static uint64_t key_of_real(uint64_t bits, int64_t bytes, uint64_t infinity) {
  const uint64_t sign = UINT64_C(1) << (8 * bytes - 1), size = bits & (sign - 1);
  if (size > infinity) return sign | (infinity + 1);
  if (size == 0) return sign;
  return bits & sign ? sign - size : sign | size;
}

uint64_t cpu_sort_key(int32_t dtype, uint64_t bits) {
  switch (dtype) {
    case TBK_UINT8:
      return bits;
    case TBK_BOOL:
      return bits != 0;
    case TBK_FLOAT16:
      return key_of_real(bits, 2, 0x7c00);
    case TBK_BFLOAT16:
      return key_of_real(bits, 2, 0x7f80);
    case TBK_FLOAT32:
      return key_of_real(bits, 4, 0x7f800000);
    case TBK_FLOAT64:
      return key_of_real(bits, 8, UINT64_C(0x7ff) << 52);
    default:
      return key_of_integer(bits, tbk_dtype_bytes(dtype));
  }
}
