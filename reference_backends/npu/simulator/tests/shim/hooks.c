/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hooks.c: faults of a backend, written by hand, as its driver sees them. Each stands for a line of
 * the backend that is wrong, so it is wrong at each call and not at one.
 */
#include <string.h>

#include "acts.h"

extern const shim_hook_t shim_hooks[], shim_operator_hooks[];
const shim_hook_t* const shim_hook_tables[] = {shim_hooks, shim_operator_hooks, NULL};

enum { SMALL = 4096 };

static shim_result_t other_error(shim_call_t* call) {
  shim_result_t result = shim_real(call->index, call->words);
  if (result == ACL_OK) return result;
  shim_hit();
  return ACL_INTERNAL;
}

SETS(first_is_null, 0, 0)
SETS(second_is_zero, 1, 0)
SETS(second_is_time_line, 1, ACL_EVENT_TIME_LINE)
SETS(second_is_sync, 1, ACL_EVENT_SYNC)
SETS(second_is_unknown, 1, 0x80)
SETS(third_is_unknown, 2, 0x80)
SETS(fourth_is_null, 3, 0)
SETS(fifth_is_zero, 4, 0)
SETS(fifth_is_to_host, 4, ACL_DEVICE_TO_HOST)
SETS(sixth_is_null, 5, 0)
SETS(size_is_one, 1, 1)
ADDS(first_is_one_further, 0, 1)
ADDS(third_is_one_further, 2, 1)
ADDS(third_is_one_more, 2, 1)
EXCHANGES(second_and_third, 1, 2)
EXCHANGES(first_and_third, 0, 2)
SETS(fifth_is_on_device, 4, ACL_DEVICE_TO_DEVICE)
BEFORE(third_of_the_call_before, 2)
SWAPS(another_first, 0)
SWAPS(another_second, 1)
SWAPS(another_fourth, 3)
SWAPS(another_fifth, 4)
SWAPS(another_sixth, 5)

static shim_result_t one_byte_less(shim_call_t* call) {
  if (call->words[3] > 0) call->words[3]--;
  return go_on(call);
}

static shim_result_t more_than_there_is(shim_call_t* call) {
  call->words[3] = call->words[1] + 1;
  return go_on(call);
}

static shim_result_t half_the_memory(shim_call_t* call) {
  if (call->words[1] > SMALL) call->words[1] /= 2;
  return go_on(call);
}

/* What is given out, as a word that the function of this index takes. */
static shim_result_t ended_by(shim_call_t* call, shim_index_t index) {
  shim_result_t result = go_on(call);
  if (result != ACL_OK) return result;
  uintptr_t words[SHIM_WORDS] = {0};
  memcpy(words, (const void*)call->words[0], sizeof *words);
  return shim_real(index, words);
}

static shim_result_t freed_at_once(shim_call_t* call) {
  return ended_by(call, call->index == SHIM_malloc_host ? SHIM_free_host : SHIM_free);
}

static shim_result_t destroyed_at_once(shim_call_t* call) {
  bool event = call->index == SHIM_event_create;
  return ended_by(call, event ? SHIM_event_destroy : SHIM_stream_destroy);
}

static shim_result_t one_device_more(shim_call_t* call) {
  shim_result_t result = go_on(call);
  if (result == ACL_OK) ++*(uint32_t*)call->words[0];
  return result;
}

static shim_result_t always_device_0(shim_call_t* call) {
  call->words[0] = 0;
  return go_on(call);
}

static shim_result_t negated(shim_call_t* call) {
  shim_result_t result = go_on(call);
  if (result == ACL_OK) *(float*)call->words[0] = -1 - *(float*)call->words[0];
  return result;
}

static shim_result_t in_microseconds(shim_call_t* call) {
  shim_result_t result = go_on(call);
  if (result == ACL_OK) *(float*)call->words[0] *= 1000;
  return result;
}

/* The status is written, and is always the same; or the other one. */
static shim_result_t status_0(shim_call_t* call) {
  shim_hit();
  *(int*)call->words[1] = 0;
  return ACL_OK;
}

static shim_result_t status_1(shim_call_t* call) {
  shim_hit();
  *(int*)call->words[1] = 1;
  return ACL_OK;
}

static shim_result_t other_status(shim_call_t* call) {
  shim_result_t result = go_on(call);
  if (result == ACL_OK) *(int*)call->words[1] = !*(int*)call->words[1];
  return result;
}

static shim_result_t called_at_once(shim_call_t* call) {
  shim_hit();
  ((void (*)(void*))call->words[1])((void*)call->words[2]);
  return ACL_OK;
}

/* Calls the driver from the host function, before what the user gave. */
static struct {
  void (*function)(void*);
  void* argument;
} given;

static void ask_and_call(void* argument) {
  size_t bytes[2];
  uintptr_t words[SHIM_WORDS] = {ACL_HBM_MEM, (uintptr_t)&bytes[0], (uintptr_t)&bytes[1]};
  (void)shim_real(SHIM_memory_info, words);
  given.function(argument);
}

