/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * index.h: a call of tbk::index, as a job that refers to nothing of the caller's.
 */
#ifndef TBK_CPU_INDEX_H
#define TBK_CPU_INDEX_H

#include <tbk/tbk_index.h>

#include "kernel.h"

struct cpu_index {
  int64_t mode;
  bool flat, negative;
  size_t index_count;
  int64_t places[CPU_MAX_RANK]; /* of each dimension of the table */
  cpu_view_t table, values, indices[CPU_MAX_RANK];
  cpu_view_t report; /* its data is NULL where there is none */
};

/* index_element.c: makes one of what stands in the table and what is given, by the mode; both are elements of
 * `dtype`. */
void cpu_index_merge(int64_t mode, int32_t dtype, char* table, const char* value);
/* index_walk.c: goes over the space, in order. */
void cpu_index_compute(const cpu_index_t* one);

#endif /* TBK_CPU_INDEX_H */
