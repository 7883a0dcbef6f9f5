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

typedef enum sim_operator {
#define SIM_OPERATOR(member, ...) SIM_OPERATOR_##member,
  ACL_OPERATOR_MAP(SIM_OPERATOR)
#undef SIM_OPERATOR
      SIM_OPERATORS
} sim_operator_t;

#define SIM_DECLARE_PHASES(member, name, page, ...)                               \
  SIM_EXPORT acl_result plan_##member(                                            \
      __VA_ARGS__, uint64_t* out_workspace_bytes,                                 \
      acl_executor** out_executor) __asm__(ACL_PHASE_ONE_SYMBOL(name));           \
  SIM_EXPORT acl_result issue_##member(void* workspace, uint64_t workspace_bytes, \
                                       acl_executor* executor,                    \
                                       acl_stream stream) __asm__(ACL_PHASE_TWO_SYMBOL(name));
ACL_OPERATOR_MAP(SIM_DECLARE_PHASES)
#undef SIM_DECLARE_PHASES

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
  int op; /* of sim_operator_t, or SIM_OPERATORS and one of aclnn_function_t */
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
acl_result sim_issue(int op, const char* call, const void* workspace, uint64_t bytes,
                     const void* handle, acl_stream stream);

/* Returns our dtype for one of aclDataType; SIM_NO_DTYPE where there is none. */
int sim_dtype_of(int acl_dtype);

#endif /* SIM_OPERATOR_H */