static shim_result_t with_a_call(shim_call_t* call) {
  given.function = (void (*)(void*))call->words[1];
  call->words[1] = (uintptr_t)ask_and_call;
  return go_on(call);
}

/* Of two calls of a thread, the second is left out: nobody puts back what was current. */
static shim_result_t every_other(shim_call_t* call) {
  static _Thread_local bool second;
  shim_result_t result = second ? nothing(call) : shim_real(call->index, call->words);
  second = !second;
  return result;
}

/* Waits after each piece of work: nothing runs beside the host any more. */
static shim_result_t waits_after(shim_call_t* call, size_t stream) {
  shim_result_t result = go_on(call);
  uintptr_t words[SHIM_WORDS] = {call->words[stream]};
  return result == ACL_OK ? shim_real(SHIM_stream_synchronize, words) : result;
}

static shim_result_t fill_waits(shim_call_t* call) {
  return waits_after(call, 4);
}

static shim_result_t record_waits(shim_call_t* call) {
  return waits_after(call, 1);
}

static shim_result_t wait_waits(shim_call_t* call) {
  uintptr_t words[SHIM_WORDS] = {call->words[1]};
  shim_hit();
  return shim_real(SHIM_event_synchronize, words);
}

/* The blocking call of the same words, which is ordered after nothing. */
static shim_result_t as_fill(shim_call_t* call) {
  shim_hit();
  return shim_real(SHIM_fill, call->words);
}

static shim_result_t as_copy(shim_call_t* call) {
  shim_hit();
  return shim_real(SHIM_copy, call->words);
}

/* ---------------------------------------------------------- another call, or what another call had -- */

/* Both take the two in the other's order. */
TURNS_INTO(as_record, SHIM_event_record)
TURNS_INTO(as_wait, SHIM_stream_wait_event)

