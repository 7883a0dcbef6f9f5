/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * index_job.h: one call of tbk::index with fresh operands, and what has to come of it: every element that
 * may be written is held against the oracle, and everything else must stay as it was.
 */
#ifndef TBK_CONTRACTS_INDEX_JOB_H
#define TBK_CONTRACTS_INDEX_JOB_H

#include <tbk/tbk_index.h>

#include "job.h"

/* What the indices are. */
typedef enum index_draw {
  INDEX_INSIDE =
      0,     /* within their dimensions; some negative where the flag says that they may be */
  INDEX_BAD, /* some outside, also such as come inside again where 32 bits of them are looked at */
  INDEX_BAD_LAST, /* of several indices the last alone has such */
  INDEX_ONE       /* all the same */
} index_draw_t;

typedef struct index_form {
  int64_t mode;
  uint64_t flags;
  int64_t bounds, index_bits; /* index_bits 0: 64 */
  int32_t dtype, index_dtype;
  int32_t rank; /* of the space */
  int64_t sizes[TENSOR_RANK];
  int32_t table_rank;
  int64_t table_sizes[TENSOR_RANK], places[TENSOR_RANK];
  size_t index_count;
  uint32_t
      expanded[TENSOR_RANK]; /* of each index, the dimensions of the space that it has not got */
  index_draw_t draw;
  tensor_layout_t table, values, index;
  int index_alone; /* 0, or 1 + the only index that has the layout; the others are plain */
  bool report;
  int alias;     /* 0, or 1 + the index that the values of a gather are */
  job_how_t how; /* but JOB_TWICE, which is as JOB_PLAN */
  job_values_t drawn;
} index_form_t;

typedef struct index_job {
  index_form_t form;
  const tbk_kernel_t* kernel;
  tensor_t table, values, indices[TENSOR_RANK], report;
  uint8_t *table_before, *values_before;
  bool bad[TENSOR_RANK]; /* an index that was outside somewhere, by the oracle */
} index_job_t;

/* Makes the operands on the host. A test may set elements before index_ready. */
void index_make(tbk_fixture_t* fx, index_job_t* job, const index_form_t* form);
void index_ready(tbk_fixture_t* fx, index_job_t* job);
/* Writes the arguments afresh; they may be changed before index_launch. */
tbk_args_index_t* index_describe(index_job_t* job);
/* Calls the kernel's launch, and overwrites all that the arguments point to. */
tbk_status_t index_launch(tbk_fixture_t* fx, index_job_t* job, tbk_stream_t* stream);
/* Returns how the job is called. */
generic_call_t index_call(index_job_t* job);
bool index_check(tbk_fixture_t* fx, index_job_t* job, tbk_here_t here);
/* Checks that nothing has changed at all. */
bool index_check_untouched(tbk_fixture_t* fx, index_job_t* job, tbk_here_t here);
/*
 * Makes, launches as the form says and checks. A call whose dtypes and rank the device declares may not be
 * refused.
 */
#define INDEX_RUN(fx, job, form) index_run((fx), (job), (form), TBK_HERE("tbk::index"))
bool index_run(tbk_fixture_t* fx, index_job_t* job, const index_form_t* form, tbk_here_t here);
/* The same behind index_make. */
bool index_finish(tbk_fixture_t* fx, index_job_t* job, tbk_here_t here);

/* index_oracle.c: makes what may come of the call of its operands. */
typedef struct index_cell {
  int64_t count;         /* of places that go here */
  number_t first, value; /* what stood there, and what comes of it in order */
  number_t flushed;      /* the same where subnormal numbers are taken as zeros */
  long double sizes;     /* the sum of all sizes, for the bound of a sum */
} index_cell_t;
/* Returns a cell for each element of the table; sets what is bad, and, of a gather, the model of values. */
index_cell_t* index_expect(tbk_fixture_t* fx, index_job_t* job);
/* Returns the table's element for a place of the space; -1 where an index is bad. */
int64_t index_find(const index_job_t* job, int64_t position, bool* bad);
/* Returns whether an element may stand in the table at `at`. */
bool index_allows(const index_job_t* job, const index_cell_t* cell, int64_t at, const void* seen);

#endif /* TBK_CONTRACTS_INDEX_JOB_H */
