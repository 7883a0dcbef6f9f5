/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweeps of what the operands of an operator are to each other: inputs that are one memory, an output that is one of
 * inputs with different layouts, dtypes and layouts of both sides of a conversion, what lies between the elements.
 */
#include "conversion.h"
#include "kernel_program.h"

#define SCENE &sweep_stream, &sweep_thread

/* ---------------------------------------------------------------------- inputs that are one ---- */

#define SPACES_OF_ONE(name, id, shape)                                                       \
  static bool fits_##name(const tbk_fixture_t* fx, const sweep_case_t* one) {                \
    return kernel_fits(fx, one, id);                                                         \
  }                                                                                          \
  static void run_##name(tbk_fixture_t* fx, sweep_case_t* one) {                             \
    kernel_run(fx, one, id);                                                                 \
  }                                                                                          \
  static const sweep_space_t name##_of_one = {                                               \
      {&kernel_sharing_axis, &kernel_near_input_axis, &kernel_into_axis, &kernel_dtype_axis, \
       &kernel_near_output_axis, &(shape), &kernel_how_axis, &kernel_made_axis},             \
      fits_##name,                                                                           \
      run_##name,                                                                            \
      2};                                                                                    \
  static const sweep_space_t every_##name##_of_one = {                                       \
      {&kernel_sharing_axis, &kernel_input_axis, &kernel_dtype_axis, &kernel_output_axis,    \
       &(shape), &kernel_into_axis, &kernel_how_axis, &kernel_made_axis, SCENE},             \
      fits_##name,                                                                           \
      run_##name,                                                                            \
      3}

SPACES_OF_ONE(add, OPERATOR_ADD, kernel_small_axis);
SPACES_OF_ONE(mul, OPERATOR_MUL, kernel_small_axis);
SPACES_OF_ONE(where, OPERATOR_WHERE, kernel_small_axis);
SPACES_OF_ONE(mm, OPERATOR_MM, kernel_small_product_axis);

static void inputs_of_add_may_be_one(tbk_fixture_t* fx) {
  sweep_run(fx, &add_of_one);
}

static void inputs_of_add_may_be_one_in_every_form(tbk_fixture_t* fx) {
  sweep_run(fx, &every_add_of_one);
}

static void inputs_of_mul_may_be_one(tbk_fixture_t* fx) {
  sweep_run(fx, &mul_of_one);
}

static void inputs_of_mul_may_be_one_in_every_form(tbk_fixture_t* fx) {
  sweep_run(fx, &every_mul_of_one);
}

static void inputs_of_where_may_be_one(tbk_fixture_t* fx) {
  sweep_run(fx, &where_of_one);
}

static void inputs_of_where_may_be_one_in_every_form(tbk_fixture_t* fx) {
  sweep_run(fx, &every_where_of_one);
}

static void inputs_of_mm_may_be_one(tbk_fixture_t* fx) {
  sweep_run(fx, &mm_of_one);
}

static void inputs_of_mm_may_be_one_in_every_form(tbk_fixture_t* fx) {
  sweep_run(fx, &every_mm_of_one);
}

/* ---------------------------------------------------------------- operands with other layouts -- */

SWEEP_DIMENSION(operator_axis, "operator", {"add", OPERATOR_ADD}, {"mul", OPERATOR_MUL},
                {"where", OPERATOR_WHERE}, {"mm", OPERATOR_MM});

static bool fits_operator(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const operator_id_t id = (operator_id_t)sweep_get(one, &operator_axis);
  return kernel_fits(fx, one, id) && kernel_is_offered(fx, id);
}

static void run_operator(tbk_fixture_t* fx, sweep_case_t* one) {
  kernel_run(fx, one, (operator_id_t)sweep_get(one, &operator_axis));
}

#define SHAPES &kernel_small_axis, &kernel_small_product_axis

static void an_output_is_one_of_inputs_of_other_layouts(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&operator_axis, &kernel_apart_axis, &kernel_others_axis, &kernel_two_inputs_axis,
       &kernel_dtype_axis, SHAPES, &kernel_how_axis, &kernel_made_axis, &kernel_in_place_axis},
      fits_operator,
      run_operator,
      4};
  sweep_run(fx, &space);
}

