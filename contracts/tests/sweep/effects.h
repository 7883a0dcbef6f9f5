/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * effects.h: what every function in the map of tables is for, as a small program that looks at what has
 * come of it: on new objects, and on those that were made before. A function that is added to the
 * header needs one, or nothing links: EFFECT(function) in the file of its own tests, or in effects.c.
 */
#ifndef TBK_CONTRACTS_EFFECTS_H
#define TBK_CONTRACTS_EFFECTS_H

#include <stdatomic.h>
#include <tbk/tables.h>

#include "operation.h"

/* Made before, on fx->device; and what was so then. */
typedef struct effects {
  tbk_stream_t *stream, *beside; /* NULL: there are none */
  tbk_event_t *event, *end;      /* with timing */
  tbk_memory_t memory;           /* holds `held` */
  uint64_t bytes;
  uint8_t* held;
  void* pinned;
  tbk_device_properties_t properties;
  uint64_t total_bytes;
  uint8_t* words; /* of the generator {7, 16} */
  operation_t operations[OPERATORS];
  tbk_plan_t* plans[OPERATORS];
  tbk_memory_t workspaces[OPERATORS];
  bool may_fail;       /* any call may tell of a failure, a synchronize again */
  tbk_status_t status; /* of the step before */
  atomic_int ran;
} effects_t;

#define EFFECT(function) void effect_##function(tbk_fixture_t* fx, effects_t* on)
#define EFFECT_OF(table, type, function) EFFECT(function);
#define EFFECTS_OF(table, type, needs) \
  TBK_MANDATORY_##table(EFFECT_OF) TBK_OPTIONAL_##table(EFFECT_OF)
EFFECTS_OF(core, tbk_core_t, "")
TBK_TABLE_MAP(EFFECTS_OF)

typedef struct effect_row {
  const char *table, *function;
  void (*run)(tbk_fixture_t* fx, effects_t* on);
} effect_row_t;

extern const effect_row_t effects[];
extern const size_t effect_count;

/* Makes all of it: two streams and two events. */
effects_t* effects_make(tbk_fixture_t* fx);
/* The same in two steps, for who holds more than one: the operands of all operators are nearly as many
 * allocations as a device must have. Takes operators from `first` on, before `end`, in place of those before. */
effects_t* effects_make_bare(tbk_fixture_t* fx);
void effects_take_operators(tbk_fixture_t* fx, effects_t* on, int first, int end);
/* Runs every effect, with CHECK alone, so that any thread may; what fails is named. */
void effects_check(tbk_fixture_t* fx, effects_t* on);
/* Gives back what the fixture does not. */
void effects_end(tbk_fixture_t* fx, effects_t* on);

#endif /* TBK_CONTRACTS_EFFECTS_H */
