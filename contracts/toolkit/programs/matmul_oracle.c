/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * matmul_oracle.c: what tbk::matmul makes of its operands. Sums are made in long double, and their bound is that
 * of any order in the dtype that they have to be computed in; integers have one answer.
 */
#include <math.h>

#include "matmul_job.h"

/* Of small whole numbers and scalars each step is exact. */
static bool is_exact(const matmul_form_t* form) {
  return form->drawn == JOB_SMALL && truncl(form->alpha) == form->alpha &&
         truncl(form->beta) == form->beta;
}

/* Half a unit in the last place of what is computed in, relative. */
static long double rounding(const number_type_t* type) {
  const int digits = number_type(TBK_FLOAT32)->digits;
  return ldexpl(1, -(type->digits > digits ? type->digits : digits));
}

int64_t matmul_whole_alpha(const matmul_form_t* form) {
  return form->whole != NULL ? form->whole[0] : (int64_t)form->alpha;
}

int64_t matmul_whole_beta(const matmul_form_t* form) {
  return form->whole != NULL ? form->whole[1] : (int64_t)form->beta;
}

/* A sum, and the sum of the sizes of all that is added. */
typedef struct sum {
  uint64_t integer;
  long double real, sizes;
} sum_t;

static sum_t sum_of_integers(const matmul_form_t* form, const number_t* row,
                             const number_t* column) {
  sum_t sum = {0, 0, 0};
  for (int64_t q = 0; q < form->k; ++q)
    sum.integer += row[q].integer * column[q * form->n].integer;
  return sum;
}

static sum_t sum_of_reals(const matmul_form_t* form, const number_t* row, const number_t* column) {
  sum_t sum = {0, 0, 0};
  for (int64_t q = 0; q < form->k; ++q) {
    const long double product = row[q].real * column[q * form->n].real;
    sum.real += product;
    sum.sizes += fabsl(product);
  }
  return sum;
}

/*
 * A product and an addition each of k, alpha and beta rounded and multiplied by, and one more addition. FLOAT32
 * may lose what is smaller than it has normal numbers for.
 */
static matmul_cell_t real_cell(const matmul_form_t* form, const number_type_t* type, sum_t sum,
                               const number_t* added) {
  const long double alpha = form->alpha, beta = form->beta;
  matmul_cell_t cell = {0, alpha * sum.real, 0};
  long double sizes = fabsl(alpha) * sum.sizes;
  if (added != NULL) {
    cell.low += beta * added->real;
    sizes += fabsl(beta * added->real);
  }
  const long double error = (long double)(form->k + 6) * (rounding(type) * sizes + 0x1p-126L);
  cell.high = cell.low;
  if (is_exact(form) || isnan(cell.low) || isinf(cell.low)) return cell;
  cell.low -= error, cell.high += error;
  return cell;
}

static matmul_cell_t integer_cell(const matmul_form_t* form, sum_t sum, const number_t* added) {
  matmul_cell_t cell = {(uint64_t)matmul_whole_alpha(form) * sum.integer, 0, 0};
  if (added != NULL) cell.integer += (uint64_t)matmul_whole_beta(form) * added->integer;
  return cell;
}

matmul_cell_t* matmul_expect(tbk_fixture_t* fx, const matmul_job_t* job) {
  const matmul_form_t* form = &job->form;
  const tensor_t* out = &job->operands[MATMUL_OUT];
  const number_t* a = tensor_numbers(fx, &job->operands[MATMUL_A]);
  const number_t* b = tensor_numbers(fx, &job->operands[MATMUL_B]);
  const number_t* c =
      form->added == MATMUL_NOTHING ? NULL : tensor_numbers(fx, &job->operands[MATMUL_C]);
  matmul_cell_t* cells =
      (matmul_cell_t*)(void*)fx_zeros(fx, ((size_t)out->count + 1) * sizeof *cells);
  for (int64_t at = 0; at < out->count; ++at) {
    const int64_t row = at / form->n, column = at % form->n, place = row / form->m;
    const number_t *along = a + row * form->k, *down = b + place * form->k * form->n + column;
    const number_t* added = c == NULL ? NULL : &c[at];
    cells[at] = out->type->is_integer
                    ? integer_cell(form, sum_of_integers(form, along, down), added)
                    : real_cell(form, out->type, sum_of_reals(form, along, down), added);
  }
  return cells;
}

bool matmul_allows(const number_type_t* type, const matmul_cell_t* cell, const void* seen) {
  uint8_t element[16];
  const long double real = number_load(type, seen).real;
  if (type->is_integer) {
    number_store(type, element, (number_t){cell->integer, 0, 0});
    return number_same(type, element, seen, 0);
  }
  if (isnan(cell->low)) return isnan(real);
  return number_rounded(type, cell->low) <= real && real <= number_rounded(type, cell->high);
}
