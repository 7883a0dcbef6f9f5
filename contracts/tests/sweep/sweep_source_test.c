/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which work on which stream is waited for, and by what: every kind of work, on streams of every kind,
 * also on one that is gone by then, behind others, by events with and without a past.
 */
#include "dimensions.h"
#include "work.h"

#include <string.h>

enum { CELL = 64, DELAY_US = 900, MOST_WAITERS = 12 };

typedef enum way { BY_STREAM, BY_STREAM_QUERY, BY_DEVICE, BY_EVENT, BY_EVENT_QUERY, BY_WAIT } way_t;
typedef enum source { PLAIN, GREATEST, LEAST, HAS_WAITED, NATIVE } source_t;
typedef enum past { NEW, RECORDED, AFTER_PENDING, AFTER_WAITED } past_t;

SWEEP_DIMENSION(stream_way, "by", {"stream_synchronize", BY_STREAM},
                {"stream_query", BY_STREAM_QUERY});
SWEEP_DIMENSION(device_way, "by", {"device_synchronize", BY_DEVICE});
SWEEP_DIMENSION(event_way, "by", {"event_synchronize", BY_EVENT}, {"event_query", BY_EVENT_QUERY});
SWEEP_DIMENSION(wait_way, "by", {"event_wait", BY_WAIT});
SWEEP_DIMENSION(source_axis, "stream", {"plain", PLAIN}, {"greatest", GREATEST}, {"least", LEAST},
                {"has_waited", HAS_WAITED}, {"native", NATIVE});
SWEEP_DIMENSION(gone_axis, "stream_is", {"there", 0}, {"gone", 1});
SWEEP_DIMENSION(work_axis, "work", {"upload", 0}, {"download", 1}, {"copy", 2}, {"fill", 3},
                {"kernel_fill", 4}, {"kernel_copy", 5}, {"plan", 6}, {"peer_copy", 7},
                {"random", 8}, {"callback", 9});
/* The work itself is one more. */
SWEEP_DIMENSION(behind_axis, "behind", {"0", 0}, {"1", 1}, {"7", 7}, {"31", 31}, {"63", 63},
                {"64", 64}, {"127", 127}, {"255", 255});
SWEEP_DIMENSION(others_axis, "others", {"uploads", 0}, {"copies", 1}, {"fills", 2});
SWEEP_DIMENSION(past_axis, "event", {"new", NEW}, {"recorded", RECORDED},
                {"after_pending", AFTER_PENDING}, {"waited_for", AFTER_WAITED});
SWEEP_DIMENSION(flags_axis, "flags", {"0", 0}, {"timing", TBK_EVENT_TIMING});
SWEEP_DIMENSION(waiters_axis, "waiters", {"1", 1}, {"3", 3}, {"12", MOST_WAITERS});
/* Of the streams that wait. */
SWEEP_DIMENSION(waiter_axis, "waiter", {"plain", PLAIN}, {"greatest", GREATEST}, {"least", LEAST});

typedef struct source_work {
  scene_t scene;
  tbk_stream_t *stream, *waiters[MOST_WAITERS];
  tbk_event_t* event;
  bench_t bench;
  work_t work;
  uint64_t other; /* a cell that the others write */
  way_t way;
} source_work_t;

static way_t way_of(const sweep_case_t* one) {
  return (way_t)(sweep_get(one, &stream_way) + sweep_get(one, &device_way) +
                 sweep_get(one, &event_way) + sweep_get(one, &wait_way));
}

static bool source_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  bool native = sweep_get(one, &source_axis) == NATIVE;
  bool fills = sweep_get(one, &others_axis) == 2;
  if (native && !TBK_HAS(fx->stream, tbk_stream_ops_t, stream_native_handle)) return false;
  if (native && !TBK_HAS(fx->stream, tbk_stream_ops_t, stream_from_native)) return false;
  if (sweep_get(one, &source_axis) == HAS_WAITED && fx->event == NULL) return false;
  if (fills && !TBK_HAS(fx->core, tbk_core_t, fill)) return false;
  return scene_fits(fx, one);
}

/* ----------------------------------------------------------------------------------- before --- */

static tbk_stream_t* make_native(tbk_fixture_t* fx, tbk_stream_t* stream) {
  tbk_stream_t* made = NULL;
  void* native = NULL;
  REQUIRE_OK(fx->stream->stream_native_handle(fx->self, stream, &native, &fx->error));
  REQUIRE_OK(fx->stream->stream_from_native(fx->self, fx->device, native, &made, &fx->error));
  fx_adopt_stream(fx, made);
  return made;
}

