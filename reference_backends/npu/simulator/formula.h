/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * formula.h: what a function of aclnn computes for an element, as text: "a + p * b". Of the arguments, in
 * their order, tensors are a, b, c ..., scalars p, q, r, s, whole numbers and truths i, j, k, and real numbers
 * x, y. Beside them stand index, row and column (of the element), w, whether the result is of whole numbers, pi and inf.
 *
 * Operators bind as in C, with and, or, ** and unary minus; truths are 0 and 1. All is computed in long double,
 * which holds every int64_t and every double, and is rounded when it is stored. An absent argument is NaN.
 */
#ifndef SIM_FORMULA_H
#define SIM_FORMULA_H

#include <stdbool.h>
#include <stdint.h>

typedef long double sim_number_t;

enum { SIM_TILE = 128, SIM_STEPS = 96, SIM_DEPTH = 16, SIM_VARIABLES = 26 };

/* Says how sums, products, quotients and roots are computed. Integers wrap. float64 is rounded by each of them: two
 * roundings, of long double and then of double, may differ from one. Whatever is narrower is rounded once, when stored. */
typedef enum sim_arithmetic { SIM_WIDE, SIM_DOUBLE, SIM_WHOLE } sim_arithmetic_t;

/* How a formula finds its arguments: of a letter, a number that all elements share, or one for each. */
typedef struct sim_variables {
  const sim_number_t* arrays[SIM_VARIABLES]; /* by letter; NULL: the number below */
  sim_number_t numbers[SIM_VARIABLES];
  int64_t columns, rows; /* the last two sizes of what is computed; at least 1 */
  sim_arithmetic_t arithmetic;
} sim_variables_t;

typedef struct sim_step {
  uint8_t code;
  sim_number_t number;
} sim_step_t;

typedef struct sim_formula {
  int count;
  sim_step_t steps[SIM_STEPS];
} sim_formula_t;

/* Compiles one expression, which ends at '\0' or ';'. Returns where it ends; NULL where it is none. */
const char* sim_formula_compile(const char* text, sim_formula_t* out);

/* Computes elements `first` to `first + count` of all, SIM_TILE at the most. */
void sim_formula_tile(const sim_formula_t* formula, const sim_variables_t* variables, int64_t first,
                      int count, sim_number_t* out);

#endif /* SIM_FORMULA_H */
