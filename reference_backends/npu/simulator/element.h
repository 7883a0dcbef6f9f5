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
bool sim_element_is_whole(int dtype);
sim_number_t sim_element_read(int dtype, const char* from);
/* Rounds once, to even; integers wrap around, as those of the wider one would. What is no number or infinite is the
 * least int64_t there: C does not define it, no page says what a chip does, and this traps nowhere. */
void sim_element_write(int dtype, sim_number_t value, char* to);
/* Returns what is left of a number in this dtype, where that is a real one. */
sim_number_t sim_element_round(int dtype, sim_number_t value);

#endif /* SIM_ELEMENT_H */
