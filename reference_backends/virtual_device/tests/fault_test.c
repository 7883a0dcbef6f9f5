/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fault_test.c: faults that are told once, those that stick, and devices that are lost.
 */
#include "selftest.h"
#include "vdev/event.h"
#include "vdev/words.h"

enum { CODE = 77 };

static void add_one(void* argument) {
  (*(int*)argument)++;
}

static void a_fault_is_told_once_by_its_stream(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    vdev_stream_t *first = vdev_stream_of(machine, 0), *second = vdev_stream_of(machine, 0);
    int code = 0, ran = 0;
    CU_ASSERT_EQUAL(vdev_submit_fault(first, VDEV_FAULT_ONCE, CODE), VDEV_OK);
    vdev_submit_call(first, add_one, &ran);
    while (vdev_stream_query(first, &code) == VDEV_NOT_READY)
      continue;
    CU_ASSERT_EQUAL(vdev_stream_query(first, &code), VDEV_FAILED);
    CU_ASSERT(code == CODE && ran == 1);
    CU_ASSERT_EQUAL(vdev_stream_synchronize(second, &code), VDEV_OK);
    code = 0;
    CU_ASSERT_EQUAL(vdev_stream_synchronize(first, &code), VDEV_FAILED);
    CU_ASSERT_EQUAL(code, CODE);
    CU_ASSERT_EQUAL(vdev_stream_synchronize(first, &code), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_device_synchronize(vdev_device_at(machine, 0), &code), VDEV_OK);
    vdev_machine_free(machine);
  }
}

static void a_device_tells_what_its_streams_did_not(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    vdev_stream_t *first = vdev_stream_of(machine, 0), *second = vdev_stream_of(machine, 0);
    vdev_device_t* device = vdev_device_at(machine, 0);
    int code = 0;
    vdev_submit_fault(first, VDEV_FAULT_ONCE, CODE);
    vdev_stream_drop(first);
    CU_ASSERT_EQUAL(vdev_device_synchronize(device, &code), VDEV_FAILED);
    CU_ASSERT_EQUAL(code, CODE);
    CU_ASSERT_EQUAL(vdev_device_synchronize(device, NULL), VDEV_OK);
    vdev_submit_fault(second, VDEV_FAULT_ONCE, CODE + 1);
    CU_ASSERT_EQUAL(vdev_device_close(device, &code), VDEV_FAILED);
    CU_ASSERT_EQUAL(code, CODE + 1);
    vdev_stream_drop(second);
    CU_ASSERT_EQUAL(vdev_device_open(device), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_device_synchronize(device, NULL), VDEV_OK);
    vdev_machine_free(machine);
  }
}

/* Told by every stream of the device, and by no other device, until it is closed. */
static void expect_stuck(vdev_machine_t* machine, vdev_stream_t* other) {
  vdev_device_t* device = vdev_device_at(machine, 0);
  for (int i = 0; i < 3; i++) {
    int code = 0;
    CU_ASSERT_EQUAL(vdev_device_synchronize(device, &code), VDEV_FAILED);
    CU_ASSERT_EQUAL(code, CODE);
    CU_ASSERT_EQUAL(vdev_stream_synchronize(other, &code), VDEV_FAILED);
  }
  CU_ASSERT_EQUAL(vdev_device_synchronize(vdev_device_at(machine, 1), NULL), VDEV_OK);
  CU_ASSERT_EQUAL(vdev_device_close(device, NULL), VDEV_FAILED);
  CU_ASSERT_EQUAL(vdev_device_open(device), VDEV_OK);
  CU_ASSERT_EQUAL(vdev_device_synchronize(device, NULL), VDEV_OK);
}

static void a_sticky_fault_stays(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    vdev_submit_fault(vdev_stream_of(machine, 0), VDEV_FAULT_STICKY, CODE);
    expect_stuck(machine, vdev_stream_of(machine, 0));
    vdev_machine_free(machine);
  }
  vdev_machine_t* machine = vdev_start("sticky=1");
  vdev_submit_fault(vdev_stream_of(machine, 0), VDEV_FAULT_ONCE, CODE);
  expect_stuck(machine, vdev_stream_of(machine, 0));
  vdev_machine_free(machine);
}

typedef struct trap_work {
  vdev_work_t work;
  vdev_stream_t* stream;
} trap_work_t;

static void trap(vdev_work_t* work) {
  vdev_stream_fail(((trap_work_t*)work)->stream, VDEV_FAULT_ONCE, CODE);
}

static void work_may_fail_by_itself(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    trap_work_t* work = vdev_work_new(sizeof *work, trap);
    vdev_stream_t* stream = work->stream = vdev_stream_of(machine, 0);
    int code = 0;
    vdev_submit(stream, work);
    CU_ASSERT_EQUAL(vdev_stream_synchronize(stream, &code), VDEV_FAILED);
    CU_ASSERT_EQUAL(code, CODE);
    vdev_machine_free(machine);
  }
}

