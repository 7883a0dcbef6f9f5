/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * table.c: all tables of mutants, and the names of what their rows say.
 */
#include "wrap.h"

/* X(area): mutants_AREA[] of mutants_AREA.c, and those of anti.c and cheats.c. */
#define TABLES(X) \
  X(library)      \
  X(device)       \
  X(device_open)  \
  X(memory)       \
  X(memory_view)  \
  X(copy)         \
  X(stream)       \
  X(synchronize)  \
  X(event)        \
  X(event_time)   \
  X(wait)         \
  X(callback)     \
  X(pinned)       \
  X(peer)         \
  X(async_memory) \
  X(kernel)       \
  X(operand)      \
  X(plan)         \
  X(value)        \
  X(random)       \
  X(error)        \
  X(fault)        \
  X(thread)       \
  X(fork)         \
  X(capability)   \
  X(dimension)    \
  X(anti)         \
  X(legal)        \
  X(cheat)

#define DECLARE(name) extern const mutant_t mutants_##name[];
TABLES(DECLARE)

#define ENTRY(name) mutants_##name,
const mutant_t* const mutant_tables[] = {TABLES(ENTRY) NULL};

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
