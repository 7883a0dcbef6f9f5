/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_job.c: operands, arguments, calls of tbk::convolution, and the check of what came of them.
 */
#include "convolution_job.h"

#include <math.h>
#include <string.h>

static const char* const names[CONVOLUTION_OPERANDS] = {"output", "input", "weight", "bias"};

/* All that goes to the backend: overwritten once the call has returned. Threads have one each. */
static _Thread_local struct {
  tbk_args_convolution_t arguments;
  tbk_tensor_t views[CONVOLUTION_OPERANDS];
  int64_t sizes[CONVOLUTION_OPERANDS][TENSOR_RANK], strides[CONVOLUTION_OPERANDS][TENSOR_RANK];
  int64_t stride[SPATIAL], padding[SPATIAL], dilation[SPATIAL];
} wire;

static bool has(const convolution_job_t* job, int operand) {
  return operand != CONVOLUTION_BIAS || job->form.bias;
}

/* --------------------------------------------------------------------------------- operands ---- */

/* As many places as fit, and some more; none where it would be less. */
static int64_t output_size(const convolution_form_t* form, int32_t d) {
  const int64_t room =
      form->input[d] + 2 * form->padding[d] - (form->kernel[d] - 1) * form->dilation[d];
  const int64_t size = (room > 0 ? (room - 1) / form->stride[d] + 1 : 0) + form->more;
  return size > 0 ? size : 0;
}

/* No stride is 0, where there are no channels neither. */
static void turn_channels_last(tensor_t* tensor) {
  int64_t step = tensor->sizes[1] > 0 ? tensor->sizes[1] : 1;
  tensor->strides[1] = 1;
  for (int32_t d = tensor->rank - 1; d >= 2; --d) {
    tensor->strides[d] = step;
    if (tensor->sizes[d] > 0) step *= tensor->sizes[d];
  }
  tensor->strides[0] = step;
}

static void make_operand(tbk_fixture_t* fx, convolution_job_t* job, int operand, int64_t first,
                         int64_t second, const int64_t* places, int layout) {
  const convolution_form_t* form = &job->form;
  tensor_t* tensor = &job->operands[operand];
  int64_t sizes[TENSOR_RANK] = {first, second};
  for (int32_t d = 0; d < form->spatial; ++d)
    sizes[2 + d] = places[d];
  const bool last = layout == CONVOLUTION_CHANNELS_LAST;
  tensor_make(fx, tensor, form->dtype, operand == CONVOLUTION_BIAS ? 1 : 2 + form->spatial, sizes,
              last ? TENSOR_PLAIN : (tensor_layout_t)layout);
  if (last) turn_channels_last(tensor);
  if (operand != form->mode)
    job_draw_all(fx, tensor, form->drawn == JOB_ORDINARY ? JOB_ORDINARY : JOB_SMALL);
}

/* What stands opposite to padding: the weight, and of a gradient by it the output's. */
static void make_odd(tbk_fixture_t* fx, convolution_job_t* job) {
  static const long double odd[] = {(long double)NAN, (long double)INFINITY};
  const tensor_t* tensor =
      &job->operands[job->form.mode == TBK_CONVOLUTION_WEIGHT ? CONVOLUTION_OUT : CONVOLUTION_BY];
  for (tensor_walk_t w = tensor_first(tensor); w.index < tensor->count; tensor_step(&w))
    if (fx_random(fx) % 12 == 0)
      number_store(tensor->type, tensor_walk_at(&w), (number_t){0, odd[fx_random(fx) % 2], 0});
}

static void complete(convolution_form_t* form) {
  if (form->index_bits == 0) form->index_bits = 64;
  for (int32_t d = 0; d < SPATIAL; ++d) {
    if (form->stride[d] == 0) form->stride[d] = 1;
    if (form->dilation[d] == 0) form->dilation[d] = 1;
  }
}

