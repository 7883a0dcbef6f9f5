/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Work that fails. An error may appear earlier than at a synchronize, and again later.
 */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "fault_lost.h"
#include "order.h"

enum { UNKNOWN_KINDS = 3, FAULT_ROUNDS = 4 };

static void refuses_null_and_unknown_kinds(tbk_fixture_t* fx) {
  const int32_t unknown[UNKNOWN_KINDS] = {-1, TBK_FAULT_DEVICE_LOST + 1, INT32_MAX};
  tbk_stream_t* stream = fx_stream(fx);
  const tbk_fault_ops_t* fault = fx->fault;
  CHECK_STATUS(TBK_INVALID, fault->fault_enqueue(fx->self, NULL, TBK_FAULT_WORK_FAILS, &fx->error));
  CHECK_STATUS(TBK_INVALID,
               fault->fault_enqueue(fx->self, NULL, TBK_FAULT_DEVICE_LOST, &fx->error));
  for (int i = 0; i < UNKNOWN_KINDS; ++i)
    CHECK_STATUS(TBK_INVALID, fault->fault_enqueue(fx->self, stream, unknown[i], &fx->error));
  CHECK_OK(fx->stream->stream_synchronize(fx->self, stream, &fx->error));
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
}

/* What has been told may be told again. A device that is lost by it breaks FLT-002, whoever tells. */
static void check_told(bool told, tbk_status_t status, const char* expected, int failure,
                       tbk_here_t here) {
  TBK_CHECKS(status == TBK_DEVICE_LOST ? "FLT-002" : NULL);
  tbk_check_said(status == TBK_FAILED || (told && status == TBK_OK), here, expected,
                 "%s for failure %d", tbk_status_name(status), failure);
}

