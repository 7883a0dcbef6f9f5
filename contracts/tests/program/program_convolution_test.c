/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk::convolution: shapes as networks have them and such as nobody expects, in each mode, over dtypes, groups,
 * layouts and ways to launch. Whole numbers have one answer; real ones a bound, which is that of any order.
 */
#include <string.h>

#include "convolution_job.h"
#include "dimensions.h"
#include "room.h"

static convolution_job_t job;

/* ---------------------------------------------------------------------------------------- calls -- */

typedef struct shape {
  int32_t spatial;
  int64_t images, input[SPATIAL], kernel[SPATIAL], stride[SPATIAL], padding[SPATIAL],
      dilation[SPATIAL], more;
} shape_t;

enum {
  PLANE,
  STRIDED,
  PADDED,
  DILATED,
  POINTS,
  POINTS_PADDED,
  POINTS_STRIDED,
  POINTS_DILATED,
  POINTS_BEYOND,
  POINT_LINE,
  POINT_VOLUME,
  LINE,
  VOLUME,
  WHOLE,
  FEWER,
  MORE,
  APART,
  SINGLE,
  NO_IMAGE,
  NO_PLACE,
  NO_TAP,
  WIDE,
  IMAGES,
  MANY,
  ONE_BEYOND,
  BEYOND
};

static const shape_t shapes[] = {
    [PLANE] = {2, 2, {5, 6}, {3, 3}, {1, 1}, {0, 0}, {1, 1}, 0},
    [STRIDED] = {2, 2, {8, 9}, {3, 2}, {2, 3}, {1, 0}, {1, 1}, 0},
    /* The first places see nothing but padding. */
    [PADDED] = {2, 1, {3, 4}, {2, 3}, {1, 2}, {4, 5}, {1, 1}, 0},
    [DILATED] = {2, 2, {9, 8}, {3, 2}, {1, 2}, {2, 1}, {2, 3}, 0},
    [POINTS] = {2, 3, {4, 5}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 0},
    /* Have one tap, which is a product of matrices but for what is beside it. */
    [POINTS_PADDED] = {2, 2, {3, 4}, {1, 1}, {1, 1}, {1, 2}, {1, 1}, 0},
    [POINTS_STRIDED] = {2, 2, {5, 7}, {1, 1}, {2, 3}, {0, 0}, {1, 1}, 0},
    [POINTS_DILATED] = {2, 2, {4, 3}, {1, 1}, {1, 1}, {0, 0}, {3, 2}, 0},
    [POINTS_BEYOND] = {2, 2, {3, 4}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 2},
    [POINT_LINE] = {1, 3, {7}, {1}, {2}, {1}, {2}, 0},
    [POINT_VOLUME] = {3, 2, {3, 2, 4}, {1, 1, 1}, {1, 1, 2}, {1, 0, 1}, {1, 2, 1}, 0},
    [LINE] = {1, 2, {11}, {4}, {2}, {2}, {1}, 0},
    [VOLUME] = {3, 2, {4, 3, 5}, {2, 3, 2}, {1, 2, 1}, {1, 0, 1}, {1, 1, 2}, 0},
    [WHOLE] = {2, 2, {4, 5}, {4, 5}, {1, 1}, {0, 0}, {1, 1}, 0},
    [FEWER] = {2, 2, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, -1},
    [MORE] = {2, 2, {5, 4}, {3, 2}, {2, 1}, {1, 0}, {1, 1}, 2},
    /* No product names what lies between. */
    [APART] = {2, 2, {9, 10}, {2, 2}, {4, 3}, {0, 0}, {1, 1}, 0},
    [SINGLE] = {3, 1, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}, 0},
    [NO_IMAGE] = {2, 0, {4, 4}, {2, 2}, {1, 1}, {0, 0}, {1, 1}, 0},
    [NO_PLACE] = {2, 2, {0, 4}, {2, 2}, {1, 1}, {1, 0}, {1, 1}, 0},
    [NO_TAP] = {2, 2, {3, 4}, {0, 2}, {1, 1}, {0, 0}, {1, 1}, 0},
    /* Rows and places beyond what one group of items does at a time. */
    [WIDE] = {1, 1, {301}, {5}, {1}, {2}, {1}, 0},
    [IMAGES] = {1, 37, {5}, {2}, {1}, {1}, {1}, 0},
    [MANY] = {2, 2, {31, 29}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 0},
    /* Of what does not fit, though there is no padding, the first place is partly inside, the others are not. */
    [ONE_BEYOND] = {2, 2, {5, 6}, {3, 2}, {2, 1}, {0, 0}, {1, 1}, 1},
    [BEYOND] = {1, 2, {6}, {3}, {2}, {0}, {2}, 3},
};

