/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_account.c: what memory is counted for in one state only, stream-ordered memory in one
 * arrangement of streams only, and instances that feel each other.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"

#define MIB(n) (UINT64_C(n) << 20)

#define ROW_OF(name, clause, operation, note, ...) \
  { #name, clause, MUTANT, operation, NARROW, note, {__VA_ARGS__ }, 0, 0, 0, 0 }
#define ROW_INSTALLED(name, clause, operation, note, installed, ...) \
  { #name, clause, MUTANT, operation, NARROW, note, {__VA_ARGS__ }, 0, 0, installed, 0 }

/* ------------------------------------------------------------------------- what is counted ---- */

/* Handles that were kept back are the leak; nobody frees them. */
static bool keeps(wrap_t* wrap, uint64_t most) {
  return atomic_load(&wrap->flag) != 0 && atomic_fetch_add(&wrap->calls, 1) < most;
}
ALLOC(alloc_notes_refusal) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OUT_OF_MEMORY) atomic_store(&wrap_of(self)->flag, 1);
  return status;
}
FREE(free_after_refusal_leaks) {
  if (memory != 0 && keeps(wrap_of(self), 40)) return TBK_OK;
  return FREE_INNER;
}
PINNED_FREE(pinned_free_after_refusal_leaks) {
  if (pointer != NULL && atomic_load(&wrap_of(self)->flag) != 0) return;
  PINNED_FREE_INNER;
}
ASYNC_FREE(async_free_after_fork_leaks) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && memory != 0 && keeps(wrap, 40)) return TBK_OK;
  return ASYNC_FREE_INNER;
}
FREE(free_every_150th_gives_nothing) {
  return memory != 0 && wrap_every(wrap_of(self), 150) ? TBK_OK : FREE_INNER;
}
/* What is refused though there is more in sum. */
ALLOC(alloc_refused_in_pieces_leaks) {
  tbk_memory_t leaked;
  tbk_status_t status = ALLOC_INNER;
  if (status != TBK_OUT_OF_MEMORY || size_bytes >= MIB(1024) || out_memory == NULL) return status;
  ignore(INNER(self, core)->memory_alloc(self, device, size_bytes / 2, &leaked, NULL));
  return status;
}
/* A page for each, which nobody gets back. */
static void keep_a_page(tbk_instance_t* self, int32_t device) {
  tbk_memory_t leaked;
  ignore(INNER(self, core)->memory_alloc(self, device, 4096, &leaked, NULL));
}
ALLOC(alloc_too_much_keeps_a_page) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OUT_OF_MEMORY && size_bytes < UINT64_C(1) << 40) keep_a_page(self, device);
  return status;
}
ALLOC(alloc_of_odd_sizes_keeps_a_page) {
  if (size_bytes > MIB(1) && size_bytes % 4096 != 0) keep_a_page(self, device);
  return ALLOC_INNER;
}
PINNED_ALLOC(pinned_ends_with_100_refusals) {
  wrap_t* wrap = wrap_of(self);
  if (atomic_load(&wrap->calls) >= 100) return wrap_fail(error, TBK_OUT_OF_MEMORY, "none is left");
  tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OUT_OF_MEMORY) atomic_fetch_add(&wrap->calls, 1);
  return status;
}
STREAM_CREATE(create_of_100_streams_is_the_last) {
  if (atomic_fetch_add(&wrap_of(self)->calls, 1) >= 100)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "all streams have been made");
  return STREAM_CREATE_INNER;
}
EVENT_CREATE(create_of_1000_events_is_the_last) {
  if (atomic_fetch_add(&wrap_of(self)->calls, 1) >= 1000)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "all events have been made");
  return EVENT_CREATE_INNER;
}

/* `value`: blocks that live. What was had in some pieces is never again had in one. */
ALLOC(alloc_leaves_pieces_apart) {
  wrap_t* wrap = wrap_of(self);
  if (out_memory != NULL && atomic_load(&wrap->flag) != 0 && size_bytes >= MIB(64))
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no piece is as large");
  tbk_status_t status = ALLOC_INNER;
  if (status != TBK_OK || *out_memory == 0) return status;
  if (atomic_fetch_add(&wrap->value, 1) >= 5 && size_bytes >= MIB(1)) atomic_store(&wrap->flag, 1);
  return status;
}
FREE(free_counts_pieces) {
  if (memory != 0) atomic_fetch_sub(&wrap_of(self)->value, 1);
  return FREE_INNER;
}

