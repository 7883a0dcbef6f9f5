/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_patch.c: patches of the input, laid out beside each other for a tile of the output, and the sums of such
 * back to where they came from. Where input and output are as wide and move by a stride of 1, what a tap reads is the
 * input shifted, and is moved as one; what stands beside the input in it becomes 0.
 */
#include <string.h>

#include "convolution.h"

/* A part of a row of patches, of one image: its rows along the last dimension. Sizes are in bytes. */
typedef struct slice {
  int64_t rows, row;      /* rows, and bytes of each */
  int64_t low, high;      /* rows that the input has something for */
  int64_t first, end;     /* bytes of each of those that it has */
  int64_t count;          /* as many in elements */
  int64_t step, row_step; /* of the source: between elements, and between rows */
  bool is_shifted;        /* the source's rows follow each other as those of patches do */
  int64_t bytes;          /* of an element */
} slice_t;

static slice_t slice_of(const cpu_convolution_t* one, const cpu_box_t* box,
                        const cpu_reach_t* reach, const int64_t* strides, int64_t bytes) {
  slice_t s = {.rows = box->size[1], .low = reach->low[1], .high = reach->high[1], .bytes = bytes};
  s.row = box->size[2] * bytes;
  s.first = reach->low[2] * bytes;
  s.end = reach->high[2] * bytes;
  s.count = reach->high[2] - reach->low[2];
  s.step = one->stride[2] * strides[2];
  s.row_step = one->stride[1] * strides[1];
  s.is_shifted = s.step == bytes && s.row_step == s.row;
  return s;
}

/* Most are of one element, for which a call takes long. */
static void clear(char* at, int64_t bytes) {
  if (bytes == 4)
    memset(at, 0, 4);
  else if (bytes > 0)
    memset(at, 0, (size_t)bytes);
}

/* What lies between the parts of rows that the input has. */
static void clear_gaps(const slice_t* s, char* rows) {
  const int64_t gap = s->row - s->end + s->first;
  for (int64_t r = s->low; gap > 0 && r + 1 < s->high; r++)
    clear(rows + r * s->row + s->end, gap);
}

/* ----------------------------------------------------------------------------- load ------------ */

static void load_elements(const cpu_source_t* source, const slice_t* s, char* to, const char* from,
                          int64_t count) {
  const int64_t step = count > 1 ? s->step : s->bytes;
  if (!source->is_private)
    cpu_row_load(to, from, step, count, s->bytes);
  else if (step == s->bytes)
    memcpy(to, from, (size_t)(count * s->bytes));
  else if (s->bytes == 4)
    for (int64_t i = 0; i < count; i++)
      memcpy(to + i * 4, from + i * step, 4);
  else
    for (int64_t i = 0; i < count; i++)
      memcpy(to + i * 8, from + i * step, 8);
}

static void load_slice(const cpu_source_t* source, const slice_t* s, char* to, const char* from) {
  const int64_t begin = s->low * s->row + s->first, end = (s->high - 1) * s->row + s->end;
  clear(to, begin);
  clear(to + end, s->rows * s->row - end);
  if (s->is_shifted) {
    load_elements(source, s, to + begin, from, (end - begin) / s->bytes);
    clear_gaps(s, to);
    return;
  }
  clear_gaps(s, to);
  for (int64_t r = s->low; r < s->high; r++, from += s->row_step)
    load_elements(source, s, to + r * s->row + s->first, from, s->count);
}

/* One tap of a channel: all images of the box. */
static void load_tap(const cpu_convolution_t* one, const cpu_source_t* source, const cpu_box_t* box,
                     const cpu_reach_t* reach, const slice_t* s, const char* from, char* to) {
  const int64_t slice = s->rows * s->row, *strides = source->strides;
  for (int64_t n = 0; n < box->images; n++, from += strides[0]) {
    const char* at = from;
    for (int64_t d = 0; d < box->size[0]; d++, to += slice) {
      if (d < reach->low[0] || d >= reach->high[0]) {
        memset(to, 0, (size_t)slice);
        continue;
      }
      load_slice(source, s, to, at);
      at += one->stride[0] * strides[2];
    }
  }
}

void cpu_patches_load(const cpu_convolution_t* one, const cpu_source_t* source,
                      const cpu_box_t* box, void* matrix) {
  const int64_t row = box->images * box->places * source->bytes, *strides = source->strides;
  int64_t tap[CPU_SPATIAL] = {0};
  char* to = matrix;
  do {
    cpu_reach_t reach;
    const bool has_any = cpu_box_reach(one, box, tap, &reach);
    const slice_t s =
        has_any ? slice_of(one, box, &reach, strides + 2, source->bytes) : (slice_t){0};
    const char* from = source->data;
    for (int d = 0; has_any && d < CPU_SPATIAL; d++)
      from += (reach.x[d] - source->begin[d]) * strides[2 + d];
    for (int64_t c = 0; c < one->channels; c++)
      if (has_any)
        load_tap(one, source, box, &reach, &s, from + c * strides[1], to + c * one->taps * row);
      else
        memset(to + c * one->taps * row, 0, (size_t)row);
    to += row;
  } while (cpu_next_index(tap, one->weight.sizes + 2, CPU_SPATIAL));
}

