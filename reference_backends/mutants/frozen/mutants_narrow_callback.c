/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_callback.c: calls of the host's functions.
 */
#include <stdlib.h>

#include "narrow.h"

/* A call on its way. */
typedef struct box {
  tbk_callback_fn function;
  void* argument;
  wrap_t* wrap;
  tbk_stream_t* stream;
  atomic_bool dropped;
  atomic_int users;
} box_t;

static box_t* box_new(tbk_instance_t* self, tbk_stream_t* stream, tbk_callback_fn function,
                      void* argument) {
  box_t* box = calloc(1, sizeof *box);
  if (box == NULL) abort();
  box->function = function;
  box->argument = argument;
  box->wrap = wrap_of(self);
  box->stream = stream;
  atomic_init(&box->users, 2);
  return box;
}
static tbk_status_t box_enqueue(tbk_instance_t* self, box_t* box, tbk_callback_fn run,
                                tbk_error_t* error) {
  tbk_status_t status = INNER(self, callback)->callback_enqueue(self, box->stream, run, box, error);
  if (status != TBK_OK) free(box);
  return status;
}

CALLBACK(callback_with_null_is_lost) {
  return argument == NULL && stream != NULL && function != NULL ? TBK_OK : CALLBACK_INNER;
}
CALLBACK(same_callback_is_merged) {
  wrap_t* wrap = wrap_of(self);
  const uintptr_t key = (uintptr_t)function ^ (uintptr_t)argument ^ (uintptr_t)stream;
  const uintptr_t before = atomic_exchange(&wrap->kept, key);
  return before == key && function != NULL && stream_pending(self, stream) ? TBK_OK
                                                                           : CALLBACK_INNER;
}

static void run_counted(void* argument) {
  box_t* box = argument;
  box->function(box->argument);
  atomic_fetch_sub(&box->wrap->flag, 1);
  free(box);
}
CALLBACK(callback_beyond_64_is_lost) {
  if (function == NULL || stream == NULL) return CALLBACK_INNER;
  if (atomic_fetch_add(&wrap_of(self)->flag, 1) >= 64) {
    atomic_fetch_sub(&wrap_of(self)->flag, 1);
    return TBK_OK;
  }
  return box_enqueue(self, box_new(self, stream, function, argument), run_counted, error);
}

static void* run_watched(void* argument) {
  box_t* box = argument;
  box->function(box->argument);
  atomic_store(&box->dropped, true);
  if (atomic_fetch_sub(&box->users, 1) == 1) free(box);
  return NULL;
}
static void watch(void* argument) {
  box_t* box = argument;
  pthread_t thread;
  if (pthread_create(&thread, NULL, run_watched, box) != 0) abort();
  pthread_detach(thread);
  for (int i = 0; i < 200 && !atomic_load(&box->dropped); ++i)
    wrap_sleep_ms(1);
  if (atomic_fetch_sub(&box->users, 1) == 1) free(box);
}
CALLBACK(long_callback_is_left_behind) {
  if (function == NULL || stream == NULL) return CALLBACK_INNER;
  return box_enqueue(self, box_new(self, stream, function, argument), watch, error);
}

FAULT(failing_is_kept) {
  tbk_status_t status = FAULT_INNER;
  if (status == TBK_OK && kind == TBK_FAULT_WORK_FAILS)
    atomic_store(&wrap_of(self)->kept, (uintptr_t)stream);
  return status;
}
CALLBACK(callback_behind_failure_is_lost) {
  if (function != NULL && stream != NULL && atomic_load(&wrap_of(self)->kept) == (uintptr_t)stream)
    return TBK_OK;
  return CALLBACK_INNER;
}

/* The boxes that have not run, for streams that end. */
enum { BOXES = 256 };
static box_t* waiting[BOXES];
static pthread_mutex_t waiting_lock = PTHREAD_MUTEX_INITIALIZER;

