/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweeps of the operators: dtypes, shapes, layouts of inputs and outputs in combination, which
 * operand the output is, the extremes of values and scalars, launched or by a plan. What a kernel
 * refuses must be untouched.
 */
#include "kernel_program.h"

/* ------------------------------------------------------------------------------------- rows ---- */

#define PROGRAM(name, id)                                                     \
  static bool fits_##name(const tbk_fixture_t* fx, const sweep_case_t* one) { \
    return kernel_fits(fx, one, id);                                          \
  }                                                                           \
  static void run_##name(tbk_fixture_t* fx, sweep_case_t* one) {              \
    kernel_run(fx, one, id);                                                  \
  }

#define SCENE &sweep_stream, &sweep_device, &sweep_thread, &sweep_error
#define LAYOUTS &kernel_output_axis, &kernel_how_axis

#define OPERANDS &kernel_input_axis, &kernel_values_axis, &kernel_alias_axis

PROGRAM(fill, OPERATOR_FILL)

static void fill_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kernel_dtype_axis, &kernel_scalar_axis, &kernel_shape_axis, LAYOUTS, SCENE},
      fits_fill,
      run_fill,
      2};
  sweep_run(fx, &space);
}

PROGRAM(copy, OPERATOR_COPY)

static void copy_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kernel_dtype_axis, &kernel_shape_axis, LAYOUTS, OPERANDS, SCENE}, fits_copy, run_copy, 0};
  sweep_run(fx, &space);
}

PROGRAM(add, OPERATOR_ADD)

static void add_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kernel_dtype_axis, &kernel_values_axis, &kernel_scalar_axis, &kernel_shape_axis, LAYOUTS,
       &kernel_input_axis, &kernel_alias_axis, SCENE},
      fits_add,
      run_add,
      3};
  sweep_run(fx, &space);
}

PROGRAM(mul, OPERATOR_MUL)

static void mul_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&kernel_dtype_axis, &kernel_values_axis, &kernel_shape_axis,
                                       LAYOUTS, &kernel_input_axis, &kernel_alias_axis, SCENE},
                                      fits_mul,
                                      run_mul,
                                      2};
  sweep_run(fx, &space);
}

PROGRAM(where, OPERATOR_WHERE)

static void where_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kernel_dtype_axis, &kernel_shape_axis, LAYOUTS, OPERANDS, SCENE}, fits_where, run_where, 0};
  sweep_run(fx, &space);
}

PROGRAM(sum, OPERATOR_SUM)

static void sum_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kernel_dtype_axis, &kernel_values_axis, &kernel_shape_axis, &kernel_reduced_axis,
       &kernel_keep_axis, LAYOUTS, &kernel_input_axis, SCENE},
      fits_sum,
      run_sum,
      3};
  sweep_run(fx, &space);
}

PROGRAM(mm, OPERATOR_MM)

static void mm_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&kernel_dtype_axis, &kernel_product_axis,
                                       &kernel_output_axis, &kernel_how_axis, OPERANDS, SCENE},
                                      fits_mm,
                                      run_mm,
                                      2};
  sweep_run(fx, &space);
}

/* Each layout with each shape, of the operators with a form of their own for each. */
SWEEP_DIMENSION(operator_axis, "operator", {"copy", OPERATOR_COPY}, {"add", OPERATOR_ADD},
                {"mul", OPERATOR_MUL}, {"where", OPERATOR_WHERE}, {"sum", OPERATOR_SUM});
static bool fits_layouts(const tbk_fixture_t* fx, const sweep_case_t* one) {
  return kernel_fits(fx, one, (operator_id_t)sweep_get(one, &operator_axis));
}

static void run_layouts(tbk_fixture_t* fx, sweep_case_t* one) {
  kernel_run(fx, one, (operator_id_t)sweep_get(one, &operator_axis));
}

static void every_layout_of_every_shape_is_right(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&operator_axis, &kernel_shape_axis, &kernel_input_axis, &kernel_output_axis,
       &kernel_how_axis, &kernel_float_axis, SCENE},
      fits_layouts,
      run_layouts,
      3};
  sweep_run(fx, &space);
}

/* NaN, infinities and zeros of both signs, to every float and to a truth value. */
static bool fits_conversion(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const number_type_t* to = number_type((int32_t)sweep_get(one, &kernel_dtype_axis));
  const number_type_t* from = number_type((int32_t)sweep_get(one, &kernel_from_axis) - 1);
  if (!fx_has_dtype(fx, from->dtype) || !fx_has_dtype(fx, to->dtype)) return false;
  if (from == to || !scene_fits(fx, one)) return false;
  if (!kernel_size_fits(fx, one, OPERATOR_COPY, kernel_shape_of(one, OPERATOR_COPY), to))
    return false;
  if (kernel_shape_of(one, OPERATOR_COPY)->rank > fx->properties.max_rank) return false;
  return to->dtype == TBK_BOOL || (to->digits > 0 && (to->is_complex || !from->is_complex));
}

static void run_conversion(tbk_fixture_t* fx, sweep_case_t* one) {
  kernel_run_once(fx, one, OPERATOR_COPY, VALUES_SPECIAL);
}

static void copy_converts_special_values_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&kernel_dtype_axis, &kernel_from_axis, &kernel_shape_axis,
                                       &kernel_input_axis, &kernel_output_axis, SCENE},
                                      fits_conversion,
                                      run_conversion,
                                      3};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("KRN-101", "kernel op:fill_.Scalar", TBK_CASE_THOROUGH, fill_is_right_in_every_form),
    TBK_CASE("KRN-102", "kernel op:copy_", TBK_CASE_THOROUGH, copy_is_right_in_every_form),
    TBK_CASE("KRN-103", "kernel op:copy_", TBK_CASE_THOROUGH,
             copy_converts_special_values_in_every_form),
    TBK_CASE("KRN-104", "kernel op:add.Tensor", TBK_CASE_THOROUGH, add_is_right_in_every_form),
    TBK_CASE("KRN-105", "kernel op:mul.Tensor", TBK_CASE_THOROUGH, mul_is_right_in_every_form),
    TBK_CASE("KRN-106", "kernel op:where.self", TBK_CASE_THOROUGH, where_is_right_in_every_form),
    TBK_CASE("KRN-107", "kernel op:sum.dim_IntList", TBK_CASE_THOROUGH, sum_is_right_in_every_form),
    TBK_CASE("KRN-005",
             "kernel op:copy_ op:add.Tensor op:mul.Tensor op:where.self op:sum.dim_IntList",
             TBK_CASE_THOROUGH, every_layout_of_every_shape_is_right),
    TBK_CASE("KRN-108", "kernel op:mm", TBK_CASE_THOROUGH, mm_is_right_in_every_form),
};
TBK_SUITE(sweep_kernel);
