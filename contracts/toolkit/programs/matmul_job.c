/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * matmul_job.c: operands, arguments, calls of tbk::matmul, and the check of what came of them.
 */
#include "matmul_job.h"

#include <string.h>

/* All that goes to the backend: overwritten once the call has returned. Threads have one each. */
static _Thread_local struct {
  tbk_args_matmul_t arguments;
  tbk_tensor_t views[MATMUL_OPERANDS];
  int64_t sizes[MATMUL_OPERANDS][TENSOR_RANK], strides[MATMUL_OPERANDS][TENSOR_RANK];
} wire;

static const char* const names[MATMUL_OPERANDS] = {"a", "b", "c", "out"};

/* --------------------------------------------------------------------------------- operands ---- */

static bool has(const matmul_job_t* job, int operand) {
  return operand != MATMUL_C || job->form.added == MATMUL_TENSOR;
}

/* A stride for a size, and back. */
static void turn(int64_t* numbers, int32_t rank) {
  const int64_t last = numbers[rank - 1];
  numbers[rank - 1] = numbers[rank - 2];
  numbers[rank - 2] = last;
}

static void make_operand(tbk_fixture_t* fx, matmul_job_t* job, int operand, int64_t rows,
                         int64_t columns) {
  const matmul_form_t* form = &job->form;
  const int32_t rank = form->batch_rank + 2;
  tensor_t* tensor = &job->operands[operand];
  int64_t sizes[TENSOR_RANK];
  memcpy(sizes, form->batch, sizeof form->batch);
  sizes[rank - 2] = rows, sizes[rank - 1] = columns;
  if (form->transposed[operand]) turn(sizes, rank);
  tensor_make(fx, tensor, form->dtype, rank, sizes, form->layouts[operand]);
  if (form->transposed[operand]) {
    turn(tensor->sizes, rank);
    turn(tensor->strides, rank);
  }
  if (operand != MATMUL_OUT || form->added == MATMUL_OUTPUT) job_draw_all(fx, tensor, form->drawn);
}

void matmul_make(tbk_fixture_t* fx, matmul_job_t* job, const matmul_form_t* form) {
  memset(job, 0, sizeof *job);
  job->form = *form;
  if (job->form.index_bits == 0) job->form.index_bits = 64;
  job->kernel = generic_kernel(fx, TBK_NAME_matmul, TBK_VERSION_matmul);
  make_operand(fx, job, MATMUL_A, form->m, form->k);
  make_operand(fx, job, MATMUL_B, form->k, form->n);
  make_operand(fx, job, MATMUL_C, form->m, form->n);
  make_operand(fx, job, MATMUL_OUT, form->m, form->n);
}

void matmul_ready(tbk_fixture_t* fx, matmul_job_t* job) {
  for (int i = 0; i < MATMUL_OPERANDS; ++i) {
    if (!has(job, i)) continue;
    tensor_t* tensor = &job->operands[i];
    tensor_upload(fx, tensor);
    job->before[i] = fx_zeros(fx, tensor->block_bytes);
    memcpy(job->before[i], tensor->model, tensor->block_bytes);
  }
  if (job->form.added == MATMUL_OUTPUT) job->operands[MATMUL_C] = job->operands[MATMUL_OUT];
}

/* ------------------------------------------------------------------------------------ calls ---- */

static tbk_scalar_t scalar(const matmul_job_t* job, int64_t whole, double real) {
  if (number_type(job->form.dtype)->is_integer)
    return (tbk_scalar_t){.kind = TBK_SCALAR_INT, .integer = whole};
  return (tbk_scalar_t){.kind = TBK_SCALAR_DOUBLE, .real = real};
}

