/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which state was before: every function does what it is for, on objects from before and on new ones,
 * after the device was closed and opened again, after its memory was exhausted, after work that
 * failed, beside a lost device, after forks, and after calls that named another device.
 */
#include <string.h>

#include "child.h"
#include "dimensions.h"
#include "effects.h"
#include "hoard.h"
#include "range.h"
#include "resources.h"
#include "stale.h"

SWEEP_DIMENSION(times_axis, "times", {"1", 1}, {"2", 2}, {"5", 5});
SWEEP_DIMENSION(once_axis, "times", {"1", 1});
SWEEP_DIMENSION(twice_axis, "times", {"2", 2});

static int64_t times_of(const sweep_case_t* one) {
  return sweep_get(one, &times_axis) + sweep_get(one, &once_axis) + sweep_get(one, &twice_axis);
}

static effects_t* before(tbk_fixture_t* fx, const sweep_case_t* one, scene_t* scene) {
  scene_begin(fx, one, scene);
  return effects_make(fx);
}

static void check(tbk_fixture_t* fx, void* argument) {
  effects_check(fx, argument);
}

static void after(scene_t* scene, effects_t* on) {
  scene_call(scene, check, on);
  effects_end(scene->fx, on);
}

/* --------------------------------------------------------------------- closed and opened again -- */

SWEEP_DIMENSION(used_axis, "used_before", {"no", 0}, {"yes", 1});

static void use_all(tbk_fixture_t* fx) {
  effects_t* on = effects_make(fx);
  effects_check(fx, on);
  effects_end(fx, on);
  tbk_resources_between(fx);
}

static void close_and_open(tbk_fixture_t* fx) {
  CHECK_OK(fx->core->device_close(fx->self, fx->device, &fx->error));
  REQUIRE_OK(fx_reopen(fx, fx->device));
}

/* One bit for each operator that is offered. */
static unsigned offered_operators(tbk_fixture_t* fx) {
  unsigned found = 0;
  for (int id = 0; fx->kernel != NULL && id < OPERATORS; id++)
    found |= (unsigned)(operation_find(fx, (operator_id_t)id) != NULL) << id;
  return found;
}

static void run_reopened(tbk_fixture_t* fx, sweep_case_t* one) {
  scene_t scene = {.fx = fx, .one = one};
  if (sweep_get(one, &sweep_device) == 1) fx_use_device(fx, fx_second_device(fx));
  const unsigned operators = offered_operators(fx);
  if (sweep_get(one, &used_axis) == 1) use_all(fx);
  for (int64_t i = 0; i < times_of(one); i++)
    close_and_open(fx);
  CHECK_EQUAL(operators, offered_operators(fx));
  after(&scene, effects_make(fx));
}

static void every_function_works_on_a_device_that_is_opened_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&times_axis, &used_axis, &sweep_device, &sweep_thread}, scene_fits, run_reopened, 0};
  sweep_run(fx, &space);
}

static void every_function_works_on_a_device_that_is_open_again(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&twice_axis}, scene_fits, run_reopened, 0};
  sweep_run(fx, &space);
}

enum { WHEN_CLOSED, WHEN_OPEN, BESIDE_NEW };
SWEEP_DIMENSION(when_axis, "given_back", {"closed", WHEN_CLOSED}, {"opened_again", WHEN_OPEN},
                {"beside_new", BESIDE_NEW});

/* Before there is anything new, and beside it. */
static void run_stale(tbk_fixture_t* fx, sweep_case_t* one) {
  static stale_t stale; /* what the fixture has made is given back before the device is closed */
  static live_t live;
  scene_t scene = {.fx = fx, .one = one};
  const int64_t when = sweep_get(one, &when_axis);
  stale = (stale_t){0};
  if (sweep_get(one, &sweep_device) == 1) fx_use_device(fx, fx_second_device(fx));
  stale_make(fx, &stale);
  tbk_resources_between(fx);
  CHECK_OK(fx->core->device_close(fx->self, fx->device, &fx->error));
  if (when == WHEN_CLOSED) stale_give_back(fx, &stale, NULL);
  REQUIRE_OK(fx_reopen(fx, fx->device));
  if (when == WHEN_OPEN) stale_give_back(fx, &stale, NULL);
  if (when == BESIDE_NEW) {
    live_make(fx, &live);
    one->left_out = !stale_is_any(fx, &stale, &live);
    stale_give_back(fx, &stale, &live);
    live_check(fx, &live);
    live_end(fx, &live);
  } else {
    after(&scene, effects_make(fx));
  }
}

