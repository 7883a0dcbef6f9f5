/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "generic_call.h"

#include <string.h>

#include "operation.h"
#include "range.h"
#include "room.h"
#include "trace.h"

const tbk_kernel_t* generic_kernel(const tbk_fixture_t* fx, const char* name, uint32_t version) {
  if (fx->kernel == NULL) return NULL;
  return fx->kernel->kernel_find(fx->self, fx->device, name, version);
}

/* What the backend still reads of it after its return is not what was passed. */
static void overwrite(const generic_call_t* call) {
  memset(call->wire, 0xdd, call->wire_bytes);
}

bool generic_lacks(const tbk_fixture_t* fx, const tbk_tensor_t* const operands[], size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const tbk_tensor_t* one = operands[i];
    if (one == NULL) continue;
    if (one->dtype < 0 || one->dtype >= 64 || !fx_has_dtype(fx, one->dtype)) return true;
    if (one->rank > fx->properties.max_rank) return true;
  }
  return false;
}

bool generic_check_no_fit(tbk_fixture_t* fx, bool lacks, tbk_status_t seen, tbk_here_t here) {
  if (lacks && seen == TBK_UNSUPPORTED) return true;
  return tbk_check_status(TBK_INVALID, seen, &fx->error, here);
}

tbk_status_t generic_launch(tbk_fixture_t* fx, const generic_call_t* call, tbk_stream_t* stream) {
  memset(&fx->error, 0, sizeof fx->error);
  tbk_status_t status =
      call->kernel->launch(fx->self, fx->device, call->kernel, call->wire, stream, &fx->error);
  overwrite(call);
  return status;
}

/* A plan whose workspace is more than a test may hold is as good as refused. */
static tbk_status_t give_up(tbk_fixture_t* fx, const generic_call_t* call, generic_plan_t* out) {
  call->kernel->plan_destroy(fx->self, out->plan);
  out->plan = NULL;
  return TBK_UNSUPPORTED;
}

tbk_status_t generic_prepare(tbk_fixture_t* fx, const generic_call_t* call, generic_plan_t* out) {
  memset(&fx->error, 0, sizeof fx->error);
  memset(out, 0, sizeof *out);
  call->describe(call->job);
  call->blank(call->job);
  tbk_status_t status = call->kernel->prepare(fx->self, fx->device, call->kernel, call->wire,
                                              &out->plan, &out->workspace_bytes, &fx->error);
  overwrite(call);
  if (status != TBK_OK || out->workspace_bytes == 0) return status;
  if (!room_fits(fx, out->workspace_bytes)) return give_up(fx, call, out);
  out->workspace = fx_alloc(fx, out->workspace_bytes);
  return TBK_OK;
}

tbk_status_t generic_launch_plan(tbk_fixture_t* fx, const generic_call_t* call,
                                 const generic_plan_t* plan) {
  tbk_status_t status =
      call->kernel->launch_plan(fx->self, fx->device, plan->plan, call->wire, plan->workspace,
                                plan->workspace_offset, NULL, &fx->error);
  overwrite(call);
  return status;
}

static tbk_status_t launch_planned(tbk_fixture_t* fx, const generic_call_t* call,
                                   const generic_plan_t* plan) {
  call->describe(call->job);
  if (call->how == JOB_TWICE && call->again != NULL) {
    call->vary(call->job);
    REQUIRE_OK(generic_launch_plan(fx, call, plan));
    call->again(fx, call->job);
    call->describe(call->job);
  }
  return generic_launch_plan(fx, call, plan);
}

/* Returns whether a plan is made where the operands have memory, and numbers their values. */
static bool is_planned_whole(tbk_fixture_t* fx, const generic_call_t* call) {
  tbk_plan_t* plan = NULL;
  uint64_t workspace_bytes = 0;
  call->describe(call->job);
  tbk_trace_pause(true);
  const bool is_made = call->kernel->prepare(fx->self, fx->device, call->kernel, call->wire, &plan,
                                             &workspace_bytes, NULL) == TBK_OK;
  if (is_made) call->kernel->plan_destroy(fx->self, plan);
  tbk_trace_pause(false);
  return is_made;
}

static tbk_status_t run_plan(tbk_fixture_t* fx, generic_call_t* call) {
  generic_plan_t plan;
  tbk_status_t status = generic_prepare(fx, call, &plan);
  call->plan_refused = status == TBK_UNSUPPORTED;
  if (call->plan_refused) call->describe(call->job);
  if (call->plan_refused) return generic_launch(fx, call, NULL);
  call->is_blank_refused = status != TBK_OK && is_planned_whole(fx, call);
  if (status != TBK_OK) return status;
  call->is_planned = true;
  status = launch_planned(fx, call, &plan);
  call->kernel->plan_destroy(fx->self, plan.plan);
  return status;
}

tbk_status_t generic_run(tbk_fixture_t* fx, generic_call_t* call) {
  memset(&fx->error, 0, sizeof fx->error);
  if (call->how >= JOB_PLAN && operation_has_plans(call->kernel)) return run_plan(fx, call);
  tbk_stream_t* stream = call->how == JOB_STREAM && fx->stream != NULL ? fx_stream(fx) : NULL;
  call->describe(call->job);
  tbk_status_t status = generic_launch(fx, call, stream);
  range_settle(fx, stream);
  return status;
}

const char* generic_clause_of(const generic_call_t* call, tbk_status_t status,
                              const char* of_forms) {
  if (call->is_blank_refused) return "KRN-009";
  return status == TBK_UNSUPPORTED ? of_forms : NULL;
}

bool generic_put_back(tbk_fixture_t* fx, const tensor_t* operand, const uint8_t* content) {
  tbk_trace_pause(true);
  const tbk_status_t status = fx->core->upload(fx->self, fx->device, operand->memory, 0, content,
                                               operand->block_bytes, NULL, &fx->error);
  tbk_trace_pause(false);
  return status == TBK_OK;
}

bool generic_try_again(tbk_fixture_t* fx, const generic_call_t* call, const tensor_t* written,
                       uint8_t* seen) {
  call->describe(call->job);
  tbk_trace_pause(true);
  tbk_status_t status = generic_launch(fx, call, NULL);
  if (status == TBK_OK)
    status = fx->core->download(fx->self, fx->device, seen, written->memory, 0,
                                written->block_bytes, NULL, &fx->error);
  tbk_trace_pause(false);
  return status == TBK_OK;
}
