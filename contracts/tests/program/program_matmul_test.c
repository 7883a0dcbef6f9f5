/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk::matmul: products of matrices of one element to more than a tile holds, alone and in batches, over dtypes,
 * layouts, scalars, what is added, and ways to launch.
 */
#include <math.h>
#include <string.h>

#include "dimensions.h"
#include "matmul_job.h"
#include "room.h"

static matmul_job_t job;

/* ---------------------------------------------------------------------------------------- calls -- */

typedef struct shape {
  int32_t batch_rank;
  int64_t batch[TENSOR_RANK - 2];
  int64_t m, n, k;
} shape_t;

enum {
  ONE,
  SHORT,
  VECTOR,
  ROW,
  DOT,
  OUTER,
  ODD,
  TILE,
  BEYOND,
  DEEP,
  WIDE,
  TALL,
  BATCH,
  BATCHES,
  WHOLE_RANK,
  NO_K,
  NO_K_BATCH,
  NO_ROWS,
  NO_COLUMNS,
  NO_BATCH
};

static const shape_t shapes[] = {
    [ONE] = {0, {0}, 1, 1, 1},
    [SHORT] = {0, {0}, 3, 2, 4},
    [VECTOR] = {0, {0}, 37, 1, 20},
    [ROW] = {0, {0}, 1, 37, 20},
    [DOT] = {0, {0}, 1, 1, 300},
    [OUTER] = {0, {0}, 19, 23, 1},
    [ODD] = {0, {0}, 17, 33, 19},
    [TILE] = {0, {0}, 32, 32, 32},
    [BEYOND] = {0, {0}, 67, 70, 65},
    [DEEP] = {0, {0}, 5, 6, 1100},
    [WIDE] = {0, {0}, 3, 530, 4},
    [TALL] = {0, {0}, 270, 3, 5},
    [BATCH] = {1, {3}, 9, 7, 5},
    [BATCHES] = {2, {2, 3}, 5, 4, 6},
    [WHOLE_RANK] = {6, {2, 1, 2, 3, 1, 2}, 3, 2, 4},
    [NO_K] = {0, {0}, 17, 5, 0},
    [NO_K_BATCH] = {1, {3}, 4, 20, 0},
    [NO_ROWS] = {0, {0}, 0, 4, 3},
    [NO_COLUMNS] = {1, {2}, 4, 0, 3},
    [NO_BATCH] = {1, {0}, 4, 3, 2},
};

/* Of each pair the first multiplies the product, the second what is added. */
static const double scalars[][2] = {
    {1, 1}, {2, -3}, {-1, 1},    {1, 0},        {0, 1},           {0, 0},
    {3, 2}, {1, -1}, {0.3, 1.7}, {-2.5, 0.125}, {2, (double)NAN}, {1, (double)INFINITY}};
enum {
  PLAIN,
  WHOLE,
  MINUS,
  NO_BETA,
  NO_ALPHA,
  NEITHER,
  TWICE,
  LESS,
  ROUNDED,
  BROKEN,
  UNREAD_NAN,
  UNREAD_INFINITY,
  SCALARS_OF_ALL
};

/* Of integers alone, numbered behind those: no double has the odd ones, nor 32 bits any. */
static const int64_t wholes[][2] = {{(INT64_C(1) << 53) + 1, 1},
                                    {1, -(INT64_C(1) << 53) - 1},
                                    {INT64_MIN, INT64_MAX},
                                    {INT64_MAX - 2, INT64_MIN + 1},
                                    {(INT64_C(1) << 32) + 3, (INT64_C(1) << 31) + 1}};
enum { ODD_ALPHA = SCALARS_OF_ALL, ODD_BETA, LEAST, GREATEST, BEYOND_32 };

/* ---------------------------------------------------------------------------------------- sweep -- */

SWEEP_DIMENSION(shape_axis, "shape", {"one", ONE}, {"short", SHORT}, {"vector", VECTOR},
                {"row", ROW}, {"dot", DOT}, {"outer", OUTER}, {"odd", ODD}, {"tile", TILE},
                {"beyond", BEYOND}, {"deep", DEEP}, {"wide", WIDE}, {"tall", TALL},
                {"batch", BATCH}, {"batches", BATCHES}, {"rank8", WHOLE_RANK});
SWEEP_DIMENSION(few_axis, "shape", {"short", SHORT}, {"odd", ODD}, {"beyond", BEYOND},
                {"vector", VECTOR}, {"row", ROW}, {"batch", BATCH}, {"batches", BATCHES});
