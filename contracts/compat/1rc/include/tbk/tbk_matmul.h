/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk_matmul.h: the arguments of the generic kernel that multiplies matrices. A backend that offers
 * "tbk::matmul" serves mm, bmm, addmm, baddbmm, linear, mv, dot and what is like them, forward and
 * backward: a transposed or conjugated operand is one of other strides, or a program before it.
 */
#ifndef TBK_TBK_MATMUL_H
#define TBK_TBK_MATMUL_H

#include <tbk/tbk_program.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * tbk::matmul: for each place of the batch
 *
 *   out[..., i, j] = alpha * sum over k of a[..., i, k] * b[..., k, j] + beta * c[..., i, j]
 *
 * The host has made one shape of all: a, b, c and out have one dtype and one rank, out has the sizes
 * [batch..., m, n], a [batch..., m, k], b [batch..., k, n], c those of out; what is broadcast has strides
 * of 0. The dtype is FLOAT16, BFLOAT16, FLOAT32, FLOAT64 or an integer, which BOOL is not. Complex products
 * are several calls.
 *
 * Sums take any order. FLOAT32 is computed in FLOAT32 or better, never in a narrower format; FLOAT16 and
 * BFLOAT16 are summed in FLOAT32 or better and rounded once; integers wrap. alpha and beta are INT for
 * integers, else DOUBLE, rounded to FLOAT32 where that is computed in. Without k the sum is 0. `c` NULL adds
 * nothing, and beta is not read: a host leaves out what it would multiply by 0, so that no NaN comes of it.
 * Where alpha or beta is 0, whether a NaN or an infinity that it multiplies counts is open.
 *
 * `out` has no stride of 0 and no overlap; it may be c exactly, and lies in nothing else that is read.
 */
#define TBK_NAME_matmul "tbk::matmul"
#define TBK_VERSION_matmul 1u
typedef struct tbk_args_matmul {
  size_t struct_size;
  const tbk_tensor_t* a; /* rank 2 to TBK_PROGRAM_MOST_RANK */
  const tbk_tensor_t* b;
  const tbk_tensor_t* c; /* or NULL */
  const tbk_tensor_t* out;
  tbk_scalar_t alpha;
  tbk_scalar_t beta;
  int64_t index_bits; /* 32 where every position and element offset fits into it, else 64 */
} tbk_args_matmul_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_TBK_MATMUL_H */
