/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * doubt.c: a test that fails in company is run again alone. That never makes a failure a pass: it
 * says whether the test is to blame, or what ran before it.
 */
#include "preflight.h"
#include "run.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAY(field, ...) tbk_print((field), sizeof(field), __VA_ARGS__)

enum {
  MOST_ALONE = 64,  /* doubts settled with a run of the test alone; later ones stay as they are */
  MOST_SEARCHES = 8 /* searches for who polluted it */
};

/* ------------------------------------------------------------------------------------ queue --- */

static void add(tbk_doubt_t** end, tbk_doubt_t* doubt, const uint32_t* items, uint32_t count) {
  doubt->items = malloc((count ? count : 1) * sizeof *items);
  if (doubt->items == NULL) abort();
  memcpy(doubt->items, items, count * sizeof *items);
  doubt->count = count;
  while (*end != NULL)
    end = &(*end)->next;
  *end = doubt;
}

static tbk_doubt_t* make(void) {
  tbk_doubt_t* doubt = calloc(1, sizeof *doubt);
  if (doubt == NULL) abort();
  return doubt;
}

void tbk_doubt_company(tbk_run_t* run, const uint32_t* items, uint32_t count,
                       const tbk_outcome_t* outcome, const tbk_judgement_t* judgement) {
  tbk_doubt_t* doubt = make();
  doubt->outcome = *outcome;
  doubt->judgement = *judgement;
  add(&run->doubts, doubt, items, count);
}

void tbk_doubt_poison(tbk_run_t* run, tbk_hold_t* hold) {
  tbk_doubt_t* doubt = make();
  doubt->poisoned = true;
  doubt->hold = malloc(sizeof *hold);
  if (doubt->hold == NULL) abort();
  *doubt->hold = *hold;
  hold->lines = (tbk_results_t){0}; /* they are the doubt's now */
  SAY(doubt->judgement.seen, "%s", hold->reason);
  add(&run->doubts, doubt, hold->items, hold->count);
}

static void forget(tbk_doubt_t* doubt) {
  if (doubt->hold != NULL) free(doubt->hold->lines.pending);
  free(doubt->hold);
  free(doubt->items);
  free(doubt);
}

/* ------------------------------------------------------------------------------------- runs --- */

struct sight {
  uint32_t position; /* which test of the job is looked at */
  bool seen;
  bool turned_away; /* another process has the device */
  tbk_outcome_t outcome;
  tbk_judgement_t judgement;
};

static void look(void* context, tbk_slot_t* slot, uint32_t position, const tbk_outcome_t* outcome) {
  struct sight* sight = context;
  (void)slot;
  sight->turned_away |= outcome->report.device_held;
  if (position != sight->position || sight->turned_away) return;
  sight->seen = true;
  sight->outcome = *outcome;
  tbk_judge(outcome, &sight->judgement);
}

/* Runs the first `count` of `items`, then `last`, in one process, and looks at the last one. */
static void run_job(tbk_run_t* run, tbk_slot_t* slot, const uint32_t* items, uint32_t count,
                    uint32_t last, bool watch, struct sight* sight) {
  static tbk_order_t order;
  const tbk_limits_t limits = tbk_run_test_limits(run);
  tbk_run_order(run, &order, items, count);
  order.items[order.count++] = last;
  order.watch_health = watch;
  *sight = (struct sight){.position = count};
  slot = slot->keeper != 0 ? slot : tbk_loop_idle(&run->loop);
  if (slot == NULL) return;
  slot->on_outcome = look;
  slot->on_said = NULL;
  slot->context = sight;
  do {
    sight->turned_away = sight->seen = false;
    tbk_slot_run(slot, &order, &limits);
    tbk_loop_finish(&run->loop, slot);
    if (sight->turned_away) tbk_lease_wait(run);
  } while (sight->turned_away && !run->lost && tbk_loop_interrupted() == 0);
  if (!sight->turned_away) tbk_lease_got(run);
  if (sight->seen)
    tbk_run_count_hang(run, &sight->outcome, tbk_verdict_fails(sight->judgement.verdict));
}

