/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_box.c: the parts of the output that are computed together, and what the input has for them at a tap: in each
 * dimension a range, which no other dimension and no channel changes.
 */
#include "convolution.h"

static int64_t min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Places of the input that a tile needs; `describe` has seen that no position overflows. */
static int64_t reach_of(const cpu_convolution_t* one, int d) {
  const int64_t last =
      (one->tile[1 + d] - 1) * one->stride[d] + (one->weight.sizes[2 + d] - 1) * one->dilation[d];
  return min(one->input.sizes[2 + d] - 1, last) + 1;
}

/* The size of parts of at most `most`, so that the last part is about as large as the others. */
static int64_t even(int64_t size, int64_t most) {
  const int64_t parts = (size - 1) / most + 1;
  return (size - 1) / parts + 1;
}

void cpu_boxes_plan(cpu_convolution_t* one, int64_t places, int64_t images) {
  bool whole = true; /* the dimensions that follow are */
  for (int d = CPU_SPATIAL - 1; d >= 0; d--) {
    const int64_t size = one->output.sizes[2 + d];
    one->tile[1 + d] = whole ? even(size, max(places, 1)) : 1;
    whole = whole && one->tile[1 + d] == size;
    places /= one->tile[1 + d];
    one->reach[d] = reach_of(one, d);
  }
  one->tile[0] = whole ? even(one->images, max(min(places, images), 1)) : 1;
}

static void cut(const cpu_convolution_t* one, cpu_box_t* box) {
  box->images = min(one->tile[0], one->images - box->image);
  box->places = 1;
  for (int d = 0; d < CPU_SPATIAL; d++) {
    box->size[d] = min(one->tile[1 + d], one->output.sizes[2 + d] - box->begin[d]);
    box->places *= box->size[d];
  }
}

cpu_box_t cpu_box_first(const cpu_convolution_t* one, int64_t image) {
  cpu_box_t box = {.image = image};
  cut(one, &box);
  return box;
}

bool cpu_box_next(const cpu_convolution_t* one, cpu_box_t* box) {
  for (int d = CPU_SPATIAL - 1; d >= 0; d--) {
    box->begin[d] += one->tile[1 + d];
    if (box->begin[d] < one->output.sizes[2 + d]) {
      cut(one, box);
      return true;
    }
    box->begin[d] = 0;
  }
  return false;
}

/* How many steps lie in `length`, the last one in part; a division takes long. */
static int64_t steps_in(int64_t length, int64_t step) {
  return step == 1 ? length : (length - 1) / step + 1;
}

bool cpu_box_reach(const cpu_convolution_t* one, const cpu_box_t* box, const int64_t* tap,
                   cpu_reach_t* out_reach) {
  for (int d = 0; d < CPU_SPATIAL; d++) {
    const int64_t step = one->stride[d], size = one->input.sizes[2 + d];
    const int64_t x = box->begin[d] * step + tap[d] * one->dilation[d] - one->padding[d];
    const int64_t low = x < 0 ? steps_in(-x, step) : 0;
    const int64_t high = x < size ? min(steps_in(size - x, step), box->size[d]) : 0;
    if (low >= high) return false;
    out_reach->low[d] = low;
    out_reach->high[d] = high;
    out_reach->x[d] = x + low * step;
  }
  return true;
}
