/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans: prepared on the host, run as often as wanted, on other memory too.
 */
#include "actor.h"
#include "behind.h"
#include "gate.h"
#include "operation.h"
#include "range.h"

#include <string.h>

typedef struct planned {
  operation_t operation;
  tbk_plan_t* plan;
  uint64_t workspace_bytes;
  tbk_memory_t workspace;
  uint64_t workspace_offset;
  block_t block; /* the workspace with room around it */
  tbk_stream_t* stream;
  uint8_t* first; /* what input 0, or the output, gets before the launch */
  tensor_t* written;
} planned_t;

static tbk_status_t prepare(tbk_fixture_t* fx, planned_t* it) {
  operation_t* operation = &it->operation;
  return operation->kernel->prepare(fx->self, fx->device, operation->kernel,
                                    &operation->wire->arguments, &it->plan, &it->workspace_bytes,
                                    &fx->error);
}

static tbk_status_t launch_plan(tbk_fixture_t* fx, planned_t* it, tbk_stream_t* stream) {
  return it->operation.kernel->launch_plan(fx->self, fx->device, it->plan,
                                           &it->operation.wire->arguments, it->workspace,
                                           it->workspace_offset, stream, &fx->error);
}

static void destroy(tbk_fixture_t* fx, planned_t* it) {
  it->operation.kernel->plan_destroy(fx->self, it->plan);
}

/* Larger than the plain operation, so that a workspace is worth having. */
static void make_operation(tbk_fixture_t* fx, operation_t* operation, operator_id_t id) {
  static const int64_t sizes[2] = {9, 31};
  static const int64_t product[3] = {6, 17, 5};
  form_t form = {.id = id, .dtype = operation_dtype(fx), .sizes = sizes, .keepdim = true};
  form.rank = fx->properties.max_rank < 2 ? 1 : 2;
  form.reduced = form.rank == 2 ? 2 : 0;
  if (id == OPERATOR_MM) form.sizes = product;
  operation_make(fx, operation, &form);
}

static bool has_prepare(tbk_fixture_t* fx, operator_id_t id) {
  return operation_has_plans(operation_find(fx, id));
}

/* `prepare` may refuse any operands, so it is tried on those of this file. */
static bool can_prepare(tbk_fixture_t* fx, operator_id_t id) {
  if (!has_prepare(fx, id)) return false;
  size_t mark = room_mark(fx);
  planned_t it = {0};
  memset(&fx->error, 0, sizeof fx->error);
  make_operation(fx, &it.operation, id);
  tbk_status_t status = prepare(fx, &it);
  if (status == TBK_OK) destroy(fx, &it);
  CHECK_SAID(status == TBK_OK || status == TBK_UNSUPPORTED, "OK, or UNSUPPORTED",
             "%s from prepare: %s", tbk_status_name(status), fx->error.message);
  CHECK_SAID(status == TBK_OK || fx->error.message[0] != '\0', "a reason with UNSUPPORTED", "%s",
             "none");
  room_release(fx, mark);
  return status == TBK_OK;
}

/* The first operator that can be prepared, or OPERATORS, which is said. */
static operator_id_t first_prepared(tbk_fixture_t* fx) {
  operator_id_t id = OPERATOR_FILL;
  while (id < OPERATORS && !can_prepare(fx, id))
    id = (operator_id_t)(id + 1);
  if (id == OPERATORS)
    fx_evidence(fx, TBK_NOT_SHOWN, "prepare refuses the operands of this test, as it may");
  return id;
}

/* Calls `function` for each operator that can be prepared. */
static void for_each_prepared(tbk_fixture_t* fx, operation_fn function) {
  for (int id = first_prepared(fx); id < OPERATORS; ++id) {
    size_t mark = room_mark(fx);
    if (can_prepare(fx, (operator_id_t)id)) function(fx, (operator_id_t)id);
    room_release(fx, mark);
  }
}

