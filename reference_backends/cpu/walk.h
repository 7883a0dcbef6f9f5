/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * walk.h: the operands of a job that have the sizes of its output, walked block by block. Dimensions are
 * ordered by the strides of the output and joined where they are one for all operands, so that rows are long.
 */
#ifndef TBK_CPU_WALK_H
#define TBK_CPU_WALK_H

#include "generic/loops/loops.h"
#include "kernel.h"

/* Some rows of as many elements each. Steps are in bytes, from row to row and within one. */
typedef struct cpu_block {
  int64_t rows, count;
  char* at[CPU_OPERANDS_MOST];
  int64_t row_steps[CPU_OPERANDS_MOST], steps[CPU_OPERANDS_MOST];
} cpu_block_t;

/* So many elements a buffer of a block has room for, of up to 8 bytes each. */
enum { CPU_BLOCK_ELEMENTS = 512, CPU_BLOCK_BYTES = CPU_BLOCK_ELEMENTS * 8 };
_Static_assert(CPU_BLOCK_ELEMENTS % CPU_LANE_STEP == 0, "a buffer has room for whole lanes");

typedef void (*cpu_block_fn)(const cpu_job_t* job, const cpu_block_t* block, void* context);
/* Calls `compute` for blocks of at most `limit` elements, which are all elements of the output together. */
void cpu_walk(const cpu_job_t* job, int64_t limit, cpu_block_fn compute, void* context);
/* Loads the elements of an operand, `bytes` each, and zeros behind them; returns how many, a multiple of CPU_LANE_STEP. */
size_t cpu_block_load(const cpu_block_t* block, int operand, int64_t bytes, char* to);
/* Returns where the elements of an operand lie side by side, in whole lanes; NULL where they do not. */
char* cpu_block_together(const cpu_block_t* block, int operand, int64_t bytes);
/* Stores the elements of the output. */
void cpu_block_store(const cpu_block_t* block, int64_t bytes, const char* from);

#endif /* TBK_CPU_WALK_H */
