/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_blas.c: tbk::convolution of real numbers by products of matrices, tile by tile of the output's
 * places. With `patches`, which hold for each place what the input has for all taps,
 *
 *   panel = weight * patches,  patches = weight' * panel,  weight = sum of panel * patches'
 *
 * are the three modes. FLOAT16 and BFLOAT16 become FLOAT32 in between. Buffers hold a tile, the weight of a
 * group, and channels of the input while they are summed: their size does not grow with the number of images.
 */
#include <limits.h>
#include <math.h>

#include "convolution.h"
#include "generic/loops/loops.h"

/* Elements that patches and panel of a tile have, as far as one tile is not less than LEAST_TILE; and that the
 * input's channels have that are summed together, as far as one is not more. */
enum { TILE_ELEMENTS = 1 << 18, LEAST_TILE = 16, SUM_ELEMENTS = 1 << 20, ALIGNMENT = 64 };
/* So few filters of one channel are no product of matrices. */
enum { FEW_FILTERS = 4 };

typedef struct buffers {
  void *weight, *patches, *panel, *sums;
  void* narrow; /* NULL where the tensors have the dtype of the buffers */
} buffers_t;

static int64_t min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t depth(const cpu_convolution_t* one) {
  return one->channels * one->taps;
}

static bool is_narrow(const cpu_convolution_t* one) {
  return one->computed != one->input.dtype;
}

/* ----------------------------------------------------------------------------- buffers --------- */

/* Takes `count` elements, and what a loop may write behind them, off the workspace. */
static void* take(char* workspace, uint64_t* used, int64_t count, int64_t element_bytes) {
  const uint64_t bytes = (uint64_t)((count + CPU_LANE_STEP) * element_bytes);
  void* taken = workspace ? workspace + *used : NULL;
  *used += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  return taken;
}

static uint64_t divide(const cpu_convolution_t* one, char* workspace, buffers_t* out) {
  const int64_t bytes = tbk_dtype_bytes(one->computed);
  const int64_t weight = one->filters * depth(one);
  const int64_t patches = one->by_planes ? 0 : depth(one) * one->tile;
  const int64_t panel = one->filters * one->tile, sums = one->block * one->input_places;
  uint64_t used = 0;
  out->weight = take(workspace, &used, weight, bytes);
  out->patches = take(workspace, &used, patches, bytes);
  out->panel = take(workspace, &used, panel, bytes);
  out->sums = take(workspace, &used, sums, bytes);
  out->narrow = NULL;
  if (is_narrow(one))
    out->narrow = take(workspace, &used, max(max(weight, patches), max(panel, sums)), 2);
  return used;
}

static int32_t computed_in(int32_t dtype) {
  if (tbk_dtype_kind(dtype) != TBK_KIND_REAL) return -1;
  return dtype == TBK_FLOAT64 ? TBK_FLOAT64 : TBK_FLOAT32;
}

/* What has no product at all, or sizes that BLAS cannot count, is left to the loop. */
static bool serves(const cpu_convolution_t* one) {
  const bool has_products = one->input.count > 0 && one->weight.count > 0 && one->output.count > 0;
  return one->computed >= 0 && has_products && depth(one) <= INT_MAX / 2 &&
         one->filters <= INT_MAX / 2 && one->weight.count / one->groups <= INT_MAX;
}

uint64_t cpu_convolution_plan(cpu_convolution_t* one) {
  buffers_t none;
  one->computed = computed_in(one->input.dtype);
  if (!serves(one)) return 0;
  one->tile = min(max(TILE_ELEMENTS / (depth(one) + one->filters), LEAST_TILE), one->output_places);
  if (one->mode == TBK_CONVOLUTION_INPUT)
    one->block = min(max(SUM_ELEMENTS / one->input_places, 1), one->channels);
  one->by_planes = one->channels == 1 && one->filters <= FEW_FILTERS;
  if (one->by_planes) one->block = 1;
  return divide(one, NULL, &none);
}

/* ----------------------------------------------------------------------------- elements -------- */

static void cast(int32_t from, int32_t to, const void* in, void* out, int64_t count) {
  const cpu_loop_t loop = cpu_loop_find(TBK_OPCODE_CAST, (uint16_t)from, (uint16_t)to, 0);
  loop(out, &in, ((size_t)count + CPU_LANE_STEP - 1) / CPU_LANE_STEP * CPU_LANE_STEP);
}

/* Where a matrix lies as the tensor has it. */
static void* raw(const buffers_t* b, void* matrix) {
  return b->narrow ? b->narrow : matrix;
}

static void widen(const cpu_convolution_t* one, const buffers_t* b, void* matrix, int64_t count) {
  if (b->narrow) cast(one->input.dtype, one->computed, b->narrow, matrix, count);
}

