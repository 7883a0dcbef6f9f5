/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * memory_test.c: memory, copies and fills.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "selftest.h"

enum { SIZE = 64, HOST_TO_HOST = 0 };

static void bytes_go_there_and_back(void) {
  char out[SIZE], in[SIZE] = "";
  void *first, *second, *pinned;
  acl_stream stream;
  memset(out, 0x5a, sizeof out);
  (void)acl_broken();
  acl_enter(0);
  OK(acl.stream_create(&stream));
  OK(acl.malloc_padded(&first, SIZE, ACL_MALLOC_HUGE_FIRST));
  OK(acl.malloc_align32(&second, SIZE, ACL_MALLOC_HUGE_FIRST));
  CU_ASSERT_EQUAL((uintptr_t)first % SIZE, 0);
  OK(acl.malloc_host(&pinned, SIZE));
  memset(pinned, 0x77, SIZE);
  OK(acl.copy(first, SIZE, out, SIZE, ACL_HOST_TO_DEVICE));
  OK(acl.copy_async(second, SIZE, first, SIZE, ACL_DEVICE_TO_DEVICE, stream));
  OK(acl.fill_async(second, SIZE, 3, 1, stream));
  OK(acl.copy_async(pinned, SIZE, second, SIZE, ACL_DEVICE_TO_HOST, stream));
  OK(acl.stream_synchronize(stream));
  CU_ASSERT_EQUAL(((char*)pinned)[0], 3);
  CU_ASSERT_EQUAL(memcmp((char*)pinned + 1, out + 1, SIZE - 1), 0);
  OK(acl.fill(second, SIZE, 0x107, 2)); /* a byte of it */
  OK(acl.copy(in, SIZE, second, SIZE, ACL_DEVICE_TO_HOST));
  CU_ASSERT_EQUAL(in[1], 7);
  CU_ASSERT_EQUAL(in[2], 0x5a);
  OK(acl.free_host(pinned));
  OK(acl.free(first));
  OK(acl.free(second));
  OK(acl.stream_destroy(stream));
  acl_leave(0);
  CU_ASSERT_EQUAL(acl_broken(), 0);
}

static void memory_is_counted(void) {
  size_t before, between, after, total;
  void* pointer;
  acl_enter(0);
  OK(acl.memory_info(ACL_HBM_MEM, &before, &total));
  OK(acl.malloc_padded(&pointer, 4096, 0));
  OK(acl.memory_info(ACL_HBM_MEM, &between, &total));
  CU_ASSERT_TRUE(between <= before - 4096);
  OK(acl.free(pointer));
  OK(acl.memory_info(ACL_HBM_MEM, &after, &total));
  CU_ASSERT_EQUAL(after, before);
  CU_ASSERT_EQUAL(acl.malloc_padded(&pointer, 2 * total, 0), ACL_MEMORY_ALLOCATION);
  CU_ASSERT_EQUAL(acl.malloc_padded(&pointer, SIZE_MAX, 0), ACL_MEMORY_ALLOCATION);
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.malloc_padded(NULL, 8, 0));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.malloc_host(NULL, 8));
  BREAKS(SIZE, ACL_RT_PARAM_INVALID, acl.malloc_align32(&pointer, 0, 0));
  BREAKS(SIZE, ACL_RT_PARAM_INVALID, acl.malloc_host(&pointer, 0));
  BREAKS(FLAGS, ACL_RT_PARAM_INVALID, acl.malloc_padded(&pointer, 8, 8));
  acl_leave(0);
}

