/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "range.h"

#include <string.h>

/* Odd, a page, just over 64 KiB, and two that a driver treats as large. */
const uint64_t range_sizes[] = {1, 3, 255, 4096, 65537, 1048576, 4 * 1048576 + 65};
const size_t range_size_count = sizeof range_sizes / sizeof *range_sizes;

static void check_handle(const block_t* block) {
  TBK_CHECKS("MEM-002");
  REQUIRE(block->memory != 0 || block->size == 0);
}

void block_make(tbk_fixture_t* fx, block_t* block, uint64_t size_bytes) {
  block->size = fx_round(fx, size_bytes);
  block->model = fx_bytes(fx, block->size);
  block->memory = 0;
  REQUIRE_OK(fx->core->memory_alloc(fx->self, fx->device, block->size, &block->memory, &fx->error));
  check_handle(block);
  fx_adopt_memory(fx, fx->device, block->memory);
  fx_upload(fx, block->memory, block->model, block->size);
}

bool block_check(tbk_fixture_t* fx, const block_t* block, tbk_here_t here) {
  return fx_check_memory(fx, block->model, block->memory, block->size, here);
}

void block_drop(tbk_fixture_t* fx, block_t* block) {
  fx_disown_memory(fx, block->memory);
  CHECK_OK(fx->core->memory_free(fx->self, fx->device, block->memory, &fx->error));
  block->memory = 0;
}

void range_make(tbk_fixture_t* fx, range_t* range, uint64_t size_bytes) {
  uint64_t step = fx_round(fx, 1);
  range->offset = 3 * step;
  range->size = fx_round(fx, size_bytes);
  block_make(fx, &range->block, range->offset + range->size + 5 * step + 64);
}

/* What one class leaves is given back before the next, so that little is held at a time. */
static void over_size(tbk_fixture_t* fx, range_fn function, uint64_t size, tbk_stream_t* stream) {
  size_t mark = room_mark(fx);
  function(fx, size, stream);
  room_release(fx, mark);
}

void range_over_most_sizes(tbk_fixture_t* fx, range_fn function, tbk_stream_t* stream) {
  for (size_t i = 0; i < range_size_count - 1; ++i)
    if (room_fits(fx, range_sizes[i])) over_size(fx, function, range_sizes[i], stream);
  for (int round = 0; round < RANGE_ROUNDS; ++round)
    over_size(fx, function, 1 + fx_random(fx) % 2048, stream);
}

void range_over_sizes(tbk_fixture_t* fx, range_fn function, tbk_stream_t* stream) {
  uint64_t largest = range_sizes[range_size_count - 1];
  if (room_fits(fx, largest)) over_size(fx, function, largest, stream);
  range_over_most_sizes(fx, function, stream);
}

uint64_t range_size_of(tbk_fixture_t* fx, size_t index, size_t classes) {
  bool fits = index < classes && room_fits(fx, range_sizes[index]);
  return fits ? range_sizes[index] : 1 + fx_random(fx) % 2048;
}

uint64_t range_size(tbk_fixture_t* fx, size_t index) {
  return range_size_of(fx, index, range_size_count);
}

uint64_t range_of_round(tbk_fixture_t* fx, int round) {
  const size_t classes = range_size_count - 1, place = (size_t)round;
  return range_size_of(fx, place < 2 * classes ? place % classes : classes, classes);
}

void range_settle(tbk_fixture_t* fx, tbk_stream_t* stream) {
  if (stream != NULL) fx_synchronize(fx, stream);
}

void range_provoke_errors(tbk_fixture_t* fx) {
  static const char* const clauses[] = {"MEM-009", "MEM-001", "DEV-021"};
  tbk_memory_t memory = 0;
  for (int i = 0; i < 3; ++i) {
    TBK_CHECKS(clauses[i]);
    tbk_status_t status = fx->core->memory_alloc(fx->self, i == 2 ? fx->device_count : fx->device,
                                                 i == 0 ? UINT64_C(1) << 62 : 64,
                                                 i == 1 ? NULL : &memory, &fx->error);
    CHECK(status != TBK_OK);
  }
}
