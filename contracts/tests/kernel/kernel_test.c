/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels: how they are found, called and refused. What they compute is in kernel_values_test.c
 * and kernel_shapes_test.c, plans are in kernel_plan_test.c.
 */
#include "behind.h"
#include "operation.h"
#include "range.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------------------------ lookup -- */

static const tbk_kernel_t* find(tbk_fixture_t* fx, int32_t device, const char* name,
                                uint32_t version) {
  return fx->kernel->kernel_find(fx->self, device, name, version);
}

static void a_kernel_is_found_on_an_open_device_only(tbk_fixture_t* fx) {
  for (int id = 0; id < OPERATORS; ++id)
    CHECK(find(fx, 0, operation_name(id), operation_version(id)) == NULL);
  fx_open(fx);
  const int32_t bad[] = {fx->device_count, -1, INT32_MAX, INT32_MIN};
  for (int id = 0; id < OPERATORS; ++id)
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
      CHECK(find(fx, bad[i], operation_name(id), operation_version(id)) == NULL);
  fx_close(fx);
  for (int id = 0; id < OPERATORS; ++id)
    CHECK(find(fx, 0, operation_name(id), operation_version(id)) == NULL);
}

static void an_unknown_name_is_not_found(tbk_fixture_t* fx) {
  static const char* const names[] = {
      "",          ".",           "add.",        "Add.Tensor", "add.tensor", "add.Tensor ",
      " mm",       " add.Tensor", "add.TensorX", "add.Tenso",  "fill_.",     "fill_.Scala",
      "copy_.",    "copy_X",      "mm.",         "mm ",        "aten::mm",   "where.self ",
      "where.sel", "add",         "mul",         "fill_",      "%s%s%s%n",   "no.such"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    for (uint32_t version = 0; version < 3; ++version)
      CHECK_SAID(find(fx, fx->device, names[i], version) == NULL, "NULL", "a kernel for \"%s\"",
                 names[i]);
}

static void a_long_name_is_not_found(tbk_fixture_t* fx) {
  char* name = (char*)fx_zeros(fx, 70000);
  for (size_t length = 1; length < 70000; length = length * 3 + 1) {
    memset(name, 'm', length);
    name[length] = '\0';
    CHECK(length == 2 || find(fx, fx->device, name, 1) == NULL);
  }
}

static void an_unknown_version_is_not_found(tbk_fixture_t* fx) {
  static const uint32_t far[] = {0, 1000, 0x80000000u, UINT32_MAX};
  for (int id = 0; id < OPERATORS; ++id) {
    for (size_t i = 0; i < sizeof far / sizeof *far; ++i)
      CHECK_SAID(find(fx, fx->device, operation_name(id), far[i]) == NULL, "NULL",
                 "a kernel for %s, version %u", operation_name(id), far[i]);
  }
}

static void check_found(tbk_fixture_t* fx, operator_id_t id) {
  const tbk_kernel_t* kernel = operation_find(fx, id);
  char name[64];
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    snprintf(name, sizeof name, "%s", operation_name(id)); /* at another address */
    CHECK(find(fx, fx->device, name, operation_version(id)) == kernel);
    memset(name, 'x', sizeof name);
  }
  for (int other = 0; other < OPERATORS; ++other)
    CHECK(other == (int)id || operation_find(fx, other) != kernel);
}

static void a_kernel_is_the_same_each_time(tbk_fixture_t* fx) {
  operation_for_each(fx, check_found);
}

static void check_table(tbk_fixture_t* fx, operator_id_t id) {
  const tbk_kernel_t* kernel = operation_find(fx, id);
  (void)fx;
  CHECK(kernel->struct_size >= offsetof(tbk_kernel_t, launch) + sizeof kernel->launch);
  CHECK(kernel->struct_size < 65536);
  CHECK(TBK_HAS(kernel, tbk_kernel_t, launch));
  bool prepare = TBK_HAS(kernel, tbk_kernel_t, prepare) != 0;
  CHECK(prepare == (TBK_HAS(kernel, tbk_kernel_t, launch_plan) != 0));
  CHECK(prepare == (TBK_HAS(kernel, tbk_kernel_t, plan_destroy) != 0));
}

