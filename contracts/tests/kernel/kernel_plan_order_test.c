/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans: a launch waits for its stream, its work outlives the plan, and two threads may run one.
 */
#include "behind.h"
#include "planned.h"

#include <sched.h>
#include <stdatomic.h>
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

/* --------------------------------------------------------------- one plan, two streams --------- */

enum { LAUNCHES = 3 };

static void launch_each(tbk_fixture_t* fx, void* argument) {
  planned_t* const* planned = argument;
  for (int i = 0; i < LAUNCHES; ++i)
    CHECK_OK(planned_launch(fx, planned[i], planned[i]->stream));
}

/* Makes one plan that of all; nothing says that two of equal arguments want workspaces of one size. */
static void share_plan(tbk_fixture_t* fx, planned_t* const* planned, int count, tbk_plan_t** own) {
  for (int i = 0; i < count; ++i) {
    own[i] = planned[i]->plan;
    planned[i]->plan = planned[0]->plan;
    if (planned[i]->workspace_bytes >= planned[0]->workspace_bytes) continue;
    planned[i]->workspace_bytes = planned[0]->workspace_bytes;
    planned_workspace(fx, planned[i]);
  }
}

static void destroy_each(tbk_fixture_t* fx, planned_t* const* planned, int count,
                         tbk_plan_t* const* own) {
  for (int i = 0; i < count; ++i) {
    planned[i]->plan = own[i];
    planned_destroy(fx, planned[i]);
  }
}

/* Launches one plan on one stream, the other, and the first again, each time with other operands and workspace. */
static void check_apart(tbk_fixture_t* fx, operator_id_t id, tbk_stream_t* const* streams) {
  planned_t* planned[LAUNCHES];
  tbk_plan_t* own[LAUNCHES];
  for (int i = 0; i < LAUNCHES; ++i) {
    planned[i] = order_make(fx, id, streams[i % 2]);
    fx_upload(fx, planned[i]->written->memory, planned[i]->first, planned[i]->written->block_bytes);
  }
  share_plan(fx, planned, LAUNCHES, own);
  behind_gate(fx, streams[0], launch_each, planned);
  fx_synchronize(fx, streams[1]);
  for (int i = 0; i < LAUNCHES; ++i)
    OPERATION_CHECK(fx, &planned[i]->operation);
  destroy_each(fx, planned, LAUNCHES, own);
}

static void a_plan_runs_on_a_stream_while_it_is_pending_on_another(tbk_fixture_t* fx) {
  tbk_stream_t* const streams[2] = {fx_stream(fx), fx_stream(fx)};
  for (int id = planned_first(fx); id < OPERATORS; ++id) {
    size_t mark = room_mark(fx);
    if (planned_accepted(fx, (operator_id_t)id)) check_apart(fx, (operator_id_t)id, streams);
    room_release(fx, mark);
  }
}

/* --------------------------------------------------------------- one plan, two threads --------- */

enum { RUNNERS = 2, RUNS = 4 };

typedef struct runner {
  tbk_fixture_t fx; /* for an error buffer of its own */
  planned_t* on;
  atomic_int* waiting;
} runner_t;

static void run_once(void* argument) {
  runner_t* runner = argument;
  atomic_fetch_sub(runner->waiting, 1);
  while (atomic_load(runner->waiting) > 0)
    sched_yield();
  tbk_fixture_t* fx = &runner->fx;
  CHECK_OK(planned_launch(fx, runner->on, NULL));
}

/* Each run with outputs that are poison before, so that what the other one writes for it is missed. */
static void run_together(tbk_fixture_t* fx, planned_t* const* planned, atomic_int* waiting) {
  tbk_thread_t* threads[RUNNERS];
  runner_t* runners = (runner_t*)(void*)fx_zeros(fx, RUNNERS * sizeof *runners);
  atomic_store(waiting, RUNNERS);
  for (int i = 0; i < RUNNERS; ++i) {
    const operation_t* operation = &planned[i]->operation;
    fx_upload(fx, operation->output.memory, operation->poison, operation->output.block_bytes);
    runners[i] = (runner_t){*fx, planned[i], waiting};
  }
  for (int i = 0; i < RUNNERS; ++i)
    threads[i] = fx_thread(fx, run_once, &runners[i]);
  for (int i = 0; i < RUNNERS; ++i)
    fx_join(fx, threads[i]);
  for (int i = 0; i < RUNNERS; ++i)
    OPERATION_CHECK(fx, &planned[i]->operation);
}

static void check_together(tbk_fixture_t* fx, operator_id_t id) {
  atomic_int* waiting = (atomic_int*)(void*)fx_zeros(fx, sizeof *waiting);
  planned_t* planned[RUNNERS];
  tbk_plan_t* own[RUNNERS];
  for (int i = 0; i < RUNNERS; ++i)
    planned[i] = planned_make(fx, id);
  share_plan(fx, planned, RUNNERS, own);
  for (int i = 0; i < RUNS; ++i)
    run_together(fx, planned, waiting);
  destroy_each(fx, planned, RUNNERS, own);
}

static void two_threads_run_one_plan_at_a_time(tbk_fixture_t* fx) {
  planned_for_each(fx, check_together);
}

static const tbk_case_t cases[] = {
    TBK_CASE("STR-001", "prepare stream", 0, a_plan_waits_for_earlier_work_of_its_stream),
    TBK_CASE("KRN-017", "prepare stream", 0, work_of_a_destroyed_plan_runs_to_its_end),
    TBK_CASE("KRN-013", "prepare stream", 0,
             a_plan_runs_on_a_stream_while_it_is_pending_on_another),
    TBK_CASE("THR-001", "prepare", 0, two_threads_run_one_plan_at_a_time),
};
TBK_SUITE(kernel_plan_order);
