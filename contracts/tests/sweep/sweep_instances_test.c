/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweeps of several instances of one library at once: whatever one of them does, with whichever host and
 * options it was made, every function of the other does what it is for, and the device is the same to it.
 */
#include <stdlib.h>
#include <string.h>

#include "dimensions.h"
#include "effects.h"
#include "hoard.h"
#include "range.h"
#include "resources.h"
#include "tables.h"

enum { MOST_OTHERS = 3, BUSY_US = 4000 };

typedef enum act { LIVES, OPENS, CLOSES, WORKS, IS_BUSY, RUNS_OUT, IS_REFUSED, ENDS } act_t;
typedef enum hosts { SAME, NO_OPTIONS, EMPTY_OPTIONS, NO_LOG, LARGER } hosts_t;

SWEEP_DIMENSION(act_axis, "the_other", {"lives", LIVES}, {"opens", OPENS}, {"closes", CLOSES},
                {"works", WORKS}, {"is_busy", IS_BUSY}, {"runs_out", RUNS_OUT},
                {"is_refused", IS_REFUSED}, {"ends", ENDS});
SWEEP_DIMENSION(looked_at_axis, "looked_at", {"first", 0}, {"second", 1});
SWEEP_DIMENSION(hosts_axis, "host_of_second", {"same", SAME}, {"no_options", NO_OPTIONS},
                {"empty_options", EMPTY_OPTIONS}, {"no_log", NO_LOG}, {"larger", LARGER});
SWEEP_DIMENSION(others_axis, "others", {"1", 1}, {"3", MOST_OTHERS});
SWEEP_DIMENSION(told_axis, "told", {"no", 0}, {"yes", 1});

/* A fixture of another instance, with resources of its own. */
typedef struct sibling {
  tbk_fixture_t fx;
  tbk_resources_t resources;
  const tbk_backend_t* backend;
  bool open;
} sibling_t;

typedef struct larger_host {
  tbk_host_t host;
  uint64_t newer[4];
} larger_host_t;

static void fill_tables(tbk_fixture_t* fx, const tbk_backend_t* backend) {
  fx->backend = backend;
  fx->self = backend->instance;
  fx->core = backend->core;
#define FILL(name, type, needs) fx->name = tbk_table_usable(backend, #name) ? backend->name : NULL;
  TBK_TABLE_MAP(FILL)
#undef FILL
}

static void own_list(tbk_list_t* list) {
  *list = (tbk_list_t){.item_bytes = list->item_bytes};
}

static void own_resources(tbk_fixture_t* fx, sibling_t* it) {
  it->resources = *fx->resources;
  own_list(&it->resources.memory), own_list(&it->resources.streams);
  own_list(&it->resources.events), own_list(&it->resources.host);
  own_list(&it->resources.threads), own_list(&it->resources.gates);
  it->resources.busy[0] = it->resources.busy[1] = 0;
  it->resources.second_open = 0;
  it->fx.resources = &it->resources;
}

static sibling_t* make(tbk_fixture_t* fx, const sweep_case_t* one) {
  sibling_t* it = calloc(1, sizeof *it); /* outlives the host memory of the case */
  larger_host_t larger = {.host = *fx->host, .newer = {1, 2, 3, 4}};
  const hosts_t hosts = (hosts_t)sweep_get(one, &hosts_axis);
  SUITE_REQUIRE(it != NULL);
  if (hosts == NO_OPTIONS) larger.host.options = NULL;
  if (hosts == EMPTY_OPTIONS) larger.host.options = "";
  if (hosts == NO_LOG) larger.host.log = NULL, larger.host.context = NULL;
  if (hosts == LARGER) larger.host.struct_size = sizeof larger;
  it->fx = *fx;
  own_resources(fx, it);
  TBK_CHECKS("LIB-008");
  REQUIRE_OK(fx->create(&larger.host, &it->backend, &fx->error));
  REQUIRE(it->backend != NULL);
  fill_tables(&it->fx, it->backend);
  return it;
}

static void open_sibling(sibling_t* it) {
  tbk_fixture_t* fx = &it->fx;
  TBK_CHECKS("LIB-006");
  REQUIRE_OK(tbk_device_open_timed(it->backend, fx->device, &fx->error));
  it->open = true;
  it->fx.properties.struct_size = sizeof it->fx.properties;
  REQUIRE_OK(fx->core->device_properties(fx->self, fx->device, &fx->properties, &fx->error));
  REQUIRE_OK(fx->core->device_count(fx->self, &fx->device_count, &fx->error));
}

static void free_lists(tbk_resources_t* resources) {
  tbk_list_t* const lists[] = {&resources->memory, &resources->streams, &resources->events,
                               &resources->host,   &resources->threads, &resources->gates};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    free(lists[i]->items);
}

static void end_sibling(sibling_t* it) {
  if (it->open) tbk_resources_between(&it->fx);
  it->fx.core->destroy(it->fx.self);
  free_lists(&it->resources);
  free(it);
}

/* ------------------------------------------------------------------------- what the other does -- */

static void work(tbk_fixture_t* fx) {
  effects_t* on = effects_make(fx);
  effects_check(fx, on);
  effects_end(fx, on);
}

static void run_out(tbk_fixture_t* fx) {
  hoard_t* hoard = (hoard_t*)(void*)fx_zeros(fx, sizeof *hoard);
  hoard_take(fx, hoard, NULL, 65536);
  hoard_give(fx, hoard, NULL);
  range_provoke_errors(fx);
}