static void run_unless_dropped(void* argument) {
  box_t* box = argument;
  pthread_mutex_lock(&waiting_lock);
  for (int i = 0; i < BOXES; ++i)
    if (waiting[i] == box) waiting[i] = NULL;
  pthread_mutex_unlock(&waiting_lock);
  if (!atomic_load(&box->dropped)) box->function(box->argument);
  free(box);
}
CALLBACK(callback_is_listed) {
  if (function == NULL || stream == NULL) return CALLBACK_INNER;
  box_t* box = box_new(self, stream, function, argument);
  pthread_mutex_lock(&waiting_lock);
  int place = 0;
  while (place < BOXES - 1 && waiting[place] != NULL)
    ++place;
  waiting[place] = box;
  pthread_mutex_unlock(&waiting_lock);
  tbk_status_t status =
      INNER(self, callback)->callback_enqueue(self, stream, run_unless_dropped, box, error);
  if (status == TBK_OK) return status;
  pthread_mutex_lock(&waiting_lock);
  waiting[place] = NULL;
  pthread_mutex_unlock(&waiting_lock);
  free(box);
  return status;
}
STREAM_DESTROY(stream_drops_its_callbacks) {
  pthread_mutex_lock(&waiting_lock);
  for (int i = 0; i < BOXES && stream != NULL; ++i)
    if (waiting[i] != NULL && waiting[i]->stream == stream)
      atomic_store(&waiting[i]->dropped, true);
  pthread_mutex_unlock(&waiting_lock);
  STREAM_DESTROY_INNER;
}

LAUNCH(launch_before_callback) {
  go_first(self, stream);
  return LAUNCH_INNER;
}
PEER_COPY(peer_copy_before_callback) {
  go_first(self, stream);
  return PEER_COPY_INNER;
}
CALLBACK(callback_goes_ahead) {
  GO_AHEAD(CALLBACK_INNER);
}
CALLBACK(callback_goes_first) {
  go_first(self, stream);
  return CALLBACK_INNER;
}
RANDOM_BITS(random_ahead_of_callback) {
  GO_AHEAD(RANDOM_BITS_INNER);
}
COPY(copy_ahead_of_callback) {
  GO_AHEAD(COPY_INNER);
}
PEER_COPY(peer_copy_ahead_of_callback) {
  GO_AHEAD(PEER_COPY_INNER);
}

extern const mutant_t mutants_narrow_callback[];
const mutant_t mutants_narrow_callback[] = {
    ONE(callback_with_null_is_lost, "CBK-002", COUNT, callback.callback_enqueue,
        "the argument is NULL"),
    ONE(same_callback_is_merged, "CBK-002", COUNT, callback.callback_enqueue,
        "the same function and argument twice in a row, while the stream is busy"),
    ONE(callback_beyond_64_is_lost, "CBK-002", COUNT, callback.callback_enqueue,
        "64 have not run yet"),
    ONE(long_callback_is_left_behind, "CBK-004", ORDER, callback.callback_enqueue,
        "later work starts after 200 ms"),
    SEVERAL("callback_behind_failure_is_lost", "CBK-002", COUNT, "on a stream whose work failed",
            PATCH(fault.fault_enqueue, failing_is_kept),
            PATCH(callback.callback_enqueue, callback_behind_failure_is_lost)),
    SEVERAL("stream_drops_its_callbacks", "STR-011", LIFETIME,
            "those that have not run when it is destroyed",
            PATCH(callback.callback_enqueue, callback_is_listed),
            PATCH(stream.stream_destroy, stream_drops_its_callbacks)),
    NOTED("callback_overtakes_kernel", "CBK-003", ORDER, "runs before a kernel has",
          PATCH(launching.launch, launch_before_callback),
          PATCH(callback.callback_enqueue, callback_goes_ahead)),
    NOTED("callback_overtakes_peer_copy", "CBK-003", ORDER, "runs before a copy to another device",
          PATCH(peer.peer_copy, peer_copy_before_callback),
          PATCH(callback.callback_enqueue, callback_goes_ahead)),
    NOTED("random_overtakes_callback", "CBK-004", ORDER, "random words do not wait",
          PATCH(callback.callback_enqueue, callback_goes_first),
          PATCH(random.random_bits, random_ahead_of_callback)),
    NOTED("copy_overtakes_callback", "CBK-004", ORDER, "copies on the device do not wait",
          PATCH(callback.callback_enqueue, callback_goes_first),
          PATCH(core.copy, copy_ahead_of_callback)),
    NOTED("peer_copy_overtakes_callback", "CBK-004", ORDER, "copies between devices do not wait",
          PATCH(callback.callback_enqueue, callback_goes_first),
          PATCH(peer.peer_copy, peer_copy_ahead_of_callback)),
    {0}};
