/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * formula_steps.h: the functions and operators of formulas, by name.
 */
#ifndef SIM_FORMULA_STEPS_H
#define SIM_FORMULA_STEPS_H

#include <stddef.h>

#include "formula.h"

enum {
  SIM_STEP_NUMBER,
  SIM_STEP_INDEX,
  SIM_STEP_ROW,
  SIM_STEP_COLUMN,
  SIM_STEP_FIRST,
  SIM_STEP_LETTER = 128
};

/* Returns the code of a step; -1 where there is none of this name. */
int sim_step_find(const char* name, size_t length);
int sim_step_operands(int code);
/* Computes over the operand, or those that lie `pitch` apart, into the first. */
void sim_step_run(int code, sim_arithmetic_t kind, sim_number_t* operands, int pitch, int count);

#endif /* SIM_FORMULA_STEPS_H */
