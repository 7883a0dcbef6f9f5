/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hunt.c: what a worker does.
 */
#include "hunt.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "control.h"
#include "worker.h"

enum { CONTROL_EVERY = 3, BETWEEN_CALLS = 8 };

static bool is_finding(const litmus_result_t* result) {
  return result->outcome != LITMUS_RIGHT && result->outcome != LITMUS_NO_ROOM;
}

static void count_polls(hunt_stats_t* stats, const litmus_program_t* program, uint64_t answered) {
  for (uint32_t i = 0; i < program->count; i++) {
    unsigned op = program->calls[i].op;
    if (op != LITMUS_EVENT_POLL && op != LITMUS_STREAM_POLL) continue;
    stats->polls++;
    stats->polls_not_ready += !(answered >> i & 1);
  }
}

/* Returns whether the program that stands in `shared` shows something. `is_grown`: as of
   litmus_result_judge. */
static bool run(hunt_executor_t* executor, hunt_shared_t* shared, litmus_model_t* model,
                bool is_grown, litmus_seen_t* seen) {
  litmus_result_t* result = &shared->result;
  executor->run(executor->self, &shared->program, result, seen);
  litmus_result_judge(&shared->program, seen, result, model, is_grown);
  hunt_stats_t* stats = &shared->stats;
  stats->programs++;
  stats->calls += shared->program.count;
  stats->looks += model->read_count;
  stats->no_room += shared->result.outcome == LITMUS_NO_ROOM;
  count_polls(stats, &shared->program, shared->result.answered);
  return is_finding(&shared->result);
}

/* The same program without an edge of a kind whose turn it is: does it show the difference? */
static bool run_control(hunt_executor_t* executor, hunt_shared_t* shared, uint64_t seed,
                        uint64_t index) {
  static litmus_model_t with, without;
  static litmus_program_t whole;
  litmus_seen_t seen;
  uint64_t random = seed ^ ~index;
  litmus_edge_t kind = litmus_control_turn(shared->offers.torch, index / CONTROL_EVERY);
  if (!litmus_has_control(kind, NULL)) return false;
  hunt_edge_t* edge = &shared->stats.edges[kind];
  whole = shared->program;
  edge->tried++;
  if (!litmus_control(&shared->program, &whole, kind, &random)) return false;
  edge->controls++;
  shared->stats.controls++;
  shared->is_control = 1;
  if (run(executor, shared, &without, false, &seen)) return true;
  shared->is_control = 0;
  if (shared->result.outcome != LITMUS_RIGHT) return false;
  /* Polls of the whole program may have been answered otherwise: what they order is left out. */
  litmus_model_build(&with, &whole, 0, 0, 0);
  edge->shown += litmus_differs(&with, &without, &seen);
  return false;
}

/* Programs go on from the time at which the device is open. */
static uint64_t end_of(const hunt_range_t* range, uint64_t now_ns) {
  const bool is_sliced = range->slice_ns > 0 && now_ns + range->slice_ns < range->until_ns;
  return is_sliced ? now_ns + range->slice_ns : range->until_ns;
}

/* Returns whether program `index` of the seed, or its control, shows something. */
static bool hunt_program(hunt_executor_t* executor, hunt_shared_t* shared, uint64_t seed,
                         uint64_t index, bool coverage) {
  static litmus_model_t model;
  litmus_seen_t seen;
  shared->index = index;
  shared->is_control = 0;
  litmus_generate(&shared->program, &shared->offers, seed, index, &model);
  const bool found = run(executor, shared, &model, true, &seen);
  if (coverage) litmus_cover(&shared->stats.coverage, &model);
  if (found || index % CONTROL_EVERY != 0) return found;
  return run_control(executor, shared, seed, index);
}

void hunt_work_range(hunt_executor_t* executor, hunt_shared_t* shared, uint64_t seed,
                     const hunt_range_t* range) {
  const uint64_t since = tbk_now_ns(), until = end_of(range, since);
  shared->state = HUNT_RUNNING;
  for (uint64_t i = range->first; i < range->last && tbk_now_ns() < until; i++) {
    const bool found = hunt_program(executor, shared, seed, i, range->coverage);
    shared->ran_ns = tbk_now_ns() - since;
    if (!found) continue;
    shared->stats.found++;
    if (range->counts) continue;
    shared->state = HUNT_FOUND;
    return;
  }
  executor->close(executor->self);
  shared->state = HUNT_OVER;
}

/* What shows behind an error alone has it in its own calls. */
static void leave_mistakes_out(litmus_program_t* program) {
  const uint32_t count = program->count;
  program->count = 0;
  for (uint32_t i = 0; i < count; i++)
    if (program->calls[i].op != LITMUS_MISTAKE)
      program->calls[program->count++] = program->calls[i];
}

/* Others go between, for what a library does at every so-manyth call: the first calls of programs,
   since what goes between is no more of what is looked for, and may take as long. Returns whether
   what is left of this one is defined: a thread may have waited for the one that made the call
   which is left out. */
static bool draw_between(litmus_program_t* program, const litmus_offers_t* offers, uint64_t seed,
                         unsigned index) {
  static litmus_model_t model;
  litmus_generate(program, offers, seed, index, &model);
  if (program->count > BETWEEN_CALLS) program->count = BETWEEN_CALLS;
  leave_mistakes_out(program);
  return litmus_model_build(&model, program, 0, 0, 0);
}

static void stir(hunt_executor_t* executor, hunt_shared_t* shared, uint64_t seed, unsigned index) {
  static litmus_program_t program;
  litmus_result_t result;
  litmus_seen_t seen;
  if (!draw_between(&program, &shared->offers, seed, index)) return;
  shared->is_between = 1;
  executor->run(executor->self, &program, &result, &seen);
  shared->is_between = 0;
}

void hunt_work_one(hunt_executor_t* executor, hunt_shared_t* shared, uint64_t seed,
                   unsigned repeats, uint64_t until_ns) {
  static litmus_model_t model;
  litmus_seen_t seen;
  shared->state = HUNT_RUNNING;
  for (unsigned i = 0; i < repeats && (i == 0 || tbk_now_ns() < until_ns); i++) {
    if (i > 0) stir(executor, shared, seed, i);
    shared->runs = i + 1;
    if (!run(executor, shared, &model, false, &seen)) continue;
    shared->state = HUNT_FOUND;
    return;
  }
  shared->state = HUNT_OVER;
}