tbk_args_matmul_t* matmul_describe(matmul_job_t* job) {
  const matmul_form_t* form = &job->form;
  const bool adds = form->added != MATMUL_NOTHING;
  memset(&wire, 0, sizeof wire);
  for (int i = 0; i < MATMUL_OPERANDS; ++i)
    tensor_describe(&job->operands[i], &wire.views[i], wire.sizes[i], wire.strides[i]);
  wire.arguments = (tbk_args_matmul_t){.struct_size = sizeof wire.arguments,
                                       .a = &wire.views[MATMUL_A],
                                       .b = &wire.views[MATMUL_B],
                                       .c = adds ? &wire.views[MATMUL_C] : NULL,
                                       .out = &wire.views[MATMUL_OUT],
                                       .alpha = scalar(job, matmul_whole_alpha(form), form->alpha),
                                       .beta = scalar(job, matmul_whole_beta(form), form->beta),
                                       .index_bits = form->index_bits};
  return &wire.arguments;
}

static void describe(void* job) {
  matmul_describe(job);
}

/* Scalars are others too. */
static void blank(void* job) {
  const matmul_job_t* it = job;
  wire.arguments.alpha = scalar(it, matmul_whole_alpha(&it->form) ^ 1, it->form.alpha + 1);
  wire.arguments.beta = scalar(it, 0, 0);
  for (int i = 0; i < MATMUL_OPERANDS; ++i)
    wire.views[i].memory = 0;
}

generic_call_t matmul_call(matmul_job_t* job) {
  return (generic_call_t){.kernel = job->kernel,
                          .job = job,
                          .how = job->form.how,
                          .wire = &wire,
                          .wire_bytes = sizeof wire,
                          .describe = describe,
                          .blank = blank};
}

tbk_status_t matmul_launch(tbk_fixture_t* fx, matmul_job_t* job, tbk_stream_t* stream) {
  const generic_call_t call = matmul_call(job);
  return generic_launch(fx, &call, stream);
}

bool matmul_finish(tbk_fixture_t* fx, matmul_job_t* job, tbk_here_t here) {
  matmul_ready(fx, job);
  generic_call_t call = matmul_call(job);
  tbk_status_t status = generic_run(fx, &call);
  job->is_planned = call.is_planned;
  TBK_CHECKS(generic_clause_of(&call, status, "PRG-033"));
  return tbk_check_status(TBK_OK, status, &fx->error, here) && matmul_check(fx, job, here);
}

bool matmul_run(tbk_fixture_t* fx, matmul_job_t* job, const matmul_form_t* form, tbk_here_t here) {
  matmul_make(fx, job, form);
  return matmul_finish(fx, job, here);
}

/* ------------------------------------------------------------------------------------ check ---- */

static bool tell(const matmul_job_t* job, const matmul_cell_t* cell, int64_t at, const void* seen,
                 tbk_here_t here) {
  const number_type_t* type = job->operands[MATMUL_OUT].type;
  const long double middle = cell->low + (cell->high - cell->low) / 2;
  char wanted[96], got[96];
  uint8_t element[16];
  number_store(type, element, (number_t){cell->integer, middle, 0});
  number_print(type, element, wanted, sizeof wanted);
  number_print(type, seen, got, sizeof got);
  return tbk_check_said(false, here, wanted, "%s in out, %s, row %lld, column %lld of %lld", got,
                        type->name, (long long)(at / job->form.n), (long long)(at % job->form.n),
                        (long long)job->form.n);
}

/* Runs it again from the same inputs, in the plainest way; no answer of the device ends the test. */
static bool is_right_again(tbk_fixture_t* fx, matmul_job_t* job) {
  const tensor_t* out = &job->operands[MATMUL_OUT];
  const generic_call_t call = matmul_call(job);
  uint8_t* seen = fx_zeros(fx, out->block_bytes);
  for (int i = 0; i < MATMUL_OPERANDS; ++i)
    if (has(job, i) && !generic_put_back(fx, &job->operands[i], job->operands[i].model))
      return false;
  if (!generic_try_again(fx, &call, out, seen)) return false;
  const matmul_cell_t* cells = matmul_expect(fx, job);
  for (tensor_walk_t w = tensor_first(out); w.index < out->count; tensor_step(&w))
    if (!matmul_allows(out->type, &cells[w.index], seen + tensor_walk_byte(&w))) return false;
  return true;
}

