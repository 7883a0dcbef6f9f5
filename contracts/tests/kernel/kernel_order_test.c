/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels: when a launch runs, and what may be overwritten behind it.
 */
#include "behind.h"
#include "operation.h"
#include "range.h"

#include <string.h>

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
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
}

static void a_launch_on_the_second_device_waits_for_earlier_work(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_order_of_all(fx);
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
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
  operation_make_plain(fx, &operation, id);
  fx_use_device(fx, fx_second_device(fx));
  tbk_stream_t* foreign = fx_stream(fx);
  fx_use_device(fx, first);
  CHECK_STATUS(TBK_INVALID, operation_launch(fx, &operation, foreign));
  fx_synchronize(fx, foreign);
  operation_check_untouched(fx, &operation, TBK_HERE("launch"));
  fx_disown_stream(fx, foreign);
  fx->stream->stream_destroy(fx->self, foreign);
}

static void a_launch_on_a_stream_of_another_device_is_refused(tbk_fixture_t* fx) {
  operation_for_each(fx, check_foreign_stream);
}

static const tbk_case_t cases[] = {
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
};
TBK_SUITE(kernel_order);
