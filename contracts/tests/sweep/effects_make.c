/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "effects_steps.h"

#include <string.h>

enum { BYTES = 256 };

void step_draw_words(tbk_fixture_t* fx, effects_t* on, tbk_stream_t* stream, uint8_t* out) {
  const tbk_generator_t generator = {7, 16};
  tbk_memory_t memory = 0;
  if (!step_take(fx, on->bytes, &memory)) return;
  CHECK_OK(STEP(fx, on,
                fx->random->random_bits(fx->self, fx->device, &generator, memory, 0, EFFECT_WORDS,
                                        stream, &fx->error)));
  step_get(fx, on, out, memory, on->bytes, stream);
  step_wait_for(fx, on, stream);
  step_drop(fx, memory);
}

static void destroy_plans(tbk_fixture_t* fx, effects_t* on) {
  for (int id = 0; id < OPERATORS; id++)
    if (on->plans[id] != NULL) on->operations[id].kernel->plan_destroy(fx->self, on->plans[id]);
}

void effects_take_operators(tbk_fixture_t* fx, effects_t* on, int first, int end) {
  destroy_plans(fx, on);
  memset(on->operations, 0, sizeof on->operations);
  memset(on->plans, 0, sizeof on->plans);
  memset(on->workspaces, 0, sizeof on->workspaces);
  for (int id = first; fx->kernel != NULL && id < end; id++) {
    operation_t* operation = &on->operations[id];
    uint64_t workspace = 0;
    if (operation_find(fx, (operator_id_t)id) == NULL) continue;
    operation_make_plain(fx, operation, (operator_id_t)id);
    const tbk_kernel_t* kernel = operation->kernel;
    if (!operation_has_plans(kernel)) continue;
    const tbk_status_t status =
        kernel->prepare(fx->self, fx->device, kernel, &operation->wire->arguments, &on->plans[id],
                        &workspace, &fx->error);
    CHECK_SAID(status == TBK_OK || status == TBK_UNSUPPORTED, "a plan, or UNSUPPORTED", "%s",
               tbk_status_name(status));
    if (status != TBK_OK) on->plans[id] = NULL;
    if (workspace > 0) on->workspaces[id] = fx_alloc(fx, workspace);
  }
}

effects_t* effects_make_bare(tbk_fixture_t* fx) {
  effects_t* on = (effects_t*)(void*)fx_zeros(fx, sizeof *on);
  uint64_t free_bytes = 0;
  on->bytes = fx_round(fx, BYTES);
  on->held = fx_bytes(fx, on->bytes);
  on->memory = fx_alloc_with(fx, on->held, on->bytes);
  on->properties.struct_size = sizeof on->properties;
  REQUIRE_OK(fx->core->device_properties(fx->self, fx->device, &on->properties, &fx->error));
  if (TBK_HAS(fx->core, tbk_core_t, memory_info))
    REQUIRE_OK(
        fx->core->memory_info(fx->self, fx->device, &free_bytes, &on->total_bytes, &fx->error));
  if (fx->stream != NULL) on->stream = fx_stream(fx), on->beside = fx_stream(fx);
  if (fx->event != NULL)
    on->event = fx_event(fx, TBK_EVENT_TIMING), on->end = fx_event(fx, TBK_EVENT_TIMING);
  if (fx->pinned != NULL)
    REQUIRE_OK(fx->pinned->pinned_alloc(fx->self, fx->device, 2 * on->bytes + 128, &on->pinned,
                                        &fx->error));
  on->words = fx_zeros(fx, on->bytes);
  if (fx->random != NULL) step_draw_words(fx, on, NULL, on->words);
  return on;
}

effects_t* effects_make(tbk_fixture_t* fx) {
  effects_t* on = effects_make_bare(fx);
  effects_take_operators(fx, on, 0, OPERATORS);
  return on;
}

void effects_end(tbk_fixture_t* fx, effects_t* on) {
  if (on->pinned != NULL) fx->pinned->pinned_free(fx->self, on->pinned);
  destroy_plans(fx, on);
}
