/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * verdict.h: what a test came to, from what was seen of it; and what a run came to.
 */
#ifndef TBK_HARNESS_VERDICT_H
#define TBK_HARNESS_VERDICT_H

#include "contract.h"
#include "crash_stack.h"
#include "enough.h"
#include "options.h"
#include "trace.h"

/* X(name, text, fails the run), from best to worst. */
#define TBK_VERDICT_MAP(X)         \
  X(PASS, "pass", 0)               \
  X(XFAIL, "xfail", 0)             \
  X(UNSUPPORTED, "unsupported", 0) \
  X(LEFT_OUT, "left-out", 0)       \
  X(NOT_SHOWN, "not-shown", 0)     \
  X(WARNING, "warning", 0)         \
  X(XPASS, "xpass", 1)             \
  X(NOT_REACHED, "not-reached", 1) \
  X(POISONED, "poisoned", 1)       \
  X(POLLUTED, "polluted", 1)       \
  X(UNSTABLE, "unstable", 1)       \
  X(FAIL, "fail", 1)               \
  X(HANG, "hang", 1)               \
  X(CRASH, "crash", 1)             \
  X(SUITE_ERROR, "suite-error", 1)

typedef enum tbk_verdict {
#define TBK_VERDICT_ENUM(name, text, fails) TBK_VERDICT_##name,
  TBK_VERDICT_MAP(TBK_VERDICT_ENUM)
#undef TBK_VERDICT_ENUM
      TBK_VERDICT_COUNT
} tbk_verdict_t;

const char* tbk_verdict_name(tbk_verdict_t verdict);
/* TBK_VERDICT_COUNT for a word that is none. */
tbk_verdict_t tbk_verdict_of(const char* name);
bool tbk_verdict_fails(tbk_verdict_t verdict);

/* Why a worker is no more, when it did not end by itself. */
typedef enum tbk_end {
  TBK_END_ITSELF = 0, /* exited, or died of a signal that the harness did not send */
  TBK_END_DEADLINE,
  TBK_END_CUT_SHORT, /* at a deadline that was cut, because others hung */
  TBK_END_BUDGET,    /* at a deadline that a small budget left */
  TBK_END_STOPPED,   /* by a signal such as SIGSTOP */
  TBK_END_MEMORY,
  TBK_END_PROCESSES,        /* it started more than TBK_PROCESSES_MAX */
  TBK_END_LAUNCHER_DIED,    /* the launcher was killed, and the worker with it */
  TBK_END_LAUNCHER_STOPPED, /* the launcher was, so that nobody told of the worker's end */
  TBK_END_UNKILLABLE,       /* did not die of SIGKILL in time */
  TBK_END_NOT_STARTED,      /* the harness had no process for it */
  TBK_END_INTERRUPTED       /* the run was */
} tbk_end_t;

enum { TBK_PROCESSES_MAX = 512 }; /* below one test */
enum { TBK_OUTPUT_HEAD = 1024, TBK_OUTPUT_MAX = 4096, TBK_FACTS_MAX = 8192 };

/* All that is known of one execution of one test. */
typedef struct tbk_outcome {
  tbk_case_report_t report;
  bool ended;      /* its "end" came */
  bool done;       /* the worker gave everything back */
  bool unheard;    /* a later test of its process ended, and no valid "end" of this one came */
  bool in_batch;   /* the worker went on with other tests */
  bool left_early; /* the worker ended by itself before it began this test */
  bool between;    /* the worker ended before it began this test, and after an earlier one */
  tbk_end_t end;   /* of the worker, where it was not in_batch */
  int wait_status; /* as of waitpid; of its launcher, where that died */
  int stop_signal;
  tbk_phase_t phase; /* in which the worker died */
  uint64_t wall_ns;
  uint64_t waited_ns;    /* that a test past its deadline could have run and was not let */
  uint64_t memory_bytes; /* at TBK_END_MEMORY */
  uint32_t hangs_before; /* at TBK_END_CUT_SHORT */
  uint64_t noise;        /* bytes on the report descriptor that are no line of the worker */
  uint32_t strays;       /* processes that it left behind */
  bool no_memory;        /* the kernel killed a process, which may be it, for want of memory */
  bool changed_limits;   /* of the process that started it */
  int32_t last_call;     /* as tbk_trace_t, where the worker did not finish the test; 0: none */
  char sweep_case[TBK_TRACE_CASE]; /* that ran then; empty: none */
  char stack[TBK_STACK_TEXT];      /* where it crashed; empty: not known */
  uint64_t output_bytes;
  size_t output_size;
  size_t facts_size;
  char output[TBK_OUTPUT_MAX]; /* its first TBK_OUTPUT_HEAD bytes, then the last of it */
  char facts[TBK_FACTS_MAX];   /* a JSON object, of facts_size bytes; 0: none */
} tbk_outcome_t;

typedef struct tbk_classification {
  tbk_verdict_t verdict;
  const char* needs_missing;
  const char* blame; /* "backend", "harness", "suite", "unclear"; NULL: nobody */
  tbk_phase_t phase;
  int signal;       /* 0 for none */
  int exit_status;  /* -1 for none */
  char call[48];    /* the function that was called last before it went wrong; empty for none */
  char checked[12]; /* the clause of the check that failed first; empty: the test's own */
  char cause[160];
  char expected[256];
  char seen[640];
  char notes[640];
  char limit[TBK_LIMIT_WORDS]; /* that may be behind it; empty: none */
  char replay[2048];           /* empty: the test alone */
} tbk_classification_t;

void tbk_classify(const tbk_outcome_t* outcome, tbk_classification_t* out);

typedef struct tbk_ledger {
  uint64_t planned;
  uint64_t counts[TBK_VERDICT_COUNT];
} tbk_ledger_t;

uint64_t tbk_ledger_recorded(const tbk_ledger_t* ledger);
/* TBK_EXIT_PASS, _FINDINGS, or _SUITE where the sums do not add up or the suite is at fault. */
tbk_exit_t tbk_ledger_exit(const tbk_ledger_t* ledger);

#endif /* TBK_HARNESS_VERDICT_H */
