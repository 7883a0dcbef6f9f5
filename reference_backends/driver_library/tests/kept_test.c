/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kept_test.c: what a backend keeps of its driver: which one it is, addresses, handles. The path of a file that can
 * be read is the only argument.
 */
#include <cunit_run.h>
#include <driver/addresses.h>
#include <driver/entry.h>
#include <driver/handles.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char* readable;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t given_back[4];
static int given_back_count;

static void give_back(uint64_t begin) {
  if (given_back_count < 4) given_back[given_back_count] = begin;
  given_back_count++;
}

static void addresses_are_found_by_their_beginning(void) {
  void* tree = NULL;
  CU_ASSERT_TRUE(address_add(&lock, &tree, 0x1000, 0x100));
  CU_ASSERT_FALSE(address_remove(&lock, &tree, 0x1001));
  CU_ASSERT_FALSE(address_remove(&lock, &tree, 0x1100));
  CU_ASSERT_TRUE(address_remove(&lock, &tree, 0x1000));
  CU_ASSERT_FALSE(address_remove(&lock, &tree, 0x1000));
  CU_ASSERT_PTR_NULL(tree);
}

static void ranges_are_covered_as_a_whole(void) {
  void* tree = NULL;
  CU_ASSERT_TRUE(address_add(&lock, &tree, 0x1000, 0x100));
  CU_ASSERT_TRUE(address_covers(&lock, &tree, 0x1000, 0x100));
  CU_ASSERT_TRUE(address_covers(&lock, &tree, 0x10ff, 1));
  CU_ASSERT_FALSE(address_covers(&lock, &tree, 0x10ff, 2));
  CU_ASSERT_FALSE(address_covers(&lock, &tree, 0xfff, 2));
  address_end_all(&tree, NULL);
}

static void what_is_left_is_given_back_once(void) {
  void* tree = NULL;
  given_back_count = 0;
  for (uint64_t i = 1; i <= 3; i++)
    CU_ASSERT_TRUE(address_add(&lock, &tree, i << 12, 16));
  CU_ASSERT_TRUE(address_remove(&lock, &tree, 2 << 12));
  address_end_all(&tree, give_back);
  CU_ASSERT_PTR_NULL(tree);
  CU_ASSERT_EQUAL(given_back_count, 2);
  CU_ASSERT_EQUAL(given_back[0] + given_back[1], (1 << 12) + (3 << 12));
}

static int ended, released;

static void end(driver_handle_t* handle) {
  ended += handle->live;
}

static void release(void* handle) {
  (void)handle;
  released++;
}

static void handles_become_stale_and_end_once(void) {
  int native;
  driver_handles_t all = LIST_HEAD_INITIALIZER(all);
  driver_handle_t one = {.native = NULL}; /* a driver's default stream */
  driver_handle_t other = {.native = &native}, gone = {.native = &native};
  ended = released = 0;
  handle_add(&lock, &all, &one);
  handle_add(&lock, &all, &other);
  handle_add(&lock, &all, &gone);
  CU_ASSERT_TRUE(handle_remove(&lock, &gone));
  handles_make_stale(&all, end);
  handles_make_stale(&all, end);
  CU_ASSERT_EQUAL(ended, 2);
  CU_ASSERT_PTR_NULL(other.native);
  CU_ASSERT_FALSE(handle_remove(&lock, &one));
  handles_free(&all, release);
  CU_ASSERT_EQUAL(released, 1);
  CU_ASSERT_TRUE(LIST_EMPTY(&all));
}

static void handles_of_what_cannot_be_entered_are_stale_too(void) {
  int native;
  driver_handles_t all = LIST_HEAD_INITIALIZER(all);
  driver_handle_t one = {.native = &native};
  handle_add(&lock, &all, &one);
  handles_make_stale(&all, NULL);
  CU_ASSERT_FALSE(handle_remove(&lock, &one));
}

static void is_refused_with(driver_choice_t* choice, const char* options, const char* why) {
  tbk_error_t error = {""};
  CU_ASSERT_EQUAL(driver_choose(choice, options, &error), TBK_INVALID);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.message, why));
  CU_ASSERT_FALSE(choice->made);
}