static void narrow(const cpu_convolution_t* one, const buffers_t* b, const void* matrix,
                   int64_t count) {
  if (b->narrow) cast(one->computed, one->input.dtype, matrix, b->narrow, count);
}

static void fill(int32_t dtype, void* matrix, int64_t begin, int64_t count, double value) {
  for (int64_t i = begin; i < begin + count; i++)
    if (dtype == TBK_FLOAT64)
      ((double*)matrix)[i] = value;
    else
      ((float*)matrix)[i] = (float)value;
}

static bool are_finite(int32_t dtype, const void* matrix, int64_t count) {
  bool finite = true;
  for (int64_t i = 0; i < count; i++)
    finite &= dtype == TBK_FLOAT64 ? isfinite(((const double*)matrix)[i]) != 0
                                   : isfinite(((const float*)matrix)[i]) != 0;
  return finite;
}

/* Padding is a 0 in a product of matrices, and makes NaN of what is not finite. */
static bool is_harmed(const cpu_convolution_t* one, const void* matrix, int64_t count) {
  return one->meets_padding && !are_finite(one->computed, matrix, count);
}

static void load_weight(const cpu_convolution_t* one, int64_t group, const buffers_t* b) {
  cpu_weight_move(one, group, raw(b, b->weight), CPU_LOAD);
  widen(one, b, b->weight, one->filters * depth(one));
}

static void load_patches(const cpu_convolution_t* one, int64_t image, int64_t group, int64_t begin,
                         int64_t count, const buffers_t* b) {
  cpu_patches_load(one, image, group, begin, count, raw(b, b->patches));
  widen(one, b, b->patches, depth(one) * count);
}

static void load_panel(const cpu_convolution_t* one, int64_t image, int64_t group, int64_t begin,
                       int64_t count, const buffers_t* b) {
  cpu_panel_move(one, image, group, begin, count, raw(b, b->panel), CPU_LOAD);
  widen(one, b, b->panel, one->filters * count);
}

static cpu_matrix_t matrix(void* data, int64_t stride, bool transposed) {
  return (cpu_matrix_t){data, (int32_t)stride, transposed};
}

/* c = a * b + beta * c */
static bool multiply(const cpu_convolution_t* one, int64_t m, int64_t n, int64_t k, cpu_matrix_t a,
                     cpu_matrix_t b, double beta, cpu_matrix_t c) {
  return cpu_blas_gemm(one->computed, (int32_t)m, (int32_t)n, (int32_t)k, 1, a, b, beta, c);
}

/* ----------------------------------------------------------------------------- modes ----------- */

static bool make_panel(const cpu_convolution_t* one, int64_t image, int64_t group, int64_t begin,
                       int64_t count, const buffers_t* b) {
  const int64_t filters = one->filters;
  load_patches(one, image, group, begin, count, b);
  for (int64_t f = 0; f < filters; f++)
    fill(one->computed, b->panel, f * count, count,
         cpu_convolution_bias(one, group * filters + f).real);
  if (!multiply(one, filters, count, depth(one), matrix(b->weight, depth(one), false),
                matrix(b->patches, count, false), 1, matrix(b->panel, count, false)))
    return false;
  narrow(one, b, b->panel, filters * count);
  cpu_panel_move(one, image, group, begin, count, raw(b, b->panel), CPU_STORE);
  return true;
}

static bool make_output(const cpu_convolution_t* one, int64_t group, const buffers_t* b) {
  load_weight(one, group, b);
  if (is_harmed(one, b->weight, one->filters * depth(one))) return false;
  for (int64_t n = 0; n < one->images; n++)
    for (int64_t begin = 0; begin < one->output_places; begin += one->tile)
      if (!make_panel(one, n, group, begin, min(one->tile, one->output_places - begin), b))
        return false;
  return true;
}

/* Channels of the group from `first` on. */
static bool make_channels(const cpu_convolution_t* one, int64_t image, int64_t group, int64_t first,
                          int64_t channels, const buffers_t* b) {
  const int64_t places = one->input_places, channel = group * one->channels + first;
  char* weight = (char*)b->weight + first * one->taps * tbk_dtype_bytes(one->computed);
  for (int64_t c = 0; c < channels; c++)
    fill(one->computed, b->sums, c * places, places, cpu_convolution_bias(one, channel + c).real);
  for (int64_t begin = 0; begin < one->output_places; begin += one->tile) {
    const int64_t count = min(one->tile, one->output_places - begin);
    load_panel(one, image, group, begin, count, b);
    if (!multiply(one, channels * one->taps, count, one->filters, matrix(weight, depth(one), true),
                  matrix(b->panel, count, false), 0, matrix(b->patches, count, false)))
      return false;
    cpu_patches_add(one, channels, begin, count, b->patches, b->sums);
  }
  narrow(one, b, b->sums, channels * places);
  cpu_channels_move(one, image, channel, channels, raw(b, b->sums), CPU_STORE);
  return true;
}