/* Waits once: what another stream had done by then is of no interest later. */
static void wait_once(tbk_fixture_t* fx, tbk_stream_t* stream) {
  tbk_stream_t* other = fx_stream(fx);
  tbk_event_t* event = fx_event(fx, 0);
  sweep_delay(fx, other, DELAY_US / 3);
  REQUIRE_OK(fx->event->event_record(fx->self, event, other, &fx->error));
  REQUIRE_OK(fx->event->event_wait(fx->self, stream, event, &fx->error));
}

static int32_t priority_of(const tbk_fixture_t* fx, source_t kind) {
  return kind == GREATEST ? fx->properties.priority_greatest
         : kind == LEAST  ? fx->properties.priority_least
                          : 0;
}

static tbk_stream_t* make_source(tbk_fixture_t* fx, source_t kind) {
  tbk_stream_t* stream = NULL;
  REQUIRE_OK(
      fx->stream->stream_create(fx->self, fx->device, priority_of(fx, kind), &stream, &fx->error));
  fx_adopt_stream(fx, stream);
  if (kind == HAS_WAITED) wait_once(fx, stream);
  return kind == NATIVE ? make_native(fx, stream) : stream;
}

/* The event may be in the place of one that was pending when it was destroyed, or have a past. */
static tbk_event_t* make_event(tbk_fixture_t* fx, const sweep_case_t* one) {
  const uint32_t flags = (uint32_t)sweep_get(one, &flags_axis);
  const past_t past = (past_t)sweep_get(one, &past_axis);
  tbk_stream_t* other = past != NEW ? fx_stream(fx) : NULL;
  tbk_event_t* event = fx_event(fx, flags);
  if (past == NEW) return event;
  sweep_delay(fx, other, DELAY_US);
  REQUIRE_OK(fx->event->event_record(fx->self, event, other, &fx->error));
  if (past == AFTER_WAITED) REQUIRE_OK(fx->event->event_wait(fx->self, other, event, &fx->error));
  if (past != AFTER_PENDING) return event;
  fx_disown_event(fx, event);
  fx->event->event_destroy(fx->self, event);
  event = fx_event(fx, flags);
  CHECK_OK(fx->event->event_query(fx->self, event, &fx->error)); /* nothing was recorded in it */
  return event;
}

static bool make_work(tbk_fixture_t* fx, source_work_t* it) {
  static const char* const names[] = {"upload",      "download",    "copy", "fill",
                                      "kernel fill", "kernel copy", "plan", "peer copy",
                                      "random",      "callback"};
  const work_kind_t* kind = NULL;
  bench_begin(fx, &it->bench, CELL, 8);
  kind = bench_kind(&it->bench, names[sweep_get(it->scene.one, &work_axis)]);
  if (kind == NULL) return false;
  it->other = bench_cell(&it->bench);
  if (kind->flags & (WORK_WRITES | WORK_ON_HOST))
    work_write(fx, &it->bench, &it->work, kind, bench_cell(&it->bench));
  else
    work_read(fx, &it->bench, &it->work, kind, bench_cell(&it->bench));
  bench_upload(fx, &it->bench);
  return true;
}

/* As many as there are to be had; eight streams are promised. */
static bool make_waiters(tbk_fixture_t* fx, sweep_case_t* one, source_work_t* it) {
  const int32_t priority = priority_of(fx, (source_t)sweep_get(one, &waiter_axis));
  for (int64_t i = 0; i < sweep_get(one, &waiters_axis); i++) {
    tbk_status_t status =
        fx->stream->stream_create(fx->self, fx->device, priority, &it->waiters[i], &fx->error);
    if (status == TBK_OUT_OF_MEMORY) {
      one->left_out = true;
      return false;
    }
    REQUIRE_OK(status);
    fx_adopt_stream(fx, it->waiters[i]);
  }
  return true;
}

/* ---------------------------------------------------------------------------------- program --- */

static void enqueue_others(tbk_fixture_t* fx, source_work_t* it) {
  const int64_t kind = sweep_get(it->scene.one, &others_axis);
  const bench_t* bench = &it->bench;
  const uint64_t bytes = bench->cell_bytes;
  sweep_delay(fx, it->stream, DELAY_US);
  for (int64_t i = 0; i < sweep_get(it->scene.one, &behind_axis); i++) {
    if (kind == 0)
      CHECK_OK(fx->core->upload(fx->self, fx->device, bench->memory, it->other, bench->before,
                                bytes, it->stream, &fx->error));
    else if (kind == 1)
      CHECK_OK(fx->core->copy(fx->self, fx->device, it->scene.scratch, it->scene.unit,
                              it->scene.scratch, 0, it->scene.unit, it->stream, &fx->error));
    else
      CHECK_OK(fx->core->fill(fx->self, fx->device, bench->memory, it->other, 1, bytes, it->stream,
                              &fx->error));
  }
}

