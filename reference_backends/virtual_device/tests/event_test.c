/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event_test.c: points and events, on one device and between two.
 */
#include "vdev/event.h"

#include "selftest.h"
#include "vdev/words.h"

enum { ROUNDS = 20 };

static vdev_event_t* event_of(vdev_machine_t* machine, int32_t device, bool timed) {
  vdev_event_t* event = NULL;
  CU_ASSERT_EQUAL_FATAL(vdev_event_new(vdev_device_at(machine, device), timed, &event), VDEV_OK);
  return event;
}

static void set_later(void* argument) {
  vdev_sleep_us(200);
  (*(int*)argument)++;
}

typedef struct look {
  const int* at;
  int seen;
} look_t;

static void look(void* argument) {
  look_t* this = argument;
  this->seen = *this->at;
}

/* No lock and no atomic guards `value`: under ThreadSanitizer the edge itself is what is tested. */
static void a_wait_orders_two_devices(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    vdev_stream_t *first = vdev_stream_of(machine, 0), *second = vdev_stream_of(machine, 1);
    vdev_event_t* event = event_of(machine, 0, false);
    int value = 0, wrong = 0;
    for (int i = 1; i <= ROUNDS; i++) {
      look_t seen = {&value, 0};
      vdev_submit_call(first, set_later, &value);
      CU_ASSERT_EQUAL(vdev_event_record(event, first), VDEV_OK);
      CU_ASSERT_EQUAL(vdev_event_wait(second, event), VDEV_OK);
      vdev_submit_call(second, look, &seen);
      CU_ASSERT_EQUAL(vdev_stream_synchronize(second, NULL), VDEV_OK);
      wrong += seen.seen != i;
    }
    CU_ASSERT_EQUAL(wrong, 0);
    vdev_machine_free(machine);
  }
}

static void a_wait_keeps_the_point_it_saw(void) {
  vdev_machine_t* machine = vdev_start("scheduler=threads");
  vdev_stream_t *first = vdev_stream_of(machine, 0), *second = vdev_stream_of(machine, 0);
  vdev_event_t* event = event_of(machine, 0, false);
  vdev_gate_t gate = {0};
  vdev_event_record(event, first);
  vdev_event_wait(second, event);
  vdev_gate_submit(&gate, first);
  vdev_event_record(event, first); /* behind the gate: nothing to the wait */
  CU_ASSERT_EQUAL(vdev_stream_synchronize(second, NULL), VDEV_OK);
  CU_ASSERT_EQUAL(vdev_event_query(event), VDEV_NOT_READY);
  vdev_event_wait(second, event);
  vdev_event_free(event); /* work that waits for its point still does */
  CU_ASSERT_EQUAL(vdev_stream_query(second, NULL), VDEV_NOT_READY);
  vdev_gate_open(&gate);
  CU_ASSERT_EQUAL(vdev_stream_synchronize(second, NULL), VDEV_OK);
  vdev_machine_free(machine);
}

static void what_was_never_recorded_is_complete(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    vdev_stream_t* stream = vdev_stream_of(machine, 0);
    vdev_event_t* event = event_of(machine, 1, true);
    CU_ASSERT_EQUAL(vdev_event_check(event), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_event_query(event), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_event_synchronize(event), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_event_wait(stream, event), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_stream_synchronize(stream, NULL), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_event_record(event, stream), VDEV_INVALID);
    vdev_machine_free(machine);
  }
}

static void events_are_limited(void) {
  vdev_machine_t* machine = vdev_start("devices=1,events=2");
  vdev_event_t *first = event_of(machine, 0, false), *third = NULL;
  event_of(machine, 0, false);
  vdev_device_t* device = vdev_device_at(machine, 0);
  CU_ASSERT_EQUAL(vdev_event_new(device, false, &third), VDEV_NO_ROOM);
  vdev_event_free(first);
  CU_ASSERT_EQUAL(vdev_event_new(device, false, &third), VDEV_OK);
  vdev_device_close(device, NULL);
  CU_ASSERT_EQUAL(vdev_event_new(device, false, &third), VDEV_CLOSED);
  vdev_device_open(device);
  vdev_event_free(third); /* a stale one counts no more */
  event_of(machine, 0, false);
  event_of(machine, 0, false);
  CU_ASSERT_EQUAL(vdev_event_new(device, false, &third), VDEV_NO_ROOM);
  vdev_machine_free(machine);
}

static void time_passes_between_events(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    vdev_stream_t* stream = vdev_stream_of(machine, 0);
    vdev_event_t *start = event_of(machine, 0, true), *end = event_of(machine, 0, true);
    vdev_event_t* untimed = event_of(machine, 0, false);
    int value = 0;
    double ms = -1;
    CU_ASSERT_EQUAL(vdev_event_elapsed(start, end, &ms), VDEV_STATE);
    vdev_event_record(start, stream);
    vdev_event_record(untimed, stream);
    vdev_submit_call(stream, set_later, &value);
    vdev_event_record(end, stream);
    CU_ASSERT_EQUAL(vdev_event_synchronize(end), VDEV_OK);
    CU_ASSERT_EQUAL(value, 1);
    CU_ASSERT_EQUAL(vdev_event_elapsed(start, end, &ms), VDEV_OK);
    CU_ASSERT(ms >= 0.2);
    CU_ASSERT_EQUAL(vdev_event_elapsed(untimed, end, &ms), VDEV_STATE);
    vdev_machine_free(machine);
  }
}

static void what_is_not_complete_has_no_time(void) {
  vdev_machine_t* machine = vdev_start("scheduler=threads");
  vdev_stream_t* stream = vdev_stream_of(machine, 0);
  vdev_event_t *start = event_of(machine, 0, true), *end = event_of(machine, 0, true);
  vdev_point_t* point = NULL;
  vdev_gate_t gate = {0};
  double ms;
  vdev_event_record(start, stream);
  vdev_gate_submit(&gate, stream);
  vdev_event_record(end, stream);
  CU_ASSERT_EQUAL(vdev_point_record(stream, &point), VDEV_OK);
  CU_ASSERT_EQUAL(vdev_event_elapsed(start, end, &ms), VDEV_NOT_READY);
  CU_ASSERT_FALSE(vdev_point_query(point));
  CU_ASSERT_EQUAL(vdev_point_time_ns(point), 0);
  vdev_gate_open(&gate);
  vdev_point_synchronize(point);
  CU_ASSERT_TRUE(vdev_point_query(point));
  CU_ASSERT(vdev_point_time_ns(point) != 0 && vdev_point_time_ns(point) <= vdev_now_ns());
  vdev_point_drop(point);
  vdev_machine_free(machine);
}

CU_TestInfo vdev_event_tests[] = {
    {"a wait orders two devices", a_wait_orders_two_devices},
    {"a wait keeps the point it saw", a_wait_keeps_the_point_it_saw},
    {"what was never recorded is complete", what_was_never_recorded_is_complete},
    {"events are limited", events_are_limited},
    {"time passes between events", time_passes_between_events},
    {"what is not complete has no time", what_is_not_complete_has_no_time},
    CU_TEST_INFO_NULL,
};
