/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * drill.h: short programs that ask one thing: does what stands right behind an edge wait for what
 * stands right before it, at each size; and do two threads that wait at the same time both wait?
 * Calls that are drawn one by one, and motifs with others between, seldom come to that.
 */
#ifndef TBK_LITMUS_DRILL_H
#define TBK_LITMUS_DRILL_H

#include "generate.h"

/* A program that grows; the rest of `program` is the caller's. */
typedef struct litmus_drill {
  litmus_program_t* program;
  const litmus_offers_t* offers;
  litmus_model_t* model;
  uint64_t random;
} litmus_drill_t;

/* Some programs of tbk.h are drills. Fills in the program if this one is, which depends on nothing else that
   is drawn; what a device offers stands in it. */
bool litmus_drill(litmus_program_t* program, const litmus_offers_t* offers, uint64_t random,
                  litmus_model_t* out_model);

/* For drills alone. */
unsigned litmus_drill_below(litmus_drill_t* drill, unsigned limit);
/* Adds a call if it is offered and defined; one that says meanwhile is perhaps made in its turn. */
bool litmus_drill_add(litmus_drill_t* drill, litmus_call_t call);
/* Adds the calls of two threads, of which both wait at the same time. */
void litmus_drill_two(litmus_drill_t* drill);

#endif /* TBK_LITMUS_DRILL_H */
