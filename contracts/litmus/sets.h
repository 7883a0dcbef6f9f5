/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sets.h: what the files of the model share.
 */
#ifndef TBK_LITMUS_SETS_H
#define TBK_LITMUS_SETS_H

#include "model.h"

enum { LITMUS_SET_WORDS = LITMUS_NODES / 64 };

static inline void litmus_set_add(litmus_set_t* set, int node) {
  set->bits[node / 64] |= UINT64_C(1) << node % 64;
}

static inline void litmus_set_join(litmus_set_t* set, const litmus_set_t* other) {
  for (int i = 0; i < LITMUS_SET_WORDS; i++)
    set->bits[i] |= other->bits[i];
}

/* Returns whether all of `set` is in `other`. */
static inline bool litmus_set_within(const litmus_set_t* set, const litmus_set_t* other) {
  uint64_t outside = 0;
  for (int i = 0; i < LITMUS_SET_WORDS; i++)
    outside |= set->bits[i] & ~other->bits[i];
  return outside == 0;
}

/* hosts.c: lets the thread of call `index` hear of those that returned before it. */
void litmus_hear(litmus_model_t* model, int index);
/* Notes call `index`, once it is there. */
void litmus_touch(litmus_model_t* model, int index);
/* Returns whether no other thread may use at the same time what the call uses or puts in place. */
bool litmus_is_handed_over(const litmus_model_t* model, const litmus_call_t* call);
/* Returns what a thread knows to be complete. */
litmus_set_t litmus_known(const litmus_model_t* model, int thread);
/* Finds the last work on a stream that a thread knows of, one node for each thread that enqueued. */
unsigned litmus_stream_tails(const litmus_model_t* model, int stream, int thread,
                             int16_t out[LITMUS_THREADS]);

/* defined.c: returns whether the call may be made now. */
bool litmus_is_defined(const litmus_model_t* model, const litmus_call_t* call);

/* legal.c: returns those nodes of the set that write, or read, the part that the model is of now. */
litmus_set_t litmus_of_part(const litmus_model_t* model, const litmus_set_t* set);

#endif /* TBK_LITMUS_SETS_H */
