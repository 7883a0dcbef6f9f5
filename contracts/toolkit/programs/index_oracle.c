/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * index_oracle.c: what tbk::index makes of its operands. Integers, extremes and what is written have one
 * answer, or one of those that were given; real sums have a bound, which is that of any order.
 */
#include <math.h>
#include <string.h>

#include "index_job.h"

static bool has(const index_job_t* job, uint64_t flag) {
  return (job->form.flags & flag) != 0;
}

/* ------------------------------------------------------------------------------ where it goes -- */

/* The index of a dimension at a place, counted from its beginning; -1 where it is outside. */
static int64_t resolve(const index_job_t* job, size_t k, int64_t position, int64_t size,
                       bool* bad) {
  const tensor_t* from = &job->indices[k];
  int64_t index = (int64_t)number_load(from->type, tensor_at(from, position)).integer;
  if (index < 0 && index >= -size && has(job, TBK_INDEX_NEGATIVE)) index += size;
  if (index >= 0 && index < size) return index;
  bad[k] = true;
  return -1;
}

static void coordinates_of(int64_t position, const int64_t* sizes, int32_t rank, int64_t* out) {
  for (int32_t d = rank - 1; d >= 0; --d) {
    out[d] = position % sizes[d];
    position /= sizes[d];
  }
}

int64_t index_find(const index_job_t* job, int64_t position, bool* bad) {
  const index_form_t* form = &job->form;
  int64_t place[TENSOR_RANK], found = 0;
  bool outside = false;
  if (has(job, TBK_INDEX_FLAT)) return resolve(job, 0, position, job->table.count, bad);
  coordinates_of(position, form->sizes, form->rank, place);
  for (int32_t d = 0; d < form->table_rank; ++d) {
    int64_t index = form->places[d] >= 0 ? place[form->places[d]]
                                         : resolve(job, (size_t)(-1 - form->places[d]), position,
                                                   form->table_sizes[d], bad);
    outside = outside || index < 0;
    found = found * form->table_sizes[d] + index;
  }
  return outside ? -1 : found;
}

/* ----------------------------------------------------------------------------- what it becomes -- */

static long double merge_reals(int64_t mode, long double a, long double b) {
  switch (mode) {
    case TBK_INDEX_ADD:
      return a + b;
    case TBK_INDEX_MUL:
      return a * b;
    case TBK_INDEX_MIN:
      return isnan(a) || a < b ? a : b;
    default:
      return isnan(a) || a > b ? a : b;
  }
}

/* Modulo 2^64, of signed ones; a BOOL is 0 or 1. */
static uint64_t merge_integers(const number_type_t* type, int64_t mode, uint64_t a, uint64_t b) {
  bool less = type->is_signed ? (int64_t)a < (int64_t)b : a < b;
  switch (mode) {
    case TBK_INDEX_ADD:
      return type->dtype == TBK_BOOL ? a | b : a + b;
    case TBK_INDEX_MUL:
      return a * b;
    case TBK_INDEX_MIN:
      return less ? a : b;
    default:
      return less ? b : a;
  }
}

/* Rounded to the dtype at each step, as one after the other is. */
static number_t merge(const number_type_t* type, int64_t mode, number_t a, number_t b) {
  uint8_t element[16];
  number_t made = {merge_integers(type, mode, a.integer, b.integer),
                   merge_reals(mode, a.real, b.real), 0};
  if (mode == TBK_INDEX_WRITE) made = b;
  /* What is narrower than long double is exact before it is rounded; a FLOAT64 must not round twice. */
  if (type->dtype == TBK_FLOAT64 && mode == TBK_INDEX_ADD)
    made.real = (double)a.real + (double)b.real;
  if (type->dtype == TBK_FLOAT64 && mode == TBK_INDEX_MUL)
    made.real = (double)a.real * (double)b.real;
  number_store(type, element, made);
  return number_load(type, element);
}

/* Returns a zero for a subnormal number: whoever computes with one may take it so. */
static number_t flush(const number_type_t* type, number_t x) {
  if (!type->is_integer && fabsl(x.real) < number_least_normal(type->dtype))
    x.real = copysignl(0, x.real);
  return x;
}

