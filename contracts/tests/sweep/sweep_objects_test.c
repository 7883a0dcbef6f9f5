/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweeps of the kinds and numbers of objects: streams of every priority and events of every flag, as
 * many as are promised, after others came and went, and destroyed at any time. What a stream was
 * given to do is done, whoever is gone by then.
 */
#include "child.h"
#include "dimensions.h"

#include <stdatomic.h>
#include <string.h>

enum { MOST = 8, CHURN_ROUNDS = 7, DELAY_US = 1000 };

typedef enum before { NOTHING, CAME_AND_WENT, WENT_BUSY } before_t;
typedef enum gone { AT_THE_END, STREAMS, EVENTS, BOTH } gone_t;

SWEEP_DIMENSION(streams_axis, "streams", {"1", 1}, {"2", 2}, {"5", 5}, {"8", MOST});
SWEEP_DIMENSION(events_axis, "events", {"1", 1}, {"3", 3}, {"8", MOST});
SWEEP_DIMENSION(priority_axis, "priority", {"0", 0}, {"greatest", 1}, {"least", 2}, {"mixed", 3});
SWEEP_DIMENSION(flags_axis, "flags", {"0", 0}, {"timing", 1}, {"mixed", 2});
SWEEP_DIMENSION(before_axis, "before", {"nothing", NOTHING}, {"56_idle", CAME_AND_WENT},
                {"56_busy", WENT_BUSY});
SWEEP_DIMENSION(beside_axis, "beside", {"0", 0}, {"8", MOST});
SWEEP_DIMENSION(gone_axis, "destroyed_busy", {"none", AT_THE_END}, {"events", EVENTS},
                {"both", BOTH});
SWEEP_DIMENSION(stream_gone_axis, "destroyed_busy", {"none", AT_THE_END}, {"streams", STREAMS});
/* All events are of one stream, or each of another; and recorded so often. */
SWEEP_DIMENSION(records_axis, "records", {"1", 1}, {"2", 2}, {"12", 12});
SWEEP_DIMENSION(waits_axis, "waits", {"1", 1}, {"12", 12});

typedef struct objects {
  scene_t scene;
  tbk_stream_t* streams[MOST];
  tbk_event_t* events[MOST];
  uint64_t stream_count, event_count, cell;
  tbk_memory_t memory;
  uint8_t *bytes, *seen; /* a cell for each stream */
} objects_t;

/* A stream that is busy for the state of the scene counts as well. */
static bool objects_fit(const tbk_fixture_t* fx, const sweep_case_t* one) {
  bool busy = sweep_get(one, &sweep_state) == SWEEP_BUSY;
  if (sweep_get(one, &beside_axis) > 0 && fx->device_count < 2) return false;
  if (busy && sweep_get(one, &before_axis) != NOTHING) return false;
  return scene_fits(fx, one) && !(busy && sweep_get(one, &streams_axis) == MOST);
}

static tbk_stream_t* make_stream(tbk_fixture_t* fx, const sweep_case_t* one, int32_t device,
                                 uint64_t at) {
  int64_t kind = sweep_get(one, &priority_axis);
  if (kind == 3) kind = (int64_t)(at % 3);
  int32_t priority = kind == 1   ? fx->properties.priority_greatest
                     : kind == 2 ? fx->properties.priority_least
                                 : 0;
  tbk_stream_t* stream = NULL;
  REQUIRE_OK(fx->stream->stream_create(fx->self, device, priority, &stream, &fx->error));
  fx_adopt_stream(fx, stream);
  return stream;
}

static tbk_event_t* make_event(tbk_fixture_t* fx, const sweep_case_t* one, uint64_t at) {
  int64_t kind = sweep_get(one, &flags_axis);
  return fx_event(fx, kind == 1 || (kind == 2 && at % 2 == 1) ? TBK_EVENT_TIMING : 0);
}

static void drop_stream(tbk_fixture_t* fx, tbk_stream_t* stream) {
  fx_disown_stream(fx, stream);
  fx->stream->stream_destroy(fx->self, stream);
}

