/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory: what memory_alloc gives. What it refuses is in memory_refusal_test.c, what memory_free does
 * and how memory is counted in memory_free_test.c, and moving bytes in copy_test.c.
 */
#include "range.h"

#include <string.h>

/* An answer that no backend gives by chance. */
static const tbk_memory_t sentinel = UINT64_C(0x5a5a5a5a5a5a5a5b);

static void check_handles(tbk_fixture_t* fx) {
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    uint64_t size_bytes = range_size(fx, (size_t)round % range_size_count);
    tbk_memory_t memory = 0;
    if (round % 6 == 0) room_release(fx, 0);
    REQUIRE_OK(fx->core->memory_alloc(fx->self, fx->device, size_bytes, &memory, &fx->error));
    fx_adopt_memory(fx, fx->device, memory);
    CHECK(memory != 0);
  }
}

static void a_handle_is_never_0(tbk_fixture_t* fx) {
  check_handles(fx);
}

static void a_handle_is_never_0_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_handles(fx);
}

static void a_handle_is_not_0_after_an_error(tbk_fixture_t* fx) {
  range_provoke_errors(fx);
  check_handles(fx);
}

static void check_alignment(tbk_fixture_t* fx) {
  for (int round = 0; round < 3 * RANGE_ROUNDS; ++round) {
    uint64_t size_bytes = round % 3 == 0 ? range_size(fx, (size_t)round / 3 % range_size_count)
                                         : 1 + fx_random(fx) % 9000;
    tbk_memory_t memory = 0;
    if (round % 24 == 0) room_release(fx, 0);
    REQUIRE_OK(fx->core->memory_alloc(fx->self, fx->device, size_bytes, &memory, &fx->error));
    fx_adopt_memory(fx, fx->device, memory);
    CHECK_SAID(memory % fx->properties.memory_alignment == 0, "a multiple of memory_alignment",
               "handle %#llx for %llu bytes", (unsigned long long)memory,
               (unsigned long long)size_bytes);
  }
}

static void a_flat_handle_is_aligned(tbk_fixture_t* fx) {
  check_alignment(fx);
}

static void a_flat_handle_is_aligned_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_alignment(fx);
}

static void no_bytes_can_be_allocated_and_freed(tbk_fixture_t* fx) {
  tbk_memory_t memory[RANGE_ROUNDS];
  for (int i = 0; i < RANGE_ROUNDS; ++i) {
    memory[i] = sentinel;
    REQUIRE_OK(fx->core->memory_alloc(fx->self, fx->device, 0, &memory[i], &fx->error));
    REQUIRE(memory[i] != sentinel);
  }
  for (int i = 0; i < RANGE_ROUNDS; ++i)
    CHECK_OK(fx->core->memory_free(fx->self, fx->device, memory[i], &fx->error));
}

static void no_bytes_can_be_allocated_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  no_bytes_can_be_allocated_and_freed(fx);
}

/* Blocks of mixed sizes, all alive at once, each with contents of its own. Some have a size of which
 * another one lives already: an allocator keeps its pieces by size. */
static void check_disjoint(tbk_fixture_t* fx) {
  block_t blocks[30]; /* of the 32 that a device has at the least */
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i)
    block_make(fx, &blocks[i],
               i < range_size_count - 1 ? range_size(fx, i)
               : i % 2 == 0             ? blocks[i - 1 - i % 3].size
                                        : 1 + fx_random(fx) % 8192);
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i)
    BLOCK_CHECK(fx, &blocks[i]);
}

static void live_allocations_share_no_byte(tbk_fixture_t* fx) {
  check_disjoint(fx);
}

static void live_allocations_share_no_byte_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_disjoint(fx);
}

static void live_allocations_share_no_byte_after_an_error(tbk_fixture_t* fx) {
  range_provoke_errors(fx);
  check_disjoint(fx);
}

static void devices_share_no_byte(tbk_fixture_t* fx) {
  block_t first[4];
  block_t second[4];
  int32_t device = fx->device;
  for (size_t i = 0; i < 4; ++i)
    block_make(fx, &first[i], range_size(fx, i));
  fx_use_device(fx, fx_second_device(fx));
  for (size_t i = 0; i < 4; ++i)
    block_make(fx, &second[i], range_size(fx, i));
  for (size_t i = 0; i < 4; ++i)
    BLOCK_CHECK(fx, &second[i]);
  fx_use_device(fx, device);
  for (size_t i = 0; i < 4; ++i)
    BLOCK_CHECK(fx, &first[i]);
}

/* A random sequence of allocations and frees, every second one of one size: whatever is alive keeps its
 * contents. */
