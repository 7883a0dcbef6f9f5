/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening and closing, and what a device answers that is not open.
 */
#include "child.h"
#include "gate.h"
#include "resources.h"
#include "threads.h"
#include "wait.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPECT_WORKS(device) CHECK_DEVICE_WORKS(fx->core, fx->self, (device), "the device works")

static void expect_closed(tbk_fixture_t* fx, int32_t device) {
  tbk_memory_t memory = 0xabcdef;
  CHECK_STATUS(TBK_INVALID_STATE,
               fx->core->memory_alloc(fx->self, device, 64, &memory, &fx->error));
  CHECK_KEPT("memory_alloc", memory == 0xabcdef);
}

/* ------------------------------------------------------------------------------------- open ---- */

static void opening_twice_is_refused(tbk_fixture_t* fx) {
  fx_open(fx);
  CHECK_STATUS(TBK_INVALID_STATE, fx->core->device_open(fx->self, fx->device, &fx->error));
  EXPECT_WORKS(fx->device);
}

static void a_refused_opening_is_not_counted(tbk_fixture_t* fx) {
  fx_open(fx);
  CHECK_STATUS(TBK_INVALID_STATE, fx->core->device_open(fx->self, fx->device, &fx->error));
  fx_close(fx);
  expect_closed(fx, fx->device);
}

static void opening_the_second_device_twice_is_refused(tbk_fixture_t* fx) {
  fx_open(fx);
  int32_t second = fx_second_device(fx);
  CHECK_STATUS(TBK_INVALID_STATE, fx->core->device_open(fx->self, second, &fx->error));
  EXPECT_WORKS(second);
}

static void opening_and_closing_need_no_place_for_a_message(tbk_fixture_t* fx) {
  REQUIRE_OK(fx->core->device_open(fx->self, fx->device, NULL));
  CHECK_STATUS(TBK_INVALID_STATE, fx->core->device_open(fx->self, fx->device, NULL));
  EXPECT_WORKS(fx->device);
  CHECK_OK(fx->core->device_close(fx->self, fx->device, NULL));
  CHECK_STATUS(TBK_INVALID_STATE, fx->core->device_close(fx->self, fx->device, NULL));
}

static void expect_no_message(tbk_fixture_t* fx, const char* function) {
  for (size_t i = 0; i < sizeof fx->error.message; i++)
    if (!CHECK_SAID(fx->error.message[i] == 0x01, "no message", "one of %s", function)) return;
}

/* Again and again: what is there from the first time is found in another way. */
static void opening_and_closing_write_no_message(tbk_fixture_t* fx) {
  for (int round = 0; round < 3; round++) {
    memset(&fx->error, 0x01, sizeof fx->error);
    tbk_status_t status = fx->core->device_open(fx->self, fx->device, &fx->error);
    if (round > 0 && status != TBK_OK) return; /* which DEV-022 is about */
    REQUIRE_OK(status);
    expect_no_message(fx, "device_open");
    CHECK_OK(fx->core->device_close(fx->self, fx->device, &fx->error));
    expect_no_message(fx, "device_close");
  }
}

static void an_open_device_takes_every_call(tbk_fixture_t* fx) {
  tbk_device_properties_t properties = {.struct_size = sizeof properties};
  fx_open(fx);
  EXPECT_WORKS(fx->device);
  CHECK_OK(fx->core->device_properties(fx->self, fx->device, &properties, &fx->error));
  if (TBK_HAS(fx->core, tbk_core_t, memory_info)) {
    uint64_t free_bytes, total_bytes;
    CHECK_OK(fx->core->memory_info(fx->self, fx->device, &free_bytes, &total_bytes, &fx->error));
  }
  if (TBK_HAS(fx->core, tbk_core_t, fill)) {
    CHECK_OK(fx->core->fill(fx->self, fx->device, 0, 0, 1, 0, NULL, &fx->error));
  }
}

