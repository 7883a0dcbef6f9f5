/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernels.c: operators by name, one row each. A row has a function that checks the arguments, which
 * <tbk/tbk_aten.h> declares for the overload, and computes: here in plain loops, for FLOAT32. Where a
 * comment says "driver", call your library. What a row can't do it refuses with UNSUPPORTED, and PyTorch
 * computes it otherwise; what has no row is never asked for.
 */
#include "kernels.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <tbk/tbk_aten.h>

enum { RANK_MOST = 8 };

typedef struct kernel {
  tbk_kernel_t table; /* first, so that a tbk_kernel_t of ours is one of these */
  const char* name;
  uint32_t version;
  size_t arguments_bytes;
  tbk_status_t (*run)(const struct kernel* kernel, const void* arguments, tbk_error_t* error);
  float (*of_one)(float); /* what unary() computes for each element */
} kernel_t;

static tbk_status_t fail(tbk_status_t status, tbk_error_t* error, const char* message) {
  if (error) snprintf(error->message, sizeof error->message, "%s", message);
  return status;
}

static tbk_status_t refuse(tbk_error_t* error, const char* reason) {
  return fail(TBK_UNSUPPORTED, error, reason);
}

/* ------------------------------------------------------------------------------------ tensors -- */

static bool is_of(const tbk_tensor_t* tensor, int32_t dtype) {
  return tensor && tensor->dtype == dtype && tensor->rank <= RANK_MOST;
}

static int64_t count(const tbk_tensor_t* tensor) {
  int64_t elements = 1;
  for (int32_t d = 0; d < tensor->rank; d++)
    elements *= tensor->sizes[d];
  return elements;
}

/* Where element `place` of the space that `like` spans lies in `tensor`, which broadcasts to it. */
static int64_t offset_of(const tbk_tensor_t* tensor, const tbk_tensor_t* like, int64_t place) {
  int64_t offset = tensor->offset;
  for (int32_t d = like->rank - 1; d >= 0; d--) {
    const int32_t own = d - (like->rank - tensor->rank);
    const int64_t index = place % like->sizes[d];
    place /= like->sizes[d];
    if (own >= 0 && tensor->sizes[own] != 1) offset += index * tensor->strides[own];
  }
  return offset;
}

static bool broadcasts(const tbk_tensor_t* tensor, const tbk_tensor_t* like) {
  for (int32_t d = 0; d < tensor->rank; d++) {
    const int32_t there = d + like->rank - tensor->rank;
    if (there < 0 || (tensor->sizes[d] != 1 && tensor->sizes[d] != like->sizes[there]))
      return false;
  }
  return true;
}

static float* floats(const tbk_tensor_t* tensor) {
  return (float*)(uintptr_t)tensor->memory;
}

static int64_t* integers(const tbk_tensor_t* tensor) {
  return (int64_t*)(uintptr_t)tensor->memory;
}

static float read(const tbk_tensor_t* tensor, const tbk_tensor_t* like, int64_t place) {
  return floats(tensor)[offset_of(tensor, like, place)];
}

static void write(const tbk_tensor_t* out, int64_t place, float value) {
  floats(out)[offset_of(out, out, place)] = value;
}

static bool are_floats(const tbk_tensor_t* const* tensors, size_t size, const tbk_tensor_t* out) {
  bool are = is_of(out, TBK_FLOAT32);
  for (size_t i = 0; i < size && are; i++)
    are = is_of(tensors[i], TBK_FLOAT32) && broadcasts(tensors[i], out);
  return are;
}

static double real(const tbk_scalar_t* scalar) {
  return scalar->kind == TBK_SCALAR_DOUBLE ? scalar->real : (double)scalar->integer;
}

static float number(const tbk_scalar_t* scalar) {
  return (float)real(scalar);
}

/* ---------------------------------------------------------------------------------- operators -- */

static float relu_of(float x) {
  return x < 0 ? 0 : x; /* a NaN stays one */
}

