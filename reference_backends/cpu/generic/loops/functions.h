/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * functions.h: exp, log and erf of FLOAT32, as arithmetic that a loop has no call for: a call of a vector form
 * takes longer than what it computes, and softmax, sigmoid and GELU are made of these. At most 2 units in
 * the last place from the right ones. Only where there is a fused multiply-add.
 */
#ifndef TBK_CPU_LOOPS_FUNCTIONS_H
#define TBK_CPU_LOOPS_FUNCTIONS_H

#include <math.h>

#include "loops.h"

/* exp(a) = 2^n * exp(r), where r is at most half of log(2): `small` is exp(r), and a negative n wraps around. */
typedef struct exp_parts {
  uint32_t n;
  float small;
} exp_parts_t;

static inline exp_parts_t float32_exp_parts(float a) {
  const float whole = 0x1.8p23f; /* added to a small number, it leaves the nearest integer */
  const float shifted = fmaf(a, 0x1.715476p+0f, whole), n = shifted - whole;
  const float r = fmaf(n, 0x1.05c61p-29f, fmaf(n, -0x1.62e43p-1f, a)); /* log(2) in two parts */
  float p = 0x1.6db48p-10f;
  p = fmaf(p, r, 0x1.123b92p-7f);
  p = fmaf(p, r, 0x1.55545ep-5f);
  p = fmaf(p, r, 0x1.55548ep-3f);
  p = fmaf(p, r, 0.5f);
  return (exp_parts_t){bits_of_float(shifted) - bits_of_float(whole), fmaf(p, r * r, r) + 1.0f};
}

/* Returns whether exp(a) is far from subnormal numbers and from the greatest: of no NaN. */
static inline int float32_exp_is_usual(float a) {
  return fabsf(a) <= 86.0f;
}

/* The same as float32_exp, of what is usual: 2^n is added to the exponent. */
static inline float float32_exp_usual(float a) {
  const exp_parts_t parts = float32_exp_parts(a);
  return float_of_bits(bits_of_float(parts.small) + (parts.n << 23));
}

/* Returns exp(a); what is below the least subnormal is 0. 2^n goes in two factors, so that a subnormal result is
 * rounded once. NaN goes through. */
static inline float float32_exp(float a) {
  const exp_parts_t parts = float32_exp_parts(a);
  const uint32_t power = parts.n + 127 * 2, half = power >> 1;
  const float result =
      parts.small * float_of_bits(half << 23) * float_of_bits((power - half) << 23);
  return a > 89.0f ? INFINITY : a < -104.0f ? 0 : result;
}

/* Returns log(a) = e * log(2) + log(1 + f), where 1 + f lies around 1, between the roots of a half and of two. */
static inline float float32_log(float a) {
  const int small = a < 0x1p-126f;
  const uint32_t root = 0x3f3504f3, above = bits_of_float(small ? a * 0x1p23f : a) - root;
  const float e = (float)((int32_t)above >> 23) - (small ? 23.0f : 0.0f);
  const float f = float_of_bits((above & 0x7fffff) + root) - 1.0f;
  float p = -0x1.383022p-4f;
  p = fmaf(p, f, 0x1.084866p-3f);
  p = fmaf(p, f, -0x1.0f3766p-3f);
  p = fmaf(p, f, 0x1.22719cp-3f);
  p = fmaf(p, f, -0x1.54276ep-3f);
  p = fmaf(p, f, 0x1.99a3f2p-3f);
  p = fmaf(p, f, -0x1.000426p-2f);
  p = fmaf(p, f, 0x1.555550p-2f);
  p = fmaf(p, f, -0x1.fffff8p-2f);
  const float rest = fmaf(p, f * f, e * -0x1.05c61p-29f) + f; /* log(2) in two parts */
  const float result = fmaf(e, 0x1.62e43p-1f, rest), end = a < 0 ? NAN : a == 0 ? -INFINITY : a;
  return a > 0 && a < INFINITY ? result : end;
}

/* Returns erf(a): a + a * P(a^2) up to 1 + 1/16, from there 1 - W(|a|)^4, and 1 from 4 on. The fourth root of
 * what is missing from 1 falls so evenly that few terms follow it. */
static inline float float32_erf(float a) {
  const float size = fabsf(a), t = a * a, most = 4.0f, s = most < size ? most : size;
  float p = 0x1.37f5d2p-14f, w = -0x1.62e078p-13f;
  p = fmaf(p, t, -0x1.9d826ep-11f);
  p = fmaf(p, t, 0x1.532192p-8f);
  p = fmaf(p, t, -0x1.b7dc3p-6f);
  p = fmaf(p, t, 0x1.ce2b54p-4f);
  p = fmaf(p, t, -0x1.812736p-2f);
  p = fmaf(p, t, 0x1.06eba8p-3f);
  w = fmaf(w, s, 0x1.9544e8p-9f);
  w = fmaf(w, s, -0x1.5e6cdep-6f);
  w = fmaf(w, s, 0x1.042d82p-4f);
  w = fmaf(w, s, -0x1.760d7ep-5f);
  w = fmaf(w, s, -0x1.1945bp-4f);
  w = fmaf(w, s, -0x1.3903dp-2f);
  w = fmaf(w, s, 0x1.0135a4p+0f);
  w *= w;
  return size < 1.0625f ? fmaf(a, p, a) : copysignf(fmaf(-w, w, 1.0f), a);
}

#endif /* TBK_CPU_LOOPS_FUNCTIONS_H */
