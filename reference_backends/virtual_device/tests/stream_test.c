/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream_test.c: work, its order, and each way of running it.
 */
#include "vdev/stream.h"

#include <stdlib.h>
#include <string.h>

#include "selftest.h"
#include "vdev/words.h"

enum { PIECES = 40, STREAMS = 4 };

/* What ran, in order; only one piece runs at a time where this is used. */
typedef struct trace {
  int count;
  int seen[STREAMS * PIECES];
} trace_t;

typedef struct mark_work {
  vdev_work_t work;
  trace_t* trace;
  int value;
  int* dropped; /* atomic */
} mark_work_t;

static void mark(vdev_work_t* work) {
  const mark_work_t* this = (const mark_work_t*)work;
  this->trace->seen[this->trace->count++] = this->value;
}

static void count_drop(vdev_work_t* work) {
  __atomic_fetch_add(((mark_work_t*)work)->dropped, 1, __ATOMIC_RELAXED);
}

static mark_work_t* new_mark(trace_t* trace, int value, int* dropped) {
  mark_work_t* work = vdev_work_new(sizeof *work, mark);
  work->work.drop = count_drop;
  work->trace = trace;
  work->value = value;
  work->dropped = dropped;
  return work;
}

static void a_stream_runs_in_order(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    vdev_stream_t* stream = vdev_stream_of(machine, 0);
    trace_t trace = {0};
    int dropped = 0, wrong = 0;
    for (int i = 0; i < PIECES; i++)
      CU_ASSERT_EQUAL(vdev_submit(stream, new_mark(&trace, i, &dropped)), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_stream_synchronize(stream, NULL), VDEV_OK);
    for (int i = 0; i < PIECES; i++)
      wrong += trace.seen[i] != i;
    CU_ASSERT(trace.count == PIECES && dropped == PIECES && wrong == 0);
    CU_ASSERT_EQUAL(vdev_stream_query(stream, NULL), VDEV_OK);
    vdev_stream_drop(stream);
    vdev_machine_free(machine);
  }
}

static void without_a_stream_it_runs_at_once(void) {
  trace_t trace = {0};
  int dropped = 0;
  CU_ASSERT_EQUAL(vdev_submit(NULL, new_mark(&trace, 1, &dropped)), VDEV_OK);
  CU_ASSERT(trace.count == 1 && dropped == 1);
  CU_ASSERT_EQUAL(vdev_submit(NULL, NULL), VDEV_NO_ROOM);
}

static void a_stale_stream_drops_work(void) {
  vdev_machine_t* machine = vdev_start("devices=1");
  vdev_stream_t* stream = vdev_stream_of(machine, 0);
  vdev_point_t* point = NULL;
  trace_t trace = {0};
  int dropped = 0;
  vdev_device_close(vdev_device_at(machine, 0), NULL);
  CU_ASSERT_EQUAL(vdev_submit(stream, new_mark(&trace, 1, &dropped)), VDEV_CLOSED);
  CU_ASSERT(trace.count == 0 && dropped == 1);
  CU_ASSERT_EQUAL(vdev_point_record(stream, &point), VDEV_CLOSED);
  CU_ASSERT_EQUAL(vdev_point_wait(stream, NULL), VDEV_CLOSED);
  CU_ASSERT_EQUAL(vdev_submit_fault(stream, VDEV_FAULT_ONCE, 1), VDEV_CLOSED);
  vdev_stream_drop(stream);
  vdev_machine_free(machine);
}

/* Copies and fills of device memory go through the alias, in the stream's order. */
static void memory_moves_in_order(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    vdev_stream_t* stream = vdev_stream_of(machine, 1);
    vdev_arena_t* arena = vdev_device_arena(vdev_device_at(machine, 1));
    char* at = vdev_arena_at(arena, vdev_arena_take(arena, 64), 0, 64);
    char from[64], to[64] = "";
    memset(from, 5, sizeof from);
    CU_ASSERT_EQUAL(vdev_submit_copy(stream, at, from, 64), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_submit_fill(stream, at + 32, 9, 16), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_submit_copy(stream, to, at, 64), VDEV_OK);
    CU_ASSERT_EQUAL(vdev_device_synchronize(vdev_device_at(machine, 1), NULL), VDEV_OK);
    CU_ASSERT(to[31] == 5 && to[32] == 9 && to[47] == 9 && to[48] == 5);
    vdev_machine_free(machine);
  }
}