/* Channels and filters of a group, and how many groups. */
typedef struct groups {
  int64_t groups, channels, filters;
} groups_t;

enum { ONE, TWO, DEPTHWISE, MULTIPLIED, NARROW, DEEP, NO_CHANNEL, NO_FILTER };

static const groups_t groups[] = {
    [ONE] = {1, 3, 2},    [TWO] = {2, 2, 3},   [DEPTHWISE] = {5, 1, 1},  [MULTIPLIED] = {3, 1, 2},
    [NARROW] = {1, 1, 1}, [DEEP] = {1, 40, 3}, [NO_CHANNEL] = {1, 0, 2}, [NO_FILTER] = {2, 2, 0},
};

static convolution_form_t form_of(int64_t which, int64_t grouped) {
  const shape_t* shape = &shapes[which];
  convolution_form_t form = {.spatial = shape->spatial,
                             .images = shape->images,
                             .groups = groups[grouped].groups,
                             .channels = groups[grouped].channels,
                             .filters = groups[grouped].filters,
                             .more = shape->more};
  memcpy(form.input, shape->input, sizeof form.input);
  memcpy(form.kernel, shape->kernel, sizeof form.kernel);
  memcpy(form.stride, shape->stride, sizeof form.stride);
  memcpy(form.padding, shape->padding, sizeof form.padding);
  memcpy(form.dilation, shape->dilation, sizeof form.dilation);
  return form;
}

/* ---------------------------------------------------------------------------------------- sweep -- */

SWEEP_DIMENSION(shape_axis, "shape", {"plane", PLANE}, {"strided", STRIDED}, {"padded", PADDED},
                {"dilated", DILATED}, {"points", POINTS}, {"line", LINE}, {"volume", VOLUME},
                {"whole", WHOLE}, {"apart", APART}, {"single", SINGLE}, {"wide", WIDE},
                {"images", IMAGES}, {"many", MANY});
SWEEP_DIMENSION(point_axis, "shape", {"points-padded", POINTS_PADDED},
                {"points-strided", POINTS_STRIDED}, {"points-dilated", POINTS_DILATED},
                {"point-line", POINT_LINE}, {"point-volume", POINT_VOLUME});
SWEEP_DIMENSION(edge_axis, "shape", {"points-beyond", POINTS_BEYOND}, {"fewer", FEWER},
                {"more", MORE}, {"apart", APART}, {"no-image", NO_IMAGE}, {"no-place", NO_PLACE},
                {"no-tap", NO_TAP}, {"padded", PADDED}, {"plane", PLANE},
                {"one-beyond", ONE_BEYOND}, {"beyond", BEYOND});
SWEEP_DIMENSION(padded_axis, "shape", {"padded", PADDED}, {"dilated", DILATED},
                {"strided", STRIDED}, {"line", LINE}, {"volume", VOLUME}, {"fewer", FEWER},
                {"more", MORE}, {"many", MANY}, {"apart", APART}, {"one-beyond", ONE_BEYOND},
                {"beyond", BEYOND}, {"points-padded", POINTS_PADDED});
SWEEP_DIMENSION(sum_axis, "shape", {"plane", PLANE}, {"points", POINTS}, {"strided", STRIDED},
                {"line", LINE}, {"volume", VOLUME}, {"many", MANY});
SWEEP_DIMENSION(group_axis, "groups", {"one", ONE}, {"two", TWO}, {"depthwise", DEPTHWISE},
                {"multiplied", MULTIPLIED}, {"narrow", NARROW}, {"deep", DEEP});
SWEEP_DIMENSION(no_group_axis, "groups", {"one", ONE}, {"no-channel", NO_CHANNEL},
                {"no-filter", NO_FILTER}, {"two", TWO});
