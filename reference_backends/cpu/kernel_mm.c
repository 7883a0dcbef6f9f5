/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel_mm.c: mm, by BLAS where dtype and strides allow it, else by a loop. Operands that BLAS cannot
 * read, and an output that it cannot write or that is an input, go through the workspace.
 */
#include "kernel.h"

#include <limits.h>

enum { OUT, A, B };

static bool has_blas_dtype(const cpu_view_t* view) {
  return view->dtype == TBK_FLOAT32 || view->dtype == TBK_FLOAT64;
}

/* Rows that lie `out_stride` elements apart, each without gaps. */
static bool has_rows(const cpu_view_t* view, int rows, int columns, int64_t* out_stride) {
  const int64_t element = view->element_bytes, width = view->sizes[columns];
  *out_stride = 1;
  if (width > 1 && view->strides[columns] != element) return false;
  if (view->sizes[rows] > 1)
    *out_stride = view->strides[rows] / element;
  else if (width > 1)
    *out_stride = width;
  return *out_stride >= 1 && *out_stride >= width && *out_stride <= INT_MAX;
}

static bool blas_reads(const cpu_view_t* view) {
  int64_t stride;
  return has_rows(view, 0, 1, &stride) || has_rows(view, 1, 0, &stride);
}

static cpu_matrix_t matrix(const cpu_view_t* view) {
  int64_t stride;
  bool transposed = !has_rows(view, 0, 1, &stride);
  if (transposed) has_rows(view, 1, 0, &stride);
  return (cpu_matrix_t){view->data, (int32_t)stride, transposed};
}

/* The same elements, row by row at `data`. */
static cpu_view_t packed(const cpu_view_t* view, char* data) {
  cpu_view_t result = *view;
  result.data = data;
  result.strides[0] = view->sizes[1] * view->element_bytes;
  result.strides[1] = view->element_bytes;
  return result;
}

static void move(const cpu_view_t* to, const cpu_view_t* from) {
  for (int64_t i = 0; i < to->sizes[0]; i++)
    for (int64_t j = 0; j < to->sizes[1]; j++)
      vdev_words_copy(to->data + i * to->strides[0] + j * to->strides[1],
                      from->data + i * from->strides[0] + j * from->strides[1],
                      (uint64_t)to->element_bytes);
}

static cpu_number_t dot(const cpu_view_t* a, const cpu_view_t* b, int64_t row, int64_t column) {
  cpu_number_t sum = {.kind = tbk_dtype_kind(a->dtype)};
  uint64_t integer = 0;
  for (int64_t k = 0; k < a->sizes[1]; k++) {
    cpu_number_t x = cpu_load(a->data + row * a->strides[0] + k * a->strides[1], a->dtype);
    cpu_number_t y = cpu_load(b->data + k * b->strides[0] + column * b->strides[1], b->dtype);
    integer += (uint64_t)x.integer * (uint64_t)y.integer;
    sum.real += x.real * y.real - x.imaginary * y.imaginary;
    sum.imaginary += x.real * y.imaginary + x.imaginary * y.real;
  }
  sum.integer = (int64_t)integer;
  return sum;
}

static void multiply_by_loop(const cpu_view_t* c, const cpu_view_t* a, const cpu_view_t* b) {
  for (int64_t i = 0; i < c->sizes[0]; i++)
    for (int64_t j = 0; j < c->sizes[1]; j++)
      cpu_store(c->data + i * c->strides[0] + j * c->strides[1], c->dtype, dot(a, b, i, j));
}

static bool fits_blas(const cpu_view_t* view) {
  return has_blas_dtype(view) && view->count && view->sizes[0] <= INT_MAX &&
         view->sizes[1] <= INT_MAX && (uintptr_t)view->data % (uintptr_t)view->element_bytes == 0;
}

static bool multiply_by_blas(const cpu_view_t* c, const cpu_view_t* a, const cpu_view_t* b) {
  if (!fits_blas(c) || !fits_blas(a) || !fits_blas(b)) return false;
  return cpu_blas_gemm(c->dtype, (int32_t)c->sizes[0], (int32_t)c->sizes[1], (int32_t)a->sizes[1],
                       1, matrix(a), matrix(b), 0, matrix(c));
}

static void compute(const cpu_job_t* job) {
  if (job->operands[OUT].count == 0) return;
  cpu_view_t views[3];
  char* workspace = job->workspace;
  for (int i = OUT; i <= B; i++) {
    views[i] = job->operands[i];
    if (!job->pack[i]) continue;
    views[i] = packed(&job->operands[i], workspace);
    workspace += views[i].count * views[i].element_bytes;
    if (i != OUT) move(&views[i], &job->operands[i]);
  }
  if (!multiply_by_blas(&views[OUT], &views[A], &views[B]))
    multiply_by_loop(&views[OUT], &views[A], &views[B]);
  if (job->pack[OUT]) move(&job->operands[OUT], &views[OUT]);
}

/* Returns whether the output is this input; without memory, whether it could be. */
static bool may_be(const cpu_view_t* out, const cpu_view_t* in, bool resolved) {
  if (resolved) return out->data == in->data && out->data;
  return out->sizes[0] == in->sizes[0] && out->sizes[1] == in->sizes[1];
}

static void plan_workspace(cpu_job_t* job, bool resolved) {
  const cpu_view_t* views = job->operands;
  int64_t stride;
  bool by_blas = has_blas_dtype(&views[OUT]);
  job->pack[OUT] = (by_blas && !has_rows(&views[OUT], 0, 1, &stride)) ||
                   may_be(&views[OUT], &views[A], resolved) ||
                   may_be(&views[OUT], &views[B], resolved);
  job->pack[A] = by_blas && !blas_reads(&views[A]);
  job->pack[B] = by_blas && !blas_reads(&views[B]);
  for (int i = OUT; i <= B; i++)
    if (job->pack[i]) job->workspace_bytes += (uint64_t)(views[i].count * views[i].element_bytes);
}

tbk_status_t cpu_build_mm(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                          tbk_error_t* error) {
  const tbk_args_mm_t* args = arguments;
  job->compute = compute;
  tbk_status_t status = cpu_add_output(arena, args->out, job, error);
  if (status == TBK_OK) status = cpu_add_operand(arena, args->self, job, error);
  if (status == TBK_OK) status = cpu_add_operand(arena, args->mat2, job, error);
  if (status != TBK_OK) return status;
  const cpu_view_t *c = &job->operands[OUT], *a = &job->operands[A], *b = &job->operands[B];
  if (c->rank != 2 || a->rank != 2 || b->rank != 2 || a->sizes[1] != b->sizes[0] ||
      c->sizes[0] != a->sizes[0] || c->sizes[1] != b->sizes[1])
    return cpu_fail(TBK_UNSUPPORTED, error, "not two matrices and their product");
  status = cpu_want_dtype(a, c->dtype, error);
  if (status == TBK_OK) status = cpu_want_dtype(b, c->dtype, error);
  if (status == TBK_OK) plan_workspace(job, arena != NULL);
  return status;
}
