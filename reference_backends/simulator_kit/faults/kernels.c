/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernels.c: the part of the scenario that goes through operators: one at once, one by a plan.
 */
#include <tbk/tbk_operators.h>

#include "faults.h"

enum { ROWS = 4, COLUMNS = 8 };

static const int64_t sizes[] = {ROWS, COLUMNS}, strides[] = {COLUMNS, 1}, ones[] = {1, 1};

static tbk_tensor_t tensor(tbk_memory_t memory, const int64_t* shape) {
  return (tbk_tensor_t){.struct_size = sizeof(tbk_tensor_t),
                        .memory = memory,
                        .storage_bytes = sizeof(float) * ROWS * COLUMNS,
                        .dtype = TBK_FLOAT32,
                        .rank = 2,
                        .sizes = shape,
                        .strides = strides};
}

const tbk_kernel_t* fault_find_kernel(const tbk_backend_t* of, const char* name, uint32_t version) {
  const tbk_kernel_t* kernel = of->kernel->kernel_find(of->instance, 0, name, version);
  fault_error.message[0] = '?';
  fault_error.message[1] = '\0';
  (void)fault_note("kernel_find", kernel != NULL ? TBK_OK : TBK_FAILED);
  return kernel;
}

static void sum(const tbk_backend_t* of, const tbk_memory_t* memory, tbk_stream_t* stream) {
  const tbk_kernel_t* kernel =
      fault_find_kernel(of, TBK_NAME_sum_dim_IntList, TBK_VERSION_sum_dim_IntList);
  const tbk_tensor_t in = tensor(memory[0], sizes), out = tensor(memory[1], ones);
  const tbk_args_sum_dim_IntList_t arguments = {
      .struct_size = sizeof arguments, .self = &in, .keepdim = 1, .out = &out};
  if (kernel == NULL) return;
  (void)fault_note("launch sum",
                   kernel->launch(of->instance, 0, kernel, &arguments, stream, &fault_error));
}

/* Into one of its own inputs, which takes memory beside it; at once, and by a plan. */
static void add(const tbk_backend_t* of, const tbk_memory_t* memory, tbk_stream_t* stream) {
  const tbk_kernel_t* kernel = fault_find_kernel(of, TBK_NAME_add_Tensor, TBK_VERSION_add_Tensor);
  const tbk_tensor_t first = tensor(memory[0], sizes), second = tensor(memory[1], sizes);
  const tbk_args_add_Tensor_t arguments = {
      .struct_size = sizeof arguments, .self = &first, .other = &second, .out = &second};
  tbk_plan_t* plan = NULL;
  uint64_t bytes = 0;
  if (kernel == NULL) return;
  (void)fault_note("launch add",
                   kernel->launch(of->instance, 0, kernel, &arguments, stream, &fault_error));
  if (fault_note("prepare", kernel->prepare(of->instance, 0, kernel, &arguments, &plan, &bytes,
                                            &fault_error)) != TBK_OK)
    return;
  tbk_memory_t workspace = 0;
  if (bytes == 0 || FAULT_STEP(of, core, memory_alloc, 0, bytes, &workspace) == TBK_OK)
    (void)fault_note("launch_plan", kernel->launch_plan(of->instance, 0, plan, &arguments,
                                                        workspace, 0, stream, &fault_error));
  kernel->plan_destroy(of->instance, plan);
  (void)FAULT_STEP(of, stream, device_synchronize, 0);
  (void)FAULT_STEP(of, core, memory_free, 0, workspace);
}

static void fill(const tbk_backend_t* of, const tbk_memory_t* memory, tbk_stream_t* stream) {
  const tbk_kernel_t* kernel =
      fault_find_kernel(of, TBK_NAME_fill__Scalar, TBK_VERSION_fill__Scalar);
  const tbk_tensor_t self = tensor(memory[0], sizes);
  tbk_args_fill__Scalar_t arguments = {.struct_size = sizeof arguments, .self = &self};
  arguments.value = (tbk_scalar_t){.kind = TBK_SCALAR_DOUBLE, .real = 2};
  for (int i = 0; i < 2 && kernel != NULL; i++)
    (void)fault_note("launch fill", kernel->launch(of->instance, 0, kernel, &arguments,
                                                   i == 0 ? stream : NULL, &fault_error));
}

static void multiply(const tbk_backend_t* of, const tbk_memory_t* memory, tbk_stream_t* stream) {
  static const int64_t turned[] = {1, COLUMNS}, square[] = {ROWS, ROWS}, tall[] = {COLUMNS, ROWS};
  const tbk_kernel_t* products[] = {
      fault_find_kernel(of, TBK_NAME_mm, TBK_VERSION_mm),
      fault_find_kernel(of, TBK_NAME_mul_Tensor, TBK_VERSION_mul_Tensor)};
  const tbk_tensor_t self = tensor(memory[0], sizes), out = tensor(memory[1], square);
  const tbk_tensor_t all = tensor(memory[1], sizes);
  tbk_tensor_t other = tensor(memory[0], tall);
  other.strides = turned;
  const tbk_args_mm_t mm = {sizeof mm, &self, &other, &out};
  const tbk_args_mul_Tensor_t mul = {sizeof mul, &self, &self, &all};
  const void* const arguments[] = {&mm, &mul};
  for (int i = 0; i < 2; i++)
    if (products[i] != NULL)
      (void)fault_note("launch product", products[i]->launch(of->instance, 0, products[i],
                                                             arguments[i], stream, &fault_error));
}

static void choose(const tbk_backend_t* of, const tbk_memory_t* memory, tbk_stream_t* stream) {
  const tbk_kernel_t* where = fault_find_kernel(of, TBK_NAME_where_self, TBK_VERSION_where_self);
  const tbk_kernel_t* copy = fault_find_kernel(of, TBK_NAME_copy_, TBK_VERSION_copy_);
  const tbk_tensor_t from = tensor(memory[0], sizes), to = tensor(memory[1], sizes);
  tbk_tensor_t condition = tensor(memory[0], sizes);
  condition.dtype = TBK_BOOL;
  const tbk_args_where_self_t where_arguments = {sizeof where_arguments, &condition, &from, &from,
                                                 &to};
  const tbk_args_copy__t copy_arguments = {sizeof copy_arguments, &to, &from, 0};
  if (where != NULL)
    (void)fault_note("launch where",
                     where->launch(of->instance, 0, where, &where_arguments, stream, &fault_error));
  if (copy != NULL)
    (void)fault_note("launch copy",
                     copy->launch(of->instance, 0, copy, &copy_arguments, stream, &fault_error));
}

void fault_kernels(const tbk_backend_t* of, const tbk_memory_t* memory, tbk_stream_t* stream) {
  fill(of, memory, stream);
  sum(of, memory, stream);
  add(of, memory, stream);
  multiply(of, memory, stream);
  choose(of, memory, stream);
  fault_own(of, memory, stream);
  (void)FAULT_STEP(of, stream, device_synchronize, 0);
}
