/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * journal.h: which tests are in flight, on disk before they start. FILE.inflight has two pages for
 * each slot: the supervisor's, with the job, and the cell, in which the worker says where it is.
 * The kernel keeps both when every process of the run is killed. It is removed with a complete run.
 */
#ifndef TBK_HARNESS_JOURNAL_H
#define TBK_HARNESS_JOURNAL_H

#include "cell.h"
#include "launcher.h"

#include <stdbool.h>
#include <stddef.h>

/* One page; written by the supervisor. */
typedef struct tbk_flight {
  char magic[8];
  volatile uint32_t count;              /* written last; 0: nothing is in flight */
  volatile uint32_t items[TBK_JOB_MAX]; /* numbers in the plan */
} tbk_flight_t;

typedef struct tbk_journal {
  char* path; /* NULL where the results go to no regular file: then it is memory only */
  int file;   /* open as long as the journal is, for launchers that don't inherit its pages */
  uint32_t slot_count;
  tbk_flight_t** flights;
  tbk_cell_t** cells;
} tbk_journal_t;

/* Returns false, with errno, where the file can't be made. `results` NULL: memory only. */
bool tbk_journal_open(tbk_journal_t* journal, const char* results, uint32_t slot_count);
void tbk_journal_start(tbk_journal_t* journal, uint32_t slot, const tbk_order_t* order);
void tbk_journal_end(tbk_journal_t* journal, uint32_t slot);
/* Returns where the cell of `slot` is in the file, in bytes. */
uint64_t tbk_journal_cell_at(uint32_t slot);
/* Shares the cell of `slot` with the next fork, and no other page. */
void tbk_journal_share(const tbk_journal_t* journal, uint32_t slot);
void tbk_journal_remove(tbk_journal_t* journal);

/*
 * Returns the numbers in the plan of the tests that were in flight when a run of these results ended, at most
 * `capacity`; 0 where there is no journal.
 */
size_t tbk_journal_read(const char* results, uint32_t* out_items, size_t capacity);

#endif /* TBK_HARNESS_JOURNAL_H */
