/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel.h: what the kernels share. A kernel's build function checks the arguments and makes a job of
 * them, which refers to nothing of the caller's; the job is computed when its turn comes.
 */
#ifndef TBK_CPU_KERNEL_H
#define TBK_CPU_KERNEL_H

#include "cpu.h"

enum { CPU_OPERANDS_MOST = 4 };

/* A tensor, resolved. Strides are in bytes. */
typedef struct cpu_view {
  char* data; /* of the element at index 0; NULL where there is none, or nothing was resolved */
  int32_t dtype;
  int32_t rank;
  int64_t element_bytes;
  int64_t count;
  int64_t sizes[CPU_MAX_RANK];
  int64_t strides[CPU_MAX_RANK];
} cpu_view_t;

/* An element in the widest form of its kind. */
typedef struct cpu_number {
  tbk_kind_t kind;
  int64_t integer;
  double real, imaginary;
} cpu_number_t;

typedef struct cpu_job cpu_job_t;
typedef struct cpu_generic cpu_generic_t;
typedef struct cpu_index cpu_index_t;
typedef struct cpu_sort cpu_sort_t;
typedef struct cpu_convolution cpu_convolution_t;
struct cpu_job {
  void (*compute)(const cpu_job_t* job);
  int operand_count;
  cpu_view_t operands[CPU_OPERANDS_MOST]; /* the output, then the inputs */
  cpu_number_t scalar, beta;
  char value[16];   /* of an element of the output: fill_ */
  uint32_t reduced; /* bit n: dimension n is summed over */
  bool pack;        /* mm: the output goes through the workspace */
  uint64_t workspace_bytes;
  char* workspace;
  code_cache_t* cache;            /* where the code of programs is found */
  cpu_generic_t* generic;         /* tbk::pointwise, tbk::reduce, tbk::scan */
  cpu_index_t* index;             /* tbk::index */
  cpu_sort_t* sort;               /* tbk::sort */
  uint64_t shapes;                /* a hash of their programs, sizes and strides */
  cpu_convolution_t* convolution; /* tbk::convolution */
};

/* `arena` is NULL where only shapes are asked about (prepare). */
typedef tbk_status_t (*cpu_build_fn)(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                                     tbk_error_t* error);
tbk_status_t cpu_build_fill(vdev_arena_t*, const void*, cpu_job_t*, tbk_error_t*);
tbk_status_t cpu_build_copy(vdev_arena_t*, const void*, cpu_job_t*, tbk_error_t*);
tbk_status_t cpu_build_add(vdev_arena_t*, const void*, cpu_job_t*, tbk_error_t*);
tbk_status_t cpu_build_mul(vdev_arena_t*, const void*, cpu_job_t*, tbk_error_t*);
tbk_status_t cpu_build_where(vdev_arena_t*, const void*, cpu_job_t*, tbk_error_t*);
tbk_status_t cpu_build_sum(vdev_arena_t*, const void*, cpu_job_t*, tbk_error_t*);
tbk_status_t cpu_build_mm(vdev_arena_t*, const void*, cpu_job_t*, tbk_error_t*);
tbk_status_t cpu_build_pointwise(vdev_arena_t*, const void*, cpu_job_t*, tbk_error_t*);
tbk_status_t cpu_build_reduce(vdev_arena_t*, const void*, cpu_job_t*, tbk_error_t*);
tbk_status_t cpu_build_matmul(vdev_arena_t*, const void*, cpu_job_t*, tbk_error_t*);
tbk_status_t cpu_build_index(vdev_arena_t*, const void*, cpu_job_t*, tbk_error_t*);
tbk_status_t cpu_build_sort(vdev_arena_t*, const void*, cpu_job_t*, tbk_error_t*);
tbk_status_t cpu_build_scan(vdev_arena_t*, const void*, cpu_job_t*, tbk_error_t*);
tbk_status_t cpu_build_convolution(vdev_arena_t*, const void*, cpu_job_t*, tbk_error_t*);
void cpu_generic_free(cpu_generic_t* generic); /* NULL is nothing */

/* tensor.c: checks a tensor and finds where it lies; `data` stays NULL where `arena` is. */
tbk_status_t cpu_resolve(vdev_arena_t* arena, const tbk_tensor_t* tensor, cpu_view_t* out_view,
                         tbk_error_t* error);
tbk_status_t cpu_add_operand(vdev_arena_t* arena, const tbk_tensor_t* tensor, cpu_job_t* job,
                             tbk_error_t* error);
/* Adds the first operand, which is written: no two of its elements may be one. */
tbk_status_t cpu_add_output(vdev_arena_t* arena, const tbk_tensor_t* tensor, cpu_job_t* job,
                            tbk_error_t* error);
tbk_status_t cpu_want_same_sizes(const cpu_job_t* job, tbk_error_t* error);
tbk_status_t cpu_want_dtype(const cpu_view_t* view, int32_t dtype, tbk_error_t* error);
/* Adds dtype, sizes and strides to a hash. */
uint64_t cpu_hash_view(uint64_t hash, const cpu_view_t* view);
/* Steps `index` through `sizes`, last dimension first; false when it is back at the beginning. */
bool cpu_next_index(int64_t* index, const int64_t* sizes, int32_t rank);

/* element.c: one element, by relaxed atomic accesses wherever it is aligned. */
uint64_t cpu_load_word(const char* from, int64_t size_bytes);
void cpu_store_word(char* to, uint64_t word, int64_t size_bytes);
cpu_number_t cpu_load(const char* from, int32_t dtype);
void cpu_store(char* to, int32_t dtype, cpu_number_t number);
tbk_status_t cpu_number_of(const tbk_scalar_t* scalar, cpu_number_t* out_number,
                           tbk_error_t* error);

/* generic/tile.c: `count` elements of `bytes` each, between the memory of a device, where they lie `stride` bytes
 * apart, and a buffer. */
void cpu_row_load(char* to, const char* from, int64_t stride, int64_t count, int64_t bytes);
void cpu_row_store(char* to, const char* from, int64_t stride, int64_t count, int64_t bytes);
/* The same from one place of such memory to another; a stride of 0 reads one element for all. `bytes` is a size that
 * cpu_is_word() holds for. */
void cpu_row_copy(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t count,
                  int64_t bytes);
static inline bool cpu_is_word(int64_t bytes) {
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* Returns what sums and products of a dtype are added in: halves in FLOAT32, integers in INT64, which wraps around and
 * is cut to size. */
static inline int32_t cpu_summed_in(int32_t dtype) {
  if (tbk_dtype_kind(dtype) == TBK_KIND_INTEGER) return TBK_INT64;
  return dtype == TBK_FLOAT64 ? TBK_FLOAT64 : TBK_FLOAT32;
}

/* blas.c: C = alpha * A * B + beta * C, row-major; false where no BLAS can be had. With a beta of 0 C is not
 * read. */
typedef struct cpu_matrix {
  char* data;
  int32_t stride; /* elements between rows; between columns where it is transposed */
  bool transposed;
} cpu_matrix_t;
bool cpu_blas_gemm(int32_t dtype, int32_t m, int32_t n, int32_t k, double alpha, cpu_matrix_t a,
                   cpu_matrix_t b, double beta, cpu_matrix_t c);

#endif /* TBK_CPU_KERNEL_H */
