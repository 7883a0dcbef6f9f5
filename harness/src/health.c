/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * health.c: a device that computes no more would let every later test fail, or pass, for nothing.
 */
#include "clock.h"
#include "preflight.h"
#include "run.h"
#include "text.h"

#include <stdio.h>

static void keep_outcome(void* context, tbk_slot_t* slot, uint32_t position,
                         const tbk_outcome_t* outcome) {
  (void)slot;
  (void)position;
  *(tbk_outcome_t*)context = *outcome;
}

static bool probe(tbk_run_t* run, char* out_reason, size_t reason_size) {
  static tbk_outcome_t outcome;
  static tbk_order_t order;
  tbk_slot_t* slot = tbk_loop_idle(&run->loop);
  tbk_limits_t limits = tbk_run_limits(run);
  if (slot == NULL) {
    tbk_print(out_reason, reason_size, "no process could be started");
    return false;
  }
  tbk_run_order(run, &order, NULL, 0);
  order.kind = TBK_ORDER_HEALTH;
  limits.next_ns = limits.first_ns;
  slot->on_outcome = keep_outcome;
  slot->on_said = NULL;
  slot->context = &outcome;
  tbk_slot_run(slot, &order, &limits);
  tbk_loop_finish(&run->loop, slot);
  return tbk_health_of(slot->said, &outcome, out_reason, reason_size);
}

/* A device that was held by a dying process, or resets itself, gets some time to come back. */
void tbk_health_check(tbk_run_t* run) {
  char reason[256];
  uint32_t pause_ms = 100;
  run->probe_due = false;
  bool sound = probe(run, reason, sizeof reason);
  for (int attempt = 0; !sound && attempt < 4 && tbk_loop_interrupted() == 0; attempt++) {
    tbk_loop_pause(pause_ms);
    pause_ms *= 4;
    sound = probe(run, reason, sizeof reason);
  }
  run->probed_ns = tbk_now_ns();
  if (sound || tbk_loop_interrupted() != 0) return;
  run->lost = true;
  if (run->suspect[0] != '\0')
    tbk_print(run->health, sizeof run->health, "lost since %s, or shortly before: %s", run->suspect,
              reason);
  else
    tbk_print(run->health, sizeof run->health, "lost, and no test failed before: %s", reason);
}
