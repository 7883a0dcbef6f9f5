/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels: what fill and copy convert to, and what they keep bit by bit.
 */
#include <math.h>

#include "conversion.h"
#include "forms.h"
#include "room.h"

/* -------------------------------------------------------------------------------------- fill -- */

static void fill_gives_every_element_the_value(tbk_fixture_t* fx) {
  form_t form = {.id = OPERATOR_FILL};
  form_run_dtypes(fx, form);
  form_run_lengths(fx, form);
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
    form_t form = {
        .id = OPERATOR_FILL, .dtype = conversions[i].dtype, .rank = 1, .sizes = form_flat};
    operation_t operation;
    if (!fx_has_dtype(fx, form.dtype)) continue;
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
  form_run_dtypes(fx, form);
  form_run_lengths(fx, form);
}

static void run_conversion(tbk_fixture_t* fx, int32_t from_dtype, int32_t to_dtype) {
  static const int64_t sizes[1] = {61};
  if (!conversion_has_rule(from_dtype, to_dtype)) return;
  if (!fx_has_dtype(fx, from_dtype) || !fx_has_dtype(fx, to_dtype)) return;
  form_t form = {.id = OPERATOR_COPY,
                 .dtype = to_dtype,
                 .converts = true,
                 .from_dtype = from_dtype,
                 .rank = 1,
                 .sizes = sizes};
  operation_t operation;
  const size_t mark = room_mark(fx);
  operation_lay_out(fx, &operation, &form);
  conversion_inputs(fx, &operation);
  operation_ready(fx, &operation);
  OPERATION_RUN(fx, &operation);
  room_release(fx, mark);
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
};
TBK_SUITE(kernel_convert);
