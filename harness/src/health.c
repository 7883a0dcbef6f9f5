/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * health.c: a device that computes no more would let every later test fail, or pass, for nothing.
 */
#include "health.h"

#include "clock.h"
#include "preflight.h"
#include "text.h"

#include <stdio.h>

/* How long a probe that has answered may take to give everything back. */
static const uint64_t long_ns = UINT64_C(2000000000), brief_ns = UINT64_C(100000000);

struct question {
  tbk_outcome_t outcome;
  uint64_t closing_ns;
};

static void keep_outcome(void* context, tbk_slot_t* slot, uint32_t position,
                         const tbk_outcome_t* outcome) {
  (void)slot;
  (void)position;
  struct question* question = context;
  question->outcome = *outcome;
}

/* It has answered; one that hangs while it gives back its device is not waited for. */
static void end_soon(void* context, tbk_slot_t* slot, const json_t* object) {
  struct question* question = context;
  (void)object;
  uint64_t until = tbk_now_ns() + question->closing_ns;
  if (until < slot->deadline_ns) slot->deadline_ns = until;
}

/* Sets *out_hung where it had to be killed, and *out_held where another process has the device. */
static bool probe_once(tbk_health_t* health, uint64_t limit_ns, bool* out_hung, bool* out_held,
                       char* out_reason, size_t reason_size) {
  static struct question question;
  static tbk_order_t order;
  *out_hung = *out_held = false;
  tbk_slot_t* slot = tbk_loop_idle(health->loop);
  tbk_limits_t limits = tbk_pace_limits(health->pace);
  if (slot == NULL) {
    tbk_print(out_reason, reason_size, "no process could be started");
    return false;
  }
  tbk_facts_order(health->pace->facts, &order, NULL, 0);
  order.kind = TBK_ORDER_HEALTH;
  limits.first_ns = limit_ns;
  slot->on_outcome = keep_outcome;
  slot->on_said = end_soon;
  slot->context = &question;
  question.closing_ns = tbk_pace_is_short_of_time(health->pace) ? brief_ns : long_ns;
  tbk_slot_run(slot, &order, &limits);
  tbk_loop_finish(health->loop, slot);
  *out_hung = question.outcome.end == TBK_END_DEADLINE;
  *out_held = tbk_health_is_held(slot->said);
  return tbk_health_of(slot->said, &question.outcome, out_reason, reason_size);
}

/* A device that another process holds may be as sound as any: it is waited for. */
static bool probe(tbk_health_t* health, uint64_t limit_ns, bool* out_hung, char* out_reason,
                  size_t reason_size) {
  bool held = false;
  bool sound = probe_once(health, limit_ns, out_hung, &held, out_reason, reason_size);
  while (!sound && held && tbk_loop_interrupted() == 0) {
    tbk_lease_wait(health);
    if (health->lost) return false;
    sound = probe_once(health, limit_ns, out_hung, &held, out_reason, reason_size);
  }
  if (sound) tbk_lease_probed(health);
  return sound;
}

/*
 * A device that was held by a dying process, or resets itself, gets some time to come back; one that
 * hangs in the probe has had a good deal of it.
 */
void tbk_health_check(tbk_health_t* health) {
  char reason[256];
  uint32_t pause_ms = 100;
  health->probe_due = false;
  const uint64_t begin_ns = tbk_now_ns();
  uint64_t limit_ns = tbk_pace_limits(health->pace).first_ns;
  bool hung = false;
  bool sound = probe(health, limit_ns, &hung, reason, sizeof reason);
  for (int attempt = 0; !sound && attempt < 4 && !health->lost && tbk_loop_interrupted() == 0;
       attempt++) {
    tbk_loop_pause(pause_ms);
    pause_ms *= 4;
    if (hung) limit_ns /= 2;
    sound = probe(health, limit_ns, &hung, reason, sizeof reason);
  }
  health->probed_ns = tbk_now_ns();
  health->took_ns = health->probed_ns - begin_ns;
  if (sound || health->lost || tbk_loop_interrupted() != 0) return;
  health->lost = true;
  if (health->suspect[0] != '\0')
    tbk_print(health->state, sizeof health->state, "lost since %s, or shortly before: %s",
              health->suspect, reason);
  else
    tbk_print(health->state, sizeof health->state, "lost, and no test failed before: %s", reason);
}
