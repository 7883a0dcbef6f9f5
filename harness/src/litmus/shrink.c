/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shrink.c: what explains the finding is tried first, then delta debugging over the calls, then
 * over what they name. Each attempt is a process of its own, so that nothing is left over from the
 * one before.
 */
#include "shrink.h"

#include <string.h>

#include "clock.h"
#include "shrinking.h"

/* Shares of the time: of a call that may hang, to look for a way that shows it each time, and to
   see it again in the end. */
#define TRY_SHARE 0.15
#define SEARCH_SHARE 0.3
#define REPLAY_SHARE 0.2

/* The same kind of thing; which read it is may change on the way. Who waits for a value in vain,
   which something else has overwritten, and who reads it, see the same. */
static bool is_same(const litmus_result_t* a, const litmus_result_t* b) {
  if (a->outcome == LITMUS_WRONG && b->outcome == LITMUS_STUCK) return true;
  return a->outcome == b->outcome && a->status == b->status;
}

/* One that needs no clock says more than one that does. */
static void note_other(shrinking_t* s) {
  const litmus_outcome_t outcome = s->shared->result.outcome;
  const bool is_late = outcome == LITMUS_HUNG || outcome == LITMUS_STUCK;
  if (s->has_other && is_late) return;
  s->has_other = true;
  s->other = s->shared->result;
}

static tried_t try_in_a_process(shrinking_t* s, const litmus_program_t* program,
                                uint64_t until_ns) {
  const hunt_state_t state = hunt_one(&s->subject, program, s->best->repeats, until_ns, s->shared);
  s->ran_out = state == HUNT_OVER && s->shared->runs < s->best->repeats;
  if (s->ran_out && until_ns == s->until_ns) return CUT;
  if (state != HUNT_FOUND) return state == HUNT_OVER ? NOT_SHOWN : CUT;
  if (is_same(&s->shared->result, &s->best->result)) return SHOWN;
  note_other(s);
  return NOT_SHOWN;
}

tried_t shrinking_try(shrinking_t* s, const litmus_program_t* program) {
  const uint64_t enough_ns = tbk_now_ns() + (uint64_t)(s->try_s * 1e9);
  const uint64_t until_ns = enough_ns < s->until_ns ? enough_ns : s->until_ns;
  for (unsigned i = 0; i < s->best->processes; i++) {
    if (i > 0 && tbk_now_ns() > s->until_ns) return CUT;
    const tried_t tried = try_in_a_process(s, program, until_ns);
    if (tried != NOT_SHOWN) return tried;
  }
  return NOT_SHOWN;
}

tried_t shrinking_try_again(shrinking_t* s) {
  const tried_t tried = shrinking_try(s, &s->best->program);
  tally_t* tally = &s->tallies[s->way];
  tally->shown += tried == SHOWN;
  tally->replays += tried != CUT;
  return tried;
}

bool shrinking_keep(shrinking_t* s, const litmus_program_t* program) {
  static litmus_model_t model;
  if (tbk_now_ns() > s->until_ns || !litmus_model_build(&model, program, 0, 0, 0)) return false;
  if (shrinking_try(s, program) != SHOWN) return false;
  s->best->program = *program;
  s->best->result = s->shared->result;
  memset(s->tallies, 0, sizeof s->tallies);
  return true;
}

static bool without(shrinking_t* s, uint32_t first, uint32_t count) {
  litmus_program_t program = s->best->program;
  if (first + count > program.count) count = program.count - first;
  program.count -= count;
  memmove(&program.calls[first], &program.calls[first + count],
          (program.count - first) * sizeof *program.calls);
  return shrinking_keep(s, &program);
}

/* Returns bits of the calls that a reader is told of. */
static uint64_t calls_that_explain(const shrinking_t* s) {
  static litmus_model_t model;
  litmus_reason_t reason;
  const litmus_result_t* result = &s->best->result;
  if (!litmus_model_build(&model, &s->best->program, result->answered, 0, 0)) return 0;
  litmus_explain(&model, &result->wrong, &reason);
  return litmus_reason_calls(&reason);
}

