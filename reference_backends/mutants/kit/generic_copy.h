/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * generic_copy.h: the arguments of any generic kernel, copied to be changed by a mutant.
 */
#ifndef TBK_MUTANTS_GENERIC_COPY_H
#define TBK_MUTANTS_GENERIC_COPY_H

#include <tbk/program.h>
#include <tbk/tbk_convolution.h>
#include <tbk/tbk_index.h>
#include <tbk/tbk_matmul.h>
#include <tbk/tbk_scan.h>
#include <tbk/tbk_sort.h>

#include "calls.h"

enum { GENERIC_RANK = TBK_PROGRAM_MOST_RANK, GENERIC_SETS = 64, GENERIC_VIEWS = 256 };

/* A tensor with sizes and strides of its own. */
typedef struct generic_view {
  tbk_tensor_t tensor;
  int64_t sizes[GENERIC_RANK], strides[GENERIC_RANK];
} generic_view_t;

/* Where the views of kernels without sets stand. An optional one that is not given has rank -1. */
enum {
  INDEX_TABLE = 0,
  INDEX_VALUES,
  INDEX_REPORT,
  INDEX_FIRST,
  SORT_INPUT = 0,
  SORT_VALUES,
  SORT_INDICES,
  MATMUL_A = 0,
  MATMUL_B,
  MATMUL_C,
  MATMUL_OUT,
  CONVOLUTION_OUT = 0, /* by mode */
  CONVOLUTION_IN,
  CONVOLUTION_BY,
  CONVOLUTION_BIAS
};

/* Points into itself: not to be moved. */
typedef struct generic_copy {
  union {
    tbk_args_pointwise_t pointwise;
    tbk_args_reduce_t reduce;
    tbk_args_scan_t scan;
    tbk_args_index_t index;
    tbk_args_sort_t sort;
    tbk_args_matmul_t matmul;
    tbk_args_convolution_t convolution;
  } as;
  generic_view_t views[GENERIC_VIEWS];
  const tbk_tensor_t* list[GENERIC_VIEWS]; /* to each of the views */
  tbk_operand_set_t sets[GENERIC_SETS];
  const tbk_operand_set_t* set_list[GENERIC_SETS];
  uint64_t numbers[GENERIC_SETS][TBK_PROGRAM_MOST_NUMBERS];
  int64_t inner_sizes[GENERIC_SETS][GENERIC_RANK];
  size_t set_count, outputs, inputs, number_count; /* of each set: its outputs come first */
  tbk_reduction_t reduction;                       /* that of reduce and scan */
  int64_t places[GENERIC_RANK];                    /* of index */
  int64_t stride[TBK_CONVOLUTION_MOST_SPATIAL], padding[TBK_CONVOLUTION_MOST_SPATIAL],
      dilation[TBK_CONVOLUTION_MOST_SPATIAL];
} generic_copy_t;

/* Returns a copy that is the thread's; NULL where they are malformed or more than it has room for, which is left
 * to the reference. */
generic_copy_t* generic_copy_of(const char* name, const void* arguments);

/* Operand `k` of set `s`: outputs first, then inputs. */
static inline generic_view_t* generic_operand(generic_copy_t* c, size_t s, size_t k) {
  return &c->views[s * (c->outputs + c->inputs) + k];
}

static inline int32_t generic_last(const generic_view_t* view) {
  return view->tensor.rank - 1;
}

int64_t generic_elements(const generic_view_t* view);
/* Makes it as if it lay without gaps. */
void generic_flatten(generic_view_t* view);
/* Counts a dimension from its other end. */
void generic_turn(generic_view_t* view, int32_t dimension);
bool generic_same(const generic_view_t* one, const generic_view_t* other);

/* Runs the reference on a copy `c`, once this is done to it. */
#define GENERIC_CHANGED(change)                                  \
  do {                                                           \
    generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments); \
    if (c == NULL) return LAUNCH_INNER;                          \
    change;                                                      \
    arguments = &c->as;                                          \
    return LAUNCH_INNER;                                         \
  } while (0)

/* Answers so, where `condition` holds of a copy `c`. */
#define GENERIC_UNLESS(condition, answer)                        \
  do {                                                           \
    generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments); \
    return c != NULL && (condition) ? (answer) : LAUNCH_INNER;   \
  } while (0)

#endif /* TBK_MUTANTS_GENERIC_COPY_H */
