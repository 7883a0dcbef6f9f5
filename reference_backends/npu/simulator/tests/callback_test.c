/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * callback_test.c: both styles of callbacks.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "selftest.h"

typedef struct seen {
  acl_result result;
  int rule;
  pthread_t thread;
  atomic_int calls;
} seen_t;

static void call_the_driver(void* argument) {
  seen_t* seen = argument;
  size_t free_bytes, total;
  seen->thread = pthread_self();
  seen->result = acl.memory_info(ACL_HBM_MEM, &free_bytes, &total);
  seen->rule = acl_broken();
  atomic_fetch_add(&seen->calls, 1);
}

static void a_host_function_makes_no_call(void) {
  acl_stream stream;
  seen_t seen = {.rule = 0};
  acl_enter(0);
  OK(acl.stream_create(&stream));
  OK(acl.launch_host_function(stream, call_the_driver, &seen));
  OK(acl.stream_synchronize(stream));
  CU_ASSERT_EQUAL(seen.result, ACL_FEATURE_UNSUPPORTED);
  CU_ASSERT_EQUAL(seen.rule, SIM_HOST_FUNCTION);
  acl_tried[SIM_HOST_FUNCTION] = true;
  CU_ASSERT_EQUAL(seen.calls, 1);
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.launch_host_function(stream, NULL, NULL));
  OK(acl.stream_destroy(stream));
  acl_leave(0);
}

typedef struct reporter {
  acl_context context;
  atomic_bool stop;
  pthread_t thread;
} reporter_t;

static void* take_reports(void* argument) {
  reporter_t* reporter = argument;
  (void)acl.set_context(reporter->context);
  while (!atomic_load(&reporter->stop))
    (void)acl.process_report(10);
  return NULL;
}

static void start(reporter_t* reporter) {
  OK(acl.get_context(&reporter->context));
  atomic_store(&reporter->stop, false);
  CU_ASSERT_EQUAL_FATAL(pthread_create(&reporter->thread, NULL, take_reports, reporter), 0);
}

static void end(reporter_t* reporter) {
  atomic_store(&reporter->stop, true);
  CU_ASSERT_EQUAL(pthread_join(reporter->thread, NULL), 0);
}

static void a_report_is_called_by_its_thread(void) {
  acl_stream stream;
  reporter_t reporter;
  seen_t seen = {.rule = 0};
  acl_enter(0);
  OK(acl.stream_create(&stream));
  BREAKS(NO_REPORT, ACL_STREAM_NO_CALLBACK,
         acl.launch_callback(call_the_driver, &seen, ACL_CALLBACK_BLOCK, stream));
  start(&reporter);
  OK(acl.subscribe_report((uint64_t)reporter.thread, stream));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID,
         acl.launch_callback(NULL, NULL, ACL_CALLBACK_BLOCK, stream));
  BREAKS(FLAGS, ACL_RT_PARAM_INVALID, acl.launch_callback(call_the_driver, &seen, 2, stream));
  OK(acl.launch_callback(call_the_driver, &seen, ACL_CALLBACK_BLOCK, stream));
  OK(acl.stream_synchronize(stream)); /* it was called before */
  CU_ASSERT_EQUAL(seen.calls, 1);
  CU_ASSERT_TRUE(pthread_equal(seen.thread, reporter.thread));
  CU_ASSERT_EQUAL(seen.rule, SIM_HOST_FUNCTION);
  OK(acl.launch_callback(call_the_driver, &seen, ACL_CALLBACK_NO_BLOCK, stream));
  while (atomic_load(&seen.calls) < 2)
    ;
  BREAKS(MIXED, ACL_FEATURE_UNSUPPORTED, acl.launch_host_function(stream, call_the_driver, &seen));
  OK(acl.unsubscribe_report((uint64_t)reporter.thread, stream));
  end(&reporter);
  OK(acl.stream_destroy(stream));
  acl_leave(0);
}

static void a_stream_has_one_thread_and_a_thread_one_device(void) {
  acl_stream first, second, there;
  acl_context context;
  const uint64_t self = (uint64_t)pthread_self();
  seen_t seen = {.rule = 0};
  acl_enter(0);
  OK(acl.get_context(&context));
  OK(acl.stream_create(&first));
  OK(acl.stream_create(&second));
  OK(acl.subscribe_report(self, first));
  OK(acl.subscribe_report(self, second));
  BREAKS(SUBSCRIBED, ACL_RT_PARAM_INVALID, acl.subscribe_report(self + 1, first));
  BREAKS(SUBSCRIBED, ACL_RT_PARAM_INVALID, acl.unsubscribe_report(self + 1, first));
  BREAKS(DEFAULT_STREAM, ACL_RT_PARAM_INVALID, acl.subscribe_report(self, NULL));
  acl_enter(1);
  OK(acl.stream_create(&there));
  BREAKS(SUBSCRIBED, ACL_RT_PARAM_INVALID, acl.subscribe_report(self, there));
  OK(acl.stream_destroy(there));
  acl_leave(1);
  OK(acl.set_context(context));
  CU_ASSERT_EQUAL(acl.process_report(1), ACL_REPORT_TIMEOUT);
  BREAKS(FLAGS, ACL_RT_PARAM_INVALID, acl.process_report(-2));
  OK(acl.launch_host_function(second, call_the_driver, &seen));
  OK(acl.stream_synchronize(second));
  BREAKS(MIXED, ACL_FEATURE_UNSUPPORTED, acl.launch_callback(call_the_driver, &seen, 0, second));
  BREAKS(REPORTS_LEFT, ACL_OK, acl.stream_destroy(second));
  OK(acl.unsubscribe_report(self, first));
  OK(acl.stream_destroy(first));
  acl_leave(0);
}

CU_TestInfo acl_callback_tests[] = {
    {"a host function makes no call", a_host_function_makes_no_call},
    {"a report is called by its thread", a_report_is_called_by_its_thread},
    {"a stream has one thread, and a thread one device",
     a_stream_has_one_thread_and_a_thread_one_device},
    CU_TEST_INFO_NULL};
