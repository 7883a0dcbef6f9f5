/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_owner.c: faults that show where another thread gives back, opens or runs the same plan; where one
 * thing is two, by its size, its memory or its queue; and in what a device tells of it.
 */
#include <string.h>

#include "arguments.h"
#include "calls.h"

enum { KNOWN = 4096, PIECE = 48 << 20 };

/* What each thread was given lately, by handle. */
static struct {
  uintptr_t handle;
  pthread_t owner;
} known[KNOWN];
static atomic_uint next;

static void know(uintptr_t handle) {
  const unsigned place = atomic_fetch_add(&next, 1) % KNOWN;
  known[place].owner = pthread_self();
  known[place].handle = handle;
}

/* Whether another thread was given it. It is known no more. */
static bool is_foreign(uintptr_t handle) {
  bool foreign = false;
  for (int i = 0; i < KNOWN && handle != 0; ++i) {
    if (known[i].handle != handle) continue;
    known[i].handle = 0;
    foreign = !pthread_equal(known[i].owner, pthread_self());
  }
  return foreign;
}

PINNED_ALLOC(pinned_is_known) {
  const tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OK) know((uintptr_t)*out_pointer);
  return status;
}
PINNED_FREE(foreign_pinned_free_does_nothing) {
  if (!is_foreign((uintptr_t)pointer)) PINNED_FREE_INNER;
}

ASYNC_ALLOC(stream_memory_is_known) {
  const tbk_status_t status = ASYNC_ALLOC_INNER;
  if (status == TBK_OK) know((uintptr_t)*out_memory);
  return status;
}
ASYNC_FREE(foreign_async_free_does_nothing) {
  return is_foreign((uintptr_t)memory) ? TBK_OK : ASYNC_FREE_INNER;
}

/* Who opens waits for who opens, and takes its success for its own. */
OPEN(open_joins_another_thread) {
  static atomic_int opening;
  atomic_fetch_add(&opening, 1);
  const tbk_status_t status = OPEN_INNER;
  wrap_sleep_ms(1);
  const bool beside = atomic_fetch_sub(&opening, 1) > 1;
  return status == TBK_INVALID_STATE && beside ? TBK_OK : status;
}

LAUNCH_PLAN(plan_refuses_a_second_thread) {
  static _Atomic(const tbk_plan_t*) running;
  const tbk_plan_t* none = NULL;
  if (!atomic_compare_exchange_strong(&running, &none, plan) && none == plan)
    return wrap_fail(error, TBK_FAILED, "the plan is running");
  wrap_sleep_ms(1);
  const tbk_status_t status = LAUNCH_PLAN_INNER;
  const tbk_plan_t* mine = plan;
  (void)atomic_compare_exchange_strong(&running, &mine, NULL);
  return status;
}

/* The sum is taken twice of what was loaded once. */
LAUNCH(add_loads_one_memory_once) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  const tbk_tensor_t *self_ = &copy.tensors[0], *other = &copy.tensors[1];
  if (self_->memory == other->memory && self_->offset == other->offset)
    memcpy(copy.strides[1], copy.strides[0], sizeof copy.strides[0]);
  arguments = &copy.as;
  return LAUNCH_INNER;
}

/* By size, so that the latest of each kilobyte is had again, in use or not. */
static struct {
  tbk_instance_t* self;
  tbk_memory_t memory;
  uint64_t size_bytes;
  int32_t device;
} latest;
ALLOC(equal_sizes_share_their_end) {
  const tbk_status_t status = ALLOC_INNER;
  if (status != TBK_OK || size_bytes < 1024 || size_bytes > 8192) return status;
  const bool again =
      latest.self == self && latest.device == device && latest.size_bytes == size_bytes;
  if (again) {
    ignore(INNER(self, core)->memory_free(self, device, *out_memory, NULL));
    *out_memory = latest.memory;
  }
  latest.self = self;
  latest.device = device;
  latest.size_bytes = size_bytes;
  latest.memory = *out_memory;
  return status;
}
/* Given back twice by who has it twice. */
FREE(shared_end_is_freed_once) {
  if (memory != 0 && memory == latest.memory) latest.self = NULL;
  const tbk_status_t status = FREE_INNER;
  return status == TBK_INVALID ? TBK_OK : status;
}

/* Native streams, of which 200 can ever be. */
FROM_NATIVE(native_streams_are_counted_once) {
  if (atomic_fetch_add(&wrap_of(self)->calls, 1) >= 200)
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "no more queues of the driver");
  return FROM_NATIVE_INNER;
}

FREE(freed_pieces_are_counted) {
  if (memory != 0) atomic_fetch_add(&wrap_of(self)->value, 1);
  return FREE_INNER;
}
MEMORY_INFO(info_forgets_what_was_freed) {
  const tbk_status_t status = MEMORY_INFO_INNER;
  if (status != TBK_OK) return status;
  const uint64_t gone = atomic_load(&wrap_of(self)->value) / 4 * PIECE;
  *out_free_bytes -= gone < *out_free_bytes ? gone : *out_free_bytes;
  return status;
}

LAUNCH(fill_counts_true_twice) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  if (copy.as.fill.value.kind == TBK_SCALAR_BOOL) copy.as.fill.value.integer *= 2;
  arguments = &copy.as;
  return LAUNCH_INNER;
}

#define TWO(name, clause, operation, note, ...) \
  { name, clause, MUTANT, operation, NARROW, note, {__VA_ARGS__}, 0, 0, 0, 0 }

extern const mutant_t mutants_owner[];
const mutant_t mutants_owner[] = {
    TWO("pinned_free_of_another_thread_leaks", "PIN-009", THREAD,
        "what another thread was given is kept", PATCH(pinned.pinned_alloc, pinned_is_known),
        PATCH(pinned.pinned_free, foreign_pinned_free_does_nothing)),
    TWO("async_free_of_another_thread_leaks", "SOM-009", THREAD,
        "what another thread was given is kept",
        PATCH(async_memory.async_alloc, stream_memory_is_known),
        PATCH(async_memory.async_free, foreign_async_free_does_nothing)),
    ROW(open_joins_another_thread, "DEV-017", THREAD, NARROW, core.device_open,
        "all that open a device at a time succeed"),
    ROW(plan_refuses_a_second_thread, "THR-001", THREAD, NARROW, launching.launch_plan,
        "while another one runs the same plan"),
    KERNEL_ROW(add_loads_one_memory_once, "KRN-112", STATE, NARROW, "add.Tensor", launch,
               "both inputs are one memory, in two layouts"),
    TWO("equal_sizes_share_their_end", "MEM-005", VALUE,
        "of 1 to 8 KiB, where the latest allocation had the same size",
        PATCH(core.memory_alloc, equal_sizes_share_their_end),
        PATCH(core.memory_free, shared_end_is_freed_once)),
    ROW(native_streams_are_counted_once, "STR-030", COUNT, NARROW, stream.stream_from_native,
        "the 201st is refused, though the others are gone"),
    TWO("info_forgets_what_was_freed", "MEM-019", STATE, "48 MiB for each four that were freed",
        PATCH(core.memory_free, freed_pieces_are_counted),
        PATCH(core.memory_info, info_forgets_what_was_freed)),
    KERNEL_ROW(fill_counts_true_twice, "KRN-101", VALUE, NARROW, "fill_.Scalar", launch,
               "the value is a BOOL"),
    {0}};
