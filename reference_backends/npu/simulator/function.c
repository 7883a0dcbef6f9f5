/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * function.c: both phases of the functions of aclnn.def.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "plan.h"

enum { WORKSPACE = 512 };

static const char* const arguments_of[] = {
#define ACLNN(name, signature, arguments, page, meaning, overloads) (arguments),
#include "../aclnn.def"
#undef ACLNN
};

/* A meaning with a routine keeps intermediate results, for which it asks for room; how much is ours. */
static uint64_t workspace_of(aclnn_function_t function) {
  return strchr(sim_meaning_of(function), ':') != NULL ? WORKSPACE : 0;
}

static void add_tensor(plan_t* plan, sim_call_t* call, const void* handle, bool is_written) {
  sim_argument_t* argument = &call->tensor[call->tensors];
  *argument = (sim_argument_t){.written = is_written, .absent = handle == NULL, .slot = -1};
  call->tensors++;
  if (handle == NULL) return;
  int slot = 0;
  for (int i = 0; i < call->tensors - 1; i++)
    slot += !call->tensor[i].absent;
  const sim_tensor_t* tensor = plan_take_tensor(plan, handle, is_written);
  if (tensor == NULL) return;
  if (sim_element_size(tensor->dtype) == 0)
    plan->result = sim_refuse(ACL_NN_NO_KERNEL, "no kernel for complex numbers");
  argument->slot = slot;
  argument->dtype = tensor->dtype;
  argument->rank = tensor->rank;
  argument->offset = tensor->offset;
  argument->count = 1;
  for (int d = 0; d < tensor->rank; d++) {
    argument->sizes[d] = tensor->sizes[d];
    argument->strides[d] = tensor->strides[d];
    argument->count *= tensor->sizes[d];
  }
}

static void add_list_of_tensors(plan_t* plan, sim_call_t* call, const void* handle,
                                bool is_written) {
  const sim_object_t* object = plan_take(plan, handle, SIM_LIST);
  if (object == NULL) return;
  if (object->as.list.count > (uint64_t)(ACLNN_TENSORS - call->tensors)) {
    plan->result = sim_refuse(ACL_NN_TILING, "too many tensors in a list");
    return;
  }
  for (uint64_t i = 0; i < object->as.list.count && plan->result == ACL_OK; i++)
    add_tensor(plan, call, object->as.list.items[i], is_written);
}

/* A scalar is one of the dtype of the first tensor, where both are real: the device knows no other. */
static void add_scalar(plan_t* plan, sim_call_t* call, const void* handle, bool may_be_absent) {
  sim_number_t* number = &call->scalar[call->scalars++];
  *number = sim_absent;
  if (handle == NULL && may_be_absent) return;
  const sim_object_t* object = plan_take(plan, handle, SIM_SCALAR);
  if (object == NULL) return;
  const tbk_scalar_t* scalar = &object->as.scalar;
  const bool is_whole = scalar->kind == TBK_SCALAR_INT || scalar->kind == TBK_SCALAR_BOOL;
  *number = is_whole ? (sim_number_t)scalar->integer : (sim_number_t)scalar->real;
  if (scalar->kind == TBK_SCALAR_COMPLEX && scalar->imaginary != 0)
    plan->result = sim_refuse(ACL_NN_NO_KERNEL, "no kernel for complex numbers");
}

static void add_ints(plan_t* plan, sim_call_t* call, const void* handle) {
  const sim_object_t* object = plan_take(plan, handle, SIM_INTS);
  if (object == NULL) return;
  if (object->as.ints.count > EMIT_MAX_RANK) {
    plan->result = sim_refuse(ACL_NN_INVALID, "more than 8 numbers in a list");
    return;
  }
  call->list[call->lists].count = (int)object->as.ints.count;
  for (size_t i = 0; i < object->as.ints.count; i++)
    call->list[call->lists].items[i] = object->as.ints.items[i];
  call->lists++;
}

