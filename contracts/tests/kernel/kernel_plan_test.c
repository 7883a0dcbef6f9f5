/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans: prepared on the host, run as often as wanted, on other memory too. How they wait is in
 * kernel_plan_order_test.c.
 */
#include "actor.h"
#include "book.h"
#include "gate.h"
#include "planned.h"

#include <string.h>

/* ------------------------------------------------------------------------------------ prepare -- */

/* With handles of no memory at all, and numbers that are 0: whatever is read of them is not there. */
static void check_handles_0(tbk_fixture_t* fx, operator_id_t id) {
  planned_t* it = (planned_t*)(void*)fx_zeros(fx, sizeof *it);
  planned_operation(fx, &it->operation, id);
  REQUIRE_OK(planned_prepare(fx, it)); /* with memory that must not be touched, too */
  operation_check_left_alone(fx, &it->operation, TBK_HERE("prepare"));
  planned_destroy(fx, it);
  wire_t* wire = it->operation.wire;
  for (int k = 0; k < 3; ++k)
    wire->inputs[k].memory = 0;
  wire->output.memory = 0;
  operation_forget_numbers(&it->operation);
  REQUIRE_OK(planned_prepare(fx, it));
  operation_check_left_alone(fx, &it->operation, TBK_HERE("prepare"));
  planned_workspace(fx, it);
  operation_describe(&it->operation);
  CHECK_OK(planned_launch(fx, it, NULL));
  OPERATION_CHECK(fx, &it->operation);
  planned_destroy(fx, it);
}

static void a_plan_is_made_without_memory(tbk_fixture_t* fx) {
  planned_for_each(fx, check_handles_0);
}

static void a_plan_is_made_without_memory_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  planned_for_each(fx, check_handles_0);
}

static bool come_and_go(tbk_fixture_t* fx, void* argument) {
  planned_t* it = argument;
  if (!CHECK_OK(planned_prepare(fx, it))) return false;
  it->operation.kernel->plan_destroy(fx->self, it->plan);
  return true;
}

static void plans_can_be_made_a_thousand_times(tbk_fixture_t* fx) {
  enum { TURNS = 1500, MOST_NS = 8000000 };
  operator_id_t id = planned_first(fx);
  if (id == OPERATORS) return;
  planned_t* it = planned_make(fx, id);
  planned_destroy(fx, it);
  const uint64_t heap = book_heap_bytes();
  book_note_heap(fx, heap, book_repeat(fx, come_and_go, it, TURNS, MOST_NS));
}

static void prepare_and_destroy(actor_t* actor) {
  tbk_fixture_t* fx = &actor->fx;
  planned_t* it = actor->argument;
  CHECK_OK(planned_prepare(fx, it));
  it->operation.kernel->plan_destroy(fx->self, it->plan);
  CHECK_OK(planned_prepare(fx, it));
}

/* Nothing of the queue matters to either. The plan exists already, so no compiler holds it up. */
static void plans_come_and_go_without_waiting(tbk_fixture_t* fx) {
  operator_id_t id = planned_first(fx);
  if (id == OPERATORS) return;
  planned_t* it = planned_make(fx, id);
  tbk_plan_t* earlier = it->plan;
  actor_t* actor = (actor_t*)(void*)fx_zeros(fx, sizeof *actor);
  tbk_gate_t gate;
  gate_close_over(fx, &gate, fx_stream(fx), 0);
  bool held = gate_is_closed(&gate);
  actor_start(fx, actor, prepare_and_destroy, it);
  bool returned = actor_settle(actor);
  uint64_t end = fx_awake_ns() + FX_PATIENCE_NS / 2;
  while (held && !returned && fx_awake_ns() < end)
    returned = actor_settle(actor);
  CHECK(returned || !held);
  gate_open(fx, &gate);
  actor_join(fx, actor);
  planned_destroy(fx, it);
  it->operation.kernel->plan_destroy(fx->self, earlier);
}

/* ------------------------------------------------------------------------------------ results -- */

static void check_workspace_suffices(tbk_fixture_t* fx, operator_id_t id) {
  static const uint64_t offsets[] = {1, 4096, 65536, (1 << 20) + 1};
  for (size_t round = 0; round < sizeof offsets / sizeof *offsets; ++round) {
    size_t mark = room_mark(fx);
    planned_t* it = planned_make(fx, id);
    planned_workspace_at(fx, it, offsets[round]);
    CHECK_OK(planned_launch(fx, it, NULL));
    OPERATION_CHECK(fx, &it->operation);
    planned_check_workspace(fx, it);
    planned_destroy(fx, it);
    room_release(fx, mark);
  }
}

static void the_workspace_that_was_asked_for_suffices(tbk_fixture_t* fx) {
  planned_for_each(fx, check_workspace_suffices);
}

/* One plan, fresh operands each time: other memory, other values, other numbers of the same kind. */
static void check_many_launches(tbk_fixture_t* fx, operator_id_t id, tbk_stream_t* stream) {
  planned_t* it = planned_make(fx, id);
  size_t mark = room_mark(fx); /* operands and workspace of the plan stay */
  const int64_t kind = it->operation.scalar.kind;
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    CHECK_OK(planned_launch(fx, it, stream));
    range_settle(fx, stream);
    OPERATION_CHECK(fx, &it->operation);
    room_release(fx, mark);
    planned_operation(fx, &it->operation, id);
    CHECK_EQUAL(kind, it->operation.scalar.kind); /* which a plan is for */
  }
  CHECK_OK(planned_launch(fx, it, stream));
  range_settle(fx, stream);
  OPERATION_CHECK(fx, &it->operation);
  planned_destroy(fx, it);
}

