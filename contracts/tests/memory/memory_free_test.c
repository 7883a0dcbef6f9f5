/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory: what memory_free gives back and leaves alone, and how memory is counted. Memory is
 * exhausted in large pieces that nobody touches, so that the size of the device costs no time.
 */
#include "range.h"

#include <string.h>

static void allocate_and_free(tbk_fixture_t* fx, uint64_t size_bytes) {
  tbk_memory_t memory = 0;
  REQUIRE_OK(fx->core->memory_alloc(fx->self, fx->device, size_bytes, &memory, &fx->error));
  REQUIRE_OK(fx->core->memory_free(fx->self, fx->device, memory, &fx->error));
}

/* As much of `size_bytes` as one allocation may have. */
static uint64_t piece_of(tbk_fixture_t* fx, uint64_t size_bytes) {
  uint64_t most = room_allocation(&fx->properties);
  return size_bytes < most ? size_bytes : most;
}

/* Returns what the device can give at the moment, as far as it tells. */
static uint64_t usable_bytes(tbk_fixture_t* fx) {
  uint64_t free_bytes = fx->properties.memory_bytes;
  uint64_t total_bytes = 0;
  if (TBK_HAS(fx->core, tbk_core_t, memory_info))
    REQUIRE_OK(fx->core->memory_info(fx->self, fx->device, &free_bytes, &total_bytes, &fx->error));
  return free_bytes;
}

/* So many times what the device has, in pieces of `size_bytes`, one after the other. */
static void allocate_all_in_turn(tbk_fixture_t* fx, uint64_t size_bytes, uint64_t times) {
  size_bytes = piece_of(fx, size_bytes);
  uint64_t turns = fx->properties.memory_bytes / size_bytes;
  for (uint64_t turn = 0; turn < times * turns + times; ++turn)
    allocate_and_free(fx, size_bytes);
}

static void freed_memory_can_be_had_again(tbk_fixture_t* fx) {
  uint64_t usable = usable_bytes(fx);
  block_t bystander;
  block_make(fx, &bystander, 4096);
  allocate_all_in_turn(fx, usable / 4, 2);
  allocate_all_in_turn(fx, usable / 64 - 1, 6);
  allocate_all_in_turn(fx, usable / 1024 + 1, 2);
  BLOCK_CHECK(fx, &bystander);
}

static void freed_memory_of_the_second_device_can_be_had_again(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  uint64_t usable = usable_bytes(fx);
  allocate_all_in_turn(fx, usable / 4, 2);
  allocate_all_in_turn(fx, usable / 64 - 1, 6);
}

enum { PIECES = 16 };

/* Takes pieces until there is no more; returns how many there were. */
static uint64_t exhaust(tbk_fixture_t* fx, tbk_memory_t* out_last) {
  uint64_t piece = room_share(fx, PIECES);
  uint64_t limit = fx->properties.memory_bytes / piece + 1;
  for (uint64_t count = 0; count < limit; ++count) {
    tbk_memory_t next = UINT64_C(0x5a5a5a5a5a5a5a5b);
    tbk_status_t status = fx->core->memory_alloc(fx->self, fx->device, piece, &next, &fx->error);
    if (status != TBK_OK) {
      CHECK_STATUS(TBK_OUT_OF_MEMORY, status);
      CHECK_KEPT("memory_alloc", next == UINT64_C(0x5a5a5a5a5a5a5a5b));
      return count;
    }
    fx_adopt_memory(fx, fx->device, next);
    *out_last = next;
  }
  CHECK_SAID(false, "OUT_OF_MEMORY before the device gave more than it has",
             "%llu allocations of %llu bytes", (unsigned long long)limit,
             (unsigned long long)piece);
  return limit;
}

static void check_exhaustion(tbk_fixture_t* fx) {
  tbk_memory_t last = 0;
  block_t bystander;
  block_make(fx, &bystander, 65537);
  uint64_t count = exhaust(fx, &last);
  BLOCK_CHECK(fx, &bystander);
  REQUIRE(count > 0);
  fx_disown_memory(fx, last);
  REQUIRE_OK(fx->core->memory_free(fx->self, fx->device, last, &fx->error));
  TBK_CHECKS("MEM-012");
  allocate_and_free(fx, room_share(fx, PIECES));
  BLOCK_CHECK(fx, &bystander);
}

