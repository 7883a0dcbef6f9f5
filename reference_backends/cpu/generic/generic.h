/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * generic.h: a launch of tbk::pointwise or tbk::reduce, as a job that refers to nothing of the caller's.
 */
#ifndef TBK_CPU_GENERIC_H
#define TBK_CPU_GENERIC_H

#include "fold.h"

struct cpu_generic {
  kernel_code_t* code;
  size_t set_count;
  space_t* spaces;
  size_t lanes, levels;
  char* scratch; /* NULL where only shapes are asked about */
};

/* What may be done to the spaces of a program, or of a reduction. */
space_rules_t generic_rules(const kernel_code_t* code);

/* pointwise.c, reduce.c: the bytes of scratch memory that a launch needs, and its work. */
size_t pointwise_bytes(const cpu_generic_t* generic);
void pointwise_compute(const cpu_generic_t* generic);
size_t reduce_bytes(cpu_generic_t* generic); /* sets levels too */
void reduce_compute(const cpu_generic_t* generic);

#endif /* TBK_CPU_GENERIC_H */
