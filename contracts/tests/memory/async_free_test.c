/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Stream-ordered memory that is given back. A pending free is the trap: its bytes may go to later work of
 * the same stream at once, and to nobody else before the work is complete.
 */
#include "actor.h"
#include "async_steps.h"
#include "behind.h"
#include "gate.h"
#include "hoard.h"
#include "range.h"

#include <string.h>

/* At most more than a small table of pending frees has place for. */
enum { HELD = 4, HELD_MOST = 12, OTHERS = 8 };

typedef struct reuse {
  tbk_stream_t* first;
  tbk_stream_t* second;
  tbk_stream_t* held; /* what the first one waits for, where it is destroyed */
  tbk_event_t* event;
  tbk_memory_t memory[HELD_MOST]; /* freed on the first stream while its work is held */
  tbk_memory_t results;           /* one behind the other */
  tbk_memory_t others[OTHERS];
  int held_count, taken;
  uint64_t size;
  uint8_t* expected[HELD_MOST];
  uint8_t* garbage;
} reuse_t;

static void reuse_make_many(tbk_fixture_t* fx, reuse_t* it, uint64_t size_bytes, int count) {
  *it = (reuse_t){.first = fx_stream(fx),
                  .second = fx_stream(fx),
                  .held_count = count,
                  .size = fx_round(fx, size_bytes)};
  it->garbage = fx_bytes(fx, it->size);
  it->results = fx_alloc(fx, (uint64_t)count * it->size);
  for (int i = 0; i < count; ++i) {
    it->expected[i] = fx_bytes(fx, it->size);
    it->memory[i] = async_take(fx, it->first, it->size);
    async_put(fx, it->first, it->memory[i], it->expected[i], it->size);
  }
  fx_synchronize(fx, it->first);
}

static void reuse_make(tbk_fixture_t* fx, reuse_t* it, uint64_t size_bytes) {
  reuse_make_many(fx, it, size_bytes, HELD);
}

/* Copies that are held, each with the memory it reads freed right behind it. */
static void copy_and_free(tbk_fixture_t* fx, void* argument) {
  reuse_t* it = argument;
  for (int i = 0; i < it->held_count; ++i) {
    CHECK_OK(fx->core->copy(fx->self, fx->device, it->results, (uint64_t)i * it->size,
                            it->memory[i], 0, it->size, it->first, &fx->error));
    async_give(fx, it->first, it->memory[i]);
  }
}

static void reuse_check(tbk_fixture_t* fx, const reuse_t* it) {
  uint8_t* expected = fx_zeros(fx, (uint64_t)it->held_count * it->size);
  for (int i = 0; i < it->held_count; ++i)
    memcpy(expected + (uint64_t)i * it->size, it->expected[i], it->size);
  FX_CHECK_MEMORY(fx, expected, it->results, (uint64_t)it->held_count * it->size);
}

/* Others ask for as much on their own stream, and write. */
static void take_elsewhere(tbk_fixture_t* fx, void* argument) {
  reuse_t* it = argument;
  for (int i = 0; i < OTHERS; ++i) {
    CHECK_OK(
        fx->async_memory->async_alloc(fx->self, it->second, it->size, &it->others[i], &fx->error));
    async_put(fx, it->second, it->others[i], it->garbage, it->size);
  }
  if (gate_can_control(fx))
    CHECK_OK(fx->stream->stream_synchronize(fx->self, it->second, &fx->error));
}

/* Returns whether a write on another stream would have been there before the held copy. */
static bool write_early(tbk_fixture_t* fx, void* argument, tbk_stream_t* other) {
  reuse_t* it = argument;
  uint8_t* seen = fx_zeros(fx, it->size);
  async_put(fx, other, it->results, it->garbage, it->size);
  async_get(fx, other, seen, it->results, it->size);
  behind_settle(fx, other);
  return memcmp(seen, it->garbage, it->size) == 0;
}

static void check_pending_free(tbk_fixture_t* fx, uint64_t size_bytes, bool control) {
  reuse_t it;
  reuse_make(fx, &it, size_bytes);
  behind_gate_twice(fx, it.first, copy_and_free, take_elsewhere, &it);
  fx_synchronize(fx, it.second);
  reuse_check(fx, &it);
  for (int i = 0; i < OTHERS; ++i)
    async_give(fx, it.second, it.others[i]);
  fx_synchronize(fx, it.second);
  if (control) behind_control(fx, it.first, write_early, &it);
}

