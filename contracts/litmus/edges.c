/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * edges.c: the kinds of edges as tables, and sets.
 */
#include "sets.h"

#define NAME(name, clause, text) #name,
#define CLAUSE(name, clause, text) clause,
#define TEXT(name, clause, text) text,
#define EXTRA(name, text) text,
static const char* const names[] = {LITMUS_EDGE_MAP(NAME)};
static const char* const clauses[] = {LITMUS_EDGE_MAP(CLAUSE)};
static const char* const texts[] = {LITMUS_EDGE_MAP(TEXT)};
static const char* const extras[] = {LITMUS_EXTRA_MAP(EXTRA)};

const char* litmus_edge_name(int edge) {
  return names[edge];
}

const char* litmus_edge_clause(int edge) {
  return clauses[edge];
}

const char* litmus_edge_text(int edge) {
  return texts[edge];
}

const char* litmus_extra_text(int extra) {
  return extras[extra];
}

bool litmus_set_has(const litmus_set_t* set, int node) {
  return set->bits[node / 64] >> node % 64 & 1;
}

void litmus_set_add(litmus_set_t* set, int node) {
  set->bits[node / 64] |= UINT64_C(1) << node % 64;
}

void litmus_set_join(litmus_set_t* set, const litmus_set_t* other) {
  for (size_t i = 0; i < sizeof set->bits / sizeof *set->bits; i++)
    set->bits[i] |= other->bits[i];
}

bool litmus_set_within(const litmus_set_t* set, const litmus_set_t* other) {
  uint64_t outside = 0;
  for (size_t i = 0; i < sizeof set->bits / sizeof *set->bits; i++)
    outside |= set->bits[i] & ~other->bits[i];
  return outside == 0;
}

bool litmus_values_have(const litmus_values_t* values, uint8_t value) {
  return values->bits[value / 64] >> value % 64 & 1;
}
