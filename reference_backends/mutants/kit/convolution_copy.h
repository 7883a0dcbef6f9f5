/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_copy.h: the arguments of tbk::convolution, copied to be changed by a mutant.
 */
#ifndef TBK_MUTANTS_CONVOLUTION_COPY_H
#define TBK_MUTANTS_CONVOLUTION_COPY_H

#include <tbk/tbk_convolution.h>

#include "calls.h"

enum { RANK = 2 + TBK_CONVOLUTION_MOST_SPATIAL, SPATIAL = TBK_CONVOLUTION_MOST_SPATIAL };
/* By mode: operand `mode` is written. */
enum {
  OUT = TBK_CONVOLUTION_OUTPUT,
  IN = TBK_CONVOLUTION_INPUT,
  BY = TBK_CONVOLUTION_WEIGHT,
  BIAS
};

/* A tensor with sizes and strides of its own. */
typedef struct convolution_view {
  tbk_tensor_t tensor;
  int64_t sizes[RANK], strides[RANK];
} convolution_view_t;

/* The arguments once more, to be changed. */
typedef struct convolution_copy {
  tbk_args_convolution_t arguments;
  convolution_view_t views[4];
  int64_t stride[SPATIAL], padding[SPATIAL], dilation[SPATIAL];
  int64_t mode;
  int32_t dtype, last; /* last: the dimension that counts fastest */
} convolution_copy_t;

void convolution_copy_view(convolution_view_t* to, const tbk_tensor_t* old);
/* Stride, padding and dilation. */
void convolution_copy_numbers(convolution_copy_t* to, const tbk_args_convolution_t* a);
/* Returns a copy that is the thread's; NULL where they are malformed, which is left to the reference. */
convolution_copy_t* convolution_copy_of(const void* arguments);

/* Runs the reference on a copy `c`, once this is done to it. */
#define CONVOLUTION_CHANGED(change)                         \
  do {                                                      \
    convolution_copy_t* c = convolution_copy_of(arguments); \
    if (c == NULL) return LAUNCH_INNER;                     \
    change;                                                 \
    arguments = &c->arguments;                              \
    return LAUNCH_INNER;                                    \
  } while (0)

#endif /* TBK_MUTANTS_CONVOLUTION_COPY_H */
