/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * plan.h: how first phases take their operands.
 */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include "operator.h"

/* Operands as they are taken; after the first error nothing more is looked at. */
typedef struct plan {
  acl_result result;
  const char* call;
  aclnn_function_t function;
  sim_context_t* context;
  sim_executor_t* executor;
  tbk_tensor_t views[EMIT_OPERANDS];
  int view_count;
  uint64_t* out_bytes; /* of the workspace */
  acl_executor** out_executor;
} plan_t;

/* Begins the first phase of a function; false where plan.result is an answer. */
bool plan_begin(plan_t* plan, aclnn_function_t function, const char* call, uint64_t* out_bytes,
                acl_executor** out_executor);
/* Takes a live object of this kind as the next operand; NULL after an error. */
sim_object_t* plan_take(plan_t* plan, const void* handle, sim_kind_t kind);
/* plan_take for a tensor; its dimensions and dtype are ones that this operator takes. */
const sim_tensor_t* plan_take_tensor(plan_t* plan, const void* handle, bool is_written);
/* Takes the arguments of a function whose meaning is a kernel of the emitter. */
void plan_kernel(plan_t* plan, const char* arguments, const aclnn_word_t* words);
/* Gives out the executor, or the result that it came to. */
acl_result plan_finish(const plan_t* plan);

#endif /* SIM_PLAN_H */
