/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tensor.h: a tensor on the device with a model of its whole storage on the host: what lies before,
 * between and behind its elements is random and has to stay as it is.
 */
#ifndef TBK_CONTRACTS_TENSOR_H
#define TBK_CONTRACTS_TENSOR_H

#include "fixture.h"
#include "number.h"

#include <tbk/tbk_arguments.h>

enum { TENSOR_RANK = 8 };

typedef enum tensor_layout {
  TENSOR_PLAIN = 0, /* contiguous */
  TENSOR_OFFSET,    /* contiguous, a few elements into its storage */
  TENSOR_GAPS,      /* every second element */
  TENSOR_TURNED,    /* contiguous, the first dimension innermost */
  TENSOR_ROWS,      /* contiguous rows, with a few elements between them */
  TENSOR_BROADCAST, /* the first dimension has stride 0; for inputs */
  TENSOR_LAYOUTS,
  TENSOR_REVERSED = TENSOR_LAYOUTS, /* the first dimension backwards; a device may refuse it */
  TENSOR_BROADCAST_MIDDLE,          /* the middle dimension has stride 0; for inputs */
  TENSOR_BROADCAST_LAST,            /* the last one */
  TENSOR_FAR,                       /* what the first dimension counts lies far apart */
  TENSOR_BACKWARDS,                 /* the last dimension backwards */
  TENSOR_SWAPPED,                   /* contiguous, the last two dimensions have changed places */
  TENSOR_ROTATED,                   /* contiguous, the last dimension outermost */
  TENSOR_BROADCAST_ALL,             /* one element for all; for inputs */
  TENSOR_THIRDS                     /* every third element */
} tensor_layout_t;

typedef struct tensor {
  const number_type_t* type;
  int32_t rank;
  int64_t sizes[TENSOR_RANK];
  int64_t strides[TENSOR_RANK];
  int64_t offset; /* elements */
  int64_t count;  /* of elements */
  uint64_t storage_bytes;
  uint64_t block_bytes; /* with a guard behind the storage */
  tbk_memory_t memory;
  uint8_t* model; /* what the block should hold */
} tensor_t;

/* Shape and storage on the host; the elements are poison until they are set. */
void tensor_make(tbk_fixture_t* fx, tensor_t* tensor, int32_t dtype, int32_t rank,
                 const int64_t* sizes, tensor_layout_t layout);
/* Returns the model of the element with this index in row-major order. */
void* tensor_at(const tensor_t* tensor, int64_t index);
/* An element on the way through all of them in row-major order. */
typedef struct tensor_walk {
  const tensor_t* tensor;
  int64_t index; /* of the element; the tensor's count behind the last */
  int64_t coordinates[TENSOR_RANK];
  int64_t place; /* elements into the storage */
} tensor_walk_t;
tensor_walk_t tensor_first(const tensor_t* tensor);
void tensor_step(tensor_walk_t* walk);
/* Returns how many bytes into the storage the element lies, and its model. */
size_t tensor_walk_byte(const tensor_walk_t* walk);
void* tensor_walk_at(const tensor_walk_t* walk);
/* Returns the numbers of all elements, and one more. */
number_t* tensor_numbers(tbk_fixture_t* fx, const tensor_t* tensor);
/* Allocates the block, or takes the same again, and fills it with the model. */
void tensor_upload(tbk_fixture_t* fx, tensor_t* tensor);
/* Compares elements as number_same does, and everything else bit by bit. */
bool tensor_check(tbk_fixture_t* fx, const tensor_t* tensor, int64_t ulps, const char* name,
                  tbk_here_t here);
/* The whole block holds these bytes. */
bool tensor_check_bits(tbk_fixture_t* fx, const tensor_t* tensor, const uint8_t* expected,
                       const char* name, tbk_here_t here);
/* The descriptor that goes to the backend; `sizes` and `strides` have room for TENSOR_RANK. */
void tensor_describe(const tensor_t* tensor, tbk_tensor_t* view, int64_t* sizes, int64_t* strides);

#endif /* TBK_CONTRACTS_TENSOR_H */