static void options_name_files_that_can_be_read(void) {
  char options[DRIVER_PATH_BYTES];
  driver_choice_t choice = {PTHREAD_MUTEX_INITIALIZER, {"driver", "operators"}, false, {""}};
  is_refused_with(&choice, "driver=/nowhere/lib.so", "the driver cannot be read: /nowhere/lib.so");
  is_refused_with(&choice, "driver=", "not driver=PATH or operators=PATH: driver=");
  is_refused_with(&choice, "drivers=/", "not driver=PATH or operators=PATH: drivers=/");
  snprintf(options, sizeof options, "operators=%s,driver=%s", readable, readable);
  CU_ASSERT_EQUAL(driver_choose(&choice, options, NULL), TBK_OK);
  CU_ASSERT_STRING_EQUAL(choice.paths[0], readable);
  CU_ASSERT_STRING_EQUAL(choice.paths[1], readable);
}

/* Who states nothing takes what there is; and what was taken stays. */
static void a_process_has_one_driver(void) {
  char options[DRIVER_PATH_BYTES];
  driver_choice_t choice = {PTHREAD_MUTEX_INITIALIZER, {"driver"}, false, {""}};
  snprintf(options, sizeof options, "driver=%s", readable);
  CU_ASSERT_EQUAL(driver_choose(&choice, options, NULL), TBK_OK);
  CU_ASSERT_EQUAL(driver_choose(&choice, options, NULL), TBK_OK);
  CU_ASSERT_EQUAL(driver_choose(&choice, NULL, NULL), TBK_OK);
  CU_ASSERT_EQUAL(driver_choose(&choice, "driver=/", NULL), TBK_INVALID_STATE);
  CU_ASSERT_STRING_EQUAL(choice.paths[0], readable);
}

static void who_stated_nothing_has_the_systems(void) {
  char options[DRIVER_PATH_BYTES];
  driver_choice_t choice = {PTHREAD_MUTEX_INITIALIZER, {"driver"}, false, {""}};
  snprintf(options, sizeof options, "driver=%s", readable);
  CU_ASSERT_EQUAL(driver_choose(&choice, "", NULL), TBK_OK);
  CU_ASSERT_EQUAL(driver_choose(&choice, options, NULL), TBK_INVALID_STATE);
  CU_ASSERT_STRING_EQUAL(choice.paths[0], "");
}

static void properties_end_where_the_caller_has_no_room(void) {
  const tbk_device_properties_t properties = {.name = "a device", .memory_bytes = 7};
  tbk_device_properties_t given = {.struct_size = offsetof(tbk_device_properties_t, memory_bytes),
                                   .memory_bytes = 1};
  CU_ASSERT_EQUAL(driver_give_properties(&properties, &given, NULL), TBK_OK);
  CU_ASSERT_STRING_EQUAL(given.name, "a device");
  CU_ASSERT_EQUAL(given.memory_bytes, 1);
  CU_ASSERT_EQUAL(given.struct_size, offsetof(tbk_device_properties_t, memory_bytes));
  given.struct_size = sizeof(size_t) - 1;
  CU_ASSERT_EQUAL(driver_give_properties(&properties, &given, NULL), TBK_INVALID);
}

static CU_TestInfo tests[] = {
    {"addresses are found by their beginning", addresses_are_found_by_their_beginning},
    {"ranges are covered as a whole", ranges_are_covered_as_a_whole},
    {"what is left is given back once", what_is_left_is_given_back_once},
    {"handles become stale, and end once", handles_become_stale_and_end_once},
    {"handles become stale without a device", handles_of_what_cannot_be_entered_are_stale_too},
    {"options name files that can be read", options_name_files_that_can_be_read},
    {"a process has one driver", a_process_has_one_driver},
    {"who stated nothing has the system's", who_stated_nothing_has_the_systems},
    {"properties end where there is no room", properties_end_where_the_caller_has_no_room},
    CU_TEST_INFO_NULL};

int main(int argc, char** argv) {
  CU_SuiteInfo suites[] = {{"kept", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
  readable = argc == 2 ? argv[1] : "";
  return cunit_run(suites);
}
