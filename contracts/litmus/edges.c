/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * edges.c: the kinds of edges as tables.
 */
#include "model.h"

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
