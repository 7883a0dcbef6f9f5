/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * evaluate.h: what a program gives at one place, with the bound of each opcode carried along.
 */
#ifndef TBK_CONTRACTS_EVALUATE_H
#define TBK_CONTRACTS_EVALUATE_H

#include "tensor.h"
#include "value.h"

/* Where a program is evaluated, and what it reads there. */
typedef struct eval_place {
  const int64_t* coordinates;
  int64_t linear_index;
  int64_t position;       /* in the aligned inputs */
  const tensor_t* inputs; /* their models */
  const uint64_t* numbers;
  const value_t* parameters;
} eval_place_t;

/* Writes the value of each instruction of a checked program; there is room for all of them. */
void evaluate(const tbk_program_t* program, const eval_place_t* place, value_t* out_values);

/* functions.c: returns what the opcode gives for operands that are exact, NaN or not, before it is
 * widened by its bound; real numbers alone. */
long double evaluate_real(uint16_t opcode, uint16_t dtype, const long double* operands);
/* integers.c: the same for integers and BOOL; open where the table says so. */
value_t evaluate_integer(uint16_t opcode, uint16_t dtype, const uint64_t* operands);

#endif /* TBK_CONTRACTS_EVALUATE_H */