/* exp, relu and tanh have the same members. */
static tbk_status_t unary(const kernel_t* kernel, const void* arguments, tbk_error_t* error) {
  const tbk_args_exp_t* args = arguments;
  if (!are_floats((const tbk_tensor_t*[]){args->self}, 1, args->out))
    return refuse(error, "FLOAT32 alone");
  for (int64_t i = 0, end = count(args->out); i < end; i++)
    write(args->out, i, kernel->of_one(read(args->self, args->out, i)));
  return TBK_OK;
}

static tbk_status_t add(const kernel_t* kernel, const void* arguments, tbk_error_t* error) {
  (void)kernel;
  const tbk_args_add_Tensor_t* args = arguments;
  if (!are_floats((const tbk_tensor_t*[]){args->self, args->other}, 2, args->out))
    return refuse(error, "FLOAT32 alone");
  const float alpha = number(&args->alpha);
  for (int64_t i = 0, end = count(args->out); i < end; i++) {
    const volatile float product = alpha * read(args->other, args->out, i); /* two roundings */
    write(args->out, i, read(args->self, args->out, i) + product);
  }
  return TBK_OK;
}

static tbk_status_t divide(const kernel_t* kernel, const void* arguments, tbk_error_t* error) {
  (void)kernel;
  const tbk_args_div_Tensor_t* args = arguments;
  if (!are_floats((const tbk_tensor_t*[]){args->self, args->other}, 2, args->out))
    return refuse(error, "FLOAT32 alone");
  for (int64_t i = 0, end = count(args->out); i < end; i++)
    write(args->out, i, read(args->self, args->out, i) / read(args->other, args->out, i));
  return TBK_OK;
}

/* min and max are optional: NULL where they are absent. */
static tbk_status_t clamp(const kernel_t* kernel, const void* arguments, tbk_error_t* error) {
  (void)kernel;
  const tbk_args_clamp_t* args = arguments;
  if (!are_floats((const tbk_tensor_t*[]){args->self}, 1, args->out))
    return refuse(error, "FLOAT32 alone");
  for (int64_t i = 0, end = count(args->out); i < end; i++) {
    float x = read(args->self, args->out, i);
    if (args->min && x < number(args->min)) x = number(args->min);
    if (args->max && x > number(args->max)) x = number(args->max);
    write(args->out, i, x);
  }
  return TBK_OK;
}

/* A list of tensors. All but the dimension that grows are of one size. */
static tbk_status_t cat(const kernel_t* kernel, const void* arguments, tbk_error_t* error) {
  (void)kernel;
  const tbk_args_cat_t* args = arguments;
  const tbk_tensor_t* out = args->out;
  const int64_t along = args->dim < 0 ? args->dim + out->rank : args->dim;
  for (size_t i = 0; i < args->tensors.count; i++)
    if (!is_of(out, TBK_FLOAT32) || !is_of(args->tensors.items[i], TBK_FLOAT32) ||
        args->tensors.items[i]->rank != out->rank)
      return refuse(error, "FLOAT32 of one rank alone");
  tbk_tensor_t part = *out; /* the place in the result that one tensor has */
  int64_t sizes[RANK_MOST];
  for (size_t i = 0; i < args->tensors.count; i++) {
    const tbk_tensor_t* from = args->tensors.items[i];
    memcpy(sizes, from->sizes, sizeof *sizes * (size_t)from->rank);
    part.sizes = sizes;
    for (int64_t k = 0, end = count(from); k < end; k++)
      write(&part, k, read(from, from, k));
    part.offset += sizes[along] * out->strides[along];
  }
  return TBK_OK;
}

/* Indices are INT64, and those that PyTorch hands over are not checked by it. */
static tbk_status_t embedding(const kernel_t* kernel, const void* arguments, tbk_error_t* error) {
  (void)kernel;
  const tbk_args_embedding_t* args = arguments;
  const tbk_tensor_t *out = args->out, *weight = args->weight, *indices = args->indices;
  if (!is_of(out, TBK_FLOAT32) || !is_of(weight, TBK_FLOAT32) || !is_of(indices, TBK_INT64) ||
      weight->rank != 2)
    return refuse(error, "FLOAT32 by INT64 alone");
  const int64_t width = weight->sizes[1];
  for (int64_t i = 0, end = count(indices); i < end; i++) {
    const int64_t row = integers(indices)[offset_of(indices, indices, i)];
    const bool is_there = row >= 0 && row < weight->sizes[0];
    for (int64_t k = 0; k < width; k++)
      write(out, i * width + k, is_there ? read(weight, weight, row * width + k) : nanf(""));
  }
  return TBK_OK;
}

