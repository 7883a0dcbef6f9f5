/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * job.c: operands, arguments, and the calls. What has to come of them is in job_check.c.
 */
#include "job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "opcode.h"

enum { REDUCTION_PARTS = 3 };

/* All that goes to the backend, program included: overwritten once the call has returned. */
struct job_wire {
  union {
    tbk_args_pointwise_t pointwise;
    tbk_args_reduce_t reduce;
    tbk_args_scan_t scan;
  } arguments;
  const tbk_operand_set_t* sets[JOB_SETS];
  tbk_reduction_t reduction;
  uint64_t identity[TBK_REDUCTION_MOST_STATES];
  program_pool_t programs[REDUCTION_PARTS];
  struct {
    tbk_operand_set_t set;
    tbk_tensor_t views[JOB_VIEWS];
    const tbk_tensor_t* outputs[TBK_PROGRAM_MOST_RESULTS];
    const tbk_tensor_t* inputs[JOB_INPUTS];
    int64_t sizes[JOB_VIEWS][TENSOR_RANK], strides[JOB_VIEWS][TENSOR_RANK];
    uint64_t numbers[TBK_PROGRAM_MOST_NUMBERS];
    int64_t inner[TENSOR_RANK];
  } of[]; /* the job's sets */
};

static size_t wire_bytes(const job_t* job) {
  return sizeof *job->wire + job->set_count * sizeof *job->wire->of;
}

/* That of the job that the thread has described last. */
static _Thread_local job_wire_t* wire;

const tbk_kernel_t* job_kernel(tbk_fixture_t* fx, bool reduces) {
  return reduces ? generic_kernel(fx, TBK_NAME_reduce, TBK_VERSION_reduce)
                 : generic_kernel(fx, TBK_NAME_pointwise, TBK_VERSION_pointwise);
}

uint64_t job_dtypes(const tbk_fixture_t* fx) {
  return fx->properties.dtypes & PROGRAM_ANY;
}

/* ----------------------------------------------------------------------------------- values ---- */

static void draw_ordinary(tbk_fixture_t* fx, const number_type_t* type, void* element) {
  long double real = (long double)(int64_t)(fx_random(fx) >> 11) * 0x1p-50L - 4;
  uint64_t whole = fx_random(fx) % 13 - 3;
  number_store(type, element, (number_t){whole, real, 0});
}

static void draw_small(tbk_fixture_t* fx, const number_type_t* type, void* element) {
  int64_t whole = (int64_t)(fx_random(fx) % 7) - (type->is_signed ? 3 : 0);
  if (type->dtype == TBK_BOOL) whole &= 1;
  number_store(type, element, (number_t){(uint64_t)whole, whole, 0});
}

void job_draw(tbk_fixture_t* fx, const number_type_t* type, job_values_t values, void* element) {
  uint64_t state = fx_random(fx);
  if (values == JOB_SMALL) {
    draw_small(fx, type, element);
    return;
  }
  uint64_t bits = program_draw_bits(&state, (uint32_t)type->dtype);
  if (values == JOB_ORDINARY || state % 2 == 0) {
    draw_ordinary(fx, type, element);
  } else {
    if (type->dtype == TBK_BOOL && bits != 0) bits = 1;
    memcpy(element, &bits, type->size);
  }
}

void job_draw_all(tbk_fixture_t* fx, const tensor_t* tensor, job_values_t values) {
  for (tensor_walk_t w = tensor_first(tensor); w.index < tensor->count; tensor_step(&w))
    job_draw(fx, tensor->type, values, tensor_walk_at(&w));
}

void job_draw_cancelling(tbk_fixture_t* fx, const tensor_t* tensor, int32_t dimension, int bits) {
  const int64_t size = tensor->sizes[dimension];
  int64_t step = 1;
  for (int32_t d = dimension + 1; d < tensor->rank; ++d)
    step *= tensor->sizes[d];
  for (int64_t at = 0; at < tensor->count; ++at) {
    const int64_t along = at / step % size, other = at + (size - 1 - 2 * along) * step;
    if (along > other / step % size) continue;
    const uint64_t size_of = fx_random(fx) % (UINT64_C(1) << bits) | 1;
    const number_t value = {size_of, size_of, 0}, less = {0 - size_of, -value.real, 0};
    number_store(tensor->type, tensor_at(tensor, other), less);
    number_store(tensor->type, tensor_at(tensor, at), value);
  }
}