static void what_is_freed_is_live(void) {
  void *device, *pinned;
  acl_enter(0);
  OK(acl.malloc_padded(&device, SIZE, 0));
  OK(acl.malloc_host(&pinned, SIZE));
  BREAKS(FREE, ACL_RT_PARAM_INVALID, acl.free(NULL));
  BREAKS(FREE, ACL_RT_PARAM_INVALID, acl.free((char*)device + 32));
  BREAKS(FREE, ACL_RT_PARAM_INVALID, acl.free(pinned));
  BREAKS(FREE, ACL_RT_PARAM_INVALID, acl.free_host(device));
  OK(acl.free(device));
  BREAKS(FREE, ACL_RT_PARAM_INVALID, acl.free(device));
  OK(acl.free_host(pinned));
  BREAKS(FREE, ACL_RT_PARAM_INVALID, acl.free_host(pinned));
  OK(acl.malloc_padded(&device, SIZE, 0));
  acl_enter(1);
  BREAKS(POINTER_DEVICE, ACL_OK, acl.free(device));
  acl_leave(1);
  acl_leave(0);
}

static void wait_for(void* argument) {
  while (!atomic_load((atomic_bool*)argument))
    sched_yield();
}

static void memory_of_pending_work_is_not_freed(void) {
  atomic_bool open = false;
  void* pointer;
  acl_stream stream;
  acl_enter(0);
  OK(acl.stream_create(&stream));
  OK(acl.malloc_padded(&pointer, SIZE, 0));
  OK(acl.launch_host_function(stream, wait_for, &open));
  OK(acl.fill_async(pointer, SIZE, 1, SIZE, stream));
  BREAKS(FREE_IN_USE, ACL_RT_PARAM_INVALID, acl.free(pointer));
  atomic_store(&open, true);
  OK(acl.stream_synchronize(stream));
  OK(acl.free(pointer));
  OK(acl.stream_destroy(stream));
  acl_leave(0);
}

static void a_copy_says_what_is_there(void) {
  char host[SIZE] = "";
  void *device, *pinned;
  acl_enter(0);
  OK(acl.malloc_padded(&device, SIZE, 0));
  OK(acl.malloc_host(&pinned, SIZE));
  char* behind = (char*)device + SIZE - 4;
  BREAKS(FLAGS, ACL_RT_PARAM_INVALID, acl.copy(device, SIZE, host, SIZE, 9));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.copy(device, SIZE, NULL, SIZE, 1));
  BREAKS(COUNT, ACL_RT_PARAM_INVALID, acl.copy(device, SIZE, host, 0, ACL_HOST_TO_DEVICE));
  BREAKS(DESTINATION, ACL_RT_PARAM_INVALID, acl.copy(device, 4, host, 8, ACL_HOST_TO_DEVICE));
  BREAKS(KIND, ACL_INVALID_MEMORY_TYPE, acl.copy(device, SIZE, host, 8, ACL_DEVICE_TO_HOST));
  BREAKS(KIND, ACL_INVALID_MEMORY_TYPE, acl.copy(host, SIZE, pinned, 8, ACL_DEVICE_TO_HOST));
  BREAKS(RANGE, ACL_RT_PARAM_INVALID, acl.copy(behind, SIZE, host, 8, ACL_HOST_TO_DEVICE));
  BREAKS(RANGE, ACL_RT_PARAM_INVALID, acl.copy(host, SIZE, host, 8, ACL_DEVICE_TO_HOST));
  BREAKS(RANGE, ACL_RT_PARAM_INVALID,
         acl.copy((char*)pinned + SIZE - 4, SIZE, device, 8, ACL_DEVICE_TO_HOST));
  OK(acl.copy(host, SIZE, pinned, SIZE, HOST_TO_HOST));
  OK(acl.free(device));
  BREAKS(RANGE, ACL_RT_PARAM_INVALID, acl.copy(device, SIZE, host, 8, ACL_HOST_TO_DEVICE));
  OK(acl.free_host(pinned));
  acl_leave(0);
}

