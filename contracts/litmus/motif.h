/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * motif.h: short series of calls in which an edge matters: one writes, something orders, another
 * reads. Calls that are drawn one by one seldom come to that. Several motifs are woven into a
 * program, with other calls between theirs.
 */
#ifndef TBK_LITMUS_MOTIF_H
#define TBK_LITMUS_MOTIF_H

#include "generate.h"

typedef struct litmus_motif {
  const char* rest; /* of the series; empty: it is over */
  int8_t streams[3], events[2];
  int8_t cell, other;
  int8_t slot;
  uint8_t mark;
  uint8_t thread; /* that ends, in series in which one does */
} litmus_motif_t;

/* Draws what the series `text` is about; as long as it goes on, the text stays. */
litmus_motif_t litmus_motif_of(const litmus_program_t* program, const char* text, uint64_t* random);
/* Draws a series that the program has room for, and what it is about. */
litmus_motif_t litmus_motif_draw(const litmus_program_t* program, uint64_t* random);
/* Draws a call for the next step; another one each time. The caller goes on with litmus_motif_step. */
litmus_call_t litmus_motif_call(const litmus_motif_t* motif, uint64_t* random);
/* Returns the stream of its next call. */
int8_t litmus_motif_stream(const litmus_motif_t* motif);
void litmus_motif_step(litmus_motif_t* motif);

/* Some programs have a call that is refused and changes nothing: behind an error a device may do other
   things. Returns its id, or LITMUS_CALLS for none; what else is drawn does not depend on it. */
unsigned litmus_mistake_at(const litmus_program_t* program, uint64_t random, unsigned count);
litmus_call_t litmus_mistake(unsigned id);

#endif /* TBK_LITMUS_MOTIF_H */
