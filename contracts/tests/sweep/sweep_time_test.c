/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweep of the time between events: how long it is, whether the stream was held or idle meanwhile,
 * where, and what the events stood for before. The bounds are the host's own: what it saw go by
 * inside, and around.
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

typedef struct span {
  const char* what;
  int before[2]; /* how often the start and the end were recorded before */
  tbk_event_t *start, *end;
} span_t;

static void check_elapsed(tbk_fixture_t* fx, const span_t* span, double least, double most) {
  double ms = -1;
  CHECK_OK(fx->event->event_elapsed(fx->self, span->start, span->end, &ms, &fx->error));
  CHECK_SAID(ms >= 0, "an end that is not before its start", "%g ms%s", ms, span->what);
  CHECK_SAID(ms >= least / factor, "at least a tenth of what the host saw go by in between",
             "%g ms of %g%s", ms, least, span->what);
  CHECK_SAID(ms <= most * factor, "at most ten times what the host saw go by around it",
             "%g ms of %g%s", ms, most, span->what);
}

/* The start is complete before `inner` is read, and the end is recorded, or held, until later. */
static void run(tbk_fixture_t* fx, sweep_case_t* one) {
  scene_t scene;
  tbk_gate_t gate;
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
  check_elapsed(fx, &(span_t){"", {0, 0}, start, end}, least, most);
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

/* ------------------------------------------------------------------------- recorded before --- */

/* Eight events exist at a time. What was before is so long ago that it shows through the factor. */
enum { SPANS = 4, BEFORE_MS = 500, BETWEEN_MS = 20 };

static void record(tbk_fixture_t* fx, tbk_event_t* event, tbk_stream_t* stream) {
  REQUIRE_OK(fx->event->event_record(fx->self, event, stream, &fx->error));
  REQUIRE_OK(fx->event->event_synchronize(fx->self, event, &fx->error));
}

static void make_span(tbk_fixture_t* fx, span_t* span, tbk_stream_t* stream) {
  span->start = fx_event(fx, TBK_EVENT_TIMING);
  span->end = fx_event(fx, TBK_EVENT_TIMING);
  for (int i = 0; i < span->before[0]; ++i)
    record(fx, span->start, stream);
  for (int i = 0; i < span->before[1]; ++i)
    record(fx, span->end, stream);
}

typedef struct spans {
  span_t all[SPANS];
  tbk_stream_t* streams[2];
} spans_t;

static void make_spans(tbk_fixture_t* fx, spans_t* spans) {
  *spans = (spans_t){{{", the start was recorded before", {1, 0}, NULL, NULL},
                      {", the start was recorded three times before", {3, 0}, NULL, NULL},
                      {", the end was recorded before", {0, 1}, NULL, NULL},
                      {", both were recorded three times before", {3, 3}, NULL, NULL}},
                     {fx_stream(fx), fx_stream(fx)}};
  for (int i = 0; i < SPANS; ++i)
    make_span(fx, &spans->all[i], spans->streams[i % 2]);
}

/* All are recorded within one short time. */
static void check_spans(tbk_fixture_t* fx, spans_t* spans, int64_t end_is_on) {
  const uint64_t outer = fx_now_ns();
  for (int i = 0; i < SPANS; ++i)
    record(fx, spans->all[i].start, spans->streams[0]);
  const uint64_t inner = fx_now_ns();
  let_pass(inner, BETWEEN_MS);
  const double least = (double)(fx_now_ns() - inner) / 1e6;
  for (int i = 0; i < SPANS; ++i)
    record(fx, spans->all[i].end, spans->streams[end_is_on]);
  const double most = (double)(fx_now_ns() - outer) / 1e6;
  for (int i = 0; i < SPANS; ++i)
    check_elapsed(fx, &spans->all[i], least, most);
}

static void run_again(tbk_fixture_t* fx, sweep_case_t* one) {
  scene_t scene;
  spans_t spans;
  scene_begin(fx, one, &scene);
  make_spans(fx, &spans);
  let_pass(fx_now_ns(), BEFORE_MS);
  check_spans(fx, &spans, sweep_get(one, &end_axis));
}

/* Two devices wait together for what was before to be long ago. */
static void elapsed_is_of_the_latest_records(tbk_fixture_t* fx) {
  static const char* const names[] = {"device=first", "device=second"};
  const int count = fx->device_count > 1 ? 2 : 1;
  spans_t spans[2];
  for (int i = 0; i < count; ++i) {
    tbk_checks_context(names[i]);
    if (i == 1) fx_use_device(fx, fx_second_device(fx));
    make_spans(fx, &spans[i]);
  }
  let_pass(fx_now_ns(), BEFORE_MS);
  for (int i = 0; i < count; ++i) {
    tbk_checks_context(names[i]);
    check_spans(fx, &spans[i], 0);
  }
  tbk_checks_context(NULL);
}

static void elapsed_is_of_the_latest_records_across_streams(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&sweep_device, &end_axis}, scene_fits, run_again, 0};
  sweep_run(fx, &space);
}