/* --------------------------------------------------------------------------------- operands ---- */

/* The sets after the first are others. */
static void make_sizes(const job_form_t* form, job_set_t* set, size_t index) {
  for (int32_t d = 0; d < form->rank; ++d)
    set->sizes[d] = form->sizes[d];
  for (int32_t d = 0; d < form->inner_rank; ++d)
    set->sizes[form->rank + d] = form->inner_sizes[d];
  set->rank = form->rank;
  if (form->mix == JOB_MIX_RANKS && set->rank > 1 && index % 2 == 1) set->rank--;
  if (form->rank + form->inner_rank == 0) return;
  if (form->mix == JOB_MIX_EMPTY && index % 2 == 1) set->sizes[0] = 0;
  if (form->mix != JOB_MIX_EMPTY && set->sizes[0] > 0) set->sizes[0] += (int64_t)(index % 3);
}

static void make_input(tbk_fixture_t* fx, const job_form_t* form, job_set_t* set, size_t index,
                       const tbk_program_input_t* input, int32_t rank) {
  static const int64_t some[TENSOR_RANK] = {5, 3, 2, 2, 1, 2, 1, 2};
  const int64_t* indexed_sizes = form->indexed_sizes != NULL ? form->indexed_sizes : some;
  bool indexed = input->kind == TBK_INPUT_INDEXED;
  tensor_layout_t layout = form->others_plain && index % 2 == 0 ? TENSOR_PLAIN : form->input;
  if (indexed && layout == TENSOR_BROADCAST) layout = TENSOR_GAPS;
  tensor_make(fx, &set->inputs[index], input->dtype, indexed ? input->rank : rank,
              indexed ? indexed_sizes : set->sizes, layout);
  job_draw_all(fx, &set->inputs[index], form->values);
}

static bool may_be(const job_t* job, const job_set_t* set, size_t input, size_t output) {
  if (input >= job->input_count) return false;
  const size_t behind = input - job->first->input_count; /* of finish */
  const tbk_program_input_t* it =
      input < job->first->input_count ? &job->first->inputs[input] : &job->last->inputs[behind];
  return it->kind == TBK_INPUT_ALIGNED && set->inputs[input].type == set->outputs[output].type;
}

/* Returns the input that an output is, or -1. */
static int32_t alias_of(const job_t* job, const job_set_t* set, size_t output) {
  const job_form_t* form = &job->form;
  if (form->reduction != NULL && !form->scans) return -1;
  if (form->aliases != NULL) {
    const int32_t input = (int32_t)form->aliases[output] - 1;
    SUITE_REQUIRE(input < 0 || may_be(job, set, (size_t)input, output));
    return input;
  }
  for (size_t i = 0; (int)output == form->alias - 1 && i < job->first->input_count; ++i)
    if (may_be(job, set, i, output)) return (int32_t)i;
  return -1;
}

static void make_alias(tbk_fixture_t* fx, const job_t* job, job_set_t* set, size_t output) {
  const int32_t which = set->aliases[output] = alias_of(job, set, output);
  if (which < 0) return;
  tensor_t* input = &set->inputs[which];
  tensor_make(fx, input, input->type->dtype, input->rank, set->sizes, job->form.output);
  job_draw_all(fx, input, job->form.values);
  set->outputs[output] = *input;
}

static void make_set(tbk_fixture_t* fx, job_t* job, size_t index) {
  const job_form_t* form = &job->form;
  job_set_t* set = &job->sets[index];
  make_sizes(form, set, index);
  for (size_t i = 0; i < job->first->input_count; ++i)
    make_input(fx, form, set, i, &job->first->inputs[i], set->rank + form->inner_rank);
  if (form->reduction != NULL)
    for (size_t i = 0; i < job->last->input_count; ++i)
      make_input(fx, form, set, job->first->input_count + i, &job->last->inputs[i], set->rank);
  for (size_t r = 0; r < job->last->result_count; ++r)
    tensor_make(fx, &set->outputs[r], job->last->instructions[job->last->results[r]].dtype,
                set->rank, set->sizes, form->output);
  for (size_t n = 0; n < job->first->number_count; ++n)
    job_draw(fx, number_type(job->first->numbers[n]), form->values, &set->numbers[n]);
  for (size_t r = 0; r < job->last->result_count; ++r)
    make_alias(fx, job, set, r);
}

