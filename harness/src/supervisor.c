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

/* In a run of single processes the device is asked this often whether it still computes. */
static const uint64_t probe_every_ns = UINT64_C(2000000000);

enum { MOST_SHORT_HANGS = 8, MOST_IN_BUDGET = 16 };

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

tbk_limits_t tbk_run_limits(const tbk_run_t* run) {
  const tbk_options_t* options = run->options;
  uint64_t opening = 4 * run->facts.open_ns;
  return (tbk_limits_t){.first_ns = options->timeout_ns + opening,
                        .next_ns = options->timeout_ns,
                        .memory = options->memory_limit,
                        .grace_ms = run->facts.exclusive ? 500 : 0};
}

bool tbk_run_is_short_of_time(const tbk_run_t* run) {
  return run->hangs >= run->options->most_hangs;
}

/* Tests that wait in a thread or a process of their own give up before they are killed. */
void tbk_run_count_hang(tbk_run_t* run, const tbk_outcome_t* outcome, bool fails) {
  bool killed = outcome->end == TBK_END_DEADLINE || outcome->end == TBK_END_CUT_SHORT;
  run->hangs += killed || (fails && outcome->wall_ns >= run->options->timeout_ns / 4);
}

static uint64_t cut(uint64_t deadline_ns, uint64_t parts, uint64_t least_ns) {
  if (deadline_ns <= least_ns) return deadline_ns;
  return deadline_ns / parts > least_ns ? deadline_ns / parts : least_ns;
}

/*
 * A device on which everything hangs would take a deadline for each test: hours. When enough have
 * hung that it can be believed, a test gets a tenth; and when more of those did not end, still less.
 */
tbk_limits_t tbk_run_test_limits(const tbk_run_t* run) {
  tbk_limits_t limits = tbk_run_limits(run);
  if (!tbk_run_is_short_of_time(run)) return limits;
  uint64_t opening = limits.first_ns - limits.next_ns;
  bool hopeless = run->hangs >= run->options->most_hangs + MOST_SHORT_HANGS;
  limits.next_ns = cut(limits.next_ns, 10, UINT64_C(1000000000));
  if (hopeless) limits.next_ns = cut(limits.next_ns, 10, UINT64_C(250000000));
  limits.first_ns = limits.next_ns + opening;
  limits.hangs = run->hangs;
  return limits;
}

void tbk_run_order(const tbk_run_t* run, tbk_order_t* order, const uint32_t* items,
                   uint32_t count) {
  order->kind = TBK_ORDER_TESTS;
  order->argument = 0;
  order->gate = (int32_t)run->facts.gate;
  order->wait_blocks = run->facts.wait_blocks;
  order->watch_health = 0;
  order->held_known = 1;
  order->held = run->facts.held;
  order->count = count;
  if (count > 0) memcpy(order->items, items, count * sizeof *items);
}