SWEEP_DIMENSION(batch_axis, "shape", {"batch", BATCH}, {"batches", BATCHES}, {"rank8", WHOLE_RANK});
SWEEP_DIMENSION(empty_axis, "shape", {"k", NO_K}, {"batch-k", NO_K_BATCH}, {"rows", NO_ROWS},
                {"columns", NO_COLUMNS}, {"batch", NO_BATCH});
SWEEP_DIMENSION(dtype_axis, "dtype", {"FLOAT32", TBK_FLOAT32}, {"FLOAT64", TBK_FLOAT64},
                {"FLOAT16", TBK_FLOAT16}, {"BFLOAT16", TBK_BFLOAT16}, {"UINT8", TBK_UINT8},
                {"INT8", TBK_INT8}, {"INT16", TBK_INT16}, {"INT32", TBK_INT32},
                {"INT64", TBK_INT64});
SWEEP_DIMENSION(few_dtypes_axis, "dtype", {"FLOAT32", TBK_FLOAT32}, {"INT32", TBK_INT32});
SWEEP_DIMENSION(float_axis, "dtype", {"FLOAT32", TBK_FLOAT32}, {"FLOAT64", TBK_FLOAT64});
SWEEP_DIMENSION(half_axis, "dtype", {"FLOAT16", TBK_FLOAT16}, {"BFLOAT16", TBK_BFLOAT16});
SWEEP_DIMENSION(real_axis, "dtype", {"FLOAT32", TBK_FLOAT32}, {"FLOAT64", TBK_FLOAT64},
                {"FLOAT16", TBK_FLOAT16}, {"BFLOAT16", TBK_BFLOAT16});
SWEEP_DIMENSION(whole_axis, "dtype", {"INT32", TBK_INT32}, {"UINT8", TBK_UINT8}, {"INT8", TBK_INT8},
                {"INT16", TBK_INT16}, {"INT64", TBK_INT64});
SWEEP_DIMENSION(small_axis, "values", {"small", JOB_SMALL});
SWEEP_DIMENSION(ordinary_axis, "values", {"ordinary", JOB_ORDINARY});
SWEEP_DIMENSION(any_axis, "values", {"any", JOB_ANY});

#define READ                                                                           \
  {"plain", TENSOR_PLAIN}, {"offset", TENSOR_OFFSET}, {"gaps", TENSOR_GAPS},           \
      {"turned", TENSOR_TURNED}, {"rows", TENSOR_ROWS}, {"reversed", TENSOR_REVERSED}, \
      {"broadcast", TENSOR_BROADCAST}, {"middle", TENSOR_BROADCAST_MIDDLE},            \
      {"last", TENSOR_BROADCAST_LAST}, {                                               \
    "backwards", TENSOR_BACKWARDS                                                      \
  }
SWEEP_DIMENSION(a_axis, "a", READ);
SWEEP_DIMENSION(b_axis, "b", READ);
SWEEP_DIMENSION(c_axis, "c", READ);
SWEEP_DIMENSION(out_axis, "out", {"plain", TENSOR_PLAIN}, {"offset", TENSOR_OFFSET},
                {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED}, {"rows", TENSOR_ROWS},
                {"reversed", TENSOR_REVERSED}, {"backwards", TENSOR_BACKWARDS});
SWEEP_DIMENSION(plain_axis, "layout", {"plain", TENSOR_PLAIN});
SWEEP_DIMENSION(shared_axis, "a", {"plain", TENSOR_PLAIN}, {"shared", TENSOR_BROADCAST});
SWEEP_DIMENSION(common_axis, "b", {"plain", TENSOR_PLAIN}, {"shared", TENSOR_BROADCAST});
SWEEP_DIMENSION(bias_axis, "c", {"plain", TENSOR_PLAIN}, {"shared", TENSOR_BROADCAST});

#define BIT(operand) (1 << MATMUL_##operand)
SWEEP_DIMENSION(transposed_axis, "transposed", {"none", 0}, {"a", BIT(A)}, {"b", BIT(B)},
                {"ab", BIT(A) | BIT(B)}, {"out", BIT(OUT)}, {"c", BIT(C)},
                {"all", BIT(A) | BIT(B) | BIT(C) | BIT(OUT)});