/* Exactly the workspace that was asked for, in the middle of a block whose ends are looked at. */
static void make_workspace(tbk_fixture_t* fx, planned_t* it) {
  it->workspace = 0;
  it->workspace_offset = 0;
  if (it->workspace_bytes == 0) return;
  uint64_t alignment = fx->properties.memory_alignment;
  block_make(fx, &it->block, it->workspace_bytes + 2 * alignment);
  it->workspace = it->block.memory;
  it->workspace_offset = alignment;
}

static void check_workspace(tbk_fixture_t* fx, planned_t* it) {
  if (it->workspace_bytes == 0) return;
  uint8_t* seen = fx_zeros(fx, it->block.size);
  uint64_t end = it->workspace_offset + it->workspace_bytes;
  fx_download(fx, seen, it->block.memory, it->block.size);
  CHECK_BYTES(it->block.model, seen, it->workspace_offset);
  CHECK_BYTES(it->block.model + end, seen + end, it->block.size - end);
}

static planned_t* planned_make(tbk_fixture_t* fx, operator_id_t id) {
  planned_t* it = (planned_t*)(void*)fx_zeros(fx, sizeof *it);
  make_operation(fx, &it->operation, id);
  REQUIRE_OK(prepare(fx, it));
  REQUIRE(it->plan != NULL);
  make_workspace(fx, it);
  return it;
}

/* ------------------------------------------------------------------------------------ prepare -- */

/* With handles of no memory at all: whatever is read through them is not there. */
static void check_handles_0(tbk_fixture_t* fx, operator_id_t id) {
  planned_t* it = (planned_t*)(void*)fx_zeros(fx, sizeof *it);
  make_operation(fx, &it->operation, id);
  REQUIRE_OK(prepare(fx, it)); /* with memory that must not be touched, too */
  operation_check_untouched(fx, &it->operation, TBK_HERE("prepare"));
  destroy(fx, it);
  wire_t* wire = it->operation.wire;
  for (int k = 0; k < 3; ++k)
    wire->inputs[k].memory = 0;
  wire->output.memory = 0;
  REQUIRE_OK(prepare(fx, it));
  operation_check_untouched(fx, &it->operation, TBK_HERE("prepare"));
  make_workspace(fx, it);
  operation_describe(&it->operation);
  CHECK_OK(launch_plan(fx, it, NULL));
  OPERATION_CHECK(fx, &it->operation);
  destroy(fx, it);
}

static void a_plan_is_made_without_memory(tbk_fixture_t* fx) {
  for_each_prepared(fx, check_handles_0);
}

static void a_plan_is_made_without_memory_on_the_second_device(tbk_fixture_t* fx) {
  range_use_second_device(fx);
  for_each_prepared(fx, check_handles_0);
}

static void prepare_and_destroy(actor_t* actor) {
  tbk_fixture_t* fx = &actor->fx;
  planned_t* it = actor->argument;
  CHECK_OK(prepare(fx, it));
  it->operation.kernel->plan_destroy(fx->self, it->plan);
  CHECK_OK(prepare(fx, it));
}

/* Nothing of the queue matters to either. The plan exists already, so no compiler holds it up. */
static void plans_come_and_go_without_waiting(tbk_fixture_t* fx) {
  operator_id_t id = first_prepared(fx);
  if (id == OPERATORS) return;
  planned_t* it = planned_make(fx, id);
  tbk_plan_t* earlier = it->plan;
  actor_t* actor = (actor_t*)(void*)fx_zeros(fx, sizeof *actor);
  tbk_gate_t gate;
  gate_close_over(fx, &gate, fx_stream(fx), 0);
  bool held = gate_is_closed(&gate);
  actor_start(fx, actor, prepare_and_destroy, it);
  bool returned = actor_settle(actor);
  uint64_t end = fx_now_ns() + FX_PATIENCE_NS / 2;
  while (held && !returned && fx_now_ns() < end)
    returned = actor_settle(actor);
  CHECK(returned || !held);
  gate_open(fx, &gate);
  actor_join(fx, actor);
  destroy(fx, it);
  it->operation.kernel->plan_destroy(fx->self, earlier);
}

/* ------------------------------------------------------------------------------------ results -- */

