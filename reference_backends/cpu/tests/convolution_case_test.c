/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_case_test.c: convolutions of each way in which the cpu backend lays out patches, against plain loops,
 * in all three modes; whole numbers, so that every order gives the same.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tbk/tbk_convolution.h>

#include "session.h"

/* Layouts: without gaps; channels last; gaps between rows; gaps between matrices without any, which are channels, and
 * filters of a weight; and, of what is read, channels and filters that overlap. */
typedef enum layout { DENSE, LAST, GAPS, APART, OVER } layout_t;

/* Sizes of the last `rank` dimensions count, the others are 1. Channels and filters are those of a group. What is 0 is
 * what find_sizes() says. */
typedef struct conv {
  const char* name;
  int64_t rank, images, groups, channels, filters;
  int64_t x[3], k[3], stride[3], padding[3], dilation[3];
  int64_t more[3]; /* places of the output beyond those that fit; less where it is negative */
  layout_t layout, weight_layout;
  int32_t dtype;
  bool has_bias;
  bool is_infinite; /* the last element of the weight or, where that is written, of the output is */
} conv_t;

#define ONES \
  { 1, 1, 1 }
static const conv_t cases[] = {
    {.name = "same", .padding = {0, 1, 1}},
    {.name = "same, dilated", .padding = {0, 2, 3}, .dilation = {1, 2, 3}},
    {.name = "same, with bias",
     .x = {1, 13, 12},
     .k = {1, 5, 3},
     .padding = {0, 2, 1},
     .has_bias = true},
    {.name = "as wide, not as high", .k = {1, 2, 3}, .padding = {0, 3, 1}},
    {.name = "wider", .x = {1, 5, 6}, .k = {1, 3, 2}, .padding = {0, 4, 3}},
    {.name = "without padding", .x = {1, 12, 13}, .k = {1, 3, 4}},
    {.name = "a tap in padding alone", .x = {1, 2, 3}, .k = {1, 1, 3}, .padding = {0, 2, 5}},
    {.name = "strides", .x = {1, 15, 14}, .stride = {1, 2, 3}, .padding = {0, 1, 1}},
    {.name = "strides longer than taps",
     .x = {1, 40, 50},
     .k = {1, 2, 2},
     .stride = {1, 11, 9},
     .padding = {0, 1, 0}},
    {.name = "channels last", .padding = {0, 1, 1}, .layout = LAST, .weight_layout = LAST},
    {.name = "rows with gaps",
     .padding = {0, 1, 1},
     .layout = GAPS,
     .weight_layout = GAPS,
     .has_bias = true},
    {.name = "matrices apart", .padding = {0, 1, 1}, .layout = APART, .weight_layout = APART},
    {.name = "one tap, matrices apart", .k = ONES, .layout = APART, .weight_layout = APART},
    {.name = "overlap", .padding = {0, 1, 1}, .layout = OVER, .weight_layout = OVER},
    {.name = "one tap, overlap", .k = ONES, .layout = OVER, .weight_layout = OVER},
    {.name = "infinite beside padding", .padding = {0, 1, 1}, .is_infinite = true},
    {.name = "infinite beside padding, apart",
     .padding = {0, 1, 1},
     .layout = APART,
     .weight_layout = APART,
     .is_infinite = true},
    {.name = "FLOAT64, infinite beside padding",
     .padding = {0, 1, 1},
     .dtype = TBK_FLOAT64,
     .is_infinite = true},
    {.name = "groups", .groups = 3, .padding = {0, 1, 1}, .has_bias = true},
    {.name = "one tap", .groups = 2, .k = ONES},
    {.name = "one tap, with bias", .groups = 2, .k = ONES, .has_bias = true},
    {.name = "one tap, padded", .k = ONES, .padding = {0, 1, 2}},
    {.name = "one tap of an image cut short", .k = ONES, .more = {0, -1, -2}},
    {.name = "one tap, padded, as large", .k = ONES, .padding = {0, 1, 2}, .more = {0, -2, -4}},
    {.name = "one tap, strides, as large", .k = ONES, .stride = {1, 2, 2}, .more = {0, 4, 5}},
    {.name = "one tap, strides", .x = {1, 20, 21}, .k = ONES, .stride = {1, 2, 2}},
    {.name = "one tap, channels last", .k = ONES, .layout = LAST, .weight_layout = LAST},
    {.name = "one tap, gaps", .k = ONES, .layout = GAPS, .weight_layout = GAPS},
    {.name = "one tap of many places",
     .channels = 90,
     .x = {1, 60, 61},
     .k = ONES,
     .has_bias = true},
    {.name = "small images", .images = 7, .x = {1, 4, 4}, .padding = {0, 1, 1}, .has_bias = true},
    {.name = "small images, one tap", .images = 7, .x = {1, 3, 4}, .k = ONES, .has_bias = true},
    {.name = "small images, channels last",
     .images = 7,
     .x = {1, 4, 4},
     .padding = {0, 1, 1},
     .layout = LAST},
    {.name = "more images than a tile has", .images = 700, .x = {1, 4, 4}, .padding = {0, 1, 1}},
    {.name = "small images of a large kernel",
     .images = 5,
     .channels = 40,
     .x = {1, 6, 6},
     .k = {1, 5, 5},
     .padding = {0, 2, 2}},
    {.name = "places beyond the input",
     .x = {1, 6, 7},
     .padding = {0, 1, 1},
     .more = {0, 5, 3},
     .has_bias = true},
    {.name = "rows of more than a tile",
     .rank = 1,
     .channels = 8,
     .x = {1, 1, 30000},
     .k = {1, 1, 3},
     .padding = {0, 0, 1}},
    {.name = "three dimensions",
     .rank = 3,
     .images = 3,
     .x = {5, 4, 3},
     .k = {3, 3, 3},
     .padding = ONES,
     .has_bias = true},
    {.name = "three dimensions, strides",
     .rank = 3,
     .x = {9, 8, 7},
     .k = {3, 3, 3},
     .stride = {3, 2, 1},
     .padding = ONES},
    {.name = "three dimensions, some slices in a tile",
     .rank = 3,
     .channels = 10,
     .x = {20, 10, 10},
     .k = {3, 3, 3},
     .padding = ONES},
    {.name = "three dimensions, some rows in a tile",
     .rank = 3,
     .channels = 10,
     .x = {3, 40, 40},
     .k = {3, 3, 3},
     .stride = {2, 1, 1},
     .padding = {2, 1, 1}},
    {.name = "FLOAT64", .padding = {0, 1, 1}, .has_bias = true, .dtype = TBK_FLOAT64},
    {.name = "FLOAT64, strides", .stride = {1, 2, 2}, .padding = {0, 1, 1}, .dtype = TBK_FLOAT64},
    {.name = "FLOAT16", .padding = {0, 1, 1}, .has_bias = true, .dtype = TBK_FLOAT16},
    {.name = "FLOAT16, one tap", .k = ONES, .has_bias = true, .dtype = TBK_FLOAT16},
    {.name = "FLOAT16, small images",
     .images = 5,
     .x = {1, 4, 4},
     .padding = {0, 1, 1},
     .dtype = TBK_FLOAT16},
    {.name = "FLOAT16, strides",
     .x = {1, 19, 21},
     .k = {1, 2, 2},
     .stride = {1, 9, 9},
     .dtype = TBK_FLOAT16},
};

