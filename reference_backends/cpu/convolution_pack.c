/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_pack.c: between tensors of any strides and matrices without gaps; and those tensors that are such
 * matrices where they lie.
 */
#include <limits.h>

#include "convolution.h"

static void move_elements(char* tensor, int64_t stride, char* matrix, int64_t count, int64_t bytes,
                          cpu_direction_t direction) {
  if (direction == CPU_LOAD)
    cpu_row_load(matrix, tensor, stride, count, bytes);
  else
    cpu_row_store(tensor, matrix, stride, count, bytes);
}

/* ----------------------------------------------------------------------------- where they lie -- */

/* Whether dimensions from `first` on lie without gaps. */
static bool is_dense(const cpu_view_t* view, const int64_t* sizes, int32_t first) {
  int64_t stride = view->element_bytes;
  for (int32_t d = view->rank - 1; d >= first; d--) {
    if (sizes[d] > 1 && view->strides[d] != stride) return false;
    stride *= sizes[d];
  }
  return true;
}

/* Elements between rows of a matrix with so many columns; 0 where it is none. Rows go along dimension `d`. */
static int64_t row_stride(const cpu_view_t* view, int32_t d, int64_t rows, int64_t columns) {
  const int64_t stride = rows > 1 ? view->strides[d] / view->element_bytes : columns;
  const bool whole = rows <= 1 || view->strides[d] % view->element_bytes == 0;
  return whole && stride >= columns && stride <= INT_MAX ? stride : 0;
}

/* What has as many images as these, each of few places, is multiplied in one. */
static bool is_by_image(const cpu_convolution_t* one) {
  return one->tile[0] == 1;
}

static bool is_pointwise(const cpu_convolution_t* one) {
  bool same = one->taps == 1 && !one->by_planes;
  for (int d = 0; d < CPU_SPATIAL; d++)
    same = same && one->stride[d] == 1 && one->padding[d] == 0 &&
           one->input.sizes[2 + d] == one->output.sizes[2 + d];
  return same;
}

void cpu_matrices_plan(cpu_convolution_t* one) {
  const cpu_view_t *x = &one->input, *w = &one->weight, *y = &one->output;
  if (one->computed != x->dtype || one->by_planes) return;
  one->lies_weight =
      is_dense(w, w->sizes, 1) && row_stride(w, 0, one->filters, one->channels * one->taps) > 0;
  one->lies_panel = is_by_image(one) && is_dense(y, y->sizes, 2) &&
                    row_stride(y, 1, one->filters, one->output_places) > 0;
  one->lies_patches = is_by_image(one) && is_pointwise(one) && is_dense(x, x->sizes, 2) &&
                      row_stride(x, 1, one->channels, one->input_places) > 0;
}

static bool is_aligned(const cpu_view_t* view) {
  return (uintptr_t)view->data % (uintptr_t)view->element_bytes == 0;
}

bool cpu_matrices_aligned(const cpu_convolution_t* one) {
  return is_aligned(&one->input) && is_aligned(&one->weight) && is_aligned(&one->output);
}

cpu_matrix_t cpu_weight_lies(const cpu_convolution_t* one, int64_t group) {
  const cpu_view_t* view = &one->weight;
  const int64_t stride = row_stride(view, 0, one->filters, one->channels * one->taps);
  return (cpu_matrix_t){view->data + group * one->filters * view->strides[0], (int32_t)stride,
                        false};
}

/* The places of a box in channels of a dense image. */
static cpu_matrix_t image_lies(const cpu_view_t* view, int64_t channel, int64_t channels,
                               int64_t places, const cpu_box_t* box) {
  char* data = view->data + box->image * view->strides[0] + channel * view->strides[1];
  for (int d = 0; d < CPU_SPATIAL; d++)
    data += box->begin[d] * view->strides[2 + d];
  return (cpu_matrix_t){data, (int32_t)row_stride(view, 1, channels, places), false};
}

cpu_matrix_t cpu_panel_lies(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box) {
  return image_lies(&one->output, group * one->filters, one->filters, one->output_places, box);
}

cpu_matrix_t cpu_patches_lie(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box) {
  return image_lies(&one->input, group * one->channels, one->channels, one->input_places, box);
}

/* ----------------------------------------------------------------------------- moves ----------- */

/* Moves a part of a tensor, from `data` on; the last dimensions that go on by one stride are moved as one. */
static void move_block(const cpu_view_t* view, char* data, const int64_t* sizes, char* matrix,
                       cpu_direction_t direction) {
  const int64_t bytes = view->element_bytes;
  int64_t index[2 + CPU_SPATIAL] = {0}, row = 1, stride = bytes;
  int32_t rank = view->rank;
  for (; rank > 0; rank--) {
    const int64_t size = sizes[rank - 1], step = view->strides[rank - 1];
    if (size > 1 && row > 1 && step != stride * row) break;
    if (size > 1 && row == 1) stride = step;
    row *= size;
  }
  do {
    char* at = data;
    for (int32_t d = 0; d < rank; d++)
      at += index[d] * view->strides[d];
    move_elements(at, stride, matrix, row, bytes, direction);
    matrix += row * bytes;
  } while (cpu_next_index(index, sizes, rank));
}

void cpu_weight_move(const cpu_convolution_t* one, int64_t group, void* matrix,
                     cpu_direction_t direction) {
  const cpu_view_t* view = &one->weight;
  const int64_t* k = view->sizes + 2;
  const int64_t sizes[] = {one->filters, one->channels, k[0], k[1], k[2]};
  move_block(view, view->data + group * one->filters * view->strides[0], sizes, matrix, direction);
}

void cpu_channels_move(const cpu_convolution_t* one, int64_t image, int64_t images, int64_t channel,
                       int64_t count, void* matrix, cpu_direction_t direction) {
  const cpu_view_t* view = &one->input;
  const int64_t* x = view->sizes + 2;
  const int64_t sizes[] = {images, count, x[0], x[1], x[2]};
  move_block(view, view->data + image * view->strides[0] + channel * view->strides[1], sizes,
             matrix, direction);
}

void cpu_stage_load(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box,
                    const int64_t* begin, const int64_t* size, void* matrix) {
  const cpu_view_t* view = &one->input;
  const int64_t sizes[] = {box->images, one->channels, size[0], size[1], size[2]};
  char* data = view->data + box->image * view->strides[0];
  data += group * one->channels * view->strides[1];
  for (int d = 0; d < CPU_SPATIAL; d++)
    data += begin[d] * view->strides[2 + d];
  if (size[0] * size[1] * size[2] > 0) move_block(view, data, sizes, matrix, CPU_LOAD);
}

/* Filters come before images. */
void cpu_panel_move(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box, void* matrix,
                    cpu_direction_t direction) {
  const cpu_view_t* view = &one->output;
  const int64_t sizes[] = {1, 1, box->size[0], box->size[1], box->size[2]};
  const int64_t bytes = box->places * view->element_bytes;
  char *data = view->data + box->image * view->strides[0], *to = matrix;
  data += group * one->filters * view->strides[1];
  for (int d = 0; d < CPU_SPATIAL; d++)
    data += box->begin[d] * view->strides[2 + d];
  for (int64_t f = 0; f < one->filters; f++)
    for (int64_t n = 0; n < box->images; n++, to += bytes)
      move_block(view, data + f * view->strides[1] + n * view->strides[0], sizes, to, direction);
}