SWEEP_DIMENSION(output_mode, "mode", {"output", TBK_CONVOLUTION_OUTPUT});
SWEEP_DIMENSION(input_mode, "mode", {"input", TBK_CONVOLUTION_INPUT});
SWEEP_DIMENSION(weight_mode, "mode", {"weight", TBK_CONVOLUTION_WEIGHT});
SWEEP_DIMENSION(biased_mode, "mode", {"output", TBK_CONVOLUTION_OUTPUT},
                {"input", TBK_CONVOLUTION_INPUT});
SWEEP_DIMENSION(every_mode, "mode", {"output", TBK_CONVOLUTION_OUTPUT},
                {"input", TBK_CONVOLUTION_INPUT}, {"weight", TBK_CONVOLUTION_WEIGHT});
SWEEP_DIMENSION(dtype_axis, "dtype", {"FLOAT32", TBK_FLOAT32}, {"INT64", TBK_INT64},
                {"UINT8", TBK_UINT8}, {"INT8", TBK_INT8}, {"INT16", TBK_INT16},
                {"INT32", TBK_INT32}, {"FLOAT16", TBK_FLOAT16}, {"FLOAT64", TBK_FLOAT64},
                {"BFLOAT16", TBK_BFLOAT16});
SWEEP_DIMENSION(real_axis, "dtype", {"FLOAT32", TBK_FLOAT32}, {"FLOAT64", TBK_FLOAT64});
SWEEP_DIMENSION(half_axis, "dtype", {"FLOAT16", TBK_FLOAT16}, {"BFLOAT16", TBK_BFLOAT16});
SWEEP_DIMENSION(every_real_axis, "dtype", {"FLOAT32", TBK_FLOAT32}, {"FLOAT64", TBK_FLOAT64},
                {"FLOAT16", TBK_FLOAT16}, {"BFLOAT16", TBK_BFLOAT16});
#define LAYOUTS                                                                            \
  {"plain", TENSOR_PLAIN}, {"last", CONVOLUTION_CHANNELS_LAST}, {"gaps", TENSOR_GAPS},     \
      {"turned", TENSOR_TURNED}, {"reversed", TENSOR_REVERSED}, {"offset", TENSOR_OFFSET}, \
      {"rows", TENSOR_ROWS}, {"broadcast", TENSOR_BROADCAST},                              \
      {"broadcast-last", TENSOR_BROADCAST_LAST}, {                                         \
    "backwards", TENSOR_BACKWARDS                                                          \
  }
SWEEP_DIMENSION(output_axis, "output", LAYOUTS);
SWEEP_DIMENSION(input_axis, "input", LAYOUTS);
SWEEP_DIMENSION(weight_axis, "weight", LAYOUTS);
SWEEP_DIMENSION(how_axis, "how", {"launch", JOB_NULL}, {"stream", JOB_STREAM}, {"plan", JOB_PLAN});
SWEEP_DIMENSION(bits_axis, "bits", {"64", 64}, {"32", 32});
/* The layout of the bias, behind 1. */
#define BIASES                                                                                  \
  {"there", 1 + TENSOR_GAPS}, {"plain", 1 + TENSOR_PLAIN}, {"reversed", 1 + TENSOR_REVERSED}, { \
    "broadcast", 1 + TENSOR_BROADCAST                                                           \
  }
SWEEP_DIMENSION(bias_axis, "bias", {"none", 0}, BIASES);
SWEEP_DIMENSION(biased_axis, "bias", BIASES);

static int64_t first_of(const sweep_case_t* one, size_t dimension) {
  return sweep_get(one, one->space->dimensions[dimension]);
}

static bool is_broadcast(int64_t layout) {
  return layout == TENSOR_BROADCAST || layout == TENSOR_BROADCAST_LAST;
}

static bool fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const sweep_dimension_t* const written[] = {&output_axis, &input_axis, &weight_axis};
  const int64_t mode = first_of(one, 1);
  const int32_t most = fx->properties.max_rank;
  if (sweep_get(one, &how_axis) == JOB_STREAM && fx->stream == NULL) return false;
  if (most > 0 && 2 + shapes[first_of(one, 0)].spatial > most) return false;
  if (is_broadcast(sweep_get(one, written[mode]))) return false;
  if (mode == TBK_CONVOLUTION_WEIGHT && first_of(one, 9) != 0) return false;
  return fx_has_dtype(fx, (int32_t)first_of(one, 2));
}