void convolution_make(tbk_fixture_t* fx, convolution_job_t* job, const convolution_form_t* given) {
  int64_t places[SPATIAL] = {0};
  memset(job, 0, sizeof *job);
  job->form = *given;
  complete(&job->form);
  const convolution_form_t* form = &job->form;
  const int64_t channels = form->groups * form->channels, filters = form->groups * form->filters;
  job->kernel = generic_kernel(fx, TBK_NAME_convolution, TBK_VERSION_convolution);
  for (int32_t d = 0; d < form->spatial; ++d)
    places[d] = output_size(form, d);
  make_operand(fx, job, CONVOLUTION_OUT, form->images, filters, places, form->output_layout);
  make_operand(fx, job, CONVOLUTION_IN, form->images, channels, form->input, form->input_layout);
  make_operand(fx, job, CONVOLUTION_BY, filters, form->channels, form->kernel, form->weight_layout);
  if (form->bias)
    make_operand(fx, job, CONVOLUTION_BIAS,
                 form->mode == TBK_CONVOLUTION_OUTPUT ? filters : channels, 0, form->input,
                 form->bias_layout);
  if (form->odd) make_odd(fx, job);
}

void convolution_ready(tbk_fixture_t* fx, convolution_job_t* job) {
  const tensor_t* written = &job->operands[job->form.mode];
  for (int i = 0; i < CONVOLUTION_OPERANDS; ++i)
    if (has(job, i)) tensor_upload(fx, &job->operands[i]);
  job->before = fx_zeros(fx, written->block_bytes);
  memcpy(job->before, written->model, written->block_bytes);
}

/* ------------------------------------------------------------------------------------ calls ---- */

tbk_args_convolution_t* convolution_describe(convolution_job_t* job) {
  const convolution_form_t* form = &job->form;
  memset(&wire, 0, sizeof wire);
  for (int i = 0; i < CONVOLUTION_OPERANDS; ++i)
    if (has(job, i))
      tensor_describe(&job->operands[i], &wire.views[i], wire.sizes[i], wire.strides[i]);
  memcpy(wire.stride, form->stride, sizeof wire.stride);
  memcpy(wire.padding, form->padding, sizeof wire.padding);
  memcpy(wire.dilation, form->dilation, sizeof wire.dilation);
  wire.arguments = (tbk_args_convolution_t){.struct_size = sizeof wire.arguments,
                                            .mode = form->mode,
                                            .input = &wire.views[CONVOLUTION_IN],
                                            .weight = &wire.views[CONVOLUTION_BY],
                                            .output = &wire.views[CONVOLUTION_OUT],
                                            .stride = wire.stride,
                                            .padding = wire.padding,
                                            .dilation = wire.dilation,
                                            .groups = form->groups,
                                            .index_bits = form->index_bits};
  if (form->bias) wire.arguments.bias = &wire.views[CONVOLUTION_BIAS];
  return &wire.arguments;
}

static void describe(void* job) {
  convolution_describe(job);
}

static void blank(void* job) {
  (void)job;
  for (int i = 0; i < CONVOLUTION_OPERANDS; ++i)
    wire.views[i].memory = 0;
}

generic_call_t convolution_call(convolution_job_t* job) {
  return (generic_call_t){.kernel = job->kernel,
                          .job = job,
                          .how = job->form.how,
                          .wire = &wire,
                          .wire_bytes = sizeof wire,
                          .describe = describe,
                          .blank = blank};
}

tbk_status_t convolution_launch(tbk_fixture_t* fx, convolution_job_t* job, tbk_stream_t* stream) {
  const generic_call_t call = convolution_call(job);
  return generic_launch(fx, &call, stream);
}

bool convolution_finish(tbk_fixture_t* fx, convolution_job_t* job, tbk_here_t here) {
  convolution_ready(fx, job);
  generic_call_t call = convolution_call(job);
  tbk_status_t status = generic_run(fx, &call);
  job->is_planned = call.is_planned;
  TBK_CHECKS(generic_clause_of(&call, status, "PRG-045"));
  return tbk_check_status(TBK_OK, status, &fx->error, here) && convolution_check(fx, job, here);
}

bool convolution_run(tbk_fixture_t* fx, convolution_job_t* job, const convolution_form_t* form,
                     tbk_here_t here) {
  convolution_make(fx, job, form);
  return convolution_finish(fx, job, here);
}