SWEEP_DIMENSION(straight_axis, "transposed", {"none", 0});
SWEEP_DIMENSION(nothing_axis, "added", {"nothing", MATMUL_NOTHING});
SWEEP_DIMENSION(tensor_axis, "added", {"tensor", MATMUL_TENSOR});
SWEEP_DIMENSION(output_axis, "added", {"output", MATMUL_OUTPUT});
SWEEP_DIMENSION(added_axis, "added", {"nothing", MATMUL_NOTHING}, {"tensor", MATMUL_TENSOR},
                {"output", MATMUL_OUTPUT});
SWEEP_DIMENSION(scalar_axis, "scalars", {"1,1", PLAIN}, {"2,-3", WHOLE}, {"-1,1", MINUS},
                {"1,0", NO_BETA}, {"0,1", NO_ALPHA}, {"0,0", NEITHER}, {"3,2", TWICE},
                {"1,-1", LESS}, {"0.3,1.7", ROUNDED}, {"-2.5,0.125", BROKEN});
SWEEP_DIMENSION(whole_scalar_axis, "scalars", {"1,1", PLAIN}, {"2,-3", WHOLE}, {"-1,1", MINUS},
                {"0.3,1.7", ROUNDED}, {"2^53+1,1", ODD_ALPHA}, {"1,-2^53-1", ODD_BETA},
                {"least,greatest", LEAST}, {"greatest,least", GREATEST},
                {"2^32+3,2^31+1", BEYOND_32});
SWEEP_DIMENSION(one_axis, "scalars", {"1,1", PLAIN});
/* Without c beta is not read. */
SWEEP_DIMENSION(unread_axis, "scalars", {"1,1", PLAIN}, {"2,-3", WHOLE}, {"0.3,1.7", ROUNDED},
                {"2,nan", UNREAD_NAN}, {"1,inf", UNREAD_INFINITY});
SWEEP_DIMENSION(how_axis, "how", {"launch", JOB_NULL}, {"stream", JOB_STREAM}, {"plan", JOB_PLAN});
SWEEP_DIMENSION(bits_axis, "bits", {"64", 64}, {"32", 32});

/* Where a dimension stands in each space. */
enum { SHAPE, DTYPE, VALUES, IN_A, IN_B, IN_C, IN_OUT, TRANSPOSED, ADDED, SCALARS, HOW, BITS };

static int64_t at(const sweep_case_t* one, size_t dimension) {
  const sweep_dimension_t* of = one->space->dimensions[dimension];
  return of->values[one->chosen[dimension]].value;
}

static bool fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int32_t most = fx->properties.max_rank, rank = shapes[at(one, SHAPE)].batch_rank + 2;
  if (at(one, HOW) == JOB_STREAM && fx->stream == NULL) return false;
  return (most == 0 || rank <= most) && fx_has_dtype(fx, (int32_t)at(one, DTYPE));
}

static int64_t products(const sweep_case_t* one) {
  const shape_t* shape = &shapes[at(one, SHAPE)];
  int64_t count = shape->m * shape->n * shape->k;
  for (int32_t d = 0; d < shape->batch_rank; ++d)
    count *= shape->batch[d];
  return count;
}

static matmul_form_t form_of(const sweep_case_t* one) {
  const shape_t* shape = &shapes[at(one, SHAPE)];
  const int64_t which = at(one, SCALARS);
  const double* pair = scalars[which < SCALARS_OF_ALL ? which : PLAIN];
  matmul_form_t form = {.dtype = (int32_t)at(one, DTYPE),
                        .batch_rank = shape->batch_rank,
                        .m = shape->m,
                        .n = shape->n,
                        .k = shape->k,
                        .added = (matmul_added_t)at(one, ADDED),
                        .alpha = pair[0],
                        .beta = pair[1],
                        .whole = which < SCALARS_OF_ALL ? NULL : wholes[which - SCALARS_OF_ALL],
                        .index_bits = at(one, BITS),
                        .how = (job_how_t)at(one, HOW),
                        .drawn = (job_values_t)at(one, VALUES)};
  memcpy(form.batch, shape->batch, sizeof form.batch);
  for (int i = 0; i < MATMUL_OPERANDS; ++i) {
    form.layouts[i] = (tensor_layout_t)at(one, IN_A + (size_t)i);
    form.transposed[i] = (at(one, TRANSPOSED) >> i & 1) != 0;
  }
  return form;
}

