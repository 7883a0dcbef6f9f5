/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * operation.h: operators in two phases. Phase one looks at descriptors alone and may refuse; phase two issues.
 * What an operator is given is checked by the emitter's rules, which are those of every backend here.
 */
#ifndef TBK_NPU_OPERATION_H
#define TBK_NPU_OPERATION_H

#include <emit/job.h>

#include "npu.h"

/* What phase one takes, in the order of a job: the output, then the inputs. */
typedef struct npu_parts {
  acl_tensor* tensors[EMIT_OPERANDS];
  acl_scalar* scalar;
  acl_ints* dims;
  bool keepdim;
  int dtype; /* of the output */
} npu_parts_t;

/* A phase one that went well: phase two takes it, once. */
typedef struct npu_step {
  npu_parts_t parts; /* live until phase two was called */
  acl_executor* executor;
  uint64_t workspace_bytes;
  acl_issue issue;
} npu_step_t;

typedef struct npu_operator {
  const emit_operator_t* checked;
  const char* symbol;
  size_t phases; /* where its two functions lie in acl_operators_t */
  acl_result (*plan)(const acl_operators_t* nn, const npu_parts_t* parts, uint64_t* out_bytes,
                     acl_executor** out_executor);
  /* Adds scalar and dimensions, where it takes any; false where there was no memory. */
  bool (*complete)(const acl_operators_t* nn, const void* arguments, const emit_job_t* job,
                   npu_parts_t* parts);
} npu_operator_t;

/* operator.c: those that the interface names; and what sets an output to zero. */
enum { NPU_COPY = 1, NPU_OPERATORS = 7 };
extern const npu_operator_t npu_operators[NPU_OPERATORS];
extern const npu_operator_t npu_zero;

/* Returns whether the driver has both phases. */
bool npu_is_offered(const npu_operator_t* operator);

/* Phase one, in the device's context; UNSUPPORTED and the reason where it refuses. */
tbk_status_t npu_plan(const npu_operator_t* operator, const void* arguments, const emit_job_t* job,
                      npu_step_t* out_step, tbk_error_t* error);
/* Phase two, and the end of the step. */
acl_result npu_issue(npu_step_t* step, void* workspace, acl_stream stream);
/* The end of a step without phase two. */
void npu_drop(npu_step_t* step);
/* Phase one of something that will not be issued: its bytes of workspace. */
tbk_status_t npu_probe(const npu_operator_t* operator, const void* arguments, const emit_job_t* job,
                       uint64_t* out_bytes, tbk_error_t* error);

#endif /* TBK_NPU_OPERATION_H */