/* ------------------------------------------------------------------------------------ check ---- */

static bool tell(const convolution_job_t* job, const convolution_cell_t* cell, int64_t at,
                 const void* seen, tbk_here_t here) {
  const tensor_t* written = &job->operands[job->form.mode];
  char wanted[96], got[96];
  uint8_t element[16];
  number_store(written->type, element, (number_t){cell->integer, cell->real, 0});
  number_print(written->type, element, wanted, sizeof wanted);
  number_print(written->type, seen, got, sizeof got);
  return tbk_check_said(false, here, wanted,
                        "%s in the %s, %s, element %lld of %lld, of %lld terms", got,
                        names[job->form.mode], written->type->name, (long long)at,
                        (long long)written->count, (long long)cell->count);
}

/* Runs it again from the same inputs, in the plainest way; no answer of the device ends the test. */
static bool is_right_again(tbk_fixture_t* fx, convolution_job_t* job) {
  const tensor_t* written = &job->operands[job->form.mode];
  const generic_call_t call = convolution_call(job);
  uint8_t* seen = fx_zeros(fx, written->block_bytes);
  for (int i = 0; i < CONVOLUTION_OPERANDS; ++i)
    if (has(job, i) && !generic_put_back(fx, &job->operands[i], job->operands[i].model))
      return false;
  if (!generic_try_again(fx, &call, written, seen)) return false;
  const convolution_cell_t* cells = convolution_expect(fx, job);
  for (tensor_walk_t w = tensor_first(written); w.index < written->count; tensor_step(&w))
    if (!convolution_allows(job, &cells[w.index], seen + tensor_walk_byte(&w))) return false;
  return true;
}

/* Returns the clause of plans where a launch is right, that of the bias where the job is right without it alone;
 * else NULL. */
static const char* clause_of_part(tbk_fixture_t* fx, const convolution_job_t* job) {
  convolution_job_t again = *job;
  if (is_right_again(fx, &again)) return job->is_planned ? "KRN-013" : NULL;
  if (!job->form.bias) return NULL;
  again.form.bias = false;
  return is_right_again(fx, &again) ? "PRG-049" : NULL;
}

static bool check_written(tbk_fixture_t* fx, convolution_job_t* job, tbk_here_t here) {
  const tensor_t* written = &job->operands[job->form.mode];
  const convolution_cell_t* cells = convolution_expect(fx, job);
  uint8_t* seen = fx_zeros(fx, written->block_bytes);
  fx_download(fx, seen, written->memory, written->block_bytes);
  for (tensor_walk_t w = tensor_first(written); w.index < written->count; tensor_step(&w)) {
    const size_t at = tensor_walk_byte(&w);
    if (!convolution_allows(job, &cells[w.index], seen + at)) {
      TBK_CHECKS(clause_of_part(fx, job));
      return tell(job, &cells[w.index], w.index, seen + at, here);
    }
    memcpy(job->before + at, seen + at, written->type->size);
  }
  TBK_CHECKS("KRN-003");
  here.text = "bytes around the elements of what is written";
  return tbk_check_bytes(job->before, seen, written->block_bytes, here);
}

static bool check_read(tbk_fixture_t* fx, const convolution_job_t* job, tbk_here_t here) {
  bool held = true;
  TBK_CHECKS("KRN-004");
  for (int i = 0; i < CONVOLUTION_OPERANDS; ++i)
    if (has(job, i) && i != job->form.mode)
      held =
          tensor_check_bits(fx, &job->operands[i], job->operands[i].model, names[i], here) && held;
  return held;
}

bool convolution_check(tbk_fixture_t* fx, convolution_job_t* job, tbk_here_t here) {
  const bool held = check_written(fx, job, here) && check_read(fx, job, here);
  return tbk_check_said(held, here, "right elements", "%s", "as above");
}

bool convolution_check_untouched(tbk_fixture_t* fx, convolution_job_t* job, tbk_here_t here) {
  const tensor_t* written = &job->operands[job->form.mode];
  return tensor_check_bits(fx, written, job->before, names[job->form.mode], here) &&
         check_read(fx, job, here);
}
