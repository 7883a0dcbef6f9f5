/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_matrix.h: the matrices that a convolution by BLAS multiplies: where they lie, or in buffers.
 */
#ifndef TBK_CPU_CONVOLUTION_MATRIX_H
#define TBK_CPU_CONVOLUTION_MATRIX_H

#include "convolution.h"

typedef struct cpu_buffers {
  void *weight, *patches, *panel, *sums, *staged;
  void* narrow; /* NULL where the tensors have the dtype of the buffers */
} cpu_buffers_t;

/* Divides a workspace, or none, into buffers. Returns how many bytes they are. */
uint64_t cpu_buffers_divide(const cpu_convolution_t* one, char* workspace, cpu_buffers_t* out);
static inline int64_t cpu_depth(const cpu_convolution_t* one) {
  return one->channels * one->taps;
}
/* Places of the output in a tile, and of a channel of the input that it needs; and places of a box. */
int64_t cpu_tile_places(const cpu_convolution_t* one);
int64_t cpu_staged_places(const cpu_convolution_t* one);
static inline int64_t cpu_box_places(const cpu_box_t* box) {
  return box->images * box->places;
}

static inline cpu_matrix_t cpu_matrix(void* data, int64_t stride) {
  return (cpu_matrix_t){data, (int32_t)stride, false};
}
void cpu_matrix_fill(int32_t dtype, void* matrix, int64_t begin, int64_t count, double value);
/* Whether padding, which is a 0 in a product of matrices, makes NaN of what is in this one. `lies`: it is not in a
 * buffer. */
bool cpu_matrix_is_harmed(const cpu_convolution_t* one, cpu_matrix_t m, bool lies, int64_t rows,
                          int64_t columns);
/* Makes each row of what is written the bias of its channel. Returns what it is multiplied by when products are
 * added: 0 where there is no bias, and nothing was made. */
double cpu_matrix_begin(const cpu_convolution_t* one, cpu_matrix_t m, bool lies, int64_t channel,
                        int64_t rows, int64_t columns);

/* Where the weight of a group is, and the panel of a box. What is loaded from there is there; what is stored, when it
 * was made there, is in the tensor. */
cpu_matrix_t cpu_weight_find(const cpu_convolution_t* one, int64_t group, const cpu_buffers_t* b);
cpu_matrix_t cpu_weight_load(const cpu_convolution_t* one, int64_t group, const cpu_buffers_t* b);
void cpu_weight_store(const cpu_convolution_t* one, int64_t group, const cpu_buffers_t* b);
cpu_matrix_t cpu_panel_find(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box,
                            const cpu_buffers_t* b);
cpu_matrix_t cpu_panel_load(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box,
                            const cpu_buffers_t* b);
void cpu_panel_store(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box,
                     const cpu_buffers_t* b);
/* Lays out patches, and says where they are. */
cpu_matrix_t cpu_patches_make(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box,
                              const cpu_buffers_t* b);
/* Channels of the input, counted over all groups, in the buffer of sums: their bias or 0, loaded, stored. */
void cpu_sums_begin(const cpu_convolution_t* one, int64_t images, int64_t channel, int64_t count,
                    const cpu_buffers_t* b);
void cpu_sums_load(const cpu_convolution_t* one, int64_t image, int64_t channel,
                   const cpu_buffers_t* b);
void cpu_sums_store(const cpu_convolution_t* one, int64_t image, int64_t images, int64_t channel,
                    int64_t count, const cpu_buffers_t* b);

#endif /* TBK_CPU_CONVOLUTION_MATRIX_H */