PREPARE(prepare_of_1000_plans_is_the_last) {
  if (atomic_fetch_add(&wrap_of(self)->calls, 1) >= 1000)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "all plans have been made");
  return PREPARE_INNER;
}

/* `calls`: events that live; `value`: those that lived when a device was closed, and count for ever. */
EVENT_CREATE(create_counts_events) {
  wrap_t* wrap = wrap_of(self);
  if (atomic_load(&wrap->calls) + atomic_load(&wrap->value) >= 1200)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "1200 events");
  tbk_status_t status = EVENT_CREATE_INNER;
  if (status == TBK_OK) atomic_fetch_add(&wrap->calls, 1);
  return status;
}
EVENT_DESTROY(destroy_uncounts_event) {
  wrap_t* wrap = wrap_of(self);
  if (event != NULL && atomic_load(&wrap->calls) > 0) atomic_fetch_sub(&wrap->calls, 1);
  EVENT_DESTROY_INNER;
}
CLOSE(close_keeps_count_of_events) {
  wrap_t* wrap = wrap_of(self);
  atomic_fetch_add(&wrap->value, atomic_exchange(&wrap->calls, 0));
  return CLOSE_INNER;
}

/* Each has the one before: nothing is lost to whoever looks for leaks, and nothing is given back. */
typedef struct leak {
  struct leak* before;
  uint8_t bytes[1000];
} leak_t;
LAUNCH(refused_launch_leaves_1000_bytes) {
  static _Atomic(leak_t*) latest;
  tbk_status_t status = LAUNCH_INNER;
  leak_t* one = status == TBK_OK ? NULL : malloc(sizeof *one);
  if (one != NULL) one->before = atomic_exchange(&latest, one);
  return status;
}

/* A fork is noticed by nobody but the library's own handler. */
static _Atomic(wrap_t*) forking;
static void note_fork(void) {
  wrap_t* wrap = atomic_load(&forking);
  if (wrap != NULL) atomic_store(&wrap->flag, 1);
}
static void watch_forks(wrap_t* wrap) {
  static atomic_int watched;
  atomic_store(&forking, wrap);
  if (atomic_exchange(&watched, 1) == 0) ignore(pthread_atfork(NULL, note_fork, NULL));
}

/* ------------------------------------------------------------------- freed by which stream ---- */

/* Held back until its stream is waited for, or gone; then at once, whatever is pending. */
static void let_go(tbk_instance_t* self, wrap_t* wrap, bool at_once) {
  tbk_memory_t memory = (tbk_memory_t)atomic_exchange(&wrap->value, 0);
  tbk_stream_t* stream = (tbk_stream_t*)atomic_load(&wrap->kept);
  if (memory == 0) return;
  const stream_note_t* note = note_of_stream(wrap, stream);
  if (at_once && note != NULL)
    ignore(INNER(self, core)->memory_free(self, note->device, memory, NULL));
  else
    ignore(INNER(self, async_memory)->async_free(self, stream, memory, NULL));
}
ASYNC_FREE(async_free_is_held_back) {
  wrap_t* wrap = wrap_of(self);
  if (stream == NULL || memory == 0) return ASYNC_FREE_INNER;
  let_go(self, wrap, false);
  atomic_store(&wrap->kept, (uintptr_t)stream);
  atomic_store(&wrap->value, memory);
  return TBK_OK;
}
STREAM_DESTROY(destroy_frees_at_once) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && (tbk_stream_t*)atomic_load(&wrap->kept) == stream) let_go(self, wrap, true);
  STREAM_DESTROY_INNER;
}
STREAM_SYNCHRONIZE(synchronize_lets_go) {
  let_go(self, wrap_of(self), false);
  return STREAM_SYNCHRONIZE_INNER;
}
DEVICE_SYNCHRONIZE(device_synchronize_lets_go) {
  let_go(self, wrap_of(self), false);
  return DEVICE_SYNCHRONIZE_INNER;
}

/* ------------------------------------------------------------------------------- instances ---- */

static atomic_int instances;