static void freed_memory_stays_until_its_work_is_complete(tbk_fixture_t* fx) {
  check_pending_free(fx, 4096, false);
  room_release(fx, 0);
  check_pending_free(fx, room_fits(fx, 8 * 262144) ? 262144 : 65536, true);
}

static void freed_memory_of_the_second_device_stays_until_its_work_is_complete(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_pending_free(fx, 65537, true);
}

/* Asks where there is nothing else to be given; to be refused, or to wait for the work, is right, too. */
static void take_what_there_is(tbk_fixture_t* fx, void* argument) {
  reuse_t* it = argument;
  bool refused = false;
  for (it->taken = 0; it->taken < OTHERS; ++it->taken) {
    if (!piece_take(fx, it->second, it->size, &it->others[it->taken], &refused)) break;
    async_put(fx, it->second, it->others[it->taken], it->garbage, it->size);
  }
  if (gate_can_control(fx))
    CHECK_OK(fx->stream->stream_synchronize(fx->self, it->second, &fx->error));
}

static void freed_memory_of_a_full_device_stays_until_its_work_is_complete(tbk_fixture_t* fx) {
  reuse_t it;
  hoard_t* hoard = (hoard_t*)(void*)fx_zeros(fx, sizeof *hoard);
  reuse_make_many(fx, &it, 65536, HELD_MOST);
  hoard_take(fx, hoard, NULL, it.size);
  behind_gate_twice(fx, it.first, copy_and_free, take_what_there_is, &it);
  fx_synchronize(fx, it.second);
  if (hoard->count == HOARD_MOST) fx_evidence(fx, TBK_NOT_SHOWN, "the device was not full");
  if (it.taken == 0) fx_note_once(fx, "nothing was to be had before the work was complete");
  hoard_give(fx, hoard, NULL);
  reuse_check(fx, &it);
  for (int i = 0; i < OTHERS; ++i)
    async_give(fx, it.second, it.others[i]);
  fx_synchronize(fx, it.second);
}

/* The same, but the one who asks is memory_alloc. */
static void allocate_elsewhere(tbk_fixture_t* fx, void* argument) {
  reuse_t* it = argument;
  if (!gate_can_control(fx)) return;
  for (int i = 0; i < OTHERS; ++i) {
    CHECK_OK(fx->core->memory_alloc(fx->self, fx->device, it->size, &it->others[i], &fx->error));
    async_put(fx, it->second, it->others[i], it->garbage, it->size);
    CHECK_OK(fx->stream->stream_synchronize(fx->self, it->second, &fx->error));
  }
}

static void freed_memory_is_not_given_to_memory_alloc_too_early(tbk_fixture_t* fx) {
  reuse_t it;
  reuse_make(fx, &it, 65536);
  behind_gate_twice(fx, it.first, copy_and_free, allocate_elsewhere, &it);
  reuse_check(fx, &it);
  for (int i = 0; i < OTHERS; ++i)
    if (it.others[i] != 0)
      CHECK_OK(fx->core->memory_free(fx->self, fx->device, it.others[i], &fx->error));
}

/* The stream is destroyed while its work is held: nobody can ask it any more, and the work is still to come. */
static void copy_free_and_destroy(tbk_fixture_t* fx, void* argument) {
  reuse_t* it = argument;
  CHECK_OK(fx->event->event_record(fx->self, it->event, it->held, &fx->error));
  CHECK_OK(fx->event->event_wait(fx->self, it->first, it->event, &fx->error));
  copy_and_free(fx, it);
  fx->stream->stream_destroy(fx->self, it->first);
}

static void freed_memory_of_a_destroyed_stream_stays_until_its_work_is_complete(tbk_fixture_t* fx) {
  reuse_t it;
  reuse_make(fx, &it, 65536);
  it.held = it.first;
  it.event = fx_event(fx, 0);
  REQUIRE_OK(fx->stream->stream_create(fx->self, fx->device, 0, &it.first, &fx->error));
  behind_gate_twice(fx, it.held, copy_free_and_destroy, take_elsewhere, &it);
  CHECK_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
  reuse_check(fx, &it);
  for (int i = 0; i < OTHERS; ++i)
    async_give(fx, it.second, it.others[i]);
  fx_synchronize(fx, it.second);
}