static void merge_into(const number_type_t* type, int64_t mode, index_cell_t* cell,
                       number_t given) {
  cell->value = merge(type, mode, cell->value, given);
  cell->flushed = flush(type, merge(type, mode, flush(type, cell->flushed), flush(type, given)));
  cell->sizes += fabsl(given.real);
  ++cell->count;
}

static void expect_gather(index_job_t* job, int64_t position, int64_t found) {
  void* to = tensor_at(&job->values, position);
  if (found < 0)
    memset(to, 0, job->values.type->size);
  else
    memcpy(to, tensor_at(&job->table, found), job->values.type->size);
}

index_cell_t* index_expect(tbk_fixture_t* fx, index_job_t* job) {
  const number_type_t* type = job->table.type;
  size_t count = (size_t)job->table.count + 1;
  index_cell_t* cells = (index_cell_t*)(void*)fx_zeros(fx, count * sizeof *cells);
  for (int64_t i = 0; i < job->table.count; ++i) {
    cells[i].first = number_load(type, tensor_at(&job->table, i));
    cells[i].value = cells[i].flushed = cells[i].first;
    cells[i].sizes = fabsl(cells[i].first.real);
  }
  for (int64_t p = 0; p < job->values.count; ++p) {
    int64_t found = index_find(job, p, job->bad);
    if (job->form.mode == TBK_INDEX_GATHER) {
      expect_gather(job, p, found);
    } else if (found >= 0) {
      number_t given = number_load(type, tensor_at(&job->values, p));
      merge_into(type, job->form.mode, &cells[found], given);
    }
  }
  return cells;
}

/* ------------------------------------------------------------------------------- what is right -- */

static bool is_one_of_the_written(const index_job_t* job, int64_t at, const void* seen) {
  bool bad[TENSOR_RANK];
  for (int64_t p = 0; p < job->values.count; ++p)
    if (index_find(job, p, bad) == at &&
        number_same(job->table.type, tensor_at(&job->values, p), seen, 0))
      return true;
  return false;
}

/* Each of n additions rounds once, in any order, and to the output's dtype at the worst. */
static bool is_near(const number_type_t* type, const index_cell_t* cell, const void* seen) {
  long double real = number_load(type, seen).real;
  long double step = ldexpl(1, -type->digits) * (long double)(cell->count + 1);
  return fabsl(real - cell->value.real) <= 2 * step * cell->sizes;
}

/* Returns whether it comes of subnormal numbers that were taken as zeros, in all steps or in a comparison. */
static bool is_flushed(const index_job_t* job, const index_cell_t* cell, const void* seen) {
  const number_type_t* type = job->table.type;
  const long double real = number_load(type, seen).real, least = number_least_normal(type->dtype);
  uint8_t element[16];
  number_store(type, element, cell->flushed);
  if (number_same(type, element, seen, 0) || (cell->flushed.real == 0 && real == 0)) return true;
  return job->form.mode >= TBK_INDEX_MIN && fabsl(cell->value.real) < least && fabsl(real) < least;
}

bool index_allows(const index_job_t* job, const index_cell_t* cell, int64_t at, const void* seen) {
  const number_type_t* type = job->table.type;
  bool ordered = has(job, TBK_INDEX_ORDERED);
  uint8_t element[16];
  if (job->form.mode == TBK_INDEX_WRITE && !ordered && cell->count > 1)
    return is_one_of_the_written(job, at, seen);
  if (job->form.mode == TBK_INDEX_ADD && !type->is_integer && job->form.drawn == JOB_ORDINARY &&
      (!ordered || type->size < 4))
    return is_near(type, cell, seen);
  number_store(type, element, cell->value);
  if (number_same(type, element, seen, 0)) return true;
  if (!type->is_integer && cell->count > 0 && job->form.mode != TBK_INDEX_WRITE &&
      is_flushed(job, cell, seen))
    return true;
  /* Of two zeros either is the less, or the greater; and sums and products lose no sign but that. */
  return !type->is_integer && cell->count > 0 && cell->value.real == 0 &&
         number_load(type, seen).real == 0;
}
