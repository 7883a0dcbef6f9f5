/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * held_free.h: memory of a stream that is given back while work on it is held. A case says what holds
 * the work, on which streams it was allocated, used and given back, what the work does with it, which of
 * the streams is gone by then, and who asks for memory meanwhile. What held work reads and what
 * the new owner writes are both looked at.
 */
#ifndef TBK_CONTRACTS_HELD_FREE_H
#define TBK_CONTRACTS_HELD_FREE_H

#include "dimensions.h"
#include "hoard.h"

enum { HELD_PIECES = 17, HELD_TAKEN = 24, HELD_STREAMS = 6, HELD_MARKS = 5 };

/* What the use waits for: the gate on its own stream, or events of streams that are held. */
typedef enum held_by { BY_GATE, BY_EVENT, BY_CHAIN, BY_DEVICE } held_by_t;
typedef enum held_role { ALLOCATED = 0, USED, FREED, OTHER, HELD, BETWEEN } held_role_t;
enum {
  GONE_NONE = -1,
  GONE_BEFORE_USE = HELD_STREAMS
}; /* else the role that is gone after the free */
typedef enum held_use {
  READ_COPY,
  READ_HOST,
  READ_PEER,
  READ_KERNEL,
  WRITE_HOST,
  WRITE_FILL
} held_use_t;
typedef enum held_taker { NOBODY, DEVICE_ALLOC, ON_FREED, ON_ALLOCATED, ON_OTHER } held_taker_t;

extern const sweep_dimension_t held_by_axis, held_roles_axis, held_use_axis, held_gone_axis,
    held_taker_axis, held_taken_axis, held_pieces_axis, held_when_axis, held_size_axis,
    held_full_axis;

typedef struct held {
  scene_t scene;
  tbk_stream_t* streams[HELD_STREAMS]; /* by role; roles may share one */
  tbk_event_t* marks[HELD_MARKS];
  uint64_t size, taken_size, pieces, taken_count;
  tbk_memory_t memory[HELD_PIECES], taken[HELD_TAKEN], results;
  uint8_t *written, *seen, *new_written, *new_seen;
  hoard_t hoard;
  bool refused, may_fail;
} held_t;

bool held_fits(const tbk_fixture_t* fx, const sweep_case_t* one);
/* Makes streams, events and memory for the case; false where the device has not got it. */
bool held_begin(tbk_fixture_t* fx, sweep_case_t* one, held_t* it);
/* The two programs, for an actor or the main thread: use and give back; and ask for memory. */
void held_use_and_free(tbk_fixture_t* fx, void* argument);
void held_take(tbk_fixture_t* fx, void* argument);
/* Waits for all of it, looks at what came of it, and gives the rest back. */
void held_end(tbk_fixture_t* fx, held_t* it);

#endif /* TBK_CONTRACTS_HELD_FREE_H */
