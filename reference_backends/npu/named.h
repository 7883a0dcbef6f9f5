/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * named.h: overloads of PyTorch by name, each with the function of aclnn.def that serves it: for which dtypes, and
 * how its argument struct becomes that function's arguments.
 */
#ifndef TBK_NPU_NAMED_H
#define TBK_NPU_NAMED_H

#include "aclnn.h"
#include "operation.h"

/*
 * A recipe has a letter for each member of the struct, in its order, and gives an argument for each:
 *   t, q      a tensor; one that may be absent        T, O  lists of tensors that are read, written
 *   o         a tensor that is written
 *   s, S      a number as aclScalar; one that may be absent
 *   J         a whole number as aclScalar
 *   l, k, L   numbers as aclIntArray; of k, and an absent L, all dimensions where there are none
 *   I, X      a dimension as aclIntArray; of an absent X all
 *   i, x      a whole number; one that must be there
 *   b, B      a truth; false where it is absent       z, N  refused unless 0, absent
 *   d, e      a real number; -1 where it is absent    C     the correction of a variance, 1 where absent
 *   m, g, Z   the text of a rounding mode, of an approximation, as it is
 *   y         the dtype of the first output           -     left out
 * What takes no member: A all dimensions, F false, 0 zero, c cubeMathType, % exchanges the last two.
 */
typedef struct npu_named {
  tbk_kernel_t table; /* first, so that a tbk_kernel_t of ours is one of these */
  const char* name;
  uint32_t version;
  size_t arguments_bytes;
  const char* recipe; /* NULL: the arguments of the function, letter by letter */
  uint32_t dtypes;    /* bits by TBK dtype: of the first tensor */
} npu_named_t;

/* Returns the kernel of an overload that the driver has both phases of; NULL where there is none. */
const tbk_kernel_t* npu_named_find(const char* name, uint32_t version);
/* Returns the function of aclnn that serves an overload. */
aclnn_function_t npu_function_of(const npu_named_t* row);
/* Whether the recipe fits the struct, and gives what the function takes. */
bool npu_named_fits(const npu_named_t* row);

/* library.c */
const aclnn_row_t* npu_aclnn_row(aclnn_function_t function);
aclnn_phases_t npu_aclnn(aclnn_function_t function);

/* kernel.c, operation.c: what the seven do too. */
tbk_status_t npu_reserve(npu_queue_t* queue, uint64_t bytes, void** out_memory, tbk_error_t* error);
acl_tensor* npu_describe_view(const emit_view_t* view);
int npu_acl_dtype(int32_t dtype);
bool npu_is_refusal(acl_result result);
bool npu_overlap(const emit_view_t* one, const emit_view_t* other);
emit_view_t npu_contiguous(const emit_view_t* like, void* memory);
uint64_t npu_aligned(uint64_t bytes);

/* named_arguments.c: a call while its arguments are made. */
typedef struct npu_named_handle {
  acl_result (*destroy)(const void* handle);
  const void* handle;
} npu_named_handle_t;

typedef struct npu_named_call {
  const npu_named_t* row;
  const char* arguments; /* the struct */
  emit_view_t views[ACLNN_TENSORS];
  bool written[ACLNN_TENSORS], absent[ACLNN_TENSORS], apart[ACLNN_TENSORS];
  emit_view_t targets[ACLNN_TENSORS]; /* of those that are computed apart */
  int view_count;
  aclnn_word_t words[ACLNN_ARGUMENTS];
  int word_count;
  npu_named_handle_t handles[ACLNN_TENSORS + ACLNN_ARGUMENTS];
  int handle_count;
  tbk_status_t status;
  tbk_error_t* error;
} npu_named_call_t;

/* Reads the tensors of the struct; false where the call is refused, which status says. */
bool npu_named_read(npu_named_call_t* call);
/* Makes what phase one takes. */
bool npu_named_build(npu_named_call_t* call);
/* Destroys what describes the operands. */
void npu_named_release(npu_named_call_t* call);

#endif /* TBK_NPU_NAMED_H */
