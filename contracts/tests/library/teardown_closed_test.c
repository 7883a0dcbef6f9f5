/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What outlives its device can be given back when the device is closed.
 */
#include "child.h"
#include "resources.h"

static void expect_works_again(tbk_fixture_t* fx) {
  fx_open(fx);
  CHECK_DEVICE_WORKS(fx->core, fx->self, 0, "the device works when it is open again");
}

static void memory_can_be_freed_after_closing(tbk_fixture_t* fx) {
  enum { COUNT = 16 };
  tbk_memory_t memory[COUNT];
  fx_open(fx);
  for (int i = 0; i < COUNT; i++) {
    REQUIRE_OK(fx->core->memory_alloc(fx->self, 0, UINT64_C(64) << i % 13, &memory[i], &fx->error));
  }
  fx_close(fx);
  for (int i = 0; i < COUNT; i++) {
    CHECK_OK(fx->core->memory_free(fx->self, 0, memory[i], &fx->error));
  }
  expect_works_again(fx);
}

static void streams_can_be_destroyed_after_closing(tbk_fixture_t* fx) {
  tbk_stream_t* streams[4];
  fx_open(fx);
  for (int i = 0; i < 4; i++) {
    REQUIRE_OK(fx->stream->stream_create(fx->self, 0, 0, &streams[i], &fx->error));
  }
  fx_close(fx);
  for (int i = 0; i < 4; i++)
    fx->stream->stream_destroy(fx->self, streams[i]);
  expect_works_again(fx);
  CHECK_OK(fx->stream->device_synchronize(fx->self, 0, &fx->error));
}

static void events_can_be_destroyed_after_closing(tbk_fixture_t* fx) {
  tbk_event_t* events[4];
  fx_open(fx);
  tbk_stream_t* stream = fx_stream(fx);
  for (int i = 0; i < 4; i++) {
    REQUIRE_OK(fx->event->event_create(fx->self, 0, 0, &events[i], &fx->error));
    if (i % 2 == 0) CHECK_OK(fx->event->event_record(fx->self, events[i], stream, &fx->error));
  }
  fx_close(fx);
  for (int i = 0; i < 4; i++)
    fx->event->event_destroy(fx->self, events[i]);
  expect_works_again(fx);
}

static void pinned_memory_can_be_freed_after_closing(tbk_fixture_t* fx) {
  void* pointers[4];
  fx_open(fx);
  for (int i = 0; i < 4; i++) {
    REQUIRE_OK(
        fx->pinned->pinned_alloc(fx->self, 0, UINT64_C(100) << 4 * i, &pointers[i], &fx->error));
  }
  fx_close(fx);
  for (int i = 0; i < 4; i++)
    fx->pinned->pinned_free(fx->self, pointers[i]);
  expect_works_again(fx);
}

static void stream_ordered_memory_can_be_freed_after_closing(tbk_fixture_t* fx) {
  tbk_stream_t* stream = NULL;
  tbk_memory_t memory = 0;
  fx_open(fx);
  REQUIRE_OK(fx->stream->stream_create(fx->self, 0, 0, &stream, &fx->error));
  REQUIRE_OK(fx->async_memory->async_alloc(fx->self, stream, 4096, &memory, &fx->error));
  fx_close(fx);
  (void)!fx->async_memory->async_free(fx->self, stream, memory, &fx->error);
  fx->stream->stream_destroy(fx->self, stream);
  expect_works_again(fx);
}

static void memory_of_the_second_device_can_be_freed_after_closing(tbk_fixture_t* fx) {
  tbk_memory_t memory = 0;
  fx_open(fx);
  int32_t second = fx_second_device(fx);
  REQUIRE_OK(fx->core->memory_alloc(fx->self, second, 4096, &memory, &fx->error));
  CHECK_OK(fx->core->device_close(fx->self, second, &fx->error));
  fx->resources->second_open = 0;
  CHECK_OK(fx->core->memory_free(fx->self, second, memory, &fx->error));
  CHECK_DEVICE_WORKS(fx->core, fx->self, 0, "the other device works");
}

#define CLOSED TBK_CASE_CLOSED

static const tbk_case_t cases[] = {
    TBK_CASE("TDN-006", NULL, CLOSED, memory_can_be_freed_after_closing),
    TBK_CASE("TDN-006", "stream", CLOSED, streams_can_be_destroyed_after_closing),
    TBK_CASE("TDN-006", "event", CLOSED, events_can_be_destroyed_after_closing),
    TBK_CASE("TDN-006", "pinned", CLOSED, pinned_memory_can_be_freed_after_closing),
    TBK_CASE("TDN-006", "async_memory", CLOSED, stream_ordered_memory_can_be_freed_after_closing),
    TBK_CASE("TDN-006", "two_devices", CLOSED,
             memory_of_the_second_device_can_be_freed_after_closing),
};
TBK_SUITE(teardown_closed);
