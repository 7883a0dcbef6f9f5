/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Stream-ordered memory. A pending free is the trap: its bytes may go to later work of the same
 * stream at once, and to nobody else before the work is complete.
 */
#include "actor.h"
#include "behind.h"
#include "gate.h"
#include "range.h"

#include <string.h>

static const tbk_memory_t sentinel = UINT64_C(0x5a5a5a5a5a5a5a5b);

static tbk_memory_t take(tbk_fixture_t* fx, tbk_stream_t* stream, uint64_t size_bytes) {
  tbk_memory_t memory = 0;
  REQUIRE_OK(fx->async_memory->async_alloc(fx->self, stream, size_bytes, &memory, &fx->error));
  return memory;
}

static void give(tbk_fixture_t* fx, tbk_stream_t* stream, tbk_memory_t memory) {
  CHECK_OK(fx->async_memory->async_free(fx->self, stream, memory, &fx->error));
}

static void put(tbk_fixture_t* fx, tbk_stream_t* stream, tbk_memory_t memory, const void* bytes,
                uint64_t size_bytes) {
  CHECK_OK(
      fx->core->upload(fx->self, fx->device, memory, 0, bytes, size_bytes, stream, &fx->error));
}

static void get(tbk_fixture_t* fx, tbk_stream_t* stream, void* bytes, tbk_memory_t memory,
                uint64_t size_bytes) {
  CHECK_OK(
      fx->core->download(fx->self, fx->device, bytes, memory, 0, size_bytes, stream, &fx->error));
}

/* --------------------------------------------------------------------------------- arguments -- */

static void async_alloc_refuses_null(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (size_t i = 0; i < range_size_count; ++i) {
    tbk_memory_t memory = sentinel;
    CHECK_STATUS(TBK_INVALID, fx->async_memory->async_alloc(fx->self, NULL, range_sizes[i], &memory,
                                                            &fx->error));
    CHECK(memory == sentinel);
    CHECK_STATUS(TBK_INVALID,
                 fx->async_memory->async_alloc(fx->self, stream, range_sizes[i], NULL, &fx->error));
    CHECK_STATUS(TBK_INVALID,
                 fx->async_memory->async_alloc(fx->self, NULL, range_sizes[i], NULL, &fx->error));
  }
}

