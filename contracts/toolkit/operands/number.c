/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const number_type_t number_types[] = {
    {TBK_UINT8, "uint8", 1, 0, true, false, false},
    {TBK_INT8, "int8", 1, 0, true, true, false},
    {TBK_INT16, "int16", 2, 0, true, true, false},
    {TBK_INT32, "int32", 4, 0, true, true, false},
    {TBK_INT64, "int64", 8, 0, true, true, false},
    {TBK_FLOAT16, "float16", 2, 11, false, true, false},
    {TBK_FLOAT32, "float32", 4, 24, false, true, false},
    {TBK_FLOAT64, "float64", 8, 53, false, true, false},
    {TBK_COMPLEX64, "complex64", 8, 24, false, true, true},
    {TBK_COMPLEX128, "complex128", 16, 53, false, true, true},
    {TBK_BOOL, "bool", 1, 0, false, false, false},
    {TBK_BFLOAT16, "bfloat16", 2, 8, false, true, false},
};
const size_t number_type_count = sizeof number_types / sizeof *number_types;

enum { DTYPES = TBK_BFLOAT16 + 1 };

/* By number, of which a few stand for none. */
static const uint8_t place_behind[DTYPES] = {
    [TBK_UINT8] = 1,     [TBK_INT8] = 2,        [TBK_INT16] = 3,   [TBK_INT32] = 4,
    [TBK_INT64] = 5,     [TBK_FLOAT16] = 6,     [TBK_FLOAT32] = 7, [TBK_FLOAT64] = 8,
    [TBK_COMPLEX64] = 9, [TBK_COMPLEX128] = 10, [TBK_BOOL] = 11,   [TBK_BFLOAT16] = 12,
};

const number_type_t* number_type(int32_t dtype) {
  const int place = dtype >= 0 && dtype < DTYPES ? place_behind[dtype] : 0;
  return place > 0 ? &number_types[place - 1] : NULL;
}

/* ------------------------------------------------------------------------ 16-bit formats ------ */

static int fraction_bits(const number_type_t* type) {
  return type->digits - 1;
}

/* 2 to the power of what a double has as a normal number. */
static long double power_of_two(int exponent) {
  const uint64_t bits = (uint64_t)(exponent + DBL_MAX_EXP - 1) << (DBL_MANT_DIG - 1);
  double power;
  memcpy(&power, &bits, sizeof power);
  return power;
}

/* The nearest whole number, ties to even: where a unit is the last place of the sum, it rounds so. */
static long double nearest_whole(long double small) {
  const long double large = 1 / LDBL_EPSILON;
  return small + large - large;
}

static long double load_half(const number_type_t* type, uint16_t bits) {
  int fraction = fraction_bits(type);
  int exponent_bits = 15 - fraction;
  int bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = bits >> fraction & ((1 << exponent_bits) - 1);
  long double significand = bits & ((1 << fraction) - 1);
  long double value;
  if (exponent == (1 << exponent_bits) - 1)
    value = significand != 0 ? (long double)NAN : (long double)INFINITY;
  else if (exponent == 0)
    value = significand * power_of_two(1 - bias - fraction);
  else
    value = (significand + (long double)(1 << fraction)) * power_of_two(exponent - bias - fraction);
  return bits >> 15 ? -value : value;
}

static uint16_t store_half(const number_type_t* type, long double value) {
  int fraction = fraction_bits(type);
  int bias = (1 << (14 - fraction)) - 1;
  uint32_t sign = signbit(value) ? 0x8000u : 0;
  uint32_t infinity = (uint32_t)(2 * bias + 1) << fraction;
  if (isnan(value)) return (uint16_t)(sign | infinity | 1u << (fraction - 1));
  if (isinf(value)) return (uint16_t)(sign | infinity);
  if (value == 0) return (uint16_t)sign;
  int exponent;
  frexpl(value, &exponent);
  exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
  if (exponent > bias) return (uint16_t)(sign | infinity);
  uint32_t rounded = (uint32_t)nearest_whole(fabsl(value) * power_of_two(fraction - exponent));
  uint32_t bits = rounded + ((uint32_t)(exponent + bias - 1) << fraction);
  return (uint16_t)(sign | (bits < infinity ? bits : infinity));
}

/* ---------------------------------------------------------------------------- load and store -- */

static uint64_t extended(const number_type_t* type, uint64_t bits) {
  const int unused = 64 - 8 * (int)type->size;
  return type->is_signed ? (uint64_t)((int64_t)(bits << unused) >> unused)
                         : bits << unused >> unused;
}

static uint64_t load_integer(const number_type_t* type, const void* element) {
  uint64_t bits = 0;
  memcpy(&bits, element, type->size); /* hosts of this suite are little-endian */
  return extended(type, bits);
}

