/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * number.c: numbers of all formats, by their definitions.
 */
#include "number.h"

#include <math.h>
#include <string.h>

/* The value of bits of a narrow format, by its definition. */
static long double narrow_value(uint16_t bits, int fraction_bits, int bias) {
  const int exponent_bits = 15 - fraction_bits, most = (1 << exponent_bits) - 1;
  const int exponent = bits >> fraction_bits & most, fraction = bits & ((1 << fraction_bits) - 1);
  const long double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == most) return fraction ? NAN : sign * (long double)INFINITY;
  if (exponent == 0) return sign * ldexpl(fraction, 1 - bias - fraction_bits);
  return sign * ldexpl(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}

long double number_value(const void* at, int32_t dtype) {
  uint16_t bits;
  switch (dtype) {
    case TBK_UINT8:
      return *(const uint8_t*)at;
    case TBK_INT8:
      return *(const int8_t*)at;
    case TBK_INT16:
      return *(const int16_t*)at;
    case TBK_INT32:
      return *(const int32_t*)at;
    case TBK_INT64:
      return *(const int64_t*)at;
    case TBK_FLOAT32:
      return *(const float*)at;
    case TBK_FLOAT64:
      return (long double)*(const double*)at;
    case TBK_BOOL:
      return *(const uint8_t*)at != 0;
    default:
      memcpy(&bits, at, sizeof bits);
      return dtype == TBK_FLOAT16 ? narrow_value(bits, 10, 15) : narrow_value(bits, 7, 127);
  }
}

/* By halving; infinite from half a step beyond. */
uint16_t number_narrow(long double value, int32_t dtype) {
  const int fraction_bits = dtype == TBK_FLOAT16 ? 10 : 7, bias = dtype == TBK_FLOAT16 ? 15 : 127;
  if (isnan(value) || isinf(value))
    return (uint16_t)((signbit(value) ? 0x8000 : 0) | (0x7fff >> fraction_bits << fraction_bits) |
                      (isnan(value) ? 0x40 : 0));
  const uint16_t infinite = (uint16_t)(0x7fff >> fraction_bits << fraction_bits);
  const uint16_t sign = signbit(value) ? 0x8000 : 0;
  const long double size = fabsl(value);
  uint16_t low = 0, high = infinite;
  while (high - low > 1) {
    const uint16_t middle = (uint16_t)((low + high) / 2);
    if (narrow_value(middle, fraction_bits, bias) <= size)
      low = middle;
    else
      high = middle;
  }
  const long double below = narrow_value(low, fraction_bits, bias);
  const long double above = high == infinite
                                ? 2 * below - narrow_value(low - 1, fraction_bits, bias)
                                : narrow_value(high, fraction_bits, bias);
  const bool up = size - below > above - size || (size - below == above - size && low % 2);
  return (up ? high : low) | sign;
}

bool number_same(const void* one, const void* other, int32_t dtype) {
  if (memcmp(one, other, (size_t)tbk_dtype_bytes(dtype)) == 0) return true;
  if (tbk_dtype_kind(dtype) != TBK_KIND_REAL) return false;
  return isnan(number_value(one, dtype)) && isnan(number_value(other, dtype));
}