static void run(tbk_fixture_t* fx, sweep_case_t* one) {
  const matmul_form_t form = form_of(one);
  MATMUL_RUN(fx, &job, &form);
}

#define SPACE(name, shape, dtype, values, a, b, c, out, transposed, added, pairs)                \
  static const sweep_space_t name = {{&(shape), &(dtype), &(values), &(a), &(b), &(c), &(out),   \
                                      &(transposed), &(added), &(pairs), &how_axis, &bits_axis}, \
                                     fits,                                                       \
                                     run,                                                        \
                                     0}
SPACE(product_space, shape_axis, dtype_axis, small_axis, plain_axis, plain_axis, plain_axis,
      plain_axis, transposed_axis, nothing_axis, one_axis);
SPACE(float_space, shape_axis, float_axis, ordinary_axis, plain_axis, plain_axis, plain_axis,
      plain_axis, transposed_axis, added_axis, scalar_axis);
SPACE(half_space, shape_axis, half_axis, ordinary_axis, plain_axis, plain_axis, plain_axis,
      plain_axis, transposed_axis, added_axis, scalar_axis);
SPACE(wrap_space, shape_axis, whole_axis, any_axis, plain_axis, plain_axis, plain_axis, plain_axis,
      transposed_axis, added_axis, whole_scalar_axis);
SPACE(layout_space, few_axis, dtype_axis, small_axis, a_axis, b_axis, c_axis, out_axis,
      transposed_axis, added_axis, one_axis);
SPACE(batch_space, batch_axis, dtype_axis, small_axis, shared_axis, common_axis, plain_axis,
      out_axis, transposed_axis, nothing_axis, one_axis);
/* Which operands the whole batch shares: every set of them, as they lie without gaps. */
static const sweep_space_t shared_space = {
    {&batch_axis, &few_dtypes_axis, &small_axis, &shared_axis, &common_axis, &bias_axis,
     &plain_axis, &straight_axis, &tensor_axis, &one_axis, &how_axis, &bits_axis},
    fits,
    run,
    6};
SPACE(scalar_space, few_axis, dtype_axis, small_axis, plain_axis, plain_axis, c_axis, out_axis,
      transposed_axis, tensor_axis, scalar_axis);
SPACE(output_space, shape_axis, dtype_axis, small_axis, plain_axis, b_axis, plain_axis, out_axis,
      transposed_axis, output_axis, scalar_axis);
SPACE(empty_space, empty_axis, dtype_axis, small_axis, plain_axis, plain_axis, c_axis, out_axis,
      transposed_axis, added_axis, scalar_axis);
SPACE(nothing_space, shape_axis, real_axis, small_axis, plain_axis, plain_axis, plain_axis,
      out_axis, transposed_axis, nothing_axis, unread_axis);

static void each_element_is_its_sum(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &product_space, products, NULL);
}

static void every_pair_gives_sums(tbk_fixture_t* fx) {
  sweep_run_light(fx, &product_space, products);
}

static void sums_have_the_error_of_k_additions(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &float_space, products, &product_space);
}

static void every_pair_has_the_error_of_k_additions(tbk_fixture_t* fx) {
  sweep_run_light(fx, &float_space, products);
}

static void halves_are_summed_in_float32(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &half_space, products, &float_space);
}

static void every_pair_is_summed_in_float32(tbk_fixture_t* fx) {
  sweep_run_light(fx, &half_space, products);
}

static void integers_wrap(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &wrap_space, products, &product_space);
}

static void every_pair_wraps(tbk_fixture_t* fx) {
  sweep_run_light(fx, &wrap_space, products);
}

static void any_strides_are_walked(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &layout_space, products, NULL);
}

static void every_pair_of_strides_is_walked(tbk_fixture_t* fx) {
  sweep_run_light(fx, &layout_space, products);
}

static void each_place_of_the_batch_has_its_product(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &batch_space, products, &product_space);
}

static void every_pair_has_its_product_at_each_place(tbk_fixture_t* fx) {
  sweep_run_light(fx, &batch_space, products);
}

static void what_a_batch_shares_is_read_at_each_place(tbk_fixture_t* fx) {
  sweep_run_light(fx, &shared_space, products);
}

static void c_is_scaled_and_added(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &scalar_space, products, NULL);
}

static void every_pair_scales_and_adds_c(tbk_fixture_t* fx) {
  sweep_run_light(fx, &scalar_space, products);
}

