/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shrink.c: delta debugging over the calls, then over what they name. Each attempt is a process of its
 * own, so that nothing is left over from the one before.
 */
#include "shrink.h"

#include <string.h>

#include "clock.h"

enum { REPLAYS = 20, REPLAYS_OF_TORCH = 10, TIMES = 8 };
#define HUNG_TRY_S 1.0

typedef struct shrinking {
  hunt_subject_t subject;
  hunt_shared_t* shared;
  shrunk_t* best;
  uint64_t until_ns;
} shrinking_t;

/* The same kind of thing; which read it is may change on the way. Who waits for a value in vain, which
   something else has overwritten, and who reads it, see the same. */
static bool is_same(const litmus_result_t* a, const litmus_result_t* b) {
  if (a->outcome == LITMUS_WRONG && b->outcome == LITMUS_STUCK) return true;
  return a->outcome == b->outcome && a->status == b->status;
}

static bool shows_in_a_process(shrinking_t* s, const litmus_program_t* program) {
  if (hunt_one(&s->subject, program, s->best->repeats, s->shared) != HUNT_FOUND) return false;
  return is_same(&s->shared->result, &s->best->result);
}

static bool shows(shrinking_t* s, const litmus_program_t* program) {
  for (unsigned i = 0; i < s->best->processes; i++) {
    if (i > 0 && tbk_now_ns() > s->until_ns) return false;
    if (shows_in_a_process(s, program)) return true;
  }
  return false;
}

static bool keep_if_shown(shrinking_t* s, const litmus_program_t* program) {
  static litmus_model_t model;
  if (tbk_now_ns() > s->until_ns || !litmus_model_build(&model, program, 0, 0, 0)) return false;
  if (!shows(s, program)) return false;
  s->best->program = *program;
  s->best->result = s->shared->result;
  return true;
}

static bool without(shrinking_t* s, uint32_t first, uint32_t count) {
  litmus_program_t program = s->best->program;
  if (first + count > program.count) count = program.count - first;
  program.count -= count;
  memmove(&program.calls[first], &program.calls[first + count],
          (program.count - first) * sizeof *program.calls);
  return keep_if_shown(s, &program);
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
      if (keep_if_shown(s, &program)) return true;
    }
  }
  return false;
}

/* Threads take turns, or, better still, one makes all calls. */
static void make_fewer_threads(shrinking_t* s) {
  litmus_program_t program = s->best->program;
  if (program.threads <= 1) return;
  program.races = false;
  for (uint32_t i = 0; i < program.count; i++)
    program.calls[i].meanwhile = false;
  keep_if_shown(s, &program);
  program.threads = 1;
  const uint32_t count = program.count;
  program.count = 0;
  for (uint32_t i = 0; i < count; i++) {
    litmus_call_t call = program.calls[i];
    call.thread = 0;
    if (call.op != LITMUS_THREAD_RENEW) program.calls[program.count++] = call;
  }
  s->best->needs_threads = !keep_if_shown(s, &program) && tbk_now_ns() < s->until_ns;
}

/* All calls are about all bytes; or at least each part is as small as can be. */
static void make_fewer_parts(shrinking_t* s) {
  litmus_program_t program = s->best->program;
  const uint64_t unit = s->shared->offers.granularity;
  if (program.parts <= 1) return;
  for (uint32_t part = 1; part < program.parts; part++)
    program.ends[part - 1] = part * unit;
  program.size_bytes = program.parts * unit;
  keep_if_shown(s, &program);
  program = s->best->program;
  program.parts = 1;
  for (uint32_t i = 0; i < program.count; i++)
    program.calls[i].first_part = program.calls[i].parts = 0;
  keep_if_shown(s, &program);
}

/* As little pending as shows it. */
static void pile_less(shrinking_t* s) {
  for (uint32_t i = 0; i < s->best->program.count; i++) {
    litmus_program_t program = s->best->program;
    for (unsigned more = 0; more < program.calls[i].more; more = 2 * more + 1) {
      program.calls[i].more = (uint16_t)more;
      if (keep_if_shown(s, &program)) break;
      program = s->best->program;
    }
  }
}

