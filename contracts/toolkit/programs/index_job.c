/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * index_job.c: operands, arguments, calls of tbk::index, and the check of what came of them.
 */
#include "index_job.h"

#include <stdio.h>
#include <string.h>

/* All that goes to the backend: overwritten once the call has returned. Threads have one each. */
static _Thread_local struct {
  tbk_args_index_t arguments;
  tbk_tensor_t table, values, report, views[TENSOR_RANK];
  const tbk_tensor_t* indices[TENSOR_RANK];
  int64_t sizes[TENSOR_RANK + 3][TENSOR_RANK], strides[TENSOR_RANK + 3][TENSOR_RANK];
  int64_t places[TENSOR_RANK];
} wire;

/* --------------------------------------------------------------------------------- operands ---- */

/* The dimension that index k counts in; the least where it counts in several. */
static int64_t size_for(const index_form_t* form, const tensor_t* table, size_t k) {
  int64_t size = INT64_MAX;
  if ((form->flags & TBK_INDEX_FLAT) != 0) return table->count;
  for (int32_t d = 0; d < form->table_rank; ++d)
    if (form->places[d] == TBK_INDEX_BY(k) && form->table_sizes[d] < size)
      size = form->table_sizes[d];
  return size;
}

static int64_t bad_index(tbk_fixture_t* fx, const index_form_t* form, int64_t size) {
  const int64_t outside[] = {size,      -1 - size, size + 1,         INT32_MAX,
                             INT32_MIN, -1,        INT64_C(1) << 32, -(INT64_C(1) << 32) + 1,
                             INT64_MAX, INT64_MIN};
  size_t count = form->index_dtype == TBK_INT32 ? 6 : 10;
  int64_t index = outside[fx_random(fx) % count];
  return index == -1 && (form->flags & TBK_INDEX_NEGATIVE) != 0 ? size : index;
}

static bool may_be_bad(const index_form_t* form, size_t k) {
  return form->draw == INDEX_BAD || (form->draw == INDEX_BAD_LAST && k + 1 == form->index_count);
}

static int64_t draw_index(tbk_fixture_t* fx, const index_form_t* form, size_t k, int64_t size) {
  uint64_t drawn = fx_random(fx);
  if (size == 0 || (may_be_bad(form, k) && drawn % 4 == 0)) return bad_index(fx, form, size);
  int64_t index = form->draw == INDEX_ONE ? size - 1 : (int64_t)(drawn >> 8) % size;
  if (index < 0) index += size;
  return (form->flags & TBK_INDEX_NEGATIVE) != 0 && drawn % 2 == 0 ? index - size : index;
}

static void make_index(tbk_fixture_t* fx, index_job_t* job, size_t k) {
  const index_form_t* form = &job->form;
  tensor_t* index = &job->indices[k];
  const bool has_layout = form->index_alone == 0 || form->index_alone == (int)k + 1;
  tensor_make(fx, index, form->index_dtype, form->rank, form->sizes,
              has_layout ? form->index : TENSOR_PLAIN);
  for (int32_t d = 0; d < form->rank; ++d)
    if ((form->expanded[k] >> d & 1) != 0) index->strides[d] = 0;
  for (int64_t i = 0; i < index->count; ++i) {
    int64_t drawn = draw_index(fx, form, k, size_for(form, &job->table, k));
    number_store(index->type, tensor_at(index, i), (number_t){(uint64_t)drawn, drawn, 0});
  }
}

/* Of products a few are 2, the others 1 or -1: exact in every order. */
static void draw_value(tbk_fixture_t* fx, const index_form_t* form, const tensor_t* tensor,
                       int64_t i) {
  uint64_t drawn = fx_random(fx);
  int64_t factor = drawn % 32 == 0 ? 2 : drawn % 2 == 0 ? 1 : -1;
  if (form->mode == TBK_INDEX_MUL && !tensor->type->is_integer)
    number_store(tensor->type, tensor_at(tensor, i), (number_t){0, factor, 0});
  else
    job_draw(fx, tensor->type, form->drawn, tensor_at(tensor, i));
}

static void make_values(tbk_fixture_t* fx, const index_form_t* form, tensor_t* tensor) {
  for (int64_t i = 0; i < tensor->count; ++i)
    draw_value(fx, form, tensor, i);
}

