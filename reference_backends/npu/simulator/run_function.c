/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * run_function.c: a call as a stream runs it: values are gathered from memory, computed, and spread.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <vdev/words.h>

#include "element.h"
#include "routine.h"

const sim_number_t sim_absent = NAN;

static int64_t offset_at(const sim_argument_t* argument, int64_t place) {
  int64_t offset = argument->offset;
  for (int d = argument->rank - 1; d >= 0; d--) {
    offset += place % argument->sizes[d] * argument->strides[d];
    place /= argument->sizes[d];
  }
  return offset;
}

static void gather(const sim_argument_t* argument, const char* at, sim_number_t* out) {
  const int64_t bytes = sim_element_size(argument->dtype);
  for (int64_t i = 0; i < argument->count; i++)
    out[i] = sim_element_read(argument->dtype, at + offset_at(argument, i) * bytes);
}

static void spread(const sim_argument_t* argument, const sim_number_t* from, char* at) {
  const int64_t bytes = sim_element_size(argument->dtype);
  for (int64_t i = 0; i < argument->count; i++)
    sim_element_write(argument->dtype, from[i], at + offset_at(argument, i) * bytes);
}

static void fill_variables(const sim_run_t* run, sim_number_t* const* arrays,
                           const sim_argument_t* like, sim_variables_t* out) {
  const sim_call_t* call = run->call;
  memset(out, 0, sizeof *out);
  for (int i = 0; i < 5; i++) { /* a to e */
    out->arrays[i] = i < run->inputs ? arrays[i] : NULL;
    out->numbers[i] = sim_absent;
  }
  for (int i = 0; i < 4; i++) /* p to s */
    out->numbers['p' - 'a' + i] = i < call->scalars ? call->scalar[i] : sim_absent;
  for (int i = 0; i < 3; i++) /* i to k */
    out->numbers['i' - 'a' + i] = i < call->wholes ? (sim_number_t)call->whole[i] : sim_absent;
  for (int i = 0; i < 2; i++) /* x, y */
    out->numbers['x' - 'a' + i] = i < call->reals ? (sim_number_t)call->real[i] : sim_absent;
  out->arithmetic = sim_element_arithmetic(like->dtype);
  out->numbers['w' - 'a'] = out->arithmetic == SIM_WHOLE;
  out->columns =
      like->rank > 0 && like->sizes[like->rank - 1] > 0 ? like->sizes[like->rank - 1] : 1;
  out->rows = like->rank > 1 && like->sizes[like->rank - 2] > 0 ? like->sizes[like->rank - 2] : 1;
}

void sim_run_formula(const sim_run_t* run, int which, sim_number_t* const* arrays,
                     const sim_argument_t* like, int64_t count, sim_number_t* out) {
  sim_variables_t variables;
  fill_variables(run, arrays, like, &variables);
  for (int64_t first = 0; first < count; first += SIM_TILE) {
    const int part = count - first < SIM_TILE ? (int)(count - first) : SIM_TILE;
    sim_formula_tile(&run->formula[which], &variables, first, part, out + first);
  }
}

/* Values of an input for each element of a result, to which it is broadcast; NULL where it cannot be. */
static sim_number_t* broadcast(const sim_argument_t* from, const sim_number_t* values,
                               const sim_argument_t* to) {
  for (int d = 1; d <= from->rank; d++)
    if (d > to->rank || (from->sizes[from->rank - d] != 1 &&
                         from->sizes[from->rank - d] != to->sizes[to->rank - d]))
      return NULL;
  sim_number_t* out = malloc(sizeof *out * (size_t)(to->count + 1));
  for (int64_t i = 0; out != NULL && i < to->count; i++) {
    int64_t place = 0, rest = i, step = 1;
    for (int d = to->rank - 1, own = from->rank - 1; d >= 0; d--, own--) {
      const int64_t index = rest % to->sizes[d];
      rest /= to->sizes[d];
      if (own < 0) continue;
      if (from->sizes[own] != 1) place += index * step;
      step *= from->sizes[own];
    }
    out[i] = values[place];
  }
  return out;
}

/* Broadcasts all inputs to a space; false where one cannot be. The caller frees them. */
static bool broadcast_all(const sim_run_t* run, const sim_argument_t* to,
                          sim_number_t* arrays[SIM_TENSORS]) {
  bool fits = true;
  for (int i = 0; i < run->inputs && fits; i++) {
    if (run->from[i] != NULL) arrays[i] = broadcast(run->in[i], run->from[i], to);
    fits = run->from[i] == NULL || arrays[i] != NULL;
  }
  return fits;
}