/* ------------------------------------------------------------------------------ elements ------- */

/* Whole numbers of FLOAT16 that are less than 2^11. */
static double of_half(uint16_t bits) {
  const int exponent = (bits >> 10 & 31) - 25;
  const double size = (bits & 0x7fff) ? (double)((bits & 1023) | 1024) : 0;
  const double value = exponent < 0 ? size / (1 << -exponent) : size * (1 << exponent);
  return bits & 0x8000 ? -value : value;
}

static double get(const session_tensor_t* tensor, int64_t i) {
  const void* at = session_element(tensor, i);
  if (tensor->tensor.dtype == TBK_FLOAT64) return *(const double*)at;
  if (tensor->tensor.dtype == TBK_FLOAT32) return (double)*(const float*)at;
  return of_half(*(const uint16_t*)at);
}

static void put(const session_tensor_t* tensor, int64_t i, int value) {
  static const uint16_t halves[] = {0xbc00, 0, 0x3c00, 0x4000};
  void* at = session_element(tensor, i);
  if (tensor->tensor.dtype == TBK_FLOAT64)
    *(double*)at = value;
  else if (tensor->tensor.dtype == TBK_FLOAT32)
    *(float*)at = (float)value;
  else
    *(uint16_t*)at = halves[value + 1];
}

/* ------------------------------------------------------------------------------ operands ------- */

/* By mode, which names what is written; then the bias. Sizes have three spatial dimensions. */
typedef struct operands {
  conv_t of;
  int64_t sizes[3][5];
  session_tensor_t tensors[4];
} operands_t;
enum { Y = TBK_CONVOLUTION_OUTPUT, X = TBK_CONVOLUTION_INPUT, W = TBK_CONVOLUTION_WEIGHT, BIAS };

static void choose(int64_t* value, int64_t usual) {
  if (*value == 0) *value = usual;
}

