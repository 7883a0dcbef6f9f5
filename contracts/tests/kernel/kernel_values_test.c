/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels: the values of arithmetic on dense operands. Conversions are in kernel_convert_test.c.
 */
#include <math.h>

#include "forms.h"
#include "room.h"

/* ------------------------------------------------------------------------------ add and mul ---- */

static void add_is_exact_where_the_result_is(tbk_fixture_t* fx) {
  form_t form = {.id = OPERATOR_ADD};
  form_run_dtypes(fx, form);
  form_run_lengths(fx, form);
}

static void add_scales_by_alpha(tbk_fixture_t* fx) {
  static const double alphas[] = {1, 2, -1, 3, 0};
  static const int32_t dtypes[] = {TBK_FLOAT32, TBK_FLOAT64, TBK_INT32, TBK_INT64};
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d) {
    for (size_t i = 0; i < sizeof alphas / sizeof *alphas; ++i) {
      form_t form = {.id = OPERATOR_ADD,
                     .dtype = dtypes[d],
                     .rank = 1,
                     .sizes = form_flat,
                     .alpha = &alphas[i]};
      if (fx_has_dtype(fx, dtypes[d])) form_run(fx, &form);
    }
  }
  CHECK(operation_find(fx, OPERATOR_ADD) != NULL);
}

/* PyTorch has no fraction and no truth value as alpha of whole numbers, so a kernel may refuse those. */
static void run_kinds(tbk_fixture_t* fx, operator_id_t id, const number_type_t* type) {
  static const tbk_scalar_t scalars[] = {
      {TBK_SCALAR_INT, 0, 0, 0},     {TBK_SCALAR_INT, 2, 0, 0},  {TBK_SCALAR_DOUBLE, 0, 0, 0},
      {TBK_SCALAR_BOOL, 0, 0, 0},    {TBK_SCALAR_BOOL, 1, 0, 0}, {TBK_SCALAR_DOUBLE, 0, 2, 0},
      {TBK_SCALAR_COMPLEX, 0, 2, -1}};
  for (size_t i = 0; i < sizeof scalars / sizeof *scalars; ++i) {
    form_t form = {.id = id, .dtype = type->dtype, .rank = 1, .sizes = form_flat};
    operation_t operation;
    if (scalars[i].kind == TBK_SCALAR_COMPLEX && !type->is_complex) continue;
    size_t mark = room_mark(fx);
    operation_lay_out(fx, &operation, &form);
    operation.scalar = scalars[i];
    operation_ready(fx, &operation);
    OPERATION_RUN(fx, &operation);
    room_release(fx, mark);
  }
}

/* Of the operators that take a number; a sum of truth values has no rule. */
static void check_kinds(tbk_fixture_t* fx, operator_id_t id) {
  for (size_t i = 0; i < number_type_count; ++i) {
    const number_type_t* type = &number_types[i];
    bool has_rule = id == OPERATOR_FILL || (id == OPERATOR_ADD && type->dtype != TBK_BOOL);
    if (has_rule && fx_has_dtype(fx, type->dtype)) run_kinds(fx, id, type);
  }
}

static void a_number_of_every_kind_counts_as_what_it_is(tbk_fixture_t* fx) {
  operation_shown(fx, check_kinds);
}

/* Full significands: the result is rounded, and may be one place off. */
static void run_general(tbk_fixture_t* fx, operator_id_t id) {
  static const int32_t dtypes[] = {TBK_FLOAT16, TBK_BFLOAT16, TBK_FLOAT32, TBK_FLOAT64};
  static const int64_t many[1] = {1000};
  static const double one = 1;
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d) {
    form_t form = {.id = id,
                   .dtype = dtypes[d],
                   .rank = 1,
                   .sizes = many,
                   .alpha = &one,
                   .values = VALUES_GENERAL};
    operation_t operation;
    if (!fx_has_dtype(fx, dtypes[d])) continue;
    operation_make(fx, &operation, &form);
    operation_run(fx, &operation, 1, TBK_HERE("launch"));
  }
  CHECK(operation_find(fx, id) != NULL);
}