static void count_instance(wrap_t* wrap) {
  (void)wrap;
  atomic_fetch_add(&instances, 1);
}
static void destroy_uncounts(tbk_instance_t* self) {
  atomic_fetch_sub(&instances, 1);
  wrap_destroy(self);
}
COPY(copy_beside_instances_drops_last) {
  const uint64_t all = size_bytes;
  if (atomic_load(&instances) > 2 && all > 64) size_bytes = all - 64;
  return COPY_INNER;
}
PROPERTIES(properties_know_other_instances) {
  tbk_status_t status = PROPERTIES_INNER;
  if (status == TBK_OK && atomic_load(&instances) > 1 &&
      out_properties->struct_size >= offsetof(tbk_device_properties_t, zero))
    out_properties->priority_least += 1;
  return status;
}

/* Of a word too long for its buffer only what fits is read: nothing of it, so nobody objects. */
static tbk_status_t long_option_is_dropped(const tbk_host_t* host,
                                           const tbk_backend_t** out_backend, tbk_error_t* error) {
  static _Thread_local char kept[256];
  static _Thread_local tbk_host_t copy;
  if (host == NULL || host->struct_size < sizeof copy || host->options == NULL ||
      strlen(host->options) < sizeof kept)
    return wrap_create(wrap_active_row(), host, out_backend, error);
  const char* end = host->options;
  for (const char* at = end; (at = strchr(at, ',')) && at < host->options + sizeof kept; at++)
    end = at;
  memcpy(kept, host->options, (size_t)(end - host->options));
  kept[end - host->options] = '\0';
  copy = *host;
  copy.options = kept;
  return wrap_create(wrap_active_row(), &copy, out_backend, error);
}

/* In the order in which they were allocated. One between two that live is kept until either of them goes. */
enum { MOST_PLACES = 4096 };
static struct {
  const tbk_instance_t* self;
  int32_t device;
  tbk_memory_t memory;
  bool is_free;
} places[MOST_PLACES];
static int place_count;
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;

static void place_remove(int at) {
  memmove(&places[at], &places[at + 1], (size_t)(place_count - at - 1) * sizeof *places);
  place_count--;
}
/* Returns the next place of the same device, this way or that; -1 where there is none. */
static int place_beside(int at, int step) {
  int i = at + step;
  while (i >= 0 && i < place_count &&
         (places[i].self != places[at].self || places[i].device != places[at].device))
    i += step;
  return i >= 0 && i < place_count ? i : -1;
}
static bool place_is_between(int at) {
  const int before = place_beside(at, -1), after = place_beside(at, 1);
  return before >= 0 && after >= 0 && !places[before].is_free && !places[after].is_free;
}

ALLOC(alloc_has_place) {
  pthread_mutex_lock(&places_lock);
  const tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK && *out_memory != 0 && place_count < MOST_PLACES) {
    places[place_count].self = self;
    places[place_count].device = device;
    places[place_count].is_free = false;
    places[place_count++].memory = *out_memory;
  }
  pthread_mutex_unlock(&places_lock);
  return status;
}
FREE(free_between_stays) {
  pthread_mutex_lock(&places_lock);
  int at = place_count;
  while (at-- > 0)
    if (places[at].self == self && places[at].device == device && places[at].memory == memory)
      break;
  if (at >= 0) places[at].is_free = true;
  for (int i = place_count; at >= 0 && i-- > 0;) {
    if (!places[i].is_free || places[i].self != self || place_is_between(i)) continue;
    ignore(INNER(self, core)->memory_free(self, places[i].device, places[i].memory, NULL));
    place_remove(i);
  }
  pthread_mutex_unlock(&places_lock);
  return at >= 0 ? TBK_OK : FREE_INNER;
}
OPEN(open_has_no_places) {
  const tbk_status_t status = OPEN_INNER;
  pthread_mutex_lock(&places_lock);
  for (int i = place_count; status == TBK_OK && i-- > 0;)
    if (places[i].self == self && places[i].device == device) place_remove(i);
  pthread_mutex_unlock(&places_lock);
  return status;
}

