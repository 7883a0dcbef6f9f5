/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes that just end, with whatever is open or under way.
 */
#include "child.h"
#include "fixture.h"

/* Reachable from here, so that leak checkers see what is on purpose. */
static struct {
  const tbk_backend_t* backend;
  tbk_memory_t memory;
  tbk_stream_t* stream;
  tbk_event_t* event;
  uint8_t bytes[65536];
} left_behind;

static int create_only(tbk_child_t* self, void* argument) {
  (void)self;
  tbk_fixture_t* fx = argument;
  return fx->create(fx->host, &left_behind.backend, NULL) == TBK_OK ? 0 : 10;
}

static int open_and_use(tbk_child_t* self, void* argument) {
  (void)self;
  tbk_fixture_t* fx = argument;
  const tbk_backend_t* backend = fx->backend;
  if (tbk_open_patiently(fx->core, fx->self, 0, NULL) != TBK_OK) return 11;
  left_behind.backend = backend;
  tbk_status_t status =
      fx->core->memory_alloc(fx->self, 0, sizeof left_behind.bytes, &left_behind.memory, NULL);
  if (status != TBK_OK) return 12;
  status = fx->core->upload(fx->self, 0, left_behind.memory, 0, left_behind.bytes,
                            sizeof left_behind.bytes, NULL, NULL);
  return status == TBK_OK ? 0 : 13;
}

static int enqueue_and_leave(tbk_child_t* self, void* argument) {
  tbk_fixture_t* fx = argument;
  int code = open_and_use(self, argument);
  if (code != 0) return code;
  if (fx->stream->stream_create(fx->self, 0, 0, &left_behind.stream, NULL) != TBK_OK) return 14;
  for (int i = 0; i < 32; i++) {
    tbk_status_t status = fx->core->upload(fx->self, 0, left_behind.memory, 0, left_behind.bytes,
                                           sizeof left_behind.bytes, left_behind.stream, NULL);
    if (status != TBK_OK) return 15;
  }
  if (fx->event == NULL) return 0;
  if (fx->event->event_create(fx->self, 0, 0, &left_behind.event, NULL) != TBK_OK) return 16;
  tbk_status_t status =
      fx->event->event_record(fx->self, left_behind.event, left_behind.stream, NULL);
  return status == TBK_OK ? 0 : 17;
}

static void expect_clean_exit(tbk_fixture_t* fx, tbk_child_fn body) {
  tbk_child_t child;
  tbk_child_start(fx, &child, body, fx, TBK_CHILD_EXIT);
  CHILD_CHECK_END(&child);
}

static void a_process_that_only_created_ends_cleanly(tbk_fixture_t* fx) {
  expect_clean_exit(fx, create_only);
}

static void a_process_that_closes_nothing_ends_cleanly(tbk_fixture_t* fx) {
  expect_clean_exit(fx, open_and_use);
}

static void a_process_with_work_enqueued_ends_cleanly(tbk_fixture_t* fx) {
  expect_clean_exit(fx, enqueue_and_leave);
}

#define FRESH (TBK_CASE_CLOSED | TBK_CASE_FRESH)

static const tbk_case_t cases[] = {
    TBK_CASE("TDN-007", NULL, TBK_CASE_RAW | TBK_CASE_FRESH,
             a_process_that_only_created_ends_cleanly),
    TBK_CASE("TDN-007", NULL, FRESH, a_process_that_closes_nothing_ends_cleanly),
    TBK_CASE("TDN-007", "stream", FRESH, a_process_with_work_enqueued_ends_cleanly),
};
TBK_SUITE(teardown_exit);
