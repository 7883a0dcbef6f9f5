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
  int op;
  uint64_t refused; /* dtypes, as bits */
  acl_result result;
} refusals[] = {
    {SIM_OPERATOR_mm, ~(BIT(TBK_FLOAT32) | BIT(TBK_FLOAT16) | BIT(TBK_BFLOAT16)), ACL_NN_INVALID},
    {SIM_OPERATOR_sum, BIT(TBK_COMPLEX64) | BIT(TBK_COMPLEX128), ACL_NN_NO_KERNEL},
    {SIM_OPERATOR_mul, BIT(TBK_COMPLEX128), ACL_NN_TILING},
};

bool plan_begin(plan_t* plan, int op, const char* call, uint64_t* out_bytes,
                acl_executor** out_executor) {
  *plan = (plan_t){.call = call, .op = op, .out_bytes = out_bytes, .out_executor = out_executor};
  plan->result = sim_begin_in_context(call, &plan->context);
  if (plan->result != ACL_OK) return false;
  if (out_bytes == NULL || out_executor == NULL) plan->result = sim_broken(SIM_NN_NULL, call);
  if (plan->result != ACL_OK) return false;
  plan->executor = calloc(1, sizeof *plan->executor);
  if (plan->executor == NULL) plan->result = sim_refuse(ACL_BAD_ALLOC, "no host memory left");
  if (plan->executor != NULL) plan->executor->op = op;
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

static acl_result judge(int op, const sim_tensor_t* tensor) {
  if (tensor->rank == SIM_TOO_MANY) return sim_refuse(ACL_NN_INVALID, "more than 8 dimensions");
  if (tensor->dtype == SIM_NO_DTYPE) return sim_refuse(ACL_NN_INVALID, "a dtype of no operator");
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
    if (refusals[i].op == op && (refusals[i].refused & BIT(tensor->dtype)) != 0)
      return sim_refuse(refusals[i].result, "the operator does not take this dtype");
  return ACL_OK;
}

/* The bytes that an operand reaches, from the first to behind the last; none where it has no element. */
static void find_reach(const sim_tensor_t* tensor, sim_operand_t* operand) {
  const uint64_t bytes = (uint64_t)tbk_dtype_bytes(tensor->dtype);
  int64_t last = tensor->offset;
  for (int i = 0; i < tensor->rank; i++) {
    if (tensor->sizes[i] == 0) return;
    last += (tensor->sizes[i] - 1) * tensor->strides[i];
  }
  operand->begin = tensor->data + (uintptr_t)tensor->offset * bytes;
  operand->end = tensor->data + (uintptr_t)(last + 1) * bytes;
}

const sim_tensor_t* plan_take_tensor(plan_t* plan, const void* handle, bool is_written) {
  sim_object_t* object = plan_take(plan, handle, SIM_TENSOR);
  if (object == NULL) return NULL;
  const sim_tensor_t* tensor = &object->as.tensor;
  plan->result = judge(plan->op, tensor);
  if (plan->result != ACL_OK) return NULL;
  sim_operand_t* operand = &plan->executor->handles[plan->executor->handle_count - 1];
  operand->data = tensor->data;
  operand->storage_bytes = tensor->storage_bytes;
  operand->is_tensor = true;
  operand->is_written = is_written;
  find_reach(tensor, operand);
  return tensor;
}

/* Takes the output first, then the inputs. */
static void take_tensor(plan_t* plan, const acl_tensor* handle) {
  const sim_tensor_t* tensor = plan_take_tensor(plan, handle, plan->view_count == 0);
  if (tensor == NULL) return;
  plan->views[plan->view_count++] = (tbk_tensor_t){.struct_size = sizeof(tbk_tensor_t),
                                                   .storage_bytes = tensor->storage_bytes,
                                                   .offset = tensor->offset,
                                                   .dtype = tensor->dtype,
                                                   .rank = tensor->rank,
                                                   .sizes = tensor->sizes,
                                                   .strides = tensor->strides};
}

static tbk_scalar_t take_scalar(plan_t* plan, const acl_scalar* handle) {
  const sim_object_t* object = plan_take(plan, handle, SIM_SCALAR);
  return object != NULL ? object->as.scalar : (tbk_scalar_t){.kind = TBK_SCALAR_INT};
}

static tbk_int_list_t take_ints(plan_t* plan, const acl_ints* handle) {
  const sim_object_t* object = plan_take(plan, handle, SIM_INTS);
  return object != NULL ? object->as.ints : (tbk_int_list_t){NULL, 0};
}

static const emit_host_kernel_t* find_kernel(const char* options) {
  const emit_host_kernel_t* const* kernel = emit_host_kernels;
  while (*kernel != NULL && strcmp((*kernel)->options, options) != 0)
    kernel++;
  return *kernel;
}

/* What keeps intermediate results on a device asks for room; how much is ours. */
static uint64_t workspace_bytes(int op, const emit_job_t* job) {
  enum { PARTS = 512, LEAST = 64, MOST = 4096 };
  if (op == SIM_OPERATOR_sum) return PARTS;
  if (op != SIM_OPERATOR_mm) return 0;
  uint64_t bytes = LEAST + (emit_output_bytes(job) + LEAST - 1) / LEAST * LEAST;
  return bytes < MOST ? bytes : MOST;
}

/* Makes the job of the arguments, where all operands were taken; nothing is computed. */
static acl_result build(plan_t* plan, const emit_operator_t* made_by, const void* arguments) {
  sim_executor_t* executor = plan->executor;
  tbk_error_t error = {{0}};
  if (plan->result != ACL_OK) return plan->result;
  if (emit_build(made_by, arguments, false, &executor->job, &error) != TBK_OK)
    return sim_refuse(ACL_NN_INVALID, error.message);
  executor->kernel = find_kernel(executor->job.options);
  if (executor->kernel == NULL) return sim_refuse(ACL_NN_NO_KERNEL, "no kernel for these dtypes");
  bool computes = plan->op == SIM_OPERATOR_sum || plan->op == SIM_OPERATOR_mm;
  for (int i = 0; i < executor->job.operand_count && computes; i++)
    if (executor->job.operands[i].count == 0)
      return sim_refuse(ACL_NN_TILING, "a tensor without elements");
  executor->workspace_bytes = workspace_bytes(plan->op, &executor->job);
  return ACL_OK;
}

acl_result plan_finish(const plan_t* plan, acl_result result) {
  sim_object_t value = {
      .kind = SIM_EXECUTOR, .context = plan->context, .as.executor = plan->executor};
  sim_object_t* object = result == ACL_OK ? sim_object_add(&value) : NULL;
  if (result == ACL_OK && object == NULL) result = sim_refuse(ACL_BAD_ALLOC, "no host memory left");
  if (result != ACL_OK) {
    free(plan->executor);
    return result;
  }
  *plan->out_bytes = plan->executor->workspace_bytes;
  *plan->out_executor = (acl_executor*)(void*)object;
  return ACL_OK;
}

static const struct {
  const char* call;
  int tensors;
} operators[] = {
#define OPERATOR(member, count, name) [SIM_OPERATOR_##member] = {ACL_PHASE_ONE_SYMBOL(name), count}
    OPERATOR(fill, 1, "InplaceFillScalar"),
    OPERATOR(zero, 1, "InplaceZero"),
    OPERATOR(copy, 2, "InplaceCopy"),
    OPERATOR(add, 3, "Add"),
    OPERATOR(mul, 3, "Mul"),
    OPERATOR(where, 4, "SWhere"),
    OPERATOR(sum, 2, "ReduceSum"),
    OPERATOR(mm, 3, "Mm"),
#undef OPERATOR
};

/* Takes the tensors, the output first. What is wrong is answered at the end. */
static plan_t begin(int op, const acl_tensor* const* tensors, uint64_t* out_bytes,
                    acl_executor** out_executor) {
  plan_t plan;
  const bool begun = plan_begin(&plan, op, operators[op].call, out_bytes, out_executor);
  for (int i = 0; begun && i < operators[op].tensors; i++)
    take_tensor(&plan, tensors[i]);
  return plan;
}

static acl_result end(plan_t* plan, const emit_operator_t* made_by, const void* arguments) {
  return plan_finish(plan, build(plan, made_by, arguments));
}

/* BEGIN(operator, tensors): behind the parameters that all of them end in. */
#define BEGIN(member, ...) \
  begin(SIM_OPERATOR_##member, (const acl_tensor* const[]){__VA_ARGS__}, out_bytes, out_executor)

acl_result plan_fill(acl_tensor* self, const acl_scalar* value, uint64_t* out_bytes,
                     acl_executor** out_executor) {
  plan_t plan = BEGIN(fill, self);
  const tbk_args_fill__Scalar_t arguments = {sizeof arguments, &plan.views[0],
                                             take_scalar(&plan, value)};
  return end(&plan, &emit_fill, &arguments);
}

acl_result plan_zero(acl_tensor* self, uint64_t* out_bytes, acl_executor** out_executor) {
  plan_t plan = BEGIN(zero, self);
  const tbk_args_fill__Scalar_t arguments = {
      sizeof arguments, &plan.views[0], {.kind = TBK_SCALAR_INT}};
  return end(&plan, &emit_fill, &arguments);
}

acl_result plan_copy(acl_tensor* self, const acl_tensor* source, uint64_t* out_bytes,
                     acl_executor** out_executor) {
  plan_t plan = BEGIN(copy, self, source);
  const tbk_args_copy__t arguments = {sizeof arguments, &plan.views[0], &plan.views[1], 0};
  return end(&plan, &emit_copy, &arguments);
}

acl_result plan_add(const acl_tensor* self, const acl_tensor* other, const acl_scalar* alpha,
                    acl_tensor* out, uint64_t* out_bytes, acl_executor** out_executor) {
  plan_t plan = BEGIN(add, out, self, other);
  const tbk_args_add_Tensor_t arguments = {sizeof arguments, &plan.views[1], &plan.views[2],
                                           take_scalar(&plan, alpha), &plan.views[0]};
  return end(&plan, &emit_add, &arguments);
}

acl_result plan_mul(const acl_tensor* self, const acl_tensor* other, acl_tensor* out,
                    uint64_t* out_bytes, acl_executor** out_executor) {
  plan_t plan = BEGIN(mul, out, self, other);
  const tbk_args_mul_Tensor_t arguments = {sizeof arguments, &plan.views[1], &plan.views[2],
                                           &plan.views[0]};
  return end(&plan, &emit_mul, &arguments);
}

acl_result plan_where(const acl_tensor* condition, const acl_tensor* self, const acl_tensor* other,
                      acl_tensor* out, uint64_t* out_bytes, acl_executor** out_executor) {
  plan_t plan = BEGIN(where, out, condition, self, other);
  const tbk_args_where_self_t arguments = {sizeof arguments, &plan.views[1], &plan.views[2],
                                           &plan.views[3], &plan.views[0]};
  return end(&plan, &emit_where, &arguments);
}

acl_result plan_sum(const acl_tensor* self, const acl_ints* dims, bool keepdim, int dtype,
                    acl_tensor* out, uint64_t* out_bytes, acl_executor** out_executor) {
  plan_t plan = BEGIN(sum, out, self);
  const tbk_int_list_t list = take_ints(&plan, dims);
  const int64_t result_dtype = sim_dtype_of(dtype);
  const tbk_args_sum_dim_IntList_t arguments = {sizeof arguments, &plan.views[1], &list,
                                                keepdim,          &result_dtype,  &plan.views[0]};
  return end(&plan, &emit_sum, &arguments);
}

acl_result plan_mm(const acl_tensor* self, const acl_tensor* mat2, acl_tensor* out,
                   int8_t cube_math_type, uint64_t* out_bytes, acl_executor** out_executor) {
  enum { USE_FP32_ADD = 4, CUBE_MATH_TYPES = 5 };
  plan_t plan = BEGIN(mm, out, self, mat2);
  if (plan.result == ACL_OK && (cube_math_type < 0 || cube_math_type >= CUBE_MATH_TYPES))
    plan.result = sim_broken(SIM_FLAGS, plan.call);
  if (plan.result == ACL_OK)
    plan.executor->narrows = cube_math_type != ACL_KEEP_DTYPE && cube_math_type != USE_FP32_ADD;
  const tbk_args_mm_t arguments = {sizeof arguments, &plan.views[1], &plan.views[2],
                                   &plan.views[0]};
  return end(&plan, &emit_mm, &arguments);
}
