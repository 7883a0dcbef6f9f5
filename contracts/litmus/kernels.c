/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernels.c: kernels as work of a program: one fills, one copies, bytes both, as contiguous tensors. What
 * a call names is on the stack: the library keeps nothing of it (KRN-007).
 */
#include <tbk/tbk_operators.h>

#include <string.h>

#include "runner.h"

typedef struct bytes {
  tbk_tensor_t tensor;
  int64_t size, stride;
} bytes_t;

static void describe(bytes_t* out, tbk_memory_t memory, uint64_t at, uint64_t count) {
  *out = (bytes_t){.size = (int64_t)count, .stride = 1};
  out->tensor = (tbk_tensor_t){.struct_size = sizeof out->tensor,
                               .memory = memory,
                               .storage_bytes = at + count,
                               .offset = (int64_t)at,
                               .dtype = TBK_UINT8,
                               .rank = 1,
                               .sizes = &out->size,
                               .strides = &out->stride};
}

/* What a launch is given is its caller's again when it returns (KRN-007): nothing of it stays as it was, and
   the compiler may not leave that out. */
static void forget(void* given, size_t size) {
  memset(given, 0, size);
  __asm__ volatile("" : : "r"(given) : "memory");
}

static tbk_status_t launch(litmus_runner_t* r, int32_t device, const tbk_kernel_t* kernel,
                           void* arguments, size_t size, tbk_stream_t* stream, tbk_error_t* error) {
  const tbk_status_t status = kernel->launch(r->self, device, kernel, arguments, stream, error);
  forget(arguments, size);
  return status;
}

static tbk_status_t launch_fill(litmus_runner_t* r, int32_t device, tbk_memory_t memory,
                                uint64_t at, uint64_t count, uint8_t value, tbk_stream_t* stream,
                                tbk_error_t* error) {
  bytes_t to;
  describe(&to, memory, at, count);
  tbk_args_fill__Scalar_t arguments = {
      .struct_size = sizeof arguments,
      .self = &to.tensor,
      .value = {.kind = TBK_SCALAR_INT, .integer = value, .real = value}};
  const tbk_status_t status =
      launch(r, device, r->fill_kernels[device], &arguments, sizeof arguments, stream, error);
  forget(&to, sizeof to);
  return status;
}

static tbk_status_t launch_copy(litmus_runner_t* r, int32_t device, tbk_memory_t to_memory,
                                tbk_memory_t from_memory, uint64_t at, uint64_t count,
                                tbk_stream_t* stream, tbk_error_t* error) {
  bytes_t to, from;
  describe(&to, to_memory, at, count);
  describe(&from, from_memory, at, count);
  tbk_args_copy__t arguments = {
      .struct_size = sizeof arguments, .self = &to.tensor, .src = &from.tensor};
  const tbk_status_t status =
      launch(r, device, r->copy_kernels[device], &arguments, sizeof arguments, stream, error);
  forget(&to, sizeof to);
  forget(&from, sizeof from);
  return status;
}

tbk_status_t litmus_launch(litmus_runner_t* r, const litmus_call_t* call, tbk_stream_t* stream,
                           tbk_error_t* error) {
  const int32_t device = litmus_cell_device(r->program, call->cell);
  uint64_t at, count;
  litmus_call_range(r->program, call, &at, &count);
  if (call->op == LITMUS_KERNEL_FILL)
    return launch_fill(r, device, r->cells[call->cell], at, count, call->value, stream, error);
  return launch_copy(r, device, r->cells[call->cell], r->cells[call->other], at, count, stream,
                     error);
}

/* A kernel may refuse bytes: then no program uses it. */
static bool takes_bytes(litmus_runner_t* r, int32_t device) {
  enum { COUNT = 64 };
  tbk_memory_t one = 0, two = 0;
  tbk_error_t* error = &r->error;
  bool takes = r->core->memory_alloc(r->self, device, COUNT, &one, error) == TBK_OK &&
               r->core->memory_alloc(r->self, device, COUNT, &two, error) == TBK_OK &&
               launch_fill(r, device, one, 0, COUNT, 1, NULL, error) == TBK_OK &&
               launch_copy(r, device, two, one, 0, COUNT, NULL, error) == TBK_OK;
  if (one != 0) (void)!r->core->memory_free(r->self, device, one, error);
  if (two != 0) (void)!r->core->memory_free(r->self, device, two, error);
  return takes;
}

bool litmus_find_kernels(litmus_runner_t* r) {
  bool found = r->kernel != NULL;
  for (int32_t device = 0; found && device < (int32_t)r->offers.devices; device++) {
    const tbk_kernel_t* fill =
        r->kernel->kernel_find(r->self, device, TBK_NAME_fill__Scalar, TBK_VERSION_fill__Scalar);
    const tbk_kernel_t* copy =
        r->kernel->kernel_find(r->self, device, TBK_NAME_copy_, TBK_VERSION_copy_);
    r->fill_kernels[device] = fill;
    r->copy_kernels[device] = copy;
    found = fill != NULL && copy != NULL && takes_bytes(r, device);
  }
  return found;
}
