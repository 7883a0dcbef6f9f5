/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * arguments.h: arguments of kernels, copied so that a mutant may change what the reference sees.
 */
#ifndef TBK_MUTANTS_ARGUMENTS_H
#define TBK_MUTANTS_ARGUMENTS_H

#include <tbk/dtypes.h>
#include <tbk/program.h>

#include "wrap.h"

enum { COPY_TENSORS = 8, COPY_RANK = 16 };

/* Points into itself: not to be moved. `tensors[count - 1]` is the output. */
typedef struct arguments_copy {
  union {
    size_t struct_size;
    tbk_args_fill__Scalar_t fill;
    tbk_args_copy__t copy;
    tbk_args_add_Tensor_t add;
    tbk_args_mul_Tensor_t mul;
    tbk_args_where_self_t where;
    tbk_args_sum_dim_IntList_t sum;
    tbk_args_mm_t mm;
  } as;
  tbk_tensor_t tensors[COPY_TENSORS];
  int64_t sizes[COPY_TENSORS][COPY_RANK];
  int64_t strides[COPY_TENSORS][COPY_RANK];
  int count;
} arguments_copy_t;

/* Returns false where the operator is not known or the arguments are not fit to be read: leave them be. */
bool arguments_copy(arguments_copy_t* copy, const char* name, const void* arguments);
/* From here on the copy's sizes and strides are those that `arguments` points to. */
void arguments_borrow_shapes(arguments_copy_t* copy, const char* name, const void* arguments);
tbk_tensor_t* arguments_output(arguments_copy_t* copy);
/* Returns the size of the struct for `name` in its version, 0 where it is not known. */
size_t arguments_size(const char* name);

/* Returns the arguments of tbk::pointwise; NULL where they are malformed, which is left to the reference. */
const tbk_args_pointwise_t* pointwise_arguments(const void* arguments);

uint64_t tensor_elements(const tbk_tensor_t* tensor);
#define dtype_bytes(dtype) ((uint64_t)tbk_dtype_bytes(dtype))
bool tensor_contiguous(const tbk_tensor_t* tensor);
/* The strides that a tensor of these sizes has when it is contiguous. */
void tensor_make_contiguous(arguments_copy_t* copy, int index);

/* Fills a contiguous tensor with 0, in the order of `stream`. */
void tensor_clear(tbk_instance_t* self, int32_t device, const tbk_tensor_t* tensor,
                  tbk_stream_t* stream);
/* Waits for `stream`, lets `change` at the elements of a contiguous tensor, and puts them back. */
void tensor_change(tbk_instance_t* self, int32_t device, const tbk_tensor_t* tensor,
                   tbk_stream_t* stream, void (*change)(void* elements, uint64_t count));

#endif /* TBK_MUTANTS_ARGUMENTS_H */
