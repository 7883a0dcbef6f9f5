/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shrinking.h: what shrink.c, which makes a program smaller, ways.c, which says how often and in
 * how many processes it is run for that, and replay.c, which tells how often it shows, share.
 */
#ifndef TBK_HARNESS_LITMUS_SHRINKING_H
#define TBK_HARNESS_LITMUS_SHRINKING_H

#include "shrink.h"

/* How often a program is run for each try, the quickest first. */
enum { WAYS = 10 };
/* Whatever takes longer is tried less often. */
#define SLOW_TRY_S 1.0

/* What a try says; CUT: nothing, since it did not come to its end. */
typedef enum tried { NOT_SHOWN, SHOWN, CUT } tried_t;

typedef struct tally {
  unsigned shown, replays;
} tally_t;

typedef struct shrinking {
  hunt_subject_t subject; /* its calls may have less time than the user allows: */
  double own_timeout_s;
  hunt_shared_t* shared;
  shrunk_t* best;
  uint64_t until_ns, search_ns; /* the end of all attempts; how long a search among ways may take */
  bool has_other;               /* an attempt ended in another way, which is a finding too: */
  litmus_result_t other;
  unsigned way;
  tally_t tallies[WAYS]; /* of the program as it is now */
  double try_s;          /* no call of an attempt takes longer, nor are there more after it */
  bool ran_out;          /* the latest attempt had no time for all of its runs */
} shrinking_t;

/* shrink.c: runs a program in the way that is taken. */
tried_t shrinking_try(shrinking_t* s, const litmus_program_t* program);
/* The same with the smallest program so far, which is counted. */
tried_t shrinking_try_again(shrinking_t* s);
/* Returns whether it is defined, in time, and shows it: then it is the smallest. */
bool shrinking_keep(shrinking_t* s, const litmus_program_t* program);

/* ways.c: returns how many ways there are; each of PyTorch's runs takes milliseconds. */
unsigned ways_count(const shrinking_t* s);
void ways_take(shrinking_t* s, unsigned way);
/* Gives calls less time than the user does. */
void ways_hurry(shrinking_t* s);
/* A device may do other things behind an error, for good: in a process of its own there was none.
   */
void ways_put_mistake_before(shrinking_t* s);
/* Finds a way that shows it, or another ending; returns false where there is none. */
bool ways_find(shrinking_t* s);
/* A program of few calls is sooner over than the one that was found, and shows it more often or
   less: the way is looked for once more. */
void ways_find_again(shrinking_t* s);

/* replay.c: says how often the smallest program shows it, in the way that shows it most. `shown`:
   it was seen again. */
void replay(shrinking_t* s, bool shown);

/* late.c: returns whether the value may be what memory held before the calls, or will hold. */
bool late_may_be(const shrinking_t* s);
/* Returns whether it is right behind a wait for all, and for no other reason. */
bool late_is_mended(shrinking_t* s);

#endif /* TBK_HARNESS_LITMUS_SHRINKING_H */
