/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_thread.c: threads.
 */
#include <stdlib.h>

#include "narrow.h"

/* ----------------------------------------------------------------------------- at the same time -- */

static bool come_in(wrap_t* wrap) {
  const bool alone = atomic_exchange(&wrap->flag, 1) == 0;
  if (alone) wrap_sleep_ms(1);
  return alone;
}
STREAM_CREATE(streams_one_at_a_time) {
  wrap_t* wrap = wrap_of(self);
  if (!come_in(wrap)) return wrap_fail(error, TBK_FAILED, "somebody else makes a stream");
  tbk_status_t status = STREAM_CREATE_INNER;
  atomic_store(&wrap->flag, 0);
  return status;
}
EVENT_RECORD(records_one_at_a_time) {
  wrap_t* wrap = wrap_of(self);
  if (event == NULL || stream == NULL) return EVENT_RECORD_INNER;
  if (!come_in(wrap)) return TBK_OK;
  tbk_status_t status = EVENT_RECORD_INNER;
  atomic_store(&wrap->flag, 0);
  return status;
}
PINNED_ALLOC(pinned_one_at_a_time) {
  wrap_t* wrap = wrap_of(self);
  if (!come_in(wrap)) return wrap_fail(error, TBK_OUT_OF_MEMORY, "somebody else pins memory");
  tbk_status_t status = PINNED_ALLOC_INNER;
  atomic_store(&wrap->flag, 0);
  return status;
}
KERNEL_FIND(finds_one_at_a_time) {
  wrap_t* wrap = wrap_of(self);
  if (!come_in(wrap)) return NULL;
  const tbk_kernel_t* kernel = KERNEL_FIND_INNER;
  atomic_store(&wrap->flag, 0);
  return kernel;
}

/* A cache of one small block without a lock. */
ALLOC(cached_block_without_lock) {
  wrap_t* wrap = wrap_of(self);
  const uintptr_t kept = atomic_load(&wrap->kept);
  if (kept == 0 || size_bytes != 256 || device != 0 || out_memory == NULL) return ALLOC_INNER;
  wrap_sleep_ms(1);
  atomic_store(&wrap->kept, 0);
  *out_memory = kept;
  return TBK_OK;
}
FREE(small_block_is_cached) {
  wrap_t* wrap = wrap_of(self);
  uintptr_t expected = 0;
  uint64_t free_before = 0, free_after = 0, total;
  if (device != 0 || memory == 0 || atomic_load(&wrap->kept) != 0) return FREE_INNER;
  ignore(INNER(self, core)->memory_info(self, device, &free_before, &total, NULL));
  tbk_status_t status = FREE_INNER;
  ignore(INNER(self, core)->memory_info(self, device, &free_after, &total, NULL));
  if (status != TBK_OK || free_after - free_before != 256) return status;
  tbk_memory_t again = 0;
  if (INNER(self, core)->memory_alloc(self, device, 256, &again, NULL) == TBK_OK &&
      !atomic_compare_exchange_strong(&wrap->kept, &expected, again))
    ignore(INNER(self, core)->memory_free(self, device, again, NULL));
  return status;
}
CLOSE(close_forgets_cached) {
  atomic_store(&wrap_of(self)->kept, 0);
  return CLOSE_INNER;
}

/* ------------------------------------------------------------------------------- not in one piece -- */

COPY(large_copy_in_two_halves) {
  if (size_bytes < KIB(64)) return COPY_INNER;
  const uint64_t whole = size_bytes;
  size_bytes /= 2;
  tbk_status_t status = COPY_INNER;
  if (status != TBK_OK) return status;
  wrap_sleep_ms(1);
  destination_offset += size_bytes;
  source_offset += size_bytes;
  size_bytes = whole - size_bytes;
  return COPY_INNER;
}
RANDOM_BITS(many_random_in_two_halves) {
  if (count < 8192 || generator == NULL) return RANDOM_BITS_INNER;
  const uint64_t whole = count;
  count = count / 8 * 4;
  tbk_status_t status = RANDOM_BITS_INNER;
  if (status != TBK_OK) return status;
  wrap_sleep_ms(1);
  const tbk_generator_t later = {generator->seed, generator->offset + count};
  generator = &later;
  offset += 4 * count;
  count = whole - count;
  return RANDOM_BITS_INNER;
}

/* --------------------------------------------------------------------------------- of one thread -- */

PREPARE(plan_remembers_thread) {
  tbk_status_t status = PREPARE_INNER;
  if (status == TBK_OK) atomic_store(&wrap_of(self)->kept, (uintptr_t)*out_plan);
  if (status == TBK_OK) atomic_store(&wrap_of(self)->value, (uintptr_t)pthread_self());
  return status;
}
LAUNCH_PLAN(plan_of_other_thread_is_refused) {
  if (atomic_load(&wrap_of(self)->kept) == (uintptr_t)plan &&
      atomic_load(&wrap_of(self)->value) != (uintptr_t)pthread_self())
    return wrap_fail(error, TBK_INVALID, "a plan of another thread");
  return LAUNCH_PLAN_INNER;
}

