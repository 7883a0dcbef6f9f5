/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * dimensions.h: the dimensions that functions share, and the scene that a case sets before the call
 * that it is about: on which device and stream, how much is pending, after what, by which thread.
 */
#ifndef TBK_CONTRACTS_DIMENSIONS_H
#define TBK_CONTRACTS_DIMENSIONS_H

#include "sweep.h"

extern const sweep_dimension_t sweep_size;    /* bytes, around what drivers stage and treat apart */
extern const sweep_dimension_t sweep_offset;  /* units of granularity, no multiple of the size */
extern const sweep_dimension_t sweep_repeat;  /* how often the call is made */
extern const sweep_dimension_t sweep_pending; /* works on the stream before it */
extern const sweep_dimension_t sweep_device;  /* 0 or 1 */
extern const sweep_dimension_t sweep_stream;  /* sweep_stream_t */
extern const sweep_dimension_t sweep_thread;  /* 1: a thread that was made for it */
extern const sweep_dimension_t sweep_state;   /* sweep_state_t */
extern const sweep_dimension_t sweep_error;   /* 1: NULL for the message */
extern const sweep_dimension_t sweep_duration; /* milliseconds for which work is held */

/*
 * Lengths of rows: powers of two, which blocks are made of, one less and one more. The first, one of
 * each, are enough where time counts.
 */
enum { SWEEP_FEW_LENGTHS = 3, SWEEP_ALL_LENGTHS = 15 };
extern const int64_t sweep_lengths[SWEEP_ALL_LENGTHS];

typedef enum sweep_stream_kind {
  SWEEP_STREAM_NULL = 0,
  SWEEP_STREAM_FIRST,
  SWEEP_STREAM_SIXTH,    /* after five others, which stay */
  SWEEP_STREAM_AGAIN,    /* made after another one was used and destroyed */
  SWEEP_STREAM_PRIORITY, /* of the greatest priority */
  SWEEP_STREAM_USED      /* has done and completed much before */
} sweep_stream_kind_t;

typedef enum sweep_state_kind {
  SWEEP_FRESH = 0,
  SWEEP_REFUSED,       /* calls were refused as invalid */
  SWEEP_OUT_OF_MEMORY, /* an allocation failed */
  SWEEP_BUSY,          /* another stream is at work */
  SWEEP_CHURNED,       /* a hundred allocations came and went */
  SWEEP_REOPENED       /* the device was closed and opened again */
} sweep_state_kind_t;

typedef struct scene {
  tbk_fixture_t* fx;
  const sweep_case_t* one;
  tbk_stream_t* stream; /* NULL: calls are complete on return */
  tbk_error_t* error;   /* for the call that the case is about; may be NULL */
  tbk_memory_t scratch; /* a byte pattern for each of the works that write it; 0: none does */
  uint8_t* scratch_model;
  uint64_t unit; /* bytes of each of them */
} scene_t;

/* Returns whether streams, memory and devices suffice for what the case has of these dimensions. */
bool scene_fits(const tbk_fixture_t* fx, const sweep_case_t* one);
void scene_begin(tbk_fixture_t* fx, const sweep_case_t* one, scene_t* scene);
/* Makes `scratch`, also where nothing is pending that writes it. */
void scene_scratch(scene_t* scene);
/* Enqueues the pending works behind a delay; so that they are pending when the next call comes. */
void scene_load(scene_t* scene);
/* Calls `function` by the thread of the case. `fx` there allows CHECK, and no REQUIRE. */
typedef void (*scene_fn)(tbk_fixture_t* fx, void* argument);
void scene_call(scene_t* scene, scene_fn function, void* argument);
/* Waits for the stream, and checks that all pending works took place. */
void scene_end(scene_t* scene);

/* A callback that takes so long is enqueued, where there are callbacks. */
void sweep_delay(tbk_fixture_t* fx, tbk_stream_t* stream, unsigned microseconds);
/* Exactly so many bytes; false, and left out, where the device has not got them. */
bool sweep_alloc(tbk_fixture_t* fx, sweep_case_t* one, uint64_t size_bytes, tbk_memory_t* out);
/* Returns the most bytes that a case should take at a time. */
uint64_t sweep_room(const tbk_fixture_t* fx);

#endif /* TBK_CONTRACTS_DIMENSIONS_H */