static void an_exhausted_device_says_so_and_recovers(tbk_fixture_t* fx) {
  check_exhaustion(fx);
}

static void an_exhausted_second_device_says_so_and_recovers(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_exhaustion(fx);
}

static void an_exhausted_device_still_copies(tbk_fixture_t* fx) {
  tbk_memory_t last = 0;
  block_t block;
  block_make(fx, &block, 65537);
  (void)exhaust(fx, &last);
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    memset(block.model, round + 1, block.size);
    fx_upload(fx, block.memory, block.model, block.size);
    BLOCK_CHECK(fx, &block);
  }
}

/* Frees every second block, then the rest: those that live keep their contents. */
static void check_neighbours(tbk_fixture_t* fx) {
  block_t blocks[30]; /* of the 32 that a device has at the least */
  size_t count = sizeof blocks / sizeof *blocks;
  for (size_t i = 0; i < count; ++i)
    block_make(fx, &blocks[i], i < range_size_count - 1 ? range_size(fx, i) : 64 * (i % 5 + 1));
  for (size_t i = 0; i < count; i += 2) {
    block_drop(fx, &blocks[i]);
    BLOCK_CHECK(fx, &blocks[i + 1]);
  }
  for (size_t i = 1; i < count; i += 2)
    BLOCK_CHECK(fx, &blocks[i]);
}

static void freeing_leaves_other_allocations_alone(tbk_fixture_t* fx) {
  check_neighbours(fx);
}

static void freeing_on_the_second_device_leaves_other_allocations_alone(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_neighbours(fx);
}

static void freeing_after_an_error_leaves_other_allocations_alone(tbk_fixture_t* fx) {
  range_provoke_errors(fx);
  check_neighbours(fx);
}

static void freeing_no_bytes_leaves_other_allocations_alone(tbk_fixture_t* fx) {
  block_t before;
  block_t after;
  block_make(fx, &before, 4096);
  for (int round = 0; round < RANGE_ROUNDS; ++round)
    allocate_and_free(fx, 0);
  block_make(fx, &after, 4096);
  BLOCK_CHECK(fx, &before);
  BLOCK_CHECK(fx, &after);
}

static void memory_lives_until_it_is_freed(tbk_fixture_t* fx) {
  block_t block;
  block_make(fx, &block, 65537);
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    tbk_stream_t* stream = NULL;
    allocate_and_free(fx, 65537);
    REQUIRE_OK(fx->stream->stream_create(fx->self, fx->device, 0, &stream, &fx->error));
    REQUIRE_OK(fx->stream->stream_synchronize(fx->self, stream, &fx->error));
    fx->stream->stream_destroy(fx->self, stream);
    REQUIRE_OK(fx->stream->device_synchronize(fx->self, fx->device, &fx->error));
    BLOCK_CHECK(fx, &block);
  }
}

static void freeing_handle_0_does_nothing(tbk_fixture_t* fx) {
  block_t block;
  block_make(fx, &block, 4096);
  for (int round = 0; round < RANGE_ROUNDS; ++round)
    CHECK_OK(fx->core->memory_free(fx->self, fx->device, 0, &fx->error));
  BLOCK_CHECK(fx, &block);
  allocate_and_free(fx, 4096);
}

static void freeing_handle_0_does_nothing_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  freeing_handle_0_does_nothing(fx);
}

static void memory_info_refuses_null_results(tbk_fixture_t* fx) {
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    uint64_t sentinel = fx_random(fx);
    uint64_t bytes = sentinel;
    CHECK_STATUS(TBK_INVALID,
                 fx->core->memory_info(fx->self, fx->device, NULL, &bytes, &fx->error));
    CHECK_KEPT("memory_info", bytes == sentinel);
    CHECK_STATUS(TBK_INVALID,
                 fx->core->memory_info(fx->self, fx->device, &bytes, NULL, &fx->error));
    CHECK_KEPT("memory_info", bytes == sentinel);
  }
  CHECK_STATUS(TBK_INVALID, fx->core->memory_info(fx->self, fx->device, NULL, NULL, &fx->error));
}

typedef struct info {
  uint64_t free_bytes;
  uint64_t total_bytes;
} info_t;