static unsigned flags_of(const tbk_run_t* run, uint32_t item) {
  return run->plan.tests[run->plan.items[item].test].flags;
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

/* A word of the torch layer, "!word" where it must not hold. What was not probed does not hold. */
static const char* missing_word(const json_t* held, const char* needs) {
  static char word[64];
  while (*(needs += strspn(needs, " ")) != '\0') {
    size_t length = strcspn(needs, " "), negated = *needs == '!';
    tbk_print(word, sizeof word, "%.*s", (int)length, needs);
    if (json_is_true(json_object_get(held, word + negated)) == (negated != 0)) return word;
    needs += length;
  }
  return NULL;
}

const char* tbk_run_missing(const tbk_run_t* run, const char* needs) {
  if (needs == NULL) return NULL;
  if (run->options->torch) return missing_word(run->facts.capabilities, needs);
  return tbk_needs_missing(NULL, needs);
}

static void enqueue_all(tbk_run_t* run) {
  if (!run->options->torch) tbk_needs_assume(run->facts.held);
  for (uint32_t item = 0; item < run->plan.item_count; item++) {
    if (run->recorded[item]) continue;
    const char* missing = tbk_run_missing(run, run->plan.tests[run->plan.items[item].test].needs);
    if (missing != NULL)
      tbk_run_record_missing(run, item, missing);
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
  tbk_lease_note(run, &classification);
  tbk_lease_got(run);
  tbk_run_count_hang(run, outcome, fails);
  run->probe_due |= fails && (order->count == 1 || is_abnormal(classification.verdict));
  if (order->count > 1 && fails && outcome->end != TBK_END_CUT_SHORT)
    tbk_recheck_together(run, order->items, position + 1, outcome, &classification);
  else if (fails && run->facts.sound)
    tbk_recheck_after_probe(run, item, outcome, &classification);
  else if (order->watch_health)
    tbk_run_hold(run, hold, item, outcome, &classification);
  else
    tbk_run_record(run, item, outcome, &classification);
}

/* The process of a job with many tests is gone: what it had not begun runs in the next. */
static void end_batch(tbk_run_t* run, tbk_slot_t* slot, uint32_t position, bool began) {
  tbk_hold_t* hold = &run->holds[slot->number];
  const tbk_order_t* order = &slot->order;
  uint32_t next = position + (began ? 1 : 0);
  if (next < order->count) put_back(&run->batches, order->items + next, order->count - next);
  if (hold->unsound && hold->count > 0)
    tbk_recheck_poison(run, hold);
  else
    tbk_run_release(run, hold);
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
  tbk_lease_wait(run);
}

/* It died while no test was running: in the health probe, or by a thread of the library's own. */
static void blame_those_before(tbk_run_t* run, tbk_slot_t* slot, const tbk_outcome_t* outcome) {
  tbk_hold_t* hold = &run->holds[slot->number];
  tbk_classification_t classification;
  tbk_classify(outcome, &classification);
  hold->unsound = true;
  run->probe_due = true;
  tbk_print(hold->reason, sizeof hold->reason, "%s", classification.seen);
}

static void on_outcome(void* context, tbk_slot_t* slot, uint32_t position,
                       const tbk_outcome_t* outcome) {
  tbk_run_t* run = context;
  tbk_hold_t* hold = &run->holds[slot->number];
  bool others = outcome->between && hold->count > 0;
  bool began = outcome->ended || !(outcome->done || others);
  if (outcome->end == TBK_END_INTERRUPTED) {
    tbk_run_release(run, hold);
    return;
  }
  if (outcome->report.device_held && !hold->turned_away) {
    hold->turned_away = true;
    hold->turned_at = position;
  }
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
  if (json_is_true(ok)) {
    tbk_run_release(run, hold);
  } else if (json_is_false(ok)) {
    hold->unsound = true;
    tbk_print(hold->reason, sizeof hold->reason, "%s", reason != NULL ? reason : "");
  }
}

/* -------------------------------------------------------------------------------- dispatch --- */

static void start(tbk_run_t* run, tbk_slot_t* slot, tbk_queue_t* queue, uint32_t count,
                  bool batch) {
  static tbk_order_t order;
  const tbk_limits_t limits = tbk_run_test_limits(run);
  tbk_run_order(run, &order, queue->items + queue->head, count);
  queue->head += count;
  order.watch_health = batch && run->facts.sound;
  run->holds[slot->number].unsound = run->holds[slot->number].turned_away = false;
  slot->on_outcome = on_outcome;
  slot->on_said = on_said;
  slot->context = run;
  tbk_slot_run(slot, &order, &limits);
}

static bool is_over_budget(const tbk_run_t* run) {
  const uint64_t budget = run->options->budget_ns;
  return budget != 0 && tbk_now_ns() - run->started_ns >= budget;
}

static void leave_out(tbk_run_t* run, tbk_queue_t* queue) {
  while (waiting(queue) > 0)
    tbk_run_record_left_out(run, queue->items[queue->head++]);
}

/* As many as one process shall take: an equal share, so that all slots end at the same time. */
static uint32_t share(const tbk_run_t* run) {
  size_t share = (waiting(&run->batches) + run->loop.jobs - 1) / run->loop.jobs;
  if (run->options->budget_ns != 0 && share > MOST_IN_BUDGET) return MOST_IN_BUDGET;
  return share < TBK_JOB_MAX ? (uint32_t)share : TBK_JOB_MAX;
}

/* Gives work to one idle slot. False where there is none to give now. */
static bool dispatch(tbk_run_t* run) {
  bool busy = tbk_loop_busy(&run->loop) > 0;
  bool any = waiting(&run->batches) + waiting(&run->singles) > 0;
  if (run->running_alone && busy) return false;
  run->running_alone = false;
  if (!any && (busy || waiting(&run->alone) == 0)) return false;
  tbk_slot_t* slot = tbk_loop_idle(&run->loop);
  if (slot == NULL) return false;
  if (waiting(&run->batches) > 0) {
    start(run, slot, &run->batches, share(run), true);
  } else if (waiting(&run->singles) > 0) {
    start(run, slot, &run->singles, 1, false);
  } else {
    start(run, slot, &run->alone, 1, false);
    run->running_alone = true;
  }
  return true;
}

static bool must_stop(const tbk_run_t* run) {
  return tbk_loop_interrupted() != 0 || run->results.error != 0 || run->lost;
}

static bool work_is_left(const tbk_run_t* run) {
  return waiting(&run->batches) + waiting(&run->singles) + waiting(&run->alone) > 0 ||
         run->rechecks != NULL || (run->facts.sound && run->probe_due);
}

/* Probing and settling want the device for themselves: no new work, and the old comes to its end. */
static void drain(tbk_run_t* run) {
  while (tbk_loop_busy(&run->loop) > 0 && !must_stop(run)) {
    tbk_loop_pump(&run->loop);
    (void)tbk_results_flush(&run->results);
  }
}

static void leave_out_the_rest(tbk_run_t* run) {
  leave_out(run, &run->batches);
  leave_out(run, &run->singles);
  leave_out(run, &run->alone);
}

static void step(tbk_run_t* run) {
  uint64_t now = tbk_now_ns();
  if (is_over_budget(run)) leave_out_the_rest(run);
  if (run->isolation == TBK_ISOLATION_FORK && now - run->probed_ns > probe_every_ns)
    run->probe_due = true;
  if (run->facts.sound && run->probe_due) {
    drain(run);
    if (!must_stop(run)) tbk_health_check(run);
    tbk_recheck_decide(run);
    return;
  }
  if (run->rechecks != NULL) {
    drain(run);
    if (!must_stop(run)) tbk_recheck_settle(run, tbk_loop_idle(&run->loop));
    return;
  }
  /* What has ended is written while the next test runs already. */
  tbk_loop_pump(&run->loop);
  while (!(run->facts.sound && run->probe_due) && run->rechecks == NULL && !must_stop(run) &&
         dispatch(run)) {
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
  if (run->held)
    tbk_print(why, sizeof why, "%s", run->lease);
  else
    tbk_print(why, sizeof why, "the device does not compute any more: %s", run->health);
  for (uint32_t item = 0; item < run->plan.item_count; item++)
    if (!run->recorded[item]) tbk_run_record_unreached(run, item, why);
}

void tbk_supervise(tbk_run_t* run) {
  run->probed_ns = tbk_now_ns();
  run->holds = calloc(run->loop.count, sizeof *run->holds);
  if (run->holds == NULL) abort();
  tbk_print(run->health, sizeof run->health, "%s%s",
            run->facts.sound ? "ok" : "not sound before the first test: ", run->facts.health);
  enqueue_all(run);
  (void)tbk_results_flush(&run->results);
  while (!must_stop(run) && (work_is_left(run) || tbk_loop_busy(&run->loop) > 0)) {
    step(run);
    (void)tbk_results_flush(&run->results);
  }
  if (!must_stop(run) && run->facts.sound) tbk_health_check(run);
  tbk_recheck_decide(run);
  kill_all(run);
  if (run->lost) give_up_the_rest(run);
  (void)tbk_results_flush(&run->results);
}
