/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * convolution_oracle.c: what tbk::convolution makes of its operands. All products of the formula are gone
 * through, in the order in which it names them; each is added to the element of what is written.
 */
#include <float.h>
#include <math.h>

#include "convolution_job.h"

enum { FACTORS = CONVOLUTION_BIAS }; /* operands that a product names */

/*
 * A place of the output, a tap of the kernel, and the place of the input that both name: the number of each among
 * the places of its operand. They are the same for all images, filters and channels.
 */
typedef struct product {
  int64_t number[FACTORS];
} product_t;

typedef struct formula {
  bool is_integer;
  int64_t places[FACTORS]; /* of an operand, for what it is counted in first and second */
  product_t* products;     /* those with padding are left out */
  const int64_t* first;    /* of the products for a place that is written; and behind the last */
  const number_t* numbers[CONVOLUTION_OPERANDS]; /* but of what is written */
} formula_t;

static int64_t places_of(const int64_t* sizes, int32_t count) {
  int64_t places = 1;
  for (int32_t d = 0; d < count; ++d)
    places *= sizes[d];
  return places;
}

static void coordinates_of(int64_t number, const int64_t* sizes, int32_t count, int64_t* out) {
  for (int32_t d = count - 1; d >= 0; --d) {
    out[d] = number % sizes[d];
    number /= sizes[d];
  }
}

/* The number of the input's place for one of the output and of the kernel; -1 in the padding. */
static int64_t find_input(const convolution_form_t* form, const int64_t* y, const int64_t* k) {
  int64_t number = 0;
  for (int32_t d = 0; d < form->spatial; ++d) {
    const int64_t x = y[d] * form->stride[d] + k[d] * form->dilation[d] - form->padding[d];
    if (x < 0 || x >= form->input[d]) return -1;
    number = number * form->input[d] + x;
  }
  return number;
}

static product_t* products_of(tbk_fixture_t* fx, int64_t count) {
  return (product_t*)(void*)fx_zeros(fx, ((size_t)count + 1) * sizeof(product_t));
}

/* Writes the products in the order of the output's places, and of the taps; returns how many there are. */
static int64_t find_products(const convolution_job_t* job, const formula_t* formula,
                             product_t* products) {
  const convolution_form_t* form = &job->form;
  const int64_t* sizes = job->operands[CONVOLUTION_OUT].sizes + 2;
  int64_t y[SPATIAL], k[SPATIAL], count = 0;
  for (int64_t output = 0; output < formula->places[CONVOLUTION_OUT]; ++output) {
    coordinates_of(output, sizes, form->spatial, y);
    for (int64_t tap = 0; tap < formula->places[CONVOLUTION_BY]; ++tap) {
      coordinates_of(tap, form->kernel, form->spatial, k);
      const int64_t input = find_input(form, y, k);
      if (input >= 0) products[count++] = (product_t){{output, input, tap}};
    }
  }
  return count;
}

/* Puts together the products of each place that is written, in the order in which they were. */
static void sort_products(tbk_fixture_t* fx, int64_t mode, formula_t* formula,
                          const product_t* products, int64_t count) {
  const int64_t places = formula->places[mode];
  int64_t* first = (int64_t*)(void*)fx_zeros(fx, ((size_t)places + 2) * sizeof *first);
  for (int64_t i = 0; i < count; ++i)
    ++first[products[i].number[mode] + 2];
  for (int64_t n = 1; n <= places; ++n)
    first[n + 1] += first[n];
  for (int64_t i = 0; i < count; ++i)
    formula->products[first[products[i].number[mode] + 1]++] = products[i];
  formula->first = first;
}

static formula_t formula_of(tbk_fixture_t* fx, const convolution_job_t* job) {
  formula_t formula = {.is_integer = number_type(job->form.dtype)->is_integer};
  for (int i = 0; i < CONVOLUTION_OPERANDS; ++i)
    if (i != job->form.mode && (i != CONVOLUTION_BIAS || job->form.bias))
      formula.numbers[i] = tensor_numbers(fx, &job->operands[i]);
  for (int i = 0; i < FACTORS; ++i)
    formula.places[i] = places_of(job->operands[i].sizes + 2, job->form.spatial);
  const int64_t most = formula.places[CONVOLUTION_OUT] * formula.places[CONVOLUTION_BY];
  product_t* products = products_of(fx, most);
  formula.products = products_of(fx, most);
  sort_products(fx, job->form.mode, &formula, products, find_products(job, &formula, products));
  return formula;
}

/* Integers and real numbers: the other of the two is 0. */
static void add(const formula_t* formula, convolution_cell_t* cell, const number_t* a,
                const number_t* b) {
  ++cell->count;
  if (formula->is_integer) {
    cell->integer += a->integer * b->integer;
    return;
  }
  const long double product = a->real * b->real;
  cell->real += product;
  cell->sizes += fabsl(product);
}

/* Adds the products of an image, of a filter of all, and of a channel of its group. */
static void add_products(const convolution_job_t* job, const formula_t* formula, int64_t image,
                         int64_t filter, int64_t channel, convolution_cell_t* cells) {
  const convolution_form_t* form = &job->form;
  const int64_t input = filter / form->filters * form->channels + channel;
  const int64_t mode = form->mode, left = (mode + 1) % FACTORS, right = (mode + 2) % FACTORS;
  const int64_t first[FACTORS] = {
      [CONVOLUTION_OUT] = image * form->groups * form->filters + filter,
      [CONVOLUTION_IN] = image * form->groups * form->channels + input,
      [CONVOLUTION_BY] = filter * form->channels + channel,
  };
  const number_t* a = formula->numbers[left] + first[left] * formula->places[left];
  const number_t* b = formula->numbers[right] + first[right] * formula->places[right];
  convolution_cell_t* written = cells + first[mode] * formula->places[mode];
  for (int64_t n = 0; n < formula->places[mode]; ++n) {
    convolution_cell_t cell = written[n];
    for (int64_t i = formula->first[n]; i < formula->first[n + 1]; ++i) {
      const int64_t* number = formula->products[i].number;
      add(formula, &cell, &a[number[left]], &b[number[right]]);
    }
    written[n] = cell;
  }
}

static void add_bias(const convolution_job_t* job, const formula_t* formula,
                     convolution_cell_t* cells) {
  const tensor_t* written = &job->operands[job->form.mode];
  const number_t* bias = formula->numbers[CONVOLUTION_BIAS];
  const number_t one = {1, 1, 0};
  for (int64_t i = 0; i < written->count; ++i) {
    const int64_t of = i / formula->places[job->form.mode] % written->sizes[1];
    add(formula, &cells[i], &bias[of], &one);
  }
}

convolution_cell_t* convolution_expect(tbk_fixture_t* fx, const convolution_job_t* job) {
  const convolution_form_t* form = &job->form;
  const size_t count = (size_t)job->operands[form->mode].count + 1;
  const formula_t formula = formula_of(fx, job);
  convolution_cell_t* cells =
      (convolution_cell_t*)(void*)fx_zeros(fx, count * sizeof(convolution_cell_t));
  if (form->bias) add_bias(job, &formula, cells);
  for (int64_t image = 0; image < form->images; ++image)
    for (int64_t filter = 0; filter < form->groups * form->filters; ++filter)
      for (int64_t channel = 0; channel < form->channels; ++channel)
        add_products(job, &formula, image, filter, channel, cells);
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
