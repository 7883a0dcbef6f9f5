/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_loop.c: tbk::convolution element by element. For each that is written, one of the other tensors
 * is walked over, and where the third one is follows from x = y * stride + k * dilation - padding. Integers are
 * summed as words, which wrap; real numbers in double.
 */
#include "convolution.h"

/* The products of one element that is written. Both tensors have `steps` places for each position. */
typedef struct sum {
  const cpu_convolution_t* one;
  const cpu_view_t *walked, *found;
  const char *walked_data, *found_data;
  int64_t steps, walked_step, found_step;
  int64_t place[CPU_SPATIAL]; /* of what is written */
} sum_t;

/* Returns where the third tensor is in a dimension, or -1. */
static int64_t position(const sum_t* sum, int d, int64_t walked) {
  const cpu_convolution_t* one = sum->one;
  const int64_t size = sum->found->sizes[2 + d], written = sum->place[d];
  int64_t at;
  if (one->mode == TBK_CONVOLUTION_INPUT) {
    at = written + one->padding[d] - walked * one->dilation[d];
    if (at < 0 || at % one->stride[d] != 0) return -1;
    at /= one->stride[d];
  } else {
    const int64_t y = one->mode == TBK_CONVOLUTION_OUTPUT ? written : walked;
    const int64_t k = one->mode == TBK_CONVOLUTION_OUTPUT ? walked : written;
    at = y * one->stride[d] + k * one->dilation[d] - one->padding[d];
  }
  return at >= 0 && at < size ? at : -1;
}

/* Finds both positions, as offsets in bytes; false where the third tensor has none. */
static bool find(const sum_t* sum, const int64_t* walked, int64_t* out_walked, int64_t* out_found) {
  *out_walked = *out_found = 0;
  for (int d = 0; d < CPU_SPATIAL; d++) {
    const int64_t at = position(sum, d, walked[d]);
    if (at < 0) return false;
    *out_walked += walked[d] * sum->walked->strides[2 + d];
    *out_found += at * sum->found->strides[2 + d];
  }
  return true;
}

static void add_products(const sum_t* sum, const char* left, const char* right,
                         cpu_number_t* total) {
  const int32_t dtype = sum->one->input.dtype;
  for (int64_t i = 0; i < sum->steps; i++) {
    const cpu_number_t a = cpu_load(left + i * sum->walked_step, dtype);
    const cpu_number_t b = cpu_load(right + i * sum->found_step, dtype);
    total->integer =
        (int64_t)((uint64_t)total->integer + (uint64_t)a.integer * (uint64_t)b.integer);
    total->real += a.real * b.real;
  }
}

static cpu_number_t total_of(const sum_t* sum, cpu_number_t begin) {
  int64_t walked[CPU_SPATIAL] = {0}, left, right;
  const int64_t* sizes = sum->walked->sizes + 2;
  if (sizes[0] == 0 || sizes[1] == 0 || sizes[2] == 0) return begin;
  do
    if (find(sum, walked, &left, &right))
      add_products(sum, sum->walked_data + left, sum->found_data + right, &begin);
  while (cpu_next_index(walked, sizes, CPU_SPATIAL));
  return begin;
}

/* Element [i, j] of the first two dimensions of what is written; j counts in the group. */
static sum_t sum_of(const cpu_convolution_t* one, int64_t group, int64_t i, int64_t j) {
  const cpu_view_t *x = &one->input, *w = &one->weight, *y = &one->output;
  const int64_t channel = group * one->channels, filter = group * one->filters;
  switch (one->mode) {
    case TBK_CONVOLUTION_OUTPUT:
      return (sum_t){.one = one,
                     .walked = w,
                     .found = x,
                     .walked_data = w->data + (filter + j) * w->strides[0],
                     .found_data = x->data + i * x->strides[0] + channel * x->strides[1],
                     .steps = one->channels,
                     .walked_step = w->strides[1],
                     .found_step = x->strides[1]};
    case TBK_CONVOLUTION_INPUT:
      return (sum_t){.one = one,
                     .walked = w,
                     .found = y,
                     .walked_data = w->data + filter * w->strides[0] + j * w->strides[1],
                     .found_data = y->data + i * y->strides[0] + filter * y->strides[1],
                     .steps = one->filters,
                     .walked_step = w->strides[0],
                     .found_step = y->strides[1]};
    default:
      return (sum_t){.one = one,
                     .walked = y,
                     .found = x,
                     .walked_data = y->data + (filter + i) * y->strides[1],
                     .found_data = x->data + (channel + j) * x->strides[1],
                     .steps = one->images,
                     .walked_step = y->strides[0],
                     .found_step = x->strides[0]};
  }
}

static void write_places(sum_t* sum, const cpu_view_t* view, char* data, cpu_number_t begin) {
  const int64_t* sizes = view->sizes + 2;
  do {
    char* to = data;
    for (int d = 0; d < CPU_SPATIAL; d++)
      to += sum->place[d] * view->strides[2 + d];
    cpu_store(to, view->dtype, total_of(sum, begin));
  } while (cpu_next_index(sum->place, sizes, CPU_SPATIAL));
}

void cpu_convolution_loop(const cpu_convolution_t* one, int64_t group) {
  const bool weight = one->mode == TBK_CONVOLUTION_WEIGHT;
  const bool output = one->mode == TBK_CONVOLUTION_OUTPUT;
  const cpu_view_t* view = weight ? &one->weight : output ? &one->output : &one->input;
  const int64_t rows = weight ? one->filters : one->images;
  const int64_t columns = output ? one->filters : one->channels;
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++) {
      const int64_t row = weight ? group * rows + i : i;
      const int64_t column = weight ? j : group * columns + j;
      sum_t sum = sum_of(one, group, i, j);
      const cpu_number_t begin = cpu_convolution_bias(one, column);
      write_places(&sum, view, view->data + row * view->strides[0] + column * view->strides[1],
                   begin);
    }
}
