/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * supervisor.c: what runs next, and what becomes of what has run.
 */
#include "clock.h"
#include "run.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In a run of single processes the device is asked this often whether it still computes; on a busy
 * machine less often, so that no more than a twentieth of the time goes into asking. */
static const uint64_t probe_every_ns = UINT64_C(10000000000), probe_share = 20;

enum { MOST_IN_BUDGET = 16 };

/* ----------------------------------------------------------------------------------- queue --- */

static void push(tbk_queue_t* queue, uint32_t item) {
  if (queue->tail == queue->capacity) {
    size_t capacity = 2 * queue->capacity + 64;
    uint32_t* grown = realloc(queue->items, capacity * sizeof *grown);
    if (grown == NULL) abort();
    queue->items = grown;
    queue->capacity = capacity;
  }
  queue->items[queue->tail++] = item;
}

static size_t waiting(const tbk_queue_t* queue) {
  return queue->tail - queue->head;
}

/* Puts items that were taken back to where they came from; they are the last that were taken. */
static void put_back(tbk_queue_t* queue, const uint32_t* items, uint32_t count) {
  for (uint32_t i = count; i-- > 0;) {
    if (queue->head > 0)
      queue->items[--queue->head] = items[i];
    else
      push(queue, items[i]);
  }
}

/* ------------------------------------------------------------------------------------ jobs --- */

static unsigned flags_of(const tbk_run_t* run, uint32_t item) {
  return run->recorder.plan.tests[run->recorder.plan.items[item].test].flags;
}

static void enqueue(tbk_run_t* run, uint32_t item) {
  unsigned flags = flags_of(run, item);
  if ((flags & TBK_CASE_ALONE) != 0)
    push(&run->alone, item);
  else if (run->isolation == TBK_ISOLATION_BATCH && (flags & ~(unsigned)TBK_CASE_THOROUGH) == 0)
    push(&run->batches, item);
  else
    push(&run->singles, item);
}

static void enqueue_all(tbk_run_t* run) {
  run->kind->assume(&run->facts);
  for (uint32_t item = 0; item < run->recorder.plan.item_count; item++) {
    if (run->recorder.recorded[item]) continue;
    const char* missing = run->kind->missing(
        &run->facts, run->recorder.plan.tests[run->recorder.plan.items[item].test].needs);
    if (missing != NULL)
      tbk_recorder_add_missing(&run->recorder, item, missing);
    else
      enqueue(run, item);
  }
}

/* ------------------------------------------------------------------------- what came of it --- */

static bool is_abnormal(tbk_verdict_t verdict) {
  return verdict == TBK_VERDICT_CRASH || verdict == TBK_VERDICT_HANG;
}

static void take_verdict(tbk_run_t* run, tbk_slot_t* slot, uint32_t position,
                         const tbk_outcome_t* outcome) {
  static tbk_classification_t classification;
  const tbk_order_t* order = &slot->order;
  tbk_hold_t* hold = &run->holds[slot->number];
  uint32_t item = order->items[position];
  tbk_classify(outcome, &classification);
  bool fails = tbk_verdict_fails(classification.verdict);
  tbk_lease_note(&run->health, outcome->report.device_held, &classification);
  tbk_lease_got(&run->health);
  tbk_pace_count_hang(&run->pace, outcome, fails);
  run->pace.failed |= fails;
  run->health.probe_due |= fails && (order->count == 1 || is_abnormal(classification.verdict));
  if (order->count > 1 && fails && outcome->end != TBK_END_CUT_SHORT)
    tbk_recheck_together(&run->rechecks, order->items, position + 1, outcome, &classification);
  else if (fails && run->facts.sound)
    tbk_recheck_after_probe(&run->rechecks, item, outcome, &classification);
  else if (order->watch_health)
    tbk_recorder_hold(&run->recorder, hold, item, outcome, &classification);
  else
    tbk_recorder_add(&run->recorder, item, outcome, &classification);
}

