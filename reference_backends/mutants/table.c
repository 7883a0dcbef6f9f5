/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * table.c: all tables of mutants, and the names of what their rows say.
 */
#include "wrap.h"

extern const mutant_t mutants_anti[], mutants_cheat[];

const mutant_t* const mutant_tables[] = {mutants_anti, mutants_cheat, NULL};

const char* mutant_kind_name(int kind) {
  static const char* const names[] = {"mutant", "anti", "cheat"};
  return names[kind];
}

const char* mutant_operator_name(int operation) {
  static const char* const names[] = {"RETURN", "VALUE",    "EXTENT",     "ORDER",
                                      "STATE",  "LIFETIME", "ERROR",      "COUNT",
                                      "THREAD", "ABI",      "DETERMINISM"};
  return names[operation];
}
