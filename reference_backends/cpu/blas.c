/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * blas.c: OpenBLAS, opened at the first product: loading it costs more than most programs need.
 */
#include "kernel.h"

#include <dlfcn.h>
#include <string.h>

enum { ROW_MAJOR = 101, AS_IS = 111, TRANSPOSED = 112 };
enum { FEW = 3 }; /* so few rows are sooner multiplied one by one than packed */

typedef void (*sgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                         float alpha, const float* a, int lda, const float* b, int ldb, float beta,
                         float* c, int ldc);
typedef void (*dgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                         double alpha, const double* a, int lda, const double* b, int ldb,
                         double beta, double* c, int ldc);

typedef void (*sgemv_fn)(int order, int transpose, int m, int n, float alpha, const float* a,
                         int lda, const float* x, int x_step, float beta, float* y, int y_step);
typedef void (*dgemv_fn)(int order, int transpose, int m, int n, double alpha, const double* a,
                         int lda, const double* x, int x_step, double beta, double* y, int y_step);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sgemm_fn sgemm;
static dgemm_fn dgemm;
static sgemv_fn sgemv;
static dgemv_fn dgemv;
/* An OpenBLAS that was built without threads shares its buffers between calls without a lock: two at a time compute
 * wrong numbers now and then. */
static bool is_locked;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* OpenBLAS says 0 where it was built without threads; who does not say is no OpenBLAS. */
static bool needs_lock(void* library) {
  enum { SEQUENTIAL = 0 };
  int (*built_with)(void) = (int (*)(void))dlsym(library, "openblas_get_parallel");
  return built_with && built_with() == SEQUENTIAL;
}

/* One thread each: the devices are the parallelism here, and a fork stays cheap. */
static void load(void) {
  static const char* const names[] = {TBK_CPU_BLAS, "libopenblas.so.0"};
  void* library = NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  void* set_threads = dlsym(library, "openblas_set_num_threads");
  if (set_threads) ((void (*)(int))set_threads)(1);
  sgemm = (sgemm_fn)dlsym(library, "cblas_sgemm");
  dgemm = (dgemm_fn)dlsym(library, "cblas_dgemm");
  sgemv = (sgemv_fn)dlsym(library, "cblas_sgemv");
  dgemv = (dgemv_fn)dlsym(library, "cblas_dgemv");
  is_locked = needs_lock(library);
}

/* ----------------------------------------------------------------------------- few rows -------- */

/* A matrix of so many rows and columns. */
typedef struct operand {
  cpu_matrix_t matrix;
  int32_t rows, columns;
} operand_t;

static operand_t turned(operand_t of) {
  of.matrix.transposed = !of.matrix.transposed;
  return (operand_t){of.matrix, of.columns, of.rows};
}

/* y = alpha * matrix * x + y; steps are in elements. */
static void multiply_row(int32_t dtype, const operand_t* by, double alpha, const char* x,
                         int x_step, char* y, int y_step) {
  const int turn = by->matrix.transposed ? TRANSPOSED : AS_IS;
  const int m = by->matrix.transposed ? by->columns : by->rows;
  const int n = by->matrix.transposed ? by->rows : by->columns;
  const void *matrix = by->matrix.data, *in = x;
  void* out = y;
  if (dtype == TBK_FLOAT32)
    sgemv(ROW_MAJOR, turn, m, n, (float)alpha, matrix, by->matrix.stride, in, x_step, 1, out,
          y_step);
  else
    dgemv(ROW_MAJOR, turn, m, n, alpha, matrix, by->matrix.stride, in, x_step, 1, out, y_step);
}

/* y = beta * y, for which BLAS may do nothing where beta is NaN. What y has is not read where beta is 0. */
static void scale_row(int32_t dtype, void* row, int64_t step, int64_t count, double beta) {
  const int64_t bytes = tbk_dtype_bytes(dtype);
  if (beta == 0 && step == 1) {
    memset(row, 0, (size_t)(count * bytes));
    return;
  }
  for (int64_t i = 0; i < count; i++)
    if (dtype == TBK_FLOAT32) {
      float* y = (float*)row + i * step;
      *y = beta == 0 ? 0 : (float)beta * *y;
    } else {
      double* y = (double*)row + i * step;
      *y = beta == 0 ? 0 : beta * *y;
    }
}

/* Each row of c is b, turned, times a row of a. Elements of a row of c are `step` apart, rows `next`. */
static void multiply_rows(int32_t dtype, operand_t a, operand_t b, double alpha, double beta,
                          char* c, int64_t step, int64_t next) {
  const int64_t bytes = tbk_dtype_bytes(dtype);
  const int64_t x_next = a.matrix.transposed ? 1 : a.matrix.stride;
  const int x_step = a.matrix.transposed ? a.matrix.stride : 1;
  const operand_t by = turned(b);
  for (int32_t i = 0; i < a.rows; i++, c += next * bytes) {
    if (beta != 1) scale_row(dtype, c, step, b.columns, beta);
    multiply_row(dtype, &by, alpha, a.matrix.data + i * x_next * bytes, x_step, c, (int)step);
  }
}

/* ----------------------------------------------------------------------------- products -------- */

static void multiply(int32_t dtype, const operand_t* a, const operand_t* b, double alpha,
                     double beta, cpu_matrix_t c) {
  const int ta = a->matrix.transposed ? TRANSPOSED : AS_IS;
  const int tb = b->matrix.transposed ? TRANSPOSED : AS_IS;
  const void *left = a->matrix.data, *right = b->matrix.data;
  void* out = c.data;
  if (dtype == TBK_FLOAT32)
    sgemm(ROW_MAJOR, ta, tb, a->rows, b->columns, a->columns, (float)alpha, left, a->matrix.stride,
          right, b->matrix.stride, (float)beta, out, c.stride);
  else
    dgemm(ROW_MAJOR, ta, tb, a->rows, b->columns, a->columns, alpha, left, a->matrix.stride, right,
          b->matrix.stride, beta, out, c.stride);
}

bool cpu_blas_gemm(int32_t dtype, int32_t m, int32_t n, int32_t k, double alpha, cpu_matrix_t a,
                   cpu_matrix_t b, double beta, cpu_matrix_t c) {
  pthread_once(&once, load);
  if (!sgemm || !dgemm || !sgemv || !dgemv) return false;
  const operand_t first = {a, m, k}, second = {b, k, n};
  if (is_locked) pthread_mutex_lock(&lock);
  if (m <= FEW)
    multiply_rows(dtype, first, second, alpha, beta, c.data, 1, c.stride);
  else if (n <= FEW)
    multiply_rows(dtype, turned(second), turned(first), alpha, beta, c.data, c.stride, 1);
  else
    multiply(dtype, &first, &second, alpha, beta, c);
  if (is_locked) pthread_mutex_unlock(&lock);
  return true;
}
