/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes that fork before a device is open, and after.
 */
#include "child.h"

static int open_and_work(tbk_child_t* self, void* argument) {
  (void)self;
  tbk_fixture_t* fx = argument;
  if (tbk_open_patiently(fx->core, fx->self, 0, NULL) != TBK_OK) return 20;
  if (tbk_device_trouble(fx->core, fx->self, 0, fx->seed).step != NULL) return 21;
  return fx->core->device_close(fx->self, 0, NULL) == TBK_OK ? 0 : 22;
}

static int leave_alone(tbk_child_t* self, void* argument) {
  (void)self, (void)argument;
  return 0;
}

static void expect_works(tbk_fixture_t* fx) {
  CHECK_DEVICE_WORKS(fx->core, fx->self, 0, "the device works in the parent");
}

/* Where the device was just held by a child, the driver may need a moment to let go. */
static void open_in_parent(tbk_fixture_t* fx) {
  CHECK_OK(tbk_open_patiently(fx->core, fx->self, 0, &fx->error));
  expect_works(fx);
  CHECK_OK(fx->core->device_close(fx->self, 0, &fx->error));
}

static bool child_opens(tbk_fixture_t* fx) {
  tbk_child_t child;
  tbk_child_start(fx, &child, open_and_work, fx, TBK_CHILD_QUICK_EXIT);
  return CHILD_CHECK_END(&child);
}

static void a_child_opens_what_its_parent_did_not(tbk_fixture_t* fx) {
  child_opens(fx);
}

static void a_child_that_opened_a_device_exits_cleanly(tbk_fixture_t* fx) {
  tbk_child_t child;
  tbk_child_start(fx, &child, open_and_work, fx, TBK_CHILD_EXIT);
  CHILD_CHECK_END(&child);
}

static void parent_and_child_open_one_after_the_other(tbk_fixture_t* fx) {
  tbk_child_t child;
  tbk_child_start(fx, &child, open_and_work, fx, TBK_CHILD_QUICK_EXIT);
  CHILD_CHECK_END(&child);
  open_in_parent(fx);
}

static int open_when_told(tbk_child_t* self, void* argument) {
  tbk_child_say(self);
  tbk_child_await(self);
  return open_and_work(self, argument);
}

static void parent_and_child_have_it_open_at_once(tbk_fixture_t* fx) {
  tbk_child_t child;
  tbk_child_start(fx, &child, open_when_told, fx, TBK_CHILD_QUICK_EXIT);
  CHECK(tbk_child_heard(&child));
  CHECK_OK(tbk_open_patiently(fx->core, fx->self, 0, &fx->error));
  expect_works(fx);
  CHILD_CHECK_END(&child);
  expect_works(fx);
  CHECK_OK(fx->core->device_close(fx->self, 0, &fx->error));
}

static void several_children_open_one_after_the_other(tbk_fixture_t* fx) {
  for (int i = 0; i < 3; i++)
    a_child_opens_what_its_parent_did_not(fx);
}

static void asking_for_devices_keeps_forking_safe(tbk_fixture_t* fx) {
  int32_t count = 0;
  tbk_device_properties_t properties = {.struct_size = sizeof properties};
  CHECK_OK(fx->core->device_count(fx->self, &count, &fx->error));
  CHECK_OK(fx->core->device_properties(fx->self, 0, &properties, &fx->error));
  parent_and_child_open_one_after_the_other(fx);
}

static void expect_idle_child_ends(tbk_fixture_t* fx, int ending) {
  tbk_child_t child;
  tbk_child_start(fx, &child, leave_alone, NULL, ending);
  CHILD_CHECK_END(&child);
}

static void a_child_of_an_open_device_exits_cleanly(tbk_fixture_t* fx) {
  fx_open(fx);
  expect_idle_child_ends(fx, TBK_CHILD_EXIT);
}

static void a_child_of_a_device_in_use_exits_cleanly(tbk_fixture_t* fx) {
  enum { SIZE = 65536 };
  fx_open(fx);
  tbk_stream_t* stream = fx_stream(fx);
  uint8_t* sent = fx_bytes(fx, SIZE);
  tbk_memory_t memory = fx_alloc(fx, SIZE);
  for (int i = 0; i < 16; i++) {
    CHECK_OK(fx->core->upload(fx->self, 0, memory, 0, sent, SIZE, stream, &fx->error));
  }
  expect_idle_child_ends(fx, TBK_CHILD_EXIT);
  fx_synchronize(fx, stream);
  FX_CHECK_MEMORY(fx, sent, memory, SIZE);
}

static void the_parents_memory_survives_its_children(tbk_fixture_t* fx) {
  enum { SIZE = 65536 };
  fx_open(fx);
  uint8_t* sent = fx_bytes(fx, SIZE);
  tbk_memory_t memory = fx_alloc_with(fx, sent, SIZE);
  expect_idle_child_ends(fx, TBK_CHILD_EXIT);
  expect_idle_child_ends(fx, TBK_CHILD_QUICK_EXIT);
  FX_CHECK_MEMORY(fx, sent, memory, SIZE);
  expect_works(fx);
}

static void the_parents_streams_survive_its_children(tbk_fixture_t* fx) {
  enum { SIZE = 4096 };
  fx_open(fx);
  tbk_stream_t* stream = fx_stream(fx);
  expect_idle_child_ends(fx, TBK_CHILD_EXIT);
  uint8_t* sent = fx_bytes(fx, SIZE);
  tbk_memory_t memory = fx_alloc(fx, SIZE);
  CHECK_OK(fx->core->upload(fx->self, 0, memory, 0, sent, SIZE, stream, &fx->error));
  fx_synchronize(fx, stream);
  FX_CHECK_MEMORY(fx, sent, memory, SIZE);
  expect_works(fx);
}

#define FRESH (TBK_CASE_CLOSED | TBK_CASE_FRESH)

static const tbk_case_t cases[] = {
    TBK_CASE("FRK-001", NULL, FRESH, a_child_opens_what_its_parent_did_not),
    TBK_CASE("FRK-001", NULL, FRESH, a_child_that_opened_a_device_exits_cleanly),
    TBK_CASE("FRK-001", NULL, FRESH, parent_and_child_open_one_after_the_other),
    TBK_CASE("FRK-001", "!exclusive", FRESH, parent_and_child_have_it_open_at_once),
    TBK_CASE("FRK-001", NULL, FRESH, several_children_open_one_after_the_other),
    TBK_CASE("FRK-002", NULL, FRESH, asking_for_devices_keeps_forking_safe),
    TBK_CASE("FRK-003", NULL, FRESH, a_child_of_an_open_device_exits_cleanly),
    TBK_CASE("FRK-003", "stream", FRESH, a_child_of_a_device_in_use_exits_cleanly),
    TBK_CASE("FRK-004", NULL, FRESH, the_parents_memory_survives_its_children),
    TBK_CASE("FRK-004", "stream", FRESH, the_parents_streams_survive_its_children),
};
TBK_SUITE(fork);
