/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_matrix.c: the matrices of a convolution, where they lie or in buffers. FLOAT16 and BFLOAT16 are widened
 * to FLOAT32 on the way there, and rounded on the way back.
 */
#include "convolution_matrix.h"

#include <string.h>

#include "generic/loops/loops.h"

enum { ALIGNMENT = 64 };

static int64_t min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static bool is_narrow(const cpu_convolution_t* one) {
  return one->computed != one->input.dtype;
}

/* ----------------------------------------------------------------------------- buffers ------- */

/* Takes `count` elements, and what a loop may write behind them, off the workspace. */
static void* take(char* workspace, uint64_t* used, int64_t count, int64_t element_bytes) {
  const uint64_t bytes = (uint64_t)((count + CPU_LANE_STEP) * element_bytes);
  void* taken = workspace ? workspace + *used : NULL;
  *used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return taken;
}

int64_t cpu_tile_places(const cpu_convolution_t* one) {
  return one->tile[0] * one->tile[1] * one->tile[2] * one->tile[3];
}

int64_t cpu_staged_places(const cpu_convolution_t* one) {
  return one->tile[0] * one->reach[0] * one->reach[1] * one->reach[2];
}

uint64_t cpu_buffers_divide(const cpu_convolution_t* one, char* workspace, cpu_buffers_t* out) {
  const int64_t bytes = tbk_dtype_bytes(one->computed), tile = cpu_tile_places(one);
  const int64_t weight = one->lies_weight ? 0 : one->filters * cpu_depth(one);
  const int64_t patches = one->by_planes || one->lies_patches ? 0 : cpu_depth(one) * tile;
  const int64_t panel = one->lies_panel ? 0 : one->filters * tile;
  const int64_t sums = one->tile[0] * one->block * one->input_places;
  const int64_t staged = one->stages ? one->channels * cpu_staged_places(one) : 0;
  uint64_t used = 0;
  out->weight = take(workspace, &used, weight, bytes);
  out->patches = take(workspace, &used, patches, bytes);
  out->panel = take(workspace, &used, panel, bytes);
  out->sums = take(workspace, &used, sums, bytes);
  out->staged = take(workspace, &used, staged, bytes);
  out->narrow = NULL;
  if (is_narrow(one))
    out->narrow =
        take(workspace, &used, max(max(weight, patches), max(max(panel, sums), staged)), 2);
  return used;
}

/* ----------------------------------------------------------------------------- elements ------ */

static void cast(int32_t from, int32_t to, const void* in, void* out, int64_t count) {
  const cpu_loop_t loop = cpu_loop_find(TBK_OPCODE_CAST, (uint16_t)from, (uint16_t)to, 0);
  loop(out, &in, cpu_whole_lanes((size_t)count));
}

/* Where a matrix lies as the tensor has it. */
static void* raw(const cpu_buffers_t* b, void* matrix) {
  return b->narrow ? b->narrow : matrix;
}

static void widen(const cpu_convolution_t* one, const cpu_buffers_t* b, void* matrix,
                  int64_t count) {
  if (b->narrow) cast(one->input.dtype, one->computed, b->narrow, matrix, count);
}

static void narrow(const cpu_convolution_t* one, const cpu_buffers_t* b, const void* matrix,
                   int64_t count) {
  if (b->narrow) cast(one->computed, one->input.dtype, matrix, b->narrow, count);
}

void cpu_matrix_fill(int32_t dtype, void* matrix, int64_t begin, int64_t count, double value) {
  for (int64_t i = begin; i < begin + count; i++)
    if (dtype == TBK_FLOAT64)
      ((double*)matrix)[i] = value;
    else
      ((float*)matrix)[i] = (float)value;
}

/* No exponent is the greatest; without a branch, so that the compiler makes vectors of it. */
static bool are_finite(int32_t dtype, const void* matrix, int64_t count) {
  const char* from = matrix;
  uint64_t worst = 0;
  uint32_t worst_word = 0;
  for (int64_t i = 0; dtype == TBK_FLOAT64 && i < count; i++) {
    uint64_t word;
    memcpy(&word, from + i * 8, sizeof word);
    worst |= (word << 1) >= UINT64_C(0x7ff) << 53;
  }
  for (int64_t i = 0; dtype != TBK_FLOAT64 && i < count; i++) {
    uint32_t word;
    memcpy(&word, from + i * 4, sizeof word);
    worst_word |= (word & 0x7f800000u) == 0x7f800000u;
  }
  return !worst && !worst_word;
}

/* The same of what lies on the device. */
static bool are_lying_finite(const cpu_convolution_t* one, const char* from, int64_t count) {
  enum { SOME = 512 };
  double some[SOME];
  const int64_t bytes = one->input.element_bytes;
  bool finite = true;
  for (int64_t i = 0; i < count && finite; i += SOME) {
    const int64_t length = min(SOME, count - i);
    cpu_row_load((char*)some, from + i * bytes, bytes, length, bytes);
    finite = are_finite(one->computed, some, length);
  }
  return finite;
}

