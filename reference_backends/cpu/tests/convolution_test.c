/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_test.c: convolutions that are more than one tile of places and one block of channels, against
 * plain loops; depthwise ones; and whole numbers, so that every order gives the same.
 */
#include <stdlib.h>
#include <tbk/tbk_convolution.h>

#include "session.h"

enum { IMAGES = 2, CHANNELS = 20, FILTERS = 3, SIDE = 250, TAPS = 3 };
/* The output is as large as the input. */
enum { PLACES = SIDE * SIDE, WEIGHT = FILTERS * CHANNELS * TAPS * TAPS };

static const int64_t input_sizes[] = {IMAGES, CHANNELS, SIDE, SIDE};
static const int64_t weight_sizes[] = {FILTERS, CHANNELS, TAPS, TAPS};
static const int64_t output_sizes[] = {IMAGES, FILTERS, SIDE, SIDE};

typedef struct operands {
  session_tensor_t of[3]; /* by mode: it is what is written */
  int32_t *input, *weight, *output;
} operands_t;

/* -1 to 2, and on the device the same. */
static int32_t* fill(session_t* session, session_tensor_t* tensor, uint64_t seed) {
  const int64_t count = session_count(tensor);
  int32_t* values = calloc((size_t)count, sizeof *values);
  for (int64_t i = 0; i < count; i++) {
    values[i] = (int32_t)(session_draw(&seed) % 4) - 1;
    *(float*)session_element(tensor, i) = (float)values[i];
  }
  session_upload(session, tensor);
  return values;
}

static operands_t make(session_t* session) {
  operands_t o = {.of = {session_tensor(session, TBK_FLOAT32, 4, output_sizes, NULL, 0),
                         session_tensor(session, TBK_FLOAT32, 4, input_sizes, NULL, 0),
                         session_tensor(session, TBK_FLOAT32, 4, weight_sizes, NULL, 0)}};
  o.output = fill(session, &o.of[TBK_CONVOLUTION_OUTPUT], 1);
  o.input = fill(session, &o.of[TBK_CONVOLUTION_INPUT], 2);
  o.weight = fill(session, &o.of[TBK_CONVOLUTION_WEIGHT], 3);
  return o;
}

static void drop(session_t* session, operands_t* o) {
  for (int i = 0; i < 3; i++)
    session_free(session, &o->of[i]);
  free(o->input);
  free(o->weight);
  free(o->output);
}

/* The products of one image, filter and channel, for all three modes alike. */
static void add_plane(const operands_t* o, int64_t mode, int64_t n, int64_t f, int64_t c,
                      int32_t* sums) {
  const int64_t x0 = (n * CHANNELS + c) * PLACES, y0 = (n * FILTERS + f) * PLACES;
  const int64_t w0 = (f * CHANNELS + c) * TAPS * TAPS;
  for (int64_t k = 0; k < TAPS * TAPS; k++)
    for (int64_t y = 0; y < PLACES; y++) {
      const int64_t row = y / SIDE + k / TAPS - 1, column = y % SIDE + k % TAPS - 1;
      if (row < 0 || row >= SIDE || column < 0 || column >= SIDE) continue;
      const int64_t x = x0 + row * SIDE + column;
      if (mode == TBK_CONVOLUTION_OUTPUT) sums[y0 + y] += o->input[x] * o->weight[w0 + k];
      if (mode == TBK_CONVOLUTION_INPUT) sums[x] += o->output[y0 + y] * o->weight[w0 + k];
      if (mode == TBK_CONVOLUTION_WEIGHT) sums[w0 + k] += o->output[y0 + y] * o->input[x];
    }
}

static int32_t* expect(const operands_t* o, int64_t mode) {
  int32_t* sums = calloc((size_t)session_count(&o->of[mode]), sizeof *sums);
  for (int64_t n = 0; n < IMAGES; n++)
    for (int64_t f = 0; f < FILTERS; f++)
      for (int64_t c = 0; c < CHANNELS; c++)
        add_plane(o, mode, n, f, c, sums);
  return sums;
}

typedef struct window {
  int64_t stride[2], padding[2], dilation[2];
} window_t;
static const window_t windows[] = {
    {{1, 1}, {1, 1}, {1, 1}}, {{2, 3}, {0, 4}, {1, 2}}, {{3, 2}, {5, 0}, {2, 1}}};

static tbk_status_t launch(session_t* session, operands_t* o, int64_t mode, const window_t* window,
                           int64_t groups) {
  for (int i = 0; i < 3; i++) {
    o->of[i].tensor.sizes = o->of[i].sizes;
    o->of[i].tensor.strides = o->of[i].strides;
  }
  const tbk_args_convolution_t arguments = {.struct_size = sizeof arguments,
                                            .mode = mode,
                                            .input = &o->of[TBK_CONVOLUTION_INPUT].tensor,
                                            .weight = &o->of[TBK_CONVOLUTION_WEIGHT].tensor,
                                            .output = &o->of[TBK_CONVOLUTION_OUTPUT].tensor,
                                            .stride = window->stride,
                                            .padding = window->padding,
                                            .dilation = window->dilation,
                                            .groups = groups,
                                            .index_bits = 64};
  const tbk_kernel_t* kernel = session->backend->kernel->kernel_find(
      session->self, 0, TBK_NAME_convolution, TBK_VERSION_convolution);
  CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
  return kernel->launch(session->self, 0, kernel, &arguments, NULL, NULL);
}

