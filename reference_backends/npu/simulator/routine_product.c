/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * routine_product.c: products of matrices, and layers that end in a few sums.
 */
#include <math.h>
#include <stdlib.h>

#include "routine.h"

/* A batch of products; a vector is a matrix of one column. */
typedef struct shape {
  int64_t batch, rows, inner, columns;
} shape_t;

static bool find_shape(const sim_argument_t* left, const sim_argument_t* right, shape_t* out) {
  if (left->rank < 2 || left->rank > 3 || right->rank < 1 || right->rank > left->rank) return false;
  const bool is_vector = right->rank < left->rank;
  const int64_t *l = left->sizes + left->rank - 2, *r = right->sizes + right->rank - 2 + is_vector;
  *out = (shape_t){left->rank == 3 ? left->sizes[0] : 1, l[0], l[1], is_vector ? 1 : r[1]};
  return r[0] == out->inner && (right->rank < 3 || right->sizes[0] == out->batch) &&
         !(left->rank == 3 && is_vector);
}

/* `into` becomes the product, element by element. */
static void multiply(const shape_t* shape, const sim_number_t* left, const sim_number_t* right,
                     sim_number_t* into) {
  for (int64_t i = 0; i < shape->batch * shape->rows * shape->columns; i++) {
    const int64_t column = i % shape->columns, row = i / shape->columns, batch = row / shape->rows;
    const sim_number_t* other = right + batch * shape->inner * shape->columns + column;
    sim_number_t sum = 0;
    for (int64_t k = 0; k < shape->inner; k++)
      sum += left[row * shape->inner + k] * other[k * shape->columns];
    into[i] = sum;
  }
}

/* The product of the two inputs from `first` on. */
static bool product(const sim_run_t* run, int first, sim_number_t* into) {
  shape_t shape;
  if (!find_shape(run->in[first], run->in[first + 1], &shape)) return false;
  multiply(&shape, run->from[first], run->from[first + 1], into);
  return true;
}

bool sim_matmul(sim_run_t* run) {
  return product(run, 0, run->to[0]);
}

/* The formula of the first input, which is broadcast, and the product as the second. */
bool sim_addmatmul(sim_run_t* run) {
  sim_number_t* values = malloc(sizeof *values * (size_t)(run->out[0]->count + 1));
  bool done = values != NULL && product(run, 1, values);
  if (done) {
    sim_run_t sum = *run;
    sum.inputs = 2;
    sum.in[1] = run->out[0];
    sum.from[1] = values;
    done = sim_pointwise(&sum);
  }
  free(values);
  return done;
}

static sim_number_t factor(const sim_number_t* values, int64_t i, sim_number_t otherwise) {
  return values != NULL ? values[i] : otherwise;
}

/* Input, weight, bias; the normalized dimensions are the last ones. */
bool sim_layer_norm(sim_run_t* run) {
  const sim_argument_t* in = run->in[0];
  int64_t width = 1;
  for (int i = 0; i < run->call->list[0].count; i++)
    width *= run->call->list[0].items[i];
  for (int64_t row = 0; row < in->count / width; row++) {
    const sim_number_t* x = run->from[0] + row * width;
    sim_number_t mean = 0, variance = 0;
    for (int64_t i = 0; i < width; i++)
      mean += x[i] / (sim_number_t)width;
    for (int64_t i = 0; i < width; i++)
      variance += (x[i] - mean) * (x[i] - mean) / (sim_number_t)width;
    const sim_number_t rstd = 1 / sqrtl(variance + (sim_number_t)run->call->real[0]);
    for (int64_t i = 0; i < width; i++)
      run->to[0][row * width + i] =
          (x[i] - mean) * rstd * factor(run->from[1], i, 1) + factor(run->from[2], i, 0);
    if (run->to[1] != NULL) run->to[1][row] = mean;
    if (run->to[2] != NULL) run->to[2][row] = rstd;
  }
  return true;
}

/* Halves along a dimension: what lies at `i` of the first half, and as far behind it the second. */
typedef struct halves {
  int64_t inner, half;
} halves_t;

static halves_t halve(const sim_argument_t* whole, int64_t dim) {
  halves_t halves = {1, 0};
  const int along = (int)(dim < 0 ? dim + whole->rank : dim);
  for (int d = along + 1; d < whole->rank; d++)
    halves.inner *= whole->sizes[d];
  halves.half = whole->sizes[along] / 2 * halves.inner;
  return halves;
}

static sim_number_t gate(sim_number_t x) {
  return 1 / (1 + expl(-x));
}

bool sim_glu(sim_run_t* run) {
  const halves_t halves = halve(run->in[0], run->call->whole[0]);
  for (int64_t i = 0; i < run->out[0]->count; i++) {
    const sim_number_t* x = run->from[0] + i / halves.half * 2 * halves.half + i % halves.half;
    run->to[0][i] = x[0] * gate(x[halves.half]);
  }
  return true;
}

bool sim_glu_backward(sim_run_t* run) {
  const halves_t halves = halve(run->in[1], run->call->whole[0]);
  for (int64_t i = 0; i < run->in[0]->count; i++) {
    const int64_t at = i / halves.half * 2 * halves.half + i % halves.half;
    const sim_number_t x = run->from[1][at], g = gate(run->from[1][at + halves.half]);
    run->to[0][at] = run->from[0][i] * g;
    run->to[0][at + halves.half] = run->from[0][i] * x * g * (1 - g);
  }
  return true;
}