static void async_free_refuses_a_null_stream(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  uint64_t size = fx_round(fx, 4096);
  tbk_memory_t memory = take(fx, stream, size);
  uint8_t* expected = fx_bytes(fx, size);
  uint8_t* seen = fx_zeros(fx, size);
  put(fx, stream, memory, expected, size);
  CHECK_STATUS(TBK_INVALID, fx->async_memory->async_free(fx->self, NULL, memory, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->async_memory->async_free(fx->self, NULL, 0, &fx->error));
  get(fx, stream, seen, memory, size);
  fx_synchronize(fx, stream);
  CHECK_BYTES(expected, seen, size);
  give(fx, stream, memory);
}

static void async_free_of_handle_0_does_nothing(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (int round = 0; round < RANGE_ROUNDS; ++round)
    give(fx, stream, 0);
  fx_synchronize(fx, stream);
}

/* -------------------------------------------------------------- what memory_alloc ensures ----- */

typedef struct piece {
  tbk_memory_t memory;
  uint64_t size;
  uint8_t* expected;
  uint8_t* seen;
} piece_t;

static void piece_make(tbk_fixture_t* fx, tbk_stream_t* stream, piece_t* piece, uint64_t size) {
  TBK_CHECKS("SOM-002");
  piece->size = fx_round(fx, size);
  piece->memory = take(fx, stream, piece->size);
  piece->expected = fx_bytes(fx, piece->size);
  piece->seen = fx_zeros(fx, piece->size);
  CHECK(piece->memory != 0);
  put(fx, stream, piece->memory, piece->expected, piece->size);
}

/* All alive at once: none may overwrite another. */
static void check_pieces(tbk_fixture_t* fx, tbk_stream_t* stream) {
  piece_t pieces[RANGE_ROUNDS];
  for (size_t i = 0; i < RANGE_ROUNDS; ++i)
    piece_make(fx, stream, &pieces[i], range_size(fx, i));
  for (size_t i = 0; i < RANGE_ROUNDS; ++i)
    get(fx, stream, pieces[i].seen, pieces[i].memory, pieces[i].size);
  for (size_t i = 0; i < RANGE_ROUNDS; ++i)
    give(fx, stream, pieces[i].memory);
  fx_synchronize(fx, stream);
  for (size_t i = 0; i < RANGE_ROUNDS; ++i)
    CHECK_BYTES(pieces[i].expected, pieces[i].seen, pieces[i].size);
}

static void memory_of_a_stream_holds_what_its_work_writes(tbk_fixture_t* fx) {
  check_pieces(fx, fx_stream(fx));
}

static void memory_of_a_stream_of_the_second_device_holds_what_its_work_writes(tbk_fixture_t* fx) {
  range_use_second_device(fx);
  check_pieces(fx, fx_stream(fx));
}

static void memory_of_a_stream_holds_what_its_work_writes_after_an_error(tbk_fixture_t* fx) {
  range_provoke_errors(fx);
  check_pieces(fx, fx_stream(fx));
}

/* Allocated, used and freed again and again, as a program with temporaries does. */
static void temporaries_of_a_stream_keep_their_contents(tbk_fixture_t* fx) {
  enum { TURNS = 60 };
  tbk_stream_t* stream = fx_stream(fx);
  piece_t pieces[TURNS];
  for (int i = 0; i < TURNS; ++i) {
    piece_make(fx, stream, &pieces[i], 1 + fx_random(fx) % 6000);
    get(fx, stream, pieces[i].seen, pieces[i].memory, pieces[i].size);
    give(fx, stream, pieces[i].memory);
  }
  fx_synchronize(fx, stream);
  for (int i = 0; i < TURNS; ++i)
    CHECK_BYTES(pieces[i].expected, pieces[i].seen, pieces[i].size);
}

static void a_flat_handle_of_a_stream_is_aligned(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  tbk_memory_t memory[2 * RANGE_ROUNDS];
  for (size_t i = 0; i < 2 * RANGE_ROUNDS; ++i) {
    memory[i] = take(fx, stream, 1 + fx_random(fx) % 9000);
    CHECK_EQUAL(0, memory[i] % fx->properties.memory_alignment);
  }
  for (size_t i = 0; i < 2 * RANGE_ROUNDS; ++i)
    give(fx, stream, memory[i]);
  fx_synchronize(fx, stream);
}

static void no_bytes_of_a_stream_can_be_had_and_freed(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    tbk_memory_t memory = sentinel;
    REQUIRE_OK(fx->async_memory->async_alloc(fx->self, stream, 0, &memory, &fx->error));
    REQUIRE(memory != sentinel);
    give(fx, stream, memory);
  }
  fx_synchronize(fx, stream);
}

static void memory_of_a_stream_and_other_memory_share_no_byte(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  block_t blocks[8];
  piece_t pieces[8];
  for (int i = 0; i < 8; ++i) {
    block_make(fx, &blocks[i], 4096);
    piece_make(fx, stream, &pieces[i], 4096);
  }
  for (int i = 0; i < 8; ++i)
    get(fx, stream, pieces[i].seen, pieces[i].memory, pieces[i].size);
  fx_synchronize(fx, stream);
  for (int i = 0; i < 8; ++i) {
    CHECK_BYTES(pieces[i].expected, pieces[i].seen, pieces[i].size);
    BLOCK_CHECK(fx, &blocks[i]);
    give(fx, stream, pieces[i].memory);
  }
  fx_synchronize(fx, stream);
}

static const uint64_t absurd_sizes[] = {UINT64_MAX,        UINT64_MAX - 63,   UINT64_MAX - 4095,
                                        UINT64_C(1) << 63, UINT64_C(1) << 62, INT64_MAX};