static void add_rounds_to_the_nearest(tbk_fixture_t* fx) {
  run_general(fx, OPERATOR_ADD);
}

static void mul_is_exact_where_the_result_is(tbk_fixture_t* fx) {
  form_t form = {.id = OPERATOR_MUL};
  form_run_dtypes(fx, form);
  form_run_lengths(fx, form);
}

static void mul_rounds_to_the_nearest(tbk_fixture_t* fx) {
  run_general(fx, OPERATOR_MUL);
}

static void where_selects_bit_by_bit(tbk_fixture_t* fx) {
  form_t form = {.id = OPERATOR_WHERE, .values = VALUES_ANY};
  form_run_dtypes(fx, form);
  form_run_lengths(fx, form);
}

/* ------------------------------------------------------------------------------- sum and mm ---- */

static void sum_is_exact_where_the_result_is(tbk_fixture_t* fx) {
  form_t form = {.id = OPERATOR_SUM, .keepdim = true};
  form_run_dtypes(fx, form);
  form_run_lengths(fx, form);
  form.keepdim = false;
  form_run_dtypes(fx, form);
  form_run_lengths(fx, form);
}

static void sum_adds_up_over_the_dims_given(tbk_fixture_t* fx) {
  static const int64_t sizes[3] = {6, 5, 4};
  for (uint32_t reduced = 0; reduced < 8; ++reduced) {
    for (int keepdim = 0; keepdim < 2; ++keepdim) {
      form_t form = {.id = OPERATOR_SUM,
                     .dtype = TBK_FLOAT32,
                     .rank = 3,
                     .sizes = sizes,
                     .reduced = reduced,
                     .keepdim = keepdim != 0};
      form_run(fx, &form);
      form.empty_dim_list = true;
      if (reduced == 0) form_run(fx, &form);
    }
  }
}

static void sum_of_each_dtype_adds_up_over_one_dim(tbk_fixture_t* fx) {
  static const int64_t sizes[2] = {5, 9};
  form_run_dtypes(fx, (form_t){.id = OPERATOR_SUM, .rank = 2, .sizes = sizes, .reduced = 1});
}

static void mm_is_exact_where_the_result_is(tbk_fixture_t* fx) {
  form_run_dtypes(fx, (form_t){.id = OPERATOR_MM});
}

/* On both sides of what a tile may be; rows, inner, columns. */
static void mm_is_exact_in_every_shape(tbk_fixture_t* fx) {
  static const int64_t shapes[][3] = {{1, 1, 1},    {1, 64, 1},   {7, 1, 9},    {16, 16, 16},
                                      {17, 15, 33}, {31, 64, 2},  {2, 63, 65},  {33, 33, 33},
                                      {64, 32, 48}, {65, 17, 64}, {1, 200, 130}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    form_t form = {.id = OPERATOR_MM, .dtype = TBK_FLOAT32, .rank = 1, .sizes = shapes[i]};
    form_run_checked(fx, &form);
    form_run_checked(fx, &form);
  }
}

static void mm_of_float64_is_exact_in_every_shape(tbk_fixture_t* fx) {
  static const int64_t shapes[][3] = {{3, 64, 5}, {17, 15, 33}, {33, 33, 33}};
  for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; ++i) {
    form_t form = {.id = OPERATOR_MM, .dtype = TBK_FLOAT64, .rank = 1, .sizes = shapes[i / 2]};
    form_run(fx, &form);
  }
}

/* -------------------------------------------------------------------- specials and wrapping ---- */

/* Complex alpha * other may make NaN of an infinity, so add is asked about real numbers only. */
static void run_special(tbk_fixture_t* fx, operator_id_t id, const double* alpha) {
  static const int64_t many[1] = {1000};
  for (size_t i = 0; i < number_type_count; ++i) {
    const number_type_t* type = &number_types[i];
    if (type->digits == 0 || (id == OPERATOR_ADD && type->is_complex)) continue;
    form_t form = {.id = id,
                   .dtype = type->dtype,
                   .rank = 1,
                   .sizes = many,
                   .alpha = alpha,
                   .values = VALUES_SPECIAL};
    if (fx_has_dtype(fx, form.dtype)) form_run(fx, &form);
  }
  CHECK(operation_find(fx, id) != NULL);
}

