/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * functions.h: exp and erf of FLOAT32, as arithmetic that a loop has no call for: a call of a vector form takes
 * longer than what it computes, and softmax, sigmoid and GELU are made of these two. At most 2 units in
 * the last place from the right ones. Only where there is a fused multiply-add.
 */
#ifndef TBK_CPU_LOOPS_FUNCTIONS_H
#define TBK_CPU_LOOPS_FUNCTIONS_H

#include <math.h>

#include "loops.h"

/* Returns exp(a) = 2^n * exp(r), where r is at most half of log(2); what is below the least subnormal is 0.
 * 2^n goes in two factors, so that a subnormal result is rounded once. NaN goes through. */
static inline float float32_exp(float a) {
  const float least = -104.0f, most = 89.0f;
  const float above = least > a ? least : a, x = most < above ? most : above;
  const float whole = 0x1.8p23f; /* added to a small number, it leaves the nearest integer */
  const float shifted = fmaf(x, 0x1.715476p+0f, whole), n = shifted - whole;
  const float r = fmaf(n, 0x1.05c61p-29f, fmaf(n, -0x1.62e43p-1f, x)); /* log(2) in two parts */
  float p = 0x1.6db48p-10f;
  p = fmaf(p, r, 0x1.123b92p-7f);
  p = fmaf(p, r, 0x1.55545ep-5f);
  p = fmaf(p, r, 0x1.55548ep-3f);
  p = fmaf(p, r, 0.5f);
  const float small = fmaf(p, r * r, r) + 1.0f;
  const uint32_t power = bits_of_float(shifted) + (127 * 2 - bits_of_float(whole)),
                 half = power >> 1;
  return small * float_of_bits(half << 23) * float_of_bits((power - half) << 23);
}

/* Returns erf(a): a + a * P(a^2) below 1, from there a polynomial of what |a| is above 2.5, and 1 from 4 on. */
static inline float float32_erf(float a) {
  const float size = fabsf(a), t = a * a, most = 4.0f, u = (most < size ? most : size) - 2.5f;
  float p = 0x1.496a3p-14f, q = -0x1.206d04p-17f;
  p = fmaf(p, t, -0x1.a3f7p-11f);
  p = fmaf(p, t, 0x1.5405b2p-8f);
  p = fmaf(p, t, -0x1.b7f90ep-6f);
  p = fmaf(p, t, 0x1.ce2cf8p-4f);
  p = fmaf(p, t, -0x1.81273ep-2f);
  p = fmaf(p, t, 0x1.06eba8p-3f);
  q = fmaf(q, u, 0x1.655766p-16f);
  q = fmaf(q, u, 0x1.ec868cp-15f);
  q = fmaf(q, u, -0x1.25de14p-12f);
  q = fmaf(q, u, 0x1.33da5ep-12f);
  q = fmaf(q, u, 0x1.2c5f4ep-11f);
  q = fmaf(q, u, -0x1.72545p-9f);
  q = fmaf(q, u, 0x1.8fd8eap-8f);
  q = fmaf(q, u, -0x1.1a330cp-7f);
  q = fmaf(q, u, 0x1.11bdap-7f);
  q = fmaf(q, u, -0x1.64fca2p-8f);
  q = fmaf(q, u, 0x1.1d7a42p-9f);
  q = fmaf(q, u, 0x1.ffcaaap-1f);
  return size < 1.0f ? fmaf(a, p, a) : copysignf(q, a);
}

#endif /* TBK_CPU_LOOPS_FUNCTIONS_H */