static void more_than_a_device_has_is_out_of_memory(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (size_t i = 0; i < sizeof absurd_sizes / sizeof *absurd_sizes; ++i) {
    tbk_memory_t memory = sentinel;
    CHECK_STATUS(TBK_OUT_OF_MEMORY, fx->async_memory->async_alloc(fx->self, stream, absurd_sizes[i],
                                                                  &memory, &fx->error));
  }
  fx_synchronize(fx, stream);
}

static void a_failed_async_alloc_leaves_the_result_alone(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (size_t i = 0; i < sizeof absurd_sizes / sizeof *absurd_sizes; ++i) {
    tbk_memory_t memory = sentinel;
    tbk_status_t status =
        fx->async_memory->async_alloc(fx->self, stream, absurd_sizes[i], &memory, &fx->error);
    CHECK(status != TBK_OK);
    CHECK(memory == sentinel);
  }
  check_pieces(fx, stream);
}

/* -------------------------------------------------------------------------- on other streams -- */

typedef struct handover {
  tbk_stream_t* first;
  tbk_stream_t* second;
  tbk_event_t* event;
  tbk_memory_t memory;
  uint64_t size;
  uint8_t* fresh;
  uint8_t* seen;
} handover_t;

/* Made on the first stream and used on the second, ordered by an event. */
static void alloc_here_use_there(tbk_fixture_t* fx, void* argument) {
  handover_t* it = argument;
  CHECK_OK(fx->async_memory->async_alloc(fx->self, it->first, it->size, &it->memory, &fx->error));
  CHECK_OK(fx->event->event_record(fx->self, it->event, it->first, &fx->error));
  CHECK_OK(fx->event->event_wait(fx->self, it->second, it->event, &fx->error));
  put(fx, it->second, it->memory, it->fresh, it->size);
  get(fx, it->second, it->seen, it->memory, it->size);
}

static void handover_make(tbk_fixture_t* fx, handover_t* it, uint64_t size_bytes) {
  it->first = fx_stream(fx);
  it->second = fx_stream(fx);
  it->event = fx->event != NULL ? fx_event(fx, 0) : NULL;
  it->size = fx_round(fx, size_bytes);
  it->fresh = fx_bytes(fx, it->size);
  it->seen = fx_zeros(fx, it->size);
  it->memory = 0;
}

static void another_stream_uses_the_memory_once_it_is_ordered(tbk_fixture_t* fx) {
  handover_t it;
  handover_make(fx, &it, 65537);
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    memset(it.seen, 0, it.size);
    it.fresh = fx_bytes(fx, it.size);
    alloc_here_use_there(fx, &it);
    fx_synchronize(fx, it.second);
    CHECK_BYTES(it.fresh, it.seen, it.size);
    give(fx, it.second, it.memory);
  }
  fx_synchronize(fx, it.second);
}

static void another_stream_uses_the_memory_behind_a_gate(tbk_fixture_t* fx) {
  handover_t it;
  handover_make(fx, &it, 65537);
  behind_gate(fx, it.first, alloc_here_use_there, &it);
  fx_synchronize(fx, it.second);
  CHECK_BYTES(it.fresh, it.seen, it.size);
  give(fx, it.first, it.memory);
  fx_synchronize(fx, it.first);
}

/* ----------------------------------------------------------------------------- pending frees -- */

enum { HELD = 4, OTHERS = 8 };

typedef struct reuse {
  tbk_stream_t* first;
  tbk_stream_t* second;
  tbk_memory_t memory[HELD]; /* freed on the first stream while its work is held */
  tbk_memory_t result[HELD];
  tbk_memory_t others[OTHERS];
  uint64_t size;
  uint8_t* expected[HELD];
  uint8_t* garbage;
} reuse_t;

static void reuse_make(tbk_fixture_t* fx, reuse_t* it, uint64_t size_bytes) {
  *it =
      (reuse_t){.first = fx_stream(fx), .second = fx_stream(fx), .size = fx_round(fx, size_bytes)};
  it->garbage = fx_bytes(fx, it->size);
  for (int i = 0; i < HELD; ++i) {
    it->expected[i] = fx_bytes(fx, it->size);
    it->result[i] = fx_alloc(fx, it->size);
    it->memory[i] = take(fx, it->first, it->size);
    put(fx, it->first, it->memory[i], it->expected[i], it->size);
  }
  fx_synchronize(fx, it->first);
}