typedef struct count_work {
  vdev_work_t work;
  int *ran, *dropped;
} count_work_t;

static void count_run(vdev_work_t* work) {
  (*((count_work_t*)work)->ran)++;
}

static void count_drop(vdev_work_t* work) {
  __atomic_fetch_add(((count_work_t*)work)->dropped, 1, __ATOMIC_RELAXED);
}

static void submit_count(vdev_stream_t* stream, int* ran, int* dropped, bool always) {
  count_work_t* work = vdev_work_new(sizeof *work, count_run);
  work->work.drop = count_drop;
  work->work.always = always;
  work->ran = ran;
  work->dropped = dropped;
  CU_ASSERT_EQUAL(vdev_submit(stream, work), VDEV_OK);
}

static void a_lost_device_drops_its_work(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    vdev_stream_t* stream = vdev_stream_of(machine, 0);
    vdev_device_t* device = vdev_device_at(machine, 0);
    vdev_point_t* point = NULL;
    int ran = 0, dropped = 0, ran_always = 0;
    CU_ASSERT_EQUAL(vdev_submit_fault(stream, VDEV_FAULT_LOSS, CODE), VDEV_OK);
    submit_count(stream, &ran, &dropped, false);
    submit_count(stream, &ran_always, &dropped, true);
    CU_ASSERT_EQUAL(vdev_point_record(stream, &point), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_stream_synchronize(stream, NULL), VDEV_LOST);
    vdev_point_synchronize(point);
    CU_ASSERT(ran == 0 && dropped == 2 && ran_always == 1);
    vdev_point_drop(point);
    CU_ASSERT_EQUAL(vdev_stream_check(stream), VDEV_LOST);
    CU_ASSERT_EQUAL(vdev_device_synchronize(device, NULL), VDEV_LOST);
    CU_ASSERT_EQUAL(vdev_device_check(vdev_device_at(machine, 1)), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_device_close(device, NULL), VDEV_LOST);
    CU_ASSERT_EQUAL(vdev_device_open(device), VDEV_LOST);
    vdev_machine_free(machine);
  }
}

/* Nobody asks for the work here; ten seconds are for a machine that is busy. */
static bool becomes_one(const int* count) {
  for (int i = 0; i < 100000 && __atomic_load_n(count, __ATOMIC_RELAXED) == 0; i++)
    vdev_sleep_us(100);
  return __atomic_load_n(count, __ATOMIC_RELAXED) == 1;
}

/* What waits for a point that another device holds is set free when its own device is lost. */
static void a_loss_frees_what_waits(void) {
  vdev_machine_t* machine = vdev_start("scheduler=threads");
  vdev_stream_t *holder = vdev_stream_of(machine, 0), *waiter = vdev_stream_of(machine, 1);
  vdev_event_t* event = NULL;
  vdev_gate_t gate = {0};
  int ran = 0, dropped = 0;
  vdev_event_new(vdev_device_at(machine, 0), false, &event);
  CU_ASSERT_EQUAL(vdev_submit_call(waiter, add_one, &ran), VDEV_OK);
  CU_ASSERT_EQUAL(vdev_stream_synchronize(waiter, NULL), VDEV_OK);
  vdev_gate_submit(&gate, holder);
  vdev_event_record(event, holder);
  vdev_event_wait(waiter, event);
  submit_count(waiter, &ran, &dropped, false);
  vdev_sleep_us(5000); /* so that most likely it waits already */
  vdev_device_lose(vdev_device_at(machine, 1));
  CU_ASSERT(becomes_one(&dropped));
  CU_ASSERT_EQUAL(vdev_stream_synchronize(waiter, NULL), VDEV_LOST);
  CU_ASSERT(ran == 1 && dropped == 1);
  CU_ASSERT_EQUAL(vdev_event_query(event), VDEV_NOT_READY);
  vdev_gate_open(&gate);
  CU_ASSERT_EQUAL(vdev_event_synchronize(event), VDEV_OK);
  vdev_machine_free(machine);
}

CU_TestInfo vdev_fault_tests[] = {
    {"a fault is told once by its stream", a_fault_is_told_once_by_its_stream},
    {"a device tells what its streams did not", a_device_tells_what_its_streams_did_not},
    {"a sticky fault stays", a_sticky_fault_stays},
    {"work may fail by itself", work_may_fail_by_itself},
    {"a lost device drops its work", a_lost_device_drops_its_work},
    {"a loss frees what waits", a_loss_frees_what_waits},
    CU_TEST_INFO_NULL,
};
