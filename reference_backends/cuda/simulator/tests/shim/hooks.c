/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hooks.c: faults of a backend, written by hand, as its driver sees them. Each stands for a line of
 * the backend that is wrong, so it is wrong at each call and not at one.
 */
#include <string.h>

#include "acts.h"

extern const shim_hook_t shim_hooks[], shim_kernel_hooks[];
const shim_hook_t* const shim_hook_tables[] = {shim_hooks, shim_kernel_hooks, NULL};

enum { SMALL = 4096 };

static shim_result_t not_ready(shim_call_t* call) {
  (void)call;
  shim_hit();
  return CU_NOT_READY;
}

static shim_result_t other_error(shim_call_t* call) {
  shim_result_t result = shim_real(call->index, call->words);
  if (result == CU_OK) return result;
  shim_hit();
  return 999;
}

SETS(first_is_null, 0, 0)
SETS(second_is_null, 1, 0)
SETS(second_is_zero, 1, 0)
SETS(second_is_two, 1, 2)
SETS(second_is_four, 1, 4)
SETS(third_is_wrong, 2, 7)
SETS(fourth_is_null, 3, 0)
SETS(sixth_is_null, 5, 0)
SETS(size_is_one, 1, 1)
ADDS(first_is_one_further, 0, 1)
ADDS(second_is_one_further, 1, 1)
ADDS(value_is_one_more, 1, 1)
EXCHANGES(first_and_second, 0, 1)
EXCHANGES(second_and_third, 1, 2)
EXCHANGES(contexts, 1, 3)
SWAPS(another_first, 0)
SWAPS(another_second, 1)
SWAPS(another_fourth, 3)
BEFORE(third_of_the_call_before, 2)

static shim_result_t one_byte_less(shim_call_t* call) {
  if (call->words[2] > 0) call->words[2]--;
  return go_on(call);
}

static shim_result_t half_the_memory(shim_call_t* call) {
  if (call->words[1] > SMALL) call->words[1] /= 2;
  return go_on(call);
}

/* Each allocation is given back at once: whoever uses it comes too late. */
static shim_result_t freed_at_once(shim_call_t* call) {
  shim_result_t result = go_on(call);
  if (result != CU_OK) return result;
  uintptr_t words[SHIM_WORDS] = {0};
  memcpy(words, (const void*)call->words[0], sizeof *words);
  bool pinned = call->index == SHIM_mem_host_alloc;
  return shim_real(pinned ? SHIM_mem_free_host : SHIM_mem_free, words);
}

static shim_result_t destroyed_at_once(shim_call_t* call) {
  shim_result_t result = go_on(call);
  if (result != CU_OK) return result;
  uintptr_t words[SHIM_WORDS] = {0};
  memcpy(words, (const void*)call->words[0], sizeof *words);
  bool stream = call->index == SHIM_stream_create;
  return shim_real(stream ? SHIM_stream_destroy : SHIM_event_destroy, words);
}

static shim_result_t always_device_0(shim_call_t* call) {
  shim_result_t result = go_on(call);
  if (result == CU_OK) *(cu_device*)call->words[0] = 0;
  return result;
}

static shim_result_t one_device_more(shim_call_t* call) {
  shim_result_t result = go_on(call);
  if (result == CU_OK) ++*(int*)call->words[0];
  return result;
}

static shim_result_t negated(shim_call_t* call) {
  shim_result_t result = go_on(call);
  if (result == CU_OK) *(float*)call->words[0] = -1 - *(float*)call->words[0];
  return result;
}

static shim_result_t in_microseconds(shim_call_t* call) {
  shim_result_t result = go_on(call);
  if (result == CU_OK) *(float*)call->words[0] *= 1000;
  return result;
}

static shim_result_t called_at_once(shim_call_t* call) {
  shim_hit();
  ((void (*)(void*))call->words[1])((void*)call->words[2]);
  return CU_OK;
}

/* Calls the driver from the host function, before what the user gave. */
static struct {
  void (*function)(void*);
  void* argument;
} given;

