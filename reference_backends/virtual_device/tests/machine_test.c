/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * machine_test.c: devices that are opened, closed and held by others; limits; what ends with a machine.
 */
#include "vdev/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest.h"
#include "vdev/words.h"

static void a_device_is_open_or_not(void) {
  vdev_machine_t* machine = vdev_start("devices=2");
  vdev_device_t* device = vdev_device_at(machine, 1);
  CU_ASSERT_EQUAL(vdev_device_index(device), 1);
  CU_ASSERT_PTR_NULL(vdev_device_at(machine, 2));
  CU_ASSERT_PTR_NULL(vdev_device_at(machine, -1));
  CU_ASSERT_EQUAL(vdev_device_check(NULL), VDEV_CLOSED);
  CU_ASSERT_EQUAL(vdev_device_open(device), VDEV_STATE);
  CU_ASSERT_EQUAL(vdev_device_close(device, NULL), VDEV_OK);
  CU_ASSERT_EQUAL(vdev_device_close(device, NULL), VDEV_CLOSED);
  CU_ASSERT_EQUAL(vdev_device_check(device), VDEV_CLOSED);
  CU_ASSERT_EQUAL(vdev_device_synchronize(device, NULL), VDEV_CLOSED);
  CU_ASSERT_EQUAL(vdev_device_check(vdev_device_at(machine, 0)), VDEV_OK);
  CU_ASSERT_EQUAL(vdev_device_open(device), VDEV_OK);
  vdev_machine_free(machine);
}

static void what_outlives_its_device_is_stale(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    vdev_device_t* device = vdev_device_at(machine, 0);
    vdev_stream_t* stream = vdev_stream_of(machine, 0);
    vdev_event_t* event = NULL;
    CU_ASSERT_EQUAL_FATAL(vdev_event_new(device, true, &event), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_event_record(event, stream), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_device_close(device, NULL), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_device_open(device), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_stream_check(stream), VDEV_CLOSED);
    CU_ASSERT_EQUAL(vdev_stream_query(stream, NULL), VDEV_CLOSED);
    CU_ASSERT_EQUAL(vdev_stream_synchronize(stream, NULL), VDEV_CLOSED);
    CU_ASSERT_EQUAL(vdev_event_query(event), VDEV_CLOSED);
    CU_ASSERT_EQUAL(vdev_event_record(event, stream), VDEV_CLOSED);
    CU_ASSERT_EQUAL(vdev_event_synchronize(event), VDEV_CLOSED);
    vdev_stream_drop(stream);
    vdev_event_free(event);
    vdev_machine_free(machine);
  }
}

static void addresses_that_were_kept_come_never_again(void) {
  vdev_machine_t* machine = vdev_start("devices=1,memory=1M");
  vdev_device_t* device = vdev_device_at(machine, 0);
  vdev_memory_t kept = vdev_arena_take(vdev_device_arena(device), 4096);
  CU_ASSERT_EQUAL(vdev_device_close(device, NULL), VDEV_OK);
  CU_ASSERT_EQUAL(vdev_device_open(device), VDEV_OK);
  vdev_memory_t all = vdev_arena_take(vdev_device_arena(device), 1 << 20);
  CU_ASSERT(all && (kept < all || kept >= all + (1 << 20)));
  CU_ASSERT_FALSE(vdev_arena_give(vdev_device_arena(device), kept));
  vdev_machine_free(machine);
}

static void pinned_memory_is_counted(void) {
  vdev_config_t config = vdev_config_default();
  config.pinned_bytes = 8192;
  vdev_machine_t* machine = vdev_machine_new(&config);
  void* first = vdev_pinned_take(machine, 5000);
  CU_ASSERT(first && (uintptr_t)first % 64 == 0);
  CU_ASSERT_PTR_NULL(vdev_pinned_take(machine, 5000));
  CU_ASSERT_FALSE(vdev_pinned_give(machine, (char*)first + 64));
  CU_ASSERT_TRUE(vdev_pinned_give(machine, first));
  CU_ASSERT_FALSE(vdev_pinned_give(machine, first));
  CU_ASSERT_PTR_NOT_NULL(vdev_pinned_take(machine, 8192));
  vdev_machine_free(machine); /* with what was not given back */
}

