/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sort_job.h: one call of tbk::sort with fresh operands, and what has to come of it: the elements of each
 * segment in order, by indices that name them, and everything else as it was.
 */
#ifndef TBK_CONTRACTS_SORT_JOB_H
#define TBK_CONTRACTS_SORT_JOB_H

#include <tbk/tbk_sort.h>

#include "job.h"

/* What stands in the segments. */
typedef enum sort_draw {
  SORT_ANY = 0, /* special values, ordinary numbers, any bits */
  SORT_FEW,    /* a few values, many times each; among them zeros, infinities and NaN of any bits */
  SORT_SORTED, /* any, in order */
  SORT_REVERSED, /* any, in the opposite one */
  SORT_EQUAL     /* the same in all */
} sort_draw_t;

typedef struct sort_form {
  int32_t dtype, rank;
  int64_t sizes[TENSOR_RANK]; /* of the input; the last is the length of a segment */
  int64_t fewer;              /* by how many what is written is shorter */
  uint64_t flags;
  int64_t index_bits; /* 0: 64 */
  bool no_values, no_indices;
  bool alias; /* values are the input */
  tensor_layout_t input, values, indices;
  job_how_t how; /* but JOB_TWICE, which is as JOB_PLAN */
  sort_draw_t draw;
} sort_form_t;

typedef struct sort_job {
  sort_form_t form;
  const tbk_kernel_t* kernel;
  tensor_t input, values, indices;
  uint8_t *values_before, *indices_before;
  int64_t length, kept, segments;
} sort_job_t;

/* Makes the operands on the host. A test may set elements before sort_ready. */
void sort_make(tbk_fixture_t* fx, sort_job_t* job, const sort_form_t* form);
void sort_ready(tbk_fixture_t* fx, sort_job_t* job);
/* Writes the arguments afresh; they may be changed before sort_launch. */
tbk_args_sort_t* sort_describe(sort_job_t* job);
/* Calls the kernel's launch, and overwrites all that the arguments point to. */
tbk_status_t sort_launch(tbk_fixture_t* fx, sort_job_t* job, tbk_stream_t* stream);
/* Returns how the job is called. */
generic_call_t sort_call(sort_job_t* job);
bool sort_check(tbk_fixture_t* fx, sort_job_t* job, tbk_here_t here);
/* Checks that nothing has changed at all. */
bool sort_check_untouched(tbk_fixture_t* fx, sort_job_t* job, tbk_here_t here);
/*
 * Makes, launches as the form says and checks. A call whose dtype and rank the device declares may not be
 * refused.
 */
#define SORT_RUN(fx, job, form) sort_run((fx), (job), (form), TBK_HERE("tbk::sort"))
bool sort_run(tbk_fixture_t* fx, sort_job_t* job, const sort_form_t* form, tbk_here_t here);
/* The same behind sort_make. */
bool sort_finish(tbk_fixture_t* fx, sort_job_t* job, tbk_here_t here);

/* sort_oracle.c. An element of a segment. */
typedef struct sort_item {
  const number_type_t* type;
  int64_t rank; /* number_rank */
  uint64_t bits;
  int64_t index;
} sort_item_t;
/* Returns the item of an element, which the input has at this place. */
sort_item_t sort_item(const number_type_t* type, const void* element, int64_t index);
/* Returns below 0 where the first comes first, 0 where either may. */
int sort_compare(const sort_item_t* a, const sort_item_t* b, bool descending);
/* Puts items in order; equal ones as their indices say. */
void sort_items(sort_item_t* items, int64_t count, bool descending);
/* Puts items in the order of their bits, among those that are equal. */
void sort_by_bits(sort_item_t* items, int64_t count, bool descending);

#endif /* TBK_CONTRACTS_SORT_JOB_H */