static void an_open_device_makes_streams_and_events(tbk_fixture_t* fx) {
  fx_open(fx);
  CHECK(fx_stream(fx) != NULL);
  CHECK(fx_event(fx, 0) != NULL);
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
}

static void an_open_device_gives_pinned_memory(tbk_fixture_t* fx) {
  void* pointer = NULL;
  fx_open(fx);
  TBK_CHECKS("DEV-018");
  CHECK_OK(fx->pinned->pinned_alloc(fx->self, fx->device, 64, &pointer, &fx->error));
  CHECK(pointer != NULL);
  fx->pinned->pinned_free(fx->self, pointer);
}

static void the_second_device_opens_as_the_first(tbk_fixture_t* fx) {
  fx_open(fx);
  int32_t second = fx_second_device(fx);
  EXPECT_WORKS(second);
  EXPECT_WORKS(fx->device);
}

/* ------------------------------------------------------------------------------- not open ------ */

static void memory_needs_an_open_device(tbk_fixture_t* fx) {
  expect_closed(fx, 0);
}

static void closing_needs_an_open_device(tbk_fixture_t* fx) {
  CHECK_STATUS(TBK_INVALID_STATE, fx->core->device_close(fx->self, 0, &fx->error));
  fx_open(fx);
  fx_close(fx);
  CHECK_STATUS(TBK_INVALID_STATE, fx->core->device_close(fx->self, 0, &fx->error));
}

static void memory_info_needs_an_open_device(tbk_fixture_t* fx) {
  uint64_t free_bytes = 11, total_bytes = 13;
  CHECK_STATUS(TBK_INVALID_STATE,
               fx->core->memory_info(fx->self, 0, &free_bytes, &total_bytes, &fx->error));
  CHECK_KEPT("memory_info", free_bytes == 11 && total_bytes == 13);
}

static void streams_need_an_open_device(tbk_fixture_t* fx) {
  tbk_stream_t* untouched = (tbk_stream_t*)(void*)fx;
  tbk_stream_t* stream = untouched;
  CHECK_STATUS(TBK_INVALID_STATE, fx->stream->stream_create(fx->self, 0, 0, &stream, &fx->error));
  CHECK_KEPT("stream_create", stream == untouched);
  CHECK_STATUS(TBK_INVALID_STATE, fx->stream->device_synchronize(fx->self, 0, &fx->error));
}

static void events_need_an_open_device(tbk_fixture_t* fx) {
  tbk_event_t* untouched = (tbk_event_t*)(void*)fx;
  tbk_event_t* event = untouched;
  CHECK_STATUS(TBK_INVALID_STATE, fx->event->event_create(fx->self, 0, 0, &event, &fx->error));
  CHECK_KEPT("event_create", event == untouched);
}

static void pinned_memory_needs_an_open_device(tbk_fixture_t* fx) {
  void* pointer = fx;
  CHECK_STATUS(TBK_INVALID_STATE, fx->pinned->pinned_alloc(fx->self, 0, 64, &pointer, &fx->error));
  CHECK_KEPT("pinned_alloc", pointer == fx);
}

static void a_closed_device_is_as_one_never_opened(tbk_fixture_t* fx) {
  fx_open(fx);
  fx_close(fx);
  expect_closed(fx, 0);
  if (fx->stream != NULL) streams_need_an_open_device(fx);
  if (fx->event != NULL) events_need_an_open_device(fx);
  if (fx->pinned != NULL) pinned_memory_needs_an_open_device(fx);
}

static void each_device_is_opened_for_itself(tbk_fixture_t* fx) {
  fx_open(fx);
  expect_closed(fx, 1);
  CHECK_STATUS(TBK_INVALID_STATE, fx->core->device_close(fx->self, 1, &fx->error));
  EXPECT_WORKS(0);
}

static void closing_one_device_leaves_the_other(tbk_fixture_t* fx) {
  fx_open(fx);
  int32_t second = fx_second_device(fx);
  fx_close(fx);
  EXPECT_WORKS(second);
  expect_closed(fx, 0);
}

