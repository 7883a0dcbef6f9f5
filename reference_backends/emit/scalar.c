/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * scalar.c: numbers of the host as elements of a dtype, or as what that dtype is computed in.
 */
#include <math.h>
#include <string.h>

#include "inside.h"

/* The multiples of 2^(exponent - digits + 1) that are nearest, ties to even: what a format of so many
 * digits, with so low an exponent, has. Its bits are the caller's affair. */
static double rounded(double value, int digits, int least_exponent) {
  int exponent;
  if (value == 0 || !isfinite(value)) return value;
  frexp(value, &exponent); /* value = m * 2^exponent, 0.5 <= m < 1 */
  if (exponent - 1 < least_exponent) exponent = least_exponent + 1;
  return ldexp(nearbyint(ldexp(value, digits - exponent)), exponent - digits);
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint16_t half_bits(double value) {
  const uint32_t bits = bits_of((float)rounded(value, 11, -14));
  const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (size >= 0x47800000) return (uint16_t)(sign | 0x7c00); /* from 65536 on */
  if (size >= 0x38800000) return (uint16_t)(sign | ((size >> 13) - (112 << 10)));
  return (uint16_t)(sign | (uint32_t)ldexp(fabs(rounded(value, 11, -14)), 24));
}

static uint16_t bfloat_bits(double value) {
  const uint32_t bits = bits_of((float)rounded(value, 8, -126));
  if (isnan(value)) return (uint16_t)((bits >> 16 & 0x8000) | 0x7fc0);
  return (uint16_t)(bits >> 16);
}

static void store_real(int32_t dtype, double value, unsigned char* out) {
  const float narrow = (float)value;
  uint16_t bits;
  switch (dtype) {
    case TBK_FLOAT64:
      memcpy(out, &value, sizeof value);
      return;
    case TBK_FLOAT32:
      memcpy(out, &narrow, sizeof narrow);
      return;
    default:
      bits = dtype == TBK_FLOAT16 ? half_bits(value) : bfloat_bits(value);
      memcpy(out, &bits, sizeof bits);
  }
}

static tbk_kind_t kind_of(const tbk_scalar_t* scalar) {
  if (scalar->kind == TBK_SCALAR_DOUBLE) return TBK_KIND_REAL;
  return scalar->kind == TBK_SCALAR_COMPLEX ? TBK_KIND_COMPLEX : TBK_KIND_INTEGER;
}

static double real_of(const tbk_scalar_t* scalar) {
  return kind_of(scalar) == TBK_KIND_INTEGER ? (double)scalar->integer : scalar->real;
}

/* What does not fit has no value in C; here the least, as PyTorch's CPU has it on x86. */
static int64_t integer_of(const tbk_scalar_t* scalar, int32_t dtype) {
  if (dtype == TBK_BOOL)
    return kind_of(scalar) == TBK_KIND_INTEGER ? scalar->integer != 0
                                               : scalar->real != 0 || isnan(scalar->real);
  if (kind_of(scalar) == TBK_KIND_INTEGER) return scalar->integer;
  const bool narrow = dtype == TBK_INT8 || dtype == TBK_INT16 || dtype == TBK_INT32;
  const double limit = narrow ? 0x1p31 : 0x1p63;
  if (scalar->real >= -limit && scalar->real < limit) return (int64_t)scalar->real;
  return narrow ? INT32_MIN : INT64_MIN;
}

bool emit_scalar_element(const tbk_scalar_t* scalar, int32_t dtype, unsigned char* out_element) {
  const int32_t part = dtype == TBK_COMPLEX64 ? TBK_FLOAT32 : TBK_FLOAT64;
  const tbk_kind_t kind = tbk_dtype_kind(dtype);
  if (kind_of(scalar) == TBK_KIND_COMPLEX && kind != TBK_KIND_COMPLEX) return false;
  if (kind == TBK_KIND_REAL) {
    store_real(dtype, real_of(scalar), out_element);
  } else if (kind == TBK_KIND_COMPLEX) {
    const double imaginary = kind_of(scalar) == TBK_KIND_COMPLEX ? scalar->imaginary : 0;
    store_real(part, real_of(scalar), out_element);
    store_real(part, imaginary, out_element + tbk_dtype_bytes(part));
  } else {
    const int64_t value = integer_of(scalar, dtype);
    memcpy(out_element, &value, (size_t)tbk_dtype_bytes(dtype)); /* little-endian */
  }
  return true;
}

size_t emit_scalar_computed(const tbk_scalar_t* scalar, int32_t dtype, unsigned char* out_value) {
  const tbk_kind_t kind = tbk_dtype_kind(dtype);
  if (kind_of(scalar) > kind) return 0; /* PyTorch has no fraction of an integer */
  int32_t computed = dtype;
  if (kind == TBK_KIND_REAL && dtype != TBK_FLOAT64) computed = TBK_FLOAT32;
  if (kind != TBK_KIND_INTEGER) {
    emit_scalar_element(scalar, computed, out_value);
    return (size_t)tbk_dtype_bytes(computed);
  }
  const int64_t value = dtype == TBK_BOOL ? scalar->integer != 0 : scalar->integer;
  memcpy(out_value, &value, sizeof value);
  return sizeof value;
}
