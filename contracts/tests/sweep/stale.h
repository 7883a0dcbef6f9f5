/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stale.h: one of everything that came from a device before it was closed, to be given back in vain; and one of
 * everything that is alive then, which has to stay as it is.
 */
#ifndef TBK_CONTRACTS_STALE_H
#define TBK_CONTRACTS_STALE_H

#include "effects.h"

typedef struct stale {
  tbk_memory_t memory, async;
  tbk_stream_t *stream, *other;
  tbk_event_t* event;
  tbk_plan_t* plan;
  void (*plan_destroy)(tbk_instance_t* self, tbk_plan_t* plan);
  void* pinned;
} stale_t;

typedef struct live {
  stale_t of; /* those that the device has now */
  uint8_t* held;
  uint64_t bytes;
  operation_t operation; /* of the plan */
  tbk_memory_t workspace;
} live_t;

/* Makes them on fx->device, outside of the resources. */
void stale_make(tbk_fixture_t* fx, stale_t* it);
/*
 * Gives all of it back, once the device was closed. What a live one has the handle of is left out, as it would be
 * that which is given back. `live` is NULL where there is none.
 */
void stale_give_back(tbk_fixture_t* fx, const stale_t* it, const live_t* live);
/* Returns whether there is a handle that no live object has. */
bool stale_is_any(const tbk_fixture_t* fx, const stale_t* it, const live_t* live);

/* Makes memory of every kind that holds bytes, two streams, an event and a plan. */
void live_make(tbk_fixture_t* fx, live_t* it);
/* Checks that the bytes are there, and that the others do what they are for. */
void live_check(tbk_fixture_t* fx, live_t* it);
void live_end(tbk_fixture_t* fx, live_t* it);

#endif /* TBK_CONTRACTS_STALE_H */
