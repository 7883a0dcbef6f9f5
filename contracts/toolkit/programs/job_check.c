/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * job_check.c: what has to come of a job.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "job.h"

static void coordinates_of(int64_t position, const int64_t* sizes, int32_t rank, int64_t* out) {
  for (int32_t d = rank - 1; d >= 0; --d) {
    out[d] = position % sizes[d];
    position /= sizes[d];
  }
}

static int64_t places(const int64_t* sizes, int32_t rank) {
  int64_t count = 1;
  for (int32_t d = 0; d < rank; ++d)
    count *= sizes[d];
  return count;
}

/* ------------------------------------------------------------------------------- the oracle ---- */

/* As large as the programs ask for. */
typedef struct oracle {
  const job_t* job;
  const job_set_t* set;
  value_t values[TBK_PROGRAM_MOST_INSTRUCTIONS];
  int64_t coordinates[TENSOR_RANK];
} oracle_t;

static void results_of(const oracle_t* o, const tbk_program_t* program, value_t* out_results) {
  for (size_t r = 0; r < program->result_count; ++r)
    out_results[r] = o->values[program->results[r]];
}

static void pointwise_at(oracle_t* o, int64_t position, value_t* out_results) {
  coordinates_of(position, o->set->sizes, o->set->rank, o->coordinates);
  const eval_place_t place = {o->coordinates, position,        position,
                              o->set->inputs, o->set->numbers, NULL};
  evaluate(o->job->form.program, &place, o->values);
  results_of(o, o->job->form.program, out_results);
}

static void map_at(oracle_t* o, int64_t outer, int64_t inner, int64_t inner_count, value_t* state) {
  const job_form_t* form = &o->job->form;
  coordinates_of(outer, o->set->sizes, form->rank, o->coordinates);
  coordinates_of(inner, o->set->sizes + form->rank, form->inner_rank, o->coordinates + form->rank);
  const eval_place_t place = {o->coordinates, inner,           outer * inner_count + inner,
                              o->set->inputs, o->set->numbers, NULL};
  evaluate(form->reduction->map, &place, o->values);
  results_of(o, form->reduction->map, state);
}

static void combine(oracle_t* o, value_t* states) {
  const tbk_program_t* program = o->job->form.reduction->combine;
  const eval_place_t place = {.numbers = o->set->numbers, .parameters = states};
  evaluate(program, &place, o->values);
  results_of(o, program, states);
}

/* In order, from the first element on; the identity where there is none. */
static void reduce_at(oracle_t* o, int64_t outer, value_t* out_results) {
  const job_form_t* form = &o->job->form;
  const tbk_reduction_t* r = form->reduction;
  size_t count = r->map->result_count;
  int64_t inner = places(o->set->sizes + form->rank, form->inner_rank);
  value_t states[2 * TBK_REDUCTION_MOST_STATES];
  for (size_t k = 0; k < count; ++k)
    states[k] = value_of_bits(r->map->instructions[r->map->results[k]].dtype, r->identity[k]);
  for (int64_t i = 0; i < inner; ++i) {
    map_at(o, outer, i, inner, i == 0 ? states : states + count);
    if (i > 0) combine(o, states);
  }
  coordinates_of(outer, o->set->sizes, form->rank, o->coordinates);
  const eval_place_t place = {o->coordinates,  outer, outer, o->set->inputs + r->map->input_count,
                              o->set->numbers, states};
  evaluate(r->finish, &place, o->values);
  results_of(o, r->finish, out_results);
}

/* The element at a place, combined with `states`, which are of those before it, where there are any. */
static void scan_at(oracle_t* o, int64_t position, int64_t along, bool is_first, value_t* states,
                    value_t* out_results) {
  const job_form_t* form = &o->job->form;
  const tbk_reduction_t* r = form->reduction;
  coordinates_of(position, o->set->sizes, form->rank, o->coordinates);
  eval_place_t place = {o->coordinates, along, position, o->set->inputs, o->set->numbers, NULL};
  evaluate(r->map, &place, o->values);
  results_of(o, r->map, is_first ? states : states + r->map->result_count);
  if (!is_first) combine(o, states);
  place.inputs += r->map->input_count;
  place.parameters = states;
  evaluate(r->finish, &place, o->values);
  results_of(o, r->finish, out_results);
}