static void copy_keeps_special_values(tbk_fixture_t* fx) {
  run_special(fx, OPERATOR_COPY, NULL);
}

static void where_keeps_special_values(tbk_fixture_t* fx) {
  run_special(fx, OPERATOR_WHERE, NULL);
}

/* Also where alpha is special: 0 times infinity is no 0. */
static void add_treats_special_values_as_ieee_754_does(tbk_fixture_t* fx) {
  static const double alphas[] = {1, -1, 0, -0.0, INFINITY, NAN};
  for (size_t i = 0; i < sizeof alphas / sizeof *alphas; ++i)
    run_special(fx, OPERATOR_ADD, &alphas[i]);
}

static void run_wrapping(tbk_fixture_t* fx, operator_id_t id) {
  static const int64_t many[1] = {300};
  for (size_t i = 0; i < number_type_count; ++i) {
    form_t form = {
        .id = id, .dtype = number_types[i].dtype, .rank = 1, .sizes = many, .values = VALUES_ANY};
    if (number_types[i].is_integer && fx_has_dtype(fx, form.dtype)) form_run(fx, &form);
  }
  CHECK(operation_find(fx, id) != NULL);
}

static void add_wraps_around(tbk_fixture_t* fx) {
  run_wrapping(fx, OPERATOR_ADD);
}

static void mul_wraps_around(tbk_fixture_t* fx) {
  run_wrapping(fx, OPERATOR_MUL);
}

static void sum_wraps_around(tbk_fixture_t* fx) {
  run_wrapping(fx, OPERATOR_SUM);
}

static const tbk_case_t cases[] = {
    TBK_CASE("KRN-003", "kernel", TBK_CASE_SLOW, a_number_of_every_kind_counts_as_what_it_is),
    TBK_CASE("KRN-104", "kernel op:add.Tensor", 0, add_is_exact_where_the_result_is),
    TBK_CASE("KRN-104", "kernel op:add.Tensor", 0, add_scales_by_alpha),
    TBK_CASE("KRN-104", "kernel op:add.Tensor", 0, add_rounds_to_the_nearest),
    TBK_CASE("KRN-105", "kernel op:mul.Tensor", 0, mul_is_exact_where_the_result_is),
    TBK_CASE("KRN-105", "kernel op:mul.Tensor", 0, mul_rounds_to_the_nearest),
    TBK_CASE("KRN-106", "kernel op:where.self", 0, where_selects_bit_by_bit),
    TBK_CASE("KRN-107", "kernel op:sum.dim_IntList", 0, sum_is_exact_where_the_result_is),
    TBK_CASE("KRN-107", "kernel op:sum.dim_IntList dtype:FLOAT32", 0,
             sum_adds_up_over_the_dims_given),
    TBK_CASE("KRN-107", "kernel op:sum.dim_IntList", 0, sum_of_each_dtype_adds_up_over_one_dim),
    TBK_CASE("KRN-108", "kernel op:mm", 0, mm_is_exact_where_the_result_is),
    TBK_CASE("KRN-108", "kernel op:mm", 0, mm_is_exact_in_every_shape),
    TBK_CASE("KRN-108", "kernel op:mm dtype:FLOAT64", 0, mm_of_float64_is_exact_in_every_shape),
    TBK_CASE("KRN-114", "kernel op:copy_", 0, copy_keeps_special_values),
    TBK_CASE("KRN-114", "kernel op:where.self", 0, where_keeps_special_values),
    TBK_CASE("KRN-114", "kernel op:add.Tensor", 0, add_treats_special_values_as_ieee_754_does),
    TBK_CASE("KRN-115", "kernel op:add.Tensor", 0, add_wraps_around),
    TBK_CASE("KRN-115", "kernel op:mul.Tensor", 0, mul_wraps_around),
    TBK_CASE("KRN-115", "kernel op:sum.dim_IntList", 0, sum_wraps_around),
};
TBK_SUITE(kernel_values);
