/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * recheck.c: a test that fails together with others is run again alone. That never makes a failure a pass: it
 * says whether the test is to blame, or what ran before it.
 */
#include "recheck.h"
#include "preflight.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAY(field, ...) tbk_print((field), sizeof(field), __VA_ARGS__)

enum {
  MOST_ALONE = 64,  /* rechecks settled with a run of the test alone; later ones stay as they are */
  MOST_SEARCHES = 8 /* searches for who polluted it */
};

/* ------------------------------------------------------------------------------------ queue --- */

static void add(tbk_recheck_t** end, tbk_recheck_t* recheck, const uint32_t* items,
                uint32_t count) {
  recheck->items = malloc((count ? count : 1) * sizeof *items);
  if (recheck->items == NULL) abort();
  memcpy(recheck->items, items, count * sizeof *items);
  recheck->count = count;
  while (*end != NULL)
    end = &(*end)->next;
  *end = recheck;
}

static tbk_recheck_t* make(void) {
  tbk_recheck_t* recheck = calloc(1, sizeof *recheck);
  if (recheck == NULL) abort();
  return recheck;
}

void tbk_recheck_together(tbk_rechecks_t* rechecks, const uint32_t* items, uint32_t count,
                          const tbk_outcome_t* outcome,
                          const tbk_classification_t* classification) {
  tbk_recheck_t* recheck = make();
  recheck->outcome = *outcome;
  recheck->classification = *classification;
  add(&rechecks->waiting, recheck, items, count);
}

void tbk_recheck_poison(tbk_rechecks_t* rechecks, tbk_hold_t* hold) {
  tbk_recheck_t* recheck = make();
  recheck->poisoned = true;
  recheck->hold = malloc(sizeof *hold);
  if (recheck->hold == NULL) abort();
  *recheck->hold = *hold;
  hold->lines = (tbk_results_t){0}; /* they are the recheck's now */
  SAY(recheck->classification.seen, "%s", hold->reason);
  add(&rechecks->waiting, recheck, hold->items, hold->count);
}

static void forget(tbk_recheck_t* recheck) {
  if (recheck->hold != NULL) free(recheck->hold->lines.pending);
  free(recheck->hold);
  free(recheck->items);
  free(recheck);
}

/* ------------------------------------------------------------------------------------- runs --- */

struct sight {
  uint32_t position; /* which test of the job is looked at */
  bool seen;
  bool turned_away; /* another process has the device */
  uint8_t refusals;
  tbk_health_t* health;
  tbk_outcome_t outcome;
  tbk_classification_t classification;
};

static void look(void* context, tbk_slot_t* slot, uint32_t position, const tbk_outcome_t* outcome) {
  struct sight* sight = context;
  (void)slot;
  sight->turned_away |=
      tbk_lease_puts_off(sight->health, outcome->report.device_held, &sight->refusals);
  if (position != sight->position || sight->turned_away) return;
  sight->seen = true;
  sight->outcome = *outcome;
  tbk_classify(outcome, &sight->classification);
}

/* Runs the first `count` of `items`, then `last`, in one process, and looks at the last one. */
static void run_job(tbk_rechecks_t* rechecks, tbk_slot_t* slot, const uint32_t* items,
                    uint32_t count, uint32_t last, bool watch, struct sight* sight) {
  static tbk_order_t order;
  const tbk_limits_t limits = tbk_pace_test_limits(rechecks->pace);
  tbk_facts_order(rechecks->pace->facts, &order, items, count);
  order.items[order.count++] = last;
  order.watch_health = watch;
  *sight = (struct sight){.position = count, .health = rechecks->health};
  do {
    slot = slot->launcher != 0 ? slot : tbk_loop_idle(rechecks->loop);
    if (slot == NULL) return;
    slot->on_outcome = look; /* a probe in between has had its own */
    slot->on_said = NULL;
    slot->context = sight;
    sight->turned_away = sight->seen = false;
    tbk_slot_run(slot, &order, &limits);
    tbk_loop_finish(rechecks->loop, slot);
    sight->turned_away |=
        tbk_lease_puts_off(rechecks->health, tbk_health_is_held(slot->said), &sight->refusals);
    if (sight->turned_away) tbk_lease_wait(rechecks->health);
    if (sight->turned_away && rechecks->health->probe_due && rechecks->pace->facts->sound)
      tbk_health_check(rechecks->health);
  } while (sight->turned_away && !rechecks->health->lost && tbk_loop_interrupted() == 0);
  if (!sight->turned_away) tbk_lease_got(rechecks->health);
  if (sight->seen)
    tbk_pace_count_hang(rechecks->pace, &sight->outcome,
                        tbk_verdict_fails(sight->classification.verdict));
}

