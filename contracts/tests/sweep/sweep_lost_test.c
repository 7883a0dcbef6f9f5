/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which call of all calls: every function in the map of tables is called on a lost device, and on
 * one that is not open.
 */
#include "child.h"
#include "every_call.h"
#include "sweep.h"

#include <string.h>

/*
 * What is not said of a lost device: how devices are counted, described, opened and closed, whether
 * one reaches another, and giving back, which always succeeds.
 */
static bool is_exempt(const call_row_t* row) {
  return !row->fallible || call_is(row, "asks_of_devices") || call_is(row, "opens") ||
         call_is(row, "closes") || call_is(row, "gives_back");
}

/* Twice around: that it stays lost is true after every other call, and of no bytes as well. */
static void every_function_tells_that_the_device_is_lost(tbk_fixture_t* fx) {
  every_call_t* made = every_call_make(fx);
  tbk_status_t status =
      fx->fault->fault_enqueue(fx->self, made->stream, TBK_FAULT_DEVICE_LOST, &fx->error);
  CHECK(status == TBK_OK || status == TBK_DEVICE_LOST);
  CHECK_STATUS(TBK_DEVICE_LOST, fx->stream->stream_synchronize(fx->self, made->stream, &fx->error));
  for (size_t i = 0; i < 2 * every_call_count; i++) {
    const call_row_t* row = &every_call[i % every_call_count];
    if (i == every_call_count) made->bytes = 0;
    if (is_exempt(row) || !row->offered(fx, made)) continue;
    fx->error.message[0] = '\0';
    status = row->call(fx, made);
    CHECK_SAID(status == TBK_DEVICE_LOST, "DEVICE_LOST", "%s from %s", tbk_status_name(status),
               row->function);
    CHECK_KEPT(row->function, status == TBK_OK || !made->wrote);
    TBK_CHECKS("ERR-008");
    CHECK_SAID(status == TBK_OK || fx->error.message[0] != '\0', "a reason with DEVICE_LOST",
               "none from %s", row->function);
  }
  every_call_end(fx, made);
}

/* ------------------------------------------------------------ what is known of the devices --- */

static tbk_device_properties_t describe(tbk_fixture_t* fx, int32_t device, tbk_status_t* status) {
  tbk_device_properties_t properties;
  memset(&properties, 0, sizeof properties);
  properties.struct_size = sizeof properties;
  *status = fx->core->device_properties(fx->self, device, &properties, &fx->error);
  return properties;
}

/* That a device is lost, FLT-003 lets every call on it answer; other answers are as before. */
static void check_description(tbk_fixture_t* fx, int32_t device, bool lost,
                              const tbk_device_properties_t* before) {
  tbk_status_t status;
  tbk_device_properties_t now = describe(fx, device, &status);
  if (lost && status == TBK_DEVICE_LOST) return;
  if (!CHECK_STATUS(TBK_OK, status)) return;
  FX_CHECK_NAME(before->name, now.name);
  now.name = before->name;
  CHECK_BYTES(before, &now, sizeof now);
}

static void lose(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  tbk_status_t status =
      fx->fault->fault_enqueue(fx->self, stream, TBK_FAULT_DEVICE_LOST, &fx->error);
  CHECK(status == TBK_OK || status == TBK_DEVICE_LOST);
  CHECK_STATUS(TBK_DEVICE_LOST, fx->stream->stream_synchronize(fx->self, stream, &fx->error));
}

static void devices_are_counted_as_before_the_loss(tbk_fixture_t* fx) {
  enum { TURNS = 3 };
  lose(fx);
  for (int turn = 0; turn < TURNS; turn++) {
    int32_t seen = -1;
    CHECK_OK(fx->core->device_count(fx->self, &seen, &fx->error));
    CHECK_EQUAL(fx->device_count, seen);
  }
}

static void devices_are_described_as_before_the_loss(tbk_fixture_t* fx) {
  enum { MOST_DEVICES = 8, TURNS = 3 };
  tbk_device_properties_t before[MOST_DEVICES];
  int32_t count = fx->device_count < MOST_DEVICES ? fx->device_count : MOST_DEVICES;
  tbk_status_t status;
  for (int32_t i = 0; i < count; i++) {
    before[i] = describe(fx, i, &status);
    CHECK_STATUS(TBK_OK, status);
  }
  lose(fx);
  for (int32_t i = 0; i < TURNS * count; i++)
    check_description(fx, i % count, i % count == fx->device, &before[i % count]);
}