void job_make(tbk_fixture_t* fx, job_t* job, const job_form_t* form) {
  memset(job, 0, sizeof *job);
  job->form = *form;
  if (job->form.index_bits == 0) job->form.index_bits = 64;
  job->first = form->reduction != NULL ? form->reduction->map : form->program;
  job->last = form->reduction != NULL ? form->reduction->finish : form->program;
  job->kernel = form->scans ? generic_kernel(fx, TBK_NAME_scan, TBK_VERSION_scan)
                            : job_kernel(fx, form->reduction != NULL);
  job->set_count = form->sets == 0 ? 1 : form->sets;
  job->input_count = job->first->input_count +
                     (form->reduction != NULL ? form->reduction->finish->input_count : 0);
  SUITE_REQUIRE(job->input_count <= JOB_INPUTS && job->set_count <= JOB_SETS);
  job->sets = (job_set_t*)(void*)fx_zeros(fx, job->set_count * sizeof *job->sets);
  job->wire = (job_wire_t*)(void*)fx_zeros(fx, wire_bytes(job));
  for (size_t s = 0; s < job->set_count; ++s)
    make_set(fx, job, s);
}

void job_ready(tbk_fixture_t* fx, job_t* job) {
  for (size_t s = 0; s < job->set_count; ++s) {
    job_set_t* set = &job->sets[s];
    for (size_t i = 0; i < job->input_count; ++i)
      tensor_upload(fx, &set->inputs[i]);
    for (size_t r = 0; r < job->last->result_count; ++r) {
      tensor_t* output = &set->outputs[r];
      const bool aliased = set->aliases[r] >= 0;
      if (aliased) *output = set->inputs[set->aliases[r]];
      set->poison[r] = fx_zeros(fx, output->block_bytes);
      memcpy(set->poison[r], output->model, output->block_bytes);
      if (!aliased) tensor_upload(fx, output);
    }
  }
}

/* -------------------------------------------------------------------------------- arguments ---- */

/* Programs go over as copies inside the wire. */
static const tbk_program_t* wire_program(program_pool_t* pool, const tbk_program_t* p) {
  program_pool_open(pool);
  for (size_t i = 0; i < p->input_count; ++i)
    program_add_input(pool, p->inputs[i]);
  for (size_t i = 0; i < p->number_count; ++i)
    program_add_number(pool, p->numbers[i]);
  for (size_t i = 0; i < p->parameter_count; ++i)
    program_add_parameter(pool, p->parameters[i]);
  for (size_t i = 0; i < p->instruction_count; ++i)
    program_add(pool, p->instructions[i], p->operands + p->instructions[i].operand_first,
                p->instructions[i].operand_count);
  for (size_t i = 0; i < p->result_count; ++i)
    program_add_result(pool, p->results[i]);
  return &pool->program;
}

const tbk_program_t* job_program(tbk_fixture_t* fx, const char* text) {
  tbk_program_t* program;
  program_pool_t* pool = (program_pool_t*)(void*)fx_zeros(fx, sizeof *pool);
  tbk_status_t status = tbk_program_parse(text, &program, &fx->error);
  if (status != TBK_OK) fprintf(stderr, "%s\n%s", fx->error.message, text);
  SUITE_REQUIRE(status == TBK_OK);
  wire_program(pool, program);
  free(program);
  return &pool->program;
}

static void describe_set(job_t* job, size_t s) {
  const job_form_t* form = &job->form;
  size_t v = 0;
  for (size_t i = 0; i < job->input_count; ++i, ++v) {
    tensor_describe(&job->sets[s].inputs[i], &wire->of[s].views[v], wire->of[s].sizes[v],
                    wire->of[s].strides[v]);
    wire->of[s].inputs[i] = &wire->of[s].views[v];
  }
  for (size_t r = 0; r < job->last->result_count; ++r, ++v) {
    tensor_describe(&job->sets[s].outputs[r], &wire->of[s].views[v], wire->of[s].sizes[v],
                    wire->of[s].strides[v]);
    wire->of[s].outputs[r] = &wire->of[s].views[v];
  }
  memcpy(wire->of[s].numbers, job->sets[s].numbers, sizeof wire->of[s].numbers);
  memcpy(wire->of[s].inner, job->sets[s].sizes + form->rank,
         (size_t)form->inner_rank * sizeof *wire->of[s].inner);
  wire->of[s].set =
      (tbk_operand_set_t){.struct_size = sizeof wire->of[s].set,
                          .outputs = wire->of[s].outputs,
                          .inputs = wire->of[s].inputs,
                          .numbers = wire->of[s].numbers,
                          .inner_sizes = form->inner_rank > 0 ? wire->of[s].inner : NULL,
                          .inner_rank = (uint64_t)form->inner_rank};
  wire->sets[s] = &wire->of[s].set;
}