bool cpu_matrix_is_harmed(const cpu_convolution_t* one, cpu_matrix_t m, bool lies, int64_t rows,
                          int64_t columns) {
  if (!one->meets_padding) return false;
  if (!lies) return !are_finite(one->computed, m.data, rows * columns);
  const bool whole = m.stride == columns;
  bool finite = true;
  for (int64_t i = 0; i < (whole ? 1 : rows) && finite; i++)
    finite = are_lying_finite(one, m.data + i * m.stride * one->input.element_bytes,
                              whole ? rows * columns : columns);
  return !finite;
}

double cpu_matrix_begin(const cpu_convolution_t* one, cpu_matrix_t m, bool lies, int64_t channel,
                        int64_t rows, int64_t columns) {
  const int64_t bytes = tbk_dtype_bytes(one->computed);
  if (one->bias.rank == 0) return 0;
  for (int64_t i = 0; i < rows; i++) {
    if (lies)
      cpu_row_copy(m.data + i * m.stride * bytes, bytes,
                   one->bias.data + (channel + i) * one->bias.strides[0], 0, columns, bytes);
    else
      cpu_matrix_fill(one->computed, m.data, i * columns, columns,
                      cpu_convolution_bias(one, channel + i).real);
  }
  return 1;
}

/* ----------------------------------------------------------------------------- matrices ------ */

cpu_matrix_t cpu_weight_find(const cpu_convolution_t* one, int64_t group, const cpu_buffers_t* b) {
  return one->lies_weight ? cpu_weight_lies(one, group) : cpu_matrix(b->weight, cpu_depth(one));
}

cpu_matrix_t cpu_panel_find(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box,
                            const cpu_buffers_t* b) {
  return one->lies_panel ? cpu_panel_lies(one, group, box)
                         : cpu_matrix(b->panel, cpu_box_places(box));
}

cpu_matrix_t cpu_weight_load(const cpu_convolution_t* one, int64_t group, const cpu_buffers_t* b) {
  if (!one->lies_weight) {
    cpu_weight_move(one, group, raw(b, b->weight), CPU_LOAD);
    widen(one, b, b->weight, one->filters * cpu_depth(one));
  }
  return cpu_weight_find(one, group, b);
}

void cpu_weight_store(const cpu_convolution_t* one, int64_t group, const cpu_buffers_t* b) {
  if (one->lies_weight) return;
  narrow(one, b, b->weight, one->filters * cpu_depth(one));
  cpu_weight_move(one, group, raw(b, b->weight), CPU_STORE);
}

cpu_matrix_t cpu_panel_load(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box,
                            const cpu_buffers_t* b) {
  if (!one->lies_panel) {
    cpu_panel_move(one, group, box, raw(b, b->panel), CPU_LOAD);
    widen(one, b, b->panel, one->filters * cpu_box_places(box));
  }
  return cpu_panel_find(one, group, box, b);
}

void cpu_panel_store(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box,
                     const cpu_buffers_t* b) {
  if (one->lies_panel) return;
  narrow(one, b, b->panel, one->filters * cpu_box_places(box));
  cpu_panel_move(one, group, box, raw(b, b->panel), CPU_STORE);
}

/* What a tile needs of the input, in a buffer. */
static cpu_source_t stage(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box,
                          const cpu_buffers_t* b) {
  int64_t size[CPU_SPATIAL], stride = tbk_dtype_bytes(one->computed);
  cpu_source_t source = {.data = b->staged, .bytes = stride, .is_private = true};
  cpu_stage_find(one, box, source.begin, size);
  cpu_stage_load(one, group, box, source.begin, size, raw(b, b->staged));
  for (int d = CPU_SPATIAL - 1; d >= 0; d--) {
    source.strides[2 + d] = stride;
    stride *= size[d];
  }
  source.strides[1] = stride;
  source.strides[0] = stride * one->channels;
  widen(one, b, b->staged, box->images * source.strides[0] / source.bytes);
  return source;
}

cpu_matrix_t cpu_patches_make(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box,
                              const cpu_buffers_t* b) {
  if (one->lies_patches) return cpu_patches_lie(one, group, box);
  if (one->stages) {
    const cpu_source_t source = stage(one, group, box, b);
    cpu_patches_load(one, &source, box, b->patches);
  } else {
    const cpu_source_t source = cpu_source_lies(one, group, box);
    cpu_patches_load(one, &source, box, raw(b, b->patches));
    widen(one, b, b->patches, cpu_depth(one) * cpu_box_places(box));
  }
  return cpu_matrix(b->patches, cpu_box_places(box));
}

void cpu_sums_begin(const cpu_convolution_t* one, int64_t images, int64_t channel, int64_t count,
                    const cpu_buffers_t* b) {
  const int64_t places = one->input_places;
  for (int64_t c = 0; c < images * count; c++)
    cpu_matrix_fill(one->computed, b->sums, c * places, places,
                    cpu_convolution_bias(one, channel + c % count).real);
}

void cpu_sums_load(const cpu_convolution_t* one, int64_t image, int64_t channel,
                   const cpu_buffers_t* b) {
  cpu_channels_move(one, image, 1, channel, 1, raw(b, b->sums), CPU_LOAD);
  widen(one, b, b->sums, one->input_places);
}

void cpu_sums_store(const cpu_convolution_t* one, int64_t image, int64_t images, int64_t channel,
                    int64_t count, const cpu_buffers_t* b) {
  narrow(one, b, b->sums, images * count * one->input_places);
  cpu_channels_move(one, image, images, channel, count, raw(b, b->sums), CPU_STORE);
}