/* ------------------------------------------------------------------ recorded once more --- */

/* The end was recorded after the start already, and is then recorded again. */
typedef struct again {
  span_t span;
  int ends;   /* how often before the last time */
  bool waits; /* for each of them */
  bool asks;  /* for the time up to it */
} again_t;

enum { AGAIN_MS = 20 };

static void record_early(tbk_fixture_t* fx, again_t* again, tbk_stream_t* stream) {
  double ms = -1;
  again->span.start = fx_event(fx, TBK_EVENT_TIMING);
  again->span.end = fx_event(fx, TBK_EVENT_TIMING);
  record(fx, again->span.start, stream);
  for (int i = 0; i < again->ends; ++i) {
    REQUIRE_OK(fx->event->event_record(fx->self, again->span.end, stream, &fx->error));
    if (again->waits)
      REQUIRE_OK(fx->event->event_synchronize(fx->self, again->span.end, &fx->error));
  }
  if (!again->asks) return;
  CHECK_OK(fx->event->event_elapsed(fx->self, again->span.start, again->span.end, &ms, &fx->error));
  CHECK_SAID(ms >= 0, "an end that is not before its start", "%g ms", ms);
}

static void run_once_more(tbk_fixture_t* fx, sweep_case_t* one) {
  scene_t scene;
  again_t agains[SPANS] = {
      {{", the end was recorded after the start before", {0}, 0, 0}, 1, true, false},
      {{", the end was recorded three times after the start before", {0}, 0, 0}, 3, true, false},
      {{", the end was recorded after the start, and asked for, before", {0}, 0, 0}, 1, true, true},
      {{", the end was recorded twice before, with no wait", {0}, 0, 0}, 2, false, false}};
  scene_begin(fx, one, &scene);
  tbk_stream_t* streams[] = {fx_stream(fx), fx_stream(fx)};
  const uint64_t outer = fx_now_ns();
  for (int i = 0; i < SPANS; ++i)
    record_early(fx, &agains[i], streams[0]);
  const uint64_t inner = fx_now_ns();
  let_pass(inner, AGAIN_MS);
  const double least = (double)(fx_now_ns() - inner) / 1e6;
  for (int i = 0; i < SPANS; ++i)
    record(fx, agains[i].span.end, streams[sweep_get(one, &end_axis)]);
  const double most = (double)(fx_now_ns() - outer) / 1e6;
  for (int i = 0; i < SPANS; ++i)
    check_elapsed(fx, &agains[i].span, least, most);
}

static void elapsed_is_to_the_latest_end(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&sweep_device, &end_axis}, scene_fits, run_once_more, 0};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("EVT-032", "event elapsed callback", 0, elapsed_is_of_the_right_order),
    TBK_CASE("EVT-029", "event elapsed callback", TBK_CASE_THOROUGH,
             elapsed_is_right_for_long_and_across_streams),
    TBK_CASE("EVT-014", "event elapsed", 0, elapsed_is_of_the_latest_records),
    TBK_CASE("EVT-014", "event elapsed", TBK_CASE_THOROUGH,
             elapsed_is_of_the_latest_records_across_streams),
    TBK_CASE("EVT-014", "event elapsed", 0, elapsed_is_to_the_latest_end),
};
TBK_SUITE(sweep_time);