/* ------------------------------------------------------------------------------- not open ----- */

typedef enum opened { NEVER_OPENED, CLOSED_AGAIN, CLOSED_TWICE } opened_t;

SWEEP_DIMENSION(opened_axis, "device_was_open", {"once", CLOSED_AGAIN}, {"twice", CLOSED_TWICE});
SWEEP_DIMENSION(bytes_axis, "bytes", {"ordinary", 1}, {"zero", 0});
SWEEP_DIMENSION(offset_axis, "offset", {"zero", 0}, {"within", 1});
SWEEP_DIMENSION(which_axis, "device", {"0", 0}, {"1", 1});
SWEEP_DIMENSION(first_axis, "device", {"0", 0});
SWEEP_DIMENSION(second_axis, "device", {"1", 1});
SWEEP_DIMENSION(other_axis, "other_is", {"closed", 0}, {"open", 1});

/* Both of PER-003 and DEV-021 say INVALID_STATE. */
static bool needs_open(const call_row_t* row, bool peers) {
  bool two = call_has(row, "source_device");
  return row->fallible && call_is(row, "needs_open") && two == peers;
}

static int32_t which_of(const sweep_case_t* one) {
  return (int32_t)(sweep_get(one, &which_axis) + sweep_get(one, &second_axis));
}

static bool closed_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  bool two = which_of(one) == 1 || sweep_get(one, &other_axis) == 1;
  return fx->device_count > 1 || !two;
}

/* Memory of a device that was never open does not exist: a range within it is not to be had. */
static bool has_arguments(const call_row_t* row, const sweep_case_t* one) {
  bool never = sweep_get(one, &opened_axis) == NEVER_OPENED;
  return !never || sweep_get(one, &bytes_axis) == 0 ||
         strstr(row->parameters, "tbk_memory_t ") == NULL;
}

static void open_and_close(tbk_fixture_t* fx, every_call_t* on, int64_t times, uint64_t bytes) {
  for (int64_t i = 0; i < times; i++) {
    REQUIRE_OK(fx_reopen(fx, fx->device));
    CHECK_OK(fx->core->memory_alloc(fx->self, fx->device, bytes, &on->memory, &fx->error));
    CHECK_OK(fx->core->memory_alloc(fx->self, fx->device, bytes, &on->other, &fx->error));
    CHECK_OK(fx->core->device_close(fx->self, fx->device, &fx->error));
  }
}

static void check_closed(tbk_fixture_t* fx, every_call_t* on, const sweep_case_t* one, bool peers) {
  for (size_t i = 0; i < every_call_count; i++) {
    const call_row_t* row = &every_call[i];
    if (!needs_open(row, peers) || !row->offered(fx, on) || !has_arguments(row, one)) continue;
    tbk_status_t status = row->call(fx, on);
    CHECK_SAID(status == TBK_INVALID_STATE, "INVALID_STATE", "%s from %s", tbk_status_name(status),
               row->function);
    CHECK_KEPT(row->function, status == TBK_OK || !on->wrote);
  }
}

static void run_closed(tbk_fixture_t* fx, const sweep_case_t* one, bool peers) {
  every_call_t* on = (every_call_t*)(void*)fx_zeros(fx, sizeof *on);
  int32_t kept = fx->device, other = 1 - which_of(one);
  bool beside = sweep_get(one, &other_axis) == 1;
  fx_use_device(fx, 1 - other);
  uint64_t unit = 4096; /* the most that a granularity may be */
  on->bytes = sweep_get(one, &bytes_axis) == 1 ? unit : 0;
  on->offset = sweep_get(one, &offset_axis) == 1 ? unit : 0;
  on->host = fx_bytes(fx, unit);
  uint8_t* before = fx_zeros(fx, unit);
  memcpy(before, on->host, unit);
  if (beside) REQUIRE_OK(fx_reopen(fx, other));
  open_and_close(fx, on, sweep_get(one, &opened_axis), 2 * unit);
  check_closed(fx, on, one, peers);
  CHECK_BYTES(before, on->host, unit);
  if (beside) CHECK_OK(fx->core->device_close(fx->self, other, &fx->error));
  fx_use_device(fx, kept);
}

