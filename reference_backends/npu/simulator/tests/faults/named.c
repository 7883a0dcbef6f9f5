/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * named.c: overloads by name: one of tensors, one into its own operand, which is computed apart, one of a list.
 */
#include <tbk/tbk_aten.h>

#include "faults.h"

enum { ROWS = 4, COLUMNS = 8 };

static tbk_tensor_t tensor(tbk_memory_t memory, const int64_t* sizes) {
  static const int64_t strides[] = {COLUMNS, 1};
  return (tbk_tensor_t){.struct_size = sizeof(tbk_tensor_t),
                        .memory = memory,
                        .storage_bytes = sizeof(float) * 2 * ROWS * COLUMNS,
                        .dtype = TBK_FLOAT32,
                        .rank = 2,
                        .sizes = sizes,
                        .strides = strides};
}

static const int64_t half[] = {ROWS, COLUMNS}, whole[] = {2 * ROWS, COLUMNS};

static void exponents(const tbk_backend_t* of, const tbk_memory_t* memory, tbk_stream_t* stream) {
  const tbk_kernel_t* kernel = fault_find_kernel(of, TBK_NAME_exp, TBK_VERSION_exp);
  const tbk_tensor_t from = tensor(memory[0], half), to = tensor(memory[1], half);
  const tbk_args_exp_t there = {sizeof there, &from, &to}, in_place = {sizeof in_place, &to, &to};
  if (kernel == NULL) return;
  (void)fault_note("launch exp",
                   kernel->launch(of->instance, 0, kernel, &there, stream, &fault_error));
  (void)fault_note("launch exp in place",
                   kernel->launch(of->instance, 0, kernel, &in_place, NULL, &fault_error));
}

static void put_together(const tbk_backend_t* of, const tbk_memory_t* memory,
                         tbk_stream_t* stream) {
  const tbk_kernel_t* kernel = fault_find_kernel(of, TBK_NAME_cat, TBK_VERSION_cat);
  const tbk_tensor_t from = tensor(memory[0], half), to = tensor(memory[1], whole);
  const tbk_tensor_t* const items[] = {&from, &from};
  const tbk_args_cat_t arguments = {
      .struct_size = sizeof arguments, .tensors = {items, 2}, .out = &to};
  if (kernel != NULL)
    (void)fault_note("launch cat",
                     kernel->launch(of->instance, 0, kernel, &arguments, stream, &fault_error));
}

void fault_own(const tbk_backend_t* of, const tbk_memory_t* memory, tbk_stream_t* stream) {
  exponents(of, memory, stream);
  put_together(of, memory, stream);
}
