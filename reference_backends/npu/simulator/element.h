/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * element.h: elements of each real dtype, as numbers that hold all of them.
 */
#ifndef SIM_ELEMENT_H
#define SIM_ELEMENT_H

#include "formula.h"

/* Stands for what is absent. */
extern const sim_number_t sim_absent;

/* Returns the bytes of an element; 0 where the dtype is complex, or none. */
int64_t sim_element_size(int dtype);
/* Returns how results of this dtype are computed. */
sim_arithmetic_t sim_element_arithmetic(int dtype);
sim_number_t sim_element_read(int dtype, const char* from);
/* Returns an integer as one of 64 bits, which wraps around. What is no number or infinite is the least int64_t:
 * C does not define it, no page says what a chip does, and this traps nowhere. */
int64_t sim_wrap(sim_number_t value);
/* Return the sum and the product in that arithmetic. */
sim_number_t sim_add(sim_arithmetic_t kind, sim_number_t a, sim_number_t b);
sim_number_t sim_multiply(sim_arithmetic_t kind, sim_number_t a, sim_number_t b);
/* Rounds once, to even; integers wrap around, as those of the wider one would. */
void sim_element_write(int dtype, sim_number_t value, char* to);
/* Returns what is left of a number in this dtype, where that is a real one. */
sim_number_t sim_element_round(int dtype, sim_number_t value);

#endif /* SIM_ELEMENT_H */
