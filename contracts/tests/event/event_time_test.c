/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Events: the time between two of them.
 */
#include "event_time.h"
#include <sched.h>

#include "gate.h"
#include "order.h"

enum { HOLD_NS = 20000000, PLACES = 4, TENANTS = 6 };

/* Beyond 2^32 nanoseconds, by less than a tenth of it: what wraps there, or at 2^31, is far too short. */
#define LONG_NS UINT64_C(4400000000)

void elapsed_refuses_events_without_a_time(tbk_fixture_t* fx) {
  double ms = -1.5;
  tbk_stream_t* stream = fx_stream(fx);
  tbk_event_t* start = fx_event(fx, TBK_EVENT_TIMING);
  tbk_event_t* unrecorded = fx_event(fx, TBK_EVENT_TIMING);
  tbk_event_t* untimed = fx_event(fx, 0);
  REQUIRE_OK(fx->event->event_record(fx->self, start, stream, &fx->error));
  REQUIRE_OK(fx->event->event_record(fx->self, untimed, stream, &fx->error));
  fx_synchronize(fx, stream);
  tbk_event_t* pairs[][2] = {{start, unrecorded},
                             {unrecorded, start},
                             {start, untimed},
                             {untimed, start},
                             {untimed, untimed}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
    CHECK_STATUS(TBK_INVALID_STATE,
                 fx->event->event_elapsed(fx->self, pairs[i][0], pairs[i][1], &ms, &fx->error));
    CHECK(ms == -1.5);
  }
}

static void check_has_no_time(tbk_fixture_t* fx, tbk_event_t* start, tbk_event_t* end) {
  double ms = -1.5;
  const tbk_event_ops_t* ops = fx->event;
  CHECK_STATUS(TBK_INVALID_STATE, ops->event_elapsed(fx->self, start, end, &ms, &fx->error));
  CHECK_STATUS(TBK_INVALID_STATE, ops->event_elapsed(fx->self, end, start, &ms, &fx->error));
  CHECK(ms == -1.5);
}

/* All have their time taken, then none, then again all, then every second. */
static uint32_t tenant_flags(int tenant, int place) {
  const bool is_timed = tenant % 2 == 0 || (tenant % 4 == 3 && place % 2 != 0);
  return is_timed ? TBK_EVENT_TIMING : 0;
}

static void move_in(tbk_fixture_t* fx, int tenant, tbk_event_t* start, tbk_stream_t* stream,
                    tbk_event_t* events[PLACES]) {
  for (int i = 0; i < PLACES; ++i)
    events[i] = fx_event(fx, tenant_flags(tenant, i));
  for (int i = 0; i < PLACES; ++i) {
    check_has_no_time(fx, start, events[i]); /* it was not recorded yet */
    REQUIRE_OK(fx->event->event_record(fx->self, events[i], stream, &fx->error));
  }
  fx_synchronize(fx, stream);
}

/* An event takes nothing over from the one whose place it has got: neither flags nor records. */
void elapsed_goes_by_what_each_event_was_made_with(tbk_fixture_t* fx) {
  tbk_event_t* events[PLACES];
  tbk_stream_t* stream = fx_stream(fx);
  tbk_event_t* start = fx_event(fx, TBK_EVENT_TIMING);
  REQUIRE_OK(fx->event->event_record(fx->self, start, stream, &fx->error));
  fx_synchronize(fx, stream);
  for (int tenant = 0; tenant < TENANTS; ++tenant) {
    move_in(fx, tenant, start, stream, events);
    for (int i = 0; i < PLACES; ++i) {
      double ms = -1.5;
      if (tenant_flags(tenant, i) == 0)
        check_has_no_time(fx, start, events[i]);
      else
        CHECK_OK(fx->event->event_elapsed(fx->self, start, events[i], &ms, &fx->error));
    }
    for (int i = 0; i < PLACES; ++i) {
      tbk_event_t* event = events[tenant % 4 < 2 ? i : PLACES - 1 - i];
      fx_disown_event(fx, event);
      fx->event->event_destroy(fx->self, event);
    }
  }
}

