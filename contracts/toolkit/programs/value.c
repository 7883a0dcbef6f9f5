/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool value_is_real(uint16_t dtype) {
  return number_type(dtype)->digits != 0;
}

value_t value_open(uint16_t dtype) {
  return (value_t){.dtype = dtype, .open = true};
}

value_t value_of_integer(uint16_t dtype, uint64_t bits) {
  return (value_t){.dtype = dtype, .bits = number_wrapped(number_type(dtype), bits)};
}

value_t value_of_real(uint16_t dtype, long double real) {
  const long double rounded = number_rounded(number_type(dtype), real);
  return (value_t){.dtype = dtype, .low = rounded, .middle = rounded, .high = rounded};
}

value_t value_load(uint16_t dtype, const void* element) {
  number_t number = number_load(number_type(dtype), element);
  if (dtype == TBK_BOOL) return value_of_integer(dtype, number.integer != 0);
  if (!value_is_real(dtype)) return value_of_integer(dtype, number.integer);
  value_t value = value_of_real(dtype, number.real);
  const uint8_t highest = ((const uint8_t*)element)[number_type(dtype)->size - 1];
  if (isnan(number.real)) value.nan_sign = highest >= 0x80 ? -1 : 1;
  return value;
}

value_t value_of_bits(uint16_t dtype, uint64_t bits) {
  return value_load(dtype, &bits); /* hosts of this suite are little-endian */
}

uint64_t value_bits(const value_t* value) {
  uint64_t bits = 0;
  number_store(number_type(value->dtype), &bits, (number_t){value->bits, value->middle, 0});
  return bits;
}

bool value_is_exact(const value_t* v) {
  if (v->open) return false;
  if (!value_is_real(v->dtype) || isnan(v->middle)) return true;
  return v->low == v->high && (v->low != 0 || signbit(v->low) == signbit(v->high));
}

/* -0 lies below 0. */
static bool not_above(long double a, long double b) {
  return a < b || (a == b && (a != 0 || signbit(a) || !signbit(b)));
}

value_t value_hull(const value_t* a, const value_t* b) {
  value_t hull = *a;
  if (a->open || b->open) return value_open(a->dtype);
  if (!value_is_real(a->dtype)) return a->bits == b->bits ? *a : value_open(a->dtype);
  if (isnan(a->middle) != isnan(b->middle)) return value_open(a->dtype);
  if (a->nan_sign != b->nan_sign) hull.nan_sign = 0;
  if (isnan(a->middle)) return hull;
  if (not_above(b->low, hull.low)) hull.low = b->low;
  if (not_above(hull.high, b->high)) hull.high = b->high;
  return hull;
}

bool value_allows(const value_t* v, const void* element) {
  number_t seen = number_load(number_type(v->dtype), element);
  if (v->open) return true;
  if (!value_is_real(v->dtype)) return seen.integer == v->bits;
  if (isnan(seen.real) || isnan(v->middle)) return isnan(seen.real) && isnan(v->middle);
  return not_above(v->low, seen.real) && not_above(seen.real, v->high);
}

void value_print(const value_t* v, char* out, size_t out_size) {
  if (v->open)
    snprintf(out, out_size, "anything");
  else if (!value_is_real(v->dtype))
    snprintf(out, out_size, "%lld", (long long)v->bits);
  else if (value_is_exact(v))
    snprintf(out, out_size, "%.17Lg", v->middle);
  else
    snprintf(out, out_size, "%.17Lg (%.17Lg to %.17Lg)", v->middle, v->low, v->high);
}