static void allow_slack(value_t* v, double slack) {
  if (slack == 0 || v->open || !value_is_real(v->dtype) || isnan(v->middle)) return;
  long double wide = slack * fmaxl(fabsl(v->middle), 0x1p-100L);
  v->low -= wide;
  v->high += wide;
}

/* -------------------------------------------------------------------------------- the check ---- */

typedef struct seen {
  uint8_t* bytes[TBK_PROGRAM_MOST_RESULTS];
  uint8_t* expected[TBK_PROGRAM_MOST_RESULTS]; /* the poison, with what may stand there */
} seen_t;

static void download(tbk_fixture_t* fx, const job_t* job, const job_set_t* set, seen_t* seen) {
  for (size_t r = 0; r < job->last->result_count; ++r) {
    const tensor_t* output = &set->outputs[r];
    seen->bytes[r] = fx_zeros(fx, output->block_bytes);
    seen->expected[r] = fx_zeros(fx, output->block_bytes);
    fx_download(fx, seen->bytes[r], output->memory, output->block_bytes);
    memcpy(seen->expected[r], set->poison[r], output->block_bytes);
  }
}

/* Names an element of an output; `value` says what may stand there. */
typedef struct place {
  size_t set, result;
  int64_t position;
  const value_t* value;
} place_t;

static size_t byte_of(const tensor_t* output, int64_t position) {
  return (size_t)((uint8_t*)tensor_at(output, position) - output->model);
}

static bool put_back(tbk_fixture_t* fx, const job_t* job) {
  for (size_t s = 0; s < job->set_count; ++s) {
    const job_set_t* set = &job->sets[s];
    for (size_t r = 0; r < job->last->result_count; ++r)
      if (!generic_put_back(fx, &set->outputs[r], set->poison[r])) return false;
    for (size_t i = 0; i < job->input_count; ++i)
      if (!generic_put_back(fx, &set->inputs[i], set->inputs[i].model)) return false;
  }
  return true;
}

/* Runs some sets again, in the plainest way; returns whether the element is right then. */
static bool is_right_again(tbk_fixture_t* fx, job_t* job, const job_set_t* set, const place_t* it) {
  const tensor_t* output = &set->outputs[it->result];
  const generic_call_t call = job_call(job);
  uint8_t* seen = fx_zeros(fx, output->block_bytes);
  return put_back(fx, job) && generic_try_again(fx, &call, output, seen) &&
         value_allows(it->value, seen + byte_of(output, it->position));
}

static const char* clause_of_sets(const job_t* job) {
  if (job->form.scans) return "PRG-072";
  return job->form.reduction != NULL ? "PRG-020" : "PRG-008";
}

/*
 * Output 0 was right: of several states, or what is made of them, one is not kept; or it is the only one
 * for which the order counts.
 */
static const char* clause_of_more(const job_t* job) {
  const tbk_reduction_t* reduction = job->form.reduction;
  if (reduction == NULL || (reduction->flags & TBK_REDUCTION_COMMUTATIVE) == 0) return NULL;
  return job->form.scans ? "PRG-067" : "PRG-015";
}

/* Returns the clause of plans where a launch is right, that of sets where the set is right by itself; else that of
 * further outputs, or NULL. */
static const char* clause_of_part(tbk_fixture_t* fx, const job_t* job, const place_t* it) {
  const job_set_t* set = &job->sets[it->set];
  job_t again = *job;
  if (is_right_again(fx, &again, set, it)) return job->is_planned ? "KRN-013" : NULL;
  again.sets = &job->sets[it->set];
  again.set_count = 1;
  if (job->set_count > 1 && is_right_again(fx, &again, set, it)) return clause_of_sets(job);
  return it->result > 0 ? clause_of_more(job) : NULL;
}

static bool check_element(tbk_fixture_t* fx, job_t* job, const place_t* it, seen_t* seen,
                          tbk_here_t here) {
  const tensor_t* output = &job->sets[it->set].outputs[it->result];
  uint8_t* all = seen->bytes[it->result];
  const uint8_t* element = all + byte_of(output, it->position);
  ++job->elements;
  job->open += it->value->open;
  memcpy(seen->expected[it->result] + byte_of(output, it->position), element, output->type->size);
  if (value_allows(it->value, element)) return true;
  const char* late = fx_late_clause(fx, all, output->memory, output->block_bytes);
  TBK_CHECKS(late != NULL ? late : clause_of_part(fx, job, it));
  char wanted[160], got[96];
  value_print(it->value, wanted, sizeof wanted);
  number_print(output->type, element, got, sizeof got);
  return tbk_check_said(false, here, wanted, "%s in output %zu, %s, element %lld of %lld", got,
                        it->result, output->type->name, (long long)it->position,
                        (long long)output->count);
}

