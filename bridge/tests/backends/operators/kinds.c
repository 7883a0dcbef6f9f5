/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kinds.c: the kernel of kinds.yml. It adds all arguments up, each with a weight of its own, so that
 * one which came to another place of the struct is seen.
 */
#include "kinds_operators.h"

#include <string.h>

#include "kernels.h"

static double first(const tbk_tensor_t* tensor) {
  return tensor ? ((const float*)(uintptr_t)tensor->memory)[tensor->offset] : 0;
}

static double value(const tbk_scalar_t* scalar) {
  if (!scalar) return 0;
  return scalar->kind == TBK_SCALAR_DOUBLE ? scalar->real : (double)scalar->integer;
}

static double lists(const tbk_args_kinds__total_t* args) {
  double sum = 0;
  for (size_t i = 0; i < args->list.count; ++i)
    sum += first(args->list.items[i]);
  for (size_t i = 0; i < args->ints.count; ++i)
    sum += 10.0 * (double)args->ints.items[i];
  for (size_t i = 0; i < args->floats.count; ++i)
    sum += 100 * args->floats.items[i];
  for (size_t i = 0; i < args->bools.count; ++i)
    sum += 1000.0 * args->bools.items[i];
  return sum;
}

static double numbers(const tbk_args_kinds__total_t* args) {
  double sum = (double)args->i + 2.0 * (args->j ? (double)*args->j : 0);
  sum += 4 * args->f + 8 * (args->g ? *args->g : 0) + 16.0 * (double)args->b;
  sum += 32 * value(&args->s) + 64 * value(args->t) + 128.0 * (double)strlen(args->text);
  sum += 256.0 * (double)args->dtype + 512.0 * (args->other ? (double)*args->other : 0);
  return sum + 1024.0 * (double)args->last;
}

static tbk_status_t launch(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                           const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  (void)self, (void)device, (void)kernel, (void)stream, (void)error;
  const tbk_args_kinds__total_t* args = arguments;
  if (args->struct_size != sizeof *args) return TBK_INVALID;
  const double tensors = 0.25 * first(args->x) + 0.5 * first(args->y);
  float* out = (float*)(uintptr_t)args->sum->memory + args->sum->offset;
  *out = (float)(tensors + lists(args) + numbers(args) + (args->none ? 1e6 : 0));
  return TBK_OK;
}

const tbk_kernel_t total = {sizeof total, launch, NULL, NULL, NULL};
