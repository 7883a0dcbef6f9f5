/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sets.h: what the files of the model share.
 */
#ifndef TBK_LITMUS_SETS_H
#define TBK_LITMUS_SETS_H

#include "model.h"

void litmus_set_add(litmus_set_t* set, int node);
void litmus_set_join(litmus_set_t* set, const litmus_set_t* other);
/* Returns whether all of `set` is in `other`. */
bool litmus_set_within(const litmus_set_t* set, const litmus_set_t* other);

/* defined.c: returns whether the call may be made now. */
bool litmus_is_defined(const litmus_model_t* model, const litmus_call_t* call);

/* legal.c: fills in what nodes and reads may see, once all nodes are there. */
void litmus_model_read(litmus_model_t* model);

#endif /* TBK_LITMUS_SETS_H */