/* One attempt instead of as many as there are other calls: of what is slow there are few. */
static void keep_what_explains(shrinking_t* s) {
  litmus_program_t program = s->best->program;
  if (s->best->result.outcome != LITMUS_WRONG) return;
  const uint64_t calls = calls_that_explain(s);
  program.count = 0;
  for (uint32_t i = 0; i < s->best->program.count; i++)
    if (calls >> i & 1) program.calls[program.count++] = s->best->program.calls[i];
  if (program.count < s->best->program.count) shrinking_keep(s, &program);
}

static void take_out_calls(shrinking_t* s) {
  for (uint32_t size = s->best->program.count / 2; size > 0; size /= 2) {
    bool smaller = true;
    while (smaller) {
      smaller = false;
      for (uint32_t at = s->best->program.count; at > 0;) {
        at = at > size ? at - size : 0;
        if (at < s->best->program.count && without(s, at, size)) smaller = true;
      }
    }
  }
}

/* Two calls that are of use only together: a record and its wait, a callback and who waits. */
static bool take_out_pairs(shrinking_t* s) {
  for (uint32_t i = 0; i < s->best->program.count; i++) {
    for (uint32_t j = i + 1; j < s->best->program.count; j++) {
      litmus_program_t program = s->best->program;
      program.count = 0;
      for (uint32_t k = 0; k < s->best->program.count; k++)
        if (k != i && k != j) program.calls[program.count++] = s->best->program.calls[k];
      if (shrinking_keep(s, &program)) return true;
    }
  }
  return false;
}

/* What does not show each time is not said to need threads for one try that failed. */
static bool keep_in_some_tries(shrinking_t* s, const litmus_program_t* program) {
  enum { TRIES = 3 };
  for (unsigned i = 0; i < TRIES; i++)
    if (shrinking_keep(s, program)) return true;
  return false;
}

/* Threads take turns, or, better still, one makes all calls. */
static void make_fewer_threads(shrinking_t* s) {
  litmus_program_t program = s->best->program;
  if (program.threads <= 1) return;
  program.races = false;
  for (uint32_t i = 0; i < program.count; i++)
    program.calls[i].meanwhile = false;
  shrinking_keep(s, &program);
  program.threads = 1;
  const uint32_t count = program.count;
  program.count = 0;
  for (uint32_t i = 0; i < count; i++) {
    litmus_call_t call = program.calls[i];
    call.thread = 0;
    if (call.op != LITMUS_THREAD_RENEW) program.calls[program.count++] = call;
  }
  s->best->needs_threads = !keep_in_some_tries(s, &program) && tbk_now_ns() < s->until_ns;
}

/* All calls are about all bytes; or at least each part is as small as can be. */
static void make_fewer_parts(shrinking_t* s) {
  litmus_program_t program = s->best->program;
  const uint64_t unit = s->shared->offers.granularity;
  if (program.parts <= 1) return;
  for (uint32_t part = 1; part < program.parts; part++)
    program.ends[part - 1] = part * unit;
  program.size_bytes = program.parts * unit;
  shrinking_keep(s, &program);
  program = s->best->program;
  program.parts = 1;
  for (uint32_t i = 0; i < program.count; i++)
    program.calls[i].first_part = program.calls[i].parts = 0;
  shrinking_keep(s, &program);
}

/* As little pending as shows it. */
static void pile_less(shrinking_t* s) {
  for (uint32_t i = 0; i < s->best->program.count; i++) {
    litmus_program_t program = s->best->program;
    for (unsigned more = 0; more < program.calls[i].more; more = 2 * more + 1) {
      program.calls[i].more = (uint16_t)more;
      if (shrinking_keep(s, &program)) break;
      program = s->best->program;
    }
  }
}

