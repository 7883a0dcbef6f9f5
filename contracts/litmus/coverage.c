/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * coverage.c: pairs of kinds of edges.
 */
#include "coverage.h"

void litmus_cover(litmus_coverage_t* coverage, const litmus_model_t* model) {
  uint32_t leading[LITMUS_NODES];      /* the kinds in the chains that lead to a node */
  uint32_t before[LITMUS_EDGES] = {0}; /* the kinds that come before one of each kind */
  for (uint32_t n = 0; n < model->node_count; n++) {
    const litmus_node_t* node = &model->nodes[n];
    leading[n] = 0;
    for (unsigned e = 0; e < node->edge_count; e++) {
      const uint32_t earlier = leading[node->edges[e].from];
      before[node->edges[e].kind] |= earlier;
      leading[n] |= earlier | 1u << node->edges[e].kind;
    }
  }
  for (int later = 0; later < LITMUS_EDGES; later++)
    for (uint32_t left = before[later]; left != 0; left &= left - 1)
      coverage->programs[__builtin_ctz(left)][later]++;
}

bool litmus_is_edge(litmus_edge_t kind) {
  return kind != LITMUS_EDGE_ASYNC_FREE && litmus_edge_clause(false, (int)kind) != NULL;
}