static bool make_input(const cpu_convolution_t* one, int64_t group, const buffers_t* b) {
  load_weight(one, group, b);
  for (int64_t n = 0; n < one->images; n++)
    for (int64_t first = 0; first < one->channels; first += one->block)
      if (!make_channels(one, n, group, first, min(one->block, one->channels - first), b))
        return false;
  return true;
}

static bool add_weight(const cpu_convolution_t* one, int64_t image, int64_t group, int64_t begin,
                       int64_t count, const buffers_t* b) {
  load_panel(one, image, group, begin, count, b);
  if (is_harmed(one, b->panel, one->filters * count)) return false;
  load_patches(one, image, group, begin, count, b);
  return multiply(one, one->filters, depth(one), count, matrix(b->panel, count, false),
                  matrix(b->patches, count, true), 1, matrix(b->weight, depth(one), false));
}

static bool make_weight(const cpu_convolution_t* one, int64_t group, const buffers_t* b) {
  const int64_t count = one->filters * depth(one);
  fill(one->computed, b->weight, 0, count, 0);
  for (int64_t n = 0; n < one->images; n++)
    for (int64_t begin = 0; begin < one->output_places; begin += one->tile)
      if (!add_weight(one, n, group, begin, min(one->tile, one->output_places - begin), b))
        return false;
  narrow(one, b, b->weight, count);
  cpu_weight_move(one, group, raw(b, b->weight), CPU_STORE);
  return true;
}

/* Adds the products of all filters and taps for some places of the output. */
static void add_planes(const cpu_convolution_t* one, int64_t begin, int64_t count,
                       const buffers_t* b) {
  const int64_t bytes = tbk_dtype_bytes(one->computed);
  char *weight = b->weight, *panel = b->panel;
  for (int64_t f = 0; f < one->filters; f++, panel += count * bytes) {
    int64_t tap[CPU_SPATIAL] = {0};
    do {
      cpu_plane_add(one, one->computed, tap, begin, count, b->sums, panel, weight);
      weight += bytes;
    } while (cpu_next_index(tap, one->weight.sizes + 2, CPU_SPATIAL));
  }
}

static void make_tile(const cpu_convolution_t* one, int64_t image, int64_t group, int64_t begin,
                      int64_t count, const buffers_t* b) {
  const int64_t filters = one->filters;
  const bool written = one->mode == TBK_CONVOLUTION_OUTPUT;
  if (!written) load_panel(one, image, group, begin, count, b);
  for (int64_t f = 0; written && f < filters; f++)
    fill(one->computed, b->panel, f * count, count,
         cpu_convolution_bias(one, group * filters + f).real);
  add_planes(one, begin, count, b);
  if (!written) return;
  narrow(one, b, b->panel, filters * count);
  cpu_panel_move(one, image, group, begin, count, raw(b, b->panel), CPU_STORE);
}

static void make_plane(const cpu_convolution_t* one, int64_t image, int64_t group,
                       const buffers_t* b) {
  const int64_t places = one->input_places;
  const bool written = one->mode == TBK_CONVOLUTION_INPUT;
  if (written) {
    fill(one->computed, b->sums, 0, places, cpu_convolution_bias(one, group).real);
  } else {
    cpu_channels_move(one, image, group, 1, raw(b, b->sums), CPU_LOAD);
    widen(one, b, b->sums, places);
  }
  for (int64_t begin = 0; begin < one->output_places; begin += one->tile)
    make_tile(one, image, group, begin, min(one->tile, one->output_places - begin), b);
  if (!written) return;
  narrow(one, b, b->sums, places);
  cpu_channels_move(one, image, group, 1, raw(b, b->sums), CPU_STORE);
}

/* A group of one channel, which lies whole in a buffer, tap by tap. */
static void make_planes(const cpu_convolution_t* one, int64_t group, const buffers_t* b) {
  const int64_t count = one->filters * one->taps;
  if (one->mode == TBK_CONVOLUTION_WEIGHT)
    fill(one->computed, b->weight, 0, count, 0);
  else
    load_weight(one, group, b);
  for (int64_t n = 0; n < one->images; n++)
    make_plane(one, n, group, b);
  if (one->mode != TBK_CONVOLUTION_WEIGHT) return;
  narrow(one, b, b->weight, count);
  cpu_weight_move(one, group, raw(b, b->weight), CPU_STORE);
}

bool cpu_convolution_blas(const cpu_convolution_t* one, int64_t group, char* workspace) {
  buffers_t buffers;
  divide(one, workspace, &buffers);
  if (one->by_planes) {
    make_planes(one, group, &buffers);
    return true;
  }
  switch (one->mode) {
    case TBK_CONVOLUTION_OUTPUT:
      return make_output(one, group, &buffers);
    case TBK_CONVOLUTION_INPUT:
      return make_input(one, group, &buffers);
    default:
      return make_weight(one, group, &buffers);
  }
}