static void ask_and_call(void* argument) {
  size_t bytes[2];
  uintptr_t words[SHIM_WORDS] = {(uintptr_t)&bytes[0], (uintptr_t)&bytes[1]};
  (void)shim_real(SHIM_mem_get_info, words);
  given.function(argument);
}

static shim_result_t with_a_call(shim_call_t* call) {
  given.function = (void (*)(void*))call->words[1];
  call->words[1] = (uintptr_t)ask_and_call;
  return go_on(call);
}

/* Pushes and pops: the thread is where it was, and the caller thinks that it is inside. */
static shim_result_t popped_at_once(shim_call_t* call) {
  uintptr_t words[SHIM_WORDS] = {(uintptr_t) & (cu_context){0}};
  shim_result_t result = go_on(call);
  return result == CU_OK ? shim_real(SHIM_context_pop, words) : result;
}

/* Waits after each piece of work: nothing runs beside the host any more. */
static shim_result_t waits_after(shim_call_t* call, size_t stream) {
  shim_result_t result = go_on(call);
  uintptr_t words[SHIM_WORDS] = {call->words[stream]};
  return result == CU_OK ? shim_real(SHIM_stream_synchronize, words) : result;
}

static shim_result_t fill_waits(shim_call_t* call) {
  return waits_after(call, 3);
}

static shim_result_t record_waits(shim_call_t* call) {
  return waits_after(call, 1);
}

static shim_result_t wait_waits(shim_call_t* call) {
  uintptr_t words[SHIM_WORDS] = {call->words[1]};
  shim_hit();
  return shim_real(SHIM_event_synchronize, words);
}