static void find_sizes(operands_t* o) {
  static const int64_t usual_x[] = {1, 9, 11}, usual_k[] = {1, 3, 3};
  conv_t* c = &o->of;
  choose(&c->rank, 2);
  choose(&c->images, 2);
  choose(&c->groups, 1);
  choose(&c->channels, 3);
  choose(&c->filters, 4);
  if (c->dtype == 0) c->dtype = TBK_FLOAT32;
  const int64_t first[][2] = {[Y] = {c->images, c->groups * c->filters},
                              [X] = {c->images, c->groups * c->channels},
                              [W] = {c->groups * c->filters, c->channels}};
  for (int i = 0; i < 3; i++)
    memcpy(o->sizes[i], first[i], sizeof first[i]);
  for (int d = 0; d < 3; d++) {
    choose(&c->x[d], usual_x[d]);
    choose(&c->k[d], usual_k[d]);
    choose(&c->stride[d], 1);
    choose(&c->dilation[d], 1);
    o->sizes[X][2 + d] = c->x[d];
    o->sizes[W][2 + d] = c->k[d];
    o->sizes[Y][2 + d] =
        (c->x[d] + 2 * c->padding[d] - c->dilation[d] * (c->k[d] - 1) - 1) / c->stride[d] + 1 +
        c->more[d];
  }
}

static session_tensor_t make(session_t* session, const conv_t* c, bool is_weight,
                             const int64_t* sizes, layout_t layout) {
  uint64_t seed = (uint64_t)sizes[1] + is_weight;
  const int32_t rank = 2 + (int32_t)c->rank;
  int64_t strides[5], own[5] = {sizes[0], sizes[1]}, step = layout == LAST ? sizes[1] : 1;
  memcpy(own + 2, sizes + 5 - c->rank, (size_t)c->rank * sizeof *own);
  for (int32_t d = rank - 1; d >= 0; d--) {
    strides[d] = layout == LAST && d == 1 ? 1 : step;
    const bool gap = layout == GAPS || (layout == APART && d == (is_weight ? 1 : 2));
    if (layout != LAST || d != 1) step = step * own[d] + (gap ? 3 : 0);
  }
  if (layout == OVER) strides[is_weight ? 0 : 1] = 1;
  session_tensor_t tensor = session_tensor(session, c->dtype, rank, own, strides, 0);
  for (int64_t i = 0; i < session_count(&tensor); i++)
    put(&tensor, i, (int)(session_draw(&seed) % 4) - 1);
  session_upload(session, &tensor);
  return tensor;
}

static void make_infinite(session_t* session, session_tensor_t* tensor) {
  void* last = session_element(tensor, session_count(tensor) - 1);
  if (tensor->tensor.dtype == TBK_FLOAT64)
    *(double*)last = (double)INFINITY;
  else
    *(float*)last = INFINITY;
  session_upload(session, tensor);
}

static operands_t make_all(session_t* session, const conv_t* c, int mode) {
  operands_t o = {.of = *c};
  find_sizes(&o);
  for (int i = 0; i < 3; i++) {
    const layout_t layout = i == W ? c->weight_layout : c->layout;
    o.tensors[i] =
        make(session, &o.of, i == W, o.sizes[i], i == mode && layout == OVER ? DENSE : layout);
  }
  if (c->is_infinite) make_infinite(session, &o.tensors[mode == W ? Y : W]);
  const int64_t count = o.sizes[mode == W ? Y : mode][1];
  o.tensors[BIAS] = session_tensor(session, o.of.dtype, 1, &count, NULL, 0);
  for (int64_t i = 0; i < count; i++)
    put(&o.tensors[BIAS], i, (int)(i % 4) - 1);
  session_upload(session, &o.tensors[BIAS]);
  return o;
}

/* ------------------------------------------------------------------------------ products ------- */

/* Goes through what `index` counts, last first; false behind the end. */
static bool next(int64_t* index, const int64_t* sizes) {
  for (int d = 2; d >= 0; d--) {
    if (++index[d] < sizes[d]) return true;
    index[d] = 0;
  }
  return false;
}

static int64_t number(const int64_t* sizes, int64_t i, int64_t j, const int64_t* place) {
  int64_t at = i * sizes[1] + j;
  for (int d = 0; d < 3; d++)
    at = at * sizes[2 + d] + place[d];
  return at;
}