static void a_kernel_has_its_entries(tbk_fixture_t* fx) {
  operation_for_each(fx, check_table);
}

/* ---------------------------------------------------------------------------- accepted at all -- */

static void check_plain(tbk_fixture_t* fx, operator_id_t id) {
  operation_t operation;
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    size_t mark = room_mark(fx);
    operation_make_plain(fx, &operation, id);
    CHECK_SAID(OPERATION_RUN(fx, &operation), "contiguous float32 accepted", "%s refused: %s",
               operation_name(id), fx->error.message);
    room_release(fx, mark);
  }
}

static void plain_float32_is_accepted(tbk_fixture_t* fx) {
  operation_for_each(fx, check_plain);
}

static void plain_float32_is_accepted_on_the_second_device(tbk_fixture_t* fx) {
  range_use_second_device(fx);
  operation_for_each(fx, check_plain);
}

/* -------------------------------------------------------------------------------- struct size -- */

static void check_short_arguments(tbk_fixture_t* fx, operator_id_t id) {
  operation_t operation;
  operation_make_plain(fx, &operation, id);
  size_t whole = operation_arguments_size(id);
  const size_t sizes[] = {0, 1, sizeof(size_t), whole - sizeof(void*), whole - 1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    operation.wire->arguments.struct_size = sizes[i];
    CHECK_STATUS(TBK_INVALID, operation_launch(fx, &operation, NULL));
    if (!operation_has_plans(operation.kernel)) continue;
    tbk_plan_t* plan = (tbk_plan_t*)(void*)&operation;
    uint64_t bytes = 77;
    CHECK_STATUS(TBK_INVALID,
                 operation.kernel->prepare(fx->self, fx->device, operation.kernel,
                                           &operation.wire->arguments, &plan, &bytes, &fx->error));
    CHECK((void*)plan == (void*)&operation && bytes == 77);
  }
  operation_check_untouched(fx, &operation, TBK_HERE("launch"));
}

static void arguments_cut_short_are_refused(tbk_fixture_t* fx) {
  operation_for_each(fx, check_short_arguments);
}

/* UNSUPPORTED also where there is no `prepare`. */
static tbk_status_t prepare_once(tbk_fixture_t* fx, const operation_t* operation) {
  const tbk_kernel_t* kernel = operation->kernel;
  tbk_plan_t* plan = NULL;
  uint64_t bytes = 0;
  if (!operation_has_plans(kernel)) return TBK_UNSUPPORTED;
  tbk_status_t status = kernel->prepare(fx->self, fx->device, kernel, &operation->wire->arguments,
                                        &plan, &bytes, &fx->error);
  if (status == TBK_OK) kernel->plan_destroy(fx->self, plan);
  return status;
}

/* What is accepted, or refused, at its own size is so at a larger one. */
static void check_longer_arguments(tbk_fixture_t* fx, operator_id_t id) {
  operation_t operation;
  operation_make_plain(fx, &operation, id);
  bool accepted = OPERATION_RUN(fx, &operation);
  tbk_status_t planned = prepare_once(fx, &operation);
  size_t whole = operation_arguments_size(id);
  memset(operation.wire->arguments.room + whole, 0xdd, sizeof operation.wire->arguments - whole);
  operation.wire->arguments.struct_size = sizeof operation.wire->arguments;
  CHECK_EQUAL(accepted, OPERATION_RUN(fx, &operation));
  CHECK_EQUAL(planned, prepare_once(fx, &operation));
}

static void arguments_of_a_later_host_are_accepted(tbk_fixture_t* fx) {
  operation_for_each(fx, check_longer_arguments);
}