static void an_output_is_one_of_inputs_of_every_two_layouts(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&operator_axis, &kernel_apart_axis, &kernel_others_axis, &kernel_input_axis,
       &kernel_dtype_axis, SHAPES, &kernel_how_axis, &kernel_in_place_axis, SCENE},
      fits_operator,
      run_operator,
      4};
  sweep_run(fx, &space);
}

static void inputs_have_other_layouts_than_each_other(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&operator_axis, &kernel_apart_axis, &kernel_others_axis, &kernel_two_inputs_axis,
       &kernel_near_output_axis, &kernel_dtype_axis, SHAPES, &kernel_how_axis},
      fits_operator,
      run_operator,
      4};
  sweep_run(fx, &space);
}

static void inputs_have_every_two_layouts(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&operator_axis, &kernel_apart_axis, &kernel_others_axis, &kernel_input_axis,
       &kernel_output_axis, &kernel_dtype_axis, SHAPES, &kernel_how_axis, SCENE},
      fits_operator,
      run_operator,
      4};
  sweep_run(fx, &space);
}

/* -------------------------------------------------------------------------- plans and memory --- */

SWEEP_DIMENSION(planned_axis, "operator", {"copy", OPERATOR_COPY}, {"add", OPERATOR_ADD},
                {"mul", OPERATOR_MUL}, {"where", OPERATOR_WHERE}, {"mm", OPERATOR_MM});

static bool fits_plan(const tbk_fixture_t* fx, const sweep_case_t* one) {
  return kernel_fits(fx, one, (operator_id_t)sweep_get(one, &planned_axis));
}

static void run_plan(tbk_fixture_t* fx, sweep_case_t* one) {
  kernel_run(fx, one, (operator_id_t)sweep_get(one, &planned_axis));
}

static void a_plan_is_for_operands_that_are_one_or_not(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&planned_axis, &kernel_alias_axis, &kernel_made_axis, &kernel_two_inputs_axis,
       &kernel_dtype_axis, SHAPES, &kernel_plan_axis},
      fits_plan,
      run_plan,
      3};
  sweep_run(fx, &space);
}

/* ------------------------------------------------------------------------------ conversions ---- */

/* Say which side of a copy is not contiguous, so that each pair of dtypes meets each. */
enum { SOURCE = 1, DESTINATION, BOTH };
SWEEP_DIMENSION(strided_axis, "strided", {"source", SOURCE}, {"destination", DESTINATION},
                {"both", BOTH});

/* Counts the elements that are not the same one: each value needs one. */
static int64_t distinct(const kernel_shape_t* shape, tensor_layout_t layout) {
  int64_t count = 1;
  for (int32_t k = 0; k < shape->rank; ++k)
    count *= shape->sizes[k];
  if (layout == TENSOR_BROADCAST) return count / shape->sizes[0];
  if (layout == TENSOR_BROADCAST_MIDDLE) return count / shape->sizes[shape->rank / 2];
  return layout == TENSOR_BROADCAST_LAST ? count / shape->sizes[shape->rank - 1] : count;
}

/* A single dimension is contiguous turned and in rows, too. */
static bool is_dense(const kernel_shape_t* shape, tensor_layout_t layout) {
  return layout == TENSOR_PLAIN || layout == TENSOR_OFFSET ||
         (shape->rank == 1 && (layout == TENSOR_TURNED || layout == TENSOR_ROWS));
}

static bool fits_conversion(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int32_t from = (int32_t)sweep_get(one, &kernel_source_axis) - 1;
  const int64_t strided = sweep_get(one, &strided_axis);
  const kernel_shape_t* shape = kernel_shape_of(one, OPERATOR_COPY);
  const tensor_layout_t input = kernel_input_of(one);
  const bool dense[] = {is_dense(shape, input), is_dense(shape, kernel_output_of(one))};
  if (strided != 0 && dense[0] != (strided == DESTINATION)) return false;
  if (strided != 0 && dense[1] != (strided == SOURCE)) return false;
  if (distinct(shape, input) < CONVERSION_VALUES) return false;
  return conversion_has_rule(from, kernel_dtype_of(one)) && fx_has_dtype(fx, from) &&
         kernel_fits(fx, one, OPERATOR_COPY);
}

static void run_conversion(tbk_fixture_t* fx, sweep_case_t* one) {
  kernel_run(fx, one, OPERATOR_COPY);
}

