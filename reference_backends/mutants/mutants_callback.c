/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_callback.c: host callbacks.
 */
#include <stdlib.h>

#include "calls.h"

typedef struct parcel {
  tbk_callback_fn function;
  void* argument;
  int times;
} parcel_t;

static parcel_t* wrap_up(tbk_callback_fn function, void* argument, int times) {
  parcel_t* parcel = calloc(1, sizeof *parcel);
  if (parcel == NULL) abort();
  *parcel = (parcel_t){function, argument, times};
  return parcel;
}

static void unwrap(void* argument) {
  parcel_t* parcel = argument;
  for (int i = 0; i < parcel->times; ++i)
    parcel->function(parcel->argument);
}

static void* unwrap_on_thread(void* argument) {
  unwrap(argument);
  return NULL;
}

/* A thread of its own: the stream goes on without it. */
static void detach(void* argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, unwrap_on_thread, argument) == 0) pthread_detach(thread);
}

static void nothing(void* argument) {}

CALLBACK(callback_accepts_null) {
  return stream == NULL || function == NULL ? TBK_OK : CALLBACK_INNER;
}
CALLBACK(callback_accepts_null_function) {
  return function == NULL ? TBK_OK : CALLBACK_INNER;
}
/* Without a stream it is run at once, where the contract has no such thing. */
CALLBACK(callback_without_stream) {
  if (stream == NULL && function != NULL) {
    function(argument);
    return TBK_OK;
  }
  return CALLBACK_INNER;
}

CALLBACK(callback_never) {
  if (function != NULL) function = nothing;
  return CALLBACK_INNER;
}
CALLBACK(callback_twice) {
  if (function == NULL || stream == NULL) return CALLBACK_INNER;
  argument = wrap_up(function, argument, 2);
  function = unwrap;
  return CALLBACK_INNER;
}
CALLBACK(third_callback_twice) {
  if (function == NULL || stream == NULL || !wrap_every(wrap_of(self), 3)) return CALLBACK_INNER;
  argument = wrap_up(function, argument, 2);
  function = unwrap;
  return CALLBACK_INNER;
}
CALLBACK(callback_without_argument) {
  if (function == NULL || stream == NULL || !wrap_every(wrap_of(self), 4)) return CALLBACK_INNER;
  argument = wrap_up(nothing, NULL, 1);
  function = unwrap;
  return CALLBACK_INNER;
}

/* CBK-003: before what is before it. */
CALLBACK(callback_at_once) {
  if (function == NULL || stream == NULL) return CALLBACK_INNER;
  function(argument);
  return TBK_OK;
}
CALLBACK(callback_on_idle_stream) {
  wrap_t* wrap = wrap_of(self);
  if (function != NULL && stream != NULL)
    stream = side_stream(wrap, note_of_stream(wrap, stream)->device);
  return CALLBACK_INNER;
}
UPLOAD(upload_is_latest) {
  if (stream != NULL) atomic_store(&wrap_of(self)->kept, (uintptr_t)stream);
  return UPLOAD_INNER;
}
/* Before copies that it follows directly, as where copies have an engine of their own. */
CALLBACK(callback_before_copy) {
  wrap_t* wrap = wrap_of(self);
  uintptr_t latest = (uintptr_t)stream;
  if (function != NULL && stream != NULL &&
      atomic_compare_exchange_strong(&wrap->kept, &latest, 0)) {
    function(argument);
    return TBK_OK;
  }
  return CALLBACK_INNER;
}
DOWNLOAD(download_is_latest) {
  if (stream != NULL) atomic_store(&wrap_of(self)->kept, (uintptr_t)stream);
  return DOWNLOAD_INNER;
}

/* Where copies of the host's memory wait for their stream, as they may: no gate shows it then. */
UPLOAD(upload_then_waits) {
  tbk_status_t status = UPLOAD_INNER;
  if (status == TBK_OK && stream != NULL)
    status = INNER(self, stream)->stream_synchronize(self, stream, error);
  return status;
}
DOWNLOAD(download_then_waits) {
  tbk_status_t status = DOWNLOAD_INNER;
  if (status == TBK_OK && stream != NULL)
    status = INNER(self, stream)->stream_synchronize(self, stream, error);
  return status;
}
PINNED_ALLOC(pinned_is_noted) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OK && out_pointer != NULL) atomic_store(&wrap->value, (uintptr_t)*out_pointer);
  return status;
}
/* But for those of pinned memory, which a callback right behind overtakes. */
DOWNLOAD(pageable_download_then_waits) {
  wrap_t* wrap = wrap_of(self);
  if ((uintptr_t)destination != atomic_load(&wrap->value))
    return download_then_waits(self, device, destination, memory, offset, size_bytes, stream,
                               error);
  if (stream != NULL) atomic_store(&wrap->kept, (uintptr_t)stream);
  return DOWNLOAD_INNER;
}