static void work_takes_pinned_memory(void) {
  char host[SIZE] = "";
  void *device, *pinned;
  acl_stream stream;
  acl_enter(0);
  OK(acl.stream_create(&stream));
  OK(acl.malloc_padded(&device, SIZE, 0));
  OK(acl.malloc_host(&pinned, SIZE));
  BREAKS(PAGEABLE, ACL_RT_PARAM_INVALID,
         acl.copy_async(device, SIZE, host, SIZE, ACL_HOST_TO_DEVICE, stream));
  BREAKS(PAGEABLE, ACL_RT_PARAM_INVALID,
         acl.copy_async(host, SIZE, device, SIZE, ACL_DEVICE_TO_HOST, stream));
  BREAKS(HOST_TO_HOST, ACL_FEATURE_NOT_SUPPORTED,
         acl.copy_async(pinned, SIZE, pinned, SIZE, HOST_TO_HOST, stream));
  OK(acl.copy_async(device, SIZE, pinned, SIZE, ACL_HOST_TO_DEVICE, NULL));
  OK(acl.stream_synchronize(NULL));
  BREAKS(NULL_POINTER, ACL_RT_PARAM_INVALID, acl.fill(NULL, SIZE, 0, SIZE));
  BREAKS(COUNT, ACL_RT_PARAM_INVALID, acl.fill(device, SIZE, 0, 0));
  BREAKS(DESTINATION, ACL_RT_PARAM_INVALID, acl.fill_async(device, 4, 0, 8, stream));
  BREAKS(RANGE, ACL_RT_PARAM_INVALID, acl.fill_async(host, SIZE, 0, 8, stream));
  OK(acl.fill(pinned, SIZE, 9, SIZE));
  CU_ASSERT_EQUAL(((char*)pinned)[SIZE - 1], 9);
  OK(acl.stream_synchronize(stream));
  OK(acl.free(device));
  OK(acl.free_host(pinned));
  OK(acl.stream_destroy(stream));
  acl_leave(0);
}

static void devices_reach_each_other_from_both_sides(void) {
  char in[SIZE] = "";
  void *here, *there;
  acl_context first, second;
  acl_enter(0);
  OK(acl.get_context(&first));
  OK(acl.malloc_padded(&here, SIZE, 0));
  OK(acl.fill(here, SIZE, 5, SIZE));
  acl_enter(1);
  OK(acl.get_context(&second));
  OK(acl.malloc_padded(&there, SIZE, 0));
  BREAKS(POINTER_DEVICE, ACL_OK, acl.fill(here, SIZE, 5, SIZE));
  BREAKS(POINTER_DEVICE, ACL_OK, acl.copy(here, SIZE, here, SIZE, ACL_DEVICE_TO_DEVICE));
  BREAKS(PEER, ACL_DRIVER_INTERNAL, acl.copy(there, SIZE, here, SIZE, ACL_DEVICE_TO_DEVICE));
  OK(acl.peer_enable(0, 0));
  BREAKS(PEER, ACL_DRIVER_INTERNAL, acl.copy(there, SIZE, here, SIZE, ACL_DEVICE_TO_DEVICE));
  OK(acl.set_context(first));
  OK(acl.peer_enable(1, 0));
  (void)acl_broken();
  OK(acl.copy(there, SIZE, here, SIZE, ACL_DEVICE_TO_DEVICE));
  CU_ASSERT_EQUAL(acl_broken(), 0);
  OK(acl.free(here));
  OK(acl.set_context(second));
  OK(acl.copy(in, SIZE, there, SIZE, ACL_DEVICE_TO_HOST));
  CU_ASSERT_EQUAL(in[SIZE - 1], 5);
  OK(acl.free(there));
  acl_leave(1);
  OK(acl.set_context(first));
  acl_leave(0);
}

CU_TestInfo acl_memory_tests[] = {
    {"bytes go there and back", bytes_go_there_and_back},
    {"memory is counted", memory_is_counted},
    {"what is freed is live", what_is_freed_is_live},
    {"memory of pending work is not freed", memory_of_pending_work_is_not_freed},
    {"a copy says what is there", a_copy_says_what_is_there},
    {"work takes pinned memory", work_takes_pinned_memory},
    {"devices reach each other from both sides", devices_reach_each_other_from_both_sides},
    CU_TEST_INFO_NULL};