/* Copies that are held, each with the memory it reads freed right behind it. */
static void copy_and_free(tbk_fixture_t* fx, void* argument) {
  reuse_t* it = argument;
  for (int i = 0; i < HELD; ++i) {
    CHECK_OK(fx->core->copy(fx->self, fx->device, it->result[i], 0, it->memory[i], 0, it->size,
                            it->first, &fx->error));
    give(fx, it->first, it->memory[i]);
  }
}

static void reuse_check(tbk_fixture_t* fx, const reuse_t* it) {
  for (int i = 0; i < HELD; ++i)
    FX_CHECK_MEMORY(fx, it->expected[i], it->result[i], it->size);
}

/* Others ask for as much on their own stream, and write. */
static void take_elsewhere(tbk_fixture_t* fx, void* argument) {
  reuse_t* it = argument;
  for (int i = 0; i < OTHERS; ++i) {
    CHECK_OK(
        fx->async_memory->async_alloc(fx->self, it->second, it->size, &it->others[i], &fx->error));
    put(fx, it->second, it->others[i], it->garbage, it->size);
  }
  if (gate_can_control(fx))
    CHECK_OK(fx->stream->stream_synchronize(fx->self, it->second, &fx->error));
}

/* Returns whether a write on another stream would have been there before the held copy. */
static bool write_early(tbk_fixture_t* fx, void* argument, tbk_stream_t* other) {
  reuse_t* it = argument;
  uint8_t* seen = fx_zeros(fx, it->size);
  put(fx, other, it->result[0], it->garbage, it->size);
  get(fx, other, seen, it->result[0], it->size);
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
    give(fx, it.second, it.others[i]);
  fx_synchronize(fx, it.second);
  if (control) behind_control(fx, it.first, write_early, &it);
}

static void freed_memory_stays_until_its_work_is_complete(tbk_fixture_t* fx) {
  check_pending_free(fx, 4096, false);
  room_release(fx, 0);
  check_pending_free(fx, room_fits(fx, 8 * 1048576) ? 1048576 : 65536, true);
}

static void freed_memory_of_the_second_device_stays_until_its_work_is_complete(tbk_fixture_t* fx) {
  range_use_second_device(fx);
  check_pending_free(fx, 65537, true);
}