/* CBK-004: later work does not wait until it has returned. */
CALLBACK(callback_detached) {
  if (function == NULL || stream == NULL) return CALLBACK_INNER;
  argument = wrap_up(function, argument, 1);
  function = detach;
  return CALLBACK_INNER;
}
CALLBACK(second_callback_detached) {
  if (function == NULL || stream == NULL || !wrap_every(wrap_of(self), 2)) return CALLBACK_INNER;
  argument = wrap_up(function, argument, 1);
  function = detach;
  return CALLBACK_INNER;
}
CALLBACK(callback_beside_stream) {
  wrap_t* wrap = wrap_of(self);
  if (function != NULL && stream != NULL) stream = side_after(wrap, stream);
  return CALLBACK_INNER;
}
CALLBACK(callback_is_noted) {
  if (stream != NULL) atomic_store(&wrap_of(self)->kept, (uintptr_t)stream);
  return CALLBACK_INNER;
}
#define AHEAD(f, signature, inner)                                                               \
  signature(f) {                                                                                 \
    if (stream != NULL && atomic_load(&wrap_of(self)->kept) == (uintptr_t)stream) stream = NULL; \
    return inner;                                                                                \
  }
AHEAD(fill_ahead_of_callback, FILL, FILL_INNER)
AHEAD(launch_ahead_of_callback, LAUNCH, LAUNCH_INNER)

/* CBK-006: among themselves in another order. Two that wait at a time change places. */
typedef struct turn {
  tbk_callback_fn function;
  void* argument;
  struct turn* partner;
} turn_t;

static struct {
  pthread_mutex_t lock;
  tbk_stream_t* stream;
  turn_t* waiting; /* the latest of the stream, without a partner as yet */
} turns = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void take_turn(void* argument) {
  turn_t* turn = argument;
  pthread_mutex_lock(&turns.lock);
  if (turns.waiting == turn) turns.waiting = NULL;
  if (turn->partner != NULL) turn = turn->partner;
  pthread_mutex_unlock(&turns.lock);
  turn->function(turn->argument);
}
CALLBACK(callbacks_in_pairs) {
  if (function == NULL || stream == NULL) return CALLBACK_INNER;
  turn_t* turn = calloc(1, sizeof *turn);
  if (turn == NULL) abort();
  *turn = (turn_t){function, argument, NULL};
  pthread_mutex_lock(&turns.lock);
  turn_t* first = turns.stream == stream ? turns.waiting : NULL;
  if (first != NULL) first->partner = turn;
  turn->partner = first;
  turns.stream = stream;
  turns.waiting = first != NULL ? NULL : turn;
  pthread_mutex_unlock(&turns.lock);
  function = take_turn;
  argument = turn;
  return CALLBACK_INNER;
}
/* Kept until somebody waits for the stream: no place in the queue at all. */
CALLBACK(callback_until_synchronize) {
  wrap_t* wrap = wrap_of(self);
  if (function == NULL || stream == NULL || !wrap_every(wrap, 5)) return CALLBACK_INNER;
  parcel_t* parcel = wrap_up(function, argument, 1);
  uintptr_t empty = 0;
  if (!atomic_compare_exchange_strong(&wrap->kept, &empty, (uintptr_t)parcel)) {
    free(parcel);
    return CALLBACK_INNER;
  }
  atomic_store(&wrap->value, (uintptr_t)stream);
  return TBK_OK;
}
STREAM_SYNCHRONIZE(synchronize_runs_callback) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = STREAM_SYNCHRONIZE_INNER;
  if (stream != NULL && atomic_load(&wrap->value) == (uintptr_t)stream) {
    parcel_t* parcel = (parcel_t*)atomic_exchange(&wrap->kept, 0);
    if (parcel != NULL) unwrap(parcel);
  }
  return status;
}

