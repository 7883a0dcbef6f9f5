/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * plan.c: the first phase of operators: what they take, and what they need.
 */
#include <stdlib.h>
#include <string.h>

#include <tbk/dtypes.h>

#include "plan.h"

#define BIT(dtype) (UINT64_C(1) << (dtype))

/*
 * What operators refuse on chips, so that a program that has a way without them is run on it: our
 * guess, since no page was read for them.
 */
static const struct {
  aclnn_function_t function;
  uint64_t refused; /* dtypes, as bits */
  acl_result result;
} refusals[] = {
    {ACLNN_FUNCTION_Mm, ~(BIT(TBK_FLOAT32) | BIT(TBK_FLOAT16) | BIT(TBK_BFLOAT16)), ACL_NN_INVALID},
    {ACLNN_FUNCTION_ReduceSum, BIT(TBK_COMPLEX64) | BIT(TBK_COMPLEX128), ACL_NN_NO_KERNEL},
    {ACLNN_FUNCTION_Mul, BIT(TBK_COMPLEX128), ACL_NN_TILING},
};

bool plan_begin(plan_t* plan, aclnn_function_t function, const char* call, uint64_t* out_bytes,
                acl_executor** out_executor) {
  *plan = (plan_t){
      .call = call, .function = function, .out_bytes = out_bytes, .out_executor = out_executor};
  plan->result = sim_begin_in_context(call, &plan->context);
  if (plan->result == ACL_OK && (out_bytes == NULL || out_executor == NULL))
    plan->result = sim_broken(SIM_NN_NULL, call);
  if (plan->result != ACL_OK) return false;
  plan->executor = calloc(1, sizeof *plan->executor);
  if (plan->executor == NULL) plan->result = sim_no_memory();
  if (plan->executor != NULL) plan->executor->function = function;
  return plan->executor != NULL;
}

sim_object_t* plan_take(plan_t* plan, const void* handle, sim_kind_t kind) {
  sim_object_t* object = NULL;
  if (plan->result != ACL_OK) return NULL;
  if (handle == NULL) plan->result = sim_broken(SIM_NN_NULL, plan->call);
  if (plan->result == ACL_OK) plan->result = sim_object_find(handle, kind, plan->call, &object);
  if (plan->result != ACL_OK || object == NULL) return NULL;
  sim_operand_t* operand = &plan->executor->handles[plan->executor->handle_count++];
  *operand = (sim_operand_t){.handle = handle, .serial = object->serial};
  return object;
}

static acl_result judge(aclnn_function_t function, const sim_tensor_t* tensor) {
  if (tensor->rank == SIM_TOO_MANY) return sim_refuse(ACL_NN_INVALID, "more than 8 dimensions");
  if (tensor->dtype == SIM_NO_DTYPE) return sim_refuse(ACL_NN_INVALID, "a dtype of no operator");
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
    if (refusals[i].function == function && (refusals[i].refused & BIT(tensor->dtype)) != 0)
      return sim_refuse(refusals[i].result, "the operator does not take this dtype");
  return ACL_OK;
}

/* The bytes that an operand reaches, from the first to behind the last; none where it has no element. */
static void find_reach(const sim_tensor_t* tensor, sim_operand_t* operand) {
  const uint64_t bytes = (uint64_t)tbk_dtype_bytes(tensor->dtype);
  const int64_t last = sim_last_element(tensor);
  if (last < 0) return;
  operand->begin = tensor->data + (uintptr_t)tensor->offset * bytes;
  operand->end = tensor->data + (uintptr_t)(last + 1) * bytes;
}

const sim_tensor_t* plan_take_tensor(plan_t* plan, const void* handle, bool is_written) {
  sim_object_t* object = plan_take(plan, handle, SIM_TENSOR);
  if (object == NULL) return NULL;
  const sim_tensor_t* tensor = &object->as.tensor;
  plan->result = judge(plan->function, tensor);
  if (plan->result != ACL_OK) return NULL;
  sim_operand_t* operand = &plan->executor->handles[plan->executor->handle_count - 1];
  operand->data = tensor->data;
  operand->storage_bytes = tensor->storage_bytes;
  operand->is_tensor = true;
  operand->is_written = is_written;
  find_reach(tensor, operand);
  return tensor;
}

/* The output is the first view. */
static const tbk_tensor_t* take_view(plan_t* plan, const void* handle, bool is_written) {
  const sim_tensor_t* tensor = plan_take_tensor(plan, handle, is_written);
  if (tensor == NULL) return NULL;
  tbk_tensor_t* view = &plan->views[plan->view_count++];
  *view = (tbk_tensor_t){.struct_size = sizeof(tbk_tensor_t),
                         .storage_bytes = tensor->storage_bytes,
                         .offset = tensor->offset,
                         .dtype = tensor->dtype,
                         .rank = tensor->rank,
                         .sizes = tensor->sizes,
                         .strides = tensor->strides};
  return view;
}

static const emit_host_kernel_t* find_kernel(const char* options) {
  const emit_host_kernel_t* const* kernel = emit_host_kernels;
  while (*kernel != NULL && strcmp((*kernel)->options, options) != 0)
    kernel++;
  return *kernel;
}

