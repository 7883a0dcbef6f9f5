/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * operator.c: which functions of aclnn serve which operator, and with what.
 */
#include <string.h>

#include "operation.h"

/* PLAN(operator, arguments): phase one, of the job's tensors t[0] (the output), t[1] ... */
#define PLAN(operator, ...)                                                              \
  static acl_result plan_##operator(const acl_operators_t* nn, const npu_parts_t* parts, \
                                    uint64_t* out_bytes, acl_executor** out_executor) {  \
    acl_tensor* const* t = parts->tensors;                                               \
    return nn->operator.plan(__VA_ARGS__, out_bytes, out_executor);                      \
  }
PLAN(fill, t[0], parts->scalar)
PLAN(zero, t[0])
PLAN(copy, t[0], t[1])
PLAN(add, t[1], t[2], parts->scalar, t[0])
PLAN(mul, t[1], t[2], t[0])
PLAN(where, t[1], t[2], t[3], t[0])
PLAN(sum, t[1], parts->dims, parts->keepdim, parts->dtype, t[0])
PLAN(mm, t[1], t[2], t[0], ACL_KEEP_DTYPE)
#undef PLAN

/* An integer of any width, as the emitter stored it. */
static int64_t integer_of(const emit_job_t* job) {
  const bool is_signed = job->operands[0].dtype != TBK_UINT8;
  const unsigned unused = 64 - 8 * (unsigned)job->scalar_bytes;
  uint64_t bits = 0;
  memcpy(&bits, job->scalar, job->scalar_bytes); /* little-endian */
  return is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
}

/* aclScalar as Ascend/op-plugin makes them: DOUBLE, INT64, BOOL or COMPLEX128, and the operator converts
 * (O op_api_common.cpp:972). What an integer dtype cannot hold is converted here, as C does. */
static bool add_scalar(const acl_operators_t* nn, const tbk_scalar_t* scalar, const emit_job_t* job,
                       npu_parts_t* parts) {
  const bool whole = scalar->kind == TBK_SCALAR_INT || scalar->kind == TBK_SCALAR_BOOL;
  double real[2] = {whole ? (double)scalar->integer : scalar->real,
                    scalar->kind == TBK_SCALAR_COMPLEX ? scalar->imaginary : 0};
  int64_t integer;
  bool boolean;
  switch (job->operands[0].dtype) {
    case TBK_COMPLEX64:
    case TBK_COMPLEX128:
      parts->scalar = nn->create_scalar(real, ACL_COMPLEX128);
      break;
    case TBK_FLOAT16:
    case TBK_BFLOAT16:
    case TBK_FLOAT32:
    case TBK_FLOAT64:
      parts->scalar = nn->create_scalar(&real[0], ACL_FLOAT64);
      break;
    case TBK_BOOL:
      boolean = integer_of(job) != 0;
      parts->scalar = nn->create_scalar(&boolean, ACL_BOOL);
      break;
    default:
      integer = integer_of(job);
      parts->scalar = nn->create_scalar(&integer, ACL_INT64);
  }
  return parts->scalar != NULL;
}

static bool complete_fill(const acl_operators_t* nn, const void* arguments, const emit_job_t* job,
                          npu_parts_t* parts) {
  return add_scalar(nn, &((const tbk_args_fill__Scalar_t*)arguments)->value, job, parts);
}

static bool complete_add(const acl_operators_t* nn, const void* arguments, const emit_job_t* job,
                         npu_parts_t* parts) {
  return add_scalar(nn, &((const tbk_args_add_Tensor_t*)arguments)->alpha, job, parts);
}

/* All dimensions are listed where none was named. */
static bool complete_sum(const acl_operators_t* nn, const void* arguments, const emit_job_t* job,
                         npu_parts_t* parts) {
  const tbk_args_sum_dim_IntList_t* args = arguments;
  const int32_t rank = job->operands[1].rank;
  int64_t dims[EMIT_MAX_RANK] = {0};
  uint64_t count = 0;
  const bool named = args->dim != NULL && args->dim->count > 0;
  const uint64_t wanted = rank == 0 ? 0 : named ? args->dim->count : (uint64_t)rank;
  for (; count < wanted; count++) {
    const int64_t dim = named ? args->dim->items[count] : (int64_t)count;
    dims[count] = dim < 0 ? dim + rank : dim;
  }
  parts->keepdim = args->keepdim != 0;
  parts->dims = nn->create_ints(dims, count);
  return parts->dims != NULL;
}

#define ROW(member, name, complete) \
  { &emit_##member, "aclnn" name, offsetof(acl_operators_t, member), plan_##member, complete }

const npu_operator_t npu_operators[NPU_OPERATORS] = {
    ROW(fill, "InplaceFillScalar", complete_fill),
    [NPU_COPY] = ROW(copy, "InplaceCopy", NULL),
    ROW(add, "Add", complete_add),
    ROW(mul, "Mul", NULL),
    ROW(where, "SWhere", NULL),
    ROW(sum, "ReduceSum", complete_sum),
    ROW(mm, "Mm", NULL),
};
const npu_operator_t npu_zero = {NULL, "aclnnInplaceZero", offsetof(acl_operators_t, zero),
                                 plan_zero, NULL};
