/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_blas.c: tbk::convolution of real numbers by products of matrices, tile by tile of the output's
 * places. With `patches`, which hold for each place what the input has for all taps,
 *
 *   panel = weight * patches,  patches = weight' * panel,  weight = sum of panel * patches'
 *
 * are the three modes. FLOAT16 and BFLOAT16 become FLOAT32 in between. What BLAS cannot have where it lies is in
 * buffers, which hold a tile, what it needs of the input, the weight of a group, and channels of the input while they
 * are summed: their size does not grow with the number of images.
 */
#include <limits.h>

#include "convolution_matrix.h"

/* Elements that patches and panel of a tile have, as far as one tile is not less than LEAST_TILE; and that the
 * input's channels have that are summed together, as far as one is not more. */
enum { TILE_ELEMENTS = 1 << 18, LEAST_TILE = 16, SUM_ELEMENTS = 1 << 20 };
/* So few filters of one channel are no product of matrices; an image of so many places is a product of its own. */
enum { FEW_FILTERS = 4, MANY_PLACES = 64 };
/* What a tile needs of the input is copied where that is at most so many times what the patches of one channel are. */
enum { STAGED_MOST = 2 };

static int64_t min(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t max(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int32_t computed_in(int32_t dtype) {
  if (tbk_dtype_kind(dtype) != TBK_KIND_REAL) return -1;
  return dtype == TBK_FLOAT64 ? TBK_FLOAT64 : TBK_FLOAT32;
}

/* What has no product at all, or sizes that BLAS cannot count, is left to the loop. */
static bool serves(const cpu_convolution_t* one) {
  const bool has_products = one->input.count > 0 && one->weight.count > 0 && one->output.count > 0;
  return one->computed >= 0 && has_products && cpu_depth(one) <= INT_MAX / 2 &&
         one->filters <= INT_MAX / 2 && one->weight.count / one->groups <= INT_MAX;
}

/* Images whose places are one tile. */
static int64_t most_images(const cpu_convolution_t* one) {
  if (one->by_planes || one->output_places >= MANY_PLACES) return 1;
  if (one->mode != TBK_CONVOLUTION_INPUT) return one->images;
  return SUM_ELEMENTS / max(one->channels * one->input_places, 1);
}

uint64_t cpu_convolution_plan(cpu_convolution_t* one) {
  cpu_buffers_t none;
  one->computed = computed_in(one->input.dtype);
  if (!serves(one)) return 0;
  one->by_planes = one->channels == 1 && one->filters <= FEW_FILTERS;
  cpu_boxes_plan(one, max(TILE_ELEMENTS / (cpu_depth(one) + one->filters), LEAST_TILE),
                 most_images(one));
  cpu_matrices_plan(one);
  if (one->mode == TBK_CONVOLUTION_INPUT && !one->lies_patches)
    one->block = min(max(SUM_ELEMENTS / one->input_places, 1), one->channels);
  if (one->by_planes) one->block = 1;
  one->stages = one->mode != TBK_CONVOLUTION_INPUT && !one->by_planes && one->taps > 1 &&
                cpu_staged_places(one) / STAGED_MOST <= one->taps * cpu_tile_places(one);
  return cpu_buffers_divide(one, NULL, &none);
}

/* c = a * b + beta * c */
static bool multiply(const cpu_convolution_t* one, int64_t m, int64_t n, int64_t k, cpu_matrix_t a,
                     cpu_matrix_t b, double beta, cpu_matrix_t c) {
  return cpu_blas_gemm(one->computed, (int32_t)m, (int32_t)n, (int32_t)k, 1, a, b, beta, c);
}

/* ----------------------------------------------------------------------------- modes ----------- */

static bool make_panel(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box,
                       cpu_matrix_t weight, const cpu_buffers_t* b) {
  const int64_t filters = one->filters, count = cpu_box_places(box);
  const cpu_matrix_t patches = cpu_patches_make(one, group, box, b);
  const cpu_matrix_t panel = cpu_panel_find(one, group, box, b);
  const double beta =
      cpu_matrix_begin(one, panel, one->lies_panel, group * filters, filters, count);
  if (!multiply(one, filters, count, cpu_depth(one), weight, patches, beta, panel)) return false;
  cpu_panel_store(one, group, box, b);
  return true;
}

static bool make_output(const cpu_convolution_t* one, int64_t group, const cpu_buffers_t* b) {
  const cpu_matrix_t weight = cpu_weight_load(one, group, b);
  if (cpu_matrix_is_harmed(one, weight, one->lies_weight, one->filters, cpu_depth(one)))
    return false;
  for (int64_t n = 0; n < one->images; n += one->tile[0]) {
    cpu_box_t box = cpu_box_first(one, n);
    do
      if (!make_panel(one, group, &box, weight, b)) return false;
    while (cpu_box_next(one, &box));
  }
  return true;
}

/* Channels of the group from `first` on, whose rows of the weight these are. */
static bool make_channels(const cpu_convolution_t* one, int64_t group, cpu_box_t box, int64_t first,
                          int64_t channels, cpu_matrix_t weight, const cpu_buffers_t* b) {
  const int64_t channel = group * one->channels + first;
  cpu_sums_begin(one, box.images, channel, channels, b);
  weight.data += first * one->taps * tbk_dtype_bytes(one->computed);
  do {
    const int64_t count = cpu_box_places(&box);
    const cpu_matrix_t panel = cpu_panel_load(one, group, &box, b);
    if (!multiply(one, channels * one->taps, count, one->filters, weight, panel, 0,
                  cpu_matrix(b->patches, count)))
      return false;
    cpu_patches_add(one, channels, &box, b->patches, b->sums);
  } while (cpu_box_next(one, &box));
  cpu_sums_store(one, box.image, box.images, channel, channels, b);
  return true;
}

/* The same where patches are the input itself. */
static bool make_places(const cpu_convolution_t* one, int64_t group, cpu_box_t box,
                        cpu_matrix_t weight, const cpu_buffers_t* b) {
  const int64_t channels = one->channels;
  do {
    const cpu_matrix_t panel = cpu_panel_load(one, group, &box, b);
    const cpu_matrix_t patches = cpu_patches_lie(one, group, &box);
    const double beta =
        cpu_matrix_begin(one, patches, true, group * channels, channels, box.places);
    if (!multiply(one, channels, box.places, one->filters, weight, panel, beta, patches))
      return false;
  } while (cpu_box_next(one, &box));
  return true;
}

static bool make_input(const cpu_convolution_t* one, int64_t group, const cpu_buffers_t* b) {
  cpu_matrix_t weight = cpu_weight_load(one, group, b);
  weight.transposed = true;
  for (int64_t n = 0; n < one->images; n += one->tile[0]) {
    const cpu_box_t box = cpu_box_first(one, n);
    if (one->lies_patches && !make_places(one, group, box, weight, b)) return false;
    for (int64_t first = 0; !one->lies_patches && first < one->channels; first += one->block)
      if (!make_channels(one, group, box, first, min(one->block, one->channels - first), weight, b))
        return false;
  }
  return true;
}

static bool add_weight(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box,
                       double beta, const cpu_buffers_t* b) {
  const int64_t count = cpu_box_places(box);
  const cpu_matrix_t panel = cpu_panel_load(one, group, box, b);
  if (cpu_matrix_is_harmed(one, panel, one->lies_panel, one->filters, count)) return false;
  cpu_matrix_t patches = cpu_patches_make(one, group, box, b);
  patches.transposed = true;
  return multiply(one, one->filters, cpu_depth(one), count, panel, patches, beta,
                  cpu_weight_find(one, group, b));
}

static bool make_weight(const cpu_convolution_t* one, int64_t group, const cpu_buffers_t* b) {
  double beta = 0;
  for (int64_t n = 0; n < one->images; n += one->tile[0]) {
    cpu_box_t box = cpu_box_first(one, n);
    do {
      if (!add_weight(one, group, &box, beta, b)) return false;
      beta = 1;
    } while (cpu_box_next(one, &box));
  }
  cpu_weight_store(one, group, b);
  return true;
}

/* ----------------------------------------------------------------------------- planes ---------- */

/* Adds the products of all filters and taps for some places of the output. */
static void add_planes(const cpu_convolution_t* one, const cpu_box_t* box, const cpu_buffers_t* b) {
  const int64_t bytes = tbk_dtype_bytes(one->computed);
  char *weight = b->weight, *panel = b->panel;
  for (int64_t f = 0; f < one->filters; f++, panel += box->places * bytes) {
    int64_t tap[CPU_SPATIAL] = {0};
    do {
      cpu_plane_add(one, one->computed, box, tap, b->sums, panel, weight);
      weight += bytes;
    } while (cpu_next_index(tap, one->weight.sizes + 2, CPU_SPATIAL));
  }
}

static void make_tile(const cpu_convolution_t* one, int64_t group, const cpu_box_t* box,
                      const cpu_buffers_t* b) {
  const int64_t filters = one->filters, count = box->places;
  const bool written = one->mode == TBK_CONVOLUTION_OUTPUT;
  if (!written) cpu_panel_load(one, group, box, b);
  for (int64_t f = 0; written && f < filters; f++)
    cpu_matrix_fill(one->computed, b->panel, f * count, count,
                    cpu_convolution_bias(one, group * filters + f).real);
  add_planes(one, box, b);
  if (!written) return;
  cpu_panel_store(one, group, box, b);
}

static void make_plane(const cpu_convolution_t* one, int64_t image, int64_t group,
                       const cpu_buffers_t* b) {
  const bool written = one->mode == TBK_CONVOLUTION_INPUT;
  if (written)
    cpu_sums_begin(one, 1, group, 1, b);
  else
    cpu_sums_load(one, image, group, b);
  cpu_box_t box = cpu_box_first(one, image);
  do
    make_tile(one, group, &box, b);
  while (cpu_box_next(one, &box));
  if (written) cpu_sums_store(one, image, 1, group, 1, b);
}

/* A group of one channel, which lies whole in a buffer, tap by tap. */
static void make_planes(const cpu_convolution_t* one, int64_t group, const cpu_buffers_t* b) {
  const int64_t count = one->filters * one->taps;
  if (one->mode == TBK_CONVOLUTION_WEIGHT)
    cpu_matrix_fill(one->computed, b->weight, 0, count, 0);
  else
    cpu_weight_load(one, group, b);
  for (int64_t n = 0; n < one->images; n++)
    make_plane(one, n, group, b);
  if (one->mode != TBK_CONVOLUTION_WEIGHT) return;
  cpu_weight_store(one, group, b);
}

bool cpu_convolution_blas(const cpu_convolution_t* one, int64_t group, char* workspace) {
  cpu_buffers_t buffers;
  if (!cpu_matrices_aligned(one)) return false;
  cpu_buffers_divide(one, workspace, &buffers);
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
