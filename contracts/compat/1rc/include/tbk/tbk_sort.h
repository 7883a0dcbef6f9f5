/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk_sort.h: the arguments of the generic kernel that sorts. A backend that offers "tbk::sort" serves sort,
 * argsort, topk, kthvalue, median and what is like them.
 */
#ifndef TBK_TBK_SORT_H
#define TBK_TBK_SORT_H

#include <tbk/tbk_program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags. */
enum {
  TBK_SORT_DESCENDING = 1, /* from the greatest to the least */
  TBK_SORT_STABLE = 2      /* equal elements stay in the order in which they stood */
};

/*
 * tbk::sort: sorts along the last dimension; each place of the others is a segment of its own. NaN counts as
 * greater than infinity, all NaN as equal, -0 as equal to 0, false as less than true.
 *
 * `values` and `indices` have the sizes of `input` but in the last dimension, where they may have fewer:
 * then they get the first of the sorted segment (topk). At least one of the two is given. An index is the position
 * of its element in the segment, INT64. values[i] is input[indices[i]] to the bit, also where elements are equal
 * and differ in their bits.
 *
 * Any dtype but complex ones. Input has any strides; what is written has no stride of 0 and no overlap.
 * Input lies in nothing that is written, but it may be `values` exactly.
 */
#define TBK_NAME_sort "tbk::sort"
#define TBK_VERSION_sort 1u
typedef struct tbk_args_sort {
  size_t struct_size;
  const tbk_tensor_t* input;   /* rank 1 to TBK_PROGRAM_MOST_RANK */
  const tbk_tensor_t* values;  /* or NULL */
  const tbk_tensor_t* indices; /* INT64, or NULL */
  uint64_t flags;              /* TBK_SORT_DESCENDING ... */
  int64_t index_bits; /* 32 where every position and element offset fits into it, else 64 */
} tbk_args_sort_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_TBK_SORT_H */