static void check_workspace_suffices(tbk_fixture_t* fx, operator_id_t id) {
  for (int round = 0; round < 4; ++round) {
    size_t mark = room_mark(fx);
    planned_t* it = planned_make(fx, id);
    CHECK_OK(launch_plan(fx, it, NULL));
    OPERATION_CHECK(fx, &it->operation);
    check_workspace(fx, it);
    destroy(fx, it);
    room_release(fx, mark);
  }
}

static void the_workspace_that_was_asked_for_suffices(tbk_fixture_t* fx) {
  for_each_prepared(fx, check_workspace_suffices);
}

/* One plan, fresh operands each time: other memory, other values, other scalars' places. */
static void check_many_launches(tbk_fixture_t* fx, operator_id_t id, tbk_stream_t* stream) {
  planned_t* it = planned_make(fx, id);
  size_t mark = room_mark(fx); /* operands and workspace of the plan stay */
  tbk_scalar_t scalar = it->operation.scalar;
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    CHECK_OK(launch_plan(fx, it, stream));
    range_settle(fx, stream);
    OPERATION_CHECK(fx, &it->operation);
    room_release(fx, mark);
    make_operation(fx, &it->operation, id);
    it->operation.scalar = scalar; /* a plan is for these numbers */
    operation_ready(fx, &it->operation);
  }
  CHECK_OK(launch_plan(fx, it, stream));
  range_settle(fx, stream);
  OPERATION_CHECK(fx, &it->operation);
  destroy(fx, it);
}

static void check_many_without_stream(tbk_fixture_t* fx, operator_id_t id) {
  check_many_launches(fx, id, NULL);
}

static void a_plan_runs_as_often_as_wanted(tbk_fixture_t* fx) {
  for_each_prepared(fx, check_many_without_stream);
}

static void a_plan_runs_on_the_second_device(tbk_fixture_t* fx) {
  range_use_second_device(fx);
  for_each_prepared(fx, check_many_without_stream);
}

static void a_plan_runs_on_a_stream(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (int id = first_prepared(fx); id < OPERATORS; ++id)
    if (can_prepare(fx, id)) check_many_launches(fx, id, stream);
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
}

/* Many launches in flight at a time, each with operands of its own. */
static void check_many_in_flight(tbk_fixture_t* fx, operator_id_t id) {
  enum { FLIGHTS = 6 }; /* of up to 4 operands, beside the plan's: a device has 32 at the least */
  planned_t* it = planned_make(fx, id);
  tbk_stream_t* stream = fx_stream(fx);
  operation_t* flights = (operation_t*)(void*)fx_zeros(fx, FLIGHTS * sizeof *flights);
  for (int i = 0; i < FLIGHTS; ++i) {
    make_operation(fx, &flights[i], id);
    flights[i].scalar = it->operation.scalar;
    operation_ready(fx, &flights[i]);
  }
  for (int i = 0; i < FLIGHTS; ++i) {
    it->operation.wire = flights[i].wire;
    CHECK_OK(launch_plan(fx, it, stream));
    memset(flights[i].wire, 0xdd, sizeof *flights[i].wire);
  }
  fx_synchronize(fx, stream);
  for (int i = 0; i < FLIGHTS; ++i)
    OPERATION_CHECK(fx, &flights[i]);
  destroy(fx, it);
  fx_disown_stream(fx, stream);
  fx->stream->stream_destroy(fx->self, stream);
}

static void a_plan_runs_many_times_in_flight(tbk_fixture_t* fx) {
  for_each_prepared(fx, check_many_in_flight);
}

/* Whatever prepare accepts, launch_plan does, in any layout and dtype. */
static void check_no_refusal(tbk_fixture_t* fx, operator_id_t id, int32_t dtype) {
  static const int64_t sizes[2] = {4, 3};
  static const int64_t product[3] = {4, 3, 2};
  planned_t it = {0};
  form_t form = {.id = id, .dtype = dtype, .rank = 2, .sizes = sizes};
  form.input = form.output = (tensor_layout_t)(dtype % TENSOR_BROADCAST);
  if (id == OPERATOR_MM) form.sizes = product;
  operation_make(fx, &it.operation, &form);
  memset(&fx->error, 0, sizeof fx->error);
  tbk_status_t status = prepare(fx, &it);
  if (status == TBK_UNSUPPORTED) {
    CHECK(fx->error.message[0] != '\0');
    CHECK(it.plan == NULL && it.workspace_bytes == 0);
    return;
  }
  REQUIRE_STATUS(TBK_OK, status);
  make_workspace(fx, &it);
  for (int round = 0; round < 3; ++round)
    CHECK_OK(launch_plan(fx, &it, NULL));
  OPERATION_CHECK(fx, &it.operation);
  destroy(fx, &it);
}

