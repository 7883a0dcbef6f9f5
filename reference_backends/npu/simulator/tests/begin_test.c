/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * begin_test.c: beginning, devices and contexts.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest.h"

/* The first test: whether somebody was first is said before the driver begins. */
static void who_was_not_first_does_not_finalise(void) {
  pid_t child = fork();
  if (child == 0) {
    setenv("TBK_NPU_SIMULATOR", "report=answer,initialized=before", 1);
    bool right = acl.init(NULL) == ACL_REPEAT_INITIALIZE && acl.set_device(0) == ACL_OK &&
                 acl.reset_device(0) == ACL_OK && acl.finalize() == ACL_REPEAT_FINALIZE &&
                 acl_broken() == SIM_FOREIGN;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
  CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  acl_tried[SIM_FOREIGN] = true;
}

/* The second one, and the only one before aclInit. */
static void nothing_goes_before_init(void) {
  uint32_t count = 0;
  BREAKS(UNINITIALIZED, ACL_UNINITIALIZED, acl.device_count(&count));
  OK(acl.init(NULL));
  CU_ASSERT_EQUAL(acl.init(NULL), ACL_REPEAT_INITIALIZE);
  const char* why = acl.recent_error();
  CU_ASSERT_PTR_NOT_NULL_FATAL(why);
  CU_ASSERT_PTR_NOT_NULL(strstr(why, "100002"));
  CU_ASSERT_PTR_NULL(acl.recent_error());
  OK(acl.device_count(&count));
  CU_ASSERT_EQUAL(count, 2);
}

static void a_forked_child_makes_no_call(void) {
  pid_t child = fork();
  if (child == 0) {
    uint32_t count;
    bool right = acl.device_count(&count) == ACL_UNINITIALIZED && acl_broken() == SIM_FORKED &&
                 acl.init(NULL) == ACL_UNINITIALIZED && acl_broken() == SIM_FORKED;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
  CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  acl_tried[SIM_FORKED] = true;
}

static void a_thread_has_the_context_that_it_set(void) {
  acl_context first = NULL, second = NULL, now = NULL;
  void* pointer = &first;
  uint32_t flags = 0;
  int32_t active = 2;
  CU_ASSERT_EQUAL(acl.get_context(&now), ACL_CONTEXT_NULL);
  BREAKS(NO_CONTEXT, ACL_CONTEXT_NULL, acl.malloc_padded(&pointer, 8, 0));
  acl_enter(0);
  OK(acl.get_context(&first));
  acl_enter(1);
  OK(acl.get_context(&second));
  CU_ASSERT_PTR_NOT_EQUAL(first, second);
  OK(acl.set_context(first));
  OK(acl.get_context(&now));
  CU_ASSERT_PTR_EQUAL(now, first);
  BREAKS(BAD_HANDLE, ACL_INVALID_HANDLE, acl.set_context(&pointer));
  OK(acl.default_context(1, &flags, &active));
  CU_ASSERT_EQUAL(active, 1);
  acl_leave(1);
  OK(acl.default_context(1, &flags, &active));
  CU_ASSERT_EQUAL(active, 0);
  BREAKS(CONTEXT_GONE, ACL_CONTEXT_NULL, acl.set_context(second));
  acl_enter(0);
  acl_leave(0);
  OK(acl.synchronize_device()); /* it was set twice */
  acl_leave(0);
  BREAKS(CONTEXT_GONE, ACL_CONTEXT_NULL, acl.synchronize_device());
  BREAKS(RESET, ACL_RT_PARAM_INVALID, acl.reset_device(0));
}

static void* find_no_context(void* unused) {
  acl_context context;
  (void)unused;
  return acl.get_context(&context) == ACL_CONTEXT_NULL ? (void*)&acl : NULL;
}

static void another_thread_has_its_own(void) {
  pthread_t thread;
  void* none = NULL;
  acl_enter(0);
  CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, find_no_context, NULL), 0);
  CU_ASSERT_EQUAL(pthread_join(thread, &none), 0);
  CU_ASSERT_PTR_NOT_NULL(none);
  acl_leave(0);
}

static void devices_are_those_that_are_counted(void) {
  int32_t can = 2, active = 0;
  uint32_t flags = 0;
  int64_t bytes = 0;
  BREAKS(DEVICE, ACL_INVALID_DEVICE, acl.set_device(2));
  BREAKS(DEVICE, ACL_INVALID_DEVICE, acl.set_device(-1));
  BREAKS(DEVICE, ACL_INVALID_DEVICE, acl.reset_device(2));
  BREAKS(DEVICE, ACL_INVALID_DEVICE, acl.default_context(2, &flags, &active));
  BREAKS(DEVICE, ACL_INVALID_DEVICE, acl.peer_can_access(&can, 0, 2));
  BREAKS(DEVICE, ACL_INVALID_DEVICE, acl.device_info(2, ACL_ATTR_TOTAL_GLOBAL_MEM, &bytes));
  OK(acl.device_info(0, ACL_ATTR_TOTAL_GLOBAL_MEM, &bytes));
  CU_ASSERT_TRUE(bytes > 0);
  BREAKS(FLAGS, ACL_RT_PARAM_INVALID, acl.device_info(0, 999, &bytes));
  OK(acl.peer_can_access(&can, 0, 1));
  CU_ASSERT_EQUAL(can, 1);
  OK(acl.peer_can_access(&can, 1, 1));
  CU_ASSERT_EQUAL(can, 0);
  acl_enter(0);
  BREAKS(DEVICE, ACL_INVALID_DEVICE, acl.peer_enable(0, 0));
  BREAKS(DEVICE, ACL_INVALID_DEVICE, acl.peer_enable(2, 0));
  BREAKS(FLAGS, ACL_RT_PARAM_INVALID, acl.peer_enable(1, 1));
  acl_leave(0);
}