const shim_hook_t shim_hooks[] = {
    /* a wait left out, or one too many */
    {"wait-for-stream-left-out", SHIM_stream_synchronize, nothing},
    {"wait-for-device-left-out", SHIM_context_synchronize, nothing},
    {"wait-for-event-left-out", SHIM_event_synchronize, nothing},
    {"order-left-out", SHIM_stream_wait_event, nothing},
    {"record-left-out", SHIM_event_record, nothing},
    {"fill-waits", SHIM_fill, fill_waits},
    {"record-waits", SHIM_event_record, record_waits},
    {"host-waits-for-the-event", SHIM_stream_wait_event, wait_waits},
    {"stream-is-always-done", SHIM_stream_query, nothing},
    {"stream-is-never-done", SHIM_stream_query, not_ready},
    {"event-is-always-done", SHIM_event_query, nothing},
    {"event-is-never-done", SHIM_event_query, not_ready},
    /* the wrong one */
    {"wait-for-another-stream", SHIM_stream_synchronize, another_first},
    {"query-of-another-stream", SHIM_stream_query, another_first},
    {"wait-for-another-event", SHIM_event_synchronize, another_first},
    {"query-of-another-event", SHIM_event_query, another_first},
    {"order-on-another-stream", SHIM_stream_wait_event, another_first},
    {"order-after-another-event", SHIM_stream_wait_event, another_second},
    {"record-of-another-event", SHIM_event_record, another_first},
    {"record-on-another-stream", SHIM_event_record, another_second},
    {"fill-on-another-stream", SHIM_fill, another_fourth},
    {"upload-on-another-stream", SHIM_copy_h2d, another_fourth},
    {"download-on-another-stream", SHIM_copy_d2h, another_fourth},
    {"copy-on-another-stream", SHIM_copy_d2d, another_fourth},
    {"callback-on-another-stream", SHIM_launch_host_func, another_first},
    {"all-streams-are-one", SHIM_stream_create, the_first_again},
    {"all-events-are-one", SHIM_event_create, the_first_again},
    {"another-context", SHIM_context_push, another_first},
    {"fill-on-the-default-stream", SHIM_fill, fourth_is_null},
    {"upload-on-the-default-stream", SHIM_copy_h2d, fourth_is_null},
    {"peer-copy-on-the-default-stream", SHIM_copy_peer, sixth_is_null},
    {"callback-on-the-default-stream", SHIM_launch_host_func, first_is_null},
    {"record-on-the-default-stream", SHIM_event_record, second_is_null},
    {"always-device-0", SHIM_device_get, always_device_0},
    {"one-device-more", SHIM_device_get_count, one_device_more},
    {"peer-contexts-exchanged", SHIM_copy_peer, contexts},
    /* contexts */
    {"no-push", SHIM_context_push, nothing},
    {"no-pop", SHIM_context_pop, nothing},
    {"pop-twice", SHIM_context_pop, twice},
    {"popped-at-once", SHIM_context_push, popped_at_once},
    {"push-twice", SHIM_context_push, twice},
    {"never-released", SHIM_primary_release, nothing},
    {"released-twice", SHIM_primary_release, twice},
    {"retained-twice", SHIM_primary_retain, twice},
    /* lifetime */
    {"memory-leaks", SHIM_mem_free, nothing},
    {"memory-freed-twice", SHIM_mem_free, twice},
    {"memory-freed-at-once", SHIM_mem_alloc, freed_at_once},
    {"memory-freed-beside-its-start", SHIM_mem_free, first_is_one_further},
    {"pinned-leaks", SHIM_mem_free_host, nothing},
    {"pinned-freed-twice", SHIM_mem_free_host, twice},
    {"pinned-freed-at-once", SHIM_mem_host_alloc, freed_at_once},
    {"stream-leaks", SHIM_stream_destroy, nothing},
    {"stream-destroyed-twice", SHIM_stream_destroy, twice},
    {"stream-destroyed-at-once", SHIM_stream_create, destroyed_at_once},
    {"event-leaks", SHIM_event_destroy, nothing},
    {"event-destroyed-twice", SHIM_event_destroy, twice},
    {"event-destroyed-at-once", SHIM_event_create, destroyed_at_once},
    /* errors */
    {"no-memory-is-success", SHIM_mem_alloc, say_success},
    {"no-pinned-memory-is-success", SHIM_mem_host_alloc, say_success},
    {"no-memory-is-another-error", SHIM_mem_alloc, other_error},
    {"not-ready-is-another-error", SHIM_stream_query, other_error},
    {"event-not-ready-is-another-error", SHIM_event_query, other_error},
    /* arguments */
    {"half-the-memory", SHIM_mem_alloc, half_the_memory},
    {"half-the-pinned-memory", SHIM_mem_host_alloc, half_the_memory},
    {"upload-a-byte-short", SHIM_copy_h2d, one_byte_less},
    {"download-a-byte-short", SHIM_copy_d2h, one_byte_less},
    {"copy-a-byte-short", SHIM_copy_d2d, one_byte_less},
    {"fill-a-byte-short", SHIM_fill, one_byte_less},
    {"fill-with-another-value", SHIM_fill, value_is_one_more},
    {"upload-from-a-byte-further", SHIM_copy_h2d, second_is_one_further},
    {"download-from-a-byte-further", SHIM_copy_d2h, second_is_one_further},
    {"fill-a-byte-further", SHIM_fill, first_is_one_further},
    {"copy-backwards", SHIM_copy_d2d, first_and_second},
    {"free-and-total-exchanged", SHIM_mem_get_info, first_and_second},
    {"times-exchanged", SHIM_event_elapsed, second_and_third},
    {"time-is-negative", SHIM_event_elapsed, negated},
    {"time-in-microseconds", SHIM_event_elapsed, in_microseconds},
    {"event-flags-unknown", SHIM_event_create, second_is_four},
    {"event-never-timed", SHIM_event_create, second_is_two},
    {"stream-flags-unknown", SHIM_stream_create, second_is_two},
    {"blocking-streams", SHIM_stream_create, second_is_zero},
    {"wait-flags-unknown", SHIM_stream_wait_event, third_is_wrong},
    {"allocates-one-byte", SHIM_mem_alloc, size_is_one},
    /* callbacks */
    {"callback-called-at-once", SHIM_launch_host_func, called_at_once},
    {"callback-dropped", SHIM_launch_host_func, nothing},
    {"callback-called-twice", SHIM_launch_host_func, twice},
    {"callback-calls-the-driver", SHIM_launch_host_func, with_a_call},
    {"callback-with-the-argument-before", SHIM_launch_host_func, third_of_the_call_before},
    {NULL, 0, NULL}};