static int64_t whole_of(char letter, const aclnn_word_t* word) {
  if (letter == 'z') return word->p != NULL && strcmp(word->p, "tanh") == 0;
  return letter == 'i' ? word->i : letter == 'b' ? word->b : word->n;
}

static void add(plan_t* plan, sim_call_t* call, char letter, const aclnn_word_t* word) {
  switch (letter) {
    case 't':
    case 'o':
      if (word->p == NULL) (void)plan_take(plan, NULL, SIM_TENSOR);
      if (word->p != NULL) add_tensor(plan, call, word->p, letter == 'o');
      break;
    case 'q':
      add_tensor(plan, call, word->p, false);
      break;
    case 'T':
    case 'O':
      add_list_of_tensors(plan, call, word->p, letter == 'O');
      break;
    case 's':
    case 'S':
      add_scalar(plan, call, word->p, letter == 'S');
      break;
    case 'l':
      add_ints(plan, call, word->p);
      break;
    case 'd':
      call->real[call->reals++] = word->d;
      break;
    case 'i':
    case 'b':
    case 'n':
    case 'z':
      call->whole[call->wholes++] = whole_of(letter, word);
      break;
    default:
      if (word->c != ACL_KEEP_DTYPE)
        plan->result = sim_refuse(ACL_NN_INVALID, "no narrower products are simulated here");
  }
}

static void round_scalars(sim_call_t* call) {
  for (int i = 0; i < call->scalars && call->tensors > 0; i++)
    call->scalar[i] = sim_element_round(call->tensor[0].dtype, call->scalar[i]);
}

static void plan_call(plan_t* plan, const char* arguments, const aclnn_word_t* words) {
  sim_call_t* call = &plan->executor->call;
  call->function = plan->function;
  for (int i = 0; arguments[i] != '\0' && plan->result == ACL_OK; i++)
    add(plan, call, arguments[i], &words[i]);
  round_scalars(call);
  plan->executor->workspace_bytes = workspace_of(plan->function);
}

static acl_result plan_function(aclnn_function_t function, const char* name,
                                const aclnn_word_t* words, uint64_t* out_workspace_bytes,
                                acl_executor** out_executor) {
  plan_t plan;
  if (!plan_begin(&plan, function, name, out_workspace_bytes, out_executor)) return plan.result;
  if (sim_meaning_of(function)[0] == '\0')
    plan_kernel(&plan, arguments_of[function], words);
  else
    plan_call(&plan, arguments_of[function], words);
  return plan_finish(&plan);
}

#define ACLNN(name, signature, arguments, page, meaning, overloads)                            \
  SIM_EXPORT acl_result function_plan_##name(                                                  \
      ACLNN_PARAMETERS_##signature, uint64_t* out_workspace_bytes,                             \
      acl_executor** out_executor) __asm__(ACL_PHASE_ONE_SYMBOL(#name));                       \
  SIM_EXPORT acl_result function_issue_##name(                                                 \
      void* workspace, uint64_t workspace_bytes, acl_executor* executor,                       \
      acl_stream stream) __asm__(ACL_PHASE_TWO_SYMBOL(#name));                                 \
  acl_result function_plan_##name(ACLNN_PARAMETERS_##signature, uint64_t* out_workspace_bytes, \
                                  acl_executor** out_executor) {                               \
    const aclnn_word_t words[] = {ACLNN_WORDS_##signature};                                    \
    return plan_function(ACLNN_FUNCTION_##name, ACL_PHASE_ONE_SYMBOL(#name), words,            \
                         out_workspace_bytes, out_executor);                                   \
  }                                                                                            \
  acl_result function_issue_##name(void* workspace, uint64_t workspace_bytes,                  \
                                   acl_executor* executor, acl_stream stream) {                \
    return sim_issue(ACLNN_FUNCTION_##name, ACL_PHASE_TWO_SYMBOL(#name), workspace,            \
                     workspace_bytes, executor, stream);                                       \
  }
#include "../aclnn.def"
#undef ACLNN
