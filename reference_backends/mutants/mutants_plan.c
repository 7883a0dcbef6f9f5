/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_plan.c: preparing, launching and destroying plans.
 */
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "calls.h"

PREPARE(prepare_wants_handles) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments)) {
    for (int i = 0; i < copy.count; ++i) {
      if (copy.tensors[i].memory == 0) return wrap_fail(error, TBK_INVALID, "0 is no memory");
    }
  }
  return PREPARE_INNER;
}
PREPARE(prepare_clears_output) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments) && arguments_output(&copy)->memory != 0)
    tensor_clear(self, device, arguments_output(&copy), NULL);
  return PREPARE_INNER;
}

/* Finds out what is fastest by doing it. */
PREPARE(prepare_runs_kernel) {
  arguments_copy_t copy;
  tbk_status_t status = PREPARE_INNER;
  if (status == TBK_OK && arguments_copy(&copy, KERNEL_NAME, arguments) &&
      arguments_output(&copy)->memory != 0)
    ignore(KERNEL_INNER->launch(self, device, KERNEL_INNER, arguments, NULL, NULL));
  return status;
}

PREPARE(prepare_asks_for_nothing) {
  tbk_status_t status = PREPARE_INNER;
  if (status == TBK_OK) *out_workspace_bytes = 0;
  return status;
}
LAUNCH_PLAN(plan_wants_workspace) {
  if (workspace == 0) return wrap_fail(error, TBK_INVALID, "no workspace");
  return LAUNCH_PLAN_INNER;
}
PREPARE(prepare_asks_and_remembers) {
  tbk_status_t status = PREPARE_INNER;
  if (status != TBK_OK) return status;
  if (*out_workspace_bytes == 0) *out_workspace_bytes = 64;
  atomic_store(&wrap_of(self)->value, *out_workspace_bytes);
  return status;
}
LAUNCH_PLAN(plan_writes_behind_workspace) {
  tbk_status_t status = LAUNCH_PLAN_INNER;
  if (status == TBK_OK && workspace != 0)
    ignore(INNER(self, core)
               ->fill(self, device, workspace,
                      workspace_offset + atomic_load(&wrap_of(self)->value), 0x3c, 1, stream,
                      NULL));
  return status;
}

LAUNCH_PLAN(plan_ignores_workspace_offset) {
  tbk_status_t status = LAUNCH_PLAN_INNER;
  if (status == TBK_OK && workspace != 0)
    ignore(INNER(self, core)
               ->fill(self, device, workspace, 0, 0x3c, atomic_load(&wrap_of(self)->value), stream,
                      NULL));
  return status;
}

/* Offsets are passed on in 16 bits. */
LAUNCH_PLAN(plan_workspace_offset_of_16_bits) {
  tbk_status_t status = LAUNCH_PLAN_INNER;
  if (status == TBK_OK && workspace != 0)
    ignore(INNER(self, core)
               ->fill(self, device, workspace, workspace_offset & 0xffff, 0x3c,
                      atomic_load(&wrap_of(self)->value), stream, NULL));
  return status;
}

/* A plan has commands for four launches. */
PREPARE(prepare_fills_commands) {
  atomic_store(&wrap_of(self)->calls, 0);
  return PREPARE_INNER;
}
LAUNCH_PLAN(plan_runs_four_times) {
  return atomic_fetch_add(&wrap_of(self)->calls, 1) >= 4 ? TBK_OK : LAUNCH_PLAN_INNER;
}
LAUNCH_PLAN(second_plan_launch_is_lost) {
  return wrap_every(wrap_of(self), 2) ? TBK_OK : LAUNCH_PLAN_INNER;
}
LAUNCH_PLAN(second_plan_launch_is_refused) {
  if (wrap_every(wrap_of(self), 2)) return wrap_fail(error, TBK_UNSUPPORTED, "a plan is for once");
  return LAUNCH_PLAN_INNER;
}
LAUNCH_PLAN(plan_launch_is_refused) {
  return wrap_fail(error, TBK_UNSUPPORTED, "it was never meant so");
}
/* The handles of the first launch stay with the plan. */
static char prepared_name[48];
static arguments_copy_t first_arguments;
PREPARE(prepare_names_kernel) {
  strcpy(prepared_name, KERNEL_NAME);
  first_arguments.count = 0;
  return PREPARE_INNER;
}
LAUNCH_PLAN(plan_keeps_first_handles) {
  arguments_copy_t copy;
  if (first_arguments.count == 0) {
    if (!arguments_copy(&first_arguments, prepared_name, arguments)) first_arguments.count = 0;
  } else if (arguments_copy(&copy, prepared_name, arguments)) {
    for (int i = 0; i < copy.count; ++i)
      copy.tensors[i].memory = first_arguments.tensors[i].memory;
    arguments = &copy.as;
    return LAUNCH_PLAN_INNER;
  }
  return LAUNCH_PLAN_INNER;
}