static long double load_real(const number_type_t* type, const uint8_t* part) {
  float single;
  double wide;
  uint16_t half;
  if (type->size == 2) return memcpy(&half, part, sizeof half), load_half(type, half);
  if (type->digits == 24) return memcpy(&single, part, sizeof single), (long double)single;
  return memcpy(&wide, part, sizeof wide), (long double)wide;
}

static void store_real(const number_type_t* type, uint8_t* part, long double value) {
  float single = (float)value;
  double wide = (double)value;
  if (type->size == 2) {
    uint16_t half = store_half(type, value);
    memcpy(part, &half, sizeof half);
  } else if (type->digits == 24) {
    memcpy(part, &single, sizeof single);
  } else {
    memcpy(part, &wide, sizeof wide);
  }
}

number_t number_load(const number_type_t* type, const void* element) {
  number_t value = {0, 0, 0};
  if (type->digits == 0) {
    value.integer = load_integer(type, element);
    return value;
  }
  value.real = load_real(type, element);
  if (type->is_complex) value.imaginary = load_real(type, (const uint8_t*)element + type->size / 2);
  return value;
}

void number_store(const number_type_t* type, void* element, number_t value) {
  if (type->dtype == TBK_BOOL) value.integer = value.integer != 0;
  if (type->digits == 0) {
    memcpy(element, &value.integer, type->size);
    return;
  }
  store_real(type, element, value.real);
  if (type->is_complex) store_real(type, (uint8_t*)element + type->size / 2, value.imaginary);
}

uint64_t number_wrapped(const number_type_t* type, uint64_t integer) {
  return type->dtype == TBK_BOOL ? integer != 0 : extended(type, integer);
}

long double number_rounded(const number_type_t* type, long double real) {
  if (type->size == 2) return load_half(type, store_half(type, real));
  return type->digits == 24 ? (long double)(float)real : (long double)(double)real;
}

/* --------------------------------------------------------------------------------- comparison - */

/* Returns where a real number stands in the order of all that are representable: their bits are sign and size. */
static int64_t rank_of(const uint8_t* part, size_t size) {
  uint64_t bits = 0;
  memcpy(&bits, part, size);
  const uint64_t sign = UINT64_C(1) << (8 * size - 1);
  return (bits & sign) != 0 ? -(int64_t)(bits & (sign - 1)) : (int64_t)bits;
}

long double number_least_normal(int32_t dtype) {
  return dtype == TBK_FLOAT64 ? 0x1p-1022L : dtype == TBK_FLOAT16 ? 0x1p-14L : 0x1p-126L;
}

/* Little-endian, as the host is: the sign is in the last byte of a part. */
void number_store_nan(const number_type_t* type, void* element, int which) {
  const size_t part = type->is_complex ? type->size / 2 : type->size;
  const int fraction = type->digits - 1;
  const uint64_t quiet = UINT64_C(1) << (fraction - 1), all = 2 * quiet - 1;
  const uint64_t fractions[NUMBER_NANS / 2] = {all, 1, quiet - 1, quiet};
  const uint64_t sign = UINT64_C(1) << (8 * part - 1), exponent = sign - 1 - all;
  const uint64_t bits = exponent | fractions[which / 2] | (which % 2 != 0 ? sign : 0);
  for (size_t at = 0; at < type->size; at += part)
    memcpy((uint8_t*)element + at, &bits, part);
}

int64_t number_rank(const number_type_t* type, const void* element) {
  if (type->digits == 0) return (int64_t)load_integer(type, element);
  return isnan(load_real(type, element)) ? INT64_MAX : rank_of(element, type->size);
}

static bool same_real(const number_type_t* type, const uint8_t* a, const uint8_t* b, int64_t ulps) {
  size_t size = type->is_complex ? type->size / 2 : type->size;
  long double left = load_real(type, a);
  long double right = load_real(type, b);
  if (isnan(left) || isnan(right)) return isnan(left) && isnan(right);
  if (memcmp(a, b, size) == 0) return true;
  if (ulps == 0 || isinf(left) || isinf(right)) return false;
  int64_t distance = rank_of(a, size) - rank_of(b, size);
  return distance <= ulps && distance >= -ulps;
}

bool number_same(const number_type_t* type, const void* a, const void* b, int64_t ulps) {
  if (type->digits == 0) return memcmp(a, b, type->size) == 0;
  if (!same_real(type, a, b, ulps)) return false;
  size_t half = type->size / 2;
  return !type->is_complex ||
         same_real(type, (const uint8_t*)a + half, (const uint8_t*)b + half, ulps);
}

void number_print(const number_type_t* type, const void* element, char* out, size_t out_size) {
  number_t value = number_load(type, element);
  if (type->digits == 0)
    snprintf(out, out_size, "%lld", (long long)value.integer);
  else if (type->is_complex)
    snprintf(out, out_size, "%.17Lg%+.17Lgj", value.real, value.imaginary);
  else
    snprintf(out, out_size, "%.17Lg", value.real);
}