static bool check_results(tbk_fixture_t* fx, job_t* job, const job_set_t* set, value_t* results,
                          int64_t position, seen_t* seen, tbk_here_t here) {
  for (size_t r = 0; r < job->last->result_count; ++r) {
    const place_t it = {(size_t)(set - job->sets), r, position, &results[r]};
    allow_slack(&results[r], job->form.slack);
    if (!check_element(fx, job, &it, seen, here)) return false;
  }
  return true;
}

static bool check_segment(tbk_fixture_t* fx, job_t* job, oracle_t* oracle, int64_t segment,
                          seen_t* seen, tbk_here_t here) {
  value_t states[2 * TBK_REDUCTION_MOST_STATES], results[TBK_PROGRAM_MOST_RESULTS];
  const int64_t length = oracle->set->sizes[job->form.rank - 1];
  for (int64_t i = 0; i < length; ++i) {
    int64_t along = (job->form.flags & TBK_SCAN_REVERSE) != 0 ? length - 1 - i : i;
    int64_t position = segment * length + along;
    scan_at(oracle, position, along, i == 0, states, results);
    if (!check_results(fx, job, oracle->set, results, position, seen, here)) return false;
  }
  return true;
}

static bool check_values(tbk_fixture_t* fx, job_t* job, const job_set_t* set, seen_t* seen,
                         tbk_here_t here) {
  static oracle_t oracle;
  value_t results[TBK_PROGRAM_MOST_RESULTS];
  int64_t count = places(set->sizes, set->rank);
  oracle.job = job, oracle.set = set;
  if (job->form.scans) count = places(set->sizes, job->form.rank - 1);
  for (int64_t i = 0; i < count; ++i) {
    if (job->form.scans) {
      if (!check_segment(fx, job, &oracle, i, seen, here)) return false;
      continue;
    }
    if (job->form.reduction != NULL)
      reduce_at(&oracle, i, results);
    else
      pointwise_at(&oracle, i, results);
    if (!check_results(fx, job, set, results, i, seen, here)) return false;
  }
  return true;
}

static bool is_output(const job_t* job, const job_set_t* set, size_t input) {
  for (size_t r = 0; r < job->last->result_count; ++r)
    if (set->aliases[r] == (int32_t)input) return true;
  return false;
}

static bool check_inputs(tbk_fixture_t* fx, const job_t* job, const job_set_t* set, bool all,
                         tbk_here_t here) {
  TBK_CHECKS("KRN-004");
  bool held = true;
  for (size_t i = 0; i < job->input_count; ++i)
    if (all || !is_output(job, set, i))
      held = tensor_check_bits(fx, &set->inputs[i], set->inputs[i].model, "an input", here) && held;
  return held;
}

static bool check_around(const job_t* job, const job_set_t* set, const seen_t* seen,
                         tbk_here_t here) {
  TBK_CHECKS("KRN-003");
  bool held = true;
  here.text = "bytes around the elements";
  for (size_t r = 0; r < job->last->result_count; ++r)
    held = tbk_check_bytes(seen->expected[r], seen->bytes[r], set->outputs[r].block_bytes, here) &&
           held;
  return held;
}

bool job_check(tbk_fixture_t* fx, job_t* job, tbk_here_t here) {
  bool held = true;
  for (size_t s = 0; held && s < job->set_count; ++s) {
    seen_t seen;
    download(fx, job, &job->sets[s], &seen);
    held = check_values(fx, job, &job->sets[s], &seen, here) &&
           check_around(job, &job->sets[s], &seen, here) &&
           check_inputs(fx, job, &job->sets[s], false, here);
  }
  return tbk_check_said(held, here, "right results", "%s", "as above");
}

bool job_check_untouched(tbk_fixture_t* fx, job_t* job, tbk_here_t here) {
  bool held = true;
  for (size_t s = 0; s < job->set_count; ++s) {
    const job_set_t* set = &job->sets[s];
    for (size_t r = 0; r < job->last->result_count; ++r)
      held = tensor_check_bits(fx, &set->outputs[r], set->poison[r], "an output", here) && held;
    held = check_inputs(fx, job, set, true, here) && held;
  }
  return held;
}
