/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shrink.c: what explains the finding is tried first, then delta debugging over the calls, then over what
 * they name. Each attempt is a process of its own, so that nothing is left over from the one before.
 */
#include "shrink.h"

#include <string.h>

#include "clock.h"
#include "motif.h"

enum { REPLAYS = 20, REPLAYS_OF_TORCH = 10, TIMES = 8, SLOW_TIMES = 2 };
#define HUNG_TRY_S 1.0
#define SLOW_TRY_S 1.0
/* Shares of the time: of a call that may hang, to look for a way that shows it each time, and to see it
   again in the end. */
#define TRY_SHARE 0.15
#define SEARCH_SHARE 0.3
#define REPLAY_SHARE 0.2

typedef struct shrinking {
  hunt_subject_t subject;
  hunt_shared_t* shared;
  shrunk_t* best;
  uint64_t until_ns, search_ns; /* the end of all attempts; how long a search among ways may take */
  bool has_other;               /* an attempt ended in another way, which is a finding too: */
  litmus_result_t other;
  unsigned way;
  double try_s; /* no call of an attempt takes longer */
} shrinking_t;

/* The same kind of thing; which read it is may change on the way. Who waits for a value in vain, which
   something else has overwritten, and who reads it, see the same. */
static bool is_same(const litmus_result_t* a, const litmus_result_t* b) {
  if (a->outcome == LITMUS_WRONG && b->outcome == LITMUS_STUCK) return true;
  return a->outcome == b->outcome && a->status == b->status;
}

