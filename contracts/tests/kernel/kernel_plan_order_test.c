/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans: a launch waits for its stream, and its work outlives the plan.
 */
#include "behind.h"
#include "planned.h"

#include <string.h>

static void upload_launch(tbk_fixture_t* fx, void* argument) {
  planned_t* it = argument;
  CHECK_OK(fx->core->upload(fx->self, fx->device, it->written->memory, 0, it->first,
                            it->written->block_bytes, it->stream, &fx->error));
  CHECK_OK(planned_launch(fx, it, it->stream));
}

static void upload_launch_destroy(tbk_fixture_t* fx, void* argument) {
  planned_t* it = argument;
  upload_launch(fx, argument);
  planned_destroy(fx, it);
  memset(it->operation.wire, 0xdd, sizeof *it->operation.wire);
}

/* On the device lies something else than what the stream will have uploaded. */
static planned_t* order_make(tbk_fixture_t* fx, operator_id_t id, tbk_stream_t* stream) {
  planned_t* it = planned_make(fx, id);
  operation_t* operation = &it->operation;
  it->stream = stream;
  if (planned_launch(fx, it, NULL) == TBK_OK) /* so that nothing is compiled when it counts */
    fx_upload(fx, operation->output.memory, operation->poison, operation->output.block_bytes);
  it->written = operation->input_count > 0 ? &operation->inputs[0] : &operation->output;
  it->first = operation->input_count > 0 ? operation->inputs[0].model : operation->poison;
  fx_upload(fx, it->written->memory, fx_zeros(fx, it->written->block_bytes),
            it->written->block_bytes);
  return it;
}

static bool launch_early(tbk_fixture_t* fx, void* argument, tbk_stream_t* other) {
  planned_t* it = argument;
  operation_t* operation = &it->operation;
  uint8_t* seen = fx_zeros(fx, operation->output.block_bytes);
  CHECK_OK(planned_launch(fx, it, other));
  CHECK_OK(fx->core->upload(fx->self, fx->device, it->written->memory, 0, it->first,
                            it->written->block_bytes, other, &fx->error));
  CHECK_OK(fx->core->download(fx->self, fx->device, seen, operation->output.memory, 0,
                              operation->output.block_bytes, other, &fx->error));
  behind_settle(fx, other);
  return memcmp(seen, operation->output.model, operation->output.block_bytes) != 0;
}

static void check_behind(tbk_fixture_t* fx, behind_fn program, bool destroys) {
  tbk_stream_t* stream = fx_stream(fx);
  int last = -1;
  for (int id = 0; id < OPERATORS; ++id) {
    if (!planned_accepted(fx, id)) continue;
    size_t mark = room_mark(fx);
    planned_t* it = order_make(fx, id, stream);
    behind_gate(fx, stream, program, it);
    OPERATION_CHECK(fx, &it->operation);
    if (!destroys) planned_destroy(fx, it);
    room_release(fx, mark);
    last = id;
  }
  if (last < 0) {
    (void)planned_first(fx);
    return;
  }
  planned_t* control = order_make(fx, last, stream);
  behind_control(fx, stream, launch_early, control);
  planned_destroy(fx, control);
}

static void a_plan_waits_for_earlier_work_of_its_stream(tbk_fixture_t* fx) {
  check_behind(fx, upload_launch, false);
}

static void work_of_a_destroyed_plan_runs_to_its_end(tbk_fixture_t* fx) {
  check_behind(fx, upload_launch_destroy, true);
}

static const tbk_case_t cases[] = {
    TBK_CASE("STR-001", "prepare stream", 0, a_plan_waits_for_earlier_work_of_its_stream),
    TBK_CASE("KRN-017", "prepare stream", 0, work_of_a_destroyed_plan_runs_to_its_end),
};
TBK_SUITE(kernel_plan_order);