void index_make(tbk_fixture_t* fx, index_job_t* job, const index_form_t* form) {
  bool gathers = form->mode == TBK_INDEX_GATHER;
  memset(job, 0, sizeof *job);
  job->form = *form;
  if (job->form.index_bits == 0) job->form.index_bits = 64;
  job->kernel = generic_kernel(fx, TBK_NAME_index, TBK_VERSION_index);
  tensor_make(fx, &job->table, form->dtype, form->table_rank, form->table_sizes, form->table);
  tensor_make(fx, &job->values, form->dtype, form->rank, form->sizes, form->values);
  make_values(fx, form, &job->table);
  if (!gathers) make_values(fx, form, &job->values);
  for (size_t k = 0; k < form->index_count; ++k)
    make_index(fx, job, k);
  if (form->report) {
    tensor_make(fx, &job->report, TBK_INT32, 0, form->sizes, TENSOR_PLAIN);
    memset(tensor_at(&job->report, 0), 0, sizeof(int32_t));
  }
  if (form->alias > 0) job->values = job->indices[form->alias - 1];
}

void index_ready(tbk_fixture_t* fx, index_job_t* job) {
  tensor_upload(fx, &job->table);
  for (size_t k = 0; k < job->form.index_count; ++k)
    tensor_upload(fx, &job->indices[k]);
  if (job->form.alias > 0)
    job->values = job->indices[job->form.alias - 1];
  else
    tensor_upload(fx, &job->values);
  if (job->form.report) tensor_upload(fx, &job->report);
  job->table_before = fx_zeros(fx, job->table.block_bytes);
  job->values_before = fx_zeros(fx, job->values.block_bytes);
  memcpy(job->table_before, job->table.model, job->table.block_bytes);
  memcpy(job->values_before, job->values.model, job->values.block_bytes);
}

/* ------------------------------------------------------------------------------------ calls ---- */

tbk_args_index_t* index_describe(index_job_t* job) {
  const index_form_t* form = &job->form;
  memset(&wire, 0, sizeof wire);
  tensor_describe(&job->table, &wire.table, wire.sizes[0], wire.strides[0]);
  tensor_describe(&job->values, &wire.values, wire.sizes[1], wire.strides[1]);
  if (form->report) tensor_describe(&job->report, &wire.report, wire.sizes[2], wire.strides[2]);
  for (size_t k = 0; k < form->index_count; ++k) {
    tensor_describe(&job->indices[k], &wire.views[k], wire.sizes[3 + k], wire.strides[3 + k]);
    wire.indices[k] = &wire.views[k];
  }
  memcpy(wire.places, form->places, sizeof wire.places);
  wire.arguments = (tbk_args_index_t){.struct_size = sizeof wire.arguments,
                                      .mode = form->mode,
                                      .flags = form->flags,
                                      .bounds = form->bounds,
                                      .index_bits = form->index_bits,
                                      .table = &wire.table,
                                      .values = &wire.values,
                                      .indices = form->index_count > 0 ? wire.indices : NULL,
                                      .index_count = form->index_count,
                                      .places = wire.places,
                                      .report = form->report ? &wire.report : NULL};
  if ((form->flags & TBK_INDEX_FLAT) != 0) wire.arguments.places = NULL;
  return &wire.arguments;
}

static void describe(void* job) {
  index_describe(job);
}

static void blank(void* job) {
  (void)job;
  wire.table.memory = wire.values.memory = wire.report.memory = 0;
  for (size_t k = 0; k < TENSOR_RANK; ++k)
    wire.views[k].memory = 0;
}

generic_call_t index_call(index_job_t* job) {
  return (generic_call_t){.kernel = job->kernel,
                          .job = job,
                          .how = job->form.how,
                          .wire = &wire,
                          .wire_bytes = sizeof wire,
                          .describe = describe,
                          .blank = blank};
}

tbk_status_t index_launch(tbk_fixture_t* fx, index_job_t* job, tbk_stream_t* stream) {
  const generic_call_t call = index_call(job);
  return generic_launch(fx, &call, stream);
}

bool index_finish(tbk_fixture_t* fx, index_job_t* job, tbk_here_t here) {
  index_ready(fx, job);
  generic_call_t call = index_call(job);
  tbk_status_t status = generic_run(fx, &call);
  TBK_CHECKS(generic_clause_of(&call, status, "PRG-021"));
  return tbk_check_status(TBK_OK, status, &fx->error, here) && index_check(fx, job, here);
}