cpu_source_t cpu_source_lies(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box) {
  const cpu_view_t* view = &one->input;
  cpu_source_t source = {
      .data = view->data + box->image * view->strides[0] + group * one->channels * view->strides[1],
      .bytes = view->element_bytes};
  memcpy(source.strides, view->strides, sizeof source.strides);
  return source;
}

void cpu_stage_find(const cpu_convolution_t* one, const cpu_box_t* box, int64_t* out_begin,
                    int64_t* out_size) {
  for (int d = 0; d < CPU_SPATIAL; d++) {
    const int64_t size = one->input.sizes[2 + d];
    const int64_t x = box->begin[d] * one->stride[d] - one->padding[d];
    const int64_t last =
        x + (box->size[d] - 1) * one->stride[d] + (one->weight.sizes[2 + d] - 1) * one->dilation[d];
    const int64_t begin = x < 0 ? 0 : x, end = last < size ? last + 1 : size;
    out_begin[d] = begin;
    out_size[d] = begin < end ? end - begin : 0;
  }
}

/* ----------------------------------------------------------------------------- add ------------- */

/* In a step of 1 the compiler makes vectors of it. */
/* NOLINTBEGIN(bugprone-macro-parentheses): a declaration takes no parentheses. */
#define DEFINE(T)                                                                \
  static void add_##T(void* to, const void* from, int64_t step, int64_t count) { \
    T* sums = to;                                                                \
    const T* terms = from;                                                       \
    if (step == 1)                                                               \
      for (int64_t i = 0; i < count; i++)                                        \
        sums[i] += terms[i];                                                     \
    else                                                                         \
      for (int64_t i = 0; i < count; i++)                                        \
        sums[i * step] += terms[i];                                              \
  }
/* NOLINTEND(bugprone-macro-parentheses) */
DEFINE(float)
DEFINE(double)

static void add_elements(int32_t dtype, char* to, const char* from, int64_t step, int64_t count) {
  if (dtype == TBK_FLOAT64)
    add_double(to, from, step, count);
  else
    add_float(to, from, step, count);
}

static void add_slice(const cpu_convolution_t* one, const slice_t* s, char* from, char* to) {
  const int64_t begin = s->low * s->row + s->first, end = (s->high - 1) * s->row + s->end;
  if (s->is_shifted) {
    clear_gaps(s, from);
    add_elements(one->computed, to, from + begin, 1, (end - begin) / s->bytes);
    return;
  }
  for (int64_t r = s->low; r < s->high; r++, to += s->row_step)
    add_elements(one->computed, to, from + r * s->row + s->first, one->stride[2], s->count);
}

static void add_tap(const cpu_convolution_t* one, const cpu_box_t* box, const cpu_reach_t* reach,
                    const slice_t* s, int64_t image, int64_t plane, char* from, char* to) {
  const int64_t slice = s->rows * s->row;
  for (int64_t n = 0; n < box->images; n++, to += image, from += box->size[0] * slice) {
    char* at = to;
    for (int64_t d = reach->low[0]; d < reach->high[0]; d++, at += one->stride[0] * plane)
      add_slice(one, s, from + d * slice, at);
  }
}

void cpu_patches_add(const cpu_convolution_t* one, int64_t channels, const cpu_box_t* box,
                     void* matrix, void* sums) {
  const int64_t bytes = tbk_dtype_bytes(one->computed), *sizes = one->input.sizes + 2;
  const int64_t row = box->images * box->places * bytes, channel = one->input_places * bytes;
  const int64_t strides[] = {sizes[1] * sizes[2] * bytes, sizes[2] * bytes, bytes};
  int64_t tap[CPU_SPATIAL] = {0};
  char* from = matrix;
  do {
    cpu_reach_t reach;
    if (cpu_box_reach(one, box, tap, &reach)) {
      const slice_t s = slice_of(one, box, &reach, strides, bytes);
      char* to = sums;
      for (int d = 0; d < CPU_SPATIAL; d++)
        to += reach.x[d] * strides[d];
      for (int64_t c = 0; c < channels; c++)
        add_tap(one, box, &reach, &s, channels * channel, strides[0], from + c * one->taps * row,
                to + c * channel);
    }
    from += row;
  } while (cpu_next_index(tap, one->weight.sizes + 2, CPU_SPATIAL));
}

/* ----------------------------------------------------------------------------- spans ----------- */

void cpu_spans_walk(const cpu_convolution_t* one, const cpu_box_t* box, const int64_t* tap,
                    cpu_span_fn each, void* context) {
  const int64_t* sizes = one->input.sizes + 2;
  cpu_reach_t reach;
  if (!cpu_box_reach(one, box, tap, &reach)) return;
  for (int64_t d = reach.low[0]; d < reach.high[0]; d++)
    for (int64_t h = reach.low[1]; h < reach.high[1]; h++) {
      const int64_t z = reach.x[0] + (d - reach.low[0]) * one->stride[0];
      const int64_t y = reach.x[1] + (h - reach.low[1]) * one->stride[1];
      each(context, (z * sizes[1] + y) * sizes[2] + reach.x[2],
           (d * box->size[1] + h) * box->size[2] + reach.low[2], reach.high[2] - reach.low[2]);
    }
}