static bool shows_in_a_process(shrinking_t* s, const litmus_program_t* program) {
  if (hunt_one(&s->subject, program, s->best->repeats, s->shared) != HUNT_FOUND) return false;
  if (is_same(&s->shared->result, &s->best->result)) return true;
  s->has_other = true;
  s->other = s->shared->result;
  return false;
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

/* Calls are indexes of the program; -1 is its beginning, and its count stands for its end. */
static void add_call(uint64_t* calls, int call) {
  if (call >= 0 && call < LITMUS_CALLS) *calls |= UINT64_C(1) << call;
}

/* Returns bits of the calls that a reader is told of: who looked, whose value was seen, and the chain. */
static uint64_t calls_that_explain(const shrinking_t* s) {
  static litmus_model_t model;
  litmus_reason_t reason;
  const litmus_result_t* result = &s->best->result;
  uint64_t calls = 0;
  if (!litmus_model_build(&model, &s->best->program, result->answered, 0, 0)) return 0;
  litmus_explain(&model, &result->wrong, &reason);
  const int16_t roles[] = {reason.read, reason.other, reason.wrote, reason.over};
  for (unsigned i = 0; i < sizeof roles / sizeof *roles; i++)
    add_call(&calls, roles[i]);
  for (uint32_t i = 0; i < reason.link_count; i++) {
    add_call(&calls, reason.links[i].from);
    add_call(&calls, reason.links[i].to);
  }
  for (uint32_t i = 0; i < reason.moved_count; i++)
    add_call(&calls, reason.moved[i]);
  return calls;
}

/* One attempt instead of as many as there are other calls: of what is slow there are few. */
static void keep_what_explains(shrinking_t* s) {
  litmus_program_t program = s->best->program;
  if (s->best->result.outcome != LITMUS_WRONG) return;
  const uint64_t calls = calls_that_explain(s);
  program.count = 0;
  for (uint32_t i = 0; i < s->best->program.count; i++)
    if (calls >> i & 1) program.calls[program.count++] = s->best->program.calls[i];
  if (program.count < s->best->program.count) keep_if_shown(s, &program);
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

/* How often a program is run for each attempt, the quickest first. */
enum { WAYS = 7 };
static void take_way(shrinking_t* s, unsigned way) {
  static const struct {
    unsigned repeats, processes;
  } ways[WAYS] = {{1, 1}, {4, 1}, {1, 16}, {16, 1}, {64, 1}, {16, 16}, {200, 1}};
  s->way = way;
  s->best->repeats = ways[way].repeats;
  s->best->processes = ways[way].processes;
}

/* What hung once need not hang so long again; and no attempt may take the time of all others. */
static void hurry(shrinking_t* s) {
  const bool hung = s->best->result.outcome == LITMUS_HUNG;
  const double most = hung || s->try_s < HUNG_TRY_S ? HUNG_TRY_S : s->try_s;
  if (s->subject.call_timeout_s > most) s->subject.call_timeout_s = most;
}

/* Returns in how many of *out_tries it showed; a way that fails at once is tried no more. Whatever takes a
   second each time has to do with two. */
static unsigned count_shown(shrinking_t* s, unsigned* out_tries) {
  const uint64_t began_ns = tbk_now_ns();
  unsigned shown = shows(s, &s->best->program);
  const bool is_slow = (double)(tbk_now_ns() - began_ns) > SLOW_TRY_S * 1e9;
  *out_tries = is_slow || s->subject.torch ? SLOW_TIMES : TIMES;
  for (unsigned i = 1; i < *out_tries && shown > 0; i++)
    shown += shows(s, &s->best->program);
  return shown;
}

/* Where threads decide, or how many calls there were before, it need not show each time; and what some
   processes have and others have not shows in no number of times in one of the others. Returns false where
   it never showed again, or there was no time to see it: then it is tried once; where it does not each time,
   the way that shows it most is taken. */
static bool find_repeats(shrinking_t* s) {
  const uint64_t enough_ns = tbk_now_ns() + s->search_ns;
  unsigned best = 0, tries;
  double most = 0;
  for (unsigned i = 0; i < WAYS && tbk_now_ns() < s->until_ns; i++) {
    if ((most > 0 || s->has_other) && tbk_now_ns() > enough_ns) break;
    take_way(s, i);
    const unsigned shown = count_shown(s, &tries);
    if (shown == tries) return true;
    if ((double)shown / tries <= most) continue;
    most = (double)shown / tries;
    best = i;
  }
  take_way(s, best);
  return most > 0;
}

/* What uses memory that is gone ends otherwise where other programs ran before: by a signal there, and not
   at all in a process of its own. Where it never ended as it did, that is what is made smaller. */
static bool find_repeats_of_any_end(shrinking_t* s) {
  const litmus_result_t found = s->best->result;
  s->has_other = false;
  if (find_repeats(s)) return true;
  if (!s->has_other) return false;
  s->best->result = s->other;
  hurry(s);
  if (find_repeats(s)) return true;
  s->best->result = found;
  return false;
}

/* A device may do other things behind an error, for good: in a process of its own there was none. */
static void put_mistake_before(shrinking_t* s) {
  litmus_program_t program = s->best->program;
  const uint64_t began_ns = tbk_now_ns();
  take_way(s, 0);
  if (program.torch || program.count == LITMUS_CALLS || shows(s, &program)) return;
  if ((double)(tbk_now_ns() - began_ns) < SLOW_TRY_S * 1e9) take_way(s, 3);
  memmove(&program.calls[1], &program.calls[0], program.count * sizeof *program.calls);
  program.calls[0] = litmus_mistake(program.count++);
  keep_if_shown(s, &program);
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

/* A program of few calls is sooner over than the one that was found, and shows it more often or less: the
   way is looked for once more. */
static void find_repeats_again(shrinking_t* s) {
  const unsigned way = s->way;
  s->has_other = false;
  if (!find_repeats(s)) take_way(s, way);
}

/* Returns whether it showed each time, or there was no time to see more. */
static bool replay_all(shrinking_t* s, bool to_the_end) {
  const unsigned most = s->subject.torch ? REPLAYS_OF_TORCH : REPLAYS; /* its file is run, too */
  s->best->replays = s->best->shown = 0;
  while (s->best->replays < most && tbk_now_ns() < s->until_ns) {
    s->best->replays++;
    s->best->shown += shows(s, &s->best->program);
    if (s->best->shown < s->best->replays && !to_the_end) return false;
  }
  return true;
}

/* A few tries may have been lucky: then the next way is taken. */
static void replay(shrinking_t* s, bool shown) {
  while (!replay_all(s, !shown || s->way == WAYS - 1))
    take_way(s, s->way + 1);
}

void shrink(const hunt_subject_t* subject, const litmus_program_t* program,
            const litmus_result_t* result, double seconds, shrunk_t* out_shrunk) {
  hunt_shared_t* shared = hunt_share();
  *out_shrunk = (shrunk_t){.program = *program, .result = *result, .calls_before = program->count};
  shrinking_t s = {.subject = *subject, .shared = shared, .best = out_shrunk};
  const uint64_t began_ns = tbk_now_ns();
  s.search_ns = (uint64_t)(seconds * SEARCH_SHARE * 1e9);
  s.until_ns = began_ns + (uint64_t)(seconds * (1 - REPLAY_SHARE) * 1e9);
  s.try_s = seconds * TRY_SHARE;
  hurry(&s);
  put_mistake_before(&s);
  const bool shown = find_repeats_of_any_end(&s);
  if (shown) {
    make_smaller(&s);
    find_repeats_again(&s);
  }
  s.until_ns = began_ns + (uint64_t)(seconds * 1e9);
  replay(&s, shown);
}