static void reused_memory_is_not_shared(tbk_fixture_t* fx) {
  enum { SLOTS = 12, STEPS = 120 };
  block_t slots[SLOTS] = {{0}};
  for (int step = 0; step < STEPS; ++step) {
    block_t* block = &slots[fx_random(fx) % SLOTS];
    if (block->memory != 0) {
      BLOCK_CHECK(fx, block);
      block_drop(fx, block);
    } else {
      block_make(fx, block,
                 step % 2 == 1 ? 2048 : 1 + fx_random(fx) % (step % 10 == 0 ? 70000 : 3000));
    }
  }
  for (int i = 0; i < SLOTS; ++i)
    if (slots[i].memory != 0) BLOCK_CHECK(fx, &slots[i]);
}

static void write_and_read_back(tbk_fixture_t* fx, uint64_t size_bytes, tbk_stream_t* stream) {
  (void)stream;
  block_t block;
  block_make(fx, &block, size_bytes);
  BLOCK_CHECK(fx, &block);
  memset(block.model, 0, block.size); /* other contents, so that each bit was 0 and 1 */
  fx_upload(fx, block.memory, block.model, block.size);
  BLOCK_CHECK(fx, &block);
  block_drop(fx, &block);
}

static void every_byte_can_be_written_and_read(tbk_fixture_t* fx) {
  range_over_sizes(fx, write_and_read_back, NULL);
}

static void every_byte_can_be_used_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  range_over_most_sizes(fx, write_and_read_back, NULL);
}

static void every_byte_can_be_used_after_an_error(tbk_fixture_t* fx) {
  range_provoke_errors(fx);
  range_over_most_sizes(fx, write_and_read_back, NULL);
}

/* The first and the last byte of the largest allocation, at most a quarter of what others leave. */
static void a_large_allocation_has_both_ends(tbk_fixture_t* fx) {
  uint64_t size_bytes = room_share(fx, 4) / fx_round(fx, 1) * fx_round(fx, 1);
  uint64_t step = fx_round(fx, 64);
  tbk_memory_t memory = 0;
  REQUIRE_OK(fx->core->memory_alloc(fx->self, fx->device, size_bytes, &memory, &fx->error));
  fx_adopt_memory(fx, fx->device, memory);
  const uint64_t offsets[] = {0, size_bytes / 2 / step * step, size_bytes - step};
  uint8_t* bytes[3];
  uint8_t* seen = fx_zeros(fx, step);
  for (int i = 0; i < 3; ++i) {
    bytes[i] = fx_bytes(fx, step);
    REQUIRE_OK(fx->core->upload(fx->self, fx->device, memory, offsets[i], bytes[i], step, NULL,
                                &fx->error));
  }
  for (int i = 0; i < 3; ++i) {
    REQUIRE_OK(
        fx->core->download(fx->self, fx->device, seen, memory, offsets[i], step, NULL, &fx->error));
    CHECK_BYTES(bytes[i], seen, step);
  }
}

static void check_every_stream(tbk_fixture_t* fx) {
  tbk_stream_t* streams[4];
  for (int i = 0; i < 4; ++i)
    streams[i] = fx_stream(fx);
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    tbk_stream_t* stream = streams[round % 4];
    uint64_t size_bytes = fx_round(fx, range_size(fx, (size_t)round % 5));
    room_release(fx, 0);
    tbk_memory_t memory = fx_alloc(fx, size_bytes);
    uint8_t* bytes = fx_bytes(fx, size_bytes);
    uint8_t* seen = fx_zeros(fx, size_bytes);
    REQUIRE_OK(
        fx->core->upload(fx->self, fx->device, memory, 0, bytes, size_bytes, stream, &fx->error));
    REQUIRE_OK(
        fx->core->download(fx->self, fx->device, seen, memory, 0, size_bytes, stream, &fx->error));
    fx_synchronize(fx, stream);
    CHECK_BYTES(bytes, seen, size_bytes);
  }
}

static void new_memory_is_usable_at_once_on_every_stream(tbk_fixture_t* fx) {
  check_every_stream(fx);
}

static void new_memory_is_usable_on_every_stream_of_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_every_stream(fx);
}

/* Exactly what the clause promises. Each holds its own bytes, so none is given out twice. */
static void check_many_allocations(tbk_fixture_t* fx) {
  enum { MANY = 32, EACH = 65536 };
  block_t blocks[MANY];
  for (size_t i = 0; i < MANY; ++i)
    block_make(fx, &blocks[i], EACH);
  for (size_t i = 0; i < MANY; ++i)
    BLOCK_CHECK(fx, &blocks[i]);
  for (size_t i = 0; i < MANY; ++i)
    block_drop(fx, &blocks[i]);
}

static void many_allocations_exist_at_a_time(tbk_fixture_t* fx) {
  for (int round = 0; round < 3; ++round)
    check_many_allocations(fx);
}

