/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk_convolution.h: the arguments of the generic kernel of convolutions. A backend that offers
 * "tbk::convolution" serves those of one to three dimensions, with groups, transposed and not, forward and
 * backward.
 */
#ifndef TBK_TBK_CONVOLUTION_H
#define TBK_TBK_CONVOLUTION_H

#include <tbk/tbk_program.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which of the three tensors is written; the others are read. */
enum {
  TBK_CONVOLUTION_OUTPUT = 0, /* the convolution */
  TBK_CONVOLUTION_INPUT = 1,  /* its gradient by the input; a transposed convolution is this */
  TBK_CONVOLUTION_WEIGHT = 2  /* its gradient by the weight */
};

enum { TBK_CONVOLUTION_MOST_SPATIAL = 3 };

/*
 * tbk::convolution. With d from 1 to 3 spatial dimensions
 *
 *   input   [N, C, x1 ... xd]         x: sizes of the input
 *   weight  [F, C / groups, k1 ... kd]
 *   output  [N, F, y1 ... yd]
 *
 * the convolution is, for f in group g = f / (F / groups), whose channels begin at g * (C / groups),
 *
 *   output[n, f, y] = sum over c, k of input[n, g * (C / groups) + c, y * stride + k * dilation - padding]
 *                                    * weight[f, c, k]
 *
 * of the places that the input has: a product of one outside of its sizes is left out of the sum, so that no
 * NaN comes of padding, whatever the weight is. The two gradients sum the same products by the other
 * two tensors: input[...] = sum of output * weight, weight[...] = sum of input * output, each over all
 * places of the formula that name that element; 0 where none does. To each element of an output or input
 * that is written the bias of its channel is added. Hence a transposed convolution from T to U is INPUT with
 * `output` T and `input` U; its output padding is in the sizes of U alone.
 *
 * All have one dtype: FLOAT16, BFLOAT16, FLOAT32, FLOAT64 or an integer, but not BOOL. Sums take any order.
 * FLOAT32 is computed in FLOAT32 or better; FLOAT16 and BFLOAT16 are summed in FLOAT32 or better and rounded
 * once; integers wrap. Strides are any; channels-last is a matter of strides. What is written has no stride of 0
 * and no overlap, and nothing that is read lies in it. The sizes of output need not be the greatest that fit, nor
 * fit: places that name no place of the input are 0, or the bias. N, C, F and each x, k and y may be 0.
 */
#define TBK_NAME_convolution "tbk::convolution"
#define TBK_VERSION_convolution 1u
typedef struct tbk_args_convolution {
  size_t struct_size;
  int64_t mode; /* TBK_CONVOLUTION_OUTPUT ... */
  const tbk_tensor_t* input;
  const tbk_tensor_t* weight;
  const tbk_tensor_t* output;
  const tbk_tensor_t* bias; /* [F] of OUTPUT, [C] of INPUT, or NULL; of WEIGHT NULL */
  const int64_t* stride;    /* d of each; at least 1 */
  const int64_t* padding;   /* at least 0; the same on both sides */
  const int64_t* dilation;  /* at least 1 */
  int64_t groups;           /* divides C and F */
  /* 32 where every element offset, and every y * stride + k * dilation and x + padding, fits into it, else 64 */
  int64_t index_bits;
} tbk_args_convolution_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_TBK_CONVOLUTION_H */