/* ------------------------------------------------------------------------------------ close ---- */

static void a_closed_device_can_be_opened_again(tbk_fixture_t* fx) {
  for (int i = 0; i < 3; i++) {
    fx_open(fx);
    EXPECT_WORKS(0);
    fx_close(fx);
  }
  /* At once: patience would hide a library that lets go late. */
  REQUIRE_OK(fx->core->device_open(fx->self, 0, &fx->error));
  CHECK_OK(fx->core->device_close(fx->self, 0, &fx->error));
}

static void a_device_closed_in_use_can_be_opened_again(tbk_fixture_t* fx) {
  fx_open(fx);
  fx_alloc(fx, 4096);
  if (fx->stream != NULL) fx_stream(fx);
  if (fx->event != NULL) fx_event(fx, 0);
  fx_close(fx);
  fx_open(fx);
  EXPECT_WORKS(0);
}

struct closing {
  tbk_fixture_t* fx;
  int32_t device;
  tbk_gate_t gate;
  tbk_stream_t* gone; /* destroyed before the device is closed; may be NULL */
  tbk_status_t status;
  atomic_int ran;
};

static void close_device(void* argument) {
  struct closing* closing = argument;
  tbk_fixture_t* fx = closing->fx;
  if (closing->gone != NULL) gate_stream_goes(fx, &closing->gate, closing->gone);
  closing->status = fx->core->device_close(fx->self, closing->device, &fx->error);
}

static void set_ran(void* argument) {
  atomic_store(&((struct closing*)argument)->ran, 1);
}

static void check_closing(tbk_fixture_t* fx, int32_t device, bool stream_goes) {
  static struct closing closing;
  tbk_stream_t* stream = NULL;
  REQUIRE_OK(fx->stream->stream_create(fx->self, device, 0, &stream, &fx->error));
  closing = (struct closing){.fx = fx, .device = device, .gone = stream_goes ? stream : NULL};
  gate_close_over(fx, &closing.gate, stream, TBK_ENQUEUE_CALLBACK);
  CHECK_OK(fx->callback->callback_enqueue(fx->self, stream, set_ran, &closing, &fx->error));
  CHECK(gate_held(fx, &closing.gate, close_device, &closing));
  CHECK(atomic_load(&closing.ran) == 1);
  CHECK_STATUS(TBK_OK, closing.status);
  if (!stream_goes) fx->stream->stream_destroy(fx->self, stream);
}

static void closing_waits_for_work(tbk_fixture_t* fx) {
  fx_open(fx);
  check_closing(fx, fx->device, false);
  fx_disown_device(fx);
  expect_closed(fx, 0);
}

static void closing_waits_for_work_of_destroyed_streams(tbk_fixture_t* fx) {
  fx_open(fx);
  check_closing(fx, fx->device, true);
  fx_disown_device(fx);
}

static void closing_waits_for_copies(tbk_fixture_t* fx) {
  enum { SIZE = 65536 };
  static struct closing closing;
  closing = (struct closing){.fx = fx};
  tbk_gate_t gate;
  fx_open(fx);
  uint8_t* sent = fx_bytes(fx, SIZE);
  uint8_t* got = fx_zeros(fx, SIZE);
  tbk_memory_t memory = fx_alloc_with(fx, sent, SIZE);
  tbk_stream_t* stream = fx_stream(fx);
  gate_close_over(fx, &gate, stream, TBK_ENQUEUE_DOWNLOAD);
  CHECK_OK(fx->core->download(fx->self, 0, got, memory, 0, SIZE, stream, &fx->error));
  CHECK(gate_held(fx, &gate, close_device, &closing));
  CHECK_BYTES(sent, got, SIZE);
  CHECK_STATUS(TBK_OK, closing.status);
  fx_disown_device(fx);
}

static void closing_the_second_device_waits_for_work(tbk_fixture_t* fx) {
  fx_open(fx);
  check_closing(fx, fx_second_device(fx), false);
  fx->resources->second_open = 0;
}

