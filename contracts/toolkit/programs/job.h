/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * job.h: one launch of a generic kernel with fresh operands, and what has to come of it: every element of
 * every output is held against the oracle, and everything else must stay as it was.
 */
#ifndef TBK_CONTRACTS_JOB_H
#define TBK_CONTRACTS_JOB_H

#include "evaluate.h"
#include "generic_call.h"
#include "pool.h"
#include "tensor.h"

enum { JOB_INPUTS = 16, JOB_SETS = 40, JOB_VIEWS = JOB_INPUTS + TBK_PROGRAM_MOST_RESULTS };

typedef enum job_values {
  JOB_ANY = 0, /* special values, small and ordinary numbers, any bits */
  JOB_SMALL,   /* whole numbers from -3 to 3, of which sums and products are exact */
  JOB_ORDINARY /* real numbers between -4 and 4 */
} job_values_t;

typedef enum job_mix {
  JOB_MIX_SIZES = 0, /* in the size of their first dimension */
  JOB_MIX_EMPTY,     /* every other one has no elements */
  JOB_MIX_RANKS      /* every other one lacks the last dimension; for tbk::pointwise */
} job_mix_t;

typedef struct job_form {
  const tbk_program_t* program; /* of tbk::pointwise; or */
  const tbk_reduction_t* reduction;
  bool scans;     /* tbk::scan of the reduction; else tbk::reduce */
  uint64_t flags; /* of a scan */
  size_t sets;    /* 0: one */
  job_mix_t mix;  /* how sets after the first differ from it */
  int32_t rank;
  const int64_t* sizes; /* of the outputs of the first set */
  int32_t inner_rank;
  const int64_t* inner_sizes;
  const int64_t* indexed_sizes; /* of the inputs that have an index; NULL: small ones */
  tensor_layout_t input, output;
  bool others_plain; /* every other input, from the first on, is plain */
  int alias; /* 0, or 1 + the output that is an aligned input of its dtype, where there is one */
  /* Of each output 0, or 1 + the input that it is, aligned and of its dtype; NULL: as `alias` says. */
  const uint8_t* aliases;
  int64_t index_bits;
  job_how_t how;
  job_values_t values;
  double slack; /* relative, besides: what any order of a reduction may make of rounding */
} job_form_t;

typedef struct job_set {
  tensor_t outputs[TBK_PROGRAM_MOST_RESULTS];
  tensor_t inputs[JOB_INPUTS];
  uint8_t* poison[TBK_PROGRAM_MOST_RESULTS];
  uint64_t numbers[TBK_PROGRAM_MOST_NUMBERS];
  int64_t sizes[TENSOR_RANK]; /* outer, then inner */
  int32_t rank;               /* of the outputs */
  /* Of each output the input that it is, or -1. */
  int32_t aliases[TBK_PROGRAM_MOST_RESULTS];
} job_set_t;

typedef struct job_wire job_wire_t;

typedef struct job {
  job_form_t form;
  const tbk_program_t* first; /* the program, or the map: reads the first inputs */
  const tbk_program_t* last;  /* the program, or finish: makes the outputs */
  const tbk_kernel_t* kernel;
  size_t set_count, input_count;
  job_set_t* sets;
  job_wire_t* wire;        /* what goes to the backend */
  bool plan_refused;       /* the form wanted a plan, and prepare refused; it was launched */
  bool is_planned;         /* a plan was launched */
  uint64_t open, elements; /* how many elements the oracle left open, of how many */
} job_t;

/* Returns the kernel, NULL where it is not offered. */
const tbk_kernel_t* job_kernel(tbk_fixture_t* fx, bool reduces);
/* Returns the program of a text that is well formed; it lives as long as the test. */
const tbk_program_t* job_program(tbk_fixture_t* fx, const char* text);
/* Makes the operands on the host. A test may set elements and numbers before job_ready. */
void job_make(tbk_fixture_t* fx, job_t* job, const job_form_t* form);
/* Uploads inputs and poison. */
void job_ready(tbk_fixture_t* fx, job_t* job);
/* Writes the arguments afresh; they may be changed before job_launch. */
void job_describe(job_t* job);
/* Returns the arguments, as they go to the kernel, of the job that the thread has described last. */
void* job_arguments(void);
/* Calls the kernel's launch, and overwrites all that the arguments point to. */
tbk_status_t job_launch(tbk_fixture_t* fx, job_t* job, tbk_stream_t* stream);
/* Returns how the job is called. */
generic_call_t job_call(job_t* job);
/* Checks the outputs against the oracle, and that nothing else has changed. */
bool job_check(tbk_fixture_t* fx, job_t* job, tbk_here_t here);
/* Checks that nothing has changed at all. */
bool job_check_untouched(tbk_fixture_t* fx, job_t* job, tbk_here_t here);
/*
 * Makes, launches as the form says and checks. Programs of few operands whose dtypes the device declares
 * may not be refused; what the device's rank excludes may, untouched. Returns whether it was run.
 */
#define JOB_RUN(fx, job, form) job_run((fx), (job), (form), TBK_HERE("program"))
bool job_run(tbk_fixture_t* fx, job_t* job, const job_form_t* form, tbk_here_t here);
/* The same in two steps, behind job_make. */
bool job_finish(tbk_fixture_t* fx, job_t* job, tbk_here_t here);

/* Sets an element of bits that the form's values allow. */
void job_draw(tbk_fixture_t* fx, const number_type_t* type, job_values_t values, void* element);
/* Sets all elements so. */
void job_draw_all(tbk_fixture_t* fx, const tensor_t* tensor, job_values_t values);
/* Sets all elements to whole numbers up to 2^bits, odd ones, which cancel along a dimension: the first of it all have
 * one sign and the last the other. What is left of an odd number of them is the one in the midst. */
void job_draw_cancelling(tbk_fixture_t* fx, const tensor_t* tensor, int32_t dimension, int bits);
/* Returns the dtypes of programs that the device declares, INT64 and BOOL among them where it does. */
uint64_t job_dtypes(const tbk_fixture_t* fx);

#endif /* TBK_CONTRACTS_JOB_H */
