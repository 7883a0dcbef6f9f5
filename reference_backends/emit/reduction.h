/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * reduction.h: what kernels of tbk::reduce and of tbk::scan have in common: the parts of a reduction as source. A
 * state is some variables of one letter: "s0", "s1".
 */
#ifndef EMIT_INSIDE_REDUCTION_H
#define EMIT_INSIDE_REDUCTION_H

#include "generic.h"

typedef struct emit_parts {
  const tbk_reduction_t* reduction;
  const emit_class_t* class;
  emit_pointers_t pointers;
  emit_layout_t layout;
  int32_t first_map, first_finish; /* pointers */
} emit_parts_t;

/* Finds the pointers; what finish reads and writes is found by `finish`. */
void emit_find_parts(const tbk_reduction_t* reduction, emit_access_t finish, emit_parts_t* out);
/* Makes the launch of one set. `space` has sizes, ranks, limits and the width of indices; the rest is found here. */
tbk_status_t emit_launch_parts(const emit_parts_t* parts, const tbk_operand_set_t* operands,
                               emit_space_t space, emit_launch_t* out, tbk_error_t* error);
bool emit_reduction_has_coordinates(const tbk_reduction_t* reduction);
bool emit_reduction_has_double(const tbk_reduction_t* reduction);

/* Declares a state that is the identity. */
void emit_write_state(const emit_parts_t* parts, char letter, FILE* out);
/* Combines the states of two letters into the first. */
void emit_write_combine(const emit_parts_t* parts, const char* into, const char* with, FILE* out);
/* Maps element `j` and combines it into a state. */
void emit_write_element(const emit_parts_t* parts, const char* into, FILE* out);
/* Writes a line for each state: "#" becomes its number, "@" its type. */
void emit_write_each_state(const emit_parts_t* parts, const char* format, FILE* out);
/* Makes the outputs of "s" at the position `linear`; `inner_letter` as in a scope. */
void emit_write_finish(const emit_parts_t* parts, const char* linear, const char* inner_letter,
                       FILE* out);

#endif /* EMIT_INSIDE_REDUCTION_H */
