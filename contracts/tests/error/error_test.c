/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is said of errors in general. Errors of enqueued work are in fault_test.c.
 */
#include <string.h>

#include "calls.h"
#include "order.h"
#include "room.h"

static void memory_is_untouched(tbk_fixture_t* fx, const call_context_t* context) {
  uint8_t* seen = fx_zeros(fx, context->bytes);
  fx_download(fx, seen, context->memory, context->bytes);
  CHECK_BYTES(context->before, seen, context->bytes);
}

/* ------------------------------------------------------------------------------ out parameters -- */

static void failed_calls_leave_out_parameters_alone(tbk_fixture_t* fx) {
  call_context_t context;
  call_context_make(fx, &context);
  for (size_t i = 0; i < calls_that_fail_count; ++i) {
    const call_row_t* row = &calls_that_fail[i];
    context.touched = false;
    tbk_status_t status = row->call(fx, &context, &fx->error);
    if (status == CALL_ABSENT) continue;
    CHECK_SAID(status != TBK_OK, "an error", "%s from %s", tbk_status_name(status), row->name);
    CHECK_KEPT(row->name, !context.touched);
  }
  memory_is_untouched(fx, &context);
}

/* After every call that fails a whole round of calls must succeed, and an old event be complete. */
static void failed_calls_change_nothing(tbk_fixture_t* fx) {
  call_context_t context;
  call_context_make(fx, &context);
  for (size_t i = 0; i < calls_that_fail_count; ++i) {
    if (calls_that_fail[i].call(fx, &context, &fx->error) == CALL_ABSENT) continue;
    for (size_t k = 0; k < calls_that_succeed_count; ++k) {
      tbk_status_t status = calls_that_succeed[k].call(fx, &context, &fx->error);
      CHECK_SAID(status == TBK_OK || status == CALL_ABSENT, "OK", "%s from %s after %s",
                 tbk_status_name(status), calls_that_succeed[k].name, calls_that_fail[i].name);
    }
  }
  memory_is_untouched(fx, &context);
}

