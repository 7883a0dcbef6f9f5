/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * operands_self.c: numbers of 16 bits by what C says of their formats, and elements by their indices.
 */
#include "operands_self.h"

#include <math.h>
#include <stdio.h>

#include "tensor.h"

static unsigned failures;

static void expect(bool held, const char* text, const number_type_t* type, long number) {
  if (held || ++failures > 20) return;
  printf("operands_self.c: %s: %s, %ld\n", text, type->name, number);
}
#define EXPECT(condition, type, number) expect((condition), #condition, (type), (number))

/* ---------------------------------------------------------------------------------- numbers ---- */

static long double loaded(const number_type_t* type, uint16_t bits) {
  return number_load(type, &bits).real;
}

static uint16_t stored(const number_type_t* type, long double real) {
  uint16_t bits = 0;
  number_store(type, &bits, (number_t){0, real, 0});
  return bits;
}

/* A finite number, and what lies between it and the next, which may be infinite: 2^(most + 1) then. */
static void one_number(const number_type_t* type, uint16_t bits, long double infinite) {
  const uint16_t next = (uint16_t)(bits + 1), even = bits % 2 == 0 ? bits : next;
  const long double low = loaded(type, bits), above = loaded(type, next);
  const long double high = isinf(above) ? infinite : above, middle = (low + high) / 2;
  EXPECT(low < above, type, bits);
  EXPECT(number_rank(type, &bits) < number_rank(type, &next), type, bits);
  EXPECT(stored(type, low) == bits && stored(type, -low) == (bits | 0x8000), type, bits);
  EXPECT(stored(type, middle) == even, type, bits);
  EXPECT(stored(type, nextafterl(middle, 0)) == bits, type, bits);
  EXPECT(stored(type, nextafterl(middle, INFINITY)) == next, type, bits);
  EXPECT(number_rounded(type, middle) == loaded(type, even), type, bits);
}

static void halves(int32_t dtype, int least_exponent, int most_exponent) {
  const number_type_t* type = number_type(dtype);
  const uint16_t infinity = stored(type, INFINITY), zeros[2] = {0, 0x8000}, one = 1;
  for (uint16_t bits = 0; bits < infinity; ++bits)
    one_number(type, bits, ldexpl(1, most_exponent + 1));
  EXPECT(loaded(type, 1) == ldexpl(1, least_exponent), type, 1);
  EXPECT(loaded(type, stored(type, 1)) == 1 && isinf(loaded(type, infinity)), type, infinity);
  EXPECT(isnan(loaded(type, (uint16_t)(infinity + 1))), type, infinity + 1);
  EXPECT(isnan(loaded(type, stored(type, NAN))), type, 0);
  EXPECT(number_rank(type, &zeros[0]) == number_rank(type, &zeros[1]), type, 0);
  EXPECT(number_rank(type, &one) > 0, type, 1);
}

static void integers(void) {
  for (size_t i = 0; i < number_type_count; ++i) {
    const number_type_t* type = &number_types[i];
    EXPECT(number_type(type->dtype) == type, type, type->dtype);
    if (type->digits != 0) continue;
    const uint64_t wide = UINT64_C(0xfedcba98f6548281);
    uint64_t element = 0;
    number_store(type, &element, (number_t){wide, 0, 0});
    EXPECT(number_wrapped(type, wide) == number_load(type, &element).integer, type, 0);
    EXPECT(((int64_t)number_wrapped(type, wide) < 0) == type->is_signed, type, 1);
  }
}

/* --------------------------------------------------------------------------------- elements ---- */

static void walk(const tensor_t* tensor) {
  int64_t seen = 0;
  for (tensor_walk_t w = tensor_first(tensor); w.index < tensor->count; tensor_step(&w), ++seen)
    EXPECT(w.index == seen && tensor_walk_at(&w) == tensor_at(tensor, seen), tensor->type,
           (long)seen);
  EXPECT(seen == tensor->count, tensor->type, (long)seen);
}

static void walks(void) {
  static uint8_t model[4096];
  static const tensor_t tensors[] = {
      {.rank = 0, .count = 1, .offset = 7},
      {.rank = 3, .count = 24, .sizes = {2, 3, 4}, .strides = {12, 4, 1}},
      {.rank = 3, .count = 24, .sizes = {2, 3, 4}, .strides = {1, 2, 6}, .offset = 5},
      {.rank = 3, .count = 24, .sizes = {2, 3, 4}, .strides = {-40, 0, -3}, .offset = 90},
      {.rank = 4, .count = 3, .sizes = {1, 3, 1, 1}, .strides = {9, 2, 9, 9}},
      {.rank = 2, .count = 0, .sizes = {0, 3}, .strides = {3, 1}},
      {.rank = 2, .count = 0, .sizes = {3, 0}, .strides = {1, 1}},
  };
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; ++i) {
    tensor_t tensor = tensors[i];
    tensor.type = number_type(TBK_INT32);
    tensor.model = model;
    walk(&tensor);
  }
}

unsigned operands_self(void) {
  halves(TBK_FLOAT16, -24, 15);
  halves(TBK_BFLOAT16, -133, 127);
  integers();
  walks();
  return failures;
}
