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
  struct pollfd* fds;
  pid_t* kept; /* children that are not ours to kill: those we were started with, and keepers */
  size_t foreign_count;
  tbk_work_fn work;
  uint64_t watched_ns;
} tbk_loop_t;

/* The signal that asked the run to end; 0 for none. */
int tbk_loop_interrupted(void);
/* Waits, and is woken up by a signal. */
void tbk_loop_pause(uint32_t milliseconds);

/* How many slots the limit of open files allows. */
uint32_t tbk_loop_most_slots(void);
bool tbk_loop_start(tbk_loop_t* loop, tbk_journal_t* journal, uint32_t count, tbk_work_fn work);
/* Waits for something to happen in a busy slot, and lets it happen. */
void tbk_loop_pump(tbk_loop_t* loop);
/* A slot without a job, with a keeper; NULL where there is none. */
tbk_slot_t* tbk_loop_idle(tbk_loop_t* loop);
uint32_t tbk_loop_busy(const tbk_loop_t* loop);
/* Runs one job to its end; other slots go on meanwhile. The handlers of `slot` are called. */
void tbk_loop_finish(tbk_loop_t* loop, tbk_slot_t* slot);
/* Kills everything and waits until it is gone. */
void tbk_loop_stop(tbk_loop_t* loop);

#endif /* TBK_HARNESS_LOOP_H */