/* A record and a wait that are refused leave the pending event, and the streams, as they were. */
static void refused_calls_leave_a_pending_event_pending(tbk_fixture_t* fx) {
  order_t* order = order_begin(fx, false);
  gate_close_over(fx, &order->gate, order->a, TBK_ENQUEUE_RECORD);
  CHECK_OK(fx->event->event_record(fx->self, order->event, order->a, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->event->event_record(fx->self, order->event, NULL, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->event->event_wait(fx->self, NULL, order->event, &fx->error));
  process_settle();
  tbk_status_t status = fx->event->event_query(fx->self, order->event, &fx->error);
  GATE_CHECK_PENDING(fx, &order->gate, status);
  gate_open(fx, &order->gate);
  CHECK_OK(fx->event->event_synchronize(fx->self, order->event, &fx->error));
  order_stream_works(fx, order->a);
  order_stream_works(fx, order->b);
  order_end(order);
}

/* ---------------------------------------------------------------------------------- the reason -- */

static bool terminated(const tbk_error_t* error) {
  return memchr(error->message, '\0', sizeof error->message) != NULL;
}

static void failures_give_a_reason(tbk_fixture_t* fx) {
  call_context_t context;
  call_context_make(fx, &context);
  for (size_t i = 0; i < calls_that_fail_count; ++i) {
    const call_row_t* row = &calls_that_fail[i];
    tbk_error_t error;
    memset(&error, 0x01, sizeof error); /* no text, and no end */
    if (row->call(fx, &context, &error) == CALL_ABSENT) continue;
    CHECK_SAID(terminated(&error), "a reason with an end", "none from %s", row->name);
    CHECK_SAID(error.message[0] != '\0' && error.message[0] != 0x01, "a reason", "none from %s",
               row->name);
  }
}

/* The callers of a thread and another do not share a place for the message. */
static void reason_goes_to_the_caller(tbk_fixture_t* fx) {
  tbk_error_t errors[2];
  call_context_t context;
  call_context_make(fx, &context);
  memset(errors, 0x01, sizeof errors);
  for (size_t i = 0; i < calls_that_fail_count; ++i) {
    if (calls_that_fail[i].call(fx, &context, &errors[0]) == CALL_ABSENT) continue;
    for (size_t k = 0; k < sizeof errors[1]; ++k)
      CHECK(errors[1].message[k] == 0x01);
  }
}

static void error_may_be_null_where_a_call_fails(tbk_fixture_t* fx) {
  call_context_t context;
  call_context_make(fx, &context);
  for (size_t i = 0; i < calls_that_fail_count; ++i) {
    tbk_status_t with = calls_that_fail[i].call(fx, &context, &fx->error);
    tbk_status_t without = calls_that_fail[i].call(fx, &context, NULL);
    CHECK_SAID(with == without, "the same status without a place for the reason",
               "%s, without %s, from %s", tbk_status_name(with), tbk_status_name(without),
               calls_that_fail[i].name);
  }
  memory_is_untouched(fx, &context);
}

static void error_may_be_null_where_a_call_succeeds(tbk_fixture_t* fx) {
  call_context_t context;
  call_context_make(fx, &context);
  for (size_t i = 0; i < calls_that_succeed_count; ++i) {
    tbk_status_t status = calls_that_succeed[i].call(fx, &context, NULL);
    CHECK_SAID(status == TBK_OK || status == CALL_ABSENT, "OK", "%s from %s",
               tbk_status_name(status), calls_that_succeed[i].name);
  }
  memory_is_untouched(fx, &context);
}

/* Much more in turn than the device has: whoever keeps what it gave without a message runs out. */
static void memory_comes_back_without_a_place_for_the_message(tbk_fixture_t* fx) {
  enum { PARTS = 8, TIMES = 5 };
  uint64_t part = fx->properties.memory_bytes / PARTS, most = room_allocation(&fx->properties);
  uint64_t bytes = part < most ? part : most;
  for (uint64_t turn = 0; turn < TIMES * (fx->properties.memory_bytes / bytes); ++turn) {
    tbk_memory_t memory = 0;
    tbk_status_t status = fx->core->memory_alloc(fx->self, fx->device, bytes, &memory, NULL);
    if (turn == 0 && status == TBK_OUT_OF_MEMORY) {
      fx_evidence(fx, TBK_NOT_SHOWN, "an eighth of the device's memory cannot be had");
      CHECK(memory == 0);
      return;
    }
    CHECK_ANSWER(TBK_OK, status);
    if (status != TBK_OK) return;
    CHECK_ANSWER(TBK_OK, fx->core->memory_free(fx->self, fx->device, memory, NULL));
  }
}

/* Makes each call three times: it may say something at every other time. */
static void success_leaves_error_alone(tbk_fixture_t* fx) {
  enum { TIMES = 3 };
  call_context_t context;
  call_context_make(fx, &context);
  tbk_error_t untouched;
  memset(&untouched, 0x7E, sizeof untouched);
  for (size_t i = 0; i < TIMES * calls_that_succeed_count; ++i) {
    const call_row_t* row = &calls_that_succeed[i / TIMES];
    tbk_error_t error = untouched;
    tbk_status_t status = row->call(fx, &context, &error);
    CHECK_SAID(status == TBK_OK || status == CALL_ABSENT, "OK", "%s from %s",
               tbk_status_name(status), row->name);
    CHECK_SAID(memcmp(&error, &untouched, sizeof error) == 0,
               "error is written only by a call that fails", "%s wrote it", row->name);
  }
}

/* ---------------------------------------------------------------------------------- the status -- */

static void failures_answer_with_the_status_they_name(tbk_fixture_t* fx) {
  call_context_t context;
  call_context_make(fx, &context);
  for (size_t i = 0; i < calls_that_fail_count; ++i) {
    const call_row_t* row = &calls_that_fail[i];
    tbk_status_t status = row->call(fx, &context, &fx->error);
    if (status == CALL_ABSENT) continue;
    CHECK_SAID(status >= 0 && status < TBK_STATUS_COUNT, "a status of tbk.h", "%d from %s",
               (int)status, row->name);
    bool either = row->expected == CALL_INVALID_OR_STATE &&
                  (status == TBK_INVALID || status == TBK_INVALID_STATE);
    CHECK_SAID(either || status == row->expected, tbk_status_name(row->expected), "%s from %s",
               tbk_status_name(status), row->name);
  }
}

static const tbk_case_t cases[] = {
    TBK_CASE("ERR-001", NULL, 0, failed_calls_leave_out_parameters_alone),
    TBK_CASE("ERR-001", NULL, 0, failed_calls_change_nothing),
    TBK_CASE("ERR-001", "event", 0, refused_calls_leave_a_pending_event_pending),
    TBK_CASE("ERR-008", NULL, 0, failures_give_a_reason),
    TBK_CASE("ERR-008", NULL, 0, reason_goes_to_the_caller),
    TBK_CASE("ERR-009", NULL, 0, failures_answer_with_the_status_they_name),
    TBK_CASE("ERR-010", NULL, 0, error_may_be_null_where_a_call_fails),
    TBK_CASE("ERR-010", NULL, 0, error_may_be_null_where_a_call_succeeds),
    TBK_CASE("ERR-010", "memory_bytes", 0, memory_comes_back_without_a_place_for_the_message),
    TBK_CASE("ERR-011", NULL, 0, success_leaves_error_alone),
};
TBK_SUITE(error);