static void drop_event(tbk_fixture_t* fx, tbk_event_t* event) {
  fx_disown_event(fx, event);
  fx->event->event_destroy(fx->self, event);
}

static void synchronize_device(tbk_fixture_t* fx) {
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
}

static void make_all(tbk_fixture_t* fx, objects_t* it) {
  for (uint64_t i = 0; i < it->stream_count; i++)
    it->streams[i] = make_stream(fx, it->scene.one, fx->device, i);
  for (uint64_t i = 0; i < it->event_count; i++)
    it->events[i] = make_event(fx, it->scene.one, i);
}

static uint64_t at_least_one(int64_t count) {
  return count > 0 ? (uint64_t)count : 1;
}

/* Each stream moves its cell, and each event is recorded and waited for by the streams in turn. */
static void use_all(tbk_fixture_t* fx, objects_t* it) {
  const sweep_case_t* one = it->scene.one;
  uint64_t records = at_least_one(sweep_get(one, &records_axis));
  uint64_t waits = at_least_one(sweep_get(one, &waits_axis));
  for (uint64_t i = 0; i < it->stream_count; i++) {
    sweep_delay(fx, it->streams[i], DELAY_US);
    CHECK_OK(fx->core->upload(fx->self, fx->device, it->memory, i * it->cell,
                              it->bytes + i * it->cell, it->cell, it->streams[i], &fx->error));
  }
  for (uint64_t i = 0; i < it->event_count; i++) {
    tbk_stream_t* source = it->streams[i % it->stream_count];
    for (uint64_t k = 0; k < records; k++)
      CHECK_OK(fx->event->event_record(fx->self, it->events[i], source, &fx->error));
    for (uint64_t k = 0; k < waits; k++)
      CHECK_OK(fx->event->event_wait(fx->self, it->streams[(i + k + 1) % it->stream_count],
                                     it->events[i], &fx->error));
  }
}

/* Reads what the stream before has written, where an event orders that; its own else. */
static void read_all(tbk_fixture_t* fx, objects_t* it) {
  for (uint64_t i = 0; i < it->stream_count; i++) {
    uint64_t before = (i + it->stream_count - 1) % it->stream_count;
    uint64_t cell = before < it->event_count ? before : i;
    memcpy(it->bytes + (MOST + i) * it->cell, it->bytes + cell * it->cell, it->cell);
    CHECK_OK(fx->core->download(fx->self, fx->device, it->seen + i * it->cell, it->memory,
                                cell * it->cell, it->cell, it->streams[i], &fx->error));
  }
}

static void drop_all(tbk_fixture_t* fx, objects_t* it, gone_t gone) {
  for (uint64_t i = 0; i < it->event_count && (gone == EVENTS || gone == BOTH); i++)
    drop_event(fx, it->events[i]);
  for (uint64_t i = 0; i < it->stream_count && (gone == STREAMS || gone == BOTH); i++)
    drop_stream(fx, it->streams[i]);
}

/* Eight at a time; those that were destroyed at work count no more when the device is through. */
static void come_and_go(tbk_fixture_t* fx, objects_t* it, before_t before) {
  const uint64_t streams = it->stream_count, events = it->event_count;
  it->stream_count = MOST;
  it->event_count = fx->event != NULL ? MOST : 0;
  for (int round = 0; before != NOTHING && round < CHURN_ROUNDS; round++) {
    make_all(fx, it);
    use_all(fx, it);
    if (before == CAME_AND_WENT) synchronize_device(fx);
    drop_all(fx, it, BOTH);
    synchronize_device(fx);
  }
  it->stream_count = streams;
  it->event_count = events;
}

static objects_t* objects_begin(tbk_fixture_t* fx, const sweep_case_t* one) {
  objects_t* it = (objects_t*)(void*)fx_zeros(fx, sizeof *it);
  scene_begin(fx, one, &it->scene);
  it->stream_count = (uint64_t)sweep_get(one, &streams_axis);
  it->event_count = (uint64_t)sweep_get(one, &events_axis);
  if (it->stream_count == 0) it->stream_count = 2;
  it->cell = fx_round(fx, 64);
  it->bytes = fx_bytes(fx, 2 * MOST * it->cell);
  it->seen = fx_zeros(fx, MOST * it->cell);
  it->memory = fx_alloc_with(fx, it->seen, MOST * it->cell);
  return it;
}

