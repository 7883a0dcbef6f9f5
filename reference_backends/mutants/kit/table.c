/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * table.c: all tables of mutants, and the names of what their rows say.
 */
#include "mutant_areas.h"
#include "wrap.h"

/* Of each mutants_AREA.c, as the build found them, and of anti*.c, legal.c, cheats.c, rare.c. */
#define TABLES(X) \
  MUTANT_AREAS(X) X(anti) X(anti_text) X(anti_kernel) X(anti_program) X(legal) X(cheat) X(rare)

#define DECLARE(name) extern const mutant_t mutants_##name[];
TABLES(DECLARE)
FROZEN_AREAS(DECLARE)

#define ENTRY(name) mutants_##name,
const mutant_t* const mutant_tables[] = {TABLES(ENTRY) FROZEN_AREAS(ENTRY) NULL};

#define NAME(name) #name,
static const char* const areas[] = {TABLES(NAME)};
const size_t mutant_first_frozen = sizeof areas / sizeof *areas;

const char* mutant_kind_name(int kind) {
  static const char* const names[] = {"mutant", "anti", "cheat", "pair", "rare"};
  return names[kind];
}

const char* mutant_operator_name(int operation) {
  static const char* const names[] = {"RETURN", "VALUE",    "EXTENT",     "ORDER",
                                      "STATE",  "LIFETIME", "ERROR",      "COUNT",
                                      "THREAD", "ABI",      "DETERMINISM"};
  return names[operation];
}