static void describe_reduction(job_t* job) {
  const tbk_reduction_t* r = job->form.reduction;
  memcpy(wire->identity, r->identity, r->map->result_count * sizeof *r->identity);
  wire->reduction = (tbk_reduction_t){sizeof wire->reduction,
                                      wire_program(&wire->programs[0], r->map),
                                      wire_program(&wire->programs[1], r->combine),
                                      wire_program(&wire->programs[2], r->finish),
                                      wire->identity,
                                      r->flags};
  if (job->form.scans)
    wire->arguments.scan = (tbk_args_scan_t){
        sizeof wire->arguments.scan, &wire->reduction, wire->sets, job->set_count, job->form.flags,
        job->form.index_bits};
  else
    wire->arguments.reduce = (tbk_args_reduce_t){sizeof wire->arguments.reduce, &wire->reduction,
                                                 wire->sets, job->set_count, job->form.index_bits};
}

void job_describe(job_t* job) {
  wire = job->wire;
  memset(wire, 0, wire_bytes(job));
  for (size_t s = 0; s < job->set_count; ++s)
    describe_set(job, s);
  if (job->form.reduction != NULL)
    describe_reduction(job);
  else
    wire->arguments.pointwise = (tbk_args_pointwise_t){
        sizeof wire->arguments.pointwise, wire_program(&wire->programs[0], job->form.program),
        wire->sets, job->set_count, job->form.index_bits};
}

void* job_arguments(void) {
  return &wire->arguments;
}

/* ------------------------------------------------------------------------------------ calls ---- */

static void describe(void* job) {
  job_describe(job);
}

static void clear_numbers(void* job) {
  const job_t* it = job;
  for (size_t s = 0; s < it->set_count; ++s)
    memset(wire->of[s].numbers, 0, sizeof wire->of[s].numbers);
}

static void blank(void* job) {
  const job_t* it = job;
  clear_numbers(job);
  for (size_t s = 0; s < it->set_count; ++s)
    for (size_t v = 0; v < JOB_VIEWS; ++v)
      wire->of[s].views[v].memory = 0;
}

static void again(tbk_fixture_t* fx, void* job) {
  job_ready(fx, job);
}

generic_call_t job_call(job_t* job) {
  return (generic_call_t){.kernel = job->kernel,
                          .job = job,
                          .how = job->form.how,
                          .wire = job->wire,
                          .wire_bytes = wire_bytes(job),
                          .describe = describe,
                          .blank = blank,
                          .vary = clear_numbers,
                          .again = again};
}

tbk_status_t job_launch(tbk_fixture_t* fx, job_t* job, tbk_stream_t* stream) {
  const generic_call_t call = job_call(job);
  return generic_launch(fx, &call, stream);
}

bool job_finish(tbk_fixture_t* fx, job_t* job, tbk_here_t here) {
  int32_t rank = job->form.rank + job->form.inner_rank, most = fx->properties.max_rank;
  job_ready(fx, job);
  generic_call_t call = job_call(job);
  tbk_status_t status = generic_run(fx, &call);
  job->plan_refused = call.plan_refused;
  job->is_planned = call.is_planned;
  if (status == TBK_UNSUPPORTED && most > 0 && rank > most) {
    job_check_untouched(fx, job, here);
    return false;
  }
  TBK_CHECKS(generic_clause_of(&call, status, "PRG-001"));
  return tbk_check_status(TBK_OK, status, &fx->error, here) && job_check(fx, job, here);
}

bool job_run(tbk_fixture_t* fx, job_t* job, const job_form_t* form, tbk_here_t here) {
  job_make(fx, job, form);
  return job_finish(fx, job, here);
}