extern const mutant_t mutants_account[];
const mutant_t mutants_account[] = {
    ROW_OF(free_after_refusal_leaks, "MEM-012", STATE, "40 times, once memory was exhausted",
           PATCH(core.memory_alloc, alloc_notes_refusal),
           PATCH(core.memory_free, free_after_refusal_leaks)),
    ROW_OF(pinned_free_after_refusal_leaks, "PIN-009", STATE, "once device memory was exhausted",
           PATCH(core.memory_alloc, alloc_notes_refusal),
           PATCH(pinned.pinned_free, pinned_free_after_refusal_leaks)),
    ROW_OF(free_every_150th_gives_nothing, "MEM-012", COUNT, "it is kept for ever",
           PATCH(core.memory_free, free_every_150th_gives_nothing)),
    ROW_OF(alloc_refused_in_pieces_leaks, "MEM-009", STATE,
           "half of what no piece was large enough for",
           PATCH(core.memory_alloc, alloc_refused_in_pieces_leaks)),
    ROW_OF(alloc_too_much_keeps_a_page, "ERR-001", COUNT, "at each refusal, of a TiB at most",
           PATCH(core.memory_alloc, alloc_too_much_keeps_a_page)),
    ROW_OF(alloc_of_odd_sizes_keeps_a_page, "MEM-012", COUNT, "above a MiB, beside the memory",
           PATCH(core.memory_alloc, alloc_of_odd_sizes_keeps_a_page)),
    ROW_OF(pinned_ends_with_100_refusals, "ERR-001", COUNT, "then there is none",
           PATCH(pinned.pinned_alloc, pinned_ends_with_100_refusals)),
    ROW_OF(create_of_100_streams_is_the_last, "STR-006", COUNT, "those that are gone count, too",
           PATCH(stream.stream_create, create_of_100_streams_is_the_last)),
    ROW_OF(create_of_1000_events_is_the_last, "EVT-003", COUNT, "those that are gone count, too",
           PATCH(event.event_create, create_of_1000_events_is_the_last)),
    ROW_OF(prepare_of_1000_plans_is_the_last, "KRN-009", COUNT, "those that are gone count, too",
           PATCH(launching.prepare, prepare_of_1000_plans_is_the_last)),
    ROW_OF(close_keeps_count_of_events, "DEV-022", STATE, "those that live then count for ever",
           PATCH(event.event_create, create_counts_events),
           PATCH(event.event_destroy, destroy_uncounts_event),
           PATCH(core.device_close, close_keeps_count_of_events)),
    ROW_OF(alloc_leaves_pieces_apart, "MEM-012", STATE, "free ones are not joined",
           PATCH(core.memory_alloc, alloc_leaves_pieces_apart),
           PATCH(core.memory_free, free_counts_pieces)),
    ROW_OF(refused_launch_leaves_1000_bytes, "ERR-001", LIFETIME, "on the heap",
           PATCH(launching.launch, refused_launch_leaves_1000_bytes)),
    ROW_INSTALLED(async_free_after_fork_leaks, "FRK-004", STATE, "40 times, in the parent",
                  watch_forks, PATCH(async_memory.async_free, async_free_after_fork_leaks)),
    ROW_INSTALLED(destroy_frees_at_once, "SOM-005", LIFETIME,
                  "the latest free of a stream that is destroyed with work pending", notes_install,
                  PATCH(async_memory.async_free, async_free_is_held_back),
                  PATCH(stream.stream_destroy, destroy_frees_at_once),
                  PATCH(stream.stream_synchronize, synchronize_lets_go),
                  PATCH(stream.device_synchronize, device_synchronize_lets_go)),
    ROW_INSTALLED(copy_beside_instances_drops_last, "LIB-006", STATE,
                  "64 bytes too few while there are three instances", count_instance,
                  PATCH(core.destroy, destroy_uncounts),
                  PATCH(core.copy, copy_beside_instances_drops_last)),
    ROW_INSTALLED(properties_know_other_instances, "LIB-006", STATE,
                  "another priority while there are two instances", count_instance,
                  PATCH(core.destroy, destroy_uncounts),
                  PATCH(core.device_properties, properties_know_other_instances)),
    ROW_OF(free_between_two_stays, "MEM-012", STATE, "until one of its neighbours is given back",
           PATCH(core.memory_alloc, alloc_has_place), PATCH(core.memory_free, free_between_stays),
           PATCH(core.device_open, open_has_no_places)),
    {"long_option_is_dropped",
     "LIB-004",
     MUTANT,
     ABI,
     NARROW,
     "from 256 bytes on",
     {{0}},
     0,
     0,
     0,
     long_option_is_dropped},
    {0}};