static void what_was_planned_is_not_refused(tbk_fixture_t* fx) {
  static const int32_t dtypes[] = {TBK_FLOAT32, TBK_FLOAT64, TBK_INT64};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; ++i)
    for (int id = 0; id < OPERATORS; ++id)
      if (has_prepare(fx, id)) check_no_refusal(fx, id, dtypes[i]);
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
}

/* A refusal by prepare writes nothing. */
static void check_refused(tbk_fixture_t* fx, operator_id_t id) {
  planned_t it = {0};
  operation_make_plain(fx, &it.operation, id);
  for (int k = 0; k < it.operation.input_count; ++k)
    it.operation.wire->inputs[k].dtype = 63;
  it.operation.wire->output.dtype = 63;
  it.plan = (tbk_plan_t*)(void*)&it;
  it.workspace_bytes = 77;
  memset(&fx->error, 0, sizeof fx->error);
  CHECK_STATUS(TBK_UNSUPPORTED, prepare(fx, &it));
  CHECK(fx->error.message[0] != '\0');
  CHECK((void*)it.plan == (void*)&it && it.workspace_bytes == 77);
  operation_check_untouched(fx, &it.operation, TBK_HERE("prepare"));
}

static void a_refused_plan_writes_nothing(tbk_fixture_t* fx) {
  for (int id = 0; id < OPERATORS; ++id)
    if (has_prepare(fx, id)) check_refused(fx, id);
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
}

static void check_planned_or_refused(tbk_fixture_t* fx, operator_id_t id) {
  const tbk_kernel_t* kernel = operation_find(fx, id);
  operation_t operation;
  tbk_plan_t* plan = NULL;
  uint64_t workspace_bytes = 0;
  make_operation(fx, &operation, id);
  fx->error.message[0] = '\0';
  const tbk_status_t status =
      kernel->prepare(fx->self, fx->device, kernel, &operation.wire->arguments, &plan,
                      &workspace_bytes, &fx->error);
  CHECK_SAID(status == TBK_OK || status == TBK_UNSUPPORTED, "a plan, or UNSUPPORTED", "%s",
             tbk_status_name(status));
  if (status == TBK_UNSUPPORTED) CHECK(fx->error.message[0] != '\0');
  CHECK((status == TBK_OK) == (plan != NULL));
  operation_check_untouched(fx, &operation, TBK_HERE("prepare"));
  kernel->plan_destroy(fx->self, plan);
}

static void what_is_not_planned_is_refused_with_a_reason(tbk_fixture_t* fx) {
  for (int id = 0; id < OPERATORS; ++id)
    if (has_prepare(fx, id)) check_planned_or_refused(fx, id);
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
}

static void a_plan_without_a_stream_is_complete_on_return(tbk_fixture_t* fx) {
  for_each_prepared(fx, check_many_without_stream);
}

static void a_plan_on_a_stream_of_another_device_is_refused(tbk_fixture_t* fx) {
  operator_id_t id = first_prepared(fx);
  if (id == OPERATORS) return;
  planned_t* it = planned_make(fx, id);
  int32_t first = fx->device;
  range_use_second_device(fx);
  tbk_stream_t* foreign = fx_stream(fx);
  fx->device = first;
  CHECK_STATUS(TBK_INVALID, launch_plan(fx, it, foreign));
  fx_synchronize(fx, foreign);
  operation_check_untouched(fx, &it->operation, TBK_HERE("launch_plan"));
  destroy(fx, it);
}

/* ------------------------------------------------------------------------- destroyed and order - */

