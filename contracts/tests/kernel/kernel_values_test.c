/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels: the values of dense operands. Every dtype that the device declares is offered; what a
 * kernel refuses must be untouched, and float32 may not be refused. A test offers two dozen shapes
 * at most, because a device may compile for each of them.
 */
#include "operation.h"
#include "range.h"
#include "room.h"

#include <math.h>
#include <string.h>

static const int64_t flat[1] = {37};
static const int64_t product[3] = {9, 17, 5};

static bool declared(const tbk_fixture_t* fx, int32_t dtype) {
  return (fx->properties.dtypes >> dtype & 1) != 0;
}

/* Returns whether arithmetic has a rule: not for truth values, but for their sum. */
static bool has_rule(operator_id_t id, const number_type_t* type) {
  bool arithmetic = id == OPERATOR_ADD || id == OPERATOR_MUL || id == OPERATOR_MM;
  return type->dtype != TBK_BOOL || !arithmetic;
}

static bool run_form(tbk_fixture_t* fx, const form_t* form) {
  operation_t operation;
  size_t mark = room_mark(fx);
  operation_make(fx, &operation, form);
  bool accepted = OPERATION_RUN(fx, &operation);
  room_release(fx, mark);
  return accepted;
}

/* KRN-023: small contiguous FLOAT32. A sum without a dimension left has rank 0, which is none. */
static bool must_accept(const tbk_fixture_t* fx, const form_t* form) {
  enum { SMALL = 4096 };
  bool is_mm = form->id == OPERATOR_MM;
  int64_t most = form->sizes[0] * (is_mm ? form->sizes[1] : 1);
  if (is_mm && form->sizes[1] * form->sizes[2] > most) most = form->sizes[1] * form->sizes[2];
  if (is_mm && form->sizes[0] * form->sizes[2] > most) most = form->sizes[0] * form->sizes[2];
  for (int32_t k = 1; k < form->rank && !is_mm; ++k)
    most *= form->sizes[k];
  bool to_rank_0 = form->id == OPERATOR_SUM && form->reduced == 0 && !form->keepdim;
  return form->dtype == TBK_FLOAT32 && declared(fx, TBK_FLOAT32) && most <= SMALL && !to_rank_0 &&
         form->rank <= fx->properties.max_rank;
}

static void run_checked(tbk_fixture_t* fx, const form_t* form) {
  bool computed = run_form(fx, form);
  CHECK_SAID(computed || !must_accept(fx, form), "small contiguous float32 accepted",
             "%s refused: %s", operation_name(form->id), fx->error.message);
}

/* Every declared dtype, once. */
static void run_dtypes(tbk_fixture_t* fx, form_t form) {
  if (form.sizes == NULL) {
    form.sizes = form.id == OPERATOR_MM ? product : flat;
    form.rank = 1;
  }
  bool any = false;
  for (size_t i = 0; i < number_type_count; ++i) {
    const number_type_t* type = &number_types[i];
    if (!declared(fx, type->dtype) || !has_rule(form.id, type)) continue;
    any = true;
    form.dtype = type->dtype;
    run_checked(fx, &form);
  }
  if (!any) fx_evidence(fx, TBK_NOT_SHOWN, "the device declares no dtype that the operator takes");
}

/* float32 in these sizes, on top of what run_dtypes has done. */
static void run_sizes(tbk_fixture_t* fx, form_t form, const int64_t* sizes, size_t count) {
  form.dtype = TBK_FLOAT32;
  form.rank = 1;
  for (size_t i = 0; i < count; ++i) {
    form.sizes = &sizes[i];
    run_checked(fx, &form);
  }
}

static const int64_t lengths[] = {1, 2, 16, 255, 256, 1025, 16411};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* -------------------------------------------------------------------------------------- fill -- */

static void fill_gives_every_element_the_value(tbk_fixture_t* fx) {
  form_t form = {.id = OPERATOR_FILL};
  run_dtypes(fx, form);
  run_sizes(fx, form, lengths, LENGTHS);
}

