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
  int64_t tile[1 + CPU_SPATIAL]; /* images, and places of the output, that are computed together */
  int64_t reach[CPU_SPATIAL];    /* places of the input, at most, that a tile needs */
  int64_t block;                 /* INPUT: channels that are summed together */
  bool by_planes;                /* each channel is read by a few filters alone */
  /* Matrices that BLAS has where they lie. Patches: those of one tap, which are the input itself. */
  bool lies_weight, lies_panel, lies_patches;
  bool
      stages; /* what a tile needs of the input is copied once, before it is laid out for each tap */
};

/* Returns an element of the bias as what it adds to. */
cpu_number_t cpu_convolution_bias(const cpu_convolution_t* one, int64_t channel);

/* convolution_loop.c: computes what is written of a group, product by product. Of any dtype. */
void cpu_convolution_loop(const cpu_convolution_t* one, int64_t group);

/* convolution_blas.c: chooses sizes of buffers; returns how many bytes they are, 0 where BLAS does not serve. */
uint64_t cpu_convolution_plan(cpu_convolution_t* one);
/* Computes a group by products of matrices; false where it must be done product by product. */
bool cpu_convolution_blas(const cpu_convolution_t* one, int64_t group, char* workspace);

/* convolution_box.c: a part of the output. Inside of one that is more than one place wide in a dimension, those that
 * follow are whole, so that its places follow each other in a dense image. */
typedef struct cpu_box {
  int64_t image, images;
  int64_t begin[CPU_SPATIAL], size[CPU_SPATIAL];
  int64_t places; /* of one image */
} cpu_box_t;
/* Chooses the size of tiles of about so many places, of at most so many images. */
void cpu_boxes_plan(cpu_convolution_t* one, int64_t places, int64_t images);
/* Returns the first tile of the images from `image` on. */
cpu_box_t cpu_box_first(const cpu_convolution_t* one, int64_t image);
/* Goes to the next tile of the same images; false where there is none. */
bool cpu_box_next(const cpu_convolution_t* one, cpu_box_t* box);
/* Places of a box, counted in each dimension, that the input has at a tap: from `low` on and before `high`; the first
 * of them lies at `x`. False where it has none. */
typedef struct cpu_reach {
  int64_t low[CPU_SPATIAL], high[CPU_SPATIAL], x[CPU_SPATIAL];
} cpu_reach_t;
bool cpu_box_reach(const cpu_convolution_t* one, const cpu_box_t* box, const int64_t* tap,
                   cpu_reach_t* out_reach);

/* convolution_pack.c: between tensors and matrices without gaps, of the dtype of the tensors. */
typedef enum cpu_direction { CPU_LOAD, CPU_STORE } cpu_direction_t;
/* Decides what BLAS has where it lies. */
void cpu_matrices_plan(cpu_convolution_t* one);
/* The matrices that lie: the weight of a group; the panel and the patches of the one image of a box. False where
 * elements are not aligned, which no allocator hands out. */
bool cpu_matrices_aligned(const cpu_convolution_t* one);
cpu_matrix_t cpu_weight_lies(const cpu_convolution_t* one, int64_t group);
cpu_matrix_t cpu_panel_lies(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box);
cpu_matrix_t cpu_patches_lie(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box);
/* The weight of a group: [filters, channels * taps]. */
void cpu_weight_move(const cpu_convolution_t* one, int64_t group, void* matrix,
                     cpu_direction_t direction);
/* A tile of the output: [filters, images, places]. */
void cpu_panel_move(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box, void* matrix,
                    cpu_direction_t direction);
/* Channels of the input, counted over all groups: [images, count, input_places]. */
void cpu_channels_move(const cpu_convolution_t* one, int64_t image, int64_t images, int64_t channel,
                       int64_t count, void* matrix, cpu_direction_t direction);
/* What a group of the input has from `begin` on: [images, channels, size ...]. */
void cpu_stage_load(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box,
                    const int64_t* begin, const int64_t* size, void* matrix);

/* convolution_patch.c: where patches are made from. Strides are in bytes: image, channel, places. */
typedef struct cpu_source {
  const char*
      data; /* of the place at `begin`, of the box's first image and the group's first channel */
  int64_t strides[2 + CPU_SPATIAL], begin[CPU_SPATIAL];
  int64_t bytes;   /* of an element */
  bool is_private; /* not the memory of a device */
} cpu_source_t;
/* Where a tile's part of the input lies on the device. */
cpu_source_t cpu_source_lies(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box);
/* What a tile needs of the input in each dimension; a part of what `one->reach` is the size of. */
void cpu_stage_find(const cpu_convolution_t* one, const cpu_box_t* box, int64_t* out_begin,
                    int64_t* out_size);
/* What the input has for the places of a box: [channels * taps, images, places]; 0 where it has nothing. */
void cpu_patches_load(const cpu_convolution_t* one, const cpu_source_t* source,
                      const cpu_box_t* box, void* matrix);
/* Adds such a matrix, of `channels` and of the dtype of buffers, to [images, channels, input_places]. What stands in
 * it for places that the input does not have becomes 0. */
void cpu_patches_add(const cpu_convolution_t* one, int64_t channels, const cpu_box_t* box,
                     void* matrix, void* sums);
/* Calls `each` for what a box of one image has in the input at a tap: `count` places from `from` on, counted in the
 * box, and as many from `at` of a channel, one->stride[2] apart. */
typedef void (*cpu_span_fn)(void* context, int64_t at, int64_t from, int64_t count);
void cpu_spans_walk(const cpu_convolution_t* one, const cpu_box_t* box, const int64_t* tap,
                    cpu_span_fn each, void* context);

/* convolution_plane.c: a tap of one filter, for channels that few filters read: adds its products to places of the
 * output (panel), to a channel of the input (plane), or to the tap, as the mode says. `dtype` is that of buffers. */
void cpu_plane_add(const cpu_convolution_t* one, int32_t dtype, const cpu_box_t* box,
                   const int64_t* tap, void* plane, void* panel, void* weight);

#endif /* TBK_CPU_CONVOLUTION_H */