/* Two results. NaN is greater than any number; of equal elements the first comes first. */
static bool is_before(float x, float y, bool largest) {
  if (isnan(x) || isnan(y)) return largest ? isnan(x) && !isnan(y) : !isnan(x) && isnan(y);
  return largest ? x > y : x < y;
}

static tbk_status_t topk(const kernel_t* kernel, const void* arguments, tbk_error_t* error) {
  (void)kernel;
  const tbk_args_topk_t* args = arguments;
  const tbk_tensor_t *self = args->self, *values = args->values, *indices = args->indices;
  if (!is_of(self, TBK_FLOAT32) || !is_of(values, TBK_FLOAT32) || !is_of(indices, TBK_INT64) ||
      self->rank != 1)
    return refuse(error, "a vector of FLOAT32 alone");
  for (int64_t k = 0, last = -1; k < args->k; k++) {
    int64_t best = -1;
    for (int64_t i = 0; i < self->sizes[0]; i++) {
      const float x = read(self, self, i);
      const bool is_left = last < 0 || is_before(read(self, self, last), x, args->largest) ||
                           (i > last && !is_before(x, read(self, self, last), args->largest));
      if (is_left && (best < 0 || is_before(x, read(self, self, best), args->largest))) best = i;
    }
    write(values, k, read(self, self, best));
    integers(indices)[offset_of(indices, indices, k)] = last = best;
  }
  return TBK_OK;
}

/* `out` has its size already. */
static tbk_status_t arange(const kernel_t* kernel, const void* arguments, tbk_error_t* error) {
  (void)kernel;
  const tbk_args_arange_start_out_t* args = arguments;
  if (!is_of(args->out, TBK_FLOAT32)) return refuse(error, "FLOAT32 alone");
  const double start = real(&args->start), step = real(&args->step);
  for (int64_t i = 0, end = count(args->out); i < end; i++)
    write(args->out, i, (float)(start + (double)i * step));
  return TBK_OK;
}

/* -------------------------------------------------------------------------------------- table -- */

static tbk_status_t launch(tbk_instance_t* self, int32_t device, const tbk_kernel_t* table,
                           const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  const kernel_t* kernel = (const kernel_t*)table;
  tbk_status_t status = template_enter(self, device, error);
  if (status != TBK_OK) return status;
  if (stream != NULL) return fail(TBK_INVALID, error, "there are no streams");
  if (!kernel || !arguments || *(const size_t*)arguments < kernel->arguments_bytes)
    return fail(TBK_INVALID, error, "arguments are of another version");
  return kernel->run(kernel, arguments, error); /* driver: enqueue it on the stream */
}

/* A library with two phases offers prepare and launch_plan, too. */
#define ROW(op, run, of_one)                                                           \
  {                                                                                    \
    {sizeof(tbk_kernel_t), launch, NULL, NULL, NULL}, TBK_NAME_##op, TBK_VERSION_##op, \
        sizeof(tbk_args_##op##_t), run, of_one                                         \
  }

static const kernel_t kernels[] = {
    ROW(add_Tensor, add, NULL), ROW(div_Tensor, divide, NULL),
    ROW(exp, unary, expf),      ROW(relu, unary, relu_of),
    ROW(tanh, unary, tanhf),    ROW(clamp, clamp, NULL),
    ROW(cat, cat, NULL),        ROW(embedding, embedding, NULL),
    ROW(topk, topk, NULL),      ROW(arange_start_out, arange, NULL),
};

static const tbk_kernel_t* kernel_find(tbk_instance_t* self, int32_t device, const char* name,
                                       uint32_t version) {
  if (name == NULL || template_enter(self, device, NULL) != TBK_OK) return NULL;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (kernels[i].version == version && strcmp(kernels[i].name, name) == 0)
      return &kernels[i].table;
  return NULL;
}

const tbk_kernel_ops_t template_kernels = {sizeof template_kernels, kernel_find};
