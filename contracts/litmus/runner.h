/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * runner.h: what runner.c, which opens a library, execute.c, which runs a program, and calls.c, which
 * makes its calls, share.
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
  uint64_t offset, size;
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
  const tbk_kernel_ops_t* kernel;
  const tbk_kernel_t* fill_kernels[LITMUS_DEVICES];
  const tbk_kernel_t* copy_kernels[LITMUS_DEVICES];
  litmus_offers_t offers;
  litmus_progress_t* progress;

  /* rooms.c: what is kept from program to program. */
  uint8_t* small_slots[LITMUS_SLOTS];
  uint8_t* looks;
  uint64_t looks_bytes;
  bool has_large;               /* `slots` is of the last program alone */
  bool is_pinned[LITMUS_SLOTS]; /* of those made last */

  /* Of the program that runs. */
  const litmus_program_t* program;
  litmus_result_t* result;
  int ended; /* atomic: litmus_outcome_t */
  litmus_seen_t* seen;
  litmus_uses_t uses;
  uint8_t* slots[LITMUS_SLOTS];        /* NULL: not named */
  uint8_t* look_of_call[LITMUS_CALLS]; /* by id: where what it sees goes */
  uint8_t* look_of_cell[LITMUS_CELLS];
  tbk_stream_t* streams[LITMUS_STREAMS];
  tbk_event_t* events[LITMUS_EVENTS];
  tbk_event_t*
      left[LITMUS_CALLS]; /* recorded on streams that are gone; NULL: none, for each call */
  tbk_memory_t cells[LITMUS_CELLS];
  bool has_cell[LITMUS_CELLS]; /* those that are small stay for the next program */
  int32_t cell_device[LITMUS_CELLS];
  uint8_t marks[LITMUS_MARKS]; /* atomic */
  litmus_callback_t callbacks[LITMUS_CALLS];
  tbk_error_t error;
};

/* What a thread of the host is at. */
typedef struct litmus_here {
  int32_t call; /* -1: none of the program's */
  tbk_error_t error;
} litmus_here_t;
extern _Thread_local litmus_here_t litmus_here;

/* rooms.c. All of these return whether there is memory. */
bool litmus_rooms_open(litmus_runner_t* runner);
/* Makes the slots that the program names, as they begin, and room for what it will see. */
bool litmus_rooms_begin(litmus_runner_t* runner);
/* Returns how much is allocated for a cell of the program: small ones are kept, for any small size. */
uint64_t litmus_cell_bytes(const litmus_runner_t* runner);
/* Returns whether cells of such a program are kept for the next one. */
bool litmus_keeps_cells(const litmus_runner_t* runner);
/* execute.c */
bool litmus_has_ended(litmus_runner_t* runner);
/* Notes how the program has ended, unless it has ended before. */
void litmus_end_with(litmus_runner_t* runner, litmus_outcome_t outcome, tbk_status_t status);
/* Returns whether it is OK; else the program has ended: that memory is exhausted is no fault. */
bool litmus_went_well(litmus_runner_t* runner, tbk_status_t status, bool takes_memory);

/* calls.c: makes call `index`, in the thread that is to make it. */
void litmus_step(litmus_runner_t* runner, uint32_t index);
/* Callbacks do not sleep while a thread of the host waits for work. */
void litmus_host_waits(const litmus_runner_t* runner, bool begins);
/* Tells the parent that `call` begins; -1: none of the program's. */
void litmus_note(litmus_runner_t* runner, int32_t call);
/* Put a new thing where the program expects it, or free it, in the order of a stream or at once. */
tbk_status_t litmus_make_stream(litmus_runner_t* runner, int stream);
tbk_status_t litmus_make_event(litmus_runner_t* runner, int event);
tbk_status_t litmus_make_cell(litmus_runner_t* runner, int cell);
tbk_status_t litmus_free_cell(litmus_runner_t* runner, int cell);
tbk_status_t litmus_free_in_order(litmus_runner_t* runner, int stream, int cell);

/* kernels.c: returns whether each device has both kernels, and they take bytes. */
bool litmus_find_kernels(litmus_runner_t* runner);
tbk_status_t litmus_launch(litmus_runner_t* runner, const litmus_call_t* call, tbk_stream_t* stream,
                           tbk_error_t* error);

/* threads.c: makes all calls of the program, each in its thread. */
void litmus_run_threads(litmus_runner_t* runner);
/* Ends the threads; those of the next program are new ones. */
void litmus_end_threads(void);

#endif /* TBK_LITMUS_RUNNER_H */
