/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cast.c: each dtype into each. Whatever is narrower than a float is rounded once: what comes from
 * more digits than a float has is rounded to odd before. No branches, so that the loops are vectors.
 */
#include <math.h>
#include <string.h>

#include "loops.h"

/* A half has 5 bits of exponent with a bias of 15, a float 8 with 127. */
static inline float of_half(uint16_t half) {
  const uint32_t size = half & 0x7fffu, exponent = size >> 10;
  const uint32_t wide = (size << 13) + (112u << 23) + (exponent == 31 ? 112u << 23 : 0);
  const uint32_t small = bits_of_float((float)(int32_t)size * 0x1p-24f);
  return float_of_bits((exponent ? wide : small) | (half & 0x8000u) << 16);
}

static inline float of_bfloat(uint16_t bfloat) {
  return float_of_bits((uint32_t)bfloat << 16);
}

static inline uint16_t half_of(float value) {
  const uint32_t bits = bits_of_float(value), size = bits & 0x7fffffffu,
                 sign = bits >> 16 & 0x8000u;
  /* One half has as many digits behind the point as the least half. */
  const uint32_t small = bits_of_float(float_of_bits(size) + 0.5f) - bits_of_float(0.5f);
  const uint32_t wide = ((size + 0xfffu + (size >> 13 & 1)) >> 13) - (112u << 10);
  uint32_t half = size < 0x38800000u ? small : wide; /* 2 to the power -14 */
  half = size >= 0x477ff000u ? 0x7c00u : half;       /* 65520 */
  half = size > 0x7f800000u ? 0x7e00u : half;
  return (uint16_t)(half | sign);
}

static inline uint16_t bfloat_of(float value) {
  const uint32_t bits = bits_of_float(value);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  return (uint16_t)(value != value ? (bits >> 16 & 0x8000u) | 0x7fc0u : rounded);
}

static inline float odd_of_double(double value) {
  const float rounded = (float)value;
  const uint32_t bits = bits_of_float(rounded);
  const uint32_t odd = (bits - (fabs((double)rounded) > fabs(value) ? 1u : 0u)) | 1u;
  const int exact = (double)rounded == value || value != value;
  return float_of_bits(exact ? bits : odd);
}

/* Of a large integer's lowest bits only whether there are any can matter to a narrow number. */
static inline float odd_of_integer(int64_t value) {
  const int64_t low = value & 0xfff, folded = (value & ~(int64_t)0xfff) | (low ? 0x800 : 0);
  const int large = value > ((int64_t)1 << 53) || value < -((int64_t)1 << 53);
  return odd_of_double((double)(large ? folded : value));
}

static inline int32_t whole32(double value) {
  return value > -0x1p31 - 1 && value < 0x1p31 ? (int32_t)value : INT32_MIN;
}

static inline int32_t whole32f(float value) {
  return value >= -0x1p31f && value < 0x1p31f ? (int32_t)value : INT32_MIN;
}

static inline int64_t whole64(double value) {
  return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}

static inline int64_t whole64f(float value) {
  return value >= -0x1p63f && value < 0x1p63f ? (int64_t)value : INT64_MIN;
}

/* TARGETS(X, source, S, load, to32, to64, narrow): X(name, S, T, expression) of one source. `v` is
 * what was loaded; `narrow` makes the float of it that a narrow number is rounded from. */
#define AS_IS(v) (v)
#define TARGETS(X, source, S, load, to32, to64, narrow)        \
  X(source, UINT8, S, uint8_t, (uint8_t)to32(load(a)))         \
  X(source, INT8, S, int8_t, (int8_t)to32(load(a)))            \
  X(source, INT16, S, int16_t, (int16_t)to32(load(a)))         \
  X(source, INT32, S, int32_t, (int32_t)to32(load(a)))         \
  X(source, INT64, S, int64_t, to64(load(a)))                  \
  X(source, FLOAT16, S, uint16_t, half_of(narrow(load(a))))    \
  X(source, BFLOAT16, S, uint16_t, bfloat_of(narrow(load(a)))) \
  X(source, FLOAT32, S, float, (float)load(a))                 \
  X(source, FLOAT64, S, double, (double)load(a))               \
  X(source, BOOL, S, uint8_t, load(a) != 0)
#define TO_FLOAT(v) ((float)(v))
#define SOURCES(Y, X)                                            \
  Y(X, UINT8, uint8_t, AS_IS, AS_IS, AS_IS, TO_FLOAT)            \
  Y(X, INT8, int8_t, AS_IS, AS_IS, AS_IS, TO_FLOAT)              \
  Y(X, INT16, int16_t, AS_IS, AS_IS, AS_IS, TO_FLOAT)            \
  Y(X, INT32, int32_t, AS_IS, AS_IS, AS_IS, odd_of_double)       \
  Y(X, INT64, int64_t, AS_IS, AS_IS, AS_IS, odd_of_integer)      \
  Y(X, FLOAT16, uint16_t, of_half, whole32f, whole64f, AS_IS)    \
  Y(X, BFLOAT16, uint16_t, of_bfloat, whole32f, whole64f, AS_IS) \
  Y(X, FLOAT32, float, AS_IS, whole32f, whole64f, AS_IS)         \
  Y(X, FLOAT64, double, AS_IS, whole32, whole64, odd_of_double)  \
  Y(X, BOOL, uint8_t, cpu_truth, AS_IS, AS_IS, TO_FLOAT)

#define DEFINE(source, target, S, T, expression) LOOP1(source##_to_##target, S, T, expression)
SOURCES(TARGETS, DEFINE)

#define ROW(source, target, S, T, expression) [TBK_##source][TBK_##target] = source##_to_##target,
enum { DTYPES = TBK_BFLOAT16 + 1 };
static const cpu_loop_t casts[DTYPES][DTYPES] = {SOURCES(TARGETS, ROW)};

cpu_loop_t CPU_LOOPS(cast)(uint16_t from, uint16_t to) {
  return from < DTYPES && to < DTYPES ? casts[from][to] : NULL;
}
