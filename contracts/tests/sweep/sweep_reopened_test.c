/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweep of what names two devices, after the first, the second or both were closed and opened again: what one keeps
 * of the other, a mapping, a route or a handle, is then of a device that is gone.
 */
#include "dimensions.h"
#include "range.h"
#include "resources.h"

#include <string.h>

enum { BYTES = 4096, DELAY_US = 500 }; /* a multiple of every granularity */

typedef enum act { PEER, WAIT, PINNED } act_t;

SWEEP_DIMENSION(peer_axis, "by", {"peer_copy", PEER});
SWEEP_DIMENSION(wait_axis, "by", {"event_wait", WAIT});
SWEEP_DIMENSION(pinned_axis, "by", {"pinned_memory", PINNED});
SWEEP_DIMENSION(way_axis, "way", {"0to1", 1}, {"1to0", 2});
/* A bit for each device. To open one may take long, so where few cases are to show most each is used both ways. */
SWEEP_DIMENSION(one_axis, "closed", {"0", 1}, {"1", 2});
SWEEP_DIMENSION(closed_axis, "closed", {"0", 1}, {"1", 2}, {"both", 3});
SWEEP_DIMENSION(on_axis, "on", {"NULL", 0}, {"stream", 1});
SWEEP_DIMENSION(used_axis, "used_before", {"yes", 0}, {"no", 1});
SWEEP_DIMENSION(kept_axis, "other_has", {"new", 0}, {"old", 1}); /* the one that stays open */
SWEEP_DIMENSION(times_axis, "times", {"1", 1}, {"3", 3});

typedef struct side {
  tbk_memory_t memory;
  tbk_stream_t* stream;
  tbk_event_t* event;
  void* pinned;
  uint8_t* model;
} side_t;

static int64_t closed_of(const sweep_case_t* one) {
  return sweep_get(one, &one_axis) + sweep_get(one, &closed_axis);
}

static act_t act_of(const sweep_case_t* one) {
  return (act_t)(sweep_get(one, &peer_axis) + sweep_get(one, &wait_axis) +
                 sweep_get(one, &pinned_axis));
}

static bool reopened_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  if (sweep_get(one, &on_axis) == 1 && fx->stream == NULL) return false;
  return sweep_get(one, &kept_axis) == 0 || closed_of(one) != 3;
}

static void make_side(tbk_fixture_t* fx, side_t* side, int32_t device, const sweep_case_t* one) {
  const act_t act = act_of(one);
  fx_use_device(fx, device);
  *side = (side_t){.model = fx_bytes(fx, BYTES)};
  side->memory = fx_alloc_with(fx, side->model, BYTES);
  if (act == WAIT || sweep_get(one, &on_axis) == 1) side->stream = fx_stream(fx);
  if (act == WAIT) side->event = fx_event(fx, 0);
  if (act == PINNED)
    REQUIRE_OK(fx->pinned->pinned_alloc(fx->self, device, BYTES, &side->pinned, &fx->error));
}

static void drop_pinned(tbk_fixture_t* fx, side_t sides[2]) {
  for (int i = 0; i < 2; i++) {
    if (sides[i].pinned != NULL) fx->pinned->pinned_free(fx->self, sides[i].pinned);
    sides[i].pinned = NULL;
  }
}

/* ------------------------------------------------------------------- from one device to the other -- */

static void copy_across(tbk_fixture_t* fx, int from, side_t sides[2]) {
  const int to = 1 - from;
  CHECK_OK(fx->peer->peer_copy(fx->self, to, sides[to].memory, 0, from, sides[from].memory, 0,
                               BYTES, sides[from].stream, &fx->error));
  range_settle(fx, sides[from].stream);
}

/* One brings its bytes to the host, late; they are there for whoever waits for the other, which waits for the event. */
static void wait_across(tbk_fixture_t* fx, int from, side_t sides[2]) {
  const int to = 1 - from;
  uint8_t* host = fx_zeros(fx, BYTES);
  sweep_delay(fx, sides[from].stream, DELAY_US);
  CHECK_OK(fx->core->download(fx->self, from, host, sides[from].memory, 0, BYTES,
                              sides[from].stream, &fx->error));
  CHECK_OK(fx->event->event_record(fx->self, sides[from].event, sides[from].stream, &fx->error));
  CHECK_OK(fx->event->event_wait(fx->self, sides[to].stream, sides[from].event, &fx->error));
  fx_synchronize(fx, sides[to].stream);
  CHECK_BYTES(sides[from].model, host, BYTES);
  fx_synchronize(fx, sides[from].stream);
  CHECK_OK(fx->core->upload(fx->self, to, sides[to].memory, 0, host, BYTES, sides[to].stream,
                            &fx->error));
  fx_synchronize(fx, sides[to].stream);
}

/* Through the pinned memory that was made for the one, and then that of the other. */
static void pass_pinned(tbk_fixture_t* fx, int from, side_t sides[2]) {
  const int to = 1 - from;
  CHECK_OK(fx->core->download(fx->self, from, sides[to].pinned, sides[from].memory, 0, BYTES,
                              sides[from].stream, &fx->error));
  range_settle(fx, sides[from].stream);
  memcpy(sides[from].pinned, sides[to].pinned, BYTES);
  CHECK_OK(fx->core->upload(fx->self, to, sides[to].memory, 0, sides[from].pinned, BYTES,
                            sides[to].stream, &fx->error));
  range_settle(fx, sides[to].stream);
}

