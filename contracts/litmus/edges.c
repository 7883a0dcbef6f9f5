/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * edges.c: the kinds of edges as tables.
 */
#include "model.h"

#define NAME(name, clause, text, torch_clause, torch_text) #name,
#define CLAUSE(name, clause, text, torch_clause, torch_text) {clause, torch_clause},
#define TEXT(name, clause, text, torch_clause, torch_text) {text, torch_text},
#define EXTRA(name, text) text,
static const char* const names[] = {LITMUS_EDGE_MAP(NAME)};
static const char* const clauses[][2] = {LITMUS_EDGE_MAP(CLAUSE)};
static const char* const texts[][2] = {LITMUS_EDGE_MAP(TEXT)};
static const char* const extras[] = {LITMUS_EXTRA_MAP(EXTRA)};

const char* litmus_edge_name(int edge) {
  return names[edge];
}

const char* litmus_edge_clause(bool torch, int edge) {
  return clauses[edge][torch];
}

const char* litmus_edge_text(bool torch, int edge) {
  return texts[edge][torch];
}

const char* litmus_extra_text(int extra) {
  return extras[extra];
}