static void all_that_a_closed_device_gave_is_given_back_in_vain(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&when_axis}, scene_fits, run_stale, 0};
  sweep_run(fx, &space);
}

static void what_a_closed_device_gave_is_given_back_in_vain(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&when_axis, &sweep_device}, scene_fits, run_stale, 0};
  sweep_run(fx, &space);
}

/* ------------------------------------------------------------------------------- exhausted ---- */

SWEEP_DIMENSION(by_axis, "by", {"memory_alloc", 0}, {"async_alloc", 1});

static bool exhausted_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  return scene_fits(fx, one) && (sweep_get(one, &by_axis) == 0 || fx->async_memory != NULL);
}

static void run_exhausted(tbk_fixture_t* fx, sweep_case_t* one) {
  scene_t scene;
  hoard_t* it = (hoard_t*)(void*)fx_zeros(fx, sizeof *it);
  effects_t* on = before(fx, one, &scene);
  tbk_stream_t* stream = sweep_get(one, &by_axis) == 1 ? on->stream : NULL;
  for (int64_t i = 0; i < sweep_get(one, &times_axis); i++) {
    hoard_take(fx, it, stream, 65536);
    hoard_give(fx, it, stream);
    if (stream != NULL) fx_synchronize(fx, stream);
  }
  after(&scene, on);
}

static void every_function_works_after_memory_was_exhausted(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&by_axis, &times_axis, &sweep_device, &sweep_thread}, exhausted_fits, run_exhausted, 0};
  sweep_run(fx, &space);
}

/* ---------------------------------------------------------------------------------- failed ---- */

SWEEP_DIMENSION(on_axis, "failed_on", {"stream", 0}, {"other", 1}, {"destroyed", 2});
SWEEP_DIMENSION(told_axis, "told_by", {"stream", 0}, {"device", 1});

static void fail(tbk_fixture_t* fx, effects_t* on, const sweep_case_t* one) {
  int64_t which = sweep_get(one, &on_axis);
  tbk_stream_t* stream = which == 0 ? on->stream : fx_stream(fx);
  tbk_status_t status =
      fx->fault->fault_enqueue(fx->self, stream, TBK_FAULT_WORK_FAILS, &fx->error);
  bool told = status == TBK_FAILED;
  CHECK(told || status == TBK_OK);
  if (which == 2) {
    fx_disown_stream(fx, stream);
    fx->stream->stream_destroy(fx->self, stream);
  }
  status = sweep_get(one, &told_axis) == 0 && which != 2
               ? fx->stream->stream_synchronize(fx->self, stream, &fx->error)
               : fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
  told = told || which == 2; /* whoever waits when it is destroyed has nobody to tell */
  CHECK_SAID(told || status == TBK_FAILED, "FAILED, at the latest when it is synchronised", "%s",
             tbk_status_name(status));
}

static void run_failed(tbk_fixture_t* fx, sweep_case_t* one) {
  scene_t scene;
  effects_t* on = before(fx, one, &scene);
  on->may_fail = true;
  for (int64_t i = 0; i < sweep_get(one, &times_axis); i++)
    fail(fx, on, one);
  after(&scene, on);
}

static void every_function_works_after_work_that_failed(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&on_axis, &told_axis, &times_axis, &sweep_device, &sweep_thread}, scene_fits, run_failed, 0};
  sweep_run(fx, &space);
}

/* Behind the failure, without anybody having been told: what was enqueued is done all the same. */
static void every_function_works_behind_work_that_fails(tbk_fixture_t* fx) {
  effects_t* on = effects_make(fx);
  on->may_fail = true;
  (void)!fx->fault->fault_enqueue(fx->self, on->stream, TBK_FAULT_WORK_FAILS, &fx->error);
  effects_check(fx, on);
  effects_end(fx, on);
}

