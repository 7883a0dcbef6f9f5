/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * ways.c: in which way a finding shows again: how often its program is run, in how many processes,
 * with how much time for each call, and behind what.
 */
#include <string.h>

#include "clock.h"
#include "motif.h"
#include "shrinking.h"

enum { TIMES = 8, SLOW_TIMES = 2, QUICK_WAY = 3, WAYS_OF_TORCH = 7 };
#define HUNG_TRY_S 1.0

void ways_take(shrinking_t* s, unsigned way) {
  static const struct {
    unsigned repeats, processes;
  } ways[WAYS] = {{1, 1},   {4, 1},   {1, 16},   {16, 1},    {64, 1},
                  {16, 16}, {200, 1}, {2000, 1}, {20000, 1}, {200000, 1}};
  s->way = way;
  s->best->repeats = ways[way].repeats;
  s->best->processes = ways[way].processes;
}

unsigned ways_count(const shrinking_t* s) {
  return s->subject.torch ? WAYS_OF_TORCH : WAYS;
}

/* What hung once need not hang so long again; and no attempt may take the time of all others. */
void ways_hurry(shrinking_t* s) {
  const bool hung = s->best->result.outcome == LITMUS_HUNG;
  const double most = hung || s->try_s < HUNG_TRY_S ? HUNG_TRY_S : s->try_s;
  if (s->subject.call_timeout_s > most) s->subject.call_timeout_s = most;
}

/* Whether nothing but the clock ended it: on a slow device all calls take long. */
static bool ran_late(const shrinking_t* s) {
  return s->has_other && (s->other.outcome == LITMUS_HUNG || s->other.outcome == LITMUS_STUCK);
}

static void forget_tries(shrinking_t* s) {
  memset(s->tallies, 0, sizeof s->tallies);
  s->has_other = false;
}

/* Returns in how many of *out_tries it showed; a way that fails at once is tried no more. Whatever
   takes a second each time has to do with two. */
static unsigned count_shown(shrinking_t* s, unsigned* out_tries) {
  const uint64_t began_ns = tbk_now_ns();
  unsigned shown = shrinking_try_again(s) == SHOWN;
  const bool is_slow = (double)(tbk_now_ns() - began_ns) > SLOW_TRY_S * 1e9;
  *out_tries = is_slow || s->subject.torch ? SLOW_TIMES : TIMES;
  for (unsigned i = 1; i < *out_tries && shown > 0; i++)
    shown += shrinking_try_again(s) == SHOWN;
  return shown;
}

/* Where threads decide, or how many calls there were before, it need not show each time; and what
   some processes have and others have not shows in no number of times in one of the others. Returns
   false where it never showed again, or there was no time to see it: then it is tried once; where
   it does not each time, the way that shows it most is taken. */
static bool find_repeats(shrinking_t* s) {
  const uint64_t enough_ns = tbk_now_ns() + s->search_ns;
  unsigned best = 0, tries;
  double most = 0;
  for (unsigned i = 0; i < ways_count(s) && tbk_now_ns() < s->until_ns; i++) {
    if ((most > 0 || s->has_other) && tbk_now_ns() > enough_ns) break;
    ways_take(s, i);
    const unsigned shown = count_shown(s, &tries);
    if (shown == tries) return true;
    if (shown == 0 && most == 0 && ran_late(s))
      break;                             /* as it would in other ways, which take longer */
    if (shown == 0 && s->ran_out) break; /* there is no time for more */
    if ((double)shown / tries <= most) continue;
    most = (double)shown / tries;
    best = i;
  }
  ways_take(s, best);
  return most > 0;
}

/* Who only ran out of the time of an attempt gets that of the user, for good. */
static bool find_repeats_in_own_time(shrinking_t* s) {
  if (find_repeats(s)) return true;
  if (!ran_late(s) || s->subject.call_timeout_s >= s->own_timeout_s) return false;
  s->subject.call_timeout_s = s->own_timeout_s;
  forget_tries(s);
  return find_repeats(s);
}

/* What uses memory that is gone ends otherwise where other programs ran before: by a signal there,
   and not at all in a process of its own. Where it never ended as it did, that is what is made
   smaller. */
bool ways_find(shrinking_t* s) {
  const litmus_result_t found = s->best->result;
  s->has_other = false;
  if (find_repeats_in_own_time(s)) return true;
  if (!s->has_other) return false;
  tally_t tallies[WAYS];
  memcpy(tallies, s->tallies, sizeof tallies);
  s->best->result = s->other;
  forget_tries(s);
  ways_hurry(s);
  if (find_repeats(s)) return true;
  s->best->result = found;
  memcpy(s->tallies, tallies, sizeof tallies);
  return false;
}

void ways_find_again(shrinking_t* s) {
  const unsigned way = s->way;
  s->has_other = false;
  if (!find_repeats(s)) ways_take(s, way);
}

/* Returns whether the program, as it is, does not show it: whatever does needs no mistake. */
static bool is_quiet(shrinking_t* s, unsigned way) {
  ways_take(s, way);
  return tbk_now_ns() < s->until_ns && shrinking_try_again(s) == NOT_SHOWN;
}

void ways_put_mistake_before(shrinking_t* s) {
  litmus_program_t program = s->best->program;
  const uint64_t began_ns = tbk_now_ns();
  if (program.torch || program.count == LITMUS_CALLS || !is_quiet(s, 0)) return;
  const bool is_slow = (double)(tbk_now_ns() - began_ns) >= SLOW_TRY_S * 1e9;
  if (!is_slow && !is_quiet(s, QUICK_WAY)) return;
  memmove(&program.calls[1], &program.calls[0], program.count * sizeof *program.calls);
  program.calls[0] = litmus_mistake(program.count++);
  shrinking_keep(s, &program);
}
