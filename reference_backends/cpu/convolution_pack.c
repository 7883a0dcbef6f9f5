/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_pack.c: between tensors of any strides and matrices without gaps. Places of the output go in runs,
 * each along the last dimension, where input and output both move by one stride.
 */
#include <string.h>

#include "convolution.h"

static void move_elements(char* tensor, int64_t stride, char* matrix, int64_t count, int64_t bytes,
                          cpu_direction_t direction) {
  if (direction == CPU_LOAD)
    cpu_row_load(matrix, tensor, stride, count, bytes);
  else
    cpu_row_store(tensor, matrix, stride, count, bytes);
}

/* ----------------------------------------------------------------------------- whole blocks ---- */

static bool is_dense(const cpu_view_t* view, const int64_t* sizes) {
  int64_t stride = view->element_bytes;
  for (int32_t d = view->rank - 1; d >= 0; d--) {
    if (sizes[d] > 1 && view->strides[d] != stride) return false;
    stride *= sizes[d];
  }
  return true;
}

/* Moves `rows` by `columns` channels of a tensor, from `data` on, with all their places. */
static void move_block(const cpu_view_t* view, char* data, int64_t rows, int64_t columns,
                       char* matrix, cpu_direction_t direction) {
  const int64_t sizes[] = {rows, columns, view->sizes[2], view->sizes[3], view->sizes[4]};
  const int32_t last = view->rank - 1;
  const int64_t bytes = view->element_bytes, row = sizes[last];
  int64_t index[2 + CPU_SPATIAL] = {0};
  if (is_dense(view, sizes)) {
    move_elements(data, bytes, matrix, rows * columns * sizes[2] * sizes[3] * row, bytes,
                  direction);
    return;
  }
  do {
    char* at = data;
    for (int32_t d = 0; d < last; d++)
      at += index[d] * view->strides[d];
    move_elements(at, view->strides[last], matrix, row, bytes, direction);
    matrix += row * bytes;
  } while (cpu_next_index(index, sizes, last));
}

void cpu_weight_move(const cpu_convolution_t* one, int64_t group, void* matrix,
                     cpu_direction_t direction) {
  const cpu_view_t* view = &one->weight;
  move_block(view, view->data + group * one->filters * view->strides[0], one->filters,
             one->channels, matrix, direction);
}

void cpu_channels_move(const cpu_convolution_t* one, int64_t image, int64_t channel, int64_t count,
                       void* matrix, cpu_direction_t direction) {
  const cpu_view_t* view = &one->input;
  move_block(view, view->data + image * view->strides[0] + channel * view->strides[1], 1, count,
             matrix, direction);
}

/* ----------------------------------------------------------------------------- runs ------------ */

/* Places of the output that follow each other in the last dimension: `count` from `place` on. */
typedef struct run {
  int64_t place[CPU_SPATIAL];
  int64_t count, left; /* left: those of this run and behind it */
} run_t;

static void cut_run(const int64_t* sizes, run_t* run) {
  const int64_t rest = sizes[2] - run->place[2];
  run->count = rest < run->left ? rest : run->left;
}

static run_t first_run(const cpu_convolution_t* one, int64_t begin, int64_t count) {
  const int64_t* sizes = one->output.sizes + 2;
  run_t run = {
      {begin / sizes[2] / sizes[1], begin / sizes[2] % sizes[1], begin % sizes[2]}, 0, count};
  cut_run(sizes, &run);
  return run;
}

static void next_run(const cpu_convolution_t* one, run_t* run) {
  const int64_t* sizes = one->output.sizes + 2;
  run->left -= run->count;
  run->place[2] = 0;
  if (++run->place[1] == sizes[1]) {
    run->place[1] = 0;
    run->place[0]++;
  }
  cut_run(sizes, run);
}

void cpu_panel_move(const cpu_convolution_t* one, int64_t image, int64_t group, int64_t begin,
                    int64_t count, void* matrix, cpu_direction_t direction) {
  const cpu_view_t* view = &one->output;
  const int64_t bytes = view->element_bytes;
  char *channel = view->data + image * view->strides[0], *to = matrix;
  channel += group * one->filters * view->strides[1];
  for (int64_t f = 0; f < one->filters; f++, channel += view->strides[1])
    for (run_t run = first_run(one, begin, count); run.left > 0; next_run(one, &run)) {
      char* at = channel + run.place[0] * view->strides[2] + run.place[1] * view->strides[3] +
                 run.place[2] * view->strides[4];
      move_elements(at, view->strides[4], to, run.count, bytes, direction);
      to += run.count * bytes;
    }
}

/* ----------------------------------------------------------------------------- patches --------- */

/* The places of a run that the input has: `count` from number `first` on, which lies at `x`. */
typedef struct span {
  int64_t first, count, x[CPU_SPATIAL];
} span_t;

