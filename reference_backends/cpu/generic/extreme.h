/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * extreme.h: reductions with two states that find the greatest or the least element and where it lies first.
 */
#ifndef TBK_CPU_EXTREME_H
#define TBK_CPU_EXTREME_H

#include "code.h"

/* Of the elements seen so far. */
typedef struct extreme {
  cpu_fold_t fold; /* NULL: the reduction is another */
  uint16_t opcode, dtype;
  uint64_t value; /* bits */
  int64_t index;  /* -1: none was seen */
} extreme_t;

/*
 * Sets `values` and `extreme` of the code of a reduction that is one: the second result of its map is LINEAR_INDEX, and
 * its combine, tried in every case that it can tell from another, takes the greater or lesser element, NaN before any
 * number, and of equals that with the lower index. Combine may be any program that does so.
 */
void extreme_recognize(kernel_code_t* code);
/* Returns what has seen nothing yet. */
extreme_t extreme_begin(const kernel_code_t* code);
/* Sees `count` elements of a buffer, whole steps of lanes long, whose indices follow those seen: `first` and so on. */
void extreme_add(extreme_t* extreme, const void* values, size_t count, int64_t first);

#endif /* TBK_CPU_EXTREME_H */