static void check_mode(session_t* session, int64_t mode) {
  operands_t o = make(session);
  session_tensor_t* written = &o.of[mode];
  int32_t* right = expect(&o, mode);
  int64_t wrong = 0;
  CU_ASSERT_EQUAL_FATAL(launch(session, &o, mode, &windows[0], 1), TBK_OK);
  session_download(session, written);
  for (int64_t i = 0; i < session_count(written); i++)
    wrong += *(float*)session_element(written, i) != (float)right[i];
  CU_ASSERT_EQUAL(wrong, 0);
  free(right);
  drop(session, &o);
}

static void tiles_and_blocks_make_one(void) {
  session_t session = session_open("");
  for (int64_t mode = TBK_CONVOLUTION_OUTPUT; mode <= TBK_CONVOLUTION_WEIGHT; mode++)
    check_mode(&session, mode);
  session_close(&session);
}

/* ------------------------------------------------------------------------------ depthwise ------ */

enum { GROUPS = 5, OF_ONE = 2, HEIGHT = 19, WIDTH = 230, TALL = 3, WIDE = 2 };

static int64_t places(const window_t* window, int d, int64_t size, int64_t taps) {
  return (size + 2 * window->padding[d] - window->dilation[d] * (taps - 1) - 1) /
             window->stride[d] +
         1;
}

/* The products of all places at one tap of filter `f`, whose channel is f / OF_ONE. */
static void add_tap(const operands_t* o, const window_t* window, int64_t mode, int64_t image,
                    int64_t f, int64_t tap, int32_t* sums) {
  const int64_t* y = o->of[TBK_CONVOLUTION_OUTPUT].sizes;
  const int64_t x0 = (image * GROUPS + f / OF_ONE) * HEIGHT * WIDTH, w = f * TALL * WIDE + tap;
  for (int64_t i = 0; i < y[2] * y[3]; i++) {
    const int64_t row =
        i / y[3] * window->stride[0] + tap / WIDE * window->dilation[0] - window->padding[0];
    const int64_t column =
        i % y[3] * window->stride[1] + tap % WIDE * window->dilation[1] - window->padding[1];
    const int64_t x = x0 + row * WIDTH + column, at = (image * y[1] + f) * y[2] * y[3] + i;
    if (row < 0 || row >= HEIGHT || column < 0 || column >= WIDTH) continue;
    if (mode == TBK_CONVOLUTION_OUTPUT) sums[at] += o->input[x] * o->weight[w];
    if (mode == TBK_CONVOLUTION_INPUT) sums[x] += o->output[at] * o->weight[w];
    if (mode == TBK_CONVOLUTION_WEIGHT) sums[w] += o->output[at] * o->input[x];
  }
}

static void check_depthwise(session_t* session, const window_t* window, int64_t mode) {
  const int64_t input[] = {IMAGES, GROUPS, HEIGHT, WIDTH};
  const int64_t weight[] = {GROUPS * OF_ONE, 1, TALL, WIDE};
  const int64_t output[] = {IMAGES, GROUPS * OF_ONE, places(window, 0, HEIGHT, TALL),
                            places(window, 1, WIDTH, WIDE)};
  const int64_t last[] = {GROUPS * HEIGHT * WIDTH, 1, WIDTH * GROUPS, GROUPS};
  operands_t o = {.of = {session_tensor(session, TBK_FLOAT32, 4, output, NULL, 0),
                         session_tensor(session, TBK_FLOAT32, 4, input, last, 0),
                         session_tensor(session, TBK_FLOAT32, 4, weight, NULL, 0)}};
  o.output = fill(session, &o.of[TBK_CONVOLUTION_OUTPUT], 1);
  o.input = fill(session, &o.of[TBK_CONVOLUTION_INPUT], 2);
  o.weight = fill(session, &o.of[TBK_CONVOLUTION_WEIGHT], 3);
  session_tensor_t* written = &o.of[mode];
  int32_t* right = calloc((size_t)session_count(written), sizeof *right);
  for (int64_t n = 0; n < IMAGES; n++)
    for (int64_t f = 0; f < GROUPS * OF_ONE; f++)
      for (int64_t tap = 0; tap < TALL * WIDE; tap++)
        add_tap(&o, window, mode, n, f, tap, right);
  int64_t wrong = 0;
  CU_ASSERT_EQUAL_FATAL(launch(session, &o, mode, window, GROUPS), TBK_OK);
  session_download(session, written);
  for (int64_t i = 0; i < session_count(written); i++)
    wrong += *(float*)session_element(written, i) != (float)right[i];
  CU_ASSERT_EQUAL(wrong, 0);
  free(right);
  drop(session, &o);
}

static void few_filters_read_a_channel(void) {
  session_t session = session_open("");
  for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
    for (int64_t mode = TBK_CONVOLUTION_OUTPUT; mode <= TBK_CONVOLUTION_WEIGHT; mode++)
      check_depthwise(&session, &windows[i], mode);
  session_close(&session);
}

const CU_TestInfo cpu_convolution_tests[] = {
    {"tiles_and_blocks_make_one", tiles_and_blocks_make_one},
    {"few_filters_read_a_channel", few_filters_read_a_channel},
    CU_TEST_INFO_NULL,
};
