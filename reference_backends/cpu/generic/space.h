/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * space.h: the tensors of one operand set, resolved, and the space that they are walked in: first the
 * outer dimensions, which the outputs have, then the inner ones, which a reduction takes away.
 */
#ifndef TBK_CPU_SPACE_H
#define TBK_CPU_SPACE_H

#include "../kernel.h"
#include "code.h"

enum { SPACE_RANK = TBK_PROGRAM_MOST_RANK };

/* A tensor. Strides are in bytes, one for each dimension of the space: 0 where it does not move. Those
 * of an indexed input are its own. */
typedef struct access {
  char* data; /* of the element at index 0; NULL where there is none, or nothing was resolved */
  int32_t dtype;
  int32_t own_rank; /* indexed: of the tensor; else -1 */
  int64_t element_bytes;
  int64_t strides[SPACE_RANK];
  int64_t own_sizes[SPACE_RANK]; /* indexed */
} access_t;

typedef struct space {
  int32_t outer_rank, inner_rank;
  int64_t sizes[SPACE_RANK];
  int64_t outer_count, inner_count; /* elements */
  size_t output_count, input_count;
  access_t* accesses; /* the outputs, then the inputs */
  const uint64_t* numbers;
  bool
      reversed; /* the last dimension is walked from its end; coordinates count from its beginning */
} space_t;

/* What may be done to a space before it is walked. */
typedef struct space_rules {
  bool merge_outer, merge_inner; /* nobody asks for coordinates */
  bool sort_outer, sort_inner;   /* nor for the order */
} space_rules_t;

/* Returns how many tensors and numbers a set of this code has. */
size_t space_outputs(const kernel_code_t* code);
size_t space_inputs(const kernel_code_t* code);
size_t space_numbers(const kernel_code_t* code);

/*
 * Makes a space of a checked set; `accesses` and `numbers` are where its own go; it and they are zero. `arena` is NULL
 * where only shapes are asked about.
 * Errors: INVALID where a tensor is not on the device; UNSUPPORTED.
 */
tbk_status_t space_make(vdev_arena_t* arena, const kernel_code_t* code,
                        const tbk_operand_set_t* set, access_t* accesses, uint64_t* numbers,
                        space_t* space, tbk_error_t* error);
/* Sorts dimensions by their strides and joins those that are one, as far as the rules go. */
void space_simplify(space_t* space, space_rules_t rules);

#endif /* TBK_CPU_SPACE_H */
