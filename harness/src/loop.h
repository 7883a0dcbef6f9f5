/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * loop.h: all slots, and waiting for what they have to say.
 */
#ifndef TBK_HARNESS_LOOP_H
#define TBK_HARNESS_LOOP_H

#include "slot.h"

typedef struct tbk_loop {
  tbk_slot_t* slots;
  uint32_t count;
  uint32_t jobs; /* slots that may be busy at a time; in the others the next worker is made ready */
  struct pollfd* fds;
  pid_t* kept; /* children that are not ours to kill: those we were started with, and launchers */
  size_t foreign_count;
  const tbk_launchers_t* launchers;
  uint64_t watched_ns;
} tbk_loop_t;

/* Returns the signal that asked the run to end; 0 for none. */
int tbk_loop_interrupted(void);
/* Waits, and is woken up by a signal. */
void tbk_loop_pause(uint32_t milliseconds);

/*
 * How many slots `jobs` need, and the limit of open files allows: two for each, so that the next
 * worker is forked while the last one works.
 */
uint32_t tbk_loop_slots(uint32_t jobs);
bool tbk_loop_start(tbk_loop_t* loop, tbk_journal_t* journal, uint32_t jobs,
                    const tbk_launchers_t* launchers);
/* Ends all launchers; the next job starts one afresh. No slot is busy. */
void tbk_loop_renew(tbk_loop_t* loop);
/* Waits for something to happen in a busy slot, and lets it happen. */
void tbk_loop_pump(tbk_loop_t* loop);
/*
 * Returns a slot without a job, with a launcher: that which has been idle for longest. NULL where there is
 * none, or as many are busy as may be.
 */
tbk_slot_t* tbk_loop_idle(tbk_loop_t* loop);
uint32_t tbk_loop_busy(const tbk_loop_t* loop);
/* Runs one job to its end; other slots go on meanwhile. The handlers of `slot` are called. */
void tbk_loop_finish(tbk_loop_t* loop, tbk_slot_t* slot);
/* Kills everything and waits until it is gone. */
void tbk_loop_stop(tbk_loop_t* loop);

#endif /* TBK_HARNESS_LOOP_H */
