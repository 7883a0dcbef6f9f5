/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Pinned host memory.
 */
#include "behind.h"
#include "range.h"
#include "room.h"

#include <string.h>
#include <sys/resource.h>

/* Pinned memory that is given back with pinned_free by whoever asked for it. */
static uint8_t* pin(tbk_fixture_t* fx, uint64_t size_bytes) {
  void* pointer = NULL;
  REQUIRE_OK(fx->pinned->pinned_alloc(fx->self, fx->device, size_bytes, &pointer, &fx->error));
  REQUIRE(pointer != NULL);
  return pointer;
}

static void unpin(tbk_fixture_t* fx, void* pointer) {
  fx->pinned->pinned_free(fx->self, pointer);
}

static void pinned_alloc_refuses_a_null_result(tbk_fixture_t* fx) {
  for (size_t i = 0; i < range_size_count; ++i)
    CHECK_STATUS(TBK_INVALID,
                 fx->pinned->pinned_alloc(fx->self, fx->device, range_sizes[i], NULL, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->pinned->pinned_alloc(fx->self, fx->device, 0, NULL, &fx->error));
}

static void pinned_alloc_needs_an_open_device(tbk_fixture_t* fx) {
  int32_t count = 0;
  REQUIRE_OK(fx->core->device_count(fx->self, &count, &fx->error));
  const int32_t devices[] = {0, count, -1, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i) {
    void* pointer = &pointer;
    CHECK_STATUS(TBK_INVALID_STATE,
                 fx->pinned->pinned_alloc(fx->self, devices[i], 64, &pointer, &fx->error));
    CHECK_KEPT("pinned_alloc", pointer == &pointer);
  }
}

/* Before anything is written: what is given out twice would be given back twice. */
static void require_apart(const uint8_t* block, uint64_t size, const uint8_t* other,
                          uint64_t other_size) {
  TBK_CHECKS("PIN-002");
  REQUIRE(CHECK_SAID(block + size <= other || other + other_size <= block, "memory of its own",
                     "%llu bytes at %p, of which %p holds %llu", (unsigned long long)size,
                     (const void*)block, (const void*)other, (unsigned long long)other_size));
}

/* Blocks of mixed sizes, all alive at once, each with contents of its own: of so many classes, then small ones. */
static void check_every_byte(tbk_fixture_t* fx, size_t classes) {
  enum { BLOCKS = RANGE_ROUNDS };
  uint8_t* blocks[BLOCKS];
  uint8_t* expected[BLOCKS];
  uint64_t sizes[BLOCKS];
  for (size_t i = 0; i < BLOCKS; ++i) {
    sizes[i] = range_size_of(fx, i, classes);
    expected[i] = fx_bytes(fx, sizes[i]);
    blocks[i] = pin(fx, sizes[i]);
    for (size_t k = 0; k < i; ++k)
      require_apart(blocks[i], sizes[i], blocks[k], sizes[k]);
    memcpy(blocks[i], expected[i], sizes[i]);
  }
  for (size_t i = 0; i < BLOCKS; ++i)
    CHECK_BYTES(expected[i], blocks[i], sizes[i]);
  for (size_t i = 0; i < BLOCKS; i += 2)
    unpin(fx, blocks[i]);
  for (size_t i = 1; i < BLOCKS; i += 2)
    CHECK_BYTES(expected[i], blocks[i], sizes[i]);
  for (size_t i = 1; i < BLOCKS; i += 2)
    unpin(fx, blocks[i]);
}

static void every_pinned_byte_belongs_to_the_host(tbk_fixture_t* fx) {
  check_every_byte(fx, range_size_count);
}

static void every_pinned_byte_of_the_second_device_belongs_to_the_host(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_every_byte(fx, range_size_count - 1);
}

static void every_pinned_byte_belongs_to_the_host_after_an_error(tbk_fixture_t* fx) {
  range_provoke_errors(fx);
  check_every_byte(fx, range_size_count - 1);
}

static void pinned_and_device_memory_share_no_byte(tbk_fixture_t* fx) {
  block_t block;
  uint8_t* pinned = pin(fx, 65536);
  block_make(fx, &block, 65536);
  uint8_t* expected = fx_bytes(fx, 65536);
  memcpy(pinned, expected, 65536);
  BLOCK_CHECK(fx, &block);
  memset(block.model, 0x11, block.size);
  fx_upload(fx, block.memory, block.model, block.size);
  CHECK_BYTES(expected, pinned, 65536);
  unpin(fx, pinned);
}

static void pinned_memory_is_aligned(tbk_fixture_t* fx) {
  void* kept[ROOM_PINNED_BLOCKS];
  for (int i = 0; i < ROOM_PINNED_BLOCKS; ++i) {
    uint64_t size = range_size(fx, (size_t)i);
    kept[i] = pin(fx, size);
    CHECK_SAID((uintptr_t)kept[i] % 64 == 0, "a multiple of 64", "%p for %llu bytes", kept[i],
               (unsigned long long)size);
  }
  for (int i = 0; i < ROOM_PINNED_BLOCKS; ++i)
    unpin(fx, kept[i]);
}

static void no_pinned_bytes_can_be_had_and_freed(tbk_fixture_t* fx) {
  void* pointers[RANGE_ROUNDS];
  uint8_t* bystander = pin(fx, 4096);
  memset(bystander, 0x77, 4096);
  for (int i = 0; i < RANGE_ROUNDS; ++i) {
    pointers[i] = &pointers[i];
    REQUIRE_OK(fx->pinned->pinned_alloc(fx->self, fx->device, 0, &pointers[i], &fx->error));
    REQUIRE(pointers[i] != &pointers[i]);
    CHECK((uintptr_t)pointers[i] % 64 == 0);
  }
  for (int i = 0; i < RANGE_ROUNDS; ++i)
    unpin(fx, pointers[i]);
  unpin(fx, NULL);
  for (int i = 0; i < 4096; ++i)
    CHECK(bystander[i] == 0x77);
  unpin(fx, bystander);
}

/* As many as a host may rely on; then as much in one. */
static void sixty_four_pinned_blocks_of_16_mib_exist_at_a_time(tbk_fixture_t* fx) {
  const uint64_t size = ROOM_PINNED_BYTES / ROOM_PINNED_BLOCKS;
  uint8_t* blocks[ROOM_PINNED_BLOCKS];
  for (int i = 0; i < ROOM_PINNED_BLOCKS; ++i) {
    blocks[i] = pin(fx, size);
    memset(blocks[i], i, size);
  }
  for (int i = 0; i < ROOM_PINNED_BLOCKS; ++i) {
    CHECK(blocks[i][0] == i && blocks[i][size - 1] == i);
    unpin(fx, blocks[i]);
  }
  unpin(fx, pin(fx, ROOM_PINNED_BYTES));
}

/* There and back through pinned memory made on another device. */
static void check_copies(tbk_fixture_t* fx, uint8_t* pinned, tbk_stream_t* stream) {
  for (size_t i = 0; i < range_size_count - 1; ++i) {
    size_t mark = room_mark(fx);
    uint64_t size = fx_round(fx, range_size(fx, i));
    uint8_t* expected = fx_bytes(fx, size);
    tbk_memory_t memory = fx_alloc(fx, size);
    memcpy(pinned, expected, size);
    REQUIRE_OK(fx->core->upload(fx->self, fx->device, memory, 0, pinned, size, stream, &fx->error));
    range_settle(fx, stream);
    memset(pinned, 0x99, size + 1);
    REQUIRE_OK(
        fx->core->download(fx->self, fx->device, pinned, memory, 0, size, stream, &fx->error));
    range_settle(fx, stream);
    CHECK_BYTES(expected, pinned, size);
    CHECK_EQUAL(0x99, pinned[size]);
    room_release(fx, mark);
  }
}

static void copies_use_pinned_memory(tbk_fixture_t* fx) {
  uint8_t* pinned = pin(fx, 1048576 + 8192);
  check_copies(fx, pinned, NULL);
  unpin(fx, pinned);
}

static void copies_on_a_stream_use_pinned_memory(tbk_fixture_t* fx) {
  uint8_t* pinned = pin(fx, 1048576 + 8192);
  check_copies(fx, pinned, fx_stream(fx));
  unpin(fx, pinned);
}

static void copies_of_every_device_use_pinned_memory(tbk_fixture_t* fx) {
  uint8_t* of_first = pin(fx, 1048576 + 8192);
  int32_t first = fx->device;
  fx_use_device(fx, fx_second_device(fx));
  uint8_t* of_second = pin(fx, 1048576 + 8192);
  check_copies(fx, of_first, NULL);
  check_copies(fx, of_second, NULL);
  fx_use_device(fx, first);
  check_copies(fx, of_second, NULL);
  unpin(fx, of_first);
  unpin(fx, of_second);
}

static void streams_of_every_device_use_pinned_memory(tbk_fixture_t* fx) {
  uint8_t* of_first = pin(fx, 1048576 + 8192);
  fx_use_device(fx, fx_second_device(fx));
  check_copies(fx, of_first, fx_stream(fx));
  unpin(fx, of_first);
}

static const uint64_t absurd_sizes[] = {UINT64_MAX,        UINT64_MAX - 1,    UINT64_MAX - 62,
                                        UINT64_MAX - 63,   UINT64_MAX - 64,   UINT64_MAX - 4095,
                                        UINT64_C(1) << 63, UINT64_C(1) << 62, INT64_MAX};

static void more_than_the_host_has_is_out_of_memory(tbk_fixture_t* fx) {
  for (size_t i = 0; i < sizeof absurd_sizes / sizeof *absurd_sizes; ++i) {
    void* pointer = &pointer;
    CHECK_STATUS(TBK_OUT_OF_MEMORY, fx->pinned->pinned_alloc(fx->self, fx->device, absurd_sizes[i],
                                                             &pointer, &fx->error));
  }
}

static void a_failed_pinned_alloc_leaves_the_result_alone(tbk_fixture_t* fx) {
  for (size_t i = 0; i < sizeof absurd_sizes / sizeof *absurd_sizes; ++i) {
    void* pointer = &pointer;
    tbk_status_t status =
        fx->pinned->pinned_alloc(fx->self, fx->device, absurd_sizes[i], &pointer, &fx->error);
    FX_CHECK_EXHAUSTED("PIN-007", status, &fx->error);
    CHECK_KEPT("pinned_alloc", pointer == &pointer);
  }
  check_every_byte(fx, range_size_count - 1);
}

/* Four times the address space that is left: only with what was freed can that go well. */
static void freed_pinned_memory_can_be_had_again(tbk_fixture_t* fx) {
  const uint64_t room = UINT64_C(1) << 30;
  const uint64_t size = room_pinned(fx, UINT64_C(64) << 20) - 1;
  unpin(fx, pin(fx, size)); /* whatever a driver sets up for its first pinned memory */
  const struct rlimit limit = room_narrow_host(fx, room);
  for (uint64_t turn = 0; turn < 4 * room / size; ++turn) {
    void* pointer = NULL;
    tbk_status_t status =
        fx->pinned->pinned_alloc(fx->self, fx->device, size, &pointer, &fx->error);
    if (!CHECK_OK(status)) break;
    unpin(fx, pointer);
  }
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* A transfer from pinned memory reads it in the order of its stream, not at the call. */
typedef struct staged {
  tbk_stream_t* stream;
  tbk_memory_t memory;
  uint8_t* pinned;
  uint64_t size;
} staged_t;

static void upload_then_download(tbk_fixture_t* fx, void* argument) {
  staged_t* staged = argument;
  uint8_t* back = staged->pinned + staged->size;
  CHECK_OK(fx->core->upload(fx->self, fx->device, staged->memory, 0, staged->pinned, staged->size,
                            staged->stream, &fx->error));
  CHECK_OK(fx->core->download(fx->self, fx->device, back, staged->memory, 0, staged->size,
                              staged->stream, &fx->error));
}

static bool download_early(tbk_fixture_t* fx, void* argument, tbk_stream_t* other) {
  staged_t* staged = argument;
  uint8_t* back = staged->pinned + staged->size;
  CHECK_OK(fx->core->download(fx->self, fx->device, back, staged->memory, 0, staged->size, other,
                              &fx->error));
  behind_settle(fx, other);
  return memcmp(back, staged->pinned, staged->size) != 0;
}

static void transfers_of_pinned_memory_keep_the_order_of_a_stream(tbk_fixture_t* fx) {
  staged_t staged = {.stream = fx_stream(fx), .size = 65536};
  uint8_t* old = fx_bytes(fx, staged.size);
  uint8_t* fresh = fx_bytes(fx, staged.size);
  staged.memory = fx_alloc_with(fx, old, staged.size);
  staged.pinned = pin(fx, 2 * staged.size);
  memcpy(staged.pinned, fresh, staged.size);
  behind_gate(fx, staged.stream, upload_then_download, &staged);
  CHECK_BYTES(fresh, staged.pinned + staged.size, staged.size);
  FX_CHECK_MEMORY(fx, fresh, staged.memory, staged.size);
  fx_upload(fx, staged.memory, old, staged.size);
  behind_control(fx, staged.stream, download_early, &staged);
  unpin(fx, staged.pinned);
}

static const tbk_case_t cases[] = {
    TBK_CASE("PIN-001", "pinned", 0, pinned_alloc_refuses_a_null_result),
    TBK_CASE("DEV-021", "pinned", TBK_CASE_CLOSED, pinned_alloc_needs_an_open_device),
    TBK_CASE("PIN-002", "pinned", 0, every_pinned_byte_belongs_to_the_host),
    TBK_CASE("PIN-002", "pinned two_devices", 0,
             every_pinned_byte_of_the_second_device_belongs_to_the_host),
    TBK_CASE("PIN-002", "pinned", 0, every_pinned_byte_belongs_to_the_host_after_an_error),
    TBK_CASE("PIN-002", "pinned", 0, pinned_and_device_memory_share_no_byte),
    TBK_CASE("PIN-003", "pinned", 0, pinned_memory_is_aligned),
    TBK_CASE("PIN-003", "pinned", 0, no_pinned_bytes_can_be_had_and_freed),
    TBK_CASE("PIN-004", "pinned", 0, copies_use_pinned_memory),
    TBK_CASE("PIN-004", "pinned stream", 0, copies_on_a_stream_use_pinned_memory),
    TBK_CASE("PIN-004", "pinned two_devices", 0, copies_of_every_device_use_pinned_memory),
    TBK_CASE("PIN-004", "pinned stream two_devices", 0, streams_of_every_device_use_pinned_memory),
    TBK_CASE("PIN-011", "pinned", 0, sixty_four_pinned_blocks_of_16_mib_exist_at_a_time),
    TBK_CASE("PIN-007", "pinned", 0, more_than_the_host_has_is_out_of_memory),
    TBK_CASE("ERR-001", "pinned", 0, a_failed_pinned_alloc_leaves_the_result_alone),
    TBK_CASE("PIN-009", "pinned", 0, freed_pinned_memory_can_be_had_again),
    TBK_CASE("STR-001", "pinned stream", 0, transfers_of_pinned_memory_keep_the_order_of_a_stream),
};
TBK_SUITE(pinned);