/* The same, but the one who asks is memory_alloc. */
static void allocate_elsewhere(tbk_fixture_t* fx, void* argument) {
  reuse_t* it = argument;
  if (!gate_can_control(fx)) return;
  for (int i = 0; i < OTHERS; ++i) {
    CHECK_OK(fx->core->memory_alloc(fx->self, fx->device, it->size, &it->others[i], &fx->error));
    put(fx, it->second, it->others[i], it->garbage, it->size);
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

/* Later work of the same stream may have the bytes at once, and then comes after what used them. */
static void take_again(tbk_fixture_t* fx, void* argument) {
  reuse_t* it = argument;
  for (int i = 0; i < OTHERS; ++i) {
    CHECK_OK(
        fx->async_memory->async_alloc(fx->self, it->first, it->size, &it->others[i], &fx->error));
    put(fx, it->first, it->others[i], it->garbage, it->size);
  }
}

static void reuse_on_the_same_stream_comes_after_earlier_work(tbk_fixture_t* fx) {
  reuse_t it;
  reuse_make(fx, &it, 65536);
  behind_gate_twice(fx, it.first, copy_and_free, take_again, &it);
  reuse_check(fx, &it);
  for (int i = 0; i < OTHERS; ++i) {
    FX_CHECK_MEMORY(fx, it.garbage, it.others[i], it.size);
    give(fx, it.first, it.others[i]);
  }
  fx_synchronize(fx, it.first);
}

typedef struct held_free {
  tbk_stream_t* stream;
  tbk_memory_t memory;
} held_free_t;

static void free_only(actor_t* actor) {
  held_free_t* it = actor->argument;
  give(&actor->fx, it->stream, it->memory);
}

static void async_free_returns_at_once(tbk_fixture_t* fx) {
  held_free_t it = {.stream = fx_stream(fx)};
  actor_t* actor = (actor_t*)(void*)fx_zeros(fx, sizeof *actor);
  it.memory = take(fx, it.stream, fx_round(fx, 4096));
  fx_synchronize(fx, it.stream);
  tbk_gate_t gate;
  gate_close_over(fx, &gate, it.stream, 0);
  bool held = gate_is_closed(&gate);
  actor_start(fx, actor, free_only, &it);
  bool returned = actor_settle(actor);
  uint64_t end = fx_now_ns() + FX_PATIENCE_NS / 2;
  while (held && !returned && fx_now_ns() < end)
    returned = actor_settle(actor);
  CHECK(returned || !held);
  gate_open(fx, &gate);
  actor_join(fx, actor);
  fx_synchronize(fx, it.stream);
}

/* More than the device has, in pieces that are freed behind the work that used them. */
static void freed_memory_of_a_stream_can_be_had_again(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  uint64_t eighth = fx->properties.memory_bytes / 8, most = room_allocation(&fx->properties);
  uint64_t size = eighth < most ? eighth : most;
  uint64_t turns = 3 * (fx->properties.memory_bytes / size);
  for (uint64_t turn = 0; turn < turns; ++turn) {
    give(fx, stream, take(fx, stream, size));
    fx_synchronize(fx, stream);
  }
  tbk_memory_t memory = 0;
  CHECK_OK(fx->core->memory_alloc(fx->self, fx->device, size, &memory, &fx->error));
  CHECK_OK(fx->core->memory_free(fx->self, fx->device, memory, &fx->error));
}

static const tbk_case_t cases[] = {
    TBK_CASE("SOM-001", "async_memory", 0, async_alloc_refuses_null),
    TBK_CASE("STR-014", "async_memory", 0, async_free_refuses_a_null_stream),
    TBK_CASE("SOM-008", "async_memory", 0, async_free_of_handle_0_does_nothing),
    TBK_CASE("SOM-002", "async_memory", 0, memory_of_a_stream_holds_what_its_work_writes),
    TBK_CASE("SOM-002", "async_memory two_devices", 0,
             memory_of_a_stream_of_the_second_device_holds_what_its_work_writes),
    TBK_CASE("SOM-002", "async_memory", 0,
             memory_of_a_stream_holds_what_its_work_writes_after_an_error),
    TBK_CASE("SOM-002", "async_memory", 0, temporaries_of_a_stream_keep_their_contents),
    TBK_CASE("SOM-002", "async_memory flat_address", 0, a_flat_handle_of_a_stream_is_aligned),
    TBK_CASE("SOM-002", "async_memory", 0, no_bytes_of_a_stream_can_be_had_and_freed),
    TBK_CASE("SOM-002", "async_memory", 0, memory_of_a_stream_and_other_memory_share_no_byte),
    TBK_CASE("MEM-009", "async_memory", 0, more_than_a_device_has_is_out_of_memory),
    TBK_CASE("ERR-001", "async_memory", 0, a_failed_async_alloc_leaves_the_result_alone),
    TBK_CASE("SOM-003", "async_memory event", 0, another_stream_uses_the_memory_once_it_is_ordered),
    TBK_CASE("SOM-003", "async_memory event", 0, another_stream_uses_the_memory_behind_a_gate),
    TBK_CASE("SOM-005", "async_memory", 0, freed_memory_stays_until_its_work_is_complete),
    TBK_CASE("SOM-005", "async_memory two_devices", 0,
             freed_memory_of_the_second_device_stays_until_its_work_is_complete),
    TBK_CASE("SOM-005", "async_memory", 0, freed_memory_is_not_given_to_memory_alloc_too_early),
    TBK_CASE("STR-001", "async_memory", 0, reuse_on_the_same_stream_comes_after_earlier_work),
    TBK_CASE("SOM-006", "async_memory callback", 0, async_free_returns_at_once),
    TBK_CASE("SOM-009", "async_memory memory_bytes", 0, freed_memory_of_a_stream_can_be_had_again),
};
TBK_SUITE(async_memory);