/* -------------------------------------------------------------------------- reuse, and order --- */

typedef struct order {
  operation_t operation;
  tbk_stream_t* stream;
  tbk_memory_t saved; /* where a copy behind the launch puts the output */
  uint8_t* first;     /* what input 0, or the output, gets before the launch */
  tensor_t* written;  /* whose contents `first` is */
} order_t;

/* An upload, the launch, and a copy of the result; then everything that was passed is overwritten. */
static void upload_launch_copy(tbk_fixture_t* fx, void* argument) {
  order_t* order = argument;
  operation_t* operation = &order->operation;
  CHECK_OK(fx->core->upload(fx->self, fx->device, order->written->memory, 0, order->first,
                            order->written->block_bytes, order->stream, &fx->error));
  CHECK_OK(operation_launch(fx, operation, order->stream));
  memset(operation->wire, 0xdd, sizeof *operation->wire);
  CHECK_OK(fx->core->copy(fx->self, fx->device, order->saved, 0, operation->output.memory, 0,
                          operation->output.block_bytes, order->stream, &fx->error));
}

/* On the device lies something else than what the stream will have uploaded. */
static void order_make(tbk_fixture_t* fx, order_t* order, operator_id_t id) {
  operation_make_plain(fx, &order->operation, id);
  operation_t* operation = &order->operation;
  operation_warm_up(fx, operation);
  order->written = operation->input_count > 0 ? &operation->inputs[0] : &operation->output;
  uint8_t* model = operation->input_count > 0 ? operation->inputs[0].model : operation->poison;
  order->first = fx_bytes(fx, order->written->block_bytes);
  memcpy(order->first, model, order->written->block_bytes);
  uint8_t* other = fx_zeros(fx, order->written->block_bytes);
  fx_upload(fx, order->written->memory, other, order->written->block_bytes);
  order->saved = fx_alloc(fx, operation->output.block_bytes);
}

static void order_check(tbk_fixture_t* fx, order_t* order) {
  operation_t* operation = &order->operation;
  OPERATION_CHECK(fx, operation);
  operation->output.memory = order->saved;
  OPERATION_CHECK(fx, operation);
}

/* The launch alone, too early: its result is not the right one. */
static bool launch_early(tbk_fixture_t* fx, void* argument, tbk_stream_t* other) {
  order_t* order = argument;
  operation_t* operation = &order->operation;
  uint8_t* seen = fx_zeros(fx, operation->output.block_bytes);
  CHECK_OK(operation_launch(fx, operation, other));
  CHECK_OK(fx->core->upload(fx->self, fx->device, order->written->memory, 0, order->first,
                            order->written->block_bytes, other, &fx->error));
  CHECK_OK(fx->core->download(fx->self, fx->device, seen, operation->output.memory, 0,
                              operation->output.block_bytes, other, &fx->error));
  behind_settle(fx, other);
  return memcmp(seen, operation->output.model, operation->output.block_bytes) != 0;
}

static void check_order(tbk_fixture_t* fx, operator_id_t id, tbk_stream_t* stream) {
  order_t* order = (order_t*)(void*)fx_zeros(fx, sizeof *order);
  order->stream = stream;
  order_make(fx, order, id);
  behind_gate(fx, stream, upload_launch_copy, order);
  order_check(fx, order);
}

static void check_order_of_all(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  int last = OPERATORS;
  for (int id = 0; id < OPERATORS; ++id) {
    if (operation_find(fx, id) == NULL) continue;
    check_order(fx, id, stream);
    last = id;
  }
  if (last == OPERATORS) return;
  order_t* order = (order_t*)(void*)fx_zeros(fx, sizeof *order);
  order_make(fx, order, last);
  behind_control(fx, stream, launch_early, order);
}

static void a_launch_waits_for_earlier_work_of_its_stream(tbk_fixture_t* fx) {
  check_order_of_all(fx);
  CHECK(find(fx, fx->device, "no.such", 1) == NULL);
}

