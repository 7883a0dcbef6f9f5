/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * slot.h: the supervisor's side of one launcher. A slot runs one job at a time: one test, many tests
 * in one process, or a probe. It turns what arrives on three descriptors into outcomes, and it owns
 * the deadline.
 */
#ifndef TBK_HARNESS_SLOT_H
#define TBK_HARNESS_SLOT_H

#include "journal.h"
#include "patience.h"
#include "verdict.h"

#include <jansson.h>
#include <poll.h>

enum { TBK_SLOT_FDS = 3 };

typedef struct tbk_limits {
  uint64_t first_ns; /* until the first test of a job has ended: loads and opens too */
  uint64_t next_ns;  /* of each later one */
  uint64_t memory;   /* bytes, resident */
  uint32_t grace_ms; /* between SIGTERM and SIGKILL */
  bool brief;        /* the deadline is a small part of a budget: who passes it may be sound */
  uint32_t hangs;    /* not 0: so many tests hung that this one's deadline is cut */
} tbk_limits_t;

struct tbk_slot;
/* Called for each test of a job that is over, in the order of the job; `position` in the job. */
typedef void (*tbk_on_outcome_fn)(void* context, struct tbk_slot* slot, uint32_t position,
                                  const tbk_outcome_t* outcome);

/* Called for each object that a worker says beside the ends of tests. */
typedef void (*tbk_on_said_fn)(void* context, struct tbk_slot* slot, const json_t* object);

/* The launcher's ends, for one that does not inherit them. */
typedef struct tbk_launcher_ends {
  int control, report, output;
  int page;    /* a file with the page */
  int cells;   /* a file with the cell, */
  uint64_t at; /* in bytes from its beginning */
} tbk_launcher_ends_t;

/* Where launchers come from. */
typedef struct tbk_launchers {
  const tbk_worker_t* worker;                     /* they are forks of the supervisor; NULL: */
  pid_t (*make)(const tbk_launcher_ends_t* ends); /* makes a child of the supervisor; 0: cannot */
  pid_t (*maker)(void); /* the process in which they are made, a child too; 0: none now */
} tbk_launchers_t;

typedef struct tbk_slot {
  uint32_t number;
  pid_t launcher;     /* 0: none */
  bool lost_launcher; /* it died, and what was below it may live */
  uint32_t job;       /* of this launcher; 1 for the first */
  int control, report, output;
  tbk_launcher_page_t* page;
  int page_file;
  tbk_journal_t* journal;
  tbk_limits_t limits;
  tbk_on_outcome_fn on_outcome; /* who started the job; may be NULL */
  tbk_on_said_fn on_said;       /* may be NULL */
  void* context;

  bool busy;
  uint64_t idle_since_ns;
  tbk_order_t order;
  uint32_t ended; /* tests of the job whose "end" came */
  uint64_t test_started_ns, deadline_ns;
  uint64_t limit_ns;     /* of the test in flight, from its last check on */
  uint64_t kills;        /* as of tbk_limit_kills, when it began */
  uint32_t lent;         /* how often it was lent time in which the whole run stood still */
  uint32_t checks;       /* that it had made when that was last looked at */
  uint64_t kill_sent_ns; /* 0: not killed */
  tbk_patience_t patience;
  tbk_outcome_t outcome; /* of the test in flight; of the process in a probe */
  json_t* said;          /* objects of a probe */
  char line[16384];
  size_t line_size;
  bool line_too_long;
} tbk_slot_t;

/* Starts the launcher. False where no process or descriptor is to be had. */
bool tbk_slot_start(tbk_slot_t* slot, const tbk_launchers_t* launchers);
/* Lets a job go; on_outcome is called until `busy` is false again. */
void tbk_slot_run(tbk_slot_t* slot, const tbk_order_t* order, const tbk_limits_t* limits);
/* Kills the job in flight; its outcome says `end`. */
void tbk_slot_kill(tbk_slot_t* slot, tbk_end_t end);
/* Descriptors to wait for. */
void tbk_slot_poll(const tbk_slot_t* slot, struct pollfd fds[TBK_SLOT_FDS]);
/* Reads what is there. */
void tbk_slot_read(tbk_slot_t* slot, const struct pollfd fds[TBK_SLOT_FDS]);
/* Kills what is past its deadline or above its memory. Call it now and then. */
void tbk_slot_watch(tbk_slot_t* slot, uint64_t now_ns);
/* Moves the deadline by the part of the last `ns` in which the job ran and nobody watched. */
void tbk_slot_lend(tbk_slot_t* slot, uint64_t now_ns, uint64_t ns);
/* Ends the launcher and all below it. */
void tbk_slot_stop(tbk_slot_t* slot);

#endif /* TBK_HARNESS_SLOT_H */
