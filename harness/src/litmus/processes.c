/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * processes.c: which process runs which programs, and for how long.
 */
#include "processes.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"

/* A process runs programs for at least so many times what it takes to start and to end. */
enum { LEAST_RATIO = 4 };
/* A device that a process has just left may not be free yet. */
#define FIRST_PAUSE_NS UINT64_C(20000000)
#define LAST_PAUSE_NS UINT64_C(2000000000)

typedef struct plan {
  const hunt_subject_t* subject;
  const hunt_range_t* range;
  size_t most;
  hunt_shared_t* shared;
  processes_t* out;
  uint64_t next;  /* program */
  size_t started; /* processes; also those that had no time for a program */
} plan_t;

static bool is_of_time(const hunt_range_t* range) {
  return range->last - range->first > UINT64_MAX / 2;
}

/* Half of the time, where others follow; 0: all of it. */
static uint64_t first_slice(const plan_t* plan, uint64_t now_ns) {
  const uint64_t until = plan->range->until_ns;
  return plan->most > 1 && now_ns < until ? (until - now_ns) / 2 : 0;
}

/* Returns how long the next process runs programs; 0: what is left is not worth one. */
static uint64_t slice_of(const plan_t* plan, uint64_t now_ns) {
  const uint64_t until = plan->range->until_ns;
  if (now_ns >= until) return 0;
  const uint64_t left = until - now_ns, cost = plan->out->opening_ns / plan->started;
  const uint64_t each = left / (plan->most - plan->started);
  const uint64_t least = LEAST_RATIO * cost;
  const uint64_t slice = each > least + cost ? each - cost : least;
  return left > slice / 2 + cost ? slice : 0;
}

/* Returns whether there are programs for another process, and which. */
static bool plan_next(const plan_t* plan, hunt_range_t* out) {
  const uint64_t all = plan->range->last - plan->range->first, now = tbk_now_ns();
  *out = *plan->range;
  out->first = plan->next;
  if (plan->started == plan->most) return false;
  if (is_of_time(plan->range)) {
    out->slice_ns = plan->started > 0 ? slice_of(plan, now) : first_slice(plan, now);
    return plan->started == 0 || out->slice_ns > 0;
  }
  const uint64_t each = (all + plan->most - 1) / plan->most;
  if (out->last - out->first > each) out->last = out->first + each;
  return plan->started == 0 || (out->first < out->last && now < out->until_ns);
}

static hunt_state_t run_range(const plan_t* plan, const hunt_range_t* range) {
  return (range->counts ? hunt_count : hunt_range)(plan->subject, range, plan->shared);
}

/* The first process says whether there is a device. A later one that finds none is started again, while
   half of the time that opening may take is not over: who waited for an exclusive device in vain is not. */
static hunt_state_t run_patiently(const plan_t* plan, const hunt_range_t* range) {
  const uint64_t until = tbk_now_ns() + (uint64_t)(plan->subject->open_timeout_s * 1e9 / 2);
  hunt_state_t state = run_range(plan, range);
  uint64_t pause = FIRST_PAUSE_NS;
  for (; state == HUNT_NO_DEVICE && plan->started > 0 && pause < LAST_PAUSE_NS; pause *= 2) {
    if (tbk_now_ns() > until) break;
    const struct timespec span = {(time_t)(pause / 1000000000), (long)(pause % 1000000000)};
    nanosleep(&span, NULL);
    state = hunt_interrupted ? HUNT_INTERRUPTED : run_range(plan, range);
  }
  return plan->shared->state = state;
}

/* What the process added to what all have seen. */
static void note(const plan_t* plan, const hunt_stats_t* before) {
  const hunt_stats_t* after = &plan->shared->stats;
  processes_t* out = plan->out;
  if (after->programs == before->programs) return;
  for (int kind = 0; kind < LITMUS_EDGES; kind++)
    out->edges[kind][out->count] =
        (sure_process_t){after->edges[kind].tried - before->edges[kind].tried,
                         after->edges[kind].shown - before->edges[kind].shown};
  out->count++;
  out->found_in += after->found > before->found;
}

/* The first process speaks for itself; of a later one the number is of interest. */
static void name_process(const plan_t* plan) {
  char said[sizeof plan->shared->reason];
  if (plan->started == 0) return;
  snprintf(said, sizeof said, "%s", plan->shared->reason);
  snprintf(plan->shared->reason, sizeof plan->shared->reason, "process %zu of this run: %.400s",
           plan->started + 1, said);
}

static hunt_state_t run_next(plan_t* plan, const hunt_range_t* range) {
  const hunt_stats_t before = plan->shared->stats;
  const uint64_t began = tbk_now_ns();
  const hunt_state_t state = run_patiently(plan, range);
  if (state == HUNT_BAD_LIBRARY || state == HUNT_NO_DEVICE || state == HUNT_NOTHING_TO_ORDER)
    name_process(plan);
  note(plan, &before);
  const uint64_t took = tbk_now_ns() - began, ran = plan->shared->ran_ns;
  plan->out->opening_ns += took > ran ? took - ran : 0;
  if (plan->shared->stats.programs > before.programs) plan->next = plan->shared->index + 1;
  plan->started++;
  return state;
}

hunt_state_t processes_hunt(const hunt_subject_t* subject, const hunt_range_t* range, size_t most,
                            hunt_shared_t* shared, processes_t* out) {
  plan_t plan = {subject, range, most, shared, out, range->first, 0};
  hunt_range_t next;
  hunt_state_t state = HUNT_OVER;
  bool found = false;
  memset(out, 0, sizeof *out);
  while (plan_next(&plan, &next)) {
    state = run_next(&plan, &next);
    found |= state == HUNT_FOUND;
    const bool goes_on = state == HUNT_OVER || (state == HUNT_FOUND && range->counts);
    if (!goes_on) return state;
  }
  return found ? HUNT_FOUND : state;
}
