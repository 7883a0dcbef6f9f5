/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tables of pinned memory, peers, random numbers, stream-ordered memory, faults and kernels
 * are for.
 */
#include "effects_steps.h"

#include <string.h>

/* From within pinned memory, which may be written again when the call without a stream returns. */
static void move_pinned(tbk_fixture_t* fx, effects_t* on, uint8_t* pinned) {
  uint8_t sent[4096], seen[4096];
  tbk_memory_t memory = 0;
  if (!step_take(fx, on->bytes, &memory)) return;
  step_draw(sent, on->bytes);
  memcpy(pinned + 64, sent, on->bytes);
  step_put(fx, on, memory, pinned + 64, on->bytes, NULL);
  memset(pinned, 0, on->bytes + 64);
  step_get(fx, on, pinned + 128, memory, on->bytes, NULL);
  step_check(fx, on, sent, pinned + 128, memory, "PIN-004");
  step_get(fx, on, seen, memory, on->bytes, NULL);
  step_check(fx, on, sent, seen, memory, "PIN-004");
  step_drop(fx, memory);
}

static void check_pinned(const void* pinned) {
  TBK_CHECKS("PIN-003");
  CHECK((uintptr_t)pinned % 64 == 0);
}

EFFECT(pinned_alloc) {
  void* pinned = NULL;
  move_pinned(fx, on, on->pinned);
  if (!CHECK_OK(
          fx->pinned->pinned_alloc(fx->self, fx->device, 2 * on->bytes + 128, &pinned, &fx->error)))
    return;
  check_pinned(pinned);
  move_pinned(fx, on, pinned);
  fx->pinned->pinned_free(fx->self, pinned);
}

EFFECT(peer_can_access) {
  int32_t can = -1;
  (void)on;
  CHECK_OK(fx->peer->peer_can_access(fx->self, fx->device, fx->device, &can, &fx->error));
  TBK_CHECKS("PER-002");
  CHECK(can == 0 || can == 1);
}

EFFECT(peer_copy) {
  uint8_t seen[4096] = {0};
  tbk_memory_t memory = 0;
  if (!step_take(fx, on->bytes, &memory)) return;
  CHECK_OK(STEP(fx, on,
                fx->peer->peer_copy(fx->self, fx->device, memory, 0, fx->device, on->memory, 0,
                                    on->bytes, on->stream, &fx->error)));
  step_wait_for(fx, on, on->stream);
  if (step_get(fx, on, seen, memory, on->bytes, NULL))
    step_check(fx, on, on->held, seen, memory, "PER-006");
  step_drop(fx, memory);
}

EFFECT(random_bits) {
  uint8_t seen[4096] = {0};
  step_draw_words(fx, on, NULL, seen);
  step_check_of(fx, on, on->words, seen, EFFECT_WORDS * 4, "RNG-003");
  memset(seen, 0, sizeof seen);
  step_draw_words(fx, on, on->stream, seen);
  step_check_of(fx, on, on->words, seen, EFFECT_WORDS * 4, "RNG-003");
}

static void use_async(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream) {
  uint8_t sent[4096], seen[4096] = {0};
  tbk_memory_t memory = 0;
  step_draw(sent, on->bytes);
  step_delay(fx, on, stream);
  if (!CHECK_OK(STEP(
          fx, on, fx->async_memory->async_alloc(fx->self, stream, on->bytes, &memory, &fx->error))))
    return;
  step_put(fx, on, memory, sent, on->bytes, stream);
  step_get(fx, on, seen, memory, on->bytes, stream);
  CHECK_OK(STEP(fx, on, fx->async_memory->async_free(fx->self, stream, memory, &fx->error)));
  step_wait_for(fx, on, stream);
  step_check_of(fx, on, sent, seen, on->bytes, "SOM-002");
}

EFFECT(async_alloc) {
  use_async(fx, on, on->stream);
  step_with_new_streams(fx, on, use_async);
}

EFFECT(fault_enqueue) {
  CHECK_STATUS(TBK_INVALID, fx->fault->fault_enqueue(fx->self, on->stream, -1, &fx->error));
}

/* The poison is put back, so that the result of the launch before counts for nothing. */
static void compute(tbk_fixture_t* fx, effects_t* on, operation_t* operation, tbk_stream_t* stream,
                    tbk_plan_t* plan, tbk_memory_t workspace) {
  const tbk_kernel_t* kernel = operation->kernel;
  const void* arguments = &operation->wire->arguments;
  step_put(fx, on, operation->output.memory, operation->poison, operation->output.block_bytes,
           NULL);
  step_delay(fx, on, stream);
  const tbk_status_t status = STEP(
      fx, on,
      plan != NULL ? kernel->launch_plan(fx->self, fx->device, plan, arguments, workspace, 0,
                                         stream, &fx->error)
                   : kernel->launch(fx->self, fx->device, kernel, arguments, stream, &fx->error));
  step_wait_for(fx, on, stream);
  if (status == TBK_UNSUPPORTED && plan == NULL) return;
  if (tbk_check_status(TBK_OK, status, &fx->error, TBK_HERE("a launch")))
    operation_check(fx, operation, 0, TBK_HERE("a launch"));
}

/* What could be prepared before can be prepared again. */
static void plan_anew(tbk_fixture_t* fx, effects_t* on, operation_t* operation,
                      tbk_memory_t workspace) {
  const tbk_kernel_t* kernel = operation->kernel;
  tbk_plan_t* plan = NULL;
  uint64_t bytes = 0;
  if (!CHECK_OK(kernel->prepare(fx->self, fx->device, kernel, &operation->wire->arguments, &plan,
                                &bytes, &fx->error)))
    return;
  compute(fx, on, operation, on->stream, plan, workspace);
  kernel->plan_destroy(fx->self, plan);
}

static bool is_found(const tbk_kernel_t* kernel, const char* name) {
  TBK_CHECKS("KRN-021");
  return CHECK_SAID(kernel != NULL, "a kernel", "NULL for %s", name);
}

EFFECT(kernel_find) {
  for (int id = 0; id < OPERATORS; id++) {
    operation_t* operation = &on->operations[id];
    if (operation->kernel == NULL) continue;
    const char* name = operation_name((operator_id_t)id);
    const tbk_kernel_t* kernel =
        fx->kernel->kernel_find(fx->self, fx->device, name, operation_version((operator_id_t)id));
    if (!is_found(kernel, name)) continue;
    operation->kernel = kernel; /* another one where the device was closed in between */
    compute(fx, on, operation, NULL, NULL, 0);
    compute(fx, on, operation, on->stream, NULL, 0);
    if (on->plans[id] == NULL) continue;
    plan_anew(fx, on, operation, on->workspaces[id]);
    compute(fx, on, operation, on->stream, on->plans[id], on->workspaces[id]);
    compute(fx, on, operation, on->beside, on->plans[id], on->workspaces[id]);
  }
}