/* The process of a job with many tests is gone: what it had not begun runs in the next. */
static void end_batch(tbk_run_t* run, tbk_slot_t* slot, uint32_t position, bool began) {
  tbk_hold_t* hold = &run->holds[slot->number];
  const tbk_order_t* order = &slot->order;
  uint32_t next = position + (began ? 1 : 0);
  if (next < order->count) put_back(&run->batches, order->items + next, order->count - next);
  if (hold->unsound && hold->count > 0)
    tbk_recheck_poison(&run->rechecks, hold);
  else
    tbk_recorder_release(&run->recorder, hold);
  hold->count = 0;
  hold->lines.pending_size = 0;
}

/* Another process had the exclusive device when the test wanted it: it runs again later. */
static void end_turned_away(tbk_run_t* run, tbk_slot_t* slot) {
  const tbk_hold_t* hold = &run->holds[slot->number];
  if (slot->order.count > 1 || slot->order.watch_health)
    end_batch(run, slot, hold->turned_at, false);
  else
    put_back(run->running_alone ? &run->alone : &run->singles, slot->order.items, 1);
  tbk_lease_wait(&run->health);
}

/* Notes whether the job goes on from `position` later, since another process has the device. */
static void note_refusal(tbk_run_t* run, tbk_slot_t* slot, uint32_t position, bool held) {
  const uint32_t last = slot->order.count - 1;
  uint8_t* refusals = &run->refusals[slot->order.items[position < last ? position : last]];
  tbk_hold_t* hold = &run->holds[slot->number];
  if (hold->turned_away) return;
  hold->turned_away = run->facts.exclusive && tbk_lease_puts_off(&run->health, held, refusals);
  hold->turned_at = position;
}

/* It died while no test was running: in the health probe, or by a thread of the library's own. */
static void blame_those_before(tbk_run_t* run, tbk_slot_t* slot, const tbk_outcome_t* outcome) {
  tbk_hold_t* hold = &run->holds[slot->number];
  tbk_classification_t classification;
  tbk_classify(outcome, &classification);
  hold->unsound = true;
  run->health.probe_due = true;
  tbk_print(hold->reason, sizeof hold->reason, "%s", classification.seen);
}

static void on_outcome(void* context, tbk_slot_t* slot, uint32_t position,
                       const tbk_outcome_t* outcome) {
  tbk_run_t* run = context;
  tbk_hold_t* hold = &run->holds[slot->number];
  /* A process that left early, or died between two tests, had not begun this one. Any other end is
   * the end of the test, whatever was said: what is put back for ever would never be recorded. */
  bool others = outcome->between && hold->count > 0;
  bool began = outcome->ended || outcome->unheard || !(outcome->left_early || others);
  if (outcome->end == TBK_END_INTERRUPTED) {
    tbk_recorder_release(&run->recorder, hold);
    return;
  }
  note_refusal(run, slot, position, outcome->report.device_held);
  if (hold->turned_away) {
    if (!outcome->in_batch) end_turned_away(run, slot);
    return;
  }
  if (began)
    take_verdict(run, slot, position, outcome);
  else if (!outcome->done)
    blame_those_before(run, slot, outcome);
  if (!outcome->in_batch && (slot->order.count > 1 || slot->order.watch_health))
    end_batch(run, slot, position, began);
}

static void on_said(void* context, tbk_slot_t* slot, const json_t* object) {
  tbk_run_t* run = context;
  tbk_hold_t* hold = &run->holds[slot->number];
  const json_t* ok = json_object_get(object, "ok");
  const char* reason = json_string_value(json_object_get(object, "reason"));
  note_refusal(run, slot, slot->ended, json_is_true(json_object_get(object, "device_held")));
  if (hold->turned_away) {
    run->health.probe_due = true;
  } else if (json_is_true(ok)) {
    tbk_recorder_release(&run->recorder, hold);
  } else if (json_is_false(ok)) {
    hold->unsound = true;
    tbk_print(hold->reason, sizeof hold->reason, "%s", reason != NULL ? reason : "");
  }
}

