/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sort.h: a call of tbk::sort, as a job that refers to nothing of the caller's.
 */
#ifndef TBK_CPU_SORT_H
#define TBK_CPU_SORT_H

#include <tbk/tbk_sort.h>

#include "kernel.h"

struct cpu_sort {
  bool descending;
  int64_t length, kept; /* of a segment: what goes in, and what comes out */
  cpu_view_t input;
  cpu_view_t values, indices; /* data is NULL where there are none */
};

/* An element by its rank among all values of its dtype, and where it stood. */
typedef struct sort_pair {
  uint64_t key;
  int64_t index;
} sort_pair_t;

/* sort_key.c: makes pairs of elements' bits, whose keys are less as elements come first. */
void cpu_sort_keys(int32_t dtype, bool descending, const uint64_t* words, int64_t count,
                   sort_pair_t* pairs);
/* sort_pairs.c: sorts by keys that have so many bytes; equal ones stay in order. `spare` is as long; returns
 * which of the two has the result. */
sort_pair_t* cpu_sort_pairs(sort_pair_t* pairs, sort_pair_t* spare, int64_t count,
                            int64_t key_bytes);
/* Moves the least `kept` of the pairs to the front, in the order in which they stood; of equal ones the first. */
void cpu_sort_select(sort_pair_t* pairs, int64_t count, int64_t kept, int64_t key_bytes);

/* sort_walk.c: the bytes that a segment needs, and the work. */
uint64_t cpu_sort_bytes(const cpu_sort_t* sort);
void cpu_sort_compute(const cpu_sort_t* sort, char* workspace);

#endif /* TBK_CPU_SORT_H */