/* Returns what a child gets that opens the device. */
static int open_in_child(const vdev_config_t* config, int32_t device) {
  pid_t child = fork();
  if (child == 0) {
    vdev_machine_t* machine = vdev_machine_new(config);
    _exit(machine ? (int)vdev_device_open(vdev_device_at(machine, device)) : 99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static void one_process_has_an_exclusive_device(void) {
  vdev_config_t config = vdev_config_default();
  snprintf(config.exclusive, sizeof config.exclusive, "vdev-lease-%d", (int)getpid());
  vdev_machine_t *machine = vdev_machine_new(&config), *other = vdev_machine_new(&config);
  vdev_device_t* device = vdev_device_at(machine, 0);
  CU_ASSERT_EQUAL(vdev_device_open(device), VDEV_OK);
  CU_ASSERT_EQUAL(open_in_child(&config, 0), VDEV_BUSY);
  CU_ASSERT_EQUAL(open_in_child(&config, 1), VDEV_OK);
  CU_ASSERT_EQUAL(vdev_device_open(vdev_device_at(other, 0)), VDEV_OK);
  CU_ASSERT_EQUAL(vdev_device_close(device, NULL), VDEV_OK);
  CU_ASSERT_EQUAL(open_in_child(&config, 0), VDEV_BUSY);
  vdev_machine_free(other);
  CU_ASSERT_EQUAL(open_in_child(&config, 0), VDEV_OK);
  vdev_machine_free(machine);
  unlink(config.exclusive);
}

static void a_lock_file_that_cannot_be_is_a_failure(void) {
  vdev_config_t config = vdev_config_default();
  snprintf(config.exclusive, sizeof config.exclusive, "no-such-folder-%d/x", (int)getpid());
  vdev_machine_t* machine = vdev_machine_new(&config);
  CU_ASSERT_EQUAL(vdev_device_open(vdev_device_at(machine, 0)), VDEV_FAILED);
  CU_ASSERT_EQUAL(vdev_device_check(vdev_device_at(machine, 0)), VDEV_CLOSED);
  vdev_machine_free(machine);
}

static void add_one(void* argument) {
  (*(int*)argument)++;
}

/* Whoever frees a machine need not have given anything back, nor waited for anything. */
static void a_machine_ends_with_all_that_is_left(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    int count = 0;
    for (int32_t device = 0; device < 2; device++) {
      vdev_stream_t* stream = vdev_stream_of(machine, device);
      vdev_event_t* event = NULL;
      vdev_event_new(vdev_device_at(machine, device), false, &event);
      vdev_arena_take(vdev_device_arena(vdev_device_at(machine, device)), 100);
      if (device == 0) vdev_submit_call(stream, add_one, &count);
      CU_ASSERT_EQUAL(vdev_event_record(event, stream), VDEV_OK);
    }
    vdev_machine_free(machine);
    CU_ASSERT_EQUAL(count, 1);
  }
}

static void rest_a_while(void* argument) {
  (void)argument;
  vdev_sleep_us(3000);
}

/* Work of the last device writes to the first one, whose memory must be there until then. */
static void no_device_goes_before_the_work_of_all(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    vdev_arena_t* arena = vdev_device_arena(vdev_device_at(machine, 0));
    char* at = vdev_arena_at(arena, vdev_arena_take(arena, 64), 0, 64);
    vdev_stream_t* stream = vdev_stream_of(machine, 1);
    char back = 0;
    CU_ASSERT_EQUAL(vdev_submit_call(stream, rest_a_while, NULL), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_submit_fill(stream, at, 6, 64), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_submit_copy(stream, &back, at + 63, 1), VDEV_OK);
    vdev_machine_free(machine);
    CU_ASSERT_EQUAL(back, 6);
  }
}

CU_TestInfo vdev_machine_tests[] = {
    {"a device is open or not", a_device_is_open_or_not},
    {"what outlives its device is stale", what_outlives_its_device_is_stale},
    {"addresses that were kept come never again", addresses_that_were_kept_come_never_again},
    {"pinned memory is counted", pinned_memory_is_counted},
    {"one process has an exclusive device", one_process_has_an_exclusive_device},
    {"a lock file that cannot be is a failure", a_lock_file_that_cannot_be_is_a_failure},
    {"a machine ends with all that is left", a_machine_ends_with_all_that_is_left},
    {"no device goes before the work of all", no_device_goes_before_the_work_of_all},
    CU_TEST_INFO_NULL,
};