static void many_allocations_exist_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_many_allocations(fx);
}

/* One place named in all the ways in which a sum can be split, by each call. */
static void a_flat_handle_can_be_added_to(tbk_fixture_t* fx) {
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    uint64_t step = fx_round(fx, 1 + fx_random(fx) % 300);
    uint64_t added = (uint64_t)(round % 3) * step; /* and the rest of two steps as an offset */
    uint64_t rest = 2 * step - added;
    block_t block;
    block_make(fx, &block, 4 * step);
    uint8_t* fresh = fx_bytes(fx, step);
    uint8_t* seen = fx_zeros(fx, step);
    REQUIRE_OK(fx->core->upload(fx->self, fx->device, block.memory + added, rest, fresh, step, NULL,
                                &fx->error));
    memcpy(block.model + 2 * step, fresh, step);
    BLOCK_CHECK(fx, &block);
    REQUIRE_OK(fx->core->download(fx->self, fx->device, seen, block.memory + added, rest, step,
                                  NULL, &fx->error));
    CHECK_BYTES(fresh, seen, step);
    REQUIRE_OK(fx->core->copy(fx->self, fx->device, block.memory + step, 2 * step,
                              block.memory + added, rest, step, NULL, &fx->error));
    memcpy(block.model + 3 * step, fresh, step);
    BLOCK_CHECK(fx, &block);
    if (!TBK_HAS(fx->core, tbk_core_t, fill)) continue;
    REQUIRE_OK(fx->core->fill(fx->self, fx->device, block.memory + added, rest, 0x5a, step, NULL,
                              &fx->error));
    memset(block.model + 2 * step, 0x5a, step);
    BLOCK_CHECK(fx, &block);
  }
}

static void a_host_visible_handle_is_a_pointer(tbk_fixture_t* fx) {
  for (size_t i = 0; i < range_size_count - 1; ++i) {
    block_t block;
    block_make(fx, &block, range_size(fx, i));
    uint8_t* pointer = (uint8_t*)(uintptr_t)block.memory;
    CHECK_BYTES(block.model, pointer, block.size);
    for (uint64_t k = 0; k < block.size; ++k)
      pointer[k] = block.model[k] = (uint8_t)(k * 7 + i);
    BLOCK_CHECK(fx, &block);
    block_drop(fx, &block);
  }
}

static const tbk_case_t cases[] = {
    TBK_CASE("MEM-002", NULL, 0, a_handle_is_never_0),
    TBK_CASE("MEM-002", "two_devices", 0, a_handle_is_never_0_on_the_second_device),
    TBK_CASE("MEM-002", NULL, 0, a_handle_is_not_0_after_an_error),
    TBK_CASE("MEM-003", "flat_address", 0, a_flat_handle_is_aligned),
    TBK_CASE("MEM-003", "flat_address two_devices", 0,
             a_flat_handle_is_aligned_on_the_second_device),
    TBK_CASE("MEM-004", NULL, 0, no_bytes_can_be_allocated_and_freed),
    TBK_CASE("MEM-004", "two_devices", 0, no_bytes_can_be_allocated_on_the_second_device),
    TBK_CASE("MEM-005", NULL, 0, live_allocations_share_no_byte),
    TBK_CASE("MEM-005", "two_devices", 0, live_allocations_share_no_byte_on_the_second_device),
    TBK_CASE("MEM-005", NULL, 0, live_allocations_share_no_byte_after_an_error),
    TBK_CASE("MEM-005", "two_devices", 0, devices_share_no_byte),
    TBK_CASE("MEM-005", NULL, 0, reused_memory_is_not_shared),
    TBK_CASE("MEM-006", NULL, 0, every_byte_can_be_written_and_read),
    TBK_CASE("MEM-006", "two_devices", 0, every_byte_can_be_used_on_the_second_device),
    TBK_CASE("MEM-006", NULL, 0, every_byte_can_be_used_after_an_error),
    TBK_CASE("MEM-006", "memory_bytes", 0, a_large_allocation_has_both_ends),
    TBK_CASE("MEM-007", "stream", 0, new_memory_is_usable_at_once_on_every_stream),
    TBK_CASE("MEM-007", "stream two_devices", 0,
             new_memory_is_usable_on_every_stream_of_the_second_device),
    TBK_CASE("MEM-023", NULL, 0, many_allocations_exist_at_a_time),
    TBK_CASE("MEM-023", "two_devices", 0, many_allocations_exist_on_the_second_device),
    TBK_CASE("MEM-021", "flat_address", 0, a_flat_handle_can_be_added_to),
    TBK_CASE("MEM-022", "host_visible", 0, a_host_visible_handle_is_a_pointer),
};
TBK_SUITE(memory);