/* Taps at each place of the input, for each channel and filter: about as many as there are products. */
static int64_t products(const sweep_case_t* one) {
  const shape_t* shape = &shapes[first_of(one, 0)];
  const groups_t* grouped = &groups[first_of(one, 3)];
  int64_t count = shape->images * grouped->groups * grouped->channels * grouped->filters;
  for (int32_t d = 0; d < shape->spatial; ++d)
    count *= shape->input[d] * shape->kernel[d] / shape->stride[d];
  return count;
}

static convolution_form_t form_of_case(const sweep_case_t* one) {
  convolution_form_t form = form_of(first_of(one, 0), first_of(one, 3));
  form.mode = first_of(one, 1);
  form.dtype = (int32_t)first_of(one, 2);
  form.output_layout = (int)sweep_get(one, &output_axis);
  form.input_layout = (int)sweep_get(one, &input_axis);
  form.weight_layout = (int)sweep_get(one, &weight_axis);
  form.how = (job_how_t)sweep_get(one, &how_axis);
  form.index_bits = sweep_get(one, &bits_axis);
  form.bias = first_of(one, 9) != 0;
  form.bias_layout = form.bias ? (int)first_of(one, 9) - 1 : TENSOR_PLAIN;
  return form;
}

/* Whole numbers, of which every sum is exact. */
static void run_whole(tbk_fixture_t* fx, sweep_case_t* one) {
  convolution_form_t form = form_of_case(one);
  form.drawn = JOB_SMALL;
  CONVOLUTION_RUN(fx, &job, &form);
}

static void run_ordinary(tbk_fixture_t* fx, sweep_case_t* one) {
  convolution_form_t form = form_of_case(one);
  form.drawn = JOB_ORDINARY;
  CONVOLUTION_RUN(fx, &job, &form);
}

static void run_odd(tbk_fixture_t* fx, sweep_case_t* one) {
  convolution_form_t form = form_of_case(one);
  form.drawn = JOB_ORDINARY;
  form.odd = true;
  CONVOLUTION_RUN(fx, &job, &form);
}

#define SPACE(name, shapes_of, modes, dtypes, groups_of, biases, run)                            \
  static const sweep_space_t name = {                                                            \
      {&(shapes_of), &(modes), &(dtypes), &(groups_of), &output_axis, &input_axis, &weight_axis, \
       &how_axis, &bits_axis, &(biases)},                                                        \
      fits,                                                                                      \
      run,                                                                                       \
      0}
SPACE(output_space, shape_axis, output_mode, dtype_axis, group_axis, bias_axis, run_whole);
SPACE(input_space, shape_axis, input_mode, dtype_axis, group_axis, bias_axis, run_whole);
SPACE(weight_space, shape_axis, weight_mode, dtype_axis, group_axis, bias_axis, run_whole);
SPACE(bias_space, shape_axis, biased_mode, dtype_axis, group_axis, biased_axis, run_whole);
SPACE(padding_space, padded_axis, every_mode, every_real_axis, group_axis, bias_axis, run_odd);
SPACE(real_space, sum_axis, every_mode, real_axis, group_axis, bias_axis, run_ordinary);
SPACE(half_space, sum_axis, every_mode, half_axis, group_axis, bias_axis, run_ordinary);
SPACE(edge_space, edge_axis, every_mode, dtype_axis, no_group_axis, bias_axis, run_whole);

/* Make spaces of one tap, which libraries have a faster way for: of groups and little else, and of all. */
#define POINTS_OF(name, mode)                                               \
  static const sweep_space_t name##_point_space = {                         \
      {&point_axis, &(mode), &real_axis, &group_axis}, fits, run_whole, 0}; \
  SPACE(every_##name##_point_space, point_axis, mode, dtype_axis, group_axis, bias_axis, run_whole)
POINTS_OF(output, output_mode);
POINTS_OF(input, input_mode);
POINTS_OF(weight, weight_mode);

static void one_tap_has_padding_and_stride(tbk_fixture_t* fx) {
  sweep_run(fx, &output_point_space);
}

static void every_pair_of_one_tap_has_padding_and_stride(tbk_fixture_t* fx) {
  sweep_run_light(fx, &every_output_point_space, products);
}

static void inputs_of_one_tap_are_named_by_stride(tbk_fixture_t* fx) {
  sweep_run(fx, &input_point_space);
}

static void every_pair_of_one_tap_names_its_input(tbk_fixture_t* fx) {
  sweep_run_light(fx, &every_input_point_space, products);
}

static void one_tap_sums_over_all_places(tbk_fixture_t* fx) {
  sweep_run(fx, &weight_point_space);
}

static void every_pair_of_one_tap_sums_over_all_places(tbk_fixture_t* fx) {
  sweep_run_light(fx, &every_weight_point_space, products);
}

static void each_place_sums_its_taps_and_channels(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &output_space, products, NULL);
}

