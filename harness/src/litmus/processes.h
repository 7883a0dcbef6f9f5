/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * processes.h: a run as several processes, each with programs of its own: what one of them has and
 * another has not, such as where memory lies or which thread came first, differs from one to the next.
 */
#ifndef TBK_HARNESS_LITMUS_PROCESSES_H
#define TBK_HARNESS_LITMUS_PROCESSES_H

#include "hunt.h"
#include "sure.h"

enum { MOST_PROCESSES = 512 };

typedef struct processes {
  size_t count;        /* that ran programs */
  size_t found_in;     /* that found something */
  uint64_t opening_ns; /* what a process takes besides its programs, all of them together */
  sure_process_t edges[LITMUS_EDGES][MOST_PROCESSES];
} processes_t;

/* Runs a range in up to `most` processes, one after the other. Those of a number of programs get the
   same number each; of a time the first gets half, for what takes long to come, and the others what is
   left, each at least as much as keeps what starting costs small. */
hunt_state_t processes_hunt(const hunt_subject_t* subject, const hunt_range_t* range, size_t most,
                            hunt_shared_t* shared, processes_t* out);

#endif /* TBK_HARNESS_LITMUS_PROCESSES_H */
