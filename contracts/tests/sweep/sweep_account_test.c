/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweeps of what memory is counted for: whatever kind it is, in whichever state the device is, however
 * it is given back, three times as much as there is can be had one after the other.
 */
#include <string.h>
#include <sys/resource.h>

#include "child.h"
#include "dimensions.h"
#include "room.h"

/* A device may round each piece up: one more share than there are pieces. */
enum {
  AT_A_TIME = 3,
  PINNED_SHARES = AT_A_TIME + 1,
  MOST_TURNS = 400,
  END_BYTES = 16,
  DELAY_US = 300
};

#define PINNED_ROOM (UINT64_C(1) << 30)
#define PINNED_BYTES (UINT64_C(64) << 20)

typedef enum kind { MEMORY, ASYNC, PINNED } kind_t;
typedef enum back { AT_ONCE, IN_ORDER, LAST_FIRST } back_t;

SWEEP_DIMENSION(kind_axis, "memory", {"memory_alloc", MEMORY}, {"async_alloc", ASYNC},
                {"pinned_alloc", PINNED});
SWEEP_DIMENSION(back_axis, "given_back", {"at_once", AT_ONCE}, {"in_order", IN_ORDER},
                {"last_first", LAST_FIRST});
SWEEP_DIMENSION(freed_on_axis, "freed_on", {"same", 0}, {"other", 1}, {"destroyed", 2});
SWEEP_DIMENSION(pending_axis, "use", {"complete", 0}, {"pending", 1});
SWEEP_DIMENSION(forks_axis, "forks", {"1", 1}, {"3", 3});
SWEEP_DIMENSION(failed_axis, "failed_on", {"same", 0}, {"other", 1});

typedef struct account {
  scene_t scene;
  kind_t kind;
  tbk_stream_t *stream, *other;
  uint64_t size, turns;
  tbk_memory_t memory[AT_A_TIME];
  void* pinned[AT_A_TIME];
  bool may_fail;
} account_t;

static bool account_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const int64_t kind = sweep_get(one, &kind_axis), back = sweep_get(one, &back_axis);
  if (kind == ASYNC && fx->async_memory == NULL) return false;
  if (kind == PINNED && fx->pinned == NULL) return false;
  if (sweep_get(one, &freed_on_axis) != 0 && (fx->event == NULL || back != AT_ONCE)) return false;
  return scene_fits(fx, one);
}

static void settle(tbk_fixture_t* fx, const account_t* it) {
  tbk_status_t status = fx->stream->device_synchronize(fx->self, fx->device, &fx->error);
  if (status == TBK_FAILED && it->may_fail) return;
  tbk_check_status(TBK_OK, status, &fx->error, TBK_HERE("device_synchronize"));
}

static tbk_status_t take(tbk_fixture_t* fx, account_t* it, size_t at) {
  if (it->kind == PINNED)
    return fx->pinned->pinned_alloc(fx->self, fx->device, it->size, &it->pinned[at], &fx->error);
  if (it->kind == ASYNC)
    return fx->async_memory->async_alloc(fx->self, it->stream, it->size, &it->memory[at],
                                         &fx->error);
  return fx->core->memory_alloc(fx->self, fx->device, it->size, &it->memory[at], &fx->error);
}

/* Its first and its last bytes hold what is put there. */
static void use(tbk_fixture_t* fx, account_t* it, size_t at) {
  const uint64_t unit = fx_round(fx, END_BYTES), ends[2] = {0, it->size - unit};
  uint8_t sent[4096], seen[4096];
  for (int end = 0; end < 2; end++) {
    memset(sent, (int)(17 * at + (size_t)end + 1), sizeof sent);
    memset(seen, 0, sizeof seen);
    if (it->kind == PINNED) {
      memcpy((uint8_t*)it->pinned[at] + ends[end], sent, END_BYTES);
      continue;
    }
    CHECK_OK(fx->core->upload(fx->self, fx->device, it->memory[at], ends[end], sent, unit,
                              it->stream, &fx->error));
    CHECK_OK(fx->core->download(fx->self, fx->device, seen, it->memory[at], ends[end], unit,
                                it->stream, &fx->error));
    if (it->stream != NULL) settle(fx, it);
    CHECK_BYTES(sent, seen, unit);
  }
}

/* Late, so that the use is pending when the memory is given back. */
static void use_late(tbk_fixture_t* fx, account_t* it, size_t at) {
  static uint8_t sent[4096];
  if (sweep_get(it->scene.one, &pending_axis) == 0) return;
  sweep_delay(fx, it->stream, DELAY_US);
  CHECK_OK(fx->core->upload(fx->self, fx->device, it->memory[at], 0, sent, fx_round(fx, END_BYTES),
                            it->stream, &fx->error));
}

