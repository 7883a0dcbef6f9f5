/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * resume.h: what an interrupted run has left in its result file.
 */
#ifndef TBK_HARNESS_RESUME_H
#define TBK_HARNESS_RESUME_H

#include "digest.h"
#include "plan.h"
#include "verdict.h"

typedef struct tbk_resume {
  bool has_header;      /* else the file is empty, or torn in its first line: start afresh */
  bool complete;        /* its last line is the footer of a run that reached its end */
  char* lines;          /* to keep: header and records, whole lines */
  size_t size;          /* bytes of them */
  bool scattered;       /* they are not the beginning of the file: others stand between */
  bool untidy;          /* beside them and the footer something else is in the file */
  uint32_t kept;        /* records */
  char lost[512];       /* not empty: the device was lost, as the footer said */
  tbk_exit_t exit_code; /* as the footer states it, */
  bool sick;            /* that the device was not sound, */
  bool fits;            /* its counts are those of the records, */
  char digest[TBK_DIGEST_SIZE]; /* and what the lines before it come to */
  char* footer;                 /* its line, without the end */
  char reason[256];             /* not empty: this is the file of another run, and why */
} tbk_resume_t;

/*
 * Reads `path`; marks items that have a record in `recorded` (one byte an item), counts them in
 * `ledger`, and notes the first verdict of each test in `first` (1 + verdict). Records of tests that
 * were not reached, or left out, are dropped: they are run now. All others stay, a failure above all.
 */
void tbk_resume_read(tbk_resume_t* resume, const char* path, const tbk_options_t* options,
                     const tbk_run_plan_t* plan, unsigned char* recorded, unsigned char* first,
                     tbk_ledger_t* ledger);

/* Frees what reading has taken; the rest of it stays as it is. */
void tbk_resume_free(tbk_resume_t* resume);

#endif /* TBK_HARNESS_RESUME_H */
