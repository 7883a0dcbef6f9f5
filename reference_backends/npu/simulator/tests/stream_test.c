/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream_test.c: streams and events.
 */
#include <sched.h>
#include <stdatomic.h>

#include "selftest.h"

enum { NEITHER = -1, SIZE = 64 };

static void wait_for(void* argument) {
  while (!atomic_load((atomic_bool*)argument))
    sched_yield();
}

static void a_stream_is_asked_and_waited_for(void) {
  atomic_bool open = false;
  acl_stream stream;
  int state = NEITHER;
  acl_enter(0);
  OK(acl.stream_create_config(&stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
  OK(acl.stream_query(stream, &state));
  CU_ASSERT_EQUAL(state, ACL_STREAM_COMPLETE);
  OK(acl.launch_host_function(stream, wait_for, &open));
  OK(acl.stream_query(stream, &state));
  CU_ASSERT_EQUAL(state, ACL_STREAM_NOT_READY);
  OK(acl.stream_synchronize(NULL)); /* the default stream waits for no other */
  OK(acl.stream_query(NULL, &state));
  CU_ASSERT_EQUAL(state, ACL_STREAM_COMPLETE);
  atomic_store(&open, true);
  OK(acl.synchronize_device());
  OK(acl.stream_query(stream, &state));
  CU_ASSERT_EQUAL(state, ACL_STREAM_COMPLETE);
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.stream_query(stream, NULL));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.stream_create(NULL));
  BREAKS(FLAGS, ACL_RT_PARAM_INVALID, acl.stream_create_config(&stream, 8, 0));
  BREAKS(FLAGS, ACL_RT_PARAM_INVALID, acl.stream_create_config(&stream, 0, 32));
  OK(acl.stream_destroy(stream));
  acl_leave(0);
}

static void a_stream_ends_once(void) {
  acl_stream stream;
  acl_event event;
  acl_enter(0);
  OK(acl.stream_create(&stream));
  OK(acl.event_create(&event, ACL_EVENT_SYNC));
  BREAKS(BAD_HANDLE, ACL_INVALID_HANDLE, acl.stream_synchronize(event));
  BREAKS(BAD_HANDLE, ACL_INVALID_HANDLE, acl.event_synchronize(&event));
  BREAKS(DEFAULT_STREAM, ACL_RT_PARAM_INVALID, acl.stream_destroy(NULL));
  OK(acl.stream_destroy(stream));
  BREAKS(DESTROYED, ACL_INVALID_HANDLE, acl.stream_destroy(stream));
  BREAKS(DESTROYED, ACL_INVALID_HANDLE, acl.stream_synchronize(stream));
  OK(acl.event_destroy(event));
  BREAKS(DESTROYED, ACL_INVALID_HANDLE, acl.event_destroy(event));
  acl_leave(0);
}

static void a_stream_is_of_a_context(void) {
  acl_stream here, there;
  acl_event event;
  acl_context first;
  acl_enter(0);
  OK(acl.get_context(&first));
  OK(acl.stream_create(&here));
  OK(acl.event_create(&event, ACL_EVENT_SYNC));
  OK(acl.event_record(event, here));
  acl_enter(1);
  OK(acl.stream_create(&there));
  BREAKS(STREAM_CONTEXT, ACL_STREAM_CONTEXT, acl.stream_synchronize(here));
  BREAKS(STREAM_CONTEXT, ACL_STREAM_CONTEXT, acl.stream_destroy(here));
  BREAKS(RECORD_DEVICE, ACL_STREAM_CONTEXT, acl.event_record(event, there));
  BREAKS(WAIT_DEVICE, ACL_STREAM_CONTEXT, acl.stream_wait_event(there, event));
  BREAKS(EVENT_CONTEXT, ACL_OK, acl.event_synchronize(event));
  OK(acl.stream_destroy(there));
  acl_leave(1);
  OK(acl.set_context(first));
  OK(acl.event_destroy(event));
  OK(acl.stream_destroy(here));
  acl_leave(0);
}

static void a_failure_mode_is_set_once(void) {
  acl_stream stream;
  acl_enter(0);
  OK(acl.stream_create(&stream));
  BREAKS(DEFAULT_STREAM, ACL_RT_PARAM_INVALID, acl.stream_failure_mode(NULL, 1));
  BREAKS(FAILURE_MODE, ACL_RT_PARAM_INVALID, acl.stream_failure_mode(stream, 2));
  OK(acl.stream_failure_mode(stream, ACL_STOP_ON_FAILURE));
  BREAKS(FAILURE_MODE, ACL_RT_PARAM_INVALID, acl.stream_failure_mode(stream, 0));
  OK(acl.stream_destroy(stream));
  acl_leave(0);
}

CU_TestInfo acl_stream_tests[] = {
    {"a stream is asked and waited for", a_stream_is_asked_and_waited_for},
    {"a stream ends once", a_stream_ends_once},
    {"a stream is of a context", a_stream_is_of_a_context},
    {"a failure mode is set once", a_failure_mode_is_set_once},
    CU_TEST_INFO_NULL};