/* By another stream, which waits for the one that used it, and may be gone right after. */
static void give_elsewhere(tbk_fixture_t* fx, account_t* it, size_t at) {
  tbk_stream_t* stream = NULL;
  tbk_event_t* used = NULL;
  CHECK_OK(fx->stream->stream_create(fx->self, fx->device, 0, &stream, &fx->error));
  CHECK_OK(fx->event->event_create(fx->self, fx->device, 0, &used, &fx->error));
  if (stream == NULL || used == NULL) return;
  CHECK_OK(fx->event->event_record(fx->self, used, it->stream, &fx->error));
  CHECK_OK(fx->event->event_wait(fx->self, stream, used, &fx->error));
  CHECK_OK(fx->async_memory->async_free(fx->self, stream, it->memory[at], &fx->error));
  fx->event->event_destroy(fx->self, used);
  if (sweep_get(it->scene.one, &freed_on_axis) == 1) settle(fx, it);
  fx->stream->stream_destroy(fx->self, stream);
}

static void give(tbk_fixture_t* fx, account_t* it, size_t at) {
  if (it->kind == PINNED) {
    fx->pinned->pinned_free(fx->self, it->pinned[at]);
  } else if (it->kind == MEMORY) {
    CHECK_OK(fx->core->memory_free(fx->self, fx->device, it->memory[at], &fx->error));
  } else {
    use_late(fx, it, at);
    if (sweep_get(it->scene.one, &freed_on_axis) != 0)
      give_elsewhere(fx, it, at);
    else
      CHECK_OK(fx->async_memory->async_free(fx->self, it->stream, it->memory[at], &fx->error));
  }
}

/* So many at a time, each a share of all there is. */
static bool turn(tbk_fixture_t* fx, account_t* it, size_t count) {
  size_t had = 0;
  for (bool held = true; held && had < count; had += held) {
    held = CHECK_OK(take(fx, it, had));
    if (held) use(fx, it, had);
  }
  for (size_t i = 0; i < had; i++)
    give(fx, it, sweep_get(it->scene.one, &back_axis) == LAST_FIRST ? had - 1 - i : i);
  if (it->kind == ASYNC) settle(fx, it);
  return had == count;
}

/* What one kind gives back, the other one gets: at the end by memory_alloc alone. */
static void take_turns(tbk_fixture_t* fx, void* argument) {
  account_t* it = argument;
  const size_t count = sweep_get(it->scene.one, &back_axis) == AT_ONCE ? 1 : AT_A_TIME;
  bool held = true;
  for (uint64_t i = 0; held && i < it->turns; i += count)
    held = turn(fx, it, count);
  if (!held || it->kind != ASYNC) return;
  it->kind = MEMORY;
  it->stream = NULL;
  (void)turn(fx, it, count);
}

/* The share that can be had as often as it is needed at a time; halved where others have the rest. */
static bool find_share(tbk_fixture_t* fx, sweep_case_t* one, account_t* it) {
  const uint64_t total = fx->properties.memory_bytes, most = room_allocation(&fx->properties);
  tbk_memory_t memory = 0;
  if (it->kind == PINNED) {
    it->size = room_pinned(fx, PINNED_BYTES * PINNED_SHARES) / PINNED_SHARES - 1;
    it->turns = 4 * PINNED_ROOM / it->size;
    return true;
  }
  one->left_out = total == 0;
  for (it->size = total / 6; total != 0; it->size /= 2) {
    it->size -= it->size % 4096;
    it->turns = 3 * total / (it->size + 1) + 3;
    one->left_out = it->turns > MOST_TURNS;
    if (one->left_out) return false;
    if (it->size > most) continue;
    if (fx->core->memory_alloc(fx->self, fx->device, 4 * it->size < most ? 4 * it->size : it->size,
                               &memory, &fx->error) != TBK_OK)
      continue;
    REQUIRE_OK(fx->core->memory_free(fx->self, fx->device, memory, &fx->error));
    return true;
  }
  return false;
}

/* Pinned memory is the host's: only so much address space is left meanwhile. */
static void take_pinned_turns(tbk_fixture_t* fx, account_t* it) {
  const struct rlimit limit = room_narrow_host(fx, PINNED_ROOM);
  take_turns(fx, it);
  SUITE_REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
}

