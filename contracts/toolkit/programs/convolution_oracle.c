/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_oracle.c: what tbk::convolution makes of its operands. All products of the formula are gone
 * through, in the order in which it names them; each is added to the element of what is written.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "convolution_job.h"

/* A product of the formula: the elements that it names. */
typedef struct product {
  int64_t image, group, filter, channel; /* filter and channel: of the group */
  int64_t y[SPATIAL], k[SPATIAL], x[SPATIAL];
} product_t;

static bool step(int64_t* index, const int64_t* sizes, int32_t count) {
  for (int32_t d = count - 1; d >= 0; --d) {
    if (++index[d] < sizes[d]) return true;
    index[d] = 0;
  }
  return false;
}

static bool is_empty(const int64_t* sizes, int32_t count) {
  for (int32_t d = 0; d < count; ++d)
    if (sizes[d] == 0) return true;
  return false;
}

static bool find_x(const convolution_form_t* form, product_t* p) {
  for (int32_t d = 0; d < form->spatial; ++d) {
    p->x[d] = p->y[d] * form->stride[d] + p->k[d] * form->dilation[d] - form->padding[d];
    if (p->x[d] < 0 || p->x[d] >= form->input[d]) return false;
  }
  return true;
}

/* The number of an element, by what it is counted in first, second, and by its place. */
static int64_t number_of(const tensor_t* tensor, int64_t first, int64_t second,
                         const int64_t* place) {
  int64_t number = first * tensor->sizes[1] + second;
  for (int32_t d = 2; d < tensor->rank; ++d)
    number = number * tensor->sizes[d] + place[d - 2];
  return number;
}

static int64_t element_of(const convolution_job_t* job, int64_t operand, const product_t* p) {
  const convolution_form_t* form = &job->form;
  const int64_t filter = p->group * form->filters + p->filter;
  const int64_t channel = p->group * form->channels + p->channel;
  const tensor_t* tensor = &job->operands[operand];
  if (operand == CONVOLUTION_OUT) return number_of(tensor, p->image, filter, p->y);
  if (operand == CONVOLUTION_IN) return number_of(tensor, p->image, channel, p->x);
  return number_of(tensor, filter, p->channel, p->k);
}

static number_t value_at(const tensor_t* tensor, int64_t number) {
  return number_load(tensor->type, tensor_at(tensor, number));
}

static void add(convolution_cell_t* cell, uint64_t integer, long double real) {
  cell->integer += integer;
  cell->real += real;
  cell->sizes += fabsl(real);
  ++cell->count;
}

static void add_product(const convolution_job_t* job, const product_t* p,
                        convolution_cell_t* cells) {
  const int64_t mode = job->form.mode, left = (mode + 1) % 3, right = (mode + 2) % 3;
  const number_t a = value_at(&job->operands[left], element_of(job, left, p));
  const number_t b = value_at(&job->operands[right], element_of(job, right, p));
  add(&cells[element_of(job, mode, p)], a.integer * b.integer, a.real * b.real);
}

/* Those of one filter, channel and image of a group. */
static void add_places(const convolution_job_t* job, product_t* p, convolution_cell_t* cells) {
  const convolution_form_t* form = &job->form;
  const int64_t* places = job->operands[CONVOLUTION_OUT].sizes + 2;
  memset(p->y, 0, sizeof p->y);
  memset(p->k, 0, sizeof p->k);
  do
    do
      if (find_x(form, p)) add_product(job, p, cells);
    while (step(p->k, form->kernel, form->spatial));
  while (step(p->y, places, form->spatial));
}

static void add_bias(const convolution_job_t* job, convolution_cell_t* cells) {
  const tensor_t* written = &job->operands[job->form.mode];
  int64_t places = 1;
  for (int32_t d = 2; d < written->rank; ++d)
    places *= written->sizes[d];
  for (int64_t i = 0; i < written->count; ++i) {
    const number_t bias =
        value_at(&job->operands[CONVOLUTION_BIAS], i / places % written->sizes[1]);
    add(&cells[i], bias.integer, bias.real);
  }
}

convolution_cell_t* convolution_expect(tbk_fixture_t* fx, const convolution_job_t* job) {
  const convolution_form_t* form = &job->form;
  const int64_t sizes[] = {form->images, form->groups, form->filters, form->channels};
  const size_t count = (size_t)job->operands[form->mode].count + 1;
  convolution_cell_t* cells =
      (convolution_cell_t*)(void*)fx_zeros(fx, count * sizeof(convolution_cell_t));
  int64_t at[4] = {0};
  if (form->bias) add_bias(job, cells);
  if (is_empty(sizes, 4) || is_empty(form->kernel, form->spatial) ||
      job->operands[CONVOLUTION_OUT].count == 0)
    return cells;
  do {
    product_t p = {.image = at[0], .group = at[1], .filter = at[2], .channel = at[3]};
    add_places(job, &p, cells);
  } while (step(at, sizes, 4));
  return cells;
}

/* --------------------------------------------------------------------------------- what is right -- */

/* Half a unit in the last place of what a dtype sums in, which is at least FLOAT32. */
static long double rounding(const number_type_t* type) {
  return ldexpl(1, -(type->digits < FLT_MANT_DIG ? FLT_MANT_DIG : type->digits));
}

/* Each product and each addition rounds once, in any order; and a narrow dtype once more, at the end. */
static bool is_near(const number_type_t* type, const convolution_cell_t* cell, const void* seen) {
  const long double real = number_load(type, seen).real;
  long double bound = rounding(type) * (long double)(cell->count + 1) * cell->sizes * 1.001L;
  if (type->digits < FLT_MANT_DIG)
    bound += ldexpl(1, -type->digits) * (fabsl(cell->real) + bound) + FLT_MIN;
  return fabsl(real - cell->real) <= bound;
}

bool convolution_allows(const convolution_job_t* job, const convolution_cell_t* cell,
                        const void* seen) {
  const number_type_t* type = job->operands[job->form.mode].type;
  uint8_t element[16];
  if (job->form.drawn == JOB_ORDINARY && !type->is_integer && isfinite(cell->real))
    return is_near(type, cell, seen);
  number_store(type, element, (number_t){cell->integer, cell->real, 0});
  if (number_same(type, element, seen, 0)) return true;
  return !type->is_integer && cell->real == 0 && number_load(type, seen).real == 0;
}