void elapsed_refuses_events_of_two_devices(tbk_fixture_t* fx) {
  double ms = -1.5;
  tbk_event_t* events[2];
  int32_t devices[2] = {fx->device, fx_second_device(fx)};
  for (int i = 0; i < 2; ++i) {
    fx_use_device(fx, devices[i]);
    tbk_stream_t* stream = fx_stream(fx);
    events[i] = fx_event(fx, TBK_EVENT_TIMING);
    REQUIRE_OK(fx->event->event_record(fx->self, events[i], stream, &fx->error));
    fx_synchronize(fx, stream);
  }
  fx_use_device(fx, devices[0]);
  CHECK_STATUS(TBK_INVALID_STATE,
               fx->event->event_elapsed(fx->self, events[0], events[1], &ms, &fx->error));
  CHECK(ms == -1.5);
}

void elapsed_refuses_null(tbk_fixture_t* fx) {
  double ms = -1.5;
  tbk_event_t* event = fx_event(fx, TBK_EVENT_TIMING);
  tbk_stream_t* stream = fx_stream(fx);
  REQUIRE_OK(fx->event->event_record(fx->self, event, stream, &fx->error));
  fx_synchronize(fx, stream);
  const tbk_event_ops_t* ops = fx->event;
  CHECK_STATUS(TBK_INVALID, ops->event_elapsed(fx->self, NULL, event, &ms, &fx->error));
  CHECK_STATUS(TBK_INVALID, ops->event_elapsed(fx->self, event, NULL, &ms, &fx->error));
  CHECK_STATUS(TBK_INVALID, ops->event_elapsed(fx->self, event, event, NULL, &fx->error));
  CHECK(ms == -1.5);
}

static void check_not_negative(tbk_fixture_t* fx, tbk_stream_t* first, tbk_stream_t* second) {
  tbk_event_t* start = fx_event(fx, TBK_EVENT_TIMING);
  tbk_event_t* end = fx_event(fx, TBK_EVENT_TIMING);
  for (int round = 0; round < 32; ++round) {
    double ms = -1;
    REQUIRE_OK(fx->event->event_record(fx->self, start, first, &fx->error));
    if (first != second) REQUIRE_OK(fx->event->event_wait(fx->self, second, start, &fx->error));
    if (round % 2) order_stream_works(fx, second);
    REQUIRE_OK(fx->event->event_record(fx->self, end, second, &fx->error));
    fx_synchronize(fx, second);
    CHECK_OK(fx->event->event_elapsed(fx->self, start, end, &ms, &fx->error));
    CHECK_SAID(ms >= 0, "0 ms or more", "%g ms", ms);
  }
}

void elapsed_is_not_negative(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  check_not_negative(fx, stream, stream);
}

void elapsed_between_streams_is_not_negative(tbk_fixture_t* fx) {
  tbk_stream_t* streams[] = {fx_stream(fx), fx_stream(fx)};
  check_not_negative(fx, streams[0], streams[1]);
  check_not_negative(fx, streams[1], streams[0]);
}

static void let_time_pass(uint64_t since, uint64_t duration_ns) {
  while (fx_now_ns() - since < duration_ns)
    sched_yield();
}

/*
 * The start is complete before the host's clock is read, and the end is held until HOLD_NS later:
 * so much lies between them at least, and at most what the host sees around both.
 */