/* With bytes of its own, so that what came from the other one counts for nothing. */
static void fill_side(tbk_fixture_t* fx, side_t* side, int32_t device) {
  fx_use_device(fx, device);
  side->model = fx_bytes(fx, BYTES);
  fx_upload(fx, side->memory, side->model, BYTES);
}

static void check_sides(tbk_fixture_t* fx, const side_t sides[2]) {
  for (int32_t device = 0; device < 2; device++) {
    fx_use_device(fx, device);
    FX_CHECK_MEMORY(fx, sides[device].model, sides[device].memory, BYTES);
  }
}

static void act_and_check(tbk_fixture_t* fx, const sweep_case_t* one, side_t sides[2]) {
  static void (*const acts[])(tbk_fixture_t*, int, side_t[2]) = {copy_across, wait_across,
                                                                 pass_pinned};
  const int64_t way = sweep_get(one, &way_axis);
  for (int from = 0; from < 2; from++) {
    if (way != 0 && way != from + 1) continue;
    fill_side(fx, &sides[from], from);
    acts[act_of(one)](fx, from, sides);
    memcpy(sides[1 - from].model, sides[from].model, BYTES);
    check_sides(fx, sides);
  }
  drop_pinned(fx, sides);
}

/* --------------------------------------------------------------------------------------- one case -- */

static void close_and_open(tbk_fixture_t* fx, int64_t closed) {
  for (int32_t device = 0; device < 2; device++)
    if ((closed >> device & 1) != 0) CHECK_OK(fx->core->device_close(fx->self, device, &fx->error));
  for (int32_t device = 0; device < 2; device++)
    if ((closed >> device & 1) != 0) REQUIRE_OK(fx_reopen(fx, device));
}

static void run_reopened(tbk_fixture_t* fx, sweep_case_t* one) {
  side_t sides[2];
  const int64_t closed = closed_of(one), times = sweep_get(one, &times_axis);
  const int32_t stays = closed == 1; /* where one does */
  const bool kept = sweep_get(one, &kept_axis) == 1;
  (void)fx_second_device(fx);
  if (sweep_get(one, &used_axis) == 0) {
    for (int32_t device = 0; device < 2; device++)
      make_side(fx, &sides[device], device, one);
    act_and_check(fx, one, sides);
    tbk_resources_between(fx); /* so that nothing of it is given back once it is stale */
  }
  if (kept) make_side(fx, &sides[stays], stays, one);
  for (int64_t i = 0; i < (times > 0 ? times : 1); i++)
    close_and_open(fx, closed);
  for (int32_t device = 0; device < 2; device++)
    if (!kept || device != stays) make_side(fx, &sides[device], device, one);
  act_and_check(fx, one, sides);
}

static void peer_copies_arrive_once_a_device_is_open_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&one_axis, &peer_axis}, reopened_fits, run_reopened, 2};
  sweep_run(fx, &space);
}

static void devices_wait_for_each_other_once_one_is_open_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&one_axis, &wait_axis}, reopened_fits, run_reopened, 2};
  sweep_run(fx, &space);
}

static void pinned_memory_serves_both_devices_once_one_is_open_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&one_axis, &pinned_axis}, reopened_fits, run_reopened, 2};
  sweep_run(fx, &space);
}

static void peer_copies_arrive_however_a_device_was_open_before(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&closed_axis, &way_axis, &kept_axis, &used_axis, &times_axis, &on_axis, &peer_axis},
      reopened_fits,
      run_reopened,
      2};
  sweep_run(fx, &space);
}

static void devices_wait_for_each_other_however_one_was_open_before(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&closed_axis, &way_axis, &kept_axis, &used_axis, &times_axis, &wait_axis},
      reopened_fits,
      run_reopened,
      2};
  sweep_run(fx, &space);
}

static void pinned_memory_serves_both_however_a_device_was_open_before(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&closed_axis, &way_axis, &kept_axis, &used_axis, &times_axis, &on_axis, &pinned_axis},
      reopened_fits,
      run_reopened,
      2};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("PER-006", "peer two_devices", 0, peer_copies_arrive_once_a_device_is_open_again),
    TBK_CASE("EVT-021", "event two_devices cross_device_wait", 0,
             devices_wait_for_each_other_once_one_is_open_again),
    TBK_CASE("PIN-004", "pinned two_devices", 0,
             pinned_memory_serves_both_devices_once_one_is_open_again),
    TBK_CASE("PER-006", "peer two_devices", TBK_CASE_THOROUGH,
             peer_copies_arrive_however_a_device_was_open_before),
    TBK_CASE("EVT-021", "event two_devices cross_device_wait", TBK_CASE_THOROUGH,
             devices_wait_for_each_other_however_one_was_open_before),
    TBK_CASE("PIN-004", "pinned two_devices", TBK_CASE_THOROUGH,
             pinned_memory_serves_both_however_a_device_was_open_before),
};
TBK_SUITE(sweep_reopened);
