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
  int op;
  sim_context_t* context;
  sim_executor_t* executor;
  tbk_tensor_t views[EMIT_OPERANDS];
  int view_count;
  uint64_t* out_bytes; /* of the workspace */
  acl_executor** out_executor;
} plan_t;

/* Begins the first phase of operator `op`; false where plan.result is an answer. */
bool plan_begin(plan_t* plan, int op, const char* call, uint64_t* out_bytes,
                acl_executor** out_executor);
/* Takes a live object of this kind as the next operand; NULL after an error. */
sim_object_t* plan_take(plan_t* plan, const void* handle, sim_kind_t kind);
/* plan_take for a tensor; its dimensions and dtype are ones that this operator takes. */
const sim_tensor_t* plan_take_tensor(plan_t* plan, const void* handle, bool is_written);
/* Gives out the executor, or the result, with which it ends. */
acl_result plan_finish(const plan_t* plan, acl_result result);

#endif /* SIM_PLAN_H */