static void check_many_without_stream(tbk_fixture_t* fx, operator_id_t id) {
  check_many_launches(fx, id, NULL);
}

static void a_plan_runs_as_often_as_wanted(tbk_fixture_t* fx) {
  planned_for_each(fx, check_many_without_stream);
}

static void a_plan_runs_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  planned_for_each(fx, check_many_without_stream);
}

static void a_plan_runs_on_a_stream(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (int id = planned_first(fx); id < OPERATORS; ++id)
    if (planned_accepted(fx, id)) check_many_launches(fx, id, stream);
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
}

/* Many launches in flight at a time, each with operands of its own. */
static void check_many_in_flight(tbk_fixture_t* fx, operator_id_t id) {
  enum { FLIGHTS = 6 }; /* of up to 4 operands, beside the plan's: a device has 32 at the least */
  planned_t* it = planned_make(fx, id);
  tbk_stream_t* stream = fx_stream(fx);
  operation_t* flights = (operation_t*)(void*)fx_zeros(fx, FLIGHTS * sizeof *flights);
  for (int i = 0; i < FLIGHTS; ++i) {
    planned_operation(fx, &flights[i], id);
  }
  for (int i = 0; i < FLIGHTS; ++i) {
    it->operation.wire = flights[i].wire;
    CHECK_OK(planned_launch(fx, it, stream));
    memset(flights[i].wire, 0xdd, sizeof *flights[i].wire);
  }
  fx_synchronize(fx, stream);
  for (int i = 0; i < FLIGHTS; ++i)
    OPERATION_CHECK(fx, &flights[i]);
  planned_destroy(fx, it);
  fx_disown_stream(fx, stream);
  fx->stream->stream_destroy(fx->self, stream);
}

static void a_plan_runs_many_times_in_flight(tbk_fixture_t* fx) {
  planned_for_each(fx, check_many_in_flight);
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
  tbk_status_t status = planned_prepare(fx, &it);
  if (status == TBK_UNSUPPORTED) {
    CHECK(fx->error.message[0] != '\0');
    CHECK(it.plan == NULL && it.workspace_bytes == 0);
    return;
  }
  REQUIRE_STATUS(TBK_OK, status);
  planned_workspace(fx, &it);
  for (int round = 0; round < 3; ++round)
    CHECK_OK(planned_launch(fx, &it, NULL));
  OPERATION_CHECK(fx, &it.operation);
  planned_destroy(fx, &it);
}

static void what_was_planned_is_not_refused(tbk_fixture_t* fx) {
  static const int32_t dtypes[] = {TBK_FLOAT32, TBK_FLOAT64, TBK_INT64};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; ++i)
    for (int id = 0; id < OPERATORS; ++id)
      if (planned_offered(fx, id)) check_no_refusal(fx, id, dtypes[i]);
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
  CHECK_STATUS(TBK_UNSUPPORTED, planned_prepare(fx, &it));
  CHECK(fx->error.message[0] != '\0');
  CHECK((void*)it.plan == (void*)&it && it.workspace_bytes == 77);
  operation_check_untouched(fx, &it.operation, TBK_HERE("prepare"));
}

static void a_refused_plan_writes_nothing(tbk_fixture_t* fx) {
  for (int id = 0; id < OPERATORS; ++id)
    if (planned_offered(fx, id)) check_refused(fx, id);
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
}

static void check_planned_or_refused(tbk_fixture_t* fx, operator_id_t id) {
  const tbk_kernel_t* kernel = operation_find(fx, id);
  operation_t operation;
  tbk_plan_t* plan = NULL;
  uint64_t workspace_bytes = 0;
  planned_operation(fx, &operation, id);
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
    if (planned_offered(fx, id)) check_planned_or_refused(fx, id);
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
}

static void a_plan_without_a_stream_is_complete_on_return(tbk_fixture_t* fx) {
  planned_for_each(fx, check_many_without_stream);
}

static void a_plan_on_a_stream_of_another_device_is_refused(tbk_fixture_t* fx) {
  operator_id_t id = planned_first(fx);
  if (id == OPERATORS) return;
  planned_t* it = planned_make(fx, id);
  int32_t first = fx->device;
  fx_use_device(fx, fx_second_device(fx));
  tbk_stream_t* foreign = fx_stream(fx);
  fx_use_device(fx, first);
  CHECK_STATUS(TBK_INVALID, planned_launch(fx, it, foreign));
  fx_synchronize(fx, foreign);
  operation_check_untouched(fx, &it->operation, TBK_HERE("launch_plan"));
  planned_destroy(fx, it);
}

static void destroying_no_plan_does_nothing(tbk_fixture_t* fx) {
  for (int id = 0; id < OPERATORS; ++id)
    if (planned_offered(fx, id)) operation_find(fx, id)->plan_destroy(fx->self, NULL);
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
  planned_for_each(fx, check_workspace_suffices);
}

static const tbk_case_t cases[] = {
    TBK_CASE("KRN-009", "prepare", 0, a_plan_is_made_without_memory),
    TBK_CASE("KRN-009", "prepare two_devices", 0,
             a_plan_is_made_without_memory_on_the_second_device),
    TBK_CASE("KRN-009", "prepare", 0, plans_can_be_made_a_thousand_times),
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
    TBK_CASE("KRN-026", "prepare", 0, destroying_no_plan_does_nothing),
};
TBK_SUITE(kernel_plan);
