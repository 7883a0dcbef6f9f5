/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cublas.h: the part of cuBLAS that matrix products take, by dlopen. The prototypes are our own, as those
 * in driver.h. Where there is no cuBLAS, a kernel of ours serves.
 */
#ifndef TBK_CUDA_CUBLAS_H
#define TBK_CUDA_CUBLAS_H

#include <stdbool.h>
#include <stddef.h>

#include "driver.h"

typedef struct cublas_object* cublas_handle;

enum {
  CUBLAS_OK = 0,
  CUBLAS_NOT_INITIALIZED = 1,
  CUBLAS_ALLOC_FAILED = 3,
  CUBLAS_INVALID_VALUE = 7,
  CUBLAS_ARCH_MISMATCH = 8,
  CUBLAS_EXECUTION_FAILED = 13,
  CUBLAS_NOT_SUPPORTED = 15
};
enum { CUBLAS_AS_IT_IS = 0, CUBLAS_TRANSPOSED = 1 };
enum { CUBLAS_SCALARS_ON_HOST = 0, CUBLAS_ALGORITHM_DEFAULT = -1 };
/* No TF32 in any of them; and sums of half are kept in float where they are split. */
enum { CUBLAS_MATH_DEFAULT = 0, CUBLAS_MATH_TF32 = 3, CUBLAS_MATH_NO_NARROW_SUMS = 16 };
enum { CUBLAS_COMPUTE_FLOAT = 68, CUBLAS_COMPUTE_FLOAT_EXACT = 69 };
enum { CUBLAS_COMPUTE_DOUBLE_EXACT = 71, CUBLAS_COMPUTE_TF32 = 77 };
enum { CUDA_FLOAT = 0, CUDA_DOUBLE = 1, CUDA_HALF = 2, CUDA_COMPLEX = 4, CUDA_COMPLEX_DOUBLE = 5 };
enum { CUDA_BFLOAT16 = 14 };

/* X(member, symbol, parameters) */
#define CUDA_CUBLAS_MAP(X)                                                                   \
  X(get_property, "cublasGetProperty", (int property, int* out_value))                       \
  X(create, "cublasCreate_v2", (cublas_handle * out_handle))                                 \
  X(destroy, "cublasDestroy_v2", (cublas_handle handle))                                     \
  X(set_pointer_mode, "cublasSetPointerMode_v2", (cublas_handle handle, int mode))           \
  X(set_math_mode, "cublasSetMathMode", (cublas_handle handle, int mode))                    \
  X(set_stream, "cublasSetStream_v2", (cublas_handle handle, cu_stream stream))              \
  X(set_workspace, "cublasSetWorkspace_v2",                                                  \
    (cublas_handle handle, cu_deviceptr workspace, size_t size_bytes))                       \
  X(gemm, "cublasGemmEx",                                                                    \
    (cublas_handle handle, int left_form, int right_form, int rows, int columns, int inner,  \
     const void* alpha, cu_deviceptr left, int left_type, int left_step, cu_deviceptr right, \
     int right_type, int right_step, const void* beta, cu_deviceptr out, int out_type,       \
     int out_step, int computed_in, int algorithm))

typedef struct cuda_cublas {
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration takes no parentheses. */
#define CUDA_CUBLAS_MEMBER(member, symbol, parameters) int(*member) parameters;
  CUDA_CUBLAS_MAP(CUDA_CUBLAS_MEMBER)
#undef CUDA_CUBLAS_MEMBER
} cuda_cublas_t;

/*
 * Opens cuBLAS, once per process and after the driver: the library that the environment names
 * (TBK_CUDA_CUBLAS, where an empty name means none) and no other, else the driver's where that is
 * simulated, else the system's. NULL where there is none, or one that is not of the driver's kind.
 */
const cuda_cublas_t* cuda_cublas(void);

/* Returns which cuBLAS is used and its file, or why none is, for people. */
const char* cuda_cublas_about(void);

#endif /* TBK_CUDA_CUBLAS_H */