static info_t memory_info(tbk_fixture_t* fx) {
  info_t info = {1, 0}; /* more free than there is */
  REQUIRE_OK(
      fx->core->memory_info(fx->self, fx->device, &info.free_bytes, &info.total_bytes, &fx->error));
  return info;
}

static void check_info(tbk_fixture_t* fx) {
  info_t first = memory_info(fx);
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    fx_alloc(fx, 1 + fx_random(fx) % 100000);
    info_t now = memory_info(fx);
    CHECK_SAID(now.free_bytes <= now.total_bytes, "free <= total", "%llu free of %llu",
               (unsigned long long)now.free_bytes, (unsigned long long)now.total_bytes);
    CHECK_EQUAL(first.total_bytes, now.total_bytes);
  }
}

static void free_memory_is_at_most_the_total(tbk_fixture_t* fx) {
  check_info(fx);
}

static void free_memory_of_the_second_device_is_at_most_the_total(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_info(fx);
}

static void the_total_is_what_the_properties_say(tbk_fixture_t* fx) {
  info_t info = memory_info(fx);
  CHECK(info.total_bytes > 0 && info.total_bytes <= fx->properties.memory_bytes);
}

/* Half of the piece is left to what others, and the driver, take and give back meanwhile. */
static void check_free_falls(tbk_fixture_t* fx) {
  info_t before = memory_info(fx);
  uint64_t piece = before.free_bytes / 4;
  for (int round = 0; round < 3; ++round) {
    REQUIRE_OK(room_take(fx, piece));
    info_t during = memory_info(fx);
    room_release(fx, 0);
    info_t after = memory_info(fx);
    CHECK(during.free_bytes <= before.free_bytes - piece / 2);
    CHECK(after.free_bytes >= before.free_bytes - piece / 2);
  }
}

static void free_memory_falls_and_comes_back(tbk_fixture_t* fx) {
  check_free_falls(fx);
}

static void free_memory_of_the_second_device_falls_and_comes_back(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_free_falls(fx);
}

static const tbk_case_t cases[] = {
    TBK_CASE("MEM-012", "memory_bytes", TBK_CASE_ALONE, freed_memory_can_be_had_again),
    TBK_CASE("MEM-012", "memory_bytes two_devices", TBK_CASE_ALONE,
             freed_memory_of_the_second_device_can_be_had_again),
    TBK_CASE("MEM-009", "memory_bytes", TBK_CASE_ALONE, an_exhausted_device_says_so_and_recovers),
    TBK_CASE("MEM-009", "memory_bytes two_devices", TBK_CASE_ALONE,
             an_exhausted_second_device_says_so_and_recovers),
    TBK_CASE("ERR-001", "memory_bytes", TBK_CASE_ALONE, an_exhausted_device_still_copies),
    TBK_CASE("MEM-013", NULL, 0, freeing_leaves_other_allocations_alone),
    TBK_CASE("MEM-013", "two_devices", 0,
             freeing_on_the_second_device_leaves_other_allocations_alone),
    TBK_CASE("MEM-013", NULL, 0, freeing_after_an_error_leaves_other_allocations_alone),
    TBK_CASE("MEM-013", NULL, 0, freeing_no_bytes_leaves_other_allocations_alone),
    TBK_CASE("MEM-005", "stream", 0, memory_lives_until_it_is_freed),
    TBK_CASE("MEM-014", NULL, 0, freeing_handle_0_does_nothing),
    TBK_CASE("MEM-014", "two_devices", 0, freeing_handle_0_does_nothing_on_the_second_device),
    TBK_CASE("MEM-017", "memory_info", 0, memory_info_refuses_null_results),
    TBK_CASE("MEM-018", "memory_info", 0, free_memory_is_at_most_the_total),
    TBK_CASE("MEM-018", "memory_info two_devices", 0,
             free_memory_of_the_second_device_is_at_most_the_total),
    TBK_CASE("MEM-018", "memory_info memory_bytes", 0, the_total_is_what_the_properties_say),
    TBK_CASE("MEM-019", "memory_info", 0, free_memory_falls_and_comes_back),
    TBK_CASE("MEM-019", "memory_info two_devices", 0,
             free_memory_of_the_second_device_falls_and_comes_back),
};
TBK_SUITE(memory_free);
