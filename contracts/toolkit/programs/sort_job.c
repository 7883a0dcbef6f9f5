/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sort_job.c: operands, arguments, and calls of tbk::sort. What has to come of them is in sort_check.c.
 */
#include "sort_job.h"

#include <math.h>
#include <string.h>

/* All that goes to the backend: overwritten once the call has returned. Threads have one each. */
static _Thread_local struct {
  tbk_args_sort_t arguments;
  tbk_tensor_t input, values, indices;
  int64_t sizes[3][TENSOR_RANK], strides[3][TENSOR_RANK];
} wire;

/* --------------------------------------------------------------------------------- operands ---- */

/* 0, -0, 1, -1, infinities and NaN whose other bits are drawn; of integers those from -3 to 3. */
static void draw_few(tbk_fixture_t* fx, const number_type_t* type, void* element) {
  static const long double some[] = {0, -0.0L, 1, -1, INFINITY, -INFINITY};
  uint64_t drawn = fx_random(fx), which = drawn % 8;
  if (type->digits == 0) {
    job_draw(fx, type, JOB_SMALL, element);
  } else if (which < 6) {
    number_store(type, element, (number_t){0, some[which], 0});
  } else {
    uint64_t bits = 0;
    number_store(type, element, (number_t){0, NAN, 0});
    memcpy(&bits, element, type->size);
    bits ^= (drawn >> 8 & 7) | (drawn >> 16 & 1) << (8 * type->size - 1);
    memcpy(element, &bits, type->size);
  }
}

static void draw_elements(tbk_fixture_t* fx, const sort_form_t* form, const tensor_t* input) {
  for (int64_t i = 0; i < input->count; ++i)
    if (form->draw == SORT_FEW)
      draw_few(fx, input->type, tensor_at(input, i));
    else if (form->draw == SORT_EQUAL && i > 0)
      memcpy(tensor_at(input, i), tensor_at(input, 0), input->type->size);
    else
      job_draw(fx, input->type, JOB_ANY, tensor_at(input, i));
}

static void arrange(tbk_fixture_t* fx, const sort_job_t* job) {
  const sort_form_t* form = &job->form;
  const tensor_t* input = &job->input;
  sort_item_t* items = (sort_item_t*)(void*)fx_zeros(fx, ((size_t)job->length + 1) * sizeof *items);
  for (int64_t s = 0; s < job->segments; ++s) {
    for (int64_t i = 0; i < job->length; ++i)
      items[i] = sort_item(input->type, tensor_at(input, s * job->length + i), i);
    sort_items(items, job->length, form->draw == SORT_REVERSED);
    for (int64_t i = 0; i < job->length; ++i)
      memcpy(tensor_at(input, s * job->length + i), &items[i].bits, input->type->size);
  }
}

void sort_make(tbk_fixture_t* fx, sort_job_t* job, const sort_form_t* form) {
  int64_t sizes[TENSOR_RANK];
  memset(job, 0, sizeof *job);
  job->form = *form;
  if (job->form.index_bits == 0) job->form.index_bits = 64;
  job->kernel = generic_kernel(fx, TBK_NAME_sort, TBK_VERSION_sort);
  job->length = form->sizes[form->rank - 1];
  job->kept = job->length - form->fewer;
  job->segments = 1;
  for (int32_t d = 0; d + 1 < form->rank; ++d)
    job->segments *= form->sizes[d];
  memcpy(sizes, form->sizes, sizeof sizes);
  sizes[form->rank - 1] = job->kept;
  tensor_make(fx, &job->input, form->dtype, form->rank, form->sizes, form->input);
  tensor_make(fx, &job->values, form->dtype, form->rank, sizes, form->values);
  tensor_make(fx, &job->indices, TBK_INT64, form->rank, sizes, form->indices);
  draw_elements(fx, form, &job->input);
  if (form->draw == SORT_SORTED || form->draw == SORT_REVERSED) arrange(fx, job);
}

static uint8_t* copy_of(tbk_fixture_t* fx, const tensor_t* tensor) {
  uint8_t* copy = fx_zeros(fx, tensor->block_bytes);
  memcpy(copy, tensor->model, tensor->block_bytes);
  return copy;
}

void sort_ready(tbk_fixture_t* fx, sort_job_t* job) {
  tensor_upload(fx, &job->input);
  if (job->form.alias)
    job->values = job->input;
  else
    tensor_upload(fx, &job->values);
  tensor_upload(fx, &job->indices);
  job->values_before = copy_of(fx, &job->values);
  job->indices_before = copy_of(fx, &job->indices);
}

/* ------------------------------------------------------------------------------------ calls ---- */

tbk_args_sort_t* sort_describe(sort_job_t* job) {
  memset(&wire, 0, sizeof wire);
  tensor_describe(&job->input, &wire.input, wire.sizes[0], wire.strides[0]);
  tensor_describe(&job->values, &wire.values, wire.sizes[1], wire.strides[1]);
  tensor_describe(&job->indices, &wire.indices, wire.sizes[2], wire.strides[2]);
  wire.arguments = (tbk_args_sort_t){.struct_size = sizeof wire.arguments,
                                     .input = &wire.input,
                                     .values = job->form.no_values ? NULL : &wire.values,
                                     .indices = job->form.no_indices ? NULL : &wire.indices,
                                     .flags = job->form.flags,
                                     .index_bits = job->form.index_bits};
  return &wire.arguments;
}

static void describe(void* job) {
  sort_describe(job);
}

static void blank(void* job) {
  (void)job;
  wire.input.memory = wire.values.memory = wire.indices.memory = 0;
}

generic_call_t sort_call(sort_job_t* job) {
  return (generic_call_t){.kernel = job->kernel,
                          .job = job,
                          .how = job->form.how,
                          .wire = &wire,
                          .wire_bytes = sizeof wire,
                          .describe = describe,
                          .blank = blank};
}

tbk_status_t sort_launch(tbk_fixture_t* fx, sort_job_t* job, tbk_stream_t* stream) {
  const generic_call_t call = sort_call(job);
  return generic_launch(fx, &call, stream);
}

bool sort_finish(tbk_fixture_t* fx, sort_job_t* job, tbk_here_t here) {
  sort_ready(fx, job);
  generic_call_t call = sort_call(job);
  tbk_status_t status = generic_run(fx, &call);
  TBK_CHECKS(generic_clause_of(&call, status, "PRG-057"));
  return tbk_check_status(TBK_OK, status, &fx->error, here) && sort_check(fx, job, here);
}

bool sort_run(tbk_fixture_t* fx, sort_job_t* job, const sort_form_t* form, tbk_here_t here) {
  sort_make(fx, job, form);
  return sort_finish(fx, job, here);
}