/* -------------------------------------------------------------------------------- dispatch --- */

/*
 * The end of an interpreter takes as long as the tests of a batch together. Under a budget, which has
 * many batches, it is seen at the first, the second, the fourth, and so on.
 */
static bool leaves_at_once(tbk_run_t* run) {
  const uint64_t number = ++run->batches_begun;
  return run->options->budget_ns != 0 && (number & (number - 1)) != 0;
}

static void start(tbk_run_t* run, tbk_slot_t* slot, tbk_queue_t* queue, uint32_t count,
                  bool batch) {
  static tbk_order_t order;
  const tbk_limits_t limits = tbk_pace_test_limits(&run->pace);
  tbk_facts_order(&run->facts, &order, queue->items + queue->head, count);
  queue->head += count;
  order.watch_health = batch && run->facts.sound;
  if (batch && leaves_at_once(run)) order.argument = TBK_LEAVE_AT_ONCE;
  run->holds[slot->number].unsound = run->holds[slot->number].turned_away = false;
  slot->on_outcome = on_outcome;
  slot->on_said = on_said;
  slot->context = run;
  tbk_slot_run(slot, &order, &limits);
}

static void leave_out(tbk_run_t* run, tbk_queue_t* queue) {
  while (waiting(queue) > 0)
    tbk_recorder_add_left_out(&run->recorder, queue->items[queue->head++]);
}

/* As many as one process shall take: an equal share, so that all slots end at the same time. */
static uint32_t share(const tbk_run_t* run) {
  size_t share = (waiting(&run->batches) + run->loop.jobs - 1) / run->loop.jobs;
  if (run->options->budget_ns != 0 && share > MOST_IN_BUDGET) return MOST_IN_BUDGET;
  return share < TBK_JOB_MAX ? (uint32_t)share : TBK_JOB_MAX;
}

/* Under a budget the order of the plan holds for both queues. */
static bool single_is_first(const tbk_run_t* run) {
  const tbk_queue_t *singles = &run->singles, *batches = &run->batches;
  return run->options->budget_ns != 0 && waiting(singles) > 0 &&
         singles->items[singles->head] < batches->items[batches->head];
}

/* The same for what wants to be alone, which would never have its turn behind all others. */
static bool alone_is_first(const tbk_run_t* run) {
  const tbk_queue_t *queues[] = {&run->singles, &run->batches}, *alone = &run->alone;
  if (run->options->budget_ns == 0 || waiting(alone) == 0) return false;
  for (size_t i = 0; i < 2; i++)
    if (waiting(queues[i]) > 0 && queues[i]->items[queues[i]->head] < alone->items[alone->head])
      return false;
  return true;
}

/* Gives work to one idle slot. False where there is none to give now. */
static bool dispatch(tbk_run_t* run) {
  bool busy = tbk_loop_busy(&run->loop) > 0;
  bool any = waiting(&run->batches) + waiting(&run->singles) > 0 && !alone_is_first(run);
  if (run->running_alone && busy) return false;
  run->running_alone = false;
  if (!any && (busy || waiting(&run->alone) == 0)) return false;
  tbk_slot_t* slot = tbk_loop_idle(&run->loop);
  if (slot == NULL) return false;
  if (any && waiting(&run->batches) > 0 && !single_is_first(run)) {
    start(run, slot, &run->batches, share(run), true);
  } else if (any && waiting(&run->singles) > 0) {
    start(run, slot, &run->singles, 1, false);
  } else {
    start(run, slot, &run->alone, 1, false);
    run->running_alone = true;
  }
  return true;
}

static bool must_stop(const tbk_run_t* run) {
  return tbk_loop_interrupted() != 0 || run->recorder.results.error != 0 || run->health.lost;
}

static bool work_is_left(const tbk_run_t* run) {
  return waiting(&run->batches) + waiting(&run->singles) + waiting(&run->alone) > 0 ||
         run->rechecks.waiting != NULL || (run->facts.sound && run->health.probe_due);
}

