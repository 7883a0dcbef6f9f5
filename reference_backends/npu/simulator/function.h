/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * function.h: the functions of aclnn.def: what they mean, and calls of them.
 */
#ifndef SIM_FUNCTION_H
#define SIM_FUNCTION_H

#include <emit/job.h>

#include "../aclnn.h"
#include "formula.h"

enum { SIM_TENSORS = ACLNN_TENSORS, SIM_NUMBERS = 8, SIM_LISTS = 4, SIM_RESULTS = 3 };

/* A tensor argument. Its values are gathered, and what is written is spread, by run_function.c. */
typedef struct sim_argument {
  bool written, absent;
  int dtype, rank;
  int64_t count, offset; /* in elements */
  int64_t sizes[EMIT_MAX_RANK], strides[EMIT_MAX_RANK];
  int slot; /* of its memory; -1 where it is absent */
} sim_argument_t;

/* A call, as phase one took it. It refers to nothing of the caller's. */
typedef struct sim_call {
  aclnn_function_t function;
  int tensors, scalars, lists, wholes, reals;
  sim_argument_t tensor[SIM_TENSORS];
  sim_number_t scalar[SIM_NUMBERS]; /* NaN where it is absent */
  struct {
    int count;
    int64_t items[EMIT_MAX_RANK];
  } list[SIM_LISTS];
  int64_t whole[SIM_NUMBERS]; /* i, b, n in their order */
  double real[SIM_NUMBERS];
} sim_call_t;

/* What a call works on while it runs: dense values of all tensors, inputs before results. */
typedef struct sim_run {
  const sim_call_t* call;
  int inputs, results;
  const sim_argument_t* in[SIM_TENSORS];
  sim_number_t* from[SIM_TENSORS]; /* NULL where absent */
  const sim_argument_t* out[SIM_TENSORS];
  sim_number_t* to[SIM_TENSORS];
  sim_formula_t formula[SIM_RESULTS];
} sim_run_t;

/* Computes all results; false where an operand asks for what the device cannot do, such as an index that
 * names no element. */
typedef bool (*sim_routine_t)(sim_run_t* run);

/* Compiles a meaning: a routine, then formulas; false where it is none. */
bool sim_meaning_compile(const char* text, sim_routine_t* out_routine, sim_run_t* run);

/* Returns the text of a function. */
const char* sim_meaning_of(aclnn_function_t function);

/* Runs the call, on the memory at[slot] of each tensor; false where an operand was out of range. */
bool sim_function_run(const sim_call_t* call, char* const* at);

/* Computes formula `which` with arrays of the inputs, over `count` elements shaped like `like`. */
void sim_run_formula(const sim_run_t* run, int which, sim_number_t* const* arrays,
                     const sim_argument_t* like, int64_t count, sim_number_t* out);

#endif /* SIM_FUNCTION_H */
