/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * blas.c: OpenBLAS, opened at the first product: loading it costs more than most programs need.
 */
#include "kernel.h"

#include <dlfcn.h>

enum { ROW_MAJOR = 101, AS_IS = 111, TRANSPOSED = 112 };

typedef void (*sgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                         float alpha, const float* a, int lda, const float* b, int ldb, float beta,
                         float* c, int ldc);
typedef void (*dgemm_fn)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                         double alpha, const double* a, int lda, const double* b, int ldb,
                         double beta, double* c, int ldc);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sgemm_fn sgemm;
static dgemm_fn dgemm;

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
}

bool cpu_blas_gemm(int32_t dtype, int32_t m, int32_t n, int32_t k, double alpha, cpu_matrix_t a,
                   cpu_matrix_t b, double beta, cpu_matrix_t c) {
  pthread_once(&once, load);
  if (!sgemm || !dgemm) return false;
  const int ta = a.transposed ? TRANSPOSED : AS_IS, tb = b.transposed ? TRANSPOSED : AS_IS;
  const void *left = a.data, *right = b.data;
  void* out = c.data;
  if (dtype == TBK_FLOAT32)
    sgemm(ROW_MAJOR, ta, tb, m, n, k, (float)alpha, left, a.stride, right, b.stride, (float)beta,
          out, c.stride);
  else
    dgemm(ROW_MAJOR, ta, tb, m, n, k, alpha, left, a.stride, right, b.stride, beta, out, c.stride);
  return true;
}