static account_t* begin_where(tbk_fixture_t* fx, sweep_case_t* one, kind_t kind, bool may_fail) {
  account_t* it = (account_t*)(void*)fx_zeros(fx, sizeof *it);
  scene_begin(fx, one, &it->scene);
  it->kind = kind;
  it->may_fail = may_fail;
  if (kind == ASYNC) it->stream = fx_stream(fx);
  if (!find_share(fx, one, it)) return NULL;
  (void)turn(fx, it, 1); /* whatever a driver sets up when it is first asked */
  return it;
}

static account_t* begin(tbk_fixture_t* fx, sweep_case_t* one, kind_t kind) {
  return begin_where(fx, one, kind, false);
}

static void finish(tbk_fixture_t* fx, account_t* it) {
  if (it->kind == PINNED)
    take_pinned_turns(fx, it);
  else
    scene_call(&it->scene, take_turns, it);
}

/* --------------------------------------------------------------------------------- the states -- */

static void run_memory(tbk_fixture_t* fx, sweep_case_t* one) {
  account_t* it = begin(fx, one, MEMORY);
  if (it != NULL) finish(fx, it);
}

static void run_async(tbk_fixture_t* fx, sweep_case_t* one) {
  account_t* it = begin(fx, one, ASYNC);
  if (it != NULL) finish(fx, it);
}

static void run_pinned(tbk_fixture_t* fx, sweep_case_t* one) {
  account_t* it = begin(fx, one, PINNED);
  if (it != NULL) finish(fx, it);
}

static void all_memory_can_be_had_again_in_every_state(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&sweep_state, &back_axis, &sweep_device, &sweep_thread}, account_fits, run_memory, 0};
  sweep_run(fx, &space);
}

static void all_memory_of_streams_can_be_had_again_in_every_state(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&sweep_state, &back_axis, &freed_on_axis, &pending_axis, &sweep_device, &sweep_thread},
      account_fits,
      run_async,
      0};
  sweep_run(fx, &space);
}

static void all_pinned_memory_can_be_had_again_in_every_state(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&sweep_state, &back_axis, &sweep_device}, account_fits, run_pinned, 0};
  sweep_run(fx, &space);
}

static int leave_alone(tbk_child_t* self, void* argument) {
  (void)self, (void)argument;
  return 0;
}

static void run_forked(tbk_fixture_t* fx, sweep_case_t* one) {
  account_t* it = begin(fx, one, (kind_t)sweep_get(one, &kind_axis));
  for (int64_t i = 0; it != NULL && i < sweep_get(one, &forks_axis); i++) {
    tbk_child_t child;
    tbk_child_start(fx, &child, leave_alone, NULL, TBK_CHILD_QUICK_EXIT);
    if (!CHILD_CHECK_END(&child)) return;
  }
  if (it != NULL) finish(fx, it);
}

static void all_memory_can_be_had_again_after_forks(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kind_axis, &forks_axis, &back_axis, &sweep_device}, account_fits, run_forked, 0};
  sweep_run(fx, &space);
}

/* The failure of the case before may be told again. */
static void run_failed(tbk_fixture_t* fx, sweep_case_t* one) {
  account_t* it = begin_where(fx, one, (kind_t)sweep_get(one, &kind_axis), true);
  if (it == NULL) return;
  tbk_stream_t* stream =
      it->stream != NULL && sweep_get(one, &failed_axis) == 0 ? it->stream : fx_stream(fx);
  tbk_status_t status =
      fx->fault->fault_enqueue(fx->self, stream, TBK_FAULT_WORK_FAILS, &fx->error);
  CHECK(status == TBK_OK || status == TBK_FAILED);
  finish(fx, it);
}

static void all_memory_can_be_had_again_after_work_that_failed(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kind_axis, &failed_axis, &back_axis, &freed_on_axis, &pending_axis, &sweep_device},
      account_fits,
      run_failed,
      0};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("MEM-012", NULL, TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             all_memory_can_be_had_again_in_every_state),
    TBK_CASE("SOM-009", "async_memory", TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             all_memory_of_streams_can_be_had_again_in_every_state),
    TBK_CASE("PIN-009", "pinned", TBK_CASE_THOROUGH | TBK_CASE_ALONE,
             all_pinned_memory_can_be_had_again_in_every_state),
    TBK_CASE("FRK-004", NULL, TBK_CASE_THOROUGH | TBK_CASE_ALONE | TBK_CASE_FRESH,
             all_memory_can_be_had_again_after_forks),
    TBK_CASE("FLT-002", "fault", TBK_CASE_THOROUGH | TBK_CASE_ALONE | TBK_CASE_FRESH,
             all_memory_can_be_had_again_after_work_that_failed),
};
TBK_SUITE(sweep_account);