static void make_simpler(shrinking_t* s) {
  litmus_program_t program = s->best->program;
  program.devices = 1;
  for (uint32_t i = 0; i < program.count; i++)
    program.calls[i].device = 0;
  keep_if_shown(s, &program);
  make_fewer_parts(s);
  if (s->best->program.parts > 1) return;
  static const uint64_t sizes[] = {1, 64, 4096};
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    program = s->best->program;
    uint64_t unit = s->shared->offers.granularity;
    uint64_t size = (sizes[i] + unit - 1) / unit * unit;
    if (size >= program.size_bytes) break;
    program.size_bytes = size;
    if (keep_if_shown(s, &program)) break;
  }
}

/* What does the same and takes less to write down: without autograd, without memory of its own. */
static bool make_plainer(shrinking_t* s) {
  static const struct {
    uint8_t op, plain;
    bool by_caller; /* on the stream that goes on behind it */
  } ways[] = {{LITMUS_MEET, LITMUS_COPY, false},     {LITMUS_MEET, LITMUS_COPY, true},
              {LITMUS_MEET, LITMUS_BACKWARD, false}, {LITMUS_BACKWARD, LITMUS_COPY, false},
              {LITMUS_BACKWARD, LITMUS_COPY, true},  {LITMUS_PINNED_UPLOAD, LITMUS_UPLOAD, false}};
  bool plainer = false;
  for (uint32_t i = 0; i < s->best->program.count; i++) {
    for (unsigned way = 0; way < sizeof ways / sizeof *ways; way++) {
      litmus_program_t program = s->best->program;
      if (program.calls[i].op != ways[way].op) continue;
      program.calls[i].op = ways[way].plain;
      if (ways[way].by_caller) program.calls[i].stream = LITMUS_CALLERS_STREAM;
      plainer |= keep_if_shown(s, &program);
    }
  }
  return plainer;
}

/* Returns in how many of *out_tries it showed; a way that fails at once is tried no more. Whatever takes a
   second each time has to do with two. */
static unsigned count_shown(shrinking_t* s, unsigned* out_tries) {
  const bool is_slow = s->subject.torch || s->best->result.outcome == LITMUS_HUNG;
  unsigned shown = 0;
  *out_tries = is_slow ? 2 : TIMES;
  for (unsigned i = 0; i < *out_tries && (i == 0 || shown > 0); i++)
    shown += shows(s, &s->best->program);
  return shown;
}

/* Where threads decide, or how many calls there were before, it need not show each time; and what some
   processes have and others have not shows in no number of times in one of the others. Returns false where
   it never showed again, or there was no time to see it: then it is tried once; where it does not each time, the way that shows it most is taken. */
static bool find_repeats(shrinking_t* s) {
  static const struct {
    unsigned repeats, processes;
  } ways[] = {{1, 1}, {4, 1}, {1, 16}, {16, 1}, {64, 1}, {16, 16}, {200, 1}};
  unsigned most = 0, best = 0, tries;
  for (unsigned i = 0; i < sizeof ways / sizeof *ways && tbk_now_ns() < s->until_ns; i++) {
    s->best->repeats = ways[i].repeats;
    s->best->processes = ways[i].processes;
    const unsigned shown = count_shown(s, &tries);
    if (shown == tries) return true;
    if (shown <= most) continue;
    most = shown;
    best = i;
  }
  s->best->repeats = ways[best].repeats;
  s->best->processes = ways[best].processes;
  return most > 0;
}

void shrink(const hunt_subject_t* subject, const litmus_program_t* program,
            const litmus_result_t* result, double seconds, shrunk_t* out_shrunk) {
  hunt_shared_t* shared = hunt_share();
  *out_shrunk = (shrunk_t){.program = *program, .result = *result, .calls_before = program->count};
  shrinking_t s = {.subject = *subject, .shared = shared, .best = out_shrunk};
  s.until_ns = tbk_now_ns() + (uint64_t)(seconds * 1e9);
  if (result->outcome == LITMUS_HUNG && s.subject.call_timeout_s > HUNG_TRY_S)
    s.subject.call_timeout_s = HUNG_TRY_S;
  if (find_repeats(&s)) {
    make_fewer_threads(&s);
    take_out_calls(&s);
    while (take_out_pairs(&s))
      take_out_calls(&s);
    if (make_plainer(&s)) take_out_calls(&s);
    make_fewer_threads(&s);
    make_simpler(&s);
    pile_less(&s);
  }
  const unsigned most = subject->torch ? REPLAYS_OF_TORCH : REPLAYS; /* its file is run, too */
  for (; out_shrunk->replays < most && tbk_now_ns() < s.until_ns; out_shrunk->replays++)
    out_shrunk->shown += shows(&s, &out_shrunk->program);
}