typedef struct owner {
  atomic_int users;
  atomic_bool ended;
} owner_t;
typedef struct owned_call {
  owner_t* owner;
  tbk_callback_fn function;
  void* argument;
} owned_call_t;

static pthread_key_t owner_key;
static pthread_once_t owner_once = PTHREAD_ONCE_INIT;

static void owner_leave(owner_t* owner) {
  if (atomic_fetch_sub(&owner->users, 1) == 1) free(owner);
}
static void owner_end(void* argument) {
  owner_t* owner = argument;
  atomic_store(&owner->ended, true);
  owner_leave(owner);
}
static void owner_start(void) {
  if (pthread_key_create(&owner_key, owner_end) != 0) abort();
}
static void run_owned(void* argument) {
  owned_call_t* call = argument;
  if (!atomic_load(&call->owner->ended)) call->function(call->argument);
  owner_leave(call->owner);
  free(call);
}
CALLBACK(callbacks_end_with_thread) {
  if (stream == NULL || function == NULL) return CALLBACK_INNER;
  pthread_once(&owner_once, owner_start);
  owner_t* owner = pthread_getspecific(owner_key);
  if (owner == NULL) {
    owner = calloc(1, sizeof *owner);
    if (owner == NULL || pthread_setspecific(owner_key, owner) != 0) abort();
    atomic_store(&owner->users, 1);
  }
  owned_call_t* call = malloc(sizeof *call);
  if (call == NULL) return CALLBACK_INNER;
  *call = (owned_call_t){owner, function, argument};
  atomic_fetch_add(&owner->users, 1);
  tbk_status_t status =
      INNER(self, callback)->callback_enqueue(self, stream, run_owned, call, error);
  if (status == TBK_OK) return status;
  owner_leave(owner);
  free(call);
  return status;
}

/* --------------------------------------------------------------------------------- current device -- */

static _Thread_local int32_t current_device;

ALLOC(alloc_sets_current) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK) current_device = device;
  return status;
}
MEMORY_INFO(info_of_current_device) {
  uint64_t free_bytes = 0, total_bytes = 0;
  tbk_status_t status = MEMORY_INFO_INNER;
  if (status == TBK_OK &&
      INNER(self, core)->memory_info(self, current_device, &free_bytes, &total_bytes, NULL) ==
          TBK_OK)
    *out_free_bytes = free_bytes;
  return status;
}
STREAM_CREATE(stream_sets_current) {
  tbk_status_t status = STREAM_CREATE_INNER;
  if (status == TBK_OK) current_device = device;
  return status;
}
EVENT_CREATE(event_of_current_device) {
  tbk_status_t status = EVENT_CREATE_INNER;
  if (status != TBK_OK || device == current_device) return status;
  tbk_event_t* event = NULL;
  if (INNER(self, event)->event_create(self, current_device, flags, &event, NULL) != TBK_OK)
    return status;
  INNER(self, event)->event_destroy(self, *out_event);
  *out_event = event;
  return status;
}

#define TOGETHER(function, member, note) ONE(function, "THR-001", THREAD, member, note)

extern const mutant_t mutants_narrow_thread[];
const mutant_t mutants_narrow_thread[] = {
    TOGETHER(streams_one_at_a_time, stream.stream_create, "FAILED while another thread makes one"),
    TOGETHER(records_one_at_a_time, event.event_record, "no effect while another thread records"),
    TOGETHER(pinned_one_at_a_time, pinned.pinned_alloc, "refused while another thread pins"),
    TOGETHER(finds_one_at_a_time, kernel.kernel_find, "NULL while another thread asks"),
    SEVERAL("cached_block_without_lock", "THR-002", THREAD,
            "two threads get one block of 256 bytes that was freed before",
            PATCH(core.memory_alloc, cached_block_without_lock),
            PATCH(core.memory_free, small_block_is_cached),
            PATCH(core.device_close, close_forgets_cached)),
    ONE(large_copy_in_two_halves, "THR-003", THREAD, core.copy,
        "from 64 KiB on, other threads' work comes between"),
    ONE(many_random_in_two_halves, "THR-003", THREAD, random.random_bits,
        "from 8192 words on, other threads' work comes between"),
    SEVERAL("plan_of_other_thread_is_refused", "THR-004", THREAD, "the latest plan",
            PATCH(launching.prepare, plan_remembers_thread),
            PATCH(launching.launch_plan, plan_of_other_thread_is_refused)),
    ONE(callbacks_end_with_thread, "THR-005", THREAD, callback.callback_enqueue,
        "those that have not run when their thread ends"),
    SEVERAL("info_of_current_device", "THR-006", STATE,
            "the memory of the device of this thread's latest allocation",
            PATCH(core.memory_alloc, alloc_sets_current),
            PATCH(core.memory_info, info_of_current_device)),
    SEVERAL("event_of_current_device", "THR-006", STATE,
            "an event of the device of this thread's latest stream",
            PATCH(stream.stream_create, stream_sets_current),
            PATCH(event.event_create, event_of_current_device)),
    {0}};
