/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * runner.h: what runner.c, which opens a library, and execute.c, which runs a program, share.
 */
#ifndef TBK_LITMUS_RUNNER_H
#define TBK_LITMUS_RUNNER_H

#include "execute.h"

/* Of one callback; lives as long as its program. */
typedef struct litmus_callback {
  unsigned op;
  int ran; /* atomic: how often */
  uint8_t* mark;
  uint8_t value;
  const uint8_t* slot;
  uint8_t* out;
  uint64_t size;
  uint32_t microseconds;
} litmus_callback_t;

struct litmus_runner {
  tbk_library_t library;
  tbk_instance_t* self;
  const tbk_core_t* core;
  const tbk_stream_ops_t* stream;
  const tbk_event_ops_t* event;
  const tbk_callback_ops_t* callback;
  const tbk_pinned_ops_t* pinned;
  const tbk_peer_ops_t* peer;
  const tbk_async_memory_ops_t* async_memory;
  litmus_offers_t offers;
  litmus_progress_t* progress;

  uint8_t* slots[LITMUS_SLOTS]; /* each of offers.most_bytes */
  uint8_t* looks;               /* of most_bytes for each call, and for each cell at the end */

  /* Of the program that runs. */
  const litmus_program_t* program;
  litmus_result_t* result;
  litmus_seen_t* seen;
  tbk_stream_t* streams[LITMUS_STREAMS];
  tbk_event_t* events[LITMUS_EVENTS];
  tbk_event_t* left[LITMUS_CALLS]; /* recorded on streams that are gone */
  uint32_t left_count;
  tbk_memory_t cells[LITMUS_CELLS];
  bool has_cell[LITMUS_CELLS];
  uint8_t marks[LITMUS_MARKS]; /* atomic */
  litmus_callback_t callbacks[LITMUS_CALLS];
  tbk_error_t error;
};

#endif /* TBK_LITMUS_RUNNER_H */
