/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tensors.h: what is checked of each tensor of a launch, and how it is told.
 */
#ifndef TBK_PROGRAM_TENSORS_H
#define TBK_PROGRAM_TENSORS_H

#include <tbk/program.h>

#include "fail.h"

#define PROGRAM_ONE SIZE_MAX /* for a number: there is but one */

typedef struct space {
  int64_t sizes[TBK_PROGRAM_MOST_RANK];
  int32_t rank;
} space_t;

/* What a tensor is told by: "set 2, input 1". */
typedef struct place {
  size_t set; /* or PROGRAM_ONE, as of index */
  const char* kind;
  size_t index;
  tbk_error_t* error;
} place_t;

#define WRONG(place, ...) \
  (program_fail((place)->error, __VA_ARGS__), program_tell((place)), TBK_INVALID)

/* Puts the place before the message. */
void program_tell(const place_t* at);
/* Checks that a tensor is there, and its dtype, rank and sizes. */
tbk_status_t program_check_shape(const place_t* at, const tbk_tensor_t* tensor, uint32_t dtype);
/* Checks that 63 bits count its elements, and that index_bits reach them. */
tbk_status_t program_check_extent(const place_t* at, const tbk_tensor_t* tensor, int64_t bits);
/* Checks that a tensor that is written has an element for each place. */
tbk_status_t program_check_written(const place_t* at, const tbk_tensor_t* tensor);
tbk_status_t program_check_sizes(const place_t* at, const tbk_tensor_t* tensor,
                                 const space_t* space);
/* Returns how many places there are, -1 where 63 bits do not hold it. */
int64_t program_places(const int64_t* sizes, int32_t rank);

#endif /* TBK_PROGRAM_TENSORS_H */
