/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * operator.h: operators in two phases.
 */
#ifndef SIM_OPERATOR_H
#define SIM_OPERATOR_H

#include "function.h"
#include "simulator.h"

/* A rank and a dtype that no operator takes. */
enum { SIM_TOO_MANY = EMIT_MAX_RANK + 1, SIM_NO_DTYPE = 63 };

/* A handle that stood for an operand, and whether it still does. */
typedef struct sim_operand {
  const void* handle;
  uint64_t serial;
  uintptr_t data; /* of a tensor */
  uint64_t storage_bytes;
  uintptr_t begin, end; /* of its elements; 0 where there are none */
  bool is_tensor, is_written;
} sim_operand_t;

/* Members of a list are among them. */
enum { SIM_HANDLES = SIM_TENSORS + ACLNN_ARGUMENTS };

/* What the first phase makes. The operands are those of the job, in its order, and then others. */
struct sim_executor {
  aclnn_function_t function;
  bool repeatable;
  bool narrows; /* a product, whose float32 become narrower */
  uint64_t workspace_bytes;
  const emit_host_kernel_t* kernel;
  emit_job_t job;
  sim_call_t call; /* instead of a kernel and its job */
  int handle_count;
  sim_operand_t handles[SIM_HANDLES];
};

/* The second phase of every operator. */
acl_result sim_issue(aclnn_function_t function, const char* call, const void* workspace,
                     uint64_t bytes, const void* handle, acl_stream stream);

/* Returns the number of the last element of a storage that the tensor has; -1 where it has none. */
int64_t sim_last_element(const sim_tensor_t* tensor);
/* Returns our dtype for one of aclDataType; SIM_NO_DTYPE where there is none. */
int sim_dtype_of(int acl_dtype);

#endif /* SIM_OPERATOR_H */