static void an_event_stands_for_its_last_record(void) {
  atomic_bool open = false;
  acl_stream first, second;
  acl_event event;
  int state = NEITHER;
  acl_enter(0);
  OK(acl.stream_create(&first));
  OK(acl.stream_create(&second));
  OK(acl.event_create(&event, ACL_EVENT_SYNC));
  OK(acl.event_query(event, &state));
  CU_ASSERT_EQUAL(state, ACL_EVENT_RECORDED_COMPLETE); /* never recorded */
  OK(acl.launch_host_function(first, wait_for, &open));
  OK(acl.event_record(event, first));
  OK(acl.event_query(event, &state));
  CU_ASSERT_EQUAL(state, ACL_EVENT_RECORDED_NOT_READY);
  OK(acl.stream_wait_event(second, event));
  OK(acl.stream_query(second, &state));
  CU_ASSERT_EQUAL(state, ACL_STREAM_NOT_READY);
  OK(acl.event_destroy(event)); /* the wait stays */
  atomic_store(&open, true);
  OK(acl.stream_synchronize(second));
  OK(acl.stream_destroy(first));
  OK(acl.stream_destroy(second));
  acl_leave(0);
}

static void flags_say_what_an_event_can_do(void) {
  acl_stream stream;
  acl_event plain, timed;
  int state;
  acl_enter(0);
  OK(acl.stream_create(&stream));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.event_create(NULL, ACL_EVENT_SYNC));
  BREAKS(FLAGS, ACL_RT_PARAM_INVALID, acl.event_create(&plain, 0));
  BREAKS(FLAGS, ACL_RT_PARAM_INVALID, acl.event_create(&plain, 0x80));
  BREAKS(FLAGS, ACL_RT_PARAM_INVALID, acl.event_create(&plain, 0x40 | ACL_EVENT_SYNC));
  OK(acl.event_create(&timed, ACL_EVENT_TIME_LINE));
  OK(acl.event_create(&plain, ACL_EVENT_SYNC));
  BREAKS(UNRECORDED, ACL_RT_PARAM_INVALID, acl.stream_wait_event(stream, plain));
  BREAKS(UNRECORDED, ACL_RT_PARAM_INVALID, acl.event_synchronize(plain));
  OK(acl.event_record(timed, NULL));
  BREAKS(EVENT_SYNC, ACL_RT_PARAM_INVALID, acl.stream_wait_event(stream, timed));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.event_query(plain, NULL));
  OK(acl.event_query(plain, &state));
  OK(acl.event_synchronize(timed));
  OK(acl.event_destroy(plain));
  OK(acl.event_destroy(timed));
  OK(acl.stream_destroy(stream));
  acl_leave(0);
}

static void time_is_taken_on_one_stream(void) {
  acl_stream stream;
  acl_event start, end, plain, elsewhere;
  float ms = -1;
  uint64_t first = 0, second = 0;
  acl_enter(0);
  OK(acl.stream_create(&stream));
  OK(acl.event_create(&start, ACL_EVENT_TIME_LINE));
  OK(acl.event_create(&end, ACL_EVENT_TIME_LINE));
  OK(acl.event_create(&elsewhere, ACL_EVENT_TIME_LINE));
  OK(acl.event_create(&plain, ACL_EVENT_SYNC));
  BREAKS(TIMING, ACL_EVENT_TIMESTAMP_INVALID, acl.event_timestamp(start, &first));
  OK(acl.event_record(start, stream));
  OK(acl.event_record(plain, stream));
  OK(acl.event_record(elsewhere, NULL));
  BREAKS(TIMING, ACL_EVENT_TIMESTAMP_INVALID, acl.event_elapsed(&ms, start, end));
  BREAKS(TIMING, ACL_EVENT_TIMESTAMP_INVALID, acl.event_elapsed(&ms, start, plain));
  BREAKS(TIMING, ACL_EVENT_TIMESTAMP_INVALID, acl.event_elapsed(&ms, start, elsewhere));
  OK(acl.stream_synchronize(stream));
  OK(acl.event_record(end, stream));
  OK(acl.stream_synchronize(stream));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.event_elapsed(NULL, start, end));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.event_timestamp(start, NULL));
  OK(acl.event_elapsed(&ms, start, end));
  CU_ASSERT_TRUE(ms >= 0);
  CU_ASSERT_EQUAL(acl.event_elapsed(&ms, end, start), ACL_EVENT_TIMESTAMP_REVERSED);
  OK(acl.event_timestamp(start, &first));
  OK(acl.event_timestamp(end, &second));
  CU_ASSERT_TRUE(second >= first);
  OK(acl.event_destroy(start));
  OK(acl.event_destroy(end));
  OK(acl.event_destroy(plain));
  OK(acl.event_destroy(elsewhere));
  OK(acl.stream_destroy(stream));
  acl_leave(0);
}

static void time_is_not_taken_before_the_end(void) {
  atomic_bool open = false;
  acl_stream stream;
  acl_event start, end;
  float ms = -1;
  acl_enter(0);
  OK(acl.stream_create(&stream));
  OK(acl.event_create(&start, ACL_EVENT_TIME_LINE));
  OK(acl.event_create(&end, ACL_EVENT_TIME_LINE));
  OK(acl.event_record(start, stream));
  OK(acl.launch_host_function(stream, wait_for, &open));
  OK(acl.event_record(end, stream));
  CU_ASSERT_EQUAL(acl.event_elapsed(&ms, start, end), ACL_EVENT_NOT_COMPLETE);
  atomic_store(&open, true);
  OK(acl.event_synchronize(end));
  OK(acl.event_elapsed(&ms, start, end));
  OK(acl.event_destroy(start));
  OK(acl.event_destroy(end));
  OK(acl.stream_destroy(stream));
  acl_leave(0);
}

CU_TestInfo acl_event_tests[] = {
    {"an event stands for its last record", an_event_stands_for_its_last_record},
    {"flags say what an event can do", flags_say_what_an_event_can_do},
    {"time is taken on one stream", time_is_taken_on_one_stream},
    {"time is not taken before the end", time_is_not_taken_before_the_end},
    CU_TEST_INFO_NULL};