static bool shows(tbk_run_t* run, tbk_slot_t* slot, const uint32_t* items, uint32_t count,
                  uint32_t last) {
  static struct sight sight;
  run_job(run, slot, items, count, last, false, &sight);
  return sight.seen && tbk_verdict_fails(sight.judgement.verdict);
}

/* ---------------------------------------------------------------------------------- company --- */

static const char* id_of(const tbk_run_t* run, uint32_t item) {
  return run->plan.tests[run->plan.items[item].test].id;
}

/* Names who must run before it, and how to see it again. */
static void name_company(tbk_run_t* run, tbk_doubt_t* doubt, const uint32_t* company,
                         uint32_t count) {
  tbk_judgement_t* judgement = &doubt->judgement;
  const char* ids[17];
  uint32_t from = count > 16 ? count - 16 : 0;
  for (uint32_t i = from; i < count; i++)
    ids[i - from] = id_of(run, company[i]);
  ids[count - from] = id_of(run, doubt->items[doubt->count - 1]);
  tbk_replay_command(judgement->replay, sizeof judgement->replay, run->options, ids,
                     count - from + 1, true);
  SAY(judgement->notes, "passes alone; fails after %s%s", id_of(run, company[count - 1]),
      count > 1 ? " and what runs before that" : "");
}

/* The shortest prefix of what ran before it that shows the failure, by bisection. */
static void search(tbk_run_t* run, tbk_slot_t* slot, tbk_doubt_t* doubt) {
  const uint32_t last = doubt->items[doubt->count - 1];
  uint32_t hidden = 0, shown = doubt->count - 1;
  if (!shows(run, slot, doubt->items, shown, last)) {
    doubt->judgement.verdict = TBK_VERDICT_UNSTABLE;
    SAY(doubt->judgement.notes, "failed once in company, and passes alone and in the same company");
    return;
  }
  while (shown - hidden > 1) {
    uint32_t middle = hidden + (shown - hidden) / 2;
    if (shows(run, slot, doubt->items, middle, last))
      shown = middle;
    else
      hidden = middle;
  }
  const uint32_t* culprit = &doubt->items[shown - 1];
  if (shows(run, slot, culprit, 1, last))
    name_company(run, doubt, culprit, 1);
  else
    name_company(run, doubt, doubt->items, shown);
}

static void settle_company(tbk_run_t* run, tbk_slot_t* slot, tbk_doubt_t* doubt) {
  static struct sight sight;
  tbk_judgement_t* judgement = &doubt->judgement;
  uint32_t item = doubt->items[doubt->count - 1];
  if (run->alone_runs++ < MOST_ALONE && doubt->count > 1) {
    run_job(run, slot, NULL, 0, item, false, &sight);
    if (tbk_loop_interrupted() != 0) return;
    if (sight.seen && !tbk_verdict_fails(sight.judgement.verdict)) {
      judgement->verdict = TBK_VERDICT_POLLUTED;
      SAY(judgement->notes, "passes alone");
      if (!tbk_run_is_short_of_time(run) && run->searches++ < MOST_SEARCHES)
        search(run, slot, doubt);
    }
  }
  if (tbk_loop_interrupted() == 0) tbk_run_record(run, item, &doubt->outcome, judgement);
}

/* ----------------------------------------------------------------------------------- poison --- */

static void record_poisoned(tbk_run_t* run, uint32_t item, const char* why) {
  static const tbk_outcome_t nothing;
  tbk_judgement_t judgement = {.verdict = TBK_VERDICT_POISONED,
                               .blame = "backend",
                               .phase = TBK_PHASE_BODY,
                               .exit_status = -1};
  SAY(judgement.cause, "poisoned");
  SAY(judgement.expected, "a device that computes");
  SAY(judgement.seen, "%s", why);
  tbk_run_record(run, item, &nothing, &judgement);
}

