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

/* model.c: what calls are made of. A node; a place, which is a cell's, or -1: nobody's. */
int litmus_new_node(litmus_model_t* model, int call);
int litmus_new_place(litmus_model_t* model, int cell);
void litmus_add_edge(litmus_model_t* model, int from, int to, litmus_edge_t kind);
void litmus_set_reads(litmus_model_t* model, int node, int place);
void litmus_set_writes(litmus_model_t* model, int node, int place);
/* What the node finds in the place is looked at, by the call of that id. */
void litmus_look(litmus_model_t* model, int node, int place, int call_id);
/* A node of the host itself: later calls come after it. */
int litmus_host_node(litmus_model_t* model, int call);
/* What the call's thread knows to be complete happens before the node. */
void litmus_add_host_edges(litmus_model_t* model, int node);
/* A node of work on a stream; or, where that is NULL, one that is complete when the call returns. */
int litmus_work_node(litmus_model_t* model, int call, int stream);
/* `node` gives a cell memory that holds what nobody knows. */
void litmus_add_fresh(litmus_model_t* model, int node, int cell, bool begins);

/* model_torch.c: adds a call that PyTorch has in another way; false: it is as in tbk.h. */
bool litmus_model_add_torch(litmus_model_t* model, int index, const litmus_call_t* call);

/* defined.c: returns whether the call may be made now. */
bool litmus_is_defined(const litmus_model_t* model, const litmus_call_t* call);

/* legal.c: returns those nodes of the set that write, or read, the part that the model is of now. */
litmus_set_t litmus_of_part(const litmus_model_t* model, const litmus_set_t* set);

#endif /* TBK_LITMUS_SETS_H */
