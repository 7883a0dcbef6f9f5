/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sort_key.c: elements as unsigned numbers of the same order.
 */
#include "sort.h"

/* The bits of infinity; 0 of a dtype that has none. */
static uint64_t infinity_of(int32_t dtype) {
  switch (dtype) {
    case TBK_FLOAT16:
      return 0x7c00;
    case TBK_BFLOAT16:
      return 0x7f80;
    case TBK_FLOAT32:
      return 0x7f800000;
    case TBK_FLOAT64:
      return UINT64_C(0x7ff) << 52;
    default:
      return 0;
  }
}

/* The bits of a real number grow with its size, of a negative one as it gets less. -0 is 0, and all NaN are the
 * same, above infinity. */
static uint64_t key_of_real(uint64_t bits, uint64_t sign, uint64_t infinity) {
  const uint64_t size = bits & (sign - 1);
  if (size > infinity) return sign | (infinity + 1);
  if (size == 0) return sign;
  return bits & sign ? sign - size : sign | size;
}

void cpu_sort_keys(int32_t dtype, bool descending, const uint64_t* words, int64_t count,
                   sort_pair_t* pairs) {
  const int64_t bits = 8 * tbk_dtype_bytes(dtype);
  const uint64_t sign = UINT64_C(1) << (bits - 1), infinity = infinity_of(dtype);
  const uint64_t least =
      dtype == TBK_UINT8 || dtype == TBK_BOOL ? 0 : sign; /* signed ones begin there */
  const uint64_t flip = descending ? sign | (sign - 1) : 0;
  for (int64_t i = 0; i < count; i++) {
    const uint64_t word = dtype == TBK_BOOL ? words[i] != 0 : words[i];
    const uint64_t key = infinity ? key_of_real(word, sign, infinity) : word ^ least;
    pairs[i] = (sort_pair_t){key ^ flip, i};
  }
}
