/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweep of the time between events: how long it is, whether the stream was held or idle meanwhile,
 * and where. The bounds are the host's own: what it saw go by inside, and around.
 */
#include "dimensions.h"
#include "gate.h"

SWEEP_DIMENSION(long_axis, "ms", {"20", 20}, {"50", 50});
SWEEP_DIMENSION(meanwhile_axis, "stream_is", {"idle", 0}, {"held", 1});
SWEEP_DIMENSION(end_axis, "end_is_on", {"same", 0}, {"other", 1});

SWEEP_DIMENSION(longer_axis, "ms", {"130", 130}, {"300", 300}, {"1100", 1100});

static const double factor = 10;

static void let_pass(uint64_t since, int64_t ms) {
  fx_sleep_until(since + (uint64_t)ms * 1000000);
}

/* The start is complete before `inner` is read, and the end is recorded, or held, until later. */
static void run(tbk_fixture_t* fx, sweep_case_t* one) {
  scene_t scene;
  tbk_gate_t gate;
  double ms = -1;
  scene_begin(fx, one, &scene);
  bool held = sweep_get(one, &meanwhile_axis) == 1;
  tbk_stream_t* stream = fx_stream(fx);
  tbk_stream_t* last = sweep_get(one, &end_axis) == 1 ? fx_stream(fx) : stream;
  tbk_event_t* start = fx_event(fx, TBK_EVENT_TIMING);
  tbk_event_t* end = fx_event(fx, TBK_EVENT_TIMING);
  uint64_t outer = fx_now_ns();
  REQUIRE_OK(fx->event->event_record(fx->self, start, stream, &fx->error));
  REQUIRE_OK(fx->event->event_synchronize(fx->self, start, &fx->error));
  if (held) gate_close_over(fx, &gate, last, TBK_ENQUEUE_RECORD);
  uint64_t inner = fx_now_ns();
  bool closed = held && gate_is_closed(&gate);
  if (closed) REQUIRE_OK(fx->event->event_record(fx->self, end, last, &fx->error));
  let_pass(inner, sweep_get(one, &long_axis) + sweep_get(one, &longer_axis));
  double least = (double)(fx_now_ns() - inner) / 1e6;
  if (!closed) REQUIRE_OK(fx->event->event_record(fx->self, end, last, &fx->error));
  if (held) gate_open(fx, &gate);
  REQUIRE_OK(fx->event->event_synchronize(fx->self, end, &fx->error));
  double most = (double)(fx_now_ns() - outer) / 1e6;
  CHECK_OK(fx->event->event_elapsed(fx->self, start, end, &ms, &fx->error));
  CHECK_SAID(ms >= 0, "an end that is not before its start", "%g ms", ms);
  CHECK_SAID(ms >= least / factor, "at least a tenth of what the host saw go by in between",
             "%g ms of %g", ms, least);
  CHECK_SAID(ms <= most * factor, "at most ten times what the host saw go by around it",
             "%g ms of %g", ms, most);
}

static void elapsed_is_of_the_right_order(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&long_axis, &meanwhile_axis, &end_axis, &sweep_device}, scene_fits, run, 0};
  sweep_run(fx, &space);
}

static void elapsed_is_right_for_long_and_across_streams(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&longer_axis, &end_axis, &meanwhile_axis, &sweep_device}, scene_fits, run, 0};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("EVT-032", "event elapsed callback", 0, elapsed_is_of_the_right_order),
    TBK_CASE("EVT-029", "event elapsed callback", TBK_CASE_THOROUGH,
             elapsed_is_right_for_long_and_across_streams),
};
TBK_SUITE(sweep_time);