static void be_busy(tbk_fixture_t* fx) {
  const uint64_t bytes = fx_round(fx, 4096);
  tbk_stream_t* stream = fx->stream != NULL ? fx_stream(fx) : NULL;
  tbk_memory_t memory = fx_alloc(fx, bytes);
  sweep_delay(fx, stream, BUSY_US);
  CHECK_OK(fx->core->upload(fx->self, fx->device, memory, 0, fx_bytes(fx, bytes), bytes, stream,
                            &fx->error));
}

static void act(tbk_fixture_t* fx, act_t what) {
  if (what == WORKS || what == CLOSES || what == ENDS) work(fx);
  if (what == RUNS_OUT) run_out(fx);
  if (what == IS_REFUSED) range_provoke_errors(fx);
  if (what == IS_BUSY) be_busy(fx);
}

/* The second one goes through all of an instance's life; the first stays as the suite has opened it. */
static void run_first(tbk_fixture_t* fx, const sweep_case_t* one) {
  const act_t what = (act_t)sweep_get(one, &act_axis);
  sibling_t* others[MOST_OTHERS] = {NULL};
  effects_t* on = effects_make(fx);
  const int64_t count = sweep_get(one, &others_axis);
  for (int64_t i = 0; i < count; i++) {
    others[i] = make(fx, one);
    if (what != LIVES) open_sibling(others[i]);
    act(&others[i]->fx, what);
    if (what == CLOSES) {
      tbk_resources_between(&others[i]->fx);
      CHECK_OK(others[i]->fx.core->device_close(others[i]->fx.self, fx->device, &fx->error));
      others[i]->open = false;
    }
    if (what == ENDS) end_sibling(others[i]);
  }
  TBK_CHECKS("LIB-006");
  effects_check(fx, on);
  for (int64_t i = 0; i < count && what != ENDS; i++)
    end_sibling(others[i]);
  effects_check(fx, on);
  effects_end(fx, on);
}

static void run_second(tbk_fixture_t* fx, const sweep_case_t* one) {
  const int64_t count = sweep_get(one, &others_axis);
  sibling_t* others[MOST_OTHERS] = {NULL};
  for (int64_t i = 0; i < count; i++)
    others[i] = make(fx, one);
  open_sibling(others[0]);
  effects_t* on = effects_make(&others[0]->fx);
  act(fx, (act_t)sweep_get(one, &act_axis));
  for (int64_t i = 1; i < count; i++)
    end_sibling(others[i]);
  TBK_CHECKS("LIB-006");
  effects_check(&others[0]->fx, on);
  effects_end(&others[0]->fx, on);
  end_sibling(others[0]);
}

static bool instances_fit(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int64_t what = sweep_get(one, &act_axis);
  (void)fx; /* the first one's own life is not a test's */
  return sweep_get(one, &looked_at_axis) == 0 || (what != OPENS && what != CLOSES && what != ENDS);
}

static void run(tbk_fixture_t* fx, sweep_case_t* one) {
  if (sweep_get(one, &looked_at_axis) == 0)
    run_first(fx, one);
  else
    run_second(fx, one);
}

static void instances_do_not_touch_each_other(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&act_axis, &looked_at_axis, &hosts_axis, &others_axis}, instances_fit, run, 2};
  sweep_run(fx, &space);
}

/* What fails in one instance is told to nobody else; to itself it may be told again and again. */
static void check_failure(tbk_fixture_t* fx, const sweep_case_t* one, bool second_fails) {
  sibling_t* it = make(fx, one);
  open_sibling(it);
  tbk_fixture_t *failing = second_fails ? &it->fx : fx, *other = second_fails ? fx : &it->fx;
  effects_t* on = effects_make(other);
  tbk_stream_t* stream = fx_stream(failing);
  tbk_status_t status =
      failing->fault->fault_enqueue(failing->self, stream, TBK_FAULT_WORK_FAILS, &failing->error);
  CHECK(status == TBK_OK || status == TBK_FAILED);
  if (sweep_get(one, &told_axis) == 1)
    (void)!failing->stream->stream_synchronize(failing->self, stream, &failing->error);
  TBK_CHECKS("LIB-006");
  effects_check(other, on);
  effects_end(other, on);
  (void)!failing->stream->device_synchronize(failing->self, failing->device, &failing->error);
  end_sibling(it);
}

static void run_second_fails(tbk_fixture_t* fx, sweep_case_t* one) {
  check_failure(fx, one, true);
}

static void run_first_fails(tbk_fixture_t* fx, sweep_case_t* one) {
  check_failure(fx, one, false);
}

static void a_failure_of_the_second_instance_stays_there(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&told_axis, &hosts_axis}, NULL, run_second_fails, 0};
  sweep_run(fx, &space);
}

static void a_failure_of_the_first_instance_stays_there(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&told_axis, &hosts_axis}, NULL, run_first_fails, 0};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("LIB-006", "!exclusive", TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             instances_do_not_touch_each_other),
    TBK_CASE("LIB-006", "fault !exclusive", TBK_CASE_THOROUGH | TBK_CASE_FRESH,
             a_failure_of_the_second_instance_stays_there),
    TBK_CASE("LIB-006", "fault !exclusive", TBK_CASE_THOROUGH | TBK_CASE_FRESH,
             a_failure_of_the_first_instance_stays_there),
};
TBK_SUITE(sweep_instances);
