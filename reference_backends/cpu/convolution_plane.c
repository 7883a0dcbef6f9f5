/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_plane.c: the products of one tap, of channels that few filters read (depthwise convolution), where a
 * product of matrices would copy the input once for each tap.
 */
#include "convolution.h"

enum {
  PARTS = 8
}; /* sums that are kept apart, as many as vectors of two sets of instructions hold */

typedef struct tap {
  int64_t mode, step;
  void *plane, *panel, *weight;
} tap_t;

/* In a step of 1 the compiler makes vectors of it. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a declaration takes no parentheses. */
#define DEFINE(T)                                                                              \
  static void add_to_panel_##T(T* to, const T* plane, int64_t step, int64_t count, T weight) { \
    if (step == 1)                                                                             \
      for (int64_t i = 0; i < count; i++)                                                      \
        to[i] += weight * plane[i];                                                            \
    else                                                                                       \
      for (int64_t i = 0; i < count; i++)                                                      \
        to[i] += weight * plane[i * step];                                                     \
  }                                                                                            \
  static void add_to_plane_##T(T* to, const T* panel, int64_t step, int64_t count, T weight) { \
    if (step == 1)                                                                             \
      for (int64_t i = 0; i < count; i++)                                                      \
        to[i] += weight * panel[i];                                                            \
    else                                                                                       \
      for (int64_t i = 0; i < count; i++)                                                      \
        to[i * step] += weight * panel[i];                                                     \
  }                                                                                            \
  static T sum_##T(const T* panel, const T* plane, int64_t step, int64_t count) {              \
    T parts[PARTS] = {0}, sum = 0;                                                             \
    int64_t i = 0;                                                                             \
    for (; step == 1 && i + PARTS <= count; i += PARTS)                                        \
      for (int64_t k = 0; k < PARTS; k++)                                                      \
        parts[k] += panel[i + k] * plane[i + k];                                               \
    for (; step != 1 && i + PARTS <= count; i += PARTS)                                        \
      for (int64_t k = 0; k < PARTS; k++)                                                      \
        parts[k] += panel[i + k] * plane[(i + k) * step];                                      \
    for (; i < count; i++)                                                                     \
      sum += panel[i] * plane[i * step];                                                       \
    for (int64_t k = 0; k < PARTS; k++)                                                        \
      sum += parts[k];                                                                         \
    return sum;                                                                                \
  }                                                                                            \
  static void add_span_##T(void* context, int64_t at, int64_t from, int64_t count) {           \
    const tap_t* tap = context;                                                                \
    T *plane = (T*)tap->plane + at, *panel = (T*)tap->panel + from, *weight = tap->weight;     \
    if (tap->mode == TBK_CONVOLUTION_OUTPUT)                                                   \
      add_to_panel_##T(panel, plane, tap->step, count, *weight);                               \
    else if (tap->mode == TBK_CONVOLUTION_INPUT)                                               \
      add_to_plane_##T(plane, panel, tap->step, count, *weight);                               \
    else                                                                                       \
      *weight += sum_##T(panel, plane, tap->step, count);                                      \
  }
/* NOLINTEND(bugprone-macro-parentheses) */
DEFINE(float)
DEFINE(double)

void cpu_plane_add(const cpu_convolution_t* one, int32_t dtype, const cpu_box_t* box,
                   const int64_t* tap, void* plane, void* panel, void* weight) {
  tap_t context = {one->mode, one->stride[2], plane, panel, weight};
  cpu_spans_walk(one, box, tap, dtype == TBK_FLOAT64 ? add_span_double : add_span_float, &context);
}
