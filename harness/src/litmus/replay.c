/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * replay.c: the smallest program is run again and again. What is told counts all of its runs in the
 * way that is told.
 */
#include "clock.h"
#include "shrinking.h"

enum { REPLAYS = 20, REPLAYS_OF_TORCH = 10 }; /* the file of those of PyTorch is run, too */

typedef enum ended { ALL, MISSED, OUT_OF_TIME } ended_t;

static ended_t replay_way(shrinking_t* s, bool goes_on) {
  const unsigned most = s->subject.torch ? REPLAYS_OF_TORCH : REPLAYS;
  const tally_t* tally = &s->tallies[s->way];
  while (tally->replays < most) {
    if (tally->shown < tally->replays && !goes_on) return MISSED;
    if (tbk_now_ns() >= s->until_ns || shrinking_try_again(s) == CUT) return OUT_OF_TIME;
  }
  return tally->shown < tally->replays ? MISSED : ALL;
}

/* One of one says less than nineteen of twenty. */
static bool is_better(tally_t a, tally_t b) {
  const unsigned left = a.shown * (b.replays + 1), right = b.shown * (a.replays + 1);
  return left > right || (left == right && a.replays > b.replays);
}

static unsigned best_way(const shrinking_t* s) {
  unsigned best = s->way;
  for (unsigned way = 0; way < WAYS; way++)
    if (is_better(s->tallies[way], s->tallies[best])) best = way;
  return best;
}

/* A few tries may have been lucky: then the next way is taken, and the best of all in the end. */
void replay(shrinking_t* s, bool shown) {
  while (replay_way(s, !shown) == MISSED && shown && s->way < ways_count(s) - 1)
    ways_take(s, s->way + 1);
  ways_take(s, best_way(s));
  replay_way(s, true);
  s->best->shown = s->tallies[s->way].shown;
  s->best->replays = s->tallies[s->way].replays;
}