static void free_all(sim_number_t* arrays[SIM_TENSORS]) {
  for (int i = 0; i < SIM_TENSORS; i++)
    free(arrays[i]);
}

bool sim_pointwise(sim_run_t* run) {
  bool fits = true;
  for (int which = 0; which < run->results && fits; which++) {
    const sim_argument_t* out = run->out[which];
    sim_number_t* arrays[SIM_TENSORS] = {NULL};
    fits = broadcast_all(run, out, arrays);
    if (fits) sim_run_formula(run, which, arrays, out, out->count, run->to[which]);
    free_all(arrays);
  }
  return fits;
}

/* The members of lists, one after another: member i of each list gives member i of the results. */
bool sim_each(sim_run_t* run) {
  sim_run_t* one = malloc(sizeof *one);
  const int count = run->results, lists = count > 0 ? run->inputs / count : 0;
  bool done = one != NULL && lists * count == run->inputs;
  for (int i = 0; done && i < count; i++) {
    *one =
        (sim_run_t){.call = run->call, .inputs = lists, .results = 1, .formula = {run->formula[0]}};
    one->out[0] = run->out[i];
    one->to[0] = run->to[i];
    for (int k = 0; k < lists; k++) {
      one->in[k] = run->in[k * count + i];
      one->from[k] = run->from[k * count + i];
    }
    done = sim_pointwise(one);
  }
  free(one);
  return done;
}

enum { REDUCE_MEAN = 1, REDUCE_SUM = 2 }; /* the first whole number */

/* A loss of the first input's elements: each, their mean, or their sum. */
bool sim_loss(sim_run_t* run) {
  sim_number_t* arrays[SIM_TENSORS] = {NULL};
  const sim_argument_t* space = run->in[0];
  const int64_t reduction = run->call->whole[0];
  if (reduction != REDUCE_MEAN && reduction != REDUCE_SUM) return sim_pointwise(run);
  bool fits = broadcast_all(run, space, arrays);
  sim_number_t* terms = malloc(sizeof *terms * (size_t)(space->count + 1));
  fits = fits && terms != NULL;
  if (fits) {
    sim_number_t sum = 0;
    sim_run_formula(run, 0, arrays, space, space->count, terms);
    for (int64_t i = 0; i < space->count; i++)
      sum += terms[i];
    run->to[0][0] = reduction == REDUCE_MEAN ? sum / (sim_number_t)space->count : sum;
  }
  free(terms);
  free_all(arrays);
  return fits;
}

/* The derivative of a loss, whose mean divides it by the number of elements. */
bool sim_loss_backward(sim_run_t* run) {
  const bool done = sim_pointwise(run);
  for (int64_t i = 0; done && run->call->whole[0] == REDUCE_MEAN && i < run->out[0]->count; i++)
    run->to[0][i] /= (sim_number_t)run->out[0]->count;
  return done;
}

static bool allocate(sim_run_t* run, const sim_call_t* call, char* const* at) {
  for (int i = 0; i < call->tensors; i++) {
    const sim_argument_t* argument = &call->tensor[i];
    sim_number_t* values = NULL;
    if (!argument->absent) values = calloc((size_t)argument->count + 1, sizeof *values);
    if (values == NULL && !argument->absent) return false;
    if (argument->written) {
      run->to[run->results] = values;
      run->out[run->results++] = argument;
    } else {
      if (values != NULL) gather(argument, at[argument->slot], values);
      run->from[run->inputs] = values;
      run->in[run->inputs++] = argument;
    }
  }
  return true;
}

bool sim_function_run(const sim_call_t* call, char* const* at) {
  sim_run_t* run = calloc(1, sizeof *run);
  sim_routine_t routine = NULL;
  bool done = run != NULL && sim_meaning_compile(sim_meaning_of(call->function), &routine, run);
  if (done) {
    run->call = call;
    done = allocate(run, call, at) && routine(run);
  }
  for (int i = 0; done && i < run->results; i++)
    if (!run->out[i]->absent) spread(run->out[i], run->to[i], at[run->out[i]->slot]);
  for (int i = 0; run != NULL && i < run->inputs; i++)
    free(run->from[i]);
  for (int i = 0; run != NULL && i < run->results; i++)
    free(run->to[i]);
  free(run);
  return done;
}
