/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels: what is refused has no effect, and has a reason.
 */
#include "book.h"
#include "operation.h"
#include "range.h"
#include "room.h"

#include <string.h>

/* Offers what is likely to be refused, and looks whether a refusal was without effect. */
static void offer(tbk_fixture_t* fx, operation_t* operation, tbk_stream_t* stream) {
  memset(&fx->error, 0, sizeof fx->error);
  tbk_status_t status = operation_launch(fx, operation, stream);
  range_settle(fx, stream);
  if (status == TBK_OK) {
    OPERATION_CHECK(fx, operation);
    return;
  }
  CHECK_STATUS(TBK_UNSUPPORTED, status);
  CHECK(memchr(fx->error.message, '\0', sizeof fx->error.message) != NULL);
  CHECK_SAID(fx->error.message[0] != '\0', "a reason with UNSUPPORTED", "%s", "none");
  operation_check_untouched(fx, operation, TBK_HERE("launch"));
}

/* Every dtype, declared or not, each in another layout. */
static void offer_every_dtype(tbk_fixture_t* fx, operator_id_t id) {
  static const int64_t sizes[3] = {2, 3, 4};
  for (size_t i = 0; i < number_type_count; ++i) {
    form_t form = {.id = id, .dtype = number_types[i].dtype, .rank = 3, .sizes = sizes};
    form.input = form.output = (tensor_layout_t)((i + (size_t)id) % TENSOR_BROADCAST);
    if (form.dtype == TBK_BOOL && (id == OPERATOR_ADD || id == OPERATOR_MUL || id == OPERATOR_MM))
      continue; /* arithmetic of truth values has no rule here */
    operation_t operation;
    const size_t mark = room_mark(fx);
    operation_make(fx, &operation, &form);
    offer(fx, &operation, NULL);
    room_release(fx, mark);
  }
}

static void a_fill_is_computed_or_refused_without_effect(tbk_fixture_t* fx) {
  offer_every_dtype(fx, OPERATOR_FILL);
}

static void a_copy_is_computed_or_refused_without_effect(tbk_fixture_t* fx) {
  offer_every_dtype(fx, OPERATOR_COPY);
}

static void an_add_is_computed_or_refused_without_effect(tbk_fixture_t* fx) {
  offer_every_dtype(fx, OPERATOR_ADD);
}

static void a_mul_is_computed_or_refused_without_effect(tbk_fixture_t* fx) {
  offer_every_dtype(fx, OPERATOR_MUL);
}

static void a_where_is_computed_or_refused_without_effect(tbk_fixture_t* fx) {
  offer_every_dtype(fx, OPERATOR_WHERE);
}

static void a_sum_is_computed_or_refused_without_effect(tbk_fixture_t* fx) {
  offer_every_dtype(fx, OPERATOR_SUM);
}

static void an_mm_is_computed_or_refused_without_effect(tbk_fixture_t* fx) {
  offer_every_dtype(fx, OPERATOR_MM);
}

/* What no launch can compute, no plan is made for. */
static void check_no_plan(tbk_fixture_t* fx, const operation_t* operation) {
  const tbk_kernel_t* kernel = operation->kernel;
  tbk_plan_t* plan = NULL;
  uint64_t workspace_bytes = 0;
  if (!operation_has_plans(kernel)) return;
  CHECK_STATUS(TBK_UNSUPPORTED,
               kernel->prepare(fx->self, fx->device, kernel, &operation->wire->arguments, &plan,
                               &workspace_bytes, &fx->error));
  CHECK_SAID(fx->error.message[0] != '\0', "a reason with UNSUPPORTED", "%s", "none");
}

static bool is_refused(tbk_fixture_t* fx, void* argument) {
  return CHECK_STATUS(TBK_UNSUPPORTED, operation_launch(fx, argument, NULL));
}

/* Of launches that are refused once more, hundreds of times. */
static void check_heap(tbk_fixture_t* fx, operation_t* operation) {
  TBK_CHECKS("ERR-001");
  BOOK_CHECK_HEAP(fx, is_refused, operation, 200, operation_name(operation->form.id));
}

