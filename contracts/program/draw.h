/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * draw.h: programs drawn at random that are well formed, for tests and fuzzers. A seed decides them.
 */
#ifndef TBK_PROGRAM_DRAW_H
#define TBK_PROGRAM_DRAW_H

#include "pool.h"

typedef struct program_wish {
  uint64_t dtypes;     /* a set; INT64 and BOOL are in it */
  size_t instructions; /* at most so many, one at least */
  int rank;            /* of the space: of what COORDINATE counts */
  bool placed;         /* whether there may be LOAD, COORDINATE and LINEAR_INDEX */
  size_t results;      /* so many */
  uint64_t result_dtypes;
} program_wish_t;

/* Returns the next word of a sequence; the state moves on. */
uint64_t program_random(uint64_t* state);
/* Draws bits of a dtype: small numbers, extremes, special values, or any. */
uint64_t program_draw_bits(uint64_t* state, uint32_t dtype);
/* Adds inputs, numbers, instructions and results to a pool that may hold parameters. */
void program_draw(program_pool_t* pool, const program_wish_t* wish, uint64_t* state);

#endif /* TBK_PROGRAM_DRAW_H */