bool index_run(tbk_fixture_t* fx, index_job_t* job, const index_form_t* form, tbk_here_t here) {
  index_make(fx, job, form);
  return index_finish(fx, job, here);
}

/* ------------------------------------------------------------------------------------ check ---- */

static bool tell(const index_job_t* job, const index_cell_t* cell, int64_t at, const void* seen,
                 tbk_here_t here) {
  char wanted[96], got[96];
  uint8_t element[16];
  number_store(job->table.type, element, cell->value);
  number_print(job->table.type, element, wanted, sizeof wanted);
  number_print(job->table.type, seen, got, sizeof got);
  return tbk_check_said(false, here, wanted,
                        "%s in the table, %s, element %lld of %lld, to which %lld places go", got,
                        job->table.type->name, (long long)at, (long long)job->table.count,
                        (long long)cell->count);
}

static bool check_table(tbk_fixture_t* fx, index_job_t* job, const index_cell_t* cells,
                        tbk_here_t here) {
  const tensor_t* table = &job->table;
  uint8_t* seen = fx_zeros(fx, table->block_bytes);
  fx_download(fx, seen, table->memory, table->block_bytes);
  for (int64_t i = 0; i < table->count; ++i) {
    size_t at = (size_t)((uint8_t*)tensor_at(table, i) - table->model);
    if (!index_allows(job, &cells[i], i, seen + at))
      return tell(job, &cells[i], i, seen + at, here);
    memcpy(job->table_before + at, seen + at, table->type->size);
  }
  TBK_CHECKS("KRN-003");
  here.text = "bytes around the elements of the table";
  return tbk_check_bytes(job->table_before, seen, table->block_bytes, here);
}

static bool check_report(tbk_fixture_t* fx, const index_job_t* job, tbk_here_t here) {
  int32_t seen = 0, first = 0;
  bool any = false;
  if (!job->form.report) return true;
  uint8_t* block = fx_zeros(fx, job->report.block_bytes);
  fx_download(fx, block, job->report.memory, job->report.block_bytes);
  memcpy(&seen, block + ((uint8_t*)tensor_at(&job->report, 0) - job->report.model), sizeof seen);
  for (size_t k = 0; k < job->form.index_count; ++k) {
    any = any || job->bad[k];
    if (job->bad[k] && first == 0) first = (int32_t)k + 1;
  }
  char wanted[64];
  snprintf(wanted, sizeof wanted, any ? "a report of %d, the first that is bad" : "a report of %d",
           first);
  TBK_CHECKS("PRG-027");
  bool right =
      any ? seen > 0 && seen <= (int32_t)job->form.index_count && job->bad[seen - 1] : seen == 0;
  return tbk_check_said(right, here, wanted, "%d", seen);
}

static bool check_inputs(tbk_fixture_t* fx, const index_job_t* job, bool all, tbk_here_t here) {
  bool gathers = job->form.mode == TBK_INDEX_GATHER, held = true;
  TBK_CHECKS("KRN-004");
  for (size_t k = 0; k < job->form.index_count; ++k)
    if (all || (int)k != job->form.alias - 1)
      held =
          tensor_check_bits(fx, &job->indices[k], job->indices[k].model, "an index", here) && held;
  if (gathers || all)
    held = tensor_check_bits(fx, &job->table, job->table_before, "the table", here) && held;
  if (!gathers || all)
    held = tensor_check_bits(fx, &job->values, job->values_before, "the values", here) && held;
  return held;
}

bool index_check(tbk_fixture_t* fx, index_job_t* job, tbk_here_t here) {
  const index_cell_t* cells = index_expect(fx, job);
  bool held = job->form.mode == TBK_INDEX_GATHER
                  ? tensor_check(fx, &job->values, 0, "the values", here)
                  : check_table(fx, job, cells, here);
  held = held && check_report(fx, job, here) && check_inputs(fx, job, false, here);
  return tbk_check_said(held, here, "right elements", "%s", "as above");
}

bool index_check_untouched(tbk_fixture_t* fx, index_job_t* job, tbk_here_t here) {
  return check_inputs(fx, job, true, here);
}
