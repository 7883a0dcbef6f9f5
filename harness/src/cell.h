/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cell.h: memory that the processes of one slot share. A test process maps the page that it writes
 * and no other, so what it scribbles over is its own; the supervisor trusts nothing that it reads
 * there further than for blame.
 */
#ifndef TBK_HARNESS_CELL_H
#define TBK_HARNESS_CELL_H

#include <stdint.h>

#include "crash_stack.h"
#include "trace.h"

enum { TBK_PAGE_SIZE = 4096 };

/* Written by the test process. */
typedef struct tbk_cell {
  volatile int32_t phase;     /* tbk_phase_t of the test in flight */
  volatile int32_t position;  /* in the job: which test is in flight */
  tbk_trace_t trace;          /* the calls of the test in flight */
  char stack[TBK_STACK_TEXT]; /* of the crash that ended the process */
} tbk_cell_t;

#endif /* TBK_HARNESS_CELL_H */