/* The products of one filter and channel at one place of the output. */
static void add_place(const operands_t* o, int mode, int64_t n, int64_t f, int64_t c,
                      const int64_t* y, double* sums) {
  const conv_t* of = &o->of;
  int64_t k[3] = {0};
  do {
    int64_t x[3];
    bool inside = true;
    for (int d = 0; d < 3; d++) {
      x[d] = y[d] * of->stride[d] + k[d] * of->dilation[d] - of->padding[d];
      inside = inside && x[d] >= 0 && x[d] < of->x[d];
    }
    if (!inside) continue;
    const int64_t at[] = {[Y] = number(o->sizes[Y], n, f, y),
                          [X] = number(o->sizes[X], n, f / of->filters * of->channels + c, x),
                          [W] = number(o->sizes[W], f, c, k)};
    const int left = mode == Y ? X : Y, right = mode == W ? X : W;
    sums[at[mode]] += get(&o->tensors[left], at[left]) * get(&o->tensors[right], at[right]);
  } while (next(k, of->k));
}

static double* expect(const operands_t* o, int mode) {
  const session_tensor_t* written = &o->tensors[mode];
  const int64_t count = session_count(written), *sizes = o->sizes[mode];
  double* sums = calloc((size_t)count, sizeof *sums);
  for (int64_t i = 0; o->of.has_bias && mode != W && i < count; i++)
    sums[i] = get(&o->tensors[BIAS], i / (sizes[2] * sizes[3] * sizes[4]) % sizes[1]);
  for (int64_t n = 0; n < o->of.images; n++)
    for (int64_t f = 0; f < o->sizes[Y][1]; f++)
      for (int64_t c = 0; c < o->of.channels; c++) {
        int64_t y[3] = {0};
        do
          add_place(o, mode, n, f, c, y, sums);
        while (next(y, o->sizes[Y] + 2));
      }
  return sums;
}

static tbk_status_t launch(session_t* session, operands_t* o, int mode) {
  for (int i = 0; i < 4; i++) {
    o->tensors[i].tensor.sizes = o->tensors[i].sizes;
    o->tensors[i].tensor.strides = o->tensors[i].strides;
  }
  const int64_t skipped = 3 - o->of.rank;
  const tbk_args_convolution_t arguments = {
      .struct_size = sizeof arguments,
      .mode = mode,
      .input = &o->tensors[X].tensor,
      .weight = &o->tensors[W].tensor,
      .output = &o->tensors[Y].tensor,
      .bias = o->of.has_bias && mode != W ? &o->tensors[BIAS].tensor : NULL,
      .stride = o->of.stride + skipped,
      .padding = o->of.padding + skipped,
      .dilation = o->of.dilation + skipped,
      .groups = o->of.groups,
      .index_bits = 64};
  const tbk_kernel_t* kernel = session->backend->kernel->kernel_find(
      session->self, 0, TBK_NAME_convolution, TBK_VERSION_convolution);
  CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
  return kernel->launch(session->self, 0, kernel, &arguments, NULL, NULL);
}

/* Bytes of what is written that are of no element. */
static uint64_t count_others(const session_tensor_t* written, uint8_t value) {
  const int64_t bytes = tbk_dtype_bytes(written->tensor.dtype);
  uint64_t others = 0;
  for (int64_t i = 0; i < session_count(written); i++)
    memset(session_element(written, i), value + 1, (size_t)bytes);
  for (uint64_t i = 0; i < written->bytes; i++)
    others += ((const uint8_t*)written->host)[i] == value;
  return others;
}

static void check(session_t* session, const conv_t* c, int mode) {
  operands_t o = make_all(session, c, mode);
  session_tensor_t* written = &o.tensors[mode];
  double* right = expect(&o, mode);
  int64_t wrong = 0;
  memset(written->host, 0x5a, written->bytes);
  session_upload(session, written);
  const uint64_t others = count_others(written, 0x5a);
  CU_ASSERT_EQUAL_FATAL(launch(session, &o, mode), TBK_OK);
  session_download(session, written);
  for (int64_t i = 0; i < session_count(written); i++) {
    const double seen = get(written, i);
    wrong += seen != right[i] && !(isnan(seen) && isnan(right[i]));
  }
  if (wrong) printf("%s, mode %d: %lld are wrong\n", c->name, mode, (long long)wrong);
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT_EQUAL(count_others(written, 0x5a), others);
  free(right);
  for (int i = 0; i < 4; i++)
    session_free(session, &o.tensors[i]);
}

static void each_way_is_the_formula(void) {
  session_t session = session_open("");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int mode = Y; mode <= W; mode++)
      check(&session, &cases[i], mode);
  session_close(&session);
}

const CU_TestInfo cpu_convolution_case_tests[] = {
    {"each_way_is_the_formula", each_way_is_the_formula},
    CU_TEST_INFO_NULL,
};
