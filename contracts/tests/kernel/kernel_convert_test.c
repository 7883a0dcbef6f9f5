/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels: what fill and copy convert to, and what they keep bit by bit.
 */
#include <math.h>

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
                    {0x1.002p0L + 0x1p-50L, 8, 2}, /* just above a tie: to be rounded once */
                    {0x1.006p0L - 0x1p-50L, 8, 2},
                    {0x1.01p0L + 0x1p-50L, 8, 2},
                    {0x1.03p0L - 0x1p-50L, 8, 2},
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
  if (!fx_has_dtype(fx, from_dtype) || !fx_has_dtype(fx, to_dtype) || from == to) return;
  if (from->is_complex && !to->is_complex && to_dtype != TBK_BOOL) return; /* has no rule */
  static const int64_t sizes[1] = {61};
  const bool has_nans = from->digits > 0 && to->digits > 0;
  long double values[48];
  form_t form = {.id = OPERATOR_COPY,
                 .dtype = to_dtype,
                 .converts = true,
                 .from_dtype = from_dtype,
                 .rank = 1,
                 .sizes = sizes};
  operation_t operation;
  const size_t mark = room_mark(fx);
  operation_lay_out(fx, &operation, &form);
  size_t count = convertible(from, to, values), all = count + (has_nans ? NUMBER_NANS : 0);
  for (int64_t i = 0; i < operation.inputs[0].count; ++i) {
    const size_t which = (size_t)i % all;
    if (which >= count) {
      number_store_nan(from, tensor_at(&operation.inputs[0], i), (int)(which - count));
      continue;
    }
    long double value = values[which];
    number_t number = {(uint64_t)(int64_t)value, value, from->is_complex ? 2 - value : 0};
    number_store(from, tensor_at(&operation.inputs[0], i), number);
  }
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