static void work_goes_on_when_its_stream_is_dropped(void) {
  for (const char* const* way = vdev_ways; *way; way++) {
    vdev_machine_t* machine = vdev_start(*way);
    trace_t trace = {0};
    int dropped = 0;
    for (int i = 0; i < PIECES; i++) {
      vdev_stream_t* stream = vdev_stream_of(machine, 0);
      CU_ASSERT_PTR_EQUAL(vdev_stream_keep(stream), stream);
      vdev_submit(stream, new_mark(&trace, i, &dropped));
      vdev_stream_drop(stream);
      CU_ASSERT_EQUAL(vdev_stream_synchronize(stream, NULL), VDEV_OK);
      vdev_submit(stream, new_mark(&trace, i, &dropped));
      vdev_stream_drop(stream);
      CU_ASSERT_EQUAL(vdev_device_synchronize(vdev_device_at(machine, 0), NULL), VDEV_OK);
    }
    CU_ASSERT(trace.count == 2 * PIECES && dropped == 2 * PIECES);
    vdev_machine_free(machine);
  }
}

static void submitted_work_may_be_asked_for(void) {
  vdev_machine_t* machine = vdev_start("scheduler=threads");
  vdev_stream_t* stream = vdev_stream_of(machine, 0);
  vdev_gate_t gate = {0};
  vdev_gate_submit(&gate, stream);
  CU_ASSERT_EQUAL(vdev_stream_query(stream, NULL), VDEV_NOT_READY);
  vdev_gate_open(&gate);
  CU_ASSERT_EQUAL(vdev_stream_synchronize(stream, NULL), VDEV_OK);
  vdev_machine_free(machine);
}

static void lazy_work_waits_until_it_is_asked_for(void) {
  vdev_machine_t* machine = vdev_start("policy=lazy");
  vdev_stream_t *first = vdev_stream_of(machine, 0), *second = vdev_stream_of(machine, 1);
  vdev_point_t* point = NULL;
  trace_t trace = {0};
  int dropped = 0;
  vdev_submit(first, new_mark(&trace, 1, &dropped));
  CU_ASSERT_EQUAL(vdev_point_record(first, &point), VDEV_OK);
  CU_ASSERT_EQUAL(vdev_point_wait(second, point), VDEV_OK);
  vdev_sleep_us(3000);
  CU_ASSERT_EQUAL(__atomic_load_n(&dropped, __ATOMIC_RELAXED), 0);
  CU_ASSERT_EQUAL(vdev_stream_synchronize(second, NULL), VDEV_OK); /* asks for the first, too */
  CU_ASSERT(trace.count == 1);
  vdev_point_drop(point);
  vdev_machine_free(machine);
}

static void inline_work_is_over_at_once(void) {
  vdev_machine_t* machine = vdev_start("policy=inline");
  trace_t trace = {0};
  int dropped = 0;
  vdev_submit(vdev_stream_of(machine, 0), new_mark(&trace, 1, &dropped));
  CU_ASSERT(trace.count == 1 && dropped == 1);
  vdev_machine_free(machine);
}

/* Fills `trace` with the order in which a seeded machine runs the work of several streams. */
static void replay(const char* options, trace_t* trace) {
  vdev_machine_t* machine = vdev_start(options);
  vdev_stream_t* streams[STREAMS];
  vdev_gate_t gate = {0};
  int dropped = 0;
  memset(trace, 0, sizeof *trace);
  for (int i = 0; i < STREAMS; i++)
    streams[i] = vdev_stream_of(machine, i % 2);
  vdev_gate_submit(&gate, streams[0]);
  vdev_gate_reach(&gate, streams[0]); /* so that all is there before anything is chosen */
  for (int i = 0; i < STREAMS * PIECES; i++)
    vdev_submit(streams[i % STREAMS], new_mark(trace, i, &dropped));
  vdev_gate_open(&gate);
  for (int i = 0; i < STREAMS; i++)
    CU_ASSERT_EQUAL(vdev_stream_synchronize(streams[i], NULL), VDEV_OK);
  CU_ASSERT_EQUAL(trace->count, STREAMS * PIECES);
  vdev_machine_free(machine);
}

static void a_seed_replays(void) {
  static const char* const pairs[][2] = {
      {"scheduler=seeded,seed=1", "scheduler=seeded,seed=2"},
      {"policy=shuffled,seed=1", "policy=shuffled,seed=2"},
  };
  for (int i = 0; i < 2; i++) {
    trace_t first, again, other;
    replay(pairs[i][0], &first);
    replay(pairs[i][0], &again);
    replay(pairs[i][1], &other);
    CU_ASSERT_EQUAL(memcmp(&first, &again, sizeof first), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(&first, &other, sizeof first), 0);
  }
}

CU_TestInfo vdev_stream_tests[] = {
    {"a stream runs in order", a_stream_runs_in_order},
    {"without a stream it runs at once", without_a_stream_it_runs_at_once},
    {"a stale stream drops work", a_stale_stream_drops_work},
    {"memory moves in order", memory_moves_in_order},
    {"work goes on when its stream is dropped", work_goes_on_when_its_stream_is_dropped},
    {"submitted work may be asked for", submitted_work_may_be_asked_for},
    {"lazy work waits until it is asked for", lazy_work_waits_until_it_is_asked_for},
    {"inline work is over at once", inline_work_is_over_at_once},
    {"a seed replays", a_seed_replays},
    CU_TEST_INFO_NULL,
};
