/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow.h: what the mutants that show in one situation only share. Rows, and small questions.
 */
#ifndef TBK_MUTANTS_NARROW_H
#define TBK_MUTANTS_NARROW_H

#include "calls.h"

#define KIB(n) (UINT64_C(n) << 10)
#define MIB(n) (UINT64_C(n) << 20)

/* A row of one entry, named like its function. */
#define ONE(function, clause, operation, member, note) \
  ROW(function, clause, operation, NARROW, member, note)
/* A row of several patches. */
#define SEVERAL(name, clause, operation, note, ...) \
  { name, clause, MUTANT, operation, NARROW, note, {__VA_ARGS__}, 0, 0, 0, 0 }
/* The same, with what notes.c remembers. */
#define NOTED(name, clause, operation, note, ...) \
  { name, clause, MUTANT, operation, NARROW, note, {__VA_ARGS__}, 0, 0, notes_install, 0 }
/* A row of the kernels for one operator. */
#define KERNEL(function, clause, operation, op, member, note) \
  KERNEL_ROW(function, clause, operation, NARROW, op, member, note)

/* Whether work of `stream` is not complete. */
static inline bool stream_pending(tbk_instance_t* self, tbk_stream_t* stream) {
  return stream != NULL && INNER(self, stream)->stream_query(self, stream, NULL) == TBK_NOT_READY;
}

static inline bool event_pending(tbk_instance_t* self, tbk_event_t* event) {
  return event != NULL && INNER(self, event)->event_query(self, event, NULL) == TBK_NOT_READY;
}

/* True for the one call that finds `flag` set. */
static inline bool once(atomic_int* flag) {
  return atomic_exchange(flag, 0) != 0;
}

static inline void narrow_pause(void* argument) {
  (void)argument;
  wrap_sleep_ms(120);
}

/* The device's hidden stream, busy for a while. */
static inline tbk_stream_t* side_held(wrap_t* wrap, int32_t device) {
  tbk_stream_t* side = side_stream(wrap, device);
  tbk_instance_t* self = atomic_load(&wrap->self);
  ignore(wrap->inner->callback->callback_enqueue(self, side, narrow_pause, NULL, NULL));
  return side;
}

/* Lets later work of `stream` wait for all that is on `side`. */
static inline void join_side(tbk_instance_t* self, int32_t device, tbk_stream_t* stream,
                             tbk_stream_t* side) {
  const tbk_event_ops_t* event = INNER(self, event);
  tbk_event_t* point = NULL;
  if (event->event_create(self, device, 0, &point, NULL) != TBK_OK) return;
  ignore(event->event_record(self, point, side, NULL));
  ignore(event->event_wait(self, stream, point, NULL));
  event->event_destroy(self, point);
}

/* Work of one kind is noted, and the next work of another kind goes ahead of it. Only at first, as
 * it takes long. */
static inline void go_first(tbk_instance_t* self, tbk_stream_t* stream) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && atomic_fetch_add(&wrap->calls, 1) < 20) note_point(wrap, stream);
}
static inline tbk_stream_t* go_ahead(tbk_instance_t* self, tbk_stream_t* stream) {
  wrap_t* wrap = wrap_of(self);
  stream_note_t* note = stream == NULL ? NULL : note_of_stream(wrap, stream);
  if (note == NULL || !note->shadowed) return stream;
  note->shadowed = false;
  tbk_stream_t* side = side_stream(wrap, note->device);
  ignore(wrap->inner->event->event_wait(self, side, note->shadow, NULL));
  return side;
}
#define GO_AHEAD(inner)                                                           \
  tbk_stream_t* const queue = stream;                                             \
  stream = go_ahead(self, queue);                                                 \
  const tbk_status_t status = inner;                                              \
  if (stream != queue)                                                            \
    join_side(self, note_of_stream(wrap_of(self), queue)->device, queue, stream); \
  return status

#endif /* TBK_MUTANTS_NARROW_H */