static void upload_launch(tbk_fixture_t* fx, void* argument) {
  planned_t* it = argument;
  CHECK_OK(fx->core->upload(fx->self, fx->device, it->written->memory, 0, it->first,
                            it->written->block_bytes, it->stream, &fx->error));
  CHECK_OK(launch_plan(fx, it, it->stream));
}

static void upload_launch_destroy(tbk_fixture_t* fx, void* argument) {
  planned_t* it = argument;
  upload_launch(fx, argument);
  destroy(fx, it);
  memset(it->operation.wire, 0xdd, sizeof *it->operation.wire);
}

/* On the device lies something else than what the stream will have uploaded. */
static planned_t* order_make(tbk_fixture_t* fx, operator_id_t id, tbk_stream_t* stream) {
  planned_t* it = planned_make(fx, id);
  operation_t* operation = &it->operation;
  it->stream = stream;
  if (launch_plan(fx, it, NULL) == TBK_OK) /* so that nothing is compiled when it counts */
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
  CHECK_OK(launch_plan(fx, it, other));
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
    if (!can_prepare(fx, id)) continue;
    size_t mark = room_mark(fx);
    planned_t* it = order_make(fx, id, stream);
    behind_gate(fx, stream, program, it);
    OPERATION_CHECK(fx, &it->operation);
    if (!destroys) destroy(fx, it);
    room_release(fx, mark);
    last = id;
  }
  if (last < 0) {
    (void)first_prepared(fx);
    return;
  }
  planned_t* control = order_make(fx, last, stream);
  behind_control(fx, stream, launch_early, control);
  destroy(fx, control);
}

static void a_plan_waits_for_earlier_work_of_its_stream(tbk_fixture_t* fx) {
  check_behind(fx, upload_launch, false);
}

static void work_of_a_destroyed_plan_runs_to_its_end(tbk_fixture_t* fx) {
  check_behind(fx, upload_launch_destroy, true);
}

static void destroying_no_plan_does_nothing(tbk_fixture_t* fx) {
  for (int id = 0; id < OPERATORS; ++id)
    if (has_prepare(fx, id)) operation_find(fx, id)->plan_destroy(fx->self, NULL);
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
  for_each_prepared(fx, check_workspace_suffices);
}

static const tbk_case_t cases[] = {
    TBK_CASE("KRN-009", "prepare", 0, a_plan_is_made_without_memory),
    TBK_CASE("KRN-009", "prepare two_devices", 0,
             a_plan_is_made_without_memory_on_the_second_device),
    TBK_CASE("STR-018", "prepare callback", 0, plans_come_and_go_without_waiting),
    TBK_CASE("KRN-010", "prepare", 0, the_workspace_that_was_asked_for_suffices),
    TBK_CASE("KRN-013", "prepare", 0, a_plan_runs_as_often_as_wanted),
    TBK_CASE("KRN-013", "prepare two_devices", 0, a_plan_runs_on_the_second_device),
    TBK_CASE("KRN-013", "prepare stream", 0, a_plan_runs_on_a_stream),
    TBK_CASE("KRN-013", "prepare stream", 0, a_plan_runs_many_times_in_flight),
    TBK_CASE("KRN-014", "prepare", 0, what_was_planned_is_not_refused),
    TBK_CASE("ERR-001", "prepare", 0, a_refused_plan_writes_nothing),
    TBK_CASE("KRN-008", "prepare", 0, what_is_not_planned_is_refused_with_a_reason),
    TBK_CASE("CPY-006", "prepare", 0, a_plan_without_a_stream_is_complete_on_return),
    TBK_CASE("STR-002", "prepare stream two_devices", 0,
             a_plan_on_a_stream_of_another_device_is_refused),
    TBK_CASE("STR-001", "prepare stream", 0, a_plan_waits_for_earlier_work_of_its_stream),
    TBK_CASE("KRN-017", "prepare stream", 0, work_of_a_destroyed_plan_runs_to_its_end),
    TBK_CASE("KRN-026", "prepare", 0, destroying_no_plan_does_nothing),
};
TBK_SUITE(kernel_plan);