static void fill_converts_its_value(tbk_fixture_t* fx) {
  static const struct {
    int32_t dtype;
    tbk_scalar_t value;
  } conversions[] = {
      {TBK_INT32, {TBK_SCALAR_DOUBLE, 0, 2.75, 0}},
      {TBK_INT32, {TBK_SCALAR_DOUBLE, 0, -2.75, 0}},
      {TBK_INT64, {TBK_SCALAR_INT, (INT64_C(1) << 53) + 1, 0, 0}},
      {TBK_INT64, {TBK_SCALAR_BOOL, 1, 0, 0}},
      {TBK_UINT8, {TBK_SCALAR_INT, 200, 0, 0}},
      {TBK_INT8, {TBK_SCALAR_INT, -128, 0, 0}},
      {TBK_BOOL, {TBK_SCALAR_INT, 2, 0, 0}},
      {TBK_BOOL, {TBK_SCALAR_INT, 256, 0, 0}},
      {TBK_BOOL, {TBK_SCALAR_DOUBLE, 0, 0.5, 0}},
      {TBK_FLOAT32, {TBK_SCALAR_INT, 16777217, 0, 0}},
      {TBK_FLOAT32, {TBK_SCALAR_INT, -16777219, 0, 0}},
      {TBK_FLOAT32, {TBK_SCALAR_BOOL, 1, 0, 0}},
      {TBK_FLOAT32, {TBK_SCALAR_DOUBLE, 0, 0.1, 0}},
      {TBK_FLOAT32, {TBK_SCALAR_DOUBLE, 0, -0.0, 0}},
      {TBK_FLOAT32, {TBK_SCALAR_DOUBLE, 0, INFINITY, 0}},
      {TBK_FLOAT32, {TBK_SCALAR_DOUBLE, 0, NAN, 0}},
      {TBK_FLOAT64, {TBK_SCALAR_DOUBLE, 0, 0.1, 0}},
      {TBK_FLOAT64, {TBK_SCALAR_INT, (INT64_C(1) << 53) - 1, 0, 0}},
      {TBK_FLOAT16, {TBK_SCALAR_DOUBLE, 0, 0.1, 0}},
      {TBK_BFLOAT16, {TBK_SCALAR_DOUBLE, 0, 0.1, 0}},
      {TBK_COMPLEX64, {TBK_SCALAR_DOUBLE, 0, 1.5, 0}},
      {TBK_COMPLEX128, {TBK_SCALAR_COMPLEX, 0, 0.1, -0.2}},
  };
  for (size_t i = 0; i < sizeof conversions / sizeof *conversions; ++i) {
    form_t form = {.id = OPERATOR_FILL, .dtype = conversions[i].dtype, .rank = 1, .sizes = flat};
    operation_t operation;
    if (!declared(fx, form.dtype)) continue;
    operation_lay_out(fx, &operation, &form);
    operation.scalar = conversions[i].value;
    operation_ready(fx, &operation);
    OPERATION_RUN(fx, &operation);
  }
  CHECK(operation_find(fx, OPERATOR_FILL) != NULL);
}

/* -------------------------------------------------------------------------------------- copy -- */

static void copy_keeps_every_bit(tbk_fixture_t* fx) {
  form_t form = {.id = OPERATOR_COPY, .values = VALUES_ANY};
  run_dtypes(fx, form);
  run_sizes(fx, form, lengths, LENGTHS);
}

/* The values of `from` that have one right conversion to `to`; those that do not fit are left out.
 * */
static size_t convertible(const number_type_t* from, const number_type_t* to, long double* out) {
  static const struct {
    long double value;
    size_t from_bytes; /* integers and floats of this size or more */
    size_t to_bytes;
  } candidates[] = {{0, 1, 1},
                    {1, 1, 1},
                    {2, 1, 1},
                    {100, 1, 1},
                    {127, 1, 1},
                    {-1, 1, 1},
                    {-100, 1, 1},
                    {256, 2, 2},
                    {257, 2, 2},
                    {259, 2, 2},
                    {2049, 2, 2},
                    {2051, 2, 2},
                    {-2049, 2, 2},
                    {16777217, 4, 4},
                    {16777219, 4, 4},
                    {-16777217, 4, 4},
                    {0x1p53L + 1, 8, 8},
                    {0x1p53L + 3, 8, 8},
                    {1.75L, 2, 1},
                    {-1.75L, 2, 1},
                    {0.25L, 2, 1},
                    {-0.75L, 2, 1},
                    {100.5L, 2, 1},
                    {1000000.5L, 4, 4},
                    {0x1.002p0L, 4, 2},
                    {0x1.006p0L, 4, 2},
                    {0x1.01p0L, 4, 2},
                    {0x1.03p0L, 4, 2},
                    {0x1.000001p0L, 8, 4},
                    {0x1.000003p0L, 8, 4},
                    {200, 1, 2},
                    {255, 1, 2},
                    {-0.0L, 2, 2}};
  size_t count = 0;
  for (size_t i = 0; i < sizeof candidates / sizeof *candidates; ++i) {
    long double value = candidates[i].value;
    size_t to_bytes = to->dtype == TBK_BOOL ? 8 : to->size;
    if (from->dtype == TBK_INT8 && value > 127) continue;
    if (from->dtype == TBK_BOOL && value != 0 && value != 1) continue;
    if (value < 0 && (!from->is_signed || (to->digits == 0 && !to->is_signed))) continue;
    if (from->size < candidates[i].from_bytes || to_bytes < candidates[i].to_bytes) continue;
    if (from->digits == 0 && value != truncl(value)) continue;
    if (from->size == 2 && from->digits > 0 && fabsl(value) > 3000) continue;
    out[count++] = value;
  }
  return count;
}