/* Values that no ScalarType of today has, in every descriptor: nobody can compute with them. */
static void check_unknown_dtype(tbk_fixture_t* fx, operator_id_t id) {
  static const int32_t unknown[] = {-1, 8, 12, 63, 64, 1000, INT32_MAX, INT32_MIN};
  tbk_stream_t* stream = fx->stream != NULL ? fx_stream(fx) : NULL;
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; ++i) {
    if (unknown[i] >= 0 && unknown[i] < 64 && fx_has_dtype(fx, unknown[i])) continue;
    operation_t operation;
    const size_t mark = room_mark(fx);
    operation_make_plain(fx, &operation, id);
    for (int k = 0; k < operation.input_count; ++k)
      operation.wire->inputs[k].dtype = unknown[i];
    operation.wire->output.dtype = unknown[i];
    memset(&fx->error, 0, sizeof fx->error);
    CHECK_STATUS(TBK_UNSUPPORTED, operation_launch(fx, &operation, i % 2 == 0 ? NULL : stream));
    CHECK_SAID(fx->error.message[0] != '\0', "a reason with UNSUPPORTED", "%s", "none");
    memset(&fx->error, 0, sizeof fx->error);
    check_no_plan(fx, &operation);
    if (i == 1) check_heap(fx, &operation);
    range_settle(fx, stream);
    operation_check_untouched(fx, &operation, TBK_HERE("launch"));
    room_release(fx, mark);
  }
  if (stream == NULL) return;
  fx_disown_stream(fx, stream);
  fx->stream->stream_destroy(fx->self, stream);
}

static void an_unknown_dtype_is_refused(tbk_fixture_t* fx) {
  operation_for_each(fx, check_unknown_dtype);
}

/* One rank more than the device says, where the suite can still compute it. */
static void check_high_rank(tbk_fixture_t* fx, operator_id_t id) {
  static const int64_t sizes[TENSOR_RANK] = {2, 1, 2, 1, 2, 1, 2, 3};
  static const int64_t product[3] = {2, 3, 2};
  operation_t operation;
  const int32_t most = fx->properties.max_rank;
  for (int32_t rank = most < TENSOR_RANK ? most + 1 : TENSOR_RANK; rank <= TENSOR_RANK; ++rank) {
    form_t form = {.id = id, .dtype = TBK_FLOAT32, .rank = rank, .sizes = sizes};
    if (id == OPERATOR_MM) form.sizes = product;
    operation_make(fx, &operation, &form);
    offer(fx, &operation, NULL);
    rank = rank < TENSOR_RANK - 1 ? TENSOR_RANK - 1 : rank;
  }
}

static void a_high_rank_is_refused_or_computed(tbk_fixture_t* fx) {
  operation_for_each(fx, check_high_rank);
}

static const tbk_case_t cases[] = {
    TBK_CASE("KRN-008", "kernel op:fill_.Scalar", 0, a_fill_is_computed_or_refused_without_effect),
    TBK_CASE("KRN-008", "kernel op:copy_", 0, a_copy_is_computed_or_refused_without_effect),
    TBK_CASE("KRN-008", "kernel op:add.Tensor", 0, an_add_is_computed_or_refused_without_effect),
    TBK_CASE("KRN-008", "kernel op:mul.Tensor", 0, a_mul_is_computed_or_refused_without_effect),
    TBK_CASE("KRN-008", "kernel op:where.self", 0, a_where_is_computed_or_refused_without_effect),
    TBK_CASE("KRN-008", "kernel op:sum.dim_IntList", 0,
             a_sum_is_computed_or_refused_without_effect),
    TBK_CASE("KRN-008", "kernel op:mm", 0, an_mm_is_computed_or_refused_without_effect),
    TBK_CASE("KRN-008", "kernel", 0, an_unknown_dtype_is_refused),
    TBK_CASE("KRN-008", "kernel", 0, a_high_rank_is_refused_or_computed),
};
TBK_SUITE(kernel_refusal);