static void run(tbk_fixture_t* fx, sweep_case_t* one) {
  objects_t* it = objects_begin(fx, one);
  gone_t gone = (gone_t)(sweep_get(one, &gone_axis) + sweep_get(one, &stream_gone_axis));
  int32_t other = fx->device == 0 && sweep_get(one, &beside_axis) > 0 ? fx_second_device(fx) : 0;
  for (int64_t i = 0; i < sweep_get(one, &beside_axis); i++)
    (void)make_stream(fx, one, other, (uint64_t)i);
  come_and_go(fx, it, (before_t)sweep_get(one, &before_axis));
  make_all(fx, it);
  use_all(fx, it);
  if (gone == EVENTS) drop_all(fx, it, EVENTS);
  read_all(fx, it);
  if (gone != EVENTS) drop_all(fx, it, gone);
  synchronize_device(fx);
  CHECK_BYTES(it->bytes + MOST * it->cell, it->seen, it->stream_count * it->cell);
}

static void delay_evidence(tbk_fixture_t* fx) {
  if (fx->callback == NULL)
    fx_evidence(fx, TBK_NOT_SHOWN, "without callbacks nothing can be delayed");
}

static void eight_streams_of_every_kind_exist(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&streams_axis, &priority_axis, &before_axis, &beside_axis, &sweep_device, &sweep_state},
      objects_fit,
      run,
      0};
  sweep_run(fx, &space);
}

static void eight_events_of_every_kind_exist(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&events_axis, &flags_axis, &before_axis, &records_axis,
                                       &priority_axis, &sweep_device, &sweep_state},
                                      objects_fit,
                                      run,
                                      0};
  sweep_run(fx, &space);
}

static void work_of_destroyed_streams_is_done(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&stream_gone_axis, &streams_axis, &priority_axis, &before_axis, &sweep_device, &sweep_state},
      objects_fit,
      run,
      0};
  delay_evidence(fx);
  sweep_run(fx, &space);
}

static void waits_for_destroyed_events_stay_in_force(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&gone_axis, &events_axis, &streams_axis, &flags_axis,
                                       &records_axis, &waits_axis, &sweep_device, &sweep_state},
                                      objects_fit,
                                      run,
                                      0};
  delay_evidence(fx);
  sweep_run(fx, &space);
}

/* ------------------------------------------------------------------------ across devices ----- */

SWEEP_DIMENSION(crossings_axis, "crossings", {"1", 1}, {"2", 2}, {"13", 13}, {"60", 60});
SWEEP_DIMENSION(shared_axis, "event", {"one", 1}, {"two", 2});

/* To and fro: each device passes what the other has read on the host, after its event. */
static void run_crossings(tbk_fixture_t* fx, sweep_case_t* one) {
  const int32_t devices[2] = {fx->device, fx_second_device(fx)};
  const uint64_t bytes = 4096; /* a multiple of every granularity */
  uint64_t events = (uint64_t)sweep_get(one, &shared_axis);
  uint64_t crossings = (uint64_t)sweep_get(one, &crossings_axis);
  uint8_t* host = fx_zeros(fx, (crossings + 1) * bytes);
  memcpy(host, fx_bytes(fx, bytes), bytes);
  tbk_memory_t memory[2];
  tbk_stream_t* streams[2];
  tbk_event_t* marks[4];
  for (int side = 0; side < 2; side++) {
    fx_use_device(fx, devices[side]);
    memory[side] = fx_alloc(fx, bytes);
    streams[side] = make_stream(fx, one, fx->device, 0);
    for (uint64_t i = 0; i < events; i++)
      marks[2 * (uint64_t)side + i] = make_event(fx, one, i);
  }
  for (uint64_t i = 0; i < crossings; i++) {
    uint64_t side = i % 2;
    tbk_event_t* mark = marks[2 * side + i / 2 % events];
    sweep_delay(fx, streams[side], DELAY_US / 4);
    CHECK_OK(fx->core->upload(fx->self, devices[side], memory[side], 0, host + i * bytes, bytes,
                              streams[side], &fx->error));
    CHECK_OK(fx->core->download(fx->self, devices[side], host + (i + 1) * bytes, memory[side], 0,
                                bytes, streams[side], &fx->error));
    CHECK_OK(fx->event->event_record(fx->self, mark, streams[side], &fx->error));
    CHECK_OK(fx->event->event_wait(fx->self, streams[1 - side], mark, &fx->error));
  }
  for (int side = 0; side < 2; side++)
    fx_synchronize(fx, streams[side]);
  fx_use_device(fx, devices[0]);
  for (uint64_t i = 0; i < crossings; i++)
    CHECK_BYTES(host, host + (i + 1) * bytes, bytes);
}

