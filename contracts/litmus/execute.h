/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * execute.h: runs programs on a library, through the tables of tbk.h and nothing else.
 */
#ifndef TBK_LITMUS_EXECUTE_H
#define TBK_LITMUS_EXECUTE_H

#include "contract.h"
#include "generate.h"
#include "judge.h"

typedef enum litmus_outcome {
  LITMUS_RIGHT,
  LITMUS_WRONG,      /* something that was seen is not legal */
  LITMUS_REFUSED,    /* a call answered something that no clause allows here */
  LITMUS_MISCOUNTED, /* a callback did not run once */
  LITMUS_STUCK,      /* what was asked again and again did not become complete */
  LITMUS_CRASHED,    /* the process died; only its parent can say so */
  LITMUS_HUNG,       /* a call did not return; likewise */
  LITMUS_NO_ROOM /* the device has no memory, or a kernel no way, for this one: nothing is said */
} litmus_outcome_t;

typedef struct litmus_result {
  litmus_outcome_t outcome;
  litmus_wrong_t wrong;
  uint64_t answered;
  int32_t call; /* where it ended, of REFUSED and later ones; -1: before the first, or the end */
  tbk_status_t status;
  char message[200];
} litmus_result_t;

/* Where a program stands, in memory that the parent sees. */
typedef struct litmus_progress {
  volatile uint64_t steps; /* goes up by each call */
  volatile int32_t call;
  uint64_t patience_ns;         /* how long something is asked again and again */
  uint64_t opening_ns;          /* how long whoever has an exclusive device is waited for */
  volatile uint64_t refused_ns; /* how long that was until now */
  volatile uint32_t is_refused; /* somebody had it when it was asked last */
  volatile uint32_t weight; /* so many times as long may calls of this program take; 0: not known */
} litmus_progress_t;

typedef struct litmus_runner litmus_runner_t;

/*
 * Opens the library's devices. Returns NULL, with a line that says why and what tbk_load_result_t
 * or, where that is OK, tbk_status_t it was.
 */
litmus_runner_t* litmus_runner_open(const char* path, const char* options,
                                    litmus_progress_t* progress, char* out_reason,
                                    size_t reason_size, int* out_load, int* out_status);
void litmus_runner_close(litmus_runner_t* runner);
/* What it offers; false where it has no streams or no events. */
bool litmus_runner_offers(const litmus_runner_t* runner, litmus_offers_t* out_offers);
/* Runs a program that is defined; *out_seen is valid until the next run. */
void litmus_run(litmus_runner_t* runner, const litmus_program_t* program,
                litmus_result_t* out_result, litmus_seen_t* out_seen);
/* Judges what it saw, and fills `model` in. `is_grown`: litmus_generate has made both, and nothing but
   this function may use the model between. */
void litmus_result_judge(const litmus_program_t* program, const litmus_seen_t* seen,
                         litmus_result_t* result, litmus_model_t* model, bool is_grown);

#endif /* TBK_LITMUS_EXECUTE_H */