/* Of one failure after another, counted from 0. */
#define CHECK_TOLD_OF(round, told, status, call)                                              \
  check_told((told), (status),                                                                \
             (told) ? "OK, or FAILED again, from " call : "FAILED, at the latest from " call, \
             (round) + 1, TBK_HERE(#status))
#define CHECK_TOLD(told, status) CHECK_TOLD_OF(0, told, status, "a synchronize")
#define CHECK_MAY_TELL(status) \
  check_told(true, (status), "OK, or already FAILED", 1, TBK_HERE(#status))

/* Enqueues work that fails; true if the call itself told so already. */
static bool fail_on(tbk_fixture_t* fx, tbk_stream_t* stream) {
  tbk_status_t status =
      fx->fault->fault_enqueue(fx->self, stream, TBK_FAULT_WORK_FAILS, &fx->error);
  CHECK_MAY_TELL(status);
  return status == TBK_FAILED;
}

/* The same error may be reported again, so a synchronize may fail; the bytes may not. */
static void new_work_is_right(tbk_fixture_t* fx, tbk_stream_t* stream) {
  uint64_t size_bytes = fx_round(fx, 256);
  const tbk_core_t* core = fx->core;
  uint8_t* bytes = fx_bytes(fx, size_bytes);
  tbk_memory_t first = fx_alloc(fx, size_bytes);
  tbk_memory_t second = fx_alloc(fx, size_bytes);
  CHECK_OK(core->upload(fx->self, fx->device, first, 0, bytes, size_bytes, stream, &fx->error));
  CHECK_OK(core->copy(fx->self, fx->device, second, 0, first, 0, size_bytes, stream, &fx->error));
  if (stream != NULL) {
    tbk_status_t status = fx->stream->stream_synchronize(fx->self, stream, &fx->error);
    CHECK_MAY_TELL(status);
  }
  FX_CHECK_MEMORY(fx, bytes, second, size_bytes);
}

static void a_refused_fault_changes_nothing(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  CHECK_STATUS(TBK_INVALID, fx->fault->fault_enqueue(fx->self, stream, -1, &fx->error));
  CHECK_OK(fx->stream->stream_synchronize(fx->self, stream, &fx->error));
  bool told = fail_on(fx, stream);
  CHECK_STATUS(TBK_INVALID, fx->fault->fault_enqueue(fx->self, NULL, 0, &fx->error));
  tbk_status_t status = fx->stream->stream_synchronize(fx->self, stream, &fx->error);
  CHECK_TOLD(told, status);
  new_work_is_right(fx, stream);
}

enum { FAULT_THREADS = 2, FAULTS_OF_EACH = 12 };

typedef struct fault_worker {
  tbk_fixture_t fx; /* for an error buffer of its own */
  tbk_stream_t* stream;
  atomic_int* waiting;
} fault_worker_t;

static void enqueue_faults(void* argument) {
  fault_worker_t* worker = argument;
  atomic_fetch_sub(worker->waiting, 1);
  while (atomic_load(worker->waiting) > 0)
    sched_yield();
  for (int i = 0; i < FAULTS_OF_EACH; i++) {
    tbk_fixture_t* fx = &worker->fx;
    CHECK_STATUS(TBK_INVALID, fx->fault->fault_enqueue(fx->self, worker->stream, -1, &fx->error));
  }
  (void)fail_on(&worker->fx, worker->stream);
}

static void threads_enqueue_faults_at_the_same_time(tbk_fixture_t* fx) {
  fault_worker_t workers[FAULT_THREADS];
  tbk_thread_t* threads[FAULT_THREADS];
  atomic_int waiting = FAULT_THREADS;
  for (int i = 0; i < FAULT_THREADS; i++)
    workers[i] = (fault_worker_t){*fx, fx_stream(fx), &waiting};
  for (int i = 0; i < FAULT_THREADS; i++)
    threads[i] = fx_thread(fx, enqueue_faults, &workers[i]);
  for (int i = 0; i < FAULT_THREADS; i++)
    fx_join(fx, threads[i]);
  for (int i = 0; i < FAULT_THREADS; i++)
    (void)!fx->stream->stream_synchronize(fx->self, workers[i].stream, &fx->error);
  new_work_is_right(fx, workers[0].stream);
}

/* A device that does everything at once may tell of it at once. */
static void a_fault_needs_no_place_for_a_message(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  tbk_status_t status = fx->fault->fault_enqueue(fx->self, stream, TBK_FAULT_WORK_FAILS, NULL);
  CHECK_SAID(status == TBK_OK || status == TBK_FAILED, "OK, or FAILED", "%s",
             tbk_status_name(status));
  CHECK_STATUS(TBK_INVALID, fx->fault->fault_enqueue(fx->self, stream, -1, NULL));
  (void)!fx->stream->stream_synchronize(fx->self, stream, NULL);
}

static void a_fault_that_is_enqueued_writes_no_message(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  memset(&fx->error, 0x01, sizeof fx->error);
  tbk_status_t status =
      fx->fault->fault_enqueue(fx->self, stream, TBK_FAULT_WORK_FAILS, &fx->error);
  for (size_t i = 0; status == TBK_OK && i < sizeof fx->error.message; i++)
    CHECK(fx->error.message[i] == 0x01);
  CHECK_MAY_TELL(status);
  (void)!fx->stream->stream_synchronize(fx->self, stream, &fx->error);
}

static void failed_work_leaves_the_device_usable(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  tbk_stream_t* other = fx_stream(fx);
  for (int round = 0; round < FAULT_ROUNDS; ++round) {
    bool told = fail_on(fx, stream);
    tbk_status_t status = fx->stream->stream_synchronize(fx->self, stream, &fx->error);
    CHECK_TOLD_OF(round, told, status, "stream_synchronize");
    new_work_is_right(fx, NULL);
    new_work_is_right(fx, stream);
    new_work_is_right(fx, other);
    new_work_is_right(fx, fx_stream(fx));
  }
}

/* ---------------------------------------------------------------------------- where it is told -- */

static void stream_synchronize_tells_of_failed_work(tbk_fixture_t* fx) {
  for (int round = 0; round < FAULT_ROUNDS; ++round) {
    tbk_stream_t* stream = fx_stream(fx);
    bool told = fail_on(fx, stream);
    tbk_status_t status = fx->stream->stream_synchronize(fx->self, stream, &fx->error);
    CHECK_TOLD_OF(round, told, status, "stream_synchronize");
  }
}

/* The failure is on each of several streams in turn, and followed by other work. */
static void device_synchronize_tells_of_failed_work(tbk_fixture_t* fx) {
  tbk_stream_t* streams[FAULT_ROUNDS];
  for (int i = 0; i < FAULT_ROUNDS; ++i)
    streams[i] = fx_stream(fx);
  for (int i = 0; i < FAULT_ROUNDS; ++i) {
    bool told = fail_on(fx, streams[i]);
    tbk_status_t status = fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
    CHECK_TOLD_OF(i, told, status, "device_synchronize");
  }
}

/* Nobody has asked the stream, whose work has failed by then, or is about to. */
static void failures_of_streams_that_are_gone_are_told(tbk_fixture_t* fx) {
  for (int round = 0; round < FAULT_ROUNDS; ++round) {
    tbk_stream_t* stream = NULL;
    REQUIRE_OK(fx->stream->stream_create(fx->self, fx->device, 0, &stream, &fx->error));
    bool told = fail_on(fx, stream);
    if (round % 2 != 0) process_settle();
    fx->stream->stream_destroy(fx->self, stream);
    tbk_status_t status = fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
    CHECK_TOLD_OF(round, told, status, "device_synchronize, once the stream is destroyed");
  }
}

static void failure_comes_with_a_reason(tbk_fixture_t* fx) {
  tbk_error_t error;
  tbk_stream_t* stream = fx_stream(fx);
  memset(&error, 0x01, sizeof error);
  tbk_status_t status = fx->fault->fault_enqueue(fx->self, stream, TBK_FAULT_WORK_FAILS, &error);
  if (status == TBK_OK) status = fx->stream->stream_synchronize(fx->self, stream, &error);
  CHECK_ANSWER(TBK_FAILED, status);
  CHECK(memchr(error.message, '\0', sizeof error.message) != NULL);
  CHECK(error.message[0] != '\0' && error.message[0] != 0x01);
}

/* A question need not tell, but it must come to an end; then the synchronize has to tell. */
static void stream_query_comes_to_an_end_after_a_failure(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  tbk_status_t status = TBK_NOT_READY;
  tbk_stream_t* stream = fx_stream(fx);
  gate_close_over(fx, &gate, stream, 0);
  bool told = fail_on(fx, stream);
  gate_open(fx, &gate);
  CHECK_SAID(fx_poll_stream(fx, stream, &status), "an answer", "NOT_READY for ever");
  CHECK_MAY_TELL(status);
  told = told || status == TBK_FAILED;
  status = fx->stream->stream_synchronize(fx->self, stream, &fx->error);
  CHECK_TOLD(told, status);
  CHECK(fx_poll_stream(fx, stream, &status));
}

static void event_query_comes_to_an_end_after_a_failure(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  tbk_status_t status = TBK_NOT_READY;
  tbk_stream_t* stream = fx_stream(fx);
  tbk_event_t* event = fx_event(fx, 0);
  gate_close_over(fx, &gate, stream, TBK_ENQUEUE_RECORD);
  bool told = fail_on(fx, stream);
  tbk_status_t recorded = fx->event->event_record(fx->self, event, stream, &fx->error);
  CHECK(recorded == TBK_OK || (!gate_is_closed(&gate) && recorded == TBK_FAILED));
  gate_open(fx, &gate);
  CHECK_SAID(fx_poll_event(fx, event, &status), "an answer", "NOT_READY for ever");
  CHECK_MAY_TELL(status);
  told = told || status == TBK_FAILED || recorded == TBK_FAILED;
  status = fx->stream->stream_synchronize(fx->self, stream, &fx->error);
  CHECK_TOLD(told, status);
}

static void event_synchronize_or_a_later_one_tells(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  tbk_event_t* event = fx_event(fx, 0);
  for (int round = 0; round < FAULT_ROUNDS; ++round) {
    bool told = fail_on(fx, stream);
    tbk_status_t recorded = fx->event->event_record(fx->self, event, stream, &fx->error);
    tbk_status_t here = fx->event->event_synchronize(fx->self, event, &fx->error);
    tbk_status_t later = fx->stream->stream_synchronize(fx->self, stream, &fx->error);
    CHECK_MAY_TELL(here);
    CHECK_MAY_TELL(later);
    told = told || recorded == TBK_FAILED || here == TBK_FAILED || later == TBK_FAILED;
    CHECK_SAID(told, "FAILED from event_synchronize, or from stream_synchronize after it",
               "neither, for failure %d", round + 1);
  }
}

/* ----------------------------------------------------------------------------- not too early -- */

typedef struct held_call {
  tbk_fixture_t* fx;
  tbk_stream_t* stream;
  tbk_event_t* event;
  tbk_status_t status;
} held_call_t;

static void wait_for_stream(void* argument) {
  held_call_t* call = argument;
  tbk_fixture_t* fx = call->fx;
  call->status = fx->stream->stream_synchronize(fx->self, call->stream, &fx->error);
}

static void wait_for_device(void* argument) {
  held_call_t* call = argument;
  tbk_fixture_t* fx = call->fx;
  call->status = fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
}

static void wait_for_event(void* argument) {
  held_call_t* call = argument;
  tbk_fixture_t* fx = call->fx;
  call->status = fx->event->event_synchronize(fx->self, call->event, &fx->error);
}

static void stream_synchronize_waits_for_work_that_will_fail(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  held_call_t call = {.fx = fx, .stream = fx_stream(fx)};
  gate_close_over(fx, &gate, call.stream, 0);
  bool told = fail_on(fx, call.stream);
  CHECK(gate_held(fx, &gate, wait_for_stream, &call));
  gate_open(fx, &gate);
  CHECK_TOLD(told, call.status);
}

/* One stream has failed already while another is still held: no reason to return. */
static void device_synchronize_waits_for_the_others_after_a_failure(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  held_call_t call = {.fx = fx, .stream = fx_stream(fx)};
  tbk_stream_t* failing = fx_stream(fx);
  gate_close_over(fx, &gate, call.stream, 0);
  bool told = fail_on(fx, failing);
  process_settle();
  CHECK(gate_held(fx, &gate, wait_for_device, &call));
  gate_open(fx, &gate);
  CHECK_TOLD(told, call.status);
}

static void event_synchronize_waits_for_work_that_will_fail(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  held_call_t call = {.fx = fx, .stream = fx_stream(fx), .event = fx_event(fx, 0)};
  gate_close_over(fx, &gate, call.stream, TBK_ENQUEUE_RECORD);
  (void)fail_on(fx, call.stream);
  tbk_status_t recorded = fx->event->event_record(fx->self, call.event, call.stream, &fx->error);
  CHECK(recorded == TBK_OK || (!gate_is_closed(&gate) && recorded == TBK_FAILED));
  CHECK(gate_held(fx, &gate, wait_for_event, &call));
  gate_open(fx, &gate);
  CHECK_MAY_TELL(call.status);
}

/* --------------------------------------------------------------------------------- its place -- */

/* Held before it fails; and what was enqueued before the failure is done. */
static void failure_keeps_its_place_in_the_stream(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  tbk_stream_t* stream = fx_stream(fx);
  uint64_t size_bytes = fx_round(fx, 256);
  uint8_t* bytes = fx_bytes(fx, size_bytes);
  tbk_memory_t source = fx_alloc_with(fx, bytes, size_bytes);
  tbk_memory_t target = fx_alloc(fx, size_bytes);
  gate_close_over(fx, &gate, stream, TBK_ENQUEUE_COPY);
  CHECK_OK(
      fx->core->copy(fx->self, fx->device, target, 0, source, 0, size_bytes, stream, &fx->error));
  bool told = fail_on(fx, stream);
  process_settle();
  for (int i = 0; i < 16 && gate_is_closed(&gate); ++i) {
    tbk_status_t early = fx->stream->stream_query(fx->self, stream, &fx->error);
    CHECK_SAID(!gate_is_closed(&gate) || early == TBK_NOT_READY,
               "NOT_READY: what comes before the failure is held", "%s", tbk_status_name(early));
  }
  gate_open(fx, &gate);
  tbk_status_t status = fx->stream->stream_synchronize(fx->self, stream, &fx->error);
  CHECK_TOLD(told, status);
  FX_CHECK_MEMORY(fx, bytes, source, size_bytes);
  FX_CHECK_MEMORY(fx, bytes, target, size_bytes);
}

static void failure_is_of_its_own_device(tbk_fixture_t* fx) {
  int32_t first = fx->device;
  tbk_stream_t* stream = fx_stream(fx);
  fx_use_device(fx, fx_second_device(fx));
  tbk_stream_t* remote = fx_stream(fx);
  (void)fail_on(fx, stream);
  order_stream_works(fx, remote);
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
  fx_use_device(fx, first);
  (void)!fx->stream->stream_synchronize(fx->self, stream, &fx->error);
  fx_use_device(fx, fx_second_device(fx));
  order_stream_works(fx, remote);
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
  fx_use_device(fx, first);
}

/* clang-format off */
static const tbk_case_t cases[] = {
    TBK_CASE("FLT-001", "fault", TBK_CASE_FRESH, refuses_null_and_unknown_kinds),
    TBK_CASE("ERR-001", "fault", TBK_CASE_FRESH, a_refused_fault_changes_nothing),
    TBK_CASE("THR-001", "fault", TBK_CASE_FRESH, threads_enqueue_faults_at_the_same_time),
    TBK_CASE("ERR-010", "fault", TBK_CASE_FRESH, a_fault_needs_no_place_for_a_message),
    TBK_CASE("ERR-011", "fault", TBK_CASE_FRESH, a_fault_that_is_enqueued_writes_no_message),
    TBK_CASE("FLT-002", "fault", TBK_CASE_FRESH, failed_work_leaves_the_device_usable),
    TBK_CASE("ERR-005", "fault", TBK_CASE_FRESH, stream_synchronize_tells_of_failed_work),
    TBK_CASE("ERR-005", "fault", TBK_CASE_FRESH, device_synchronize_tells_of_failed_work),
    TBK_CASE("ERR-005", "fault", TBK_CASE_FRESH, failures_of_streams_that_are_gone_are_told),
    TBK_CASE("ERR-008", "fault", TBK_CASE_FRESH, failure_comes_with_a_reason),
    TBK_CASE("ERR-004", "fault", TBK_CASE_FRESH, stream_query_comes_to_an_end_after_a_failure),
    TBK_CASE("ERR-004", "fault event", TBK_CASE_FRESH, event_query_comes_to_an_end_after_a_failure),
    TBK_CASE("ERR-007", "fault event", TBK_CASE_FRESH, event_synchronize_or_a_later_one_tells),
    TBK_CASE("ERR-006", "fault", TBK_CASE_FRESH, stream_synchronize_waits_for_work_that_will_fail),
    TBK_CASE("ERR-006", "fault", TBK_CASE_FRESH, device_synchronize_waits_for_the_others_after_a_failure),
    TBK_CASE("ERR-006", "fault event", TBK_CASE_FRESH, event_synchronize_waits_for_work_that_will_fail),
    TBK_CASE("FLT-005", "fault", TBK_CASE_FRESH, failure_keeps_its_place_in_the_stream),
    TBK_CASE("FLT-004", "fault two_devices", TBK_CASE_FRESH, failure_is_of_its_own_device),
    TBK_CASE("FLT-003", "fault", TBK_CASE_FRESH, lost_device_answers_so_to_every_call),
    TBK_CASE("FLT-003", "fault", TBK_CASE_FRESH, lost_device_stays_lost),
    TBK_CASE("FLT-003", "fault", TBK_CASE_FRESH, lost_device_holds_nobody),
    TBK_CASE("FLT-005", "fault", TBK_CASE_FRESH, loss_keeps_its_place_in_the_stream),
    TBK_CASE("FLT-004", "fault two_devices", TBK_CASE_FRESH, other_device_works_on_after_a_loss),
    TBK_CASE("ERR-003", "fault", TBK_CASE_FRESH, what_a_lost_device_gave_can_be_given_back),
    TBK_CASE("ERR-003", "fault async_memory", TBK_CASE_FRESH, async_memory_of_a_lost_device_can_be_given_back),
    TBK_CASE("ERR-004", "fault", TBK_CASE_FRESH, queries_of_a_lost_device_come_to_an_end),
    TBK_CASE("ERR-008", "fault", TBK_CASE_FRESH, loss_comes_with_a_reason),
};
/* clang-format on */

TBK_SUITE(fault);
