/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * launcher.h: the process between the supervisor and a test, one for each slot. It has loaded nothing
 * of the backend, so that forking it is cheap and clean. It has one worker at a time, in a process
 * group of its own, forked before there is work for it: a worker waits for its one order, and has
 * touched nothing of the backend until that comes. The launcher kills it with all its descendants on
 * request, when it stops, or when the supervisor is gone, reports how it ended, and forks the next.
 * A worker that kills its parent hits this process.
 *
 * Launchers of the C worker are forks of the supervisor. Those of the PyTorch worker are forks of a
 * fork server (fork_server.h), which has imported PyTorch and collected the tests; they run this same loop
 * out of libtbk_launcher.so (shared_launcher.c).
 */
#ifndef TBK_HARNESS_LAUNCHER_H
#define TBK_HARNESS_LAUNCHER_H

#include "cell.h"
#include "needs.h"

#include <stdint.h>

enum {
  TBK_JOB_MAX = 768, /* tests in one job: their numbers fit in a page of the journal */
  TBK_LAUNCHER_REPORT = 4
};

typedef enum tbk_order_kind {
  TBK_ORDER_TESTS = 1, /* run `items`, in one process; argument: TBK_LEAVE_AT_ONCE */
  TBK_ORDER_PREFLIGHT, /* argument: TBK_SKIP_*, or of the PyTorch worker, TBK_TORCH_* */
  TBK_ORDER_HEALTH
} tbk_order_kind_t;

/* Of tests in the PyTorch worker: it leaves at once, and does not end as an interpreter does. */
enum { TBK_LEAVE_AT_ONCE = 1 << 0 };

enum { TBK_SKIP_PROBE = 1 << 0, TBK_SKIP_HEALTH = 1 << 1 }; /* stages to leave out */

enum {
  TBK_TORCH_BASICS = 0, /* what would make all else meaningless */
  TBK_TORCH_WARMTH,     /* may a process fork that has imported the device's module? */
  TBK_TORCH_WORDS       /* capabilities, from the (argument - TBK_TORCH_WORDS)th on */
};

/* What the supervisor gives to the worker that waits. */
typedef struct tbk_order {
  int32_t kind;
  uint32_t argument;
  int32_t gate; /* tbk_gate_kind_t, as probed */
  int32_t wait_blocks;
  int32_t watch_health; /* probe in the process, now and then and at its end */
  int32_t held_known;
  uint32_t key;        /* of this job alone: each line of its worker begins with it */
  tbk_need_set_t held; /* the needs that hold, as probed */
  uint32_t count;
  uint32_t items[TBK_JOB_MAX]; /* indices into the plan */
} tbk_order_t;

/*
 * Shared by supervisor, launcher and the worker that waits, which unmaps it with its order in hand,
 * before it touches anything of the backend.
 */
typedef struct tbk_launcher_page {
  volatile int32_t pid;   /* of the worker; 0 for none */
  volatile int32_t begun; /* the worker has its order */
  int32_t ordered;        /* a futex; set when `order` is whole */
  tbk_order_t order;
} tbk_launcher_page_t;

_Static_assert(sizeof(tbk_launcher_page_t) <= TBK_PAGE_SIZE, "an order fits in the page");

/* What the supervisor sends to the launcher. */
typedef struct tbk_kill {
  uint32_t job; /* 1 for the first order of this launcher; another than the present is ignored */
  uint32_t grace_ms; /* between SIGTERM and SIGKILL; 0: SIGKILL at once */
} tbk_kill_t;

/* What the launcher answers when the worker that took an order, and all it left behind, are gone. */
typedef struct tbk_notice {
  int32_t wait_status;
  int32_t stop_signal; /* not 0: it was stopped by this, and killed therefore */
  uint32_t strays;
  uint32_t changed; /* not 0: what the worker has changed about the launcher, which leaves */
} tbk_notice_t;

/* What runs in the worker. Any of it may be NULL. */
typedef struct tbk_worker {
  void (*get_ready)(void); /* while there is no order yet; touches nothing of the backend */
  /* Ends the process. NULL: tbk_launcher_run returns in the worker, which goes on from there. */
  void (*work)(const tbk_order_t* order, tbk_cell_t* cell, int report);
  /* Around each fork, for an interpreter that wants to know of it. */
  void (*before_fork)(void);
  void (*after_fork_in_launcher)(void);
  void (*after_fork_in_worker)(void);
} tbk_worker_t;

typedef struct tbk_launcher {
  int control; /* SOCK_SEQPACKET, to the supervisor */
  int report;  /* written by workers */
  int output;  /* stdout and stderr of workers */
  tbk_cell_t* cell;
  tbk_launcher_page_t* page;
  const tbk_worker_t* worker;
} tbk_launcher_t;

/* Lets the waiting worker begin. The page must hold no order. */
void tbk_launcher_order(tbk_launcher_page_t* page, const tbk_order_t* order);

/*
 * Returns in a worker only, with its order in hand, and only where the worker has no `work`. The
 * launcher ends when the other end of `control` is closed. On return the report descriptor is
 * TBK_LAUNCHER_REPORT.
 */
const tbk_order_t* tbk_launcher_run(const tbk_launcher_t* launcher);

#endif /* TBK_HARNESS_LAUNCHER_H */