/* How many steps lie in `length`, the last one in part; a division takes longer than the rest of a run. */
static int64_t steps_in(int64_t length, int64_t step) {
  return step == 1 ? length : (length - 1) / step + 1;
}

static span_t find_span(const cpu_convolution_t* one, const int64_t* tap, const run_t* run) {
  const int64_t* sizes = one->input.sizes + 2;
  const int64_t step = one->stride[2];
  span_t span = {.first = 0};
  for (int d = 0; d < CPU_SPATIAL; d++) {
    span.x[d] = run->place[d] * one->stride[d] + tap[d] * one->dilation[d] - one->padding[d];
    if (d < 2 && (span.x[d] < 0 || span.x[d] >= sizes[d])) return span;
  }
  if (span.x[2] < 0) span.first = steps_in(-span.x[2], step);
  if (span.first >= run->count) return (span_t){.first = 0};
  span.x[2] += span.first * step;
  if (span.x[2] >= sizes[2]) return span;
  const int64_t held = steps_in(sizes[2] - span.x[2], step), asked = run->count - span.first;
  span.count = held < asked ? held : asked;
  return span;
}

static void load_run(const cpu_convolution_t* one, const char* channel, const int64_t* tap,
                     const run_t* run, char* to) {
  const int64_t bytes = one->input.element_bytes, *strides = one->input.strides + 2;
  const span_t span = find_span(one, tap, run);
  const int64_t end = span.first + span.count;
  if (span.count < run->count) {
    memset(to, 0, (size_t)(span.first * bytes));
    memset(to + end * bytes, 0, (size_t)((run->count - end) * bytes));
  }
  if (span.count == 0) return;
  channel += span.x[0] * strides[0] + span.x[1] * strides[1] + span.x[2] * strides[2];
  const int64_t step = span.count > 1 ? one->stride[2] * strides[2] : bytes;
  cpu_row_load(to + span.first * bytes, channel, step, span.count, bytes);
}

void cpu_patches_load(const cpu_convolution_t* one, int64_t image, int64_t group, int64_t begin,
                      int64_t count, void* matrix) {
  const cpu_view_t* view = &one->input;
  const char* channel = view->data + image * view->strides[0];
  char* to = matrix;
  channel += group * one->channels * view->strides[1];
  for (int64_t c = 0; c < one->channels; c++, channel += view->strides[1]) {
    int64_t tap[CPU_SPATIAL] = {0};
    do
      for (run_t run = first_run(one, begin, count); run.left > 0; next_run(one, &run)) {
        load_run(one, channel, tap, &run, to);
        to += run.count * view->element_bytes;
      }
    while (cpu_next_index(tap, one->weight.sizes + 2, CPU_SPATIAL));
  }
}

static void add_span(int32_t dtype, void* sums, const void* matrix, int64_t at, int64_t step,
                     int64_t from, int64_t count) {
#define ADD(T)                        \
  for (int64_t i = 0; i < count; i++) \
  ((T*)sums)[at + i * step] += ((const T*)matrix)[from + i]
  if (dtype == TBK_FLOAT64)
    ADD(double);
  else
    ADD(float);
#undef ADD
}

static void add_run(const cpu_convolution_t* one, int64_t channel, const int64_t* tap,
                    const run_t* run, const void* matrix, int64_t from, void* sums) {
  const int64_t* sizes = one->input.sizes + 2;
  const span_t span = find_span(one, tap, run);
  if (span.count == 0) return;
  const int64_t row = (channel * sizes[0] + span.x[0]) * sizes[1] + span.x[1];
  add_span(one->computed, sums, matrix, row * sizes[2] + span.x[2], one->stride[2],
           from + span.first, span.count);
}

void cpu_patches_add(const cpu_convolution_t* one, int64_t channels, int64_t begin, int64_t count,
                     const void* matrix, void* sums) {
  int64_t from = 0;
  for (int64_t c = 0; c < channels; c++) {
    int64_t tap[CPU_SPATIAL] = {0};
    do
      for (run_t run = first_run(one, begin, count); run.left > 0; next_run(one, &run)) {
        add_run(one, c, tap, &run, matrix, from, sums);
        from += run.count;
      }
    while (cpu_next_index(tap, one->weight.sizes + 2, CPU_SPATIAL));
  }
}

void cpu_spans_walk(const cpu_convolution_t* one, const int64_t* tap, int64_t begin, int64_t count,
                    cpu_span_fn each, void* context) {
  const int64_t* sizes = one->input.sizes + 2;
  int64_t from = 0;
  for (run_t run = first_run(one, begin, count); run.left > 0; next_run(one, &run)) {
    const span_t span = find_span(one, tap, &run);
    const int64_t at = (span.x[0] * sizes[1] + span.x[1]) * sizes[2] + span.x[2];
    if (span.count > 0) each(context, at, from + span.first, span.count);
    from += run.count;
  }
}