/* Whether `last` fails after those; without a process or the device that can't be told. */
static bool shows(tbk_rechecks_t* rechecks, tbk_slot_t* slot, const uint32_t* items, uint32_t count,
                  uint32_t last, bool* told) {
  static struct sight sight;
  run_job(rechecks, slot, items, count, last, false, &sight);
  *told &= sight.seen;
  return sight.seen && tbk_verdict_fails(sight.classification.verdict);
}

/* ---------------------------------------------------------------------------------- together --- */

/* Names who must run before it, and how to see it again. */
static void name_others(tbk_rechecks_t* rechecks, tbk_recheck_t* recheck, const uint32_t* others,
                        uint32_t count) {
  tbk_classification_t* classification = &recheck->classification;
  const char* ids[17];
  uint32_t from = count > 16 ? count - 16 : 0;
  for (uint32_t i = from; i < count; i++)
    ids[i - from] = tbk_recorder_id(rechecks->recorder, others[i]);
  ids[count - from] = tbk_recorder_id(rechecks->recorder, recheck->items[recheck->count - 1]);
  tbk_replay_command(classification->replay, sizeof classification->replay,
                     rechecks->recorder->options, ids, count - from + 1, true);
  SAY(classification->notes, "passes alone; fails after %s%s",
      tbk_recorder_id(rechecks->recorder, others[count - 1]),
      count > 1 ? " and what runs before that" : "");
}

/* The shortest prefix of what ran before it that shows the failure, by bisection. */
static void search(tbk_rechecks_t* rechecks, tbk_slot_t* slot, tbk_recheck_t* recheck) {
  const uint32_t last = recheck->items[recheck->count - 1];
  uint32_t hidden = 0, shown = recheck->count - 1;
  bool told = true;
  if (!shows(rechecks, slot, recheck->items, shown, last, &told)) {
    if (!told) return;
    recheck->classification.verdict = TBK_VERDICT_UNSTABLE;
    SAY(recheck->classification.notes,
        "failed once together with others, and passes alone and with the same others");
    return;
  }
  while (told && shown - hidden > 1) {
    uint32_t middle = hidden + (shown - hidden) / 2;
    if (shows(rechecks, slot, recheck->items, middle, last, &told))
      shown = middle;
    else if (told)
      hidden = middle;
  }
  const uint32_t* culprit = &recheck->items[shown - 1];
  if (told && shows(rechecks, slot, culprit, 1, last, &told))
    name_others(rechecks, recheck, culprit, 1);
  else
    name_others(rechecks, recheck, recheck->items, shown);
}

static void settle_together(tbk_rechecks_t* rechecks, tbk_slot_t* slot, tbk_recheck_t* recheck) {
  static struct sight sight;
  tbk_classification_t* classification = &recheck->classification;
  uint32_t item = recheck->items[recheck->count - 1];
  if (rechecks->alone_runs++ < MOST_ALONE && recheck->count > 1) {
    run_job(rechecks, slot, NULL, 0, item, false, &sight);
    if (tbk_loop_interrupted() != 0) return;
    if (sight.seen && !tbk_verdict_fails(sight.classification.verdict)) {
      classification->verdict = TBK_VERDICT_POLLUTED;
      SAY(classification->notes, "passes alone");
      if (!tbk_pace_is_short_of_time(rechecks->pace) && rechecks->searches++ < MOST_SEARCHES)
        search(rechecks, slot, recheck);
    }
  }
  if (tbk_loop_interrupted() == 0)
    tbk_recorder_add(rechecks->recorder, item, &recheck->outcome, classification);
}

/* ----------------------------------------------------------------------------------- poison --- */

static void record_poisoned(tbk_rechecks_t* rechecks, uint32_t item, const char* why) {
  static const tbk_outcome_t nothing;
  tbk_classification_t classification = {.verdict = TBK_VERDICT_POISONED,
                                         .blame = "backend",
                                         .phase = TBK_PHASE_BODY,
                                         .exit_status = -1};
  SAY(classification.cause, "poisoned");
  SAY(classification.expected, "a device that computes");
  SAY(classification.seen, "%s", why);
  tbk_recorder_add(rechecks->recorder, item, &nothing, &classification);
}

static void record_culprit(tbk_rechecks_t* rechecks, uint32_t item, struct sight* sight,
                           const char* reason) {
  tbk_classification_t* classification = &sight->classification;
  classification->verdict = TBK_VERDICT_FAIL;
  classification->blame = "backend";
  classification->phase = TBK_PHASE_CLEAN;
  SAY(classification->cause, "fail/poisons-the-device");
  SAY(classification->expected, "the device computes after the test");
  SAY(classification->seen, "after it, in the same process: %s", reason);
  const char* id = tbk_recorder_id(rechecks->recorder, item);
  tbk_replay_command(classification->replay, sizeof classification->replay,
                     rechecks->recorder->options, &id, 1, true);
  tbk_recorder_add(rechecks->recorder, item, &sight->outcome, classification);
}

