/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * operation.h: operators by name, each with the function of aclnn.def that serves it, and calls of them in two phases.
 * Phase one looks at descriptors alone and may refuse; phase two issues.
 */
#ifndef TBK_NPU_OPERATION_H
#define TBK_NPU_OPERATION_H

#include "aclnn.h"
#include "npu.h"

/*
 * A recipe has a letter for each member of the struct, in its order, and gives an argument for each:
 *   t, q      a tensor; one that may be absent        T, O  lists of tensors that are read, written
 *   o         a tensor that is written
 *   s, S      a number as aclScalar; one that may be absent
 *   v         a number in the dtype of the output, converted as the emitter did
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
typedef struct npu_row {
  tbk_kernel_t table; /* first, so that a tbk_kernel_t of ours is one of these */
  const char* name;
  uint32_t version;
  size_t arguments_bytes;
  const char* recipe; /* NULL: the arguments of the function, letter by letter */
  uint32_t dtypes;    /* bits by TBK dtype: of the first tensor */
  const emit_operator_t*
      checked; /* whose rules the arguments keep, those of every backend; NULL for most */
} npu_row_t;

/* A handle that describes an operand. */
typedef struct npu_descriptor {
  acl_result (*destroy)(const void* handle);
  const void* handle;
} npu_descriptor_t;

/* A call, from its struct to what phase one takes. */
typedef struct npu_call {
  aclnn_function_t function;
  const char* recipe;
  const char* arguments; /* the struct; NULL where it has none but tensors */
  emit_job_t job;        /* of an operator that is checked */
  emit_view_t views[ACLNN_TENSORS];
  bool written[ACLNN_TENSORS], absent[ACLNN_TENSORS];
  uint64_t room[ACLNN_TENSORS]; /* of an output that is computed apart; else 0 */
  int view_count, next_view;    /* of those that are described already */
  char* apart;                  /* where the rooms are, one behind another */
  aclnn_word_t words[ACLNN_ARGUMENTS];
  int word_count;
  npu_descriptor_t descriptors[ACLNN_TENSORS + ACLNN_ARGUMENTS];
  int descriptor_count;
  tbk_error_t* error;
} npu_call_t;

/* Where a call runs. */
typedef struct npu_place {
  npu_queue_t* queue;
  void* given; /* workspace of the caller */
  uint64_t given_bytes;
} npu_place_t;

/* library.c */
const aclnn_row_t* npu_aclnn_row(aclnn_function_t function);
aclnn_phases_t npu_aclnn(aclnn_function_t function);

/* kernel.c: the function of aclnn that serves an operator. */
aclnn_function_t npu_function_of(const npu_row_t* row);

/* recipe.c: whether the row's recipe fits its struct, and gives what the function takes. */
bool npu_recipe_fits(const npu_row_t* row);
/* Reads the tensors of the struct. */
tbk_status_t npu_read(npu_call_t* call, const npu_row_t* row);
/* Makes the words of phase one; npu_release destroys what describes the operands. */
tbk_status_t npu_build(npu_call_t* call);
void npu_release(npu_call_t* call);

/* operation.c: both phases, with the queue's lock. A refusal comes before anything is issued. */
tbk_status_t npu_run(npu_call_t* call, const npu_place_t* place);
/* Phase one of a call without memory: the bytes of workspace that it wants. */
tbk_status_t npu_probe(npu_call_t* call, uint64_t* out_bytes);
/* Rounds up to what places in a workspace are aligned to. */
uint64_t npu_aligned(uint64_t bytes);
int npu_acl_dtype(int32_t dtype);
/* Returns an operand as phase one is told of it: where it is computed apart, there; and describes one. */
emit_view_t npu_view(const npu_call_t* call, int index);
acl_tensor* npu_describe_view(const emit_view_t* view);
tbk_status_t npu_refuse(const npu_call_t* call, const char* reason);

#endif /* TBK_NPU_OPERATION_H */