void elapsed_is_in_milliseconds(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  double ms = -1;
  tbk_stream_t* stream = fx_stream(fx);
  tbk_event_t* start = fx_event(fx, TBK_EVENT_TIMING);
  tbk_event_t* end = fx_event(fx, TBK_EVENT_TIMING);
  uint64_t outer = fx_now_ns();
  REQUIRE_OK(fx->event->event_record(fx->self, start, stream, &fx->error));
  REQUIRE_OK(fx->event->event_synchronize(fx->self, start, &fx->error));
  gate_close_over(fx, &gate, stream, TBK_ENQUEUE_RECORD);
  uint64_t inner = fx_now_ns();
  if (!gate_is_closed(&gate)) let_time_pass(inner, HOLD_NS);
  REQUIRE_OK(fx->event->event_record(fx->self, end, stream, &fx->error));
  let_time_pass(inner, HOLD_NS);
  double least = (double)(fx_now_ns() - inner) / 1e6;
  gate_open(fx, &gate);
  REQUIRE_OK(fx->event->event_synchronize(fx->self, end, &fx->error));
  double most = (double)(fx_now_ns() - outer) / 1e6;
  CHECK_OK(fx->event->event_elapsed(fx->self, start, end, &ms, &fx->error));
  CHECK_SAID(ms >= 0.9 * HOLD_NS / 1e6 - 1, "at least the time for which the end was held",
             "%g ms of %g", ms, least);
  CHECK_SAID(ms <= 1.1 * most + 1, "at most what the host's clock saw", "%g ms of %g", ms, most);
}

void elapsed_counts_whole_seconds(tbk_fixture_t* fx) {
  double ms = -1;
  tbk_stream_t* stream = fx_stream(fx);
  tbk_event_t* start = fx_event(fx, TBK_EVENT_TIMING);
  tbk_event_t* end = fx_event(fx, TBK_EVENT_TIMING);
  const uint64_t outer = fx_now_ns();
  REQUIRE_OK(fx->event->event_record(fx->self, start, stream, &fx->error));
  REQUIRE_OK(fx->event->event_synchronize(fx->self, start, &fx->error));
  const uint64_t inner = fx_now_ns();
  fx_sleep_until(inner + LONG_NS);
  const double least = (double)(fx_now_ns() - inner) / 1e6;
  REQUIRE_OK(fx->event->event_record(fx->self, end, stream, &fx->error));
  REQUIRE_OK(fx->event->event_synchronize(fx->self, end, &fx->error));
  const double most = (double)(fx_now_ns() - outer) / 1e6;
  CHECK_OK(fx->event->event_elapsed(fx->self, start, end, &ms, &fx->error));
  CHECK_SAID(ms > least / 10 && ms < most * 10, "what the host's clock saw, by a factor of 10",
             "%g ms of %g to %g", ms, least, most);
}

void elapsed_is_not_ready_while_one_is_pending(tbk_fixture_t* fx) {
  tbk_gate_t gate;
  double ms = -1.5;
  tbk_stream_t* stream = fx_stream(fx);
  tbk_event_t* done = fx_event(fx, TBK_EVENT_TIMING);
  tbk_event_t* pending = fx_event(fx, TBK_EVENT_TIMING);
  tbk_event_t* pairs[][2] = {{done, pending}, {pending, done}, {pending, pending}};
  REQUIRE_OK(fx->event->event_record(fx->self, pending, stream, &fx->error));
  REQUIRE_OK(fx->event->event_record(fx->self, done, stream, &fx->error));
  fx_synchronize(fx, stream);
  gate_close_over(fx, &gate, stream, TBK_ENQUEUE_RECORD);
  CHECK_OK(fx->event->event_record(fx->self, pending, stream, &fx->error));
  process_settle();
  for (size_t i = 0; i < 3 && gate_is_closed(&gate); ++i) {
    tbk_status_t status =
        fx->event->event_elapsed(fx->self, pairs[i][0], pairs[i][1], &ms, &fx->error);
    GATE_CHECK_PENDING(fx, &gate, status);
    CHECK(status != TBK_NOT_READY || ms == -1.5);
    CHECK(gate_is_closed(&gate));
  }
  gate_open(fx, &gate);
  fx_synchronize(fx, stream);
  CHECK_OK(fx->event->event_elapsed(fx->self, done, pending, &ms, &fx->error));
  CHECK(ms >= 0);
}
