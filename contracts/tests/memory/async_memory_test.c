/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Stream-ordered memory: what async_alloc gives, to its stream and to others.
 */
#include "async_steps.h"
#include "behind.h"
#include "range.h"

#include <string.h>

static const tbk_memory_t sentinel = UINT64_C(0x5a5a5a5a5a5a5a5b);

/* --------------------------------------------------------------------------------- arguments -- */

static void async_alloc_refuses_null(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (size_t i = 0; i < range_size_count; ++i) {
    tbk_memory_t memory = sentinel;
    CHECK_STATUS(TBK_INVALID, fx->async_memory->async_alloc(fx->self, NULL, range_sizes[i], &memory,
                                                            &fx->error));
    CHECK_KEPT("async_alloc", memory == sentinel);
    CHECK_STATUS(TBK_INVALID,
                 fx->async_memory->async_alloc(fx->self, stream, range_sizes[i], NULL, &fx->error));
    CHECK_STATUS(TBK_INVALID,
                 fx->async_memory->async_alloc(fx->self, NULL, range_sizes[i], NULL, &fx->error));
  }
}

static void async_free_refuses_a_null_stream(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  uint64_t size = fx_round(fx, 4096);
  tbk_memory_t memory = async_take(fx, stream, size);
  uint8_t* expected = fx_bytes(fx, size);
  uint8_t* seen = fx_zeros(fx, size);
  async_put(fx, stream, memory, expected, size);
  CHECK_STATUS(TBK_INVALID, fx->async_memory->async_free(fx->self, NULL, memory, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->async_memory->async_free(fx->self, NULL, 0, &fx->error));
  async_get(fx, stream, seen, memory, size);
  fx_synchronize(fx, stream);
  CHECK_BYTES(expected, seen, size);
  async_give(fx, stream, memory);
}

static void async_free_of_handle_0_does_nothing(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (int round = 0; round < RANGE_ROUNDS; ++round)
    async_give(fx, stream, 0);
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
  piece->size = fx_round(fx, size);
  piece->memory = async_take(fx, stream, piece->size);
  piece->expected = fx_bytes(fx, piece->size);
  piece->seen = fx_zeros(fx, piece->size);
  CHECK(piece->memory != 0);
  async_put(fx, stream, piece->memory, piece->expected, piece->size);
}

/* All alive at once, of so many classes and small ones: none may overwrite another. */
static void check_pieces(tbk_fixture_t* fx, tbk_stream_t* stream, size_t classes) {
  piece_t pieces[RANGE_ROUNDS];
  for (size_t i = 0; i < RANGE_ROUNDS; ++i)
    piece_make(fx, stream, &pieces[i], range_size_of(fx, i, classes));
  for (size_t i = 0; i < RANGE_ROUNDS; ++i)
    async_get(fx, stream, pieces[i].seen, pieces[i].memory, pieces[i].size);
  for (size_t i = 0; i < RANGE_ROUNDS; ++i)
    async_give(fx, stream, pieces[i].memory);
  fx_synchronize(fx, stream);
  for (size_t i = 0; i < RANGE_ROUNDS; ++i)
    CHECK_BYTES(pieces[i].expected, pieces[i].seen, pieces[i].size);
}

static void memory_of_a_stream_holds_what_its_work_writes(tbk_fixture_t* fx) {
  check_pieces(fx, fx_stream(fx), range_size_count);
}

static void memory_of_a_stream_of_the_second_device_holds_what_its_work_writes(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_pieces(fx, fx_stream(fx), range_size_count - 1);
}

static void memory_of_a_stream_holds_what_its_work_writes_after_an_error(tbk_fixture_t* fx) {
  range_provoke_errors(fx);
  check_pieces(fx, fx_stream(fx), range_size_count - 1);
}

/* Allocated, used and freed again and again, as a program with temporaries does. 32 allocations are promised, and
 * a free that is still to run gives none back. */
static void temporaries_of_a_stream_keep_their_contents(tbk_fixture_t* fx) {
  enum { TURNS = 60, PENDING = 30 };
  tbk_stream_t* stream = fx_stream(fx);
  piece_t pieces[TURNS];
  for (int i = 0; i < TURNS; ++i) {
    piece_make(fx, stream, &pieces[i], 1 + fx_random(fx) % 6000);
    async_get(fx, stream, pieces[i].seen, pieces[i].memory, pieces[i].size);
    async_give(fx, stream, pieces[i].memory);
    if (i % PENDING == PENDING - 1) fx_synchronize(fx, stream);
  }
  for (int i = 0; i < TURNS; ++i)
    CHECK_BYTES(pieces[i].expected, pieces[i].seen, pieces[i].size);
}

static void check_aligned(tbk_fixture_t* fx, tbk_stream_t* stream) {
  tbk_memory_t memory[RANGE_ROUNDS];
  for (size_t i = 0; i < RANGE_ROUNDS; ++i) {
    memory[i] = async_take(fx, stream, 1 + fx_random(fx) % 9000);
    CHECK_EQUAL(0, memory[i] % fx->properties.memory_alignment);
  }
  for (size_t i = 0; i < RANGE_ROUNDS; ++i)
    async_give(fx, stream, memory[i]);
  fx_synchronize(fx, stream);
}

/* More than can be had at a time, so twice: of fresh memory, and of what was given back. */
static void a_flat_handle_of_a_stream_is_aligned(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  check_aligned(fx, stream);
  check_aligned(fx, stream);
}

static void no_bytes_of_a_stream_can_be_had_and_freed(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    tbk_memory_t memory = sentinel;
    REQUIRE_OK(fx->async_memory->async_alloc(fx->self, stream, 0, &memory, &fx->error));
    REQUIRE(memory != sentinel);
    async_give(fx, stream, memory);
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
    async_get(fx, stream, pieces[i].seen, pieces[i].memory, pieces[i].size);
  fx_synchronize(fx, stream);
  for (int i = 0; i < 8; ++i) {
    CHECK_BYTES(pieces[i].expected, pieces[i].seen, pieces[i].size);
    BLOCK_CHECK(fx, &blocks[i]);
    async_give(fx, stream, pieces[i].memory);
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

/* Refused at the call, however much is still to come before it. */
static void take_too_much(tbk_fixture_t* fx, void* argument) {
  tbk_stream_t* stream = argument;
  for (size_t i = 0; i < sizeof absurd_sizes / sizeof *absurd_sizes; ++i) {
    tbk_memory_t memory = sentinel;
    CHECK_STATUS(TBK_OUT_OF_MEMORY, fx->async_memory->async_alloc(fx->self, stream, absurd_sizes[i],
                                                                  &memory, &fx->error));
    CHECK_KEPT("async_alloc", memory == sentinel);
  }
}

static void more_than_a_device_has_is_out_of_memory_behind_work(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  behind_gate(fx, stream, take_too_much, stream);
}

static void a_failed_async_alloc_leaves_the_result_alone(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (size_t i = 0; i < sizeof absurd_sizes / sizeof *absurd_sizes; ++i) {
    tbk_memory_t memory = sentinel;
    tbk_status_t status =
        fx->async_memory->async_alloc(fx->self, stream, absurd_sizes[i], &memory, &fx->error);
    FX_CHECK_EXHAUSTED("MEM-009", status, &fx->error);
    CHECK_KEPT("async_alloc", memory == sentinel);
  }
  check_pieces(fx, stream, range_size_count);
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
  async_put(fx, it->second, it->memory, it->fresh, it->size);
  async_get(fx, it->second, it->seen, it->memory, it->size);
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
    async_give(fx, it.second, it.memory);
  }
  fx_synchronize(fx, it.second);
}

static void another_stream_uses_the_memory_behind_a_gate(tbk_fixture_t* fx) {
  handover_t it;
  handover_make(fx, &it, 65537);
  behind_gate(fx, it.first, alloc_here_use_there, &it);
  fx_synchronize(fx, it.second);
  CHECK_BYTES(it.fresh, it.seen, it.size);
  async_give(fx, it.first, it.memory);
  fx_synchronize(fx, it.first);
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
    TBK_CASE("MEM-009", "async_memory callback", 0,
             more_than_a_device_has_is_out_of_memory_behind_work),
    TBK_CASE("ERR-001", "async_memory", 0, a_failed_async_alloc_leaves_the_result_alone),
    TBK_CASE("SOM-003", "async_memory event", 0, another_stream_uses_the_memory_once_it_is_ordered),
    TBK_CASE("SOM-003", "async_memory event", 0, another_stream_uses_the_memory_behind_a_gate),
};
TBK_SUITE(async_memory);