/*
 * Returns the clause of plans where a launch is right, and that of what is added where the job is right over zeros
 * and without c alone; else NULL, also where the product is 0 itself, which may be what was left there.
 */
static const char* clause_of_part(tbk_fixture_t* fx, const matmul_job_t* job, int64_t at) {
  static const uint8_t zero[16];
  matmul_job_t again = *job;
  if (is_right_again(fx, &again)) return job->is_planned ? "KRN-013" : NULL;
  again.form.added = MATMUL_NOTHING;
  again.operands[MATMUL_OUT].model = fx_zeros(fx, again.operands[MATMUL_OUT].block_bytes);
  if (matmul_allows(again.operands[MATMUL_OUT].type, &matmul_expect(fx, &again)[at], zero))
    return NULL;
  if (!is_right_again(fx, &again)) return NULL;
  return job->form.added == MATMUL_NOTHING ? "PRG-040" : "PRG-039";
}

/* Returns whether the same product is right where all operands are contiguous. */
static bool is_right_without_gaps(tbk_fixture_t* fx, const matmul_job_t* job) {
  bool is_plain = true;
  matmul_form_t form = job->form;
  for (int i = 0; i < MATMUL_OPERANDS; ++i) {
    is_plain = is_plain && form.layouts[i] == TENSOR_PLAIN && !form.transposed[i];
    form.layouts[i] = TENSOR_PLAIN, form.transposed[i] = false;
  }
  if (is_plain) return false;
  matmul_job_t plain;
  matmul_make(fx, &plain, &form);
  matmul_ready(fx, &plain);
  return is_right_again(fx, &plain);
}

/* Returns the clause of layouts and batches where without gaps, or at the first place, all is right. */
static const char* clause_of_place(tbk_fixture_t* fx, const matmul_job_t* job, int64_t at) {
  const char* clause = clause_of_part(fx, job, at);
  if (clause != NULL) return clause;
  const bool is_first = at < job->form.m * job->form.n;
  return !is_first || is_right_without_gaps(fx, job) ? "PRG-038" : NULL;
}

static bool check_out(tbk_fixture_t* fx, matmul_job_t* job, tbk_here_t here) {
  const tensor_t* out = &job->operands[MATMUL_OUT];
  const matmul_cell_t* cells = matmul_expect(fx, job);
  uint8_t* seen = fx_zeros(fx, out->block_bytes);
  fx_download(fx, seen, out->memory, out->block_bytes);
  for (tensor_walk_t w = tensor_first(out); w.index < out->count; tensor_step(&w)) {
    const size_t at = tensor_walk_byte(&w);
    if (!matmul_allows(out->type, &cells[w.index], seen + at)) {
      TBK_CHECKS(clause_of_place(fx, job, w.index));
      return tell(job, &cells[w.index], w.index, seen + at, here);
    }
    memcpy(job->before[MATMUL_OUT] + at, seen + at, out->type->size);
  }
  TBK_CHECKS("KRN-003");
  here.text = "bytes around the elements of out";
  return tbk_check_bytes(job->before[MATMUL_OUT], seen, out->block_bytes, here);
}

static bool check_same(tbk_fixture_t* fx, const matmul_job_t* job, int operands, tbk_here_t here) {
  bool held = true;
  TBK_CHECKS("KRN-004");
  for (int i = 0; i < operands; ++i)
    if (has(job, i))
      held = tensor_check_bits(fx, &job->operands[i], job->before[i], names[i], here) && held;
  return held;
}

bool matmul_check(tbk_fixture_t* fx, matmul_job_t* job, tbk_here_t here) {
  bool held = check_out(fx, job, here) && check_same(fx, job, MATMUL_OUT, here);
  return tbk_check_said(held, here, "right elements", "%s", "as above");
}

bool matmul_check_untouched(tbk_fixture_t* fx, matmul_job_t* job, tbk_here_t here) {
  return check_same(fx, job, MATMUL_OPERANDS, here);
}