static void make_simpler(shrinking_t* s) {
  litmus_program_t program = s->best->program;
  program.devices = 1;
  for (uint32_t i = 0; i < program.count; i++)
    program.calls[i].device = 0;
  shrinking_keep(s, &program);
  make_fewer_parts(s);
  if (s->best->program.parts > 1) return;
  static const uint64_t sizes[] = {1, 64, 4096};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    program = s->best->program;
    uint64_t unit = s->shared->offers.granularity;
    uint64_t size = (sizes[i] + unit - 1) / unit * unit;
    if (size >= program.size_bytes) break;
    program.size_bytes = size;
    if (shrinking_keep(s, &program)) break;
  }
}

/* What does the same and takes less to write down: without autograd, without memory of its own. */
static bool make_plainer(shrinking_t* s) {
  static const struct {
    uint8_t op, plain;
    bool by_caller; /* on the stream that goes on behind it */
  } ways[] = {{LITMUS_MEET, LITMUS_COPY, false},
              {LITMUS_MEET, LITMUS_COPY, true},
              {LITMUS_MEET, LITMUS_BACKWARD, false},
              {LITMUS_BACKWARD, LITMUS_COPY, false},
              {LITMUS_BACKWARD, LITMUS_COPY, true},
              {LITMUS_LOADED_UPLOAD, LITMUS_PINNED_UPLOAD, false},
              {LITMUS_PINNED_UPLOAD, LITMUS_UPLOAD, false}};
  bool plainer = false;
  for (uint32_t i = 0; i < s->best->program.count; i++) {
    for (unsigned way = 0; way < sizeof ways / sizeof *ways; way++) {
      litmus_program_t program = s->best->program;
      if (program.calls[i].op != ways[way].op) continue;
      program.calls[i].op = ways[way].plain;
      if (ways[way].by_caller) program.calls[i].stream = LITMUS_CALLERS_STREAM;
      plainer |= shrinking_keep(s, &program);
    }
  }
  return plainer;
}

static void make_smaller(shrinking_t* s) {
  keep_what_explains(s);
  make_fewer_threads(s);
  take_out_calls(s);
  while (take_out_pairs(s))
    take_out_calls(s);
  if (make_plainer(s)) take_out_calls(s);
  make_fewer_threads(s);
  make_simpler(s);
  pile_less(s);
}

/* Attempts that failed say little of threads where the program shows only now
   and then, or in more runs than they had. */
static bool needs_threads(const shrunk_t* shrunk, const shrunk_t* attempts) {
  return shrunk->needs_threads && shrunk->shown > 0 && 4 * shrunk->shown >= 3 * shrunk->replays &&
         shrunk->repeats <= attempts->repeats && shrunk->processes <= attempts->processes;
}

void shrink(const hunt_subject_t* subject, const litmus_program_t* program,
            const litmus_result_t* result, double seconds, shrunk_t* out_shrunk) {
  *out_shrunk = (shrunk_t){.program = *program, .result = *result, .calls_before = program->count};
  shrinking_t s = {.subject = *subject, .shared = hunt_share(), .best = out_shrunk};
  const uint64_t began_ns = tbk_now_ns();
  s.own_timeout_s = subject->call_timeout_s;
  s.search_ns = (uint64_t)(seconds * SEARCH_SHARE * 1e9);
  s.until_ns = began_ns + (uint64_t)(seconds * (1 - REPLAY_SHARE) * 1e9);
  s.try_s = seconds * TRY_SHARE;
  ways_hurry(&s);
  ways_put_mistake_before(&s);
  const bool shown = ways_find(&s);
  const shrunk_t attempts = *out_shrunk; /* the way of all of them */
  if (shown) {
    make_smaller(&s);
    ways_find_again(&s);
  }
  const double control_share = late_may_be(&s) ? REPLAY_SHARE / 2 : 0;
  s.until_ns = began_ns + (uint64_t)(seconds * (1 - control_share) * 1e9);
  replay(&s, shown);
  out_shrunk->needs_threads = needs_threads(out_shrunk, &attempts);
  s.until_ns = began_ns + (uint64_t)(seconds * 1e9);
  out_shrunk->begins_late = late_is_mended(&s);
}