/* KRN-017: what a plan has still to run goes with it. */
static struct {
  const tbk_plan_t* plan;
  arguments_copy_t copy;
  tbk_memory_t workspace;
  uint64_t workspace_offset;
  tbk_stream_t* stream;
  int32_t device;
} late_plan;

static void run_late_plan(tbk_instance_t* self) {
  const tbk_plan_t* plan = late_plan.plan;
  late_plan.plan = NULL;
  if (plan != NULL)
    ignore(wrap_of(self)->inner_launch_plan(self, late_plan.device, plan, &late_plan.copy.as,
                                            late_plan.workspace, late_plan.workspace_offset,
                                            late_plan.stream, NULL));
}
LAUNCH_PLAN(plan_launches_late) {
  run_late_plan(self);
  if (stream == NULL || !arguments_copy(&late_plan.copy, prepared_name, arguments))
    return LAUNCH_PLAN_INNER;
  late_plan.workspace = workspace;
  late_plan.workspace_offset = workspace_offset;
  late_plan.stream = stream;
  late_plan.device = device;
  late_plan.plan = plan;
  return TBK_OK;
}
PLAN_DESTROY(plan_destroy_drops_work) {
  if (late_plan.plan == plan) late_plan.plan = NULL;
  PLAN_DESTROY_INNER;
}
PLAN_DESTROY(second_plan_destroy_drops_work) {
  if (late_plan.plan == plan && plan != NULL && !wrap_every(wrap_of(self), 2)) run_late_plan(self);
  plan_destroy_drops_work(self, plan);
}
STREAM_SYNCHRONIZE(synchronize_launches_plan) {
  run_late_plan(self);
  return STREAM_SYNCHRONIZE_INNER;
}
STREAM_QUERY(query_launches_plan) {
  run_late_plan(self);
  return STREAM_QUERY_INNER;
}
/* The result lies in memory of the plan; here `late_plan` is what nobody has waited for. */
LAUNCH_PLAN(plan_launch_is_pending) {
  tbk_status_t status = LAUNCH_PLAN_INNER;
  if (status != TBK_OK || stream == NULL) return status;
  if (!arguments_copy(&late_plan.copy, prepared_name, arguments)) return status;
  late_plan.stream = stream;
  late_plan.device = device;
  late_plan.plan = plan;
  return status;
}
PLAN_DESTROY(plan_destroy_takes_result) {
  if (late_plan.plan == plan && plan != NULL)
    tensor_clear(self, late_plan.device, arguments_output(&late_plan.copy), late_plan.stream);
  plan_destroy_drops_work(self, plan);
}
STREAM_SYNCHRONIZE(synchronize_ends_pending) {
  late_plan.plan = NULL;
  return STREAM_SYNCHRONIZE_INNER;
}
STREAM_DESTROY(stream_destroy_ends_pending) {
  if (late_plan.stream == stream) late_plan.plan = NULL;
  STREAM_DESTROY_INNER;
}

PLAN_DESTROY(plan_destroy_null_crashes) {
  if (plan == NULL) abort();
  PLAN_DESTROY_INNER;
}
PLAN_DESTROY(second_plan_destroy_null_crashes) {
  if (plan == NULL && wrap_every(wrap_of(self), 2)) abort();
  PLAN_DESTROY_INNER;
}
/* NULL stands for all of them, those to come included. */
PLAN_DESTROY(plan_destroy_null_ends_all) {
  if (plan == NULL) atomic_store(&wrap_of(self)->flag, 1);
  PLAN_DESTROY_INNER;
}
LAUNCH_PLAN(plan_launch_unless_ended) {
  if (atomic_load(&wrap_of(self)->flag) != 0) return wrap_fail(error, TBK_INVALID, "no such plan");
  return LAUNCH_PLAN_INNER;
}

