/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution.h: a call of tbk::convolution, as a job that refers to nothing of the caller's. All have three
 * spatial dimensions: those that a call does not have come first and are of size 1.
 */
#ifndef TBK_CPU_CONVOLUTION_H
#define TBK_CPU_CONVOLUTION_H

#include <tbk/tbk_convolution.h>

#include "kernel.h"

enum { CPU_SPATIAL = TBK_CONVOLUTION_MOST_SPATIAL };

struct cpu_convolution {
  int64_t mode, groups;
  cpu_view_t input, weight, output;
  cpu_view_t bias; /* its rank is 0 where there is none */
  int64_t stride[CPU_SPATIAL], padding[CPU_SPATIAL], dilation[CPU_SPATIAL];
  int64_t images, channels, filters;         /* channels of input and of output in a group */
  int64_t taps, input_places, output_places; /* of one channel of each */
  bool meets_padding;                        /* some place of the formula is outside of the input */
  int32_t computed;                          /* dtype of the buffers of products by BLAS, or -1 */
  int64_t tile;                              /* places of the output that are computed together */
  int64_t block;                             /* INPUT: channels that are summed together */
  bool by_planes;                            /* each channel is read by a few filters alone */
};

/* Returns an element of the bias as what it adds to. */
cpu_number_t cpu_convolution_bias(const cpu_convolution_t* one, int64_t channel);

/* convolution_loop.c: computes what is written of a group, product by product. Of any dtype. */
void cpu_convolution_loop(const cpu_convolution_t* one, int64_t group);

/* convolution_blas.c: chooses sizes of buffers; returns how many bytes they are, 0 where BLAS does not serve. */
uint64_t cpu_convolution_plan(cpu_convolution_t* one);
/* Computes a group by products of matrices; false where it must be done product by product. */
bool cpu_convolution_blas(const cpu_convolution_t* one, int64_t group, char* workspace);

/* convolution_pack.c: between tensors and matrices without gaps, of the dtype of the tensors. */
typedef enum cpu_direction { CPU_LOAD, CPU_STORE } cpu_direction_t;
/* The weight of a group: [filters, channels * taps]. */
void cpu_weight_move(const cpu_convolution_t* one, int64_t group, void* matrix,
                     cpu_direction_t direction);
/* Places of the output from `begin` on: [filters, count]. */
void cpu_panel_move(const cpu_convolution_t* one, int64_t image, int64_t group, int64_t begin,
                    int64_t count, void* matrix, cpu_direction_t direction);
/* Channels of the input, counted over all groups: [count, input_places]. */
void cpu_channels_move(const cpu_convolution_t* one, int64_t image, int64_t channel, int64_t count,
                       void* matrix, cpu_direction_t direction);
/* What the input has for these places of the output: [channels * taps, count]; 0 where it has nothing. */
void cpu_patches_load(const cpu_convolution_t* one, int64_t image, int64_t group, int64_t begin,
                      int64_t count, void* matrix);
/* Adds such a matrix, of `channels` and of the dtype of buffers, to [channels, input_places]. */
void cpu_patches_add(const cpu_convolution_t* one, int64_t channels, int64_t begin, int64_t count,
                     const void* matrix, void* sums);
/* Calls `each` for what places of the output from `begin` on have in the input at a tap: `count` places from `from`
 * on, counted from `begin`, and as many from `at` of a channel, one->stride[2] apart. */
typedef void (*cpu_span_fn)(void* context, int64_t at, int64_t from, int64_t count);
void cpu_spans_walk(const cpu_convolution_t* one, const int64_t* tap, int64_t begin, int64_t count,
                    cpu_span_fn each, void* context);

/* convolution_plane.c: a tap of one filter, for channels that few filters read: adds its products to places of the
 * output (panel), to a channel of the input (plane), or to the tap, as the mode says. `dtype` is that of buffers. */
void cpu_plane_add(const cpu_convolution_t* one, int32_t dtype, const int64_t* tap, int64_t begin,
                   int64_t count, void* plane, void* panel, void* weight);

#endif /* TBK_CPU_CONVOLUTION_H */
