/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * keeper.h: the process between the supervisor and a test, one for each slot. It has loaded nothing
 * of the backend, so that forking it is cheap and clean. It starts one worker at a time in a session
 * of its own, kills it with all its descendants on request, when it stops, or when the supervisor is
 * gone, and reports how it ended. A worker that kills its parent hits this process.
 */
#ifndef TBK_HARNESS_KEEPER_H
#define TBK_HARNESS_KEEPER_H

#include "cell.h"

#include <stdint.h>

enum {
  TBK_JOB_MAX = 768 /* tests in one job: their numbers fit in a page of the journal */
};

typedef enum tbk_order_kind {
  TBK_ORDER_TESTS = 1, /* run `items`, in one process */
  TBK_ORDER_PREFLIGHT, /* argument: TBK_SKIP_*, stages to leave out */
  TBK_ORDER_HEALTH,
  TBK_ORDER_KILL /* argument: milliseconds between SIGTERM and SIGKILL; 0: SIGKILL at once */
} tbk_order_kind_t;

enum { TBK_SKIP_PROBE = 1 << 0, TBK_SKIP_HEALTH = 1 << 1 };

/* What the supervisor sends; only `count` of the items cross. */
typedef struct tbk_order {
  int32_t kind;
  uint32_t argument;
  int32_t gate; /* tbk_gate_kind_t, as probed */
  int32_t wait_blocks;
  int32_t watch_health; /* probe in the process, now and then and at its end */
  int32_t held_known;
  uint64_t held; /* the needs that hold, as probed */
  uint32_t count;
  uint32_t items[TBK_JOB_MAX]; /* indices into the plan */
} tbk_order_t;

/* What the keeper answers when the worker and all it left behind are gone. */
typedef struct tbk_notice {
  int32_t wait_status;
  int32_t stop_signal; /* not 0: it was stopped by this, and killed therefore */
  uint32_t strays;
  uint32_t zero;
  uint64_t wall_ns;
} tbk_notice_t;

/* Runs in the worker; must end the process. */
typedef void (*tbk_work_fn)(const tbk_order_t* order, tbk_cell_t* cell, int report);

typedef struct tbk_keeper {
  int control; /* SOCK_SEQPACKET, to the supervisor */
  int report;  /* written by workers */
  int output;  /* stdout and stderr of workers */
  tbk_cell_t* cell;
  tbk_keeper_page_t* page;
  tbk_work_fn work;
} tbk_keeper_t;

/* Never returns; ends when the other end of `control` is closed. */
_Noreturn void tbk_keeper_run(const tbk_keeper_t* keeper);

#endif /* TBK_HARNESS_KEEPER_H */