#define KERNEL(name, clause, operation, narrow, note, ...) \
  { name, clause, MUTANT, operation, narrow, note, {__VA_ARGS__}, 0, 0, 0, 0 }
#define DROPS(function, narrow, note)                                 \
  KERNEL(#function, "KRN-017", LIFETIME, narrow, note,                \
         PATCH(launching.prepare, prepare_names_kernel),              \
         PATCH(launching.launch_plan, plan_launches_late),            \
         PATCH(launching.plan_destroy, function),                     \
         PATCH(stream.stream_synchronize, synchronize_launches_plan), \
         PATCH(stream.stream_query, query_launches_plan))

extern const mutant_t mutants_plan[];
const mutant_t mutants_plan[] = {
    ROW(prepare_wants_handles, "KRN-009", RETURN, BROAD, launching.prepare, "INVALID for 0"),
    ROW(prepare_clears_output, "KRN-009", STATE, NARROW, launching.prepare, "writes to the device"),
    ROW(prepare_runs_kernel, "KRN-009", STATE, BROAD, launching.prepare, "runs it once, to try"),
    KERNEL("plan_wants_more_than_it_says", "KRN-010", VALUE, BROAD, "asks for nothing, needs some",
           PATCH(launching.prepare, prepare_asks_for_nothing),
           PATCH(launching.launch_plan, plan_wants_workspace)),
    KERNEL("plan_writes_behind_workspace", "KRN-010", EXTENT, NARROW, "the byte behind it",
           PATCH(launching.prepare, prepare_asks_and_remembers),
           PATCH(launching.launch_plan, plan_writes_behind_workspace)),
    KERNEL("plan_ignores_workspace_offset", "KRN-010", EXTENT, BROAD,
           "writes at the beginning of the block",
           PATCH(launching.prepare, prepare_asks_and_remembers),
           PATCH(launching.launch_plan, plan_ignores_workspace_offset)),
    KERNEL("plan_workspace_offset_of_16_bits", "KRN-010", EXTENT, NARROW,
           "64 KiB before the workspace, or more, where it lies behind them",
           PATCH(launching.prepare, prepare_asks_and_remembers),
           PATCH(launching.launch_plan, plan_workspace_offset_of_16_bits)),
    ROW(second_plan_launch_is_lost, "KRN-013", COUNT, BROAD, launching.launch_plan,
        "every second has no effect"),
    KERNEL("plan_keeps_first_handles", "KRN-013", STATE, NARROW,
           "later launches go where the first went", PATCH(launching.prepare, prepare_names_kernel),
           PATCH(launching.launch_plan, plan_keeps_first_handles)),
    KERNEL("plan_runs_four_times", "KRN-013", LIFETIME, NARROW, "the fifth launch has no effect",
           PATCH(launching.prepare, prepare_fills_commands),
           PATCH(launching.launch_plan, plan_runs_four_times)),
    ROW(plan_launch_is_refused, "KRN-014", RETURN, BROAD, launching.launch_plan, "UNSUPPORTED"),
    ROW(second_plan_launch_is_refused, "KRN-014", COUNT, NARROW, launching.launch_plan,
        "every second is UNSUPPORTED"),
    DROPS(plan_destroy_drops_work, BROAD, "pending work goes with the plan"),
    DROPS(second_plan_destroy_drops_work, NARROW, "every second plan takes its pending work along"),
    KERNEL("plan_destroy_takes_result", "KRN-017", LIFETIME, BROAD,
           "clears the output of pending work", PATCH(launching.prepare, prepare_names_kernel),
           PATCH(launching.launch_plan, plan_launch_is_pending),
           PATCH(launching.plan_destroy, plan_destroy_takes_result),
           PATCH(stream.stream_synchronize, synchronize_ends_pending),
           PATCH(stream.stream_destroy, stream_destroy_ends_pending)),
    ROW(plan_destroy_null_crashes, "KRN-026", LIFETIME, BROAD, launching.plan_destroy, "aborts"),
    ROW(second_plan_destroy_null_crashes, "KRN-026", COUNT, NARROW, launching.plan_destroy,
        "aborts the second time"),
    KERNEL("plan_destroy_null_ends_all", "KRN-026", LIFETIME, BROAD, "no plan runs after it",
           PATCH(launching.plan_destroy, plan_destroy_null_ends_all),
           PATCH(launching.launch_plan, plan_launch_unless_ended)),
    {0}};