static void events_order_devices_however_often(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&crossings_axis, &shared_axis, &flags_axis, &priority_axis}, NULL, run_crossings, 0};
  delay_evidence(fx);
  sweep_run(fx, &space);
}

/* ----------------------------------------------------------------------- closing the device ---- */

SWEEP_DIMENSION(closed_axis, "device", {"0", 0}, {"1", 1});
SWEEP_DIMENSION(still_axis, "still_there", {"none", 0}, {"some", 1});

static void count(void* argument) {
  atomic_fetch_add((atomic_int*)argument, 1);
}

static bool closing_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  return fx->device_count > 1 || sweep_get(one, &closed_axis) == 0;
}

/* Every second stream of those that are still there is destroyed too, before the device is closed.
 * */
static void run_closing(tbk_fixture_t* fx, sweep_case_t* one) {
  int32_t device = (int32_t)sweep_get(one, &closed_axis);
  int64_t streams = sweep_get(one, &streams_axis), expected = 0;
  atomic_int* ran = (atomic_int*)(void*)fx_zeros(fx, sizeof *ran);
  REQUIRE_OK(fx_reopen(fx, device));
  for (int64_t i = 0; i < streams; i++) {
    tbk_stream_t* stream = NULL;
    CHECK_OK(fx->stream->stream_create(fx->self, device, 0, &stream, &fx->error));
    if (stream == NULL) break;
    sweep_delay(fx, stream, 3 * DELAY_US);
    CHECK_OK(fx->callback->callback_enqueue(fx->self, stream, count, ran, &fx->error));
    expected++;
    if (sweep_get(one, &still_axis) == 0 || i % 2 == 0)
      fx->stream->stream_destroy(fx->self, stream);
  }
  CHECK_OK(fx->core->device_close(fx->self, device, &fx->error));
  CHECK_EQUAL(expected, atomic_load(ran));
}

static void closing_waits_for_destroyed_streams(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&streams_axis, &still_axis, &closed_axis}, closing_fits, run_closing, 0};
  REQUIRE_OK(fx->core->device_count(fx->self, &fx->device_count, &fx->error));
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("STR-006", "stream", TBK_CASE_THOROUGH, eight_streams_of_every_kind_exist),
    TBK_CASE("EVT-003", "event", TBK_CASE_THOROUGH, eight_events_of_every_kind_exist),
    TBK_CASE("STR-011", "stream", TBK_CASE_THOROUGH, work_of_destroyed_streams_is_done),
    TBK_CASE("EVT-008", "event", TBK_CASE_THOROUGH, waits_for_destroyed_events_stay_in_force),
    TBK_CASE("EVT-021", "event two_devices cross_device_wait", TBK_CASE_THOROUGH,
             events_order_devices_however_often),
    TBK_CASE("DEV-023", "callback", TBK_CASE_THOROUGH | TBK_CASE_CLOSED,
             closing_waits_for_destroyed_streams),
};
TBK_SUITE(sweep_objects);
