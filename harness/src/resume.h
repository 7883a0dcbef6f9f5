/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * resume.h: what an interrupted run has left in its result file.
 */
#ifndef TBK_HARNESS_RESUME_H
#define TBK_HARNESS_RESUME_H

#include "plan.h"
#include "verdict.h"

typedef struct tbk_resume {
  bool has_header;      /* else the file is empty, or torn in its first line: start afresh */
  bool complete;        /* its last line is the footer of a run that reached its end */
  uint64_t size;        /* bytes to keep: header and records that are whole */
  uint32_t kept;        /* records */
  tbk_exit_t exit_code; /* of the footer */
  char reason[256];     /* not empty: this is the file of another run, and why */
} tbk_resume_t;

/*
 * Reads `path`; marks items that have a record in `recorded` (one byte an item), counts them in
 * `ledger`, and notes the first verdict of each test in `first` (1 + verdict). Records of tests that
 * were not reached, or left out, are dropped, with all that follows: they are run now.
 */
void tbk_resume_read(tbk_resume_t* resume, const char* path, const tbk_options_t* options,
                     const tbk_run_plan_t* plan, unsigned char* recorded, unsigned char* first,
                     tbk_ledger_t* ledger);

#endif /* TBK_HARNESS_RESUME_H */