const shim_hook_t shim_hooks[] = {
    /* a wait left out, or one too many */
    {"wait-for-stream-left-out", SHIM_stream_synchronize, nothing},
    {"wait-for-device-left-out", SHIM_synchronize_device, nothing},
    {"wait-for-event-left-out", SHIM_event_synchronize, nothing},
    {"order-left-out", SHIM_stream_wait_event, nothing},
    {"record-left-out", SHIM_event_record, nothing},
    {"fill-waits", SHIM_fill_async, fill_waits},
    {"record-waits", SHIM_event_record, record_waits},
    {"host-waits-for-the-event", SHIM_stream_wait_event, wait_waits},
    {"fill-is-not-ordered", SHIM_fill_async, as_fill},
    {"copy-is-not-ordered", SHIM_copy_async, as_copy},
    {"stream-is-always-done", SHIM_stream_query, status_0},
    {"stream-is-never-done", SHIM_stream_query, status_1},
    {"event-is-always-done", SHIM_event_query, status_1},
    {"event-is-never-done", SHIM_event_query, status_0},
    {"event-status-the-other-way-round", SHIM_event_query, other_status},
    {"stream-status-the-other-way-round", SHIM_stream_query, other_status},
    /* the wrong one */
    {"wait-for-another-stream", SHIM_stream_synchronize, another_first},
    {"query-of-another-stream", SHIM_stream_query, another_first},
    {"wait-for-another-event", SHIM_event_synchronize, another_first},
    {"query-of-another-event", SHIM_event_query, another_first},
    {"order-on-another-stream", SHIM_stream_wait_event, another_first},
    {"order-after-another-event", SHIM_stream_wait_event, another_second},
    {"record-of-another-event", SHIM_event_record, another_first},
    {"record-on-another-stream", SHIM_event_record, another_second},
    {"fill-on-another-stream", SHIM_fill_async, another_fifth},
    {"copy-on-another-stream", SHIM_copy_async, another_sixth},
    {"callback-on-another-stream", SHIM_launch_host_function, another_first},
    {"kernel-on-another-stream", SHIM_issue_add, another_fourth},
    {"all-streams-are-one", SHIM_stream_create_config, the_first_again},
    {"all-events-are-one", SHIM_event_create, the_first_again},
    {"fill-on-the-default-stream", SHIM_fill_async, fifth_is_zero},
    {"copy-on-the-default-stream", SHIM_copy_async, sixth_is_null},
    {"callback-on-the-default-stream", SHIM_launch_host_function, first_is_null},
    {"record-on-the-default-stream", SHIM_event_record, second_is_zero},
    {"kernel-on-the-default-stream", SHIM_issue_add, fourth_is_null},
    {"always-device-0", SHIM_set_device, always_device_0},
    {"one-device-more", SHIM_device_count, one_device_more},
    /* contexts */
    {"another-context", SHIM_set_context, another_first},
    {"context-never-set", SHIM_set_context, nothing},
    {"context-never-put-back", SHIM_set_context, every_other},
    {"device-never-set", SHIM_set_device, nothing},
    {"device-set-twice", SHIM_set_device, twice},
    {"device-never-reset", SHIM_reset_device, nothing},
    {"device-reset-twice", SHIM_reset_device, twice},
    {"peer-access-of-one-side", SHIM_peer_enable, every_other},
    {"peer-access-never", SHIM_peer_enable, nothing},
    {"peer-flags-unknown", SHIM_peer_enable, second_is_unknown},
    {"failure-mode-left-out", SHIM_stream_failure_mode, nothing},
    {"failure-mode-twice", SHIM_stream_failure_mode, twice},
    {"goes-on-after-failures", SHIM_stream_failure_mode, second_is_zero},
    /* lifetime */
    {"memory-leaks", SHIM_free, nothing},
    {"memory-freed-twice", SHIM_free, twice},
    {"memory-freed-at-once", SHIM_malloc_align32, freed_at_once},
    {"memory-freed-beside-its-start", SHIM_free, first_is_one_further},
    {"pinned-leaks", SHIM_free_host, nothing},
    {"pinned-freed-twice", SHIM_free_host, twice},
    {"pinned-freed-at-once", SHIM_malloc_host, freed_at_once},
    {"stream-leaks", SHIM_stream_destroy, nothing},
    {"stream-destroyed-twice", SHIM_stream_destroy, twice},
    {"stream-destroyed-at-once", SHIM_stream_create_config, destroyed_at_once},
    {"event-leaks", SHIM_event_destroy, nothing},
    {"event-destroyed-twice", SHIM_event_destroy, twice},
    {"event-destroyed-at-once", SHIM_event_create, destroyed_at_once},
    /* errors */
    {"no-memory-is-success", SHIM_malloc_align32, say_success},
    {"no-pinned-memory-is-success", SHIM_malloc_host, say_success},
    {"no-memory-is-another-error", SHIM_malloc_align32, other_error},
    {"a-refused-product-is-success", SHIM_plan_mm, say_success},
    {"a-refused-product-is-another-error", SHIM_plan_mm, other_error},
    /* arguments */
    {"half-the-memory", SHIM_malloc_align32, half_the_memory},
    {"half-the-pinned-memory", SHIM_malloc_host, half_the_memory},
    {"allocates-one-byte", SHIM_malloc_align32, size_is_one},
    {"policy-unknown", SHIM_malloc_align32, third_is_unknown},
    {"copy-a-byte-short", SHIM_copy, one_byte_less},
    {"copy-of-work-a-byte-short", SHIM_copy_async, one_byte_less},
    {"copy-of-more-than-there-is", SHIM_copy_async, more_than_there_is},
    {"copy-the-other-way", SHIM_copy, fifth_is_to_host},
    {"copy-of-work-the-other-way", SHIM_copy_async, fifth_is_to_host},
    {"copy-backwards", SHIM_copy_async, first_and_third},
    {"copy-from-a-byte-further", SHIM_copy, third_is_one_further},
    {"fill-a-byte-short", SHIM_fill_async, one_byte_less},
    {"fill-with-another-value", SHIM_fill_async, third_is_one_more},
    {"fill-a-byte-further", SHIM_fill_async, first_is_one_further},
    {"free-and-total-exchanged", SHIM_memory_info, second_and_third},
    {"times-exchanged", SHIM_event_elapsed, second_and_third},
    {"time-is-negative", SHIM_event_elapsed, negated},
    {"time-in-microseconds", SHIM_event_elapsed, in_microseconds},
    {"event-flags-unknown", SHIM_event_create, second_is_unknown},
    {"event-without-flags", SHIM_event_create, second_is_zero},
    {"event-nobody-waits-for", SHIM_event_create, second_is_time_line},
    {"event-never-timed", SHIM_event_create, second_is_sync},
    {"stream-flags-unknown", SHIM_stream_create_config, third_is_unknown},
    {"stream-priority-unknown", SHIM_stream_create_config, second_is_unknown},
    /* callbacks */
    {"callback-called-at-once", SHIM_launch_host_function, called_at_once},
    {"callback-dropped", SHIM_launch_host_function, nothing},
    {"callback-called-twice", SHIM_launch_host_function, twice},
    {"callback-calls-the-driver", SHIM_launch_host_function, with_a_call},
    /* another call */
    {"copy-as-a-device-copy", SHIM_copy, fifth_is_on_device},
    {"copy-of-work-as-a-device-copy", SHIM_copy_async, fifth_is_on_device},
    {"record-instead-of-wait", SHIM_stream_wait_event, as_record},
    {"wait-instead-of-record", SHIM_event_record, as_wait},
    {"callback-with-the-argument-before", SHIM_launch_host_function, third_of_the_call_before},
    {"stays-in-the-context-after-an-error", SHIM_malloc_align32, look_whether_it_fails},
    {"stays-in-the-context-after-an-error", SHIM_set_context, stay_after_an_error},
    {NULL, 0, NULL}};