static void record_culprit(tbk_run_t* run, uint32_t item, struct sight* sight, const char* reason) {
  tbk_judgement_t* judgement = &sight->judgement;
  judgement->verdict = TBK_VERDICT_FAIL;
  judgement->blame = "backend";
  judgement->phase = TBK_PHASE_CLEAN;
  SAY(judgement->cause, "fail/poisons-the-device");
  SAY(judgement->expected, "the device computes after the test");
  SAY(judgement->seen, "after it, in the same process: %s", reason);
  const char* id = id_of(run, item);
  tbk_replay_command(judgement->replay, sizeof judgement->replay, run->options, &id, 1, true);
  tbk_run_record(run, item, &sight->outcome, judgement);
}

/* What ran before the culprit ran on a good device, and keeps its verdict. */
static void release_first(tbk_run_t* run, tbk_hold_t* hold, uint32_t count) {
  size_t size = 0;
  for (uint32_t line = 0; line < count; size++)
    line += hold->lines.pending[size] == '\n';
  hold->count = count;
  hold->lines.pending_size = size;
  tbk_run_release(run, hold);
}

/*
 * After one of these tests the device no longer computed in their process. Each runs alone: one
 * that shows it again is the culprit; what ran after it ran on a bad device.
 */
static void settle_poison(tbk_run_t* run, tbk_slot_t* slot, tbk_doubt_t* doubt) {
  static struct sight sight;
  char reason[256], why[512];
  uint32_t culprit = doubt->count, sound = 0;
  for (uint32_t i = 0; i < doubt->count && tbk_loop_interrupted() == 0; i++) {
    uint32_t item = doubt->items[i];
    if (culprit < doubt->count || run->alone_runs++ >= MOST_ALONE) continue;
    run_job(run, slot, NULL, 0, item, true, &sight);
    if (sight.seen && sight.outcome.ended &&
        !tbk_health_of(slot->said, &sight.outcome, reason, sizeof reason)) {
      culprit = i;
      record_culprit(run, item, &sight, reason);
    }
    bool fine = sight.seen && !tbk_verdict_fails(sight.judgement.verdict);
    if (culprit == doubt->count && fine && sound == i) sound++;
  }
  if (run->held || tbk_loop_interrupted() != 0) return;
  if (culprit < doubt->count) release_first(run, doubt->hold, sound);
  if (culprit < doubt->count)
    SAY(why, "ran after %s, which left the device unable to compute",
        id_of(run, doubt->items[culprit]));
  else
    SAY(why, "one of %u tests left the device unable to compute, and none does so alone: %.200s",
        doubt->count, doubt->judgement.seen);
  for (uint32_t i = 0; i < doubt->count; i++)
    record_poisoned(run, doubt->items[i], why);
}

/* ----------------------------------------------------------------------------------- shaken --- */

void tbk_doubt_shaken(tbk_run_t* run, uint32_t item, const tbk_outcome_t* outcome,
                      const tbk_judgement_t* judgement) {
  tbk_doubt_t* doubt = make();
  doubt->outcome = *outcome;
  doubt->judgement = *judgement;
  if (run->shaken == NULL) SAY(run->suspect, "%s", id_of(run, item));
  add(&run->shaken, doubt, &item, 1);
}

void tbk_doubt_decide(tbk_run_t* run) {
  bool first = true;
  while (run->shaken != NULL) {
    tbk_doubt_t* doubt = run->shaken;
    run->shaken = doubt->next;
    if (run->lost && !run->held && !first)
      record_poisoned(run, doubt->items[0], run->health);
    else
      tbk_run_record(run, doubt->items[0], &doubt->outcome, &doubt->judgement);
    first = false;
    forget(doubt);
  }
  run->suspect[0] = '\0';
}

void tbk_doubt_settle(tbk_run_t* run, tbk_slot_t* slot) {
  tbk_doubt_t* doubt = run->doubts;
  run->doubts = doubt->next;
  if (slot == NULL && doubt->poisoned)
    for (uint32_t i = 0; i < doubt->count; i++)
      record_poisoned(run, doubt->items[i], doubt->judgement.seen);
  else if (slot == NULL)
    tbk_run_record(run, doubt->items[doubt->count - 1], &doubt->outcome, &doubt->judgement);
  else if (doubt->poisoned)
    settle_poison(run, slot, doubt);
  else
    settle_company(run, slot, doubt);
  forget(doubt);
}