static void the_output_may_be_what_is_added(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &output_space, products, &float_space);
}

static void every_pair_may_add_to_its_output(tbk_fixture_t* fx) {
  sweep_run_light(fx, &output_space, products);
}

static void without_k_sums_are_0(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &empty_space, products, &layout_space);
}

static void every_pair_is_0_without_k(tbk_fixture_t* fx) {
  sweep_run_light(fx, &empty_space, products);
}

/* Few sums, of small whole numbers: exact in each order, so that one product among so many is missed. */
static const struct {
  int32_t dtype;
  int64_t k;
} sums[] = {{TBK_FLOAT32, 4097}, {TBK_INT32, 4097},    {TBK_INT8, 4097},
            {TBK_INT32, 16385},  {TBK_FLOAT32, 16385}, {TBK_FLOAT32, 65537}};
enum { FEW_SUMS = 4, ALL_SUMS = sizeof sums / sizeof *sums };

static void run_sums(tbk_fixture_t* fx, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const size_t mark = room_mark(fx);
    const matmul_form_t form = {
        .dtype = sums[i].dtype, .m = 2, .n = 2, .k = sums[i].k, .alpha = 1, .drawn = JOB_SMALL};
    if (fx_has_dtype(fx, form.dtype)) MATMUL_RUN(fx, &job, &form);
    room_release(fx, mark);
  }
}

static void long_sums_have_each_product(tbk_fixture_t* fx) {
  run_sums(fx, FEW_SUMS);
}

static void the_longest_sums_have_each_product(tbk_fixture_t* fx) {
  run_sums(fx, ALL_SUMS);
}

/* What stood in the output before is NaN: tensor_make has put it there. */
static void without_c_nothing_is_added(tbk_fixture_t* fx) {
  sweep_run_quickly(fx, &nothing_space, products, &product_space);
}

static void every_pair_adds_nothing(tbk_fixture_t* fx) {
  sweep_run_light(fx, &nothing_space, products);
}

static const tbk_case_t cases[] = {
    TBK_CASE("PRG-034", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_SLOW, each_element_is_its_sum),
    TBK_CASE("PRG-034", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_THOROUGH, every_pair_gives_sums),
    TBK_CASE("PRG-034", "op:tbk::matmul dtype:FLOAT32", 0, long_sums_have_each_product),
    TBK_CASE("PRG-034", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_THOROUGH,
             the_longest_sums_have_each_product),
    TBK_CASE("PRG-035", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_SLOW,
             sums_have_the_error_of_k_additions),
    TBK_CASE("PRG-035", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_has_the_error_of_k_additions),
    TBK_CASE("PRG-036", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_SLOW,
             halves_are_summed_in_float32),
    TBK_CASE("PRG-036", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_is_summed_in_float32),
    TBK_CASE("PRG-037", "op:tbk::matmul dtype:INT32", TBK_CASE_SLOW, integers_wrap),
    TBK_CASE("PRG-037", "op:tbk::matmul dtype:INT32", TBK_CASE_THOROUGH, every_pair_wraps),
    TBK_CASE("PRG-038", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_SLOW, any_strides_are_walked),
    TBK_CASE("PRG-038", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_of_strides_is_walked),
    TBK_CASE("PRG-038", "op:tbk::matmul dtype:FLOAT32", 0, each_place_of_the_batch_has_its_product),
    TBK_CASE("PRG-038", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_has_its_product_at_each_place),
    TBK_CASE("PRG-038", "op:tbk::matmul dtype:FLOAT32", 0,
             what_a_batch_shares_is_read_at_each_place),
    TBK_CASE("PRG-039", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_SLOW, c_is_scaled_and_added),
    TBK_CASE("PRG-039", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_scales_and_adds_c),
    TBK_CASE("PRG-040", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_SLOW, without_c_nothing_is_added),
    TBK_CASE("PRG-040", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_THOROUGH, every_pair_adds_nothing),
    TBK_CASE("PRG-041", "op:tbk::matmul dtype:FLOAT32", 0, without_k_sums_are_0),
    TBK_CASE("PRG-041", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_is_0_without_k),
    TBK_CASE("PRG-043", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_SLOW,
             the_output_may_be_what_is_added),
    TBK_CASE("PRG-043", "op:tbk::matmul dtype:FLOAT32", TBK_CASE_THOROUGH,
             every_pair_may_add_to_its_output),
};
TBK_SUITE(program_matmul);
