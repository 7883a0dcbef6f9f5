/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sure.h: what a run excludes of one kind of edge, clustered by process. Controls, which are programs
 * without such an edge, say how many programs would have shown that it is gone, and in which processes.
 */
#ifndef TBK_HARNESS_LITMUS_SURE_H
#define TBK_HARNESS_LITMUS_SURE_H

#include <stddef.h>
#include <stdint.h>

/* Of one process: programs that were looked at for an edge, and controls that showed its loss. */
typedef struct sure_process {
  uint64_t tried, shown;
} sure_process_t;

typedef struct sure {
  double
      one_in; /* that every process breaks one of so many edges would have been seen; 0: nothing */
  double share;        /* and so, that this share of processes does; 1: only if all do */
  double share_one_in; /* where these break one of so many edges */
} sure_t;

/* Returns the lower end of the rate at which programs show it (95 %, one side): of independent
   programs, or of as few as the differences between processes say that they are worth. */
double sure_rate(const sure_process_t* processes, size_t count);
/* Returns the chance that nothing is seen where each process has a fault with a chance of `share`, and
   then breaks one of `one_in` edges; `programs`: of all processes. */
double sure_miss(const sure_process_t* processes, size_t count, uint64_t programs, double share,
                 double one_in);
/* Returns what would have been missed with a chance of `miss` at most. */
sure_t sure_of(const sure_process_t* processes, size_t count, uint64_t programs, double miss);

#endif /* TBK_HARNESS_LITMUS_SURE_H */