static void let_go(tbk_fixture_t* fx, source_work_t* it) {
  if (sweep_get(it->scene.one, &gone_axis) == 0) return;
  fx_disown_stream(fx, it->stream);
  fx->stream->stream_destroy(fx->self, it->stream);
}

static void wait_on_streams(tbk_fixture_t* fx, source_work_t* it) {
  const int64_t waiters = sweep_get(it->scene.one, &waiters_axis);
  for (int64_t i = 0; i < waiters; i++)
    CHECK_OK(fx->event->event_wait(fx->self, it->waiters[i], it->event, &fx->error));
  CHECK_OK(fx->stream->stream_synchronize(fx->self, it->waiters[waiters - 1], &fx->error));
}

static void finish(tbk_fixture_t* fx, source_work_t* it) {
  tbk_status_t status = TBK_OK;
  switch (it->way) {
    case BY_STREAM:
      CHECK_OK(fx->stream->stream_synchronize(fx->self, it->stream, &fx->error));
      break;
    case BY_STREAM_QUERY:
      FX_CHECK_STREAM_ENDS(fx, it->stream, &status);
      break;
    case BY_DEVICE:
      CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
      break;
    case BY_EVENT:
      CHECK_OK(fx->event->event_synchronize(fx->self, it->event, &fx->error));
      break;
    case BY_EVENT_QUERY:
      FX_CHECK_EVENT_ENDS(fx, it->event, &status);
      break;
    case BY_WAIT:
      wait_on_streams(fx, it);
  }
  CHECK_STATUS(TBK_OK, status);
}

static void program(tbk_fixture_t* fx, void* argument) {
  source_work_t* it = argument;
  enqueue_others(fx, it);
  CHECK_OK(work_enqueue(fx, &it->work, it->stream));
  if (it->event != NULL)
    CHECK_OK(fx->event->event_record(fx->self, it->event, it->stream, &fx->error));
  let_go(fx, it);
  finish(fx, it);
}

static void run(tbk_fixture_t* fx, sweep_case_t* one) {
  source_work_t* it = (source_work_t*)(void*)fx_zeros(fx, sizeof *it);
  scene_begin(fx, one, &it->scene);
  scene_scratch(&it->scene);
  it->way = way_of(one);
  if (!make_work(fx, it)) {
    one->left_out = true;
    return;
  }
  if (it->way >= BY_EVENT) it->event = make_event(fx, one);
  it->stream = make_source(fx, (source_t)sweep_get(one, &source_axis));
  if (make_waiters(fx, one, it)) {
    scene_call(&it->scene, program, it);
    bench_download(fx, &it->bench);
    CHECK_BYTES(it->work.expected, work_result(&it->work), it->bench.cell_bytes);
  }
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
  bench_end(fx, &it->bench);
}

static void sweep(tbk_fixture_t* fx, const sweep_space_t* space) {
  if (fx->callback == NULL)
    fx_evidence(fx, TBK_NOT_SHOWN, "without callbacks nothing can be delayed");
  sweep_run(fx, space);
}

#define BEHIND &work_axis, &source_axis, &behind_axis, &others_axis
#define SCENE &sweep_device, &sweep_thread

static void a_stream_is_asked_about_all_of_its_work(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&stream_way, BEHIND, SCENE}, source_fits, run, 0};
  sweep(fx, &space);
}

static void a_device_is_asked_about_all_of_its_streams(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&device_way, &gone_axis, BEHIND, SCENE}, source_fits, run, 0};
  sweep(fx, &space);
}

static void an_event_stands_for_all_work_before_it(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&event_way, &gone_axis, &past_axis, &flags_axis, BEHIND, SCENE}, source_fits, run, 0};
  sweep(fx, &space);
}

static void waiting_streams_wait_for_all_work_before_the_event(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&wait_way, &gone_axis, &waiters_axis, &waiter_axis, &past_axis, &flags_axis, BEHIND, SCENE},
      source_fits,
      run,
      0};
  sweep(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("STR-015", "stream", TBK_CASE_THOROUGH, a_stream_is_asked_about_all_of_its_work),
    TBK_CASE("STR-022", "stream", TBK_CASE_THOROUGH, a_device_is_asked_about_all_of_its_streams),
    TBK_CASE("EVT-023", "event", TBK_CASE_THOROUGH, an_event_stands_for_all_work_before_it),
    TBK_CASE("EVT-018", "event", TBK_CASE_THOROUGH,
             waiting_streams_wait_for_all_work_before_the_event),
};
TBK_SUITE(sweep_source);
