/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_job.h: one call of tbk::convolution with fresh operands, and what has to come of it: every
 * element that is written is held against the oracle, and everything else must stay as it was.
 */
#ifndef TBK_CONTRACTS_CONVOLUTION_JOB_H
#define TBK_CONTRACTS_CONVOLUTION_JOB_H

#include <tbk/tbk_convolution.h>

#include "job.h"

enum { SPATIAL = TBK_CONVOLUTION_MOST_SPATIAL };

/* Channels before the first spatial dimension count fastest, as a tensor_layout_t. */
enum { CONVOLUTION_CHANNELS_LAST = 100 };

typedef struct convolution_form {
  int64_t mode;
  int32_t dtype, spatial; /* spatial: how many dimensions */
  int64_t images, groups;
  int64_t channels, filters; /* of a group */
  int64_t input[SPATIAL], kernel[SPATIAL];
  int64_t stride[SPATIAL], padding[SPATIAL], dilation[SPATIAL]; /* 0 is 1, but of padding */
  int64_t more;       /* places of the output in each dimension beyond those that fit */
  int64_t index_bits; /* 0: 64 */
  int input_layout, weight_layout, output_layout, bias_layout;
  bool bias;
  bool odd; /* NaN and infinities in what padding is not multiplied by */
  job_how_t how;
  job_values_t drawn; /* but JOB_ANY, which is JOB_SMALL */
} convolution_form_t;

typedef enum convolution_operand {
  CONVOLUTION_OUT = TBK_CONVOLUTION_OUTPUT, /* by mode, that which is written */
  CONVOLUTION_IN = TBK_CONVOLUTION_INPUT,
  CONVOLUTION_BY = TBK_CONVOLUTION_WEIGHT,
  CONVOLUTION_BIAS,
  CONVOLUTION_OPERANDS
} convolution_operand_t;

typedef struct convolution_job {
  convolution_form_t form;
  const tbk_kernel_t* kernel;
  tensor_t operands[CONVOLUTION_OPERANDS];
  uint8_t* before; /* what is written, as it was */
  bool is_planned; /* a plan was launched */
} convolution_job_t;

/* Makes the operands on the host. A test may set elements before convolution_ready. */
void convolution_make(tbk_fixture_t* fx, convolution_job_t* job, const convolution_form_t* form);
void convolution_ready(tbk_fixture_t* fx, convolution_job_t* job);
/* Writes the arguments afresh; they may be changed before convolution_launch. */
tbk_args_convolution_t* convolution_describe(convolution_job_t* job);
/* Calls the kernel's launch, and overwrites all that the arguments point to. */
tbk_status_t convolution_launch(tbk_fixture_t* fx, convolution_job_t* job, tbk_stream_t* stream);
/* Returns how the job is called. */
generic_call_t convolution_call(convolution_job_t* job);
bool convolution_check(tbk_fixture_t* fx, convolution_job_t* job, tbk_here_t here);
/* Checks that nothing has changed at all. */
bool convolution_check_untouched(tbk_fixture_t* fx, convolution_job_t* job, tbk_here_t here);
/*
 * Makes, launches as the form says and checks. A call whose dtype and rank the device declares may not be
 * refused.
 */
#define CONVOLUTION_RUN(fx, job, form) \
  convolution_run((fx), (job), (form), TBK_HERE("tbk::convolution"))
bool convolution_run(tbk_fixture_t* fx, convolution_job_t* job, const convolution_form_t* form,
                     tbk_here_t here);
/* The same behind convolution_make. */
bool convolution_finish(tbk_fixture_t* fx, convolution_job_t* job, tbk_here_t here);

/* convolution_oracle.c: what may come of an element that is written. */
typedef struct convolution_cell {
  int64_t count;     /* of products and the bias */
  uint64_t integer;  /* their sum, modulo 2^64 */
  long double real;  /* and of real numbers */
  long double sizes; /* the sum of their sizes, for the bound */
} convolution_cell_t;
/* Returns a cell for each element of what is written. */
convolution_cell_t* convolution_expect(tbk_fixture_t* fx, const convolution_job_t* job);
/* Returns whether an element may come of a cell. */
bool convolution_allows(const convolution_job_t* job, const convolution_cell_t* cell,
                        const void* seen);

#endif /* TBK_CONTRACTS_CONVOLUTION_JOB_H */
