/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shrink.h: the smallest program that still shows what was found.
 */
#ifndef TBK_HARNESS_LITMUS_SHRINK_H
#define TBK_HARNESS_LITMUS_SHRINK_H

#include "hunt.h"

typedef struct shrunk {
  litmus_program_t program;
  litmus_result_t result; /* of the last run that showed it */
  uint32_t calls_before;
  bool needs_threads;      /* one thread that makes the same calls did not show it */
  bool begins_late;        /* a wait before the first call mends it */
  unsigned shown, replays; /* how often the smallest program showed it, of how many runs */
  unsigned repeats;        /* at most so many times within each process */
  unsigned processes;      /* at most so many for each run */
} shrunk_t;

/* Takes calls out, a few at a time, for as long as the rest is defined and shows the same,
   and `seconds` at most. */
void shrink(const hunt_subject_t* subject, const litmus_program_t* program,
            const litmus_result_t* result, double seconds, shrunk_t* out_shrunk);

#endif /* TBK_HARNESS_LITMUS_SHRINK_H */
