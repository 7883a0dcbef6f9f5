/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * element.c: see element.h. Device memory is read and written by words, as all work does.
 */
#include "element.h"

#include <math.h>
#include <string.h>

#include <tbk/dtypes.h>
#include <vdev/words.h>

typedef union bits {
  uint8_t u8;
  int8_t i8;
  int16_t i16;
  uint16_t u16;
  int32_t i32;
  int64_t i64;
  float f32;
  double f64;
} bits_t;

/* Half and bfloat16: bits of the fraction, and the least exponent. */
typedef struct narrow {
  int fraction, least, most;
} narrow_t;

static const narrow_t half = {10, -14, 15}, brain = {7, -126, 127};

static sim_number_t widen(const narrow_t* kind, uint16_t bits) {
  const int width = 15 - kind->fraction;
  const int exponent = bits >> kind->fraction & ((1 << width) - 1);
  const int fraction = bits & ((1 << kind->fraction) - 1);
  sim_number_t value = ldexpl(fraction, kind->least - kind->fraction);
  if (exponent > 0)
    value = ldexpl(fraction + (1 << kind->fraction), kind->least + exponent - 1 - kind->fraction);
  if (exponent == (1 << width) - 1)
    value = fraction != 0 ? (sim_number_t)NAN : (sim_number_t)INFINITY;
  return bits >> 15 ? -value : value;
}

static uint16_t narrow(const narrow_t* kind, sim_number_t value) {
  const uint16_t sign = signbit(value) ? 0x8000 : 0;
  const uint16_t infinite = (uint16_t)(((1 << (15 - kind->fraction)) - 1) << kind->fraction);
  if (isnan(value)) return (uint16_t)(infinite | 1u << (kind->fraction - 1));
  int exponent = value != 0 && isfinite(value) ? ilogbl(value) : kind->least;
  if (exponent < kind->least) exponent = kind->least;
  if (isinf(value) || exponent > kind->most) return sign | infinite;
  /* A fraction that rounds up to the next power carries into the exponent. */
  const long whole = lrintl(ldexpl(fabsl(value), kind->fraction - exponent));
  const long bits = whole + ((long)(exponent - kind->least) << kind->fraction);
  return (uint16_t)(sign | (bits > infinite ? infinite : bits));
}

int64_t sim_element_size(int dtype) {
  if (dtype == TBK_COMPLEX64 || dtype == TBK_COMPLEX128) return 0;
  return tbk_dtype_bytes(dtype);
}

sim_number_t sim_element_read(int dtype, const char* from) {
  bits_t bits = {.i64 = 0};
  vdev_words_copy(&bits, from, (uint64_t)sim_element_size(dtype));
  switch (dtype) {
    case TBK_BOOL:
      return bits.u8 != 0;
    case TBK_UINT8:
      return bits.u8;
    case TBK_INT8:
      return bits.i8;
    case TBK_INT16:
      return bits.i16;
    case TBK_INT32:
      return bits.i32;
    case TBK_INT64:
      return (sim_number_t)bits.i64;
    case TBK_FLOAT16:
      return widen(&half, bits.u16);
    case TBK_BFLOAT16:
      return widen(&brain, bits.u16);
    case TBK_FLOAT32:
      return (sim_number_t)bits.f32;
    default:
      return (sim_number_t)bits.f64;
  }
}

sim_arithmetic_t sim_element_arithmetic(int dtype) {
  if (dtype == TBK_FLOAT64) return SIM_DOUBLE;
  return dtype != TBK_BOOL && tbk_dtype_kind(dtype) == TBK_KIND_INTEGER ? SIM_WHOLE : SIM_WIDE;
}

int64_t sim_wrap(sim_number_t value) {
  if (!isfinite(value)) return INT64_MIN;
  const sim_number_t range = 18446744073709551616.0L, turned = fmodl(truncl(value), range);
  return (int64_t)(uint64_t)(turned < 0 ? turned + range : turned);
}

sim_number_t sim_add(sim_arithmetic_t kind, sim_number_t a, sim_number_t b) {
  if (kind == SIM_DOUBLE) return (sim_number_t)((double)a + (double)b);
  return kind == SIM_WHOLE ? (sim_number_t)sim_wrap(a + b) : a + b;
}

sim_number_t sim_multiply(sim_arithmetic_t kind, sim_number_t a, sim_number_t b) {
  if (kind == SIM_DOUBLE) return (sim_number_t)((double)a * (double)b);
  if (kind == SIM_WIDE) return a * b;
  return (sim_number_t)(int64_t)((uint64_t)sim_wrap(a) * (uint64_t)sim_wrap(b));
}

void sim_element_write(int dtype, sim_number_t value, char* to) {
  bits_t bits = {.i64 = 0};
  if (dtype == TBK_FLOAT16)
    bits.u16 = narrow(&half, value);
  else if (dtype == TBK_BFLOAT16)
    bits.u16 = narrow(&brain, value);
  else if (dtype == TBK_FLOAT32)
    bits.f32 = (float)value;
  else if (dtype == TBK_FLOAT64)
    bits.f64 = (double)value;
  else if (dtype == TBK_BOOL)
    bits.i64 = value != 0;
  else
    bits.i64 = sim_wrap(value);
  vdev_words_copy(to, &bits, (uint64_t)sim_element_size(dtype));
}

sim_number_t sim_element_round(int dtype, sim_number_t value) {
  int64_t stored = 0;
  if (dtype != TBK_FLOAT16 && dtype != TBK_BFLOAT16 && dtype != TBK_FLOAT32) return value;
  sim_element_write(dtype, value, (char*)&stored);
  return sim_element_read(dtype, (const char*)&stored);
}
