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

/* defined.c: returns whether the call may be made now. */
bool litmus_is_defined(const litmus_model_t* model, const litmus_call_t* call);

/* legal.c: fills in what nodes and reads may see, once all nodes are there. */
void litmus_model_read(litmus_model_t* model);

#endif /* TBK_LITMUS_SETS_H */