/* ------------------------------------------------------------------------- errors and others --- */

static void a_device_with_failed_work_is_closed_all_the_same(tbk_fixture_t* fx) {
  fx_open(fx);
  tbk_stream_t* stream = fx_stream(fx);
  CHECK_OK(fx->fault->fault_enqueue(fx->self, stream, TBK_FAULT_WORK_FAILS, &fx->error));
  tbk_status_t status = fx->core->device_close(fx->self, 0, &fx->error);
  CHECK_SAID(status == TBK_OK || status == TBK_FAILED, "OK or FAILED", "%s",
             tbk_status_name(status));
  fx_disown_device(fx);
  expect_closed(fx, 0);
  CHECK_STATUS(TBK_INVALID_STATE, fx->core->device_close(fx->self, 0, &fx->error));
  fx_open(fx);
  EXPECT_WORKS(0);
}

static void a_lost_device_is_closed_all_the_same(tbk_fixture_t* fx) {
  fx_open(fx);
  tbk_stream_t* stream = fx_stream(fx);
  CHECK_OK(fx->fault->fault_enqueue(fx->self, stream, TBK_FAULT_DEVICE_LOST, &fx->error));
  tbk_status_t status = fx->core->device_close(fx->self, 0, &fx->error);
  { /* what a lost device answers; that it is closed comes next */
    TBK_CHECKS("FLT-003");
    CHECK_SAID(status == TBK_OK || status == TBK_DEVICE_LOST, "OK or DEVICE_LOST", "%s",
               tbk_status_name(status));
  }
  fx_disown_device(fx);
  status = fx->core->device_close(fx->self, 0, &fx->error);
  CHECK_SAID(status == TBK_INVALID_STATE || status == TBK_DEVICE_LOST,
             "INVALID_STATE or DEVICE_LOST, because it is closed", "%s", tbk_status_name(status));
}

static int hold_device(tbk_child_t* self, void* argument) {
  tbk_fixture_t* fx = argument;
  if (tbk_open_patiently(fx->core, fx->self, 0, NULL) != TBK_OK) return 1;
  tbk_child_say(self);
  tbk_child_await(self);
  return fx->core->device_close(fx->self, 0, NULL) == TBK_OK ? 0 : 2;
}

struct opening {
  tbk_fixture_t* fx;
  tbk_status_t status;
  tbk_error_t error;
  int thread_id;
  atomic_int began, returned;
};

static void open_device(void* argument) {
  struct opening* opening = argument;
  tbk_fixture_t* fx = opening->fx;
  opening->thread_id = (int)syscall(SYS_gettid);
  tbk_word_set(&opening->began, 1);
  opening->status = fx->core->device_open(fx->self, 0, &opening->error);
  tbk_word_set(&opening->returned, 1);
}

/* A thread that the machine has no time for is not asleep: only one that waits is. */
static bool returns_without_waiting(struct opening* opening) {
  enum { POLL_NS = 1000000, ASLEEP = 2000 };
  tbk_word_wait(&opening->began, FX_PATIENCE_NS);
  for (int asleep = 0; asleep < ASLEEP;) {
    if (tbk_word_wait(&opening->returned, POLL_NS)) return true;
    asleep += tbk_thread_sleeps(opening->thread_id);
  }
  return false;
}

static void expect_unavailable(tbk_fixture_t* fx, tbk_child_t* child) {
  static struct opening opening;
  opening = (struct opening){.fx = fx};
  tbk_thread_t* thread = fx_thread(fx, open_device, &opening);
  CHECK_SAID(returns_without_waiting(&opening), "an answer at once",
             "device_open waits for the other process");
  tbk_child_release(child);
  fx_join(fx, thread);
  tbk_check_status(TBK_UNAVAILABLE, opening.status, &opening.error, TBK_HERE("device_open"));
  tbk_device_forget_held(); /* this refusal was asked for */
  if (opening.status == TBK_OK) CHECK_OK(fx->core->device_close(fx->self, 0, &fx->error));
}