static void copy_converts_what_is_not_contiguous(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kernel_dtype_axis, &kernel_source_axis, &strided_axis, &kernel_near_input_axis,
       &kernel_near_output_axis, &kernel_table_axis, &kernel_how_axis},
      fits_conversion,
      run_conversion,
      3};
  sweep_run(fx, &space);
}

static void copy_converts_in_every_layout(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kernel_dtype_axis, &kernel_source_axis, &kernel_input_axis, &kernel_output_axis,
       &kernel_table_axis, &kernel_how_axis, SCENE},
      fits_conversion,
      run_conversion,
      3};
  sweep_run(fx, &space);
}

/* ------------------------------------------------------------------------------------- gaps ---- */

SWEEP_DIMENSION(any_axis, "operator", {"fill", OPERATOR_FILL}, {"copy", OPERATOR_COPY},
                {"add", OPERATOR_ADD}, {"mul", OPERATOR_MUL}, {"where", OPERATOR_WHERE},
                {"sum", OPERATOR_SUM}, {"mm", OPERATOR_MM});

/* Leaves out a sum over all dimensions, of which no rank is left, and a product for each shape, as it has none. */
static bool fits_gaps(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const operator_id_t id = (operator_id_t)sweep_get(one, &any_axis);
  const int64_t reduced = sweep_get(one, &kernel_reduced_axis);
  const int32_t rank = kernel_shape_of(one, OPERATOR_FILL)->rank;
  if (id == OPERATOR_MM && rank != 1) return false;
  if (id == OPERATOR_SUM && (reduced <= 0 || reduced == (1 << rank) - 1)) return false;
  return kernel_fits(fx, one, id) && kernel_is_offered(fx, id);
}

static void run_gaps(tbk_fixture_t* fx, sweep_case_t* one) {
  kernel_run(fx, one, (operator_id_t)sweep_get(one, &any_axis));
}

static void nothing_between_elements_of_any_size_is_written(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&any_axis, &kernel_width_axis, &kernel_gaps_axis, &kernel_small_axis,
       &kernel_small_product_axis, &kernel_near_input_axis, &kernel_reduced_axis, &kernel_how_axis},
      fits_gaps,
      run_gaps,
      4};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("KRN-104", "kernel op:add.Tensor", 0, inputs_of_add_may_be_one),
    TBK_CASE("KRN-105", "kernel op:mul.Tensor", 0, inputs_of_mul_may_be_one),
    TBK_CASE("KRN-106", "kernel op:where.self", 0, inputs_of_where_may_be_one),
    TBK_CASE("KRN-108", "kernel op:mm", 0, inputs_of_mm_may_be_one),
    TBK_CASE("KRN-113", "kernel", 0, an_output_is_one_of_inputs_of_other_layouts),
    TBK_CASE("KRN-013", "kernel prepare", 0, a_plan_is_for_operands_that_are_one_or_not),
    TBK_CASE("KRN-112", "kernel", 0, inputs_have_other_layouts_than_each_other),
    TBK_CASE("KRN-103", "kernel op:copy_", 0, copy_converts_what_is_not_contiguous),
    TBK_CASE("KRN-116", "kernel", 0, nothing_between_elements_of_any_size_is_written),
    TBK_CASE("KRN-104", "kernel op:add.Tensor", TBK_CASE_THOROUGH,
             inputs_of_add_may_be_one_in_every_form),
    TBK_CASE("KRN-105", "kernel op:mul.Tensor", TBK_CASE_THOROUGH,
             inputs_of_mul_may_be_one_in_every_form),
    TBK_CASE("KRN-106", "kernel op:where.self", TBK_CASE_THOROUGH,
             inputs_of_where_may_be_one_in_every_form),
    TBK_CASE("KRN-108", "kernel op:mm", TBK_CASE_THOROUGH, inputs_of_mm_may_be_one_in_every_form),
    TBK_CASE("KRN-113", "kernel", TBK_CASE_THOROUGH,
             an_output_is_one_of_inputs_of_every_two_layouts),
    TBK_CASE("KRN-112", "kernel", TBK_CASE_THOROUGH, inputs_have_every_two_layouts),
    TBK_CASE("KRN-103", "kernel op:copy_", TBK_CASE_THOROUGH, copy_converts_in_every_layout),
};
TBK_SUITE(sweep_operand);