static void run_closed_device(tbk_fixture_t* fx, sweep_case_t* one) {
  run_closed(fx, one, false);
}

static void run_closed_peer(tbk_fixture_t* fx, sweep_case_t* one) {
  run_closed(fx, one, true);
}

static void sweep_closed(tbk_fixture_t* fx, const sweep_space_t* space) {
  REQUIRE_OK(fx->core->device_count(fx->self, &fx->device_count, &fx->error));
  sweep_run(fx, space);
}

#define CALLED &bytes_axis, &offset_axis, &other_axis

static void every_function_needs_its_device_open(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&first_axis, CALLED}, closed_fits, run_closed_device, 0};
  sweep_closed(fx, &space);
}

static void every_function_needs_the_second_device_open(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&second_axis, CALLED}, closed_fits, run_closed_device, 0};
  sweep_closed(fx, &space);
}

static void every_function_needs_its_device_open_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&opened_axis, &which_axis, CALLED}, closed_fits, run_closed_device, 0};
  sweep_closed(fx, &space);
}

static void copies_between_devices_need_them_open(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&first_axis, CALLED}, closed_fits, run_closed_peer, 0};
  sweep_closed(fx, &space);
}

static void copies_between_devices_need_them_open_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&opened_axis, &which_axis, CALLED}, closed_fits, run_closed_peer, 0};
  sweep_closed(fx, &space);
}

/* ----------------------------------------------------------------------- open, and not open --- */

static void check_named(tbk_fixture_t* fx, every_call_t* on, const call_row_t* row, bool open) {
  on->spoil = open ? SPOIL_nothing : SPOIL_device;
  on->number = 1 - fx->device;
  const tbk_status_t status = row->call(fx, on);
  const bool refused = status == TBK_INVALID_STATE || status == TBK_INVALID;
  CHECK_SAID(open ? call_is_right(row, status) : refused,
             open ? "success on the open device" : "a refusal on the closed one", "%s from %s",
             tbk_status_name(status), row->function);
}

/* The stream of some calls is of the open device: INVALID is as right. */
static void every_function_goes_to_the_open_device_or_to_the_closed_one(tbk_fixture_t* fx) {
  fx_open(fx);
  every_call_t* on = every_call_make(fx);
  for (size_t i = 0; i < every_call_count; i++) {
    const call_row_t* row = &every_call[i];
    if (!needs_open(row, false) || call_takes_away(row) || !row->offered(fx, on)) continue;
    check_named(fx, on, row, true);
    check_named(fx, on, row, false);
    check_named(fx, on, row, true);
  }
  on->spoil = SPOIL_nothing;
  if (on->stream != NULL) fx_synchronize(fx, on->stream);
  every_call_end(fx, on);
}

static const tbk_case_t cases[] = {
    TBK_CASE("THR-006", "two_devices", TBK_CASE_CLOSED,
             every_function_goes_to_the_open_device_or_to_the_closed_one),
    TBK_CASE("FLT-003", "fault", TBK_CASE_FRESH, every_function_tells_that_the_device_is_lost),
    TBK_CASE("DEV-003", "fault", TBK_CASE_FRESH, devices_are_counted_as_before_the_loss),
    TBK_CASE("DEV-010", "fault", TBK_CASE_FRESH, devices_are_described_as_before_the_loss),
    TBK_CASE("DEV-021", NULL, TBK_CASE_CLOSED, every_function_needs_its_device_open),
    TBK_CASE("DEV-021", "two_devices", TBK_CASE_CLOSED,
             every_function_needs_the_second_device_open),
    TBK_CASE("DEV-021", NULL, TBK_CASE_CLOSED, every_function_needs_its_device_open_again),
    TBK_CASE("PER-003", "peer", TBK_CASE_CLOSED, copies_between_devices_need_them_open_again),
    TBK_CASE("PER-003", "peer", TBK_CASE_CLOSED, copies_between_devices_need_them_open),
};
TBK_SUITE(sweep_lost);