static void a_launch_on_the_second_device_waits_for_earlier_work(tbk_fixture_t* fx) {
  range_use_second_device(fx);
  check_order_of_all(fx);
  CHECK(find(fx, fx->device, "no.such", 1) == NULL);
}

static void launch_and_overwrite(tbk_fixture_t* fx, void* argument) {
  order_t* order = argument;
  CHECK_OK(operation_launch(fx, &order->operation, order->stream));
  memset(order->operation.wire, 0xdd, sizeof *order->operation.wire);
}

static void check_arguments_reused(tbk_fixture_t* fx, operator_id_t id) {
  order_t* order = (order_t*)(void*)fx_zeros(fx, sizeof *order);
  order->stream = fx_stream(fx);
  operation_make_plain(fx, &order->operation, id);
  operation_warm_up(fx, &order->operation);
  behind_gate(fx, order->stream, launch_and_overwrite, order);
  OPERATION_CHECK(fx, &order->operation);
  fx_disown_stream(fx, order->stream);
  fx->stream->stream_destroy(fx->self, order->stream);
}

static void arguments_may_be_overwritten_after_a_launch(tbk_fixture_t* fx) {
  operation_for_each(fx, check_arguments_reused);
}

/* Each launch with a wire that the one before has used, and no wait in between. */
static void check_wire_reused(tbk_fixture_t* fx, operator_id_t id) {
  enum { TURNS = 7 }; /* of up to 4 operands: a device has 32 allocations at the least */
  operation_t* operations = (operation_t*)(void*)fx_zeros(fx, TURNS * sizeof *operations);
  tbk_stream_t* stream = fx_stream(fx);
  wire_t* shared = NULL;
  for (int turn = 0; turn < TURNS; ++turn)
    operation_make_plain(fx, &operations[turn], id);
  for (int turn = 0; turn < TURNS; ++turn) {
    if (turn == 0) shared = operations[0].wire;
    operations[turn].wire = shared;
    operation_describe(&operations[turn]);
    CHECK_OK(operation_launch(fx, &operations[turn], stream));
  }
  memset(shared, 0xdd, sizeof *shared);
  fx_synchronize(fx, stream);
  for (int turn = 0; turn < TURNS; ++turn)
    OPERATION_CHECK(fx, &operations[turn]);
  fx_disown_stream(fx, stream);
  fx->stream->stream_destroy(fx->self, stream);
}

static void arguments_may_be_reused_for_the_next_launch(tbk_fixture_t* fx) {
  operation_for_each(fx, check_wire_reused);
}

static void check_complete(tbk_fixture_t* fx, operator_id_t id) {
  static const int64_t large[1] = {16411};
  static const int64_t product[3] = {20, 50, 30};
  form_t form = {.id = id, .dtype = TBK_FLOAT32, .rank = 1, .sizes = large};
  if (id == OPERATOR_MM) form.sizes = product;
  operation_t operation;
  operation_make(fx, &operation, &form);
  OPERATION_RUN(fx, &operation);
}

static void a_launch_without_a_stream_is_complete_on_return(tbk_fixture_t* fx) {
  operation_for_each(fx, check_complete);
}

static void check_foreign_stream(tbk_fixture_t* fx, operator_id_t id) {
  operation_t operation;
  int32_t first = fx->device;
  tbk_device_properties_t properties = fx->properties;
  operation_make_plain(fx, &operation, id);
  range_use_second_device(fx);
  tbk_stream_t* foreign = fx_stream(fx);
  fx->device = first;
  fx->properties = properties;
  CHECK_STATUS(TBK_INVALID, operation_launch(fx, &operation, foreign));
  fx_synchronize(fx, foreign);
  operation_check_untouched(fx, &operation, TBK_HERE("launch"));
  fx_disown_stream(fx, foreign);
  fx->stream->stream_destroy(fx->self, foreign);
}

