/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels: an output may be an input, and nothing but the elements of the output is written.
 */
#include "forms.h"

/* ---------------------------------------------------------------------------------- in place --- */

static void run_in_place(tbk_fixture_t* fx, operator_id_t id, tensor_layout_t layout) {
  const int32_t dtypes[] = {operation_dtype(fx), TBK_INT32};
  if (!form_is_pointwise(id) || !form_has_inputs(id)) return;
  for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; ++d) {
    form_t form = form_of(fx, id, layout, layout);
    form.dtype = dtypes[d];
    if (!fx_has_dtype(fx, form.dtype)) continue;
    int inputs = id == OPERATOR_COPY ? 1 : id == OPERATOR_WHERE ? 3 : 2;
    for (form.alias = id == OPERATOR_WHERE ? 2 : 1; form.alias <= inputs; ++form.alias)
      form_run(fx, &form);
  }
}

static void check_in_place(tbk_fixture_t* fx, operator_id_t id) {
  run_in_place(fx, id, TENSOR_PLAIN);
}

static void check_strided_in_place(tbk_fixture_t* fx, operator_id_t id) {
  run_in_place(fx, id, TENSOR_TURNED);
  run_in_place(fx, id, TENSOR_GAPS);
}

static void an_output_may_be_an_input(tbk_fixture_t* fx) {
  operation_shown(fx, check_in_place);
}

static void an_output_may_be_a_strided_input(tbk_fixture_t* fx) {
  operation_shown(fx, check_strided_in_place);
}

/* Long enough that a kernel works on several parts at a time. */
static void check_long_in_place(tbk_fixture_t* fx, operator_id_t id) {
  static const int64_t length[1] = {16411};
  if (!form_is_pointwise(id) || !form_has_inputs(id)) return;
  form_t form = form_of(fx, id, TENSOR_PLAIN, TENSOR_PLAIN);
  form.rank = 1;
  form.sizes = length;
  form.alias = id == OPERATOR_WHERE ? 2 : 1;
  for (int round = 0; round < 2; ++round)
    form_run(fx, &form);
}

static void a_long_output_may_be_an_input(tbk_fixture_t* fx) {
  operation_shown(fx, check_long_in_place);
}

static bool has_two_inputs(operator_id_t id) {
  return form_has_inputs(id) && id != OPERATOR_COPY && id != OPERATOR_SUM;
}

/* A matrix by itself transposed: what is kept by memory alone is one of them. */
static void check_shared(tbk_fixture_t* fx, operator_id_t id) {
  static const tensor_layout_t layouts[] = {TENSOR_PLAIN, TENSOR_TURNED, TENSOR_ROWS};
  static const int64_t side[] = {3, 17, 64};
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; ++i) {
    const int64_t sizes[3] = {side[i], side[i], side[i]};
    form_t form = form_of(fx, id, layouts[i], TENSOR_PLAIN);
    form.rank = 2;
    form.sizes = sizes;
    form.sharing = SHARING_TURNED;
    if (has_two_inputs(id)) form_run(fx, &form);
  }
}

static void two_inputs_may_be_one_memory(tbk_fixture_t* fx) {
  operation_shown(fx, check_shared);
}

/* -------------------------------------------------------------------------------------- gaps --- */

/* Elements narrower and wider than a word, every second one. */
static void check_gaps(tbk_fixture_t* fx, operator_id_t id) {
  const int32_t dtypes[] = {operation_dtype(fx), TBK_INT8, TBK_FLOAT16};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; ++i) {
    form_t form = form_of(fx, id, TENSOR_PLAIN, TENSOR_GAPS);
    form.dtype = dtypes[i];
    if (fx_has_dtype(fx, form.dtype)) form_run(fx, &form);
  }
}

static void nothing_between_the_elements_is_written(tbk_fixture_t* fx) {
  operation_shown(fx, check_gaps);
}

/* A single column of a wide matrix, and odd bytes before and behind. */
static void check_column(tbk_fixture_t* fx, operator_id_t id) {
  const int32_t dtypes[] = {operation_dtype(fx), TBK_UINT8, TBK_FLOAT64};
  static const int64_t column[3] = {7, 1, 1};
  static const int64_t result[3] = {7, 3, 1};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; ++i) {
    form_t form = form_of(fx, id, TENSOR_PLAIN, TENSOR_GAPS);
    form.dtype = dtypes[i];
    form.sizes = id == OPERATOR_MM ? result : column;
    if (fx_has_dtype(fx, form.dtype)) form_run(fx, &form);
  }
}

static void nothing_beside_a_column_is_written(tbk_fixture_t* fx) {
  operation_shown(fx, check_column);
}

/* What stands between the rows of an output that is a part of a wider one. */
static void check_rows(tbk_fixture_t* fx, operator_id_t id) {
  form_t form = form_of(fx, id, TENSOR_PLAIN, TENSOR_ROWS);
  form_run(fx, &form);
  form = form_of(fx, id, TENSOR_ROWS, TENSOR_ROWS);
  form_run(fx, &form);
}

static void nothing_between_the_rows_is_written(tbk_fixture_t* fx) {
  operation_shown(fx, check_rows);
}

static const tbk_case_t cases[] = {
    TBK_CASE("KRN-006", "kernel", 0, an_output_may_be_an_input),
    TBK_CASE("KRN-113", "kernel", 0, an_output_may_be_a_strided_input),
    TBK_CASE("KRN-113", "kernel", 0, a_long_output_may_be_an_input),
    TBK_CASE("KRN-112", "kernel", 0, two_inputs_may_be_one_memory),
    TBK_CASE("KRN-116", "kernel", 0, nothing_between_the_elements_is_written),
    TBK_CASE("KRN-116", "kernel", 0, nothing_between_the_rows_is_written),
    TBK_CASE("KRN-116", "kernel", 0, nothing_beside_a_column_is_written),
};
TBK_SUITE(kernel_place);