static void every_function_works_beside_a_lost_device(tbk_fixture_t* fx) {
  const int32_t lost = fx->device;
  tbk_stream_t* stream = fx_stream(fx);
  fx_use_device(fx, fx_second_device(fx));
  effects_t* on = effects_make(fx);
  tbk_status_t status =
      fx->fault->fault_enqueue(fx->self, stream, TBK_FAULT_DEVICE_LOST, &fx->error);
  CHECK(status == TBK_OK || status == TBK_DEVICE_LOST);
  (void)!fx->stream->device_synchronize(fx->self, lost, &fx->error);
  for (int turn = 0; turn < 2; turn++)
    effects_check(fx, on);
  effects_end(fx, on);
  fx_use_device(fx, lost);
}

/* ---------------------------------------------------------------------------------- forked ---- */

SWEEP_DIMENSION(ending_axis, "ends_by", {"exit", TBK_CHILD_EXIT}, {"_exit", TBK_CHILD_QUICK_EXIT});

static int leave_alone(tbk_child_t* self, void* argument) {
  (void)self, (void)argument;
  return 0;
}

/* Every kind of object is alive meanwhile. */
static void run_forked(tbk_fixture_t* fx, sweep_case_t* one) {
  scene_t scene;
  effects_t* on = before(fx, one, &scene);
  for (int64_t i = 0; i < sweep_get(one, &times_axis); i++) {
    tbk_child_t child;
    tbk_child_start(fx, &child, leave_alone, NULL, (int)sweep_get(one, &ending_axis));
    if (!CHILD_CHECK_END(&child)) break;
  }
  after(&scene, on);
}

static void every_function_works_after_forks(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&ending_axis, &times_axis, &sweep_device, &sweep_thread}, scene_fits, run_forked, 0};
  sweep_run(fx, &space);
}

/* -------------------------------------------------------------------- other devices, threads ---- */

static void run_elsewhere(tbk_fixture_t* fx, sweep_case_t* one) {
  scene_t scene;
  effects_t *far, *on = before(fx, one, &scene);
  const int32_t here = fx->device;
  fx_use_device(fx, here == 0 ? fx_second_device(fx) : 0);
  far = effects_make(fx);
  for (int64_t i = 0; i < times_of(one); i++) {
    fx_use_device(fx, 1 - here);
    scene_call(&scene, check, far);
    fx_use_device(fx, here);
    scene_call(&scene, check, on);
  }
  effects_end(fx, far);
  effects_end(fx, on);
}

static void every_function_works_on_the_device_that_it_names(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&once_axis}, scene_fits, run_elsewhere, 0};
  sweep_run(fx, &space);
}

static void every_function_works_on_devices_in_turn(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&times_axis, &sweep_device, &sweep_thread}, scene_fits, run_elsewhere, 0};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("DEV-018", NULL, TBK_CASE_THOROUGH,
             every_function_works_on_a_device_that_is_opened_again),
    TBK_CASE("TDN-006", NULL, 0, all_that_a_closed_device_gave_is_given_back_in_vain),
    TBK_CASE("TDN-006", NULL, TBK_CASE_THOROUGH, what_a_closed_device_gave_is_given_back_in_vain),
    TBK_CASE("MEM-009", NULL, TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             every_function_works_after_memory_was_exhausted),
    TBK_CASE("FLT-002", "fault", TBK_CASE_THOROUGH | TBK_CASE_FRESH,
             every_function_works_after_work_that_failed),
    TBK_CASE("FLT-002", "fault", TBK_CASE_FRESH, every_function_works_behind_work_that_fails),
    TBK_CASE("FLT-004", "fault two_devices", TBK_CASE_FRESH,
             every_function_works_beside_a_lost_device),
    TBK_CASE("DEV-018", NULL, 0, every_function_works_on_a_device_that_is_open_again),
    TBK_CASE("FRK-004", NULL, TBK_CASE_THOROUGH | TBK_CASE_FRESH, every_function_works_after_forks),
    TBK_CASE("THR-006", "two_devices", 0, every_function_works_on_the_device_that_it_names),
    TBK_CASE("THR-006", "two_devices", TBK_CASE_THOROUGH, every_function_works_on_devices_in_turn),
};
TBK_SUITE(sweep_state);