static void every_pair_sums_taps_and_channels(tbk_fixture_t* fx) {
  sweep_run_light(fx, &output_space, products);
}

static void each_input_sums_what_names_it(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &input_space, products, NULL);
}

static void every_pair_sums_what_names_an_input(tbk_fixture_t* fx) {
  sweep_run_light(fx, &input_space, products);
}

static void each_tap_sums_over_images_and_places(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &weight_space, products, NULL);
}

static void every_pair_sums_over_images_and_places(tbk_fixture_t* fx) {
  sweep_run_light(fx, &weight_space, products);
}

static void a_bias_is_added_once(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &bias_space, products, &output_space);
}

static void every_pair_adds_its_bias_once(tbk_fixture_t* fx) {
  sweep_run_light(fx, &bias_space, products);
}

static void padding_is_left_out(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &padding_space, products, &output_space);
}

static void every_pair_leaves_padding_out(tbk_fixture_t* fx) {
  sweep_run_light(fx, &padding_space, products);
}

static void sums_of_real_numbers_keep_their_bound(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &real_space, products, &output_space);
}

static void every_pair_keeps_the_bound_of_its_sums(tbk_fixture_t* fx) {
  sweep_run_light(fx, &real_space, products);
}

static void narrow_numbers_are_rounded_once(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &half_space, products, &real_space);
}

static void every_pair_is_rounded_once(tbk_fixture_t* fx) {
  sweep_run_light(fx, &half_space, products);
}

static void what_names_no_product_is_0(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &edge_space, products, &output_space);
}

static void every_pair_is_0_where_no_product_is_named(tbk_fixture_t* fx) {
  sweep_run_light(fx, &edge_space, products);
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-046", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_SLOW,
             each_place_sums_its_taps_and_channels),
    TBK_CASE("PRG-046", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_sums_taps_and_channels),
    TBK_CASE("PRG-047", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_SLOW,
             each_input_sums_what_names_it),
    TBK_CASE("PRG-047", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_sums_what_names_an_input),
    TBK_CASE("PRG-048", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_SLOW,
             each_tap_sums_over_images_and_places),
    TBK_CASE("PRG-048", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_sums_over_images_and_places),
    TBK_CASE("PRG-046", "op:tbk::convolution dtype:FLOAT32", 0, one_tap_has_padding_and_stride),
    TBK_CASE("PRG-046", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_of_one_tap_has_padding_and_stride),
    TBK_CASE("PRG-047", "op:tbk::convolution dtype:FLOAT32", 0,
             inputs_of_one_tap_are_named_by_stride),
    TBK_CASE("PRG-047", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_of_one_tap_names_its_input),
    TBK_CASE("PRG-048", "op:tbk::convolution dtype:FLOAT32", 0, one_tap_sums_over_all_places),
    TBK_CASE("PRG-048", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_of_one_tap_sums_over_all_places),
    TBK_CASE("PRG-049", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_SLOW, a_bias_is_added_once),
    TBK_CASE("PRG-049", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_adds_its_bias_once),
    TBK_CASE("PRG-050", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_SLOW, padding_is_left_out),
    TBK_CASE("PRG-050", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_leaves_padding_out),
    TBK_CASE("PRG-051", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_SLOW,
             sums_of_real_numbers_keep_their_bound),
    TBK_CASE("PRG-051", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_keeps_the_bound_of_its_sums),
    TBK_CASE("PRG-052", "op:tbk::convolution dtype:FLOAT16", TBK_CASE_SLOW,
             narrow_numbers_are_rounded_once),
    TBK_CASE("PRG-052", "op:tbk::convolution dtype:FLOAT16", TBK_CASE_THOROUGH,
             every_pair_is_rounded_once),
    TBK_CASE("PRG-054", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_SLOW,
             what_names_no_product_is_0),
    TBK_CASE("PRG-054", "op:tbk::convolution dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_is_0_where_no_product_is_named),
};
TBK_SUITE(program_convolution);
