/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * coverage.h: what programs reach: in how many of them an edge of one kind comes before one of
 * another, in a chain.
 */
#ifndef TBK_LITMUS_COVERAGE_H
#define TBK_LITMUS_COVERAGE_H

#include "model.h"

typedef struct litmus_coverage {
  uint64_t programs[LITMUS_EDGES][LITMUS_EDGES]; /* [the earlier one][the later one] */
} litmus_coverage_t;

/* Counts a program. */
void litmus_cover(litmus_coverage_t* coverage, const litmus_model_t* model);
/* Returns whether nodes have edges of this kind. What orders memory that is handed out is no edge. */
bool litmus_is_edge(litmus_edge_t kind);

#endif /* TBK_LITMUS_COVERAGE_H */