static void a_device_held_by_another_process_is_unavailable(tbk_fixture_t* fx) {
  tbk_child_t child;
  tbk_child_start(fx, &child, hold_device, fx, TBK_CHILD_QUICK_EXIT);
  bool held = tbk_child_heard(&child);
  /* Somebody else may have it. */
  if (!held) CHECK_OK(tbk_device_open_timed(fx->backend, 0, &fx->error));
  CHECK(held);
  if (held) expect_unavailable(fx, &child);
  CHILD_CHECK_END(&child);
  CHECK_OK(tbk_open_patiently(fx->core, fx->self, 0, &fx->error));
  EXPECT_WORKS(0);
  CHECK_OK(fx->core->device_close(fx->self, 0, &fx->error));
}

#define CLOSED TBK_CASE_CLOSED
#define FRESH (TBK_CASE_CLOSED | TBK_CASE_FRESH)

static const tbk_case_t cases[] = {
    TBK_CASE("DEV-017", NULL, CLOSED, opening_twice_is_refused),
    TBK_CASE("DEV-017", NULL, CLOSED, a_refused_opening_is_not_counted),
    TBK_CASE("DEV-017", "two_devices", CLOSED, opening_the_second_device_twice_is_refused),
    TBK_CASE("ERR-010", NULL, CLOSED, opening_and_closing_need_no_place_for_a_message),
    TBK_CASE("ERR-011", NULL, CLOSED, opening_and_closing_write_no_message),
    TBK_CASE("DEV-018", NULL, CLOSED, an_open_device_takes_every_call),
    TBK_CASE("DEV-018", "stream event", CLOSED, an_open_device_makes_streams_and_events),
    TBK_CASE("DEV-018", "pinned", CLOSED, an_open_device_gives_pinned_memory),
    TBK_CASE("DEV-018", "two_devices", CLOSED, the_second_device_opens_as_the_first),
    TBK_CASE("DEV-020", "exclusive", FRESH, a_device_held_by_another_process_is_unavailable),
    TBK_CASE("DEV-021", NULL, CLOSED, memory_needs_an_open_device),
    TBK_CASE("DEV-021", NULL, CLOSED, closing_needs_an_open_device),
    TBK_CASE("DEV-021", "memory_info", CLOSED, memory_info_needs_an_open_device),
    TBK_CASE("DEV-021", "stream", CLOSED, streams_need_an_open_device),
    TBK_CASE("DEV-021", "event", CLOSED, events_need_an_open_device),
    TBK_CASE("DEV-021", "pinned", CLOSED, pinned_memory_needs_an_open_device),
    TBK_CASE("DEV-021", NULL, CLOSED, a_closed_device_is_as_one_never_opened),
    TBK_CASE("DEV-021", "two_devices", CLOSED, each_device_is_opened_for_itself),
    TBK_CASE("DEV-021", "two_devices", CLOSED, closing_one_device_leaves_the_other),
    TBK_CASE("DEV-022", NULL, CLOSED, a_closed_device_can_be_opened_again),
    TBK_CASE("DEV-022", NULL, CLOSED, a_device_closed_in_use_can_be_opened_again),
    TBK_CASE("DEV-023", "stream callback", CLOSED, closing_waits_for_work),
    TBK_CASE("DEV-023", "stream callback", CLOSED, closing_waits_for_work_of_destroyed_streams),
    TBK_CASE("DEV-023", "stream callback", CLOSED, closing_waits_for_copies),
    TBK_CASE("DEV-023", "stream callback two_devices", CLOSED,
             closing_the_second_device_waits_for_work),
    TBK_CASE("DEV-025", "fault", FRESH, a_device_with_failed_work_is_closed_all_the_same),
    TBK_CASE("DEV-025", "fault", FRESH, a_lost_device_is_closed_all_the_same),
};
TBK_SUITE(device_open);