/* What keeps intermediate results on a device asks for room; how much is ours. */
static uint64_t workspace_bytes(aclnn_function_t function, const emit_job_t* job) {
  enum { PARTS = 512, LEAST = 64, MOST = 4096 };
  if (function == ACLNN_FUNCTION_ReduceSum) return PARTS;
  if (function != ACLNN_FUNCTION_Mm) return 0;
  uint64_t bytes = LEAST + (emit_output_bytes(job) + LEAST - 1) / LEAST * LEAST;
  return bytes < MOST ? bytes : MOST;
}

/* Makes the job of the arguments, where all operands were taken; nothing is computed. */
static acl_result build(plan_t* plan, const emit_operator_t* made_by, const void* arguments) {
  sim_executor_t* executor = plan->executor;
  tbk_error_t error = {{0}};
  if (emit_build(made_by, arguments, false, &executor->job, &error) != TBK_OK)
    return sim_refuse(ACL_NN_INVALID, error.message);
  executor->kernel = find_kernel(executor->job.options);
  if (executor->kernel == NULL) return sim_refuse(ACL_NN_NO_KERNEL, "no kernel for these dtypes");
  bool computes = plan->function == ACLNN_FUNCTION_ReduceSum || plan->function == ACLNN_FUNCTION_Mm;
  for (int i = 0; i < executor->job.operand_count && computes; i++)
    if (executor->job.operands[i].count == 0)
      return sim_refuse(ACL_NN_TILING, "a tensor without elements");
  executor->workspace_bytes = workspace_bytes(plan->function, &executor->job);
  return ACL_OK;
}

/* The struct of arguments that an operator of the emitter takes, which has them in the order of the function; what it
 * has behind them is 0. */
typedef struct arguments {
  size_t struct_size;
  char members[96];
  size_t used;
  tbk_int_list_t list; /* to which members point */
  int64_t dtype;
} arguments_t;

static void put(arguments_t* to, const void* member, size_t size) {
  memcpy(to->members + to->used, member, size);
  to->used += size;
}

static void check_cube(plan_t* plan, int8_t type) {
  enum { USE_FP32_ADD = 4, CUBE_MATH_TYPES = 5 };
  if (plan->result == ACL_OK && (type < 0 || type >= CUBE_MATH_TYPES))
    plan->result = sim_broken(SIM_FLAGS, plan->call);
  plan->executor->narrows = type != ACL_KEEP_DTYPE && type != USE_FP32_ADD;
}

static void put_argument(plan_t* plan, arguments_t* to, char letter, const aclnn_word_t* word,
                         const tbk_tensor_t* out) {
  const tbk_tensor_t* view = letter == 't' ? take_view(plan, word->p, false) : out;
  const int64_t truth = letter == 'b' && word->b;
  const void* pointer = letter == 'l' ? (const void*)&to->list : &to->dtype;
  const sim_object_t* object = NULL;
  switch (letter) {
    case 's':
      object = plan_take(plan, word->p, SIM_SCALAR);
      if (object != NULL) put(to, &object->as.scalar, sizeof object->as.scalar);
      break;
    case 'l':
      object = plan_take(plan, word->p, SIM_INTS);
      if (object != NULL) to->list = object->as.ints;
      put(to, &pointer, sizeof pointer);
      break;
    case 'b':
      put(to, &truth, sizeof truth);
      break;
    case 'n':
      to->dtype = sim_dtype_of(word->n);
      put(to, &pointer, sizeof pointer);
      break;
    case 'c':
      check_cube(plan, word->c);
      break;
    default:
      put(to, &view, sizeof view);
  }
}

/* Takes the output first. */
void plan_kernel(plan_t* plan, const char* arguments, const aclnn_word_t* words) {
  static const emit_operator_t* const operators[] = {
      [ACLNN_FUNCTION_InplaceFillScalar] = &emit_fill,
      [ACLNN_FUNCTION_InplaceZero] = &emit_fill,
      [ACLNN_FUNCTION_InplaceCopy] = &emit_copy,
      [ACLNN_FUNCTION_Add] = &emit_add,
      [ACLNN_FUNCTION_Mul] = &emit_mul,
      [ACLNN_FUNCTION_SWhere] = &emit_where,
      [ACLNN_FUNCTION_ReduceSum] = &emit_sum,
      [ACLNN_FUNCTION_Mm] = &emit_mm,
  };
  const emit_operator_t* made_by = operators[plan->function];
  arguments_t made = {.struct_size = made_by->arguments_bytes};
  const tbk_tensor_t* out = take_view(plan, words[strchr(arguments, 'o') - arguments].p, true);
  for (int i = 0; arguments[i] != '\0'; i++)
    put_argument(plan, &made, arguments[i], &words[i], out);
  if (plan->result == ACL_OK) plan->result = build(plan, made_by, &made);
}

acl_result plan_finish(const plan_t* plan) {
  acl_result result = plan->result;
  sim_object_t value = {
      .kind = SIM_EXECUTOR, .context = plan->context, .as.executor = plan->executor};
  sim_object_t* object = result == ACL_OK ? sim_object_add(&value) : NULL;
  if (result == ACL_OK && object == NULL) result = ACL_BAD_ALLOC;
  if (result != ACL_OK) {
    free(plan->executor);
    return result;
  }
  *plan->out_bytes = plan->executor->workspace_bytes;
  *plan->out_executor = (acl_executor*)(void*)object;
  return ACL_OK;
}