static void a_launch_on_a_stream_of_another_device_is_refused(tbk_fixture_t* fx) {
  operation_for_each(fx, check_foreign_stream);
}

/* ----------------------------------------------------------------------------------- refusal --- */

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
    operation_make(fx, &operation, &form);
    offer(fx, &operation, NULL);
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

/* Values that no ScalarType of today has, in every descriptor: nobody can compute with them. */
static void check_unknown_dtype(tbk_fixture_t* fx, operator_id_t id) {
  static const int32_t unknown[] = {-1, 8, 12, 63, 64, 1000, INT32_MAX, INT32_MIN};
  tbk_stream_t* stream = fx->stream != NULL ? fx_stream(fx) : NULL;
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; ++i) {
    if (unknown[i] >= 0 && unknown[i] < 64 && (fx->properties.dtypes >> unknown[i] & 1)) continue;
    operation_t operation;
    operation_make_plain(fx, &operation, id);
    for (int k = 0; k < operation.input_count; ++k)
      operation.wire->inputs[k].dtype = unknown[i];
    operation.wire->output.dtype = unknown[i];
    memset(&fx->error, 0, sizeof fx->error);
    CHECK_STATUS(TBK_UNSUPPORTED, operation_launch(fx, &operation, i % 2 == 0 ? NULL : stream));
    CHECK_SAID(fx->error.message[0] != '\0', "a reason with UNSUPPORTED", "%s", "none");
    memset(&fx->error, 0, sizeof fx->error);
    check_no_plan(fx, &operation);
    range_settle(fx, stream);
    operation_check_untouched(fx, &operation, TBK_HERE("launch"));
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
  int32_t above = fx->properties.max_rank + 1;
  for (int32_t rank = above < TENSOR_RANK ? above : TENSOR_RANK; rank <= TENSOR_RANK; ++rank) {
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
    TBK_CASE("KRN-019", "kernel", TBK_CASE_CLOSED, a_kernel_is_found_on_an_open_device_only),
    TBK_CASE("KRN-020", "kernel", 0, an_unknown_name_is_not_found),
    TBK_CASE("KRN-020", "kernel", 0, a_long_name_is_not_found),
    TBK_CASE("KRN-020", "kernel", 0, an_unknown_version_is_not_found),
    TBK_CASE("KRN-021", "kernel", 0, a_kernel_is_the_same_each_time),
    TBK_CASE("KRN-025", "kernel", 0, a_kernel_has_its_entries),
    TBK_CASE("KRN-023", "kernel dtype:FLOAT32", 0, plain_float32_is_accepted),
    TBK_CASE("KRN-023", "kernel dtype:FLOAT32 two_devices", 0,
             plain_float32_is_accepted_on_the_second_device),
    TBK_CASE("KRN-001", "kernel", 0, arguments_cut_short_are_refused),
    TBK_CASE("KRN-024", "kernel dtype:FLOAT32", 0, arguments_of_a_later_host_are_accepted),
    TBK_CASE("STR-001", "kernel stream dtype:FLOAT32", 0,
             a_launch_waits_for_earlier_work_of_its_stream),
    TBK_CASE("STR-001", "kernel stream dtype:FLOAT32 two_devices", 0,
             a_launch_on_the_second_device_waits_for_earlier_work),
    TBK_CASE("KRN-007", "kernel stream dtype:FLOAT32", 0,
             arguments_may_be_overwritten_after_a_launch),
    TBK_CASE("KRN-007", "kernel stream dtype:FLOAT32", 0,
             arguments_may_be_reused_for_the_next_launch),
    TBK_CASE("CPY-006", "kernel dtype:FLOAT32", 0, a_launch_without_a_stream_is_complete_on_return),
    TBK_CASE("STR-002", "kernel stream two_devices dtype:FLOAT32", 0,
             a_launch_on_a_stream_of_another_device_is_refused),
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
TBK_SUITE(kernel);
