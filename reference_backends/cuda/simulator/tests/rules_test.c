/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rules_test.c: each rule of rules.h is broken here, and is then the one that is named.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../old.h"
#include "selftest.h"

static const char* ignored_text;

/* The first test, and the only one before cuInit. */
static void nothing_goes_before_init(void) {
  int count;
  BREAKS(UNINITIALIZED, 3, cu.device_get_count(&count));
  BREAKS(FLAGS, 1, cu.init(1));
  CU_ASSERT_EQUAL(cu.error_string(400, &ignored_text), CU_OK);
  CU_ASSERT_EQUAL(cu.init(0), CU_OK);
  CU_ASSERT_EQUAL(cu.init(0), CU_OK);
}

static void a_forked_child_makes_no_call(void) {
  pid_t child = fork();
  if (child == 0) {
    int count;
    bool right = cu.device_get_count(&count) == 3 && cu_broken() == SIM_FORKED && cu.init(0) == 3 &&
                 cu_broken() == SIM_FORKED;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
  CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  cu_tried[SIM_FORKED] = true;
}

typedef struct seen {
  cu_result result;
  int rule;
} seen_t;

static void call_the_driver(void* argument) {
  seen_t* seen = argument;
  size_t free_bytes, total;
  seen->result = cu.mem_get_info(&free_bytes, &total);
  seen->rule = cu_broken();
}

static void a_host_function_makes_no_call(void) {
  cu_stream stream;
  seen_t seen = {0};
  cu_enter(0);
  CU_ASSERT_EQUAL(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.launch_host_func(stream, call_the_driver, &seen), CU_OK);
  CU_ASSERT_EQUAL(cu.stream_synchronize(stream), CU_OK);
  CU_ASSERT_EQUAL(seen.result, 800);
  CU_ASSERT_EQUAL(seen.rule, SIM_HOST_FUNCTION);
  cu_tried[SIM_HOST_FUNCTION] = true;
  cu_leave(0);
}

static void contexts_are_entered_and_left(void) {
  cu_deviceptr pointer;
  cu_context context, popped;
  BREAKS(NO_CONTEXT, 201, cu.mem_alloc(&pointer, 8));
  BREAKS(POP, 201, cu.context_pop(&popped));
  BREAKS(RELEASE, 201, cu.primary_release(1));
  BREAKS(BAD_HANDLE, 400, cu.context_push((cu_context)(void*)&pointer));
  context = cu_enter(0);
  CU_ASSERT_EQUAL(cu.primary_release(0), CU_OK);
  BREAKS(CONTEXT_GONE, 709, cu.mem_alloc(&pointer, 8));
  BREAKS(CONTEXT_GONE, 709, cu.context_push(context));
  /* The next one is another, though it has the same handle. */
  CU_ASSERT_EQUAL(cu.primary_retain(&context, 0), CU_OK);
  BREAKS(CONTEXT_GONE, 709, cu.mem_alloc(&pointer, 8));
  CU_ASSERT_EQUAL(cu.primary_release(0), CU_OK);
  CU_ASSERT_EQUAL(cu.context_pop(&popped), CU_OK);
}

static void what_is_pushed_is_popped_before_the_release(void) {
  cu_context popped;
  cu_enter(0);
  BREAKS(STILL_PUSHED, CU_OK, cu.primary_release(0));
  CU_ASSERT_EQUAL(cu.context_pop(&popped), CU_OK);
  cu_enter(0);
  CU_ASSERT_EQUAL(cu.context_pop(&popped), CU_OK);
  (void)cu_broken();
  CU_ASSERT_EQUAL(cu.primary_release(0), CU_OK);
  CU_ASSERT_EQUAL(cu_broken(), 0);
}

static void a_thread_has_a_bottom_and_a_top(void) {
  cu_context context = cu_enter(0), popped;
  for (int i = 1; i < 64; i++)
    CU_ASSERT_EQUAL(cu.context_push(context), CU_OK);
  BREAKS(DEPTH_RULE, 1, cu.context_push(context));
  for (int i = 1; i < 64; i++)
    CU_ASSERT_EQUAL(cu.context_pop(&popped), CU_OK);
  cu_leave(0);
}

static void handles_end(void) {
  cu_stream stream, stale;
  cu_event event;
  cu_enter(0);
  CU_ASSERT_EQUAL(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.stream_create(&stale, CU_STREAM_NON_BLOCKING, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.event_create(&event, 0), CU_OK);
  BREAKS(BAD_HANDLE, 400, cu.stream_query((cu_stream)(void*)event));
  BREAKS(BAD_HANDLE, 400, cu.event_query((cu_event)(void*)&event));
  CU_ASSERT_EQUAL(cu.stream_destroy(stream), CU_OK);
  CU_ASSERT_EQUAL(cu.event_destroy(event), CU_OK);
  BREAKS(DESTROYED, 400, cu.stream_destroy(stream));
  BREAKS(DESTROYED, 400, cu.stream_query(stream));
  BREAKS(DESTROYED, 400, cu.event_destroy(event));
  BREAKS(DESTROYED, 400, cu.event_synchronize(event));
  cu_leave(0);
  cu_enter(0);
  BREAKS(STALE_HANDLE, 400, cu.stream_query(stale));
  BREAKS(STALE_HANDLE, 400, cu.stream_destroy(stale));
  cu_leave(0);
}

static void what_is_left_at_the_end_is_told(void) {
  cu_stream stream;
  cu_event event;
  cu_deviceptr pointer;
  void* pinned;
  cu_context popped;
  for (int what = 0; what < 4; what++) {
    cu_enter(0);
    cu_result made = what == 0   ? cu.stream_create(&stream, CU_STREAM_NON_BLOCKING, 0)
                     : what == 1 ? cu.event_create(&event, 0)
                     : what == 2 ? cu.mem_alloc(&pointer, 8)
                                 : cu.mem_host_alloc(&pinned, 8, 1);
    CU_ASSERT_EQUAL(made, CU_OK);
    CU_ASSERT_EQUAL(cu.context_pop(&popped), CU_OK);
    BREAKS(LEFT, CU_OK, cu.primary_release(0));
  }
}

static void handles_are_of_a_context(void) {
  cu_stream first, second;
  cu_event event, here_too;
  cu_deviceptr here, there;
  float milliseconds;
  cu_context context = cu_enter(0);
  CU_ASSERT_EQUAL(cu.stream_create(&first, CU_STREAM_NON_BLOCKING, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_alloc(&here, 64), CU_OK);
  cu_enter(1);
  CU_ASSERT_EQUAL(cu.stream_create(&second, CU_STREAM_NON_BLOCKING, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.event_create(&event, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_alloc(&there, 64), CU_OK);
  BREAKS(RECORD_CONTEXT, 400, cu.event_record(event, first));
  CU_ASSERT_EQUAL(cu.event_record(event, second), CU_OK);
  CU_ASSERT_EQUAL(cu.context_push(context), CU_OK);
  CU_ASSERT_EQUAL(cu.event_create(&here_too, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.event_record(here_too, first), CU_OK);
  BREAKS(TIMING_CONTEXT, 400, cu.event_elapsed(&milliseconds, here_too, event));
  CU_ASSERT_EQUAL(cu.context_pop(&context), CU_OK);
  BREAKS(STREAM_CONTEXT, CU_OK, cu.fill(there, 1, 64, first));
  CU_ASSERT_EQUAL(cu.stream_synchronize(first), CU_OK); /* the memory goes first */
  BREAKS(POINTER_CONTEXT, CU_OK, cu.copy_d2d(there, here, 64, second));
  BREAKS(LEGACY_STREAM, CU_OK, cu.fill(there, 1, 64, NULL));
  CU_ASSERT_EQUAL(cu.context_synchronize(), CU_OK);
  cu_leave(1);
  cu_leave(0);
}

static void memory_is_live_and_in_range(void) {
  cu_stream stream;
  cu_deviceptr pointer;
  char host[8] = "";
  void* pinned;
  cu_enter(0);
  CU_ASSERT_EQUAL(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_alloc(&pointer, 100), CU_OK);
  CU_ASSERT_EQUAL(cu.fill(pointer + 92, 1, 8, stream), CU_OK);
  BREAKS(RANGE, 1, cu.fill(pointer + 93, 1, 8, stream));
  BREAKS(RANGE, 1, cu.copy_h2d(pointer + 93, host, 8, stream));
  BREAKS(RANGE, 1, cu.copy_d2h(host, pointer + 93, 8, stream));
  BREAKS(NULL_POINTER, 1, cu.copy_d2h(NULL, pointer, 8, stream));
  BREAKS(FREE, 1, cu.mem_free(pointer + 1));
  CU_ASSERT_EQUAL(cu.context_synchronize(), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_free(pointer), CU_OK);
  BREAKS(FREE, 1, cu.mem_free(pointer));
  BREAKS(RANGE, 1, cu.fill(pointer, 1, 8, stream));
  CU_ASSERT_EQUAL(cu.mem_host_alloc(&pinned, 8, 1), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_free_host(pinned), CU_OK);
  BREAKS(FREE_HOST, 1, cu.mem_free_host(pinned));
  BREAKS(SIZE, 1, cu.mem_alloc(&pointer, 0));
  BREAKS(SIZE_ELSEWHERE, 1, cu.mem_host_alloc(&pinned, 0, 1));
  BREAKS(NULL_POINTER, 1, cu.mem_alloc(NULL, 8));
  cu_leave(0);
}

static void arguments_are_what_is_listed(void) {
  cu_stream stream;
  cu_event plain, other;
  cu_device device;
  float milliseconds;
  BREAKS(DEVICE, 101, cu.device_get(&device, 4));
  BREAKS(DEVICE, 101, cu.device_get(&device, -1));
  cu_enter(0);
  BREAKS(FLAGS, 1, cu.stream_create(&stream, 2, 0));
  BREAKS(FLAGS, 1, cu.event_create(&plain, 4)); /* shared between processes, and timed */
  CU_ASSERT_EQUAL(cu.event_create(&plain, CU_EVENT_DISABLE_TIMING), CU_OK);
  CU_ASSERT_EQUAL(cu.event_create(&other, 0), CU_OK);
  BREAKS(TIMING, 400, cu.event_elapsed(&milliseconds, plain, plain));
  BREAKS(TIMING, 400, cu.event_elapsed(&milliseconds, other, other));
  BREAKS(BAD_HANDLE, 400, cu.module_unload(NULL));
  cu_leave(0);
}

static void there_is_no_null_and_no_other_flag(void) {
  cu_stream stream;
  cu_event event;
  cu_context context = cu_enter(0);
  cu_deviceptr pointer;
  void* pinned;
  size_t bytes;
  int number;
  CU_ASSERT_EQUAL(cu.stream_create(&stream, CU_STREAM_NON_BLOCKING, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.event_create(&event, 0), CU_OK);
  CU_ASSERT_EQUAL(cu.mem_alloc(&pointer, 64), CU_OK);
  CU_ASSERT_EQUAL(cu.event_record(event, stream), CU_OK);
  BREAKS(NULL_POINTER, 1, cu.get_version(NULL));
  BREAKS(NULL_POINTER, 1, cu.device_get(NULL, 0));
  BREAKS(NULL_POINTER, 1, cu.device_get_count(NULL));
  BREAKS(NULL_POINTER, 1, cu.mem_get_info(&bytes, NULL));
  BREAKS(NULL_POINTER, 1, cu.mem_host_alloc(NULL, 8, 0));
  BREAKS(NULL_POINTER, 1, cu.stream_create(NULL, 0, 0));
  BREAKS(NULL_POINTER, 1, cu.event_create(NULL, 0));
  BREAKS(NULL_POINTER, 1, cu.event_elapsed(NULL, event, event));
  BREAKS(NULL_POINTER, 1, cu.copy_h2d(pointer, NULL, 8, stream));
  BREAKS(NULL_POINTER, 1, cu.launch_host_func(stream, NULL, NULL));
  BREAKS(FLAGS, 1, cu.mem_host_alloc(&pinned, 8, 8));
  BREAKS(FLAGS, 1, cu.stream_wait_event(stream, event, 2));
  BREAKS(FLAGS, 1, cu.device_get_attribute(&number, -1, 0));
  BREAKS(BAD_HANDLE, 400, cu.copy_peer(pointer, context, pointer, NULL, 8, stream));
  cu_leave(0);
}

static void call_old(const char* name) {
  cu_result (*old)(void);
  void* address = cu_symbol(name);
  CU_ASSERT_PTR_NOT_NULL_FATAL(address);
  memcpy(&old, &address, sizeof old);
  BREAKS(VERSION, 1, old());
}

/* What a kernel needs is as little NULL. */
static void there_is_no_null_where_a_kernel_is(void) {
  cu_module module;
  cu_function function;
  cu_enter(0);
  BREAKS(NULL_POINTER, 1, cu.module_load_data(&module, NULL));
  BREAKS(BAD_HANDLE, 400, cu.module_get_function(&function, NULL, "name"));
  BREAKS(BAD_HANDLE, 400, cu.launch_kernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
  cu_leave(0);
}

static void a_name_without_suffix_is_another_function(void) {
#define CALL_OLD(name) call_old(#name);
  SIM_OLD_NAMES(CALL_OLD)
#undef CALL_OLD
}

CU_TestInfo cu_rule_tests[] = {
    {"nothing goes before init", nothing_goes_before_init},
    {"a forked child makes no call", a_forked_child_makes_no_call},
    {"a host function makes no call", a_host_function_makes_no_call},
    {"contexts are entered and left", contexts_are_entered_and_left},
    {"what is pushed is popped before the release", what_is_pushed_is_popped_before_the_release},
    {"a thread has a bottom and a top", a_thread_has_a_bottom_and_a_top},
    {"handles end", handles_end},
    {"what is left at the end is told", what_is_left_at_the_end_is_told},
    {"handles are of a context", handles_are_of_a_context},
    {"memory is live and in range", memory_is_live_and_in_range},
    {"arguments are what is listed", arguments_are_what_is_listed},
    {"there is no null and no other flag", there_is_no_null_and_no_other_flag},
    {"there is no null where a kernel is", there_is_no_null_where_a_kernel_is},
    {"a name without suffix is another function", a_name_without_suffix_is_another_function},
    CU_TEST_INFO_NULL};