static void run_conversion(tbk_fixture_t* fx, int32_t from_dtype, int32_t to_dtype) {
  const number_type_t* from = number_type(from_dtype);
  const number_type_t* to = number_type(to_dtype);
  if (!declared(fx, from_dtype) || !declared(fx, to_dtype) || from == to) return;
  if (from->is_complex && !to->is_complex && to_dtype != TBK_BOOL) return; /* has no rule */
  long double values[48];
  form_t form = {.id = OPERATOR_COPY,
                 .dtype = to_dtype,
                 .converts = true,
                 .from_dtype = from_dtype,
                 .rank = 1,
                 .sizes = flat};
  operation_t operation;
  operation_lay_out(fx, &operation, &form);
  size_t count = convertible(from, to, values);
  for (int64_t i = 0; i < operation.inputs[0].count; ++i) {
    long double value = values[(size_t)i % count];
    number_t number = {(uint64_t)(int64_t)value, value, from->is_complex ? 2 - value : 0};
    number_store(from, tensor_at(&operation.inputs[0], i), number);
  }
  operation_ready(fx, &operation);
  OPERATION_RUN(fx, &operation);
}

/* From one dtype to all, and from all to it. */
static void run_conversions(tbk_fixture_t* fx, int32_t dtype) {
  for (size_t i = 0; i < number_type_count; ++i) {
    run_conversion(fx, dtype, number_types[i].dtype);
    run_conversion(fx, number_types[i].dtype, dtype);
  }
  CHECK(operation_find(fx, OPERATOR_COPY) != NULL);
}

static void copy_converts_float32(tbk_fixture_t* fx) {
  run_conversions(fx, TBK_FLOAT32);
}

static void copy_converts_float64(tbk_fixture_t* fx) {
  run_conversions(fx, TBK_FLOAT64);
}

static void copy_converts_float16(tbk_fixture_t* fx) {
  run_conversions(fx, TBK_FLOAT16);
}

static void copy_converts_bfloat16(tbk_fixture_t* fx) {
  run_conversions(fx, TBK_BFLOAT16);
}

static void copy_converts_int64(tbk_fixture_t* fx) {
  run_conversions(fx, TBK_INT64);
}

static void copy_converts_int32(tbk_fixture_t* fx) {
  run_conversions(fx, TBK_INT32);
}

static void copy_converts_uint8(tbk_fixture_t* fx) {
  run_conversions(fx, TBK_UINT8);
}

static void copy_converts_bool(tbk_fixture_t* fx) {
  run_conversions(fx, TBK_BOOL);
}

/* -------------------------------------------------------------------------------- add and mul --
 * */

static void add_is_exact_where_the_result_is(tbk_fixture_t* fx) {
  form_t form = {.id = OPERATOR_ADD};
  run_dtypes(fx, form);
  run_sizes(fx, form, lengths, LENGTHS);
}

static void add_scales_by_alpha(tbk_fixture_t* fx) {
  static const double alphas[] = {1, 2, -1, 3, 0};
  static const int32_t dtypes[] = {TBK_FLOAT32, TBK_FLOAT64, TBK_INT32, TBK_INT64};
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d) {
    for (size_t i = 0; i < sizeof alphas / sizeof *alphas; ++i) {
      form_t form = {
          .id = OPERATOR_ADD, .dtype = dtypes[d], .rank = 1, .sizes = flat, .alpha = &alphas[i]};
      if (declared(fx, dtypes[d])) run_form(fx, &form);
    }
  }
  CHECK(operation_find(fx, OPERATOR_ADD) != NULL);
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
    if (!declared(fx, dtypes[d])) continue;
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
  run_dtypes(fx, form);
  run_sizes(fx, form, lengths, LENGTHS);
}

static void mul_rounds_to_the_nearest(tbk_fixture_t* fx) {
  run_general(fx, OPERATOR_MUL);
}

static void where_selects_bit_by_bit(tbk_fixture_t* fx) {
  form_t form = {.id = OPERATOR_WHERE, .values = VALUES_ANY};
  run_dtypes(fx, form);
  run_sizes(fx, form, lengths, LENGTHS);
}

/* -------------------------------------------------------------------------------- sum and mm ---
 * */

static void sum_is_exact_where_the_result_is(tbk_fixture_t* fx) {
  form_t form = {.id = OPERATOR_SUM, .keepdim = true};
  run_dtypes(fx, form);
  run_sizes(fx, form, lengths, LENGTHS);
  form.keepdim = false;
  run_dtypes(fx, form);
  run_sizes(fx, form, lengths, LENGTHS);
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
      run_form(fx, &form);
      form.empty_dim_list = true;
      if (reduced == 0) run_form(fx, &form);
    }
  }
}