static void there_is_no_null(void) {
  int32_t number = 0;
  uint32_t flags;
  size_t bytes;
  acl_enter(0);
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.device_count(NULL));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.get_version(&number, NULL, &number));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.get_context(NULL));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.default_context(0, &flags, NULL));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.device_info(0, ACL_ATTR_TOTAL_GLOBAL_MEM, NULL));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.memory_info(ACL_HBM_MEM, NULL, &bytes));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.peer_can_access(NULL, 0, 1));
  BREAKS(FLAGS, ACL_RT_PARAM_INVALID, acl.memory_info(99, &bytes, &bytes));
  OK(acl.get_version(&number, &number, &number));
  CU_ASSERT_PTR_NOT_NULL(acl.soc_name());
  acl_leave(0);
}

static void what_is_left_at_the_reset_is_told(void) {
  acl_stream stream;
  acl_event event;
  void* pointer;
  acl_enter(0);
  OK(acl.stream_create(&stream));
  BREAKS(LEFT, ACL_OK, acl.reset_device(0));
  acl_enter(0);
  OK(acl.event_create(&event, ACL_EVENT_SYNC));
  BREAKS(LEFT, ACL_OK, acl.reset_device(0));
  acl_enter(0);
  BREAKS(STALE_HANDLE, ACL_INVALID_HANDLE, acl.stream_synchronize(stream));
  BREAKS(STALE_HANDLE, ACL_INVALID_HANDLE, acl.event_destroy(event));
  OK(acl.malloc_padded(&pointer, 8, 0));
  BREAKS(MEMORY_LEFT, ACL_OK, acl.reset_device(0));
  acl_enter(0);
  OK(acl.malloc_host(&pointer, 8));
  BREAKS(MEMORY_LEFT, ACL_OK, acl.reset_device(0));
  acl_enter(0);
  (void)acl_broken();
  acl_leave(0);
  CU_ASSERT_EQUAL(acl_broken(), 0);
}

CU_TestInfo acl_begin_tests[] = {
    {"who was not first does not finalise", who_was_not_first_does_not_finalise},
    {"nothing goes before init", nothing_goes_before_init},
    {"a forked child makes no call", a_forked_child_makes_no_call},
    {"a thread has the context that it set", a_thread_has_the_context_that_it_set},
    {"another thread has its own", another_thread_has_its_own},
    {"devices are those that are counted", devices_are_those_that_are_counted},
    {"there is no null", there_is_no_null},
    {"what is left at the reset is told", what_is_left_at_the_reset_is_told},
    CU_TEST_INFO_NULL};

/* Goes on until the piece of work that fails. */
static void an_error_of_work_is_told_where_it_is_waited_for(void) {
  acl_stream stream, other;
  void* pointer;
  acl_result result = ACL_OK;
  acl_enter(0);
  OK(acl.stream_create(&stream));
  OK(acl.stream_create(&other));
  OK(acl.stream_failure_mode(stream, ACL_STOP_ON_FAILURE));
  OK(acl.malloc_padded(&pointer, 64, 0));
  for (int i = 0; i < 1000 && result == ACL_OK; i++)
    result = acl.fill_async(pointer, 64, 0, 64, stream);
  if (result == ACL_OK) result = acl.stream_synchronize(stream);
  CU_ASSERT_EQUAL(result, ACL_AICORE_EXCEPTION);
  CU_ASSERT_EQUAL(acl.fill_async(pointer, 64, 0, 64, other), ACL_AICORE_EXCEPTION);
  CU_ASSERT_EQUAL(acl.fill(pointer, 64, 0, 64), ACL_AICORE_EXCEPTION);
  CU_ASSERT_EQUAL(acl.synchronize_device(), ACL_AICORE_EXCEPTION);
  OK(acl.free(pointer));
  OK(acl.stream_destroy(stream));
  OK(acl.stream_destroy(other));
  acl_leave(0);
  acl_enter(0);
  OK(acl.synchronize_device());
  acl_leave(0);
}

/* The last tests. */
static void nothing_comes_after_the_end(void) {
  acl_enter(0);
  BREAKS(STILL_SET, ACL_OK, acl.finalize());
  BREAKS(FINALIZED, ACL_UNINITIALIZED, acl.finalize());
  BREAKS(FINALIZED, ACL_UNINITIALIZED, acl.init(NULL));
}

static void each_rule_was_broken(void) {
#define EXPECT_TRIED(name, number, class, answer, source, sentence) \
  CU_ASSERT_TRUE(acl_tried[number]);
  SIM_RULES(EXPECT_TRIED)
#undef EXPECT_TRIED
}

CU_TestInfo acl_end_tests[] = {{"an error of work is told where it is waited for",
                                an_error_of_work_is_told_where_it_is_waited_for},
                               {"nothing comes after the end", nothing_comes_after_the_end},
                               {"each rule was broken", each_rule_was_broken},
                               CU_TEST_INFO_NULL};