/* What ran before the culprit ran on a good device, and keeps its verdict. */
static void release_first(tbk_rechecks_t* rechecks, tbk_hold_t* hold, uint32_t count) {
  size_t size = 0;
  for (uint32_t line = 0; line < count; size++)
    line += hold->lines.pending[size] == '\n';
  hold->count = count;
  hold->lines.pending_size = size;
  tbk_recorder_release(rechecks->recorder, hold);
}

/*
 * After one of these tests the device no longer computed in their process. Each runs alone: one
 * that shows it again is the culprit; what ran after it ran on a bad device.
 */
static void settle_poison(tbk_rechecks_t* rechecks, tbk_slot_t* slot, tbk_recheck_t* recheck) {
  static struct sight sight;
  char reason[256], why[512];
  uint32_t culprit = recheck->count, sound = 0;
  for (uint32_t i = 0; i < recheck->count && tbk_loop_interrupted() == 0; i++) {
    uint32_t item = recheck->items[i];
    if (culprit < recheck->count || rechecks->alone_runs++ >= MOST_ALONE) continue;
    run_job(rechecks, slot, NULL, 0, item, true, &sight);
    if (sight.seen && sight.outcome.ended &&
        !tbk_health_of(slot->said, &sight.outcome, reason, sizeof reason)) {
      culprit = i;
      record_culprit(rechecks, item, &sight, reason);
    }
    bool fine = sight.seen && !tbk_verdict_fails(sight.classification.verdict);
    if (culprit == recheck->count && fine && sound == i) sound++;
  }
  if (rechecks->health->held || tbk_loop_interrupted() != 0) return;
  if (culprit < recheck->count) release_first(rechecks, recheck->hold, sound);
  if (culprit < recheck->count)
    SAY(why, "ran after %s, which left the device unable to compute",
        tbk_recorder_id(rechecks->recorder, recheck->items[culprit]));
  else if (recheck->count == 1)
    SAY(why, "it left the device unable to compute, and does not do so again: %.200s",
        recheck->classification.seen);
  else
    SAY(why, "one of %u tests left the device unable to compute, and none does so alone: %.200s",
        recheck->count, recheck->classification.seen);
  for (uint32_t i = 0; i < recheck->count; i++)
    record_poisoned(rechecks, recheck->items[i], why);
}

/* ----------------------------------------------------------------------------------- unconfirmed --- */

void tbk_recheck_after_probe(tbk_rechecks_t* rechecks, uint32_t item, const tbk_outcome_t* outcome,
                             const tbk_classification_t* classification) {
  tbk_recheck_t* recheck = make();
  recheck->outcome = *outcome;
  recheck->classification = *classification;
  if (rechecks->unconfirmed == NULL)
    SAY(rechecks->health->suspect, "%s", tbk_recorder_id(rechecks->recorder, item));
  add(&rechecks->unconfirmed, recheck, &item, 1);
}

void tbk_recheck_decide(tbk_rechecks_t* rechecks) {
  bool first = true;
  while (rechecks->unconfirmed != NULL) {
    tbk_recheck_t* recheck = rechecks->unconfirmed;
    rechecks->unconfirmed = recheck->next;
    if (rechecks->health->lost && !rechecks->health->held && !first)
      record_poisoned(rechecks, recheck->items[0], rechecks->health->state);
    else
      tbk_recorder_add(rechecks->recorder, recheck->items[0], &recheck->outcome,
                       &recheck->classification);
    first = false;
    forget(recheck);
  }
  rechecks->health->suspect[0] = '\0';
}

void tbk_recheck_settle(tbk_rechecks_t* rechecks, tbk_slot_t* slot) {
  tbk_recheck_t* recheck = rechecks->waiting;
  rechecks->waiting = recheck->next;
  if (slot == NULL && recheck->poisoned)
    for (uint32_t i = 0; i < recheck->count; i++)
      record_poisoned(rechecks, recheck->items[i], recheck->classification.seen);
  else if (slot == NULL)
    tbk_recorder_add(rechecks->recorder, recheck->items[recheck->count - 1], &recheck->outcome,
                     &recheck->classification);
  else if (recheck->poisoned)
    settle_poison(rechecks, slot, recheck);
  else
    settle_together(rechecks, slot, recheck);
  forget(recheck);
}
