/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What went on behind a closed gate: whether it was the gate, which is a callback, that did not hold.
 */
#include "gate.h"

#include "actor.h"
#include "gate_core.h"
#include "resources.h"
#include "trace.h"

#include <sched.h>
#include <string.h>

enum { TRIAL_BYTES = 64, TRIAL_NS = 50000000 };

/* Returns whether `seen` turns into `bytes` while the gate is closed, as another stream reads it. */
static bool is_seen_behind(tbk_fixture_t* fx, const tbk_gate_t* gate, tbk_memory_t memory,
                           tbk_stream_t* other, const uint8_t* bytes, uint8_t* seen) {
  const uint64_t size = fx_round(fx, TRIAL_BYTES);
  tbk_error_t error;
  lapse_t lapse;
  lapse_begin(&lapse);
  while (!lapse_over(&lapse, TRIAL_NS)) {
    tbk_status_t status = fx->stream->stream_query(fx->self, other, &error);
    if (status == TBK_OK && memcmp(bytes, seen, size) == 0) return gate_is_closed(gate);
    if (status == TBK_OK)
      status = fx->core->download(fx->self, fx->device, seen, memory, 0, size, other, &error);
    if (status != TBK_OK && status != TBK_NOT_READY) return false;
    sched_yield();
  }
  return false;
}

/* An upload behind the gate, at which another stream looks. */
static bool later_work_runs(tbk_fixture_t* fx, const tbk_gate_t* gate) {
  const tbk_core_t* core = fx->core;
  tbk_error_t error;
  tbk_memory_t memory = 0;
  tbk_stream_t* other = NULL;
  const uint64_t size = fx_round(fx, TRIAL_BYTES);
  uint8_t *bytes = fx_bytes(fx, size), *seen = fx_zeros(fx, size);
  if (core->memory_alloc(fx->self, fx->device, size, &memory, &error) != TBK_OK) return false;
  fx_adopt_memory(fx, fx->device, memory);
  if (fx->stream->stream_create(fx->self, fx->device, 0, &other, &error) != TBK_OK) return false;
  fx_adopt_stream(fx, other);
  if (core->upload(fx->self, fx->device, memory, 0, seen, size, NULL, &error) != TBK_OK ||
      core->upload(fx->self, fx->device, memory, 0, bytes, size, gate->core->stream, &error) !=
          TBK_OK)
    return false;
  return is_seen_behind(fx, gate, memory, other, bytes, seen);
}

const char* gate_breach(tbk_fixture_t* fx, const tbk_gate_t* gate) {
  if (tbk_checks_failed() || !gate_is_closed(gate) || !gate_can_control(fx)) return NULL;
  if ((fx->blocking & (TBK_ENQUEUE_UPLOAD | TBK_ENQUEUE_DOWNLOAD)) != 0) return NULL;
  tbk_trace_pause(true);
  const bool runs = later_work_runs(fx, gate);
  tbk_trace_pause(false);
  return runs ? "CBK-004" : NULL;
}

bool gate_check_pending(tbk_fixture_t* fx, const tbk_gate_t* gate, tbk_status_t status,
                        tbk_here_t here) {
  const bool is_held = !gate_is_closed(gate) || status == TBK_NOT_READY;
  TBK_CHECKS(is_held || status != TBK_OK ? NULL : gate_breach(fx, gate)); /* not of a refusal */
  if (gate_is_closed(gate) && is_held) gate_shows(fx);
  return tbk_check_said(is_held, here, "NOT_READY while the work before is held", "%s",
                        tbk_status_name(status));
}