static void sum_of_each_dtype_adds_up_over_one_dim(tbk_fixture_t* fx) {
  static const int64_t sizes[2] = {5, 9};
  run_dtypes(fx, (form_t){.id = OPERATOR_SUM, .rank = 2, .sizes = sizes, .reduced = 1});
}

static void mm_is_exact_where_the_result_is(tbk_fixture_t* fx) {
  run_dtypes(fx, (form_t){.id = OPERATOR_MM});
}

/* On both sides of what a tile may be; rows, inner, columns. */
static void mm_is_exact_in_every_shape(tbk_fixture_t* fx) {
  static const int64_t shapes[][3] = {{1, 1, 1},    {1, 64, 1},   {7, 1, 9},    {16, 16, 16},
                                      {17, 15, 33}, {31, 64, 2},  {2, 63, 65},  {33, 33, 33},
                                      {64, 32, 48}, {65, 17, 64}, {1, 200, 130}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    form_t form = {.id = OPERATOR_MM, .dtype = TBK_FLOAT32, .rank = 1, .sizes = shapes[i]};
    run_checked(fx, &form);
    run_checked(fx, &form);
  }
}

static void mm_of_float64_is_exact_in_every_shape(tbk_fixture_t* fx) {
  static const int64_t shapes[][3] = {{3, 64, 5}, {17, 15, 33}, {33, 33, 33}};
  for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; ++i) {
    form_t form = {.id = OPERATOR_MM, .dtype = TBK_FLOAT64, .rank = 1, .sizes = shapes[i / 2]};
    run_form(fx, &form);
  }
}

/* ---------------------------------------------------------------------- specials and wrapping --
 * */

/* Complex alpha * other may make NaN of an infinity, so add is asked about real numbers only. */
static void run_special(tbk_fixture_t* fx, operator_id_t id) {
  static const int64_t many[1] = {1000};
  for (size_t i = 0; i < number_type_count; ++i) {
    const number_type_t* type = &number_types[i];
    if (type->digits == 0 || (id == OPERATOR_ADD && type->is_complex)) continue;
    form_t form = {
        .id = id, .dtype = type->dtype, .rank = 1, .sizes = many, .values = VALUES_SPECIAL};
    if (declared(fx, form.dtype)) run_form(fx, &form);
  }
  CHECK(operation_find(fx, id) != NULL);
}

static void copy_keeps_special_values(tbk_fixture_t* fx) {
  run_special(fx, OPERATOR_COPY);
}

static void where_keeps_special_values(tbk_fixture_t* fx) {
  run_special(fx, OPERATOR_WHERE);
}

static void add_treats_special_values_as_ieee_754_does(tbk_fixture_t* fx) {
  run_special(fx, OPERATOR_ADD);
}

static void run_wrapping(tbk_fixture_t* fx, operator_id_t id) {
  static const int64_t many[1] = {300};
  for (size_t i = 0; i < number_type_count; ++i) {
    form_t form = {
        .id = id, .dtype = number_types[i].dtype, .rank = 1, .sizes = many, .values = VALUES_ANY};
    if (number_types[i].is_integer && declared(fx, form.dtype)) run_form(fx, &form);
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
    TBK_CASE("KRN-101", "kernel op:fill_.Scalar", 0, fill_gives_every_element_the_value),
    TBK_CASE("KRN-101", "kernel op:fill_.Scalar", 0, fill_converts_its_value),
    TBK_CASE("KRN-102", "kernel op:copy_", 0, copy_keeps_every_bit),
    TBK_CASE("KRN-103", "kernel op:copy_ dtype:FLOAT32", 0, copy_converts_float32),
    TBK_CASE("KRN-103", "kernel op:copy_ dtype:FLOAT64", 0, copy_converts_float64),
    TBK_CASE("KRN-103", "kernel op:copy_ dtype:FLOAT16", 0, copy_converts_float16),
    TBK_CASE("KRN-103", "kernel op:copy_ dtype:BFLOAT16", 0, copy_converts_bfloat16),
    TBK_CASE("KRN-103", "kernel op:copy_ dtype:INT64", 0, copy_converts_int64),
    TBK_CASE("KRN-103", "kernel op:copy_ dtype:INT32", 0, copy_converts_int32),
    TBK_CASE("KRN-103", "kernel op:copy_ dtype:UINT8", 0, copy_converts_uint8),
    TBK_CASE("KRN-103", "kernel op:copy_ dtype:BOOL", 0, copy_converts_bool),
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