/* Probing and settling want the device for themselves: no new work, and the old comes to its end. */
static void drain(tbk_run_t* run) {
  while (tbk_loop_busy(&run->loop) > 0 && !must_stop(run)) {
    tbk_loop_pump(&run->loop);
    (void)tbk_results_flush(&run->recorder.results);
  }
}

static void leave_out_the_rest(tbk_run_t* run) {
  leave_out(run, &run->batches);
  leave_out(run, &run->singles);
  leave_out(run, &run->alone);
}

static bool is_time_to_probe(const tbk_run_t* run) {
  const uint64_t since_ns = tbk_now_ns() - run->health.probed_ns;
  return run->isolation == TBK_ISOLATION_FORK && since_ns > probe_every_ns &&
         since_ns > probe_share * run->health.took_ns;
}

static void step(tbk_run_t* run) {
  if (tbk_pace_is_over_budget(&run->pace)) leave_out_the_rest(run);
  if (is_time_to_probe(run)) run->health.probe_due = true;
  if (run->facts.sound && run->health.probe_due) {
    drain(run);
    if (!must_stop(run)) tbk_health_check(&run->health);
    tbk_recheck_decide(&run->rechecks);
    return;
  }
  if (run->rechecks.waiting != NULL) {
    drain(run);
    bool over = tbk_pace_is_over_budget(&run->pace); /* then it counts as it was seen */
    if (!must_stop(run))
      tbk_recheck_settle(&run->rechecks, over ? NULL : tbk_loop_idle(&run->loop));
    return;
  }
  /* What has ended is written while the next test runs already. */
  tbk_loop_pump(&run->loop);
  while (!(run->facts.sound && run->health.probe_due) && run->rechecks.waiting == NULL &&
         !must_stop(run) && dispatch(run)) {
  }
}

static void kill_all(tbk_run_t* run) {
  for (uint32_t i = 0; i < run->loop.count; i++)
    tbk_slot_kill(&run->loop.slots[i], TBK_END_INTERRUPTED);
  while (tbk_loop_busy(&run->loop) > 0)
    tbk_loop_pump(&run->loop);
}

static void give_up_the_rest(tbk_run_t* run) {
  char why[600];
  if (run->health.held)
    tbk_print(why, sizeof why, "%s", run->health.lease);
  else
    tbk_print(why, sizeof why, "the device does not compute any more: %s", run->health.state);
  for (uint32_t item = 0; item < run->recorder.plan.item_count; item++)
    if (!run->recorder.recorded[item]) tbk_recorder_add_unreached(&run->recorder, item, why);
}

static void record_the_lost(tbk_run_t* run) {
  for (uint32_t item = 0; item < run->recorder.plan.item_count; item++)
    if (!run->recorder.recorded[item]) tbk_recorder_add_lost(&run->recorder, item);
}

void tbk_supervise(tbk_run_t* run) {
  run->health.probed_ns = tbk_now_ns();
  run->holds = calloc(run->loop.count, sizeof *run->holds);
  run->refusals = calloc(run->recorder.plan.item_count + 1, sizeof *run->refusals);
  if (run->holds == NULL || run->refusals == NULL) abort();
  tbk_print(run->health.state, sizeof run->health.state, "%s%s",
            run->facts.sound ? "ok" : "not sound before the first test: ", run->facts.health);
  enqueue_all(run);
  (void)tbk_results_flush(&run->recorder.results);
  while (!must_stop(run) && (work_is_left(run) || tbk_loop_busy(&run->loop) > 0)) {
    step(run);
    (void)tbk_results_flush(&run->recorder.results);
  }
  if (!must_stop(run) && run->facts.sound) tbk_health_check(&run->health);
  tbk_recheck_decide(&run->rechecks);
  kill_all(run);
  if (run->health.lost) give_up_the_rest(run);
  if (!must_stop(run)) record_the_lost(run);
  (void)tbk_results_flush(&run->recorder.results);
}