/* Does not take its place in the queue at all. */
CALLBACK(callback_overtakes_callbacks) {
  wrap_t* wrap = wrap_of(self);
  if (function == NULL || stream == NULL || !wrap_every(wrap, 7)) return CALLBACK_INNER;
  function(argument);
  return TBK_OK;
}

#define CALL(name, clause, operation, narrow, note, ...) \
  { name, clause, MUTANT, operation, narrow, note, {__VA_ARGS__}, 0, 0, notes_install, 0 }
#define NOTED(function, clause, operation, narrow, note) \
  CALL(#function, clause, operation, narrow, note, PATCH(callback.callback_enqueue, function))

extern const mutant_t mutants_callback[];
const mutant_t mutants_callback[] = {
    NOTED(callback_accepts_null, "CBK-001", RETURN, BROAD, "OK for NULL"),
    NOTED(callback_accepts_null_function, "CBK-001", RETURN, NARROW, "of the function"),
    NOTED(callback_without_stream, "CBK-001", RETURN, NARROW, "without a stream it runs at once"),
    NOTED(callback_never, "CBK-002", COUNT, BROAD, "it is not run"),
    NOTED(callback_twice, "CBK-002", COUNT, BROAD, "it is run twice"),
    NOTED(third_callback_twice, "CBK-002", COUNT, NARROW, "every third is run twice"),
    NOTED(callback_without_argument, "CBK-002", COUNT, NARROW, "every fourth is lost"),
    NOTED(callback_at_once, "CBK-003", ORDER, BROAD, "runs inside the call, before earlier work"),
    NOTED(callback_on_idle_stream, "CBK-004", ORDER, BROAD, "runs on another stream"),
    CALL("callback_before_upload", "CBK-003", ORDER, NARROW, "before an upload right before it",
         PATCH(callback.callback_enqueue, callback_before_copy),
         PATCH(core.upload, upload_is_latest)),
    CALL("download_behind_callback", "CBK-003", ORDER, NARROW, "before a download right before it",
         PATCH(callback.callback_enqueue, callback_before_copy),
         PATCH(core.download, download_is_latest)),
    CALL("callback_at_once_beside_copies_that_wait", "CBK-003", ORDER, BROAD,
         "runs inside the call, on a device whose uploads and downloads wait",
         PATCH(callback.callback_enqueue, callback_at_once), PATCH(core.upload, upload_then_waits),
         PATCH(core.download, download_then_waits)),
    CALL("callback_before_pinned_download", "CBK-003", ORDER, NARROW,
         "before a download into pinned memory right before it; others wait",
         PATCH(callback.callback_enqueue, callback_before_copy),
         PATCH(pinned.pinned_alloc, pinned_is_noted), PATCH(core.upload, upload_then_waits),
         PATCH(core.download, pageable_download_then_waits)),
    NOTED(callback_detached, "CBK-004", ORDER, BROAD, "runs on a thread that nobody waits for"),
    NOTED(second_callback_detached, "CBK-004", COUNT, NARROW, "every second is detached"),
    NOTED(callback_beside_stream, "CBK-004", ORDER, BROAD, "beside the stream, after earlier work"),
    CALL("fills_ahead_of_callback", "CBK-004", ORDER, NARROW, "fills do not wait for it",
         PATCH(callback.callback_enqueue, callback_is_noted),
         PATCH(core.fill, fill_ahead_of_callback)),
    CALL("kernels_ahead_of_callback", "CBK-004", ORDER, NARROW, "kernels do not wait for it",
         PATCH(callback.callback_enqueue, callback_is_noted),
         PATCH(launching.launch, launch_ahead_of_callback)),
    NOTED(callbacks_in_pairs, "CBK-006", ORDER, BROAD, "two in a row change places"),
    CALL("callback_until_synchronize", "CBK-006", COUNT, NARROW,
         "every fifth runs when somebody waits for the stream, behind later work",
         PATCH(callback.callback_enqueue, callback_until_synchronize),
         PATCH(stream.stream_synchronize, synchronize_runs_callback)),
    NOTED(callback_overtakes_callbacks, "CBK-006", COUNT, NARROW, "every seventh runs at once"),
    {0}};
