/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * matmul_job.h: one call of tbk::matmul with fresh operands, and what has to come of it: every element of
 * the output is held against the oracle, and everything else must stay as it was.
 */
#ifndef TBK_CONTRACTS_MATMUL_JOB_H
#define TBK_CONTRACTS_MATMUL_JOB_H

#include <tbk/tbk_matmul.h>

#include "job.h"

typedef enum matmul_operand {
  MATMUL_A,
  MATMUL_B,
  MATMUL_C,
  MATMUL_OUT,
  MATMUL_OPERANDS
} matmul_operand_t;

/* What is added. */
typedef enum matmul_added {
  MATMUL_NOTHING = 0, /* c is NULL */
  MATMUL_TENSOR,      /* a tensor of its own */
  MATMUL_OUTPUT       /* the output exactly */
} matmul_added_t;

typedef struct matmul_form {
  int32_t dtype;
  int32_t batch_rank;
  int64_t batch[TENSOR_RANK - 2];
  int64_t m, n, k;
  matmul_added_t added;
  tensor_layout_t layouts[MATMUL_OPERANDS];
  bool transposed[MATMUL_OPERANDS]; /* the two last dimensions lie the other way round */
  double alpha, beta;               /* of integers cut to whole numbers, or */
  const int64_t* whole;             /* alpha and beta of integers, beyond what a double has */
  int64_t index_bits;               /* 0: 64 */
  job_how_t how;                    /* plans are made for other scalars */
  job_values_t drawn;
} matmul_form_t;

typedef struct matmul_job {
  matmul_form_t form;
  const tbk_kernel_t* kernel;
  tensor_t operands[MATMUL_OPERANDS]; /* c is the output where it is added */
  uint8_t* before[MATMUL_OPERANDS];   /* what the blocks held */
  bool is_planned;                    /* a plan was launched */
} matmul_job_t;

/* Makes the operands on the host. A test may set elements before matmul_ready. */
void matmul_make(tbk_fixture_t* fx, matmul_job_t* job, const matmul_form_t* form);
void matmul_ready(tbk_fixture_t* fx, matmul_job_t* job);
/* Writes the arguments afresh; they may be changed before matmul_launch. */
tbk_args_matmul_t* matmul_describe(matmul_job_t* job);
/* Calls the kernel's launch, and overwrites all that the arguments point to. */
tbk_status_t matmul_launch(tbk_fixture_t* fx, matmul_job_t* job, tbk_stream_t* stream);
/* Returns how the job is called. */
generic_call_t matmul_call(matmul_job_t* job);
bool matmul_check(tbk_fixture_t* fx, matmul_job_t* job, tbk_here_t here);
/* Checks that nothing has changed at all. */
bool matmul_check_untouched(tbk_fixture_t* fx, matmul_job_t* job, tbk_here_t here);
/*
 * Makes, launches as the form says and checks. A call whose dtype and rank the device declares may not be
 * refused.
 */
#define MATMUL_RUN(fx, job, form) matmul_run((fx), (job), (form), TBK_HERE("tbk::matmul"))
bool matmul_run(tbk_fixture_t* fx, matmul_job_t* job, const matmul_form_t* form, tbk_here_t here);
/* The same behind matmul_make. */
bool matmul_finish(tbk_fixture_t* fx, matmul_job_t* job, tbk_here_t here);

/* matmul_oracle.c: what may come of the operands, before the call. */
typedef struct matmul_cell {
  uint64_t integer;
  long double low, high; /* between these, rounded to the dtype; both NaN where it has to be NaN */
} matmul_cell_t;
/* Returns alpha and beta as an integer product has them. */
int64_t matmul_whole_alpha(const matmul_form_t* form);
int64_t matmul_whole_beta(const matmul_form_t* form);
/* Returns a cell for each element of the output, last dimension first. */
matmul_cell_t* matmul_expect(tbk_fixture_t* fx, const matmul_job_t* job);
/* Returns whether an element may stand there. */
bool matmul_allows(const number_type_t* type, const matmul_cell_t* cell, const void* seen);

#endif /* TBK_CONTRACTS_MATMUL_JOB_H */