/* Later work of the same stream may have the bytes at once, and then comes after what used them. */
static void take_again(tbk_fixture_t* fx, void* argument) {
  reuse_t* it = argument;
  for (int i = 0; i < OTHERS; ++i) {
    CHECK_OK(
        fx->async_memory->async_alloc(fx->self, it->first, it->size, &it->others[i], &fx->error));
    async_put(fx, it->first, it->others[i], it->garbage, it->size);
  }
}

static void reuse_on_the_same_stream_comes_after_earlier_work(tbk_fixture_t* fx) {
  reuse_t it;
  reuse_make(fx, &it, 65536);
  behind_gate_twice(fx, it.first, copy_and_free, take_again, &it);
  reuse_check(fx, &it);
  for (int i = 0; i < OTHERS; ++i) {
    FX_CHECK_MEMORY(fx, it.garbage, it.others[i], it.size);
    async_give(fx, it.first, it.others[i]);
  }
  fx_synchronize(fx, it.first);
}

typedef struct held_free {
  tbk_stream_t* stream;
  tbk_memory_t memory;
} held_free_t;

static void free_only(actor_t* actor) {
  held_free_t* it = actor->argument;
  async_give(&actor->fx, it->stream, it->memory);
}

static void async_free_returns_at_once(tbk_fixture_t* fx) {
  held_free_t it = {.stream = fx_stream(fx)};
  actor_t* actor = (actor_t*)(void*)fx_zeros(fx, sizeof *actor);
  it.memory = async_take(fx, it.stream, fx_round(fx, 4096));
  fx_synchronize(fx, it.stream);
  tbk_gate_t gate;
  gate_close_over(fx, &gate, it.stream, 0);
  bool held = gate_is_closed(&gate);
  actor_start(fx, actor, free_only, &it);
  bool returned = actor_settle(actor);
  uint64_t end = fx_awake_ns() + FX_PATIENCE_NS / 2;
  while (held && !returned && fx_awake_ns() < end)
    returned = actor_settle(actor);
  CHECK(returned || !held);
  gate_open(fx, &gate);
  actor_join(fx, actor);
  fx_synchronize(fx, it.stream);
}

/* More than the device has, in pieces that are freed behind the work that used them. */
static void freed_memory_of_a_stream_can_be_had_again(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  uint64_t size = room_share(fx, 8);
  uint64_t turns = 3 * (room_left(fx) / size);
  for (uint64_t turn = 0; turn < turns; ++turn) {
    async_give(fx, stream, async_take(fx, stream, size));
    fx_synchronize(fx, stream);
  }
  tbk_memory_t memory = 0;
  CHECK_OK(fx->core->memory_alloc(fx->self, fx->device, size, &memory, &fx->error));
  CHECK_OK(fx->core->memory_free(fx->self, fx->device, memory, &fx->error));
}

static const tbk_case_t cases[] = {
    TBK_CASE("SOM-005", "async_memory", 0, freed_memory_stays_until_its_work_is_complete),
    TBK_CASE("SOM-005", "async_memory two_devices", 0,
             freed_memory_of_the_second_device_stays_until_its_work_is_complete),
    TBK_CASE("SOM-005", "async_memory", TBK_CASE_ALONE,
             freed_memory_of_a_full_device_stays_until_its_work_is_complete),
    TBK_CASE("SOM-005", "async_memory", 0, freed_memory_is_not_given_to_memory_alloc_too_early),
    TBK_CASE("SOM-005", "async_memory event", 0,
             freed_memory_of_a_destroyed_stream_stays_until_its_work_is_complete),
    TBK_CASE("STR-001", "async_memory", 0, reuse_on_the_same_stream_comes_after_earlier_work),
    TBK_CASE("SOM-006", "async_memory callback", 0, async_free_returns_at_once),
    TBK_CASE("SOM-009", "async_memory memory_bytes", 0, freed_memory_of_a_stream_can_be_had_again),
};
TBK_SUITE(async_free);
