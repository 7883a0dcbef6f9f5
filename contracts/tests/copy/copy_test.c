/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies and fills: which bytes arrive, and that no other byte changes. In which order they do is
 * in copy_order_test.c, what is refused in copy_refusal_test.c.
 */
#include "look.h"
#include "range.h"

#include <string.h>

/* ----------------------------------------------------------------------------------- upload -- */

static void upload_range(tbk_fixture_t* fx, uint64_t size_bytes, tbk_stream_t* stream) {
  range_t range;
  range_make(fx, &range, size_bytes);
  uint8_t* source = fx_bytes(fx, range.size);
  uint8_t* kept = fx_zeros(fx, range.size);
  memcpy(kept, source, range.size);
  REQUIRE_OK(fx->core->upload(fx->self, fx->device, range.block.memory, range.offset, source,
                              range.size, stream, &fx->error));
  range_settle(fx, stream);
  memcpy(range.block.model + range.offset, kept, range.size);
  BLOCK_CHECK(fx, &range.block);
  CHECK_BYTES(kept, source, range.size);
  block_drop(fx, &range.block);
}

static void an_upload_writes_its_range_only(tbk_fixture_t* fx) {
  range_over_sizes(fx, upload_range, NULL);
}

static void an_upload_on_a_stream_writes_its_range_only(tbk_fixture_t* fx) {
  range_over_most_sizes(fx, upload_range, fx_stream(fx));
}

static void an_upload_to_the_second_device_writes_its_range_only(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  range_over_most_sizes(fx, upload_range, NULL);
}

static void an_upload_after_an_error_writes_its_range_only(tbk_fixture_t* fx) {
  range_provoke_errors(fx);
  range_over_most_sizes(fx, upload_range, NULL);
}

/* --------------------------------------------------------------------------------- download -- */

static void download_range(tbk_fixture_t* fx, uint64_t size_bytes, tbk_stream_t* stream) {
  enum { MARGIN = 64 };
  range_t range;
  range_make(fx, &range, size_bytes);
  uint8_t* expected = fx_bytes(fx, range.size + 2 * MARGIN);
  uint8_t* seen = fx_zeros(fx, range.size + 2 * MARGIN);
  memcpy(seen, expected, range.size + 2 * MARGIN);
  memcpy(expected + MARGIN, range.block.model + range.offset, range.size);
  REQUIRE_OK(fx->core->download(fx->self, fx->device, seen + MARGIN, range.block.memory,
                                range.offset, range.size, stream, &fx->error));
  range_settle(fx, stream);
  const block_t* block = &range.block;
  const bool is_right = memcmp(expected, seen, range.size + 2 * MARGIN) == 0;
  TBK_CHECKS(is_right ? "CPY-004" /* what is left is as it was uploaded */
                      : look_again(fx, block->model, block->memory, block->size));
  CHECK_BYTES(expected, seen, range.size + 2 * MARGIN);
  BLOCK_CHECK(fx, block);
  block_drop(fx, &range.block);
}

static void a_download_writes_its_destination_only(tbk_fixture_t* fx) {
  range_over_sizes(fx, download_range, NULL);
}

static void a_download_on_a_stream_writes_its_destination_only(tbk_fixture_t* fx) {
  range_over_most_sizes(fx, download_range, fx_stream(fx));
}

static void a_download_from_the_second_device_writes_its_destination_only(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  range_over_most_sizes(fx, download_range, NULL);
}

static void a_download_after_an_error_writes_its_destination_only(tbk_fixture_t* fx) {
  range_provoke_errors(fx);
  range_over_most_sizes(fx, download_range, NULL);
}

/* ------------------------------------------------------------------------------------- copy -- */

static void copy_range(tbk_fixture_t* fx, uint64_t size_bytes, tbk_stream_t* stream) {
  range_t from;
  range_t to;
  range_make(fx, &from, size_bytes);
  range_make(fx, &to, size_bytes);
  REQUIRE_OK(fx->core->copy(fx->self, fx->device, to.block.memory, to.offset, from.block.memory,
                            from.offset, from.size, stream, &fx->error));
  range_settle(fx, stream);
  memcpy(to.block.model + to.offset, from.block.model + from.offset, from.size);
  BLOCK_CHECK(fx, &to.block);
  BLOCK_CHECK(fx, &from.block);
  block_drop(fx, &from.block);
  block_drop(fx, &to.block);
}

static void a_copy_writes_its_destination_only(tbk_fixture_t* fx) {
  range_over_sizes(fx, copy_range, NULL);
}

static void a_copy_on_a_stream_writes_its_destination_only(tbk_fixture_t* fx) {
  range_over_most_sizes(fx, copy_range, fx_stream(fx));
}

static void a_copy_on_the_second_device_writes_its_destination_only(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  range_over_most_sizes(fx, copy_range, NULL);
}

static void a_copy_after_an_error_writes_its_destination_only(tbk_fixture_t* fx) {
  range_provoke_errors(fx);
  range_over_most_sizes(fx, copy_range, NULL);
}

/* Offsets of source and destination that differ in their alignment. */
static void a_copy_may_shift_the_bytes(tbk_fixture_t* fx) {
  uint64_t step = fx_round(fx, 1);
  uint64_t size = 300 * step;
  block_t from;
  block_t to;
  block_make(fx, &from, 400 * step);
  block_make(fx, &to, 400 * step);
  for (uint64_t round = 0; round < RANGE_ROUNDS; ++round) {
    uint64_t source = fx_random(fx) % 17 * step;
    uint64_t destination = fx_random(fx) % 17 * step;
    REQUIRE_OK(fx->core->copy(fx->self, fx->device, to.memory, destination, from.memory, source,
                              size - round * step, NULL, &fx->error));
    memcpy(to.model + destination, from.model + source, size - round * step);
    BLOCK_CHECK(fx, &to);
  }
  BLOCK_CHECK(fx, &from);
}

/* Forwards and backwards inside one allocation, ranges side by side. */
static void copy_inside(tbk_fixture_t* fx, uint64_t size_bytes, tbk_stream_t* stream) {
  uint64_t size = fx_round(fx, size_bytes);
  block_t block;
  block_make(fx, &block, 3 * size);
  const uint64_t moves[][2] = {{0, size}, {2 * size, size}, {size, 0}};
  for (size_t i = 0; i < 3; ++i) {
    uint64_t to = moves[i][0];
    uint64_t from = moves[i][1];
    REQUIRE_OK(fx->core->copy(fx->self, fx->device, block.memory, to, block.memory, from, size,
                              stream, &fx->error));
    range_settle(fx, stream);
    memcpy(block.model + to, block.model + from, size);
    BLOCK_CHECK(fx, &block);
    memset(block.model + from, (int)i + 1, size); /* else the next move would copy what is there */
    fx_upload(fx, block.memory, block.model, block.size);
  }
  block_drop(fx, &block);
}

static void a_copy_may_stay_inside_an_allocation(tbk_fixture_t* fx) {
  for (size_t i = 0; i < range_size_count - 1; ++i)
    copy_inside(fx, range_size(fx, i), NULL);
  for (int i = 0; i < RANGE_ROUNDS; ++i)
    copy_inside(fx, 1 + fx_random(fx) % 900, NULL);
}

static void a_copy_on_a_stream_may_stay_inside_an_allocation(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (int i = 0; i < RANGE_ROUNDS; ++i)
    copy_inside(fx, 1 + fx_random(fx) % 900, stream);
}

static void a_copy_may_stay_inside_an_allocation_of_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  for (int i = 0; i < RANGE_ROUNDS; ++i)
    copy_inside(fx, 1 + fx_random(fx) % 900, NULL);
}

/* ------------------------------------------------------------------------------------- fill -- */

static void fill_range(tbk_fixture_t* fx, uint64_t size_bytes, tbk_stream_t* stream) {
  static const uint8_t values[] = {0x00, 0xff, 0x01, 0x80, 0x7f, 0xa5};
  uint8_t value = values[fx_random(fx) % sizeof values];
  range_t range;
  range_make(fx, &range, size_bytes);
  REQUIRE_OK(fx->core->fill(fx->self, fx->device, range.block.memory, range.offset, value,
                            range.size, stream, &fx->error));
  range_settle(fx, stream);
  memset(range.block.model + range.offset, value, range.size);
  BLOCK_CHECK(fx, &range.block);
  block_drop(fx, &range.block);
}

static void a_fill_writes_its_range_only(tbk_fixture_t* fx) {
  range_over_sizes(fx, fill_range, NULL);
}

static void a_fill_on_a_stream_writes_its_range_only(tbk_fixture_t* fx) {
  range_over_most_sizes(fx, fill_range, fx_stream(fx));
}

static void a_fill_on_the_second_device_writes_its_range_only(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  range_over_most_sizes(fx, fill_range, NULL);
}

static void a_fill_after_an_error_writes_its_range_only(tbk_fixture_t* fx) {
  range_provoke_errors(fx);
  range_over_most_sizes(fx, fill_range, NULL);
}

static void a_fill_takes_every_value(tbk_fixture_t* fx) {
  block_t block;
  block_make(fx, &block, 64);
  for (int value = 0; value < 256; ++value) {
    REQUIRE_OK(fx->core->fill(fx->self, fx->device, block.memory, 0, (uint8_t)value, block.size,
                              NULL, &fx->error));
    memset(block.model, value, block.size);
    BLOCK_CHECK(fx, &block);
  }
}

/* --------------------------------------------------------------------------------- no bytes -- */

/* `call` makes a call of no bytes; `memory` is a live handle or 0, `host` a buffer or NULL. */
typedef tbk_status_t (*empty_fn)(tbk_fixture_t* fx, tbk_memory_t memory, void* host,
                                 tbk_stream_t* stream);

static tbk_status_t empty_upload(tbk_fixture_t* fx, tbk_memory_t memory, void* host,
                                 tbk_stream_t* stream) {
  return fx->core->upload(fx->self, fx->device, memory, 0, host, 0, stream, &fx->error);
}

static tbk_status_t empty_download(tbk_fixture_t* fx, tbk_memory_t memory, void* host,
                                   tbk_stream_t* stream) {
  return fx->core->download(fx->self, fx->device, host, memory, 0, 0, stream, &fx->error);
}

static tbk_status_t empty_copy(tbk_fixture_t* fx, tbk_memory_t memory, void* host,
                               tbk_stream_t* stream) {
  tbk_memory_t other = host == NULL ? 0 : memory;
  return fx->core->copy(fx->self, fx->device, memory, 0, other, 0, 0, stream, &fx->error);
}

static tbk_status_t empty_fill(tbk_fixture_t* fx, tbk_memory_t memory, void* host,
                               tbk_stream_t* stream) {
  (void)host;
  return fx->core->fill(fx->self, fx->device, memory, 0, 0xa5, 0, stream, &fx->error);
}

static void check_empty(tbk_fixture_t* fx, empty_fn call, tbk_stream_t* stream) {
  block_t block;
  block_make(fx, &block, 64);
  uint8_t host[16] = {1, 2, 3};
  const uint8_t kept[16] = {1, 2, 3};
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    CHECK_OK(call(fx, block.memory, host, stream));
    CHECK_OK(call(fx, block.memory, NULL, stream));
    CHECK_OK(call(fx, 0, host, stream));
    CHECK_OK(call(fx, 0, NULL, stream));
  }
  range_settle(fx, stream);
  CHECK_BYTES(kept, host, sizeof host);
  BLOCK_CHECK(fx, &block);
}

static void an_upload_of_no_bytes_does_nothing(tbk_fixture_t* fx) {
  check_empty(fx, empty_upload, NULL);
}

static void an_upload_of_no_bytes_on_a_stream_does_nothing(tbk_fixture_t* fx) {
  check_empty(fx, empty_upload, fx_stream(fx));
}

static void a_download_of_no_bytes_does_nothing(tbk_fixture_t* fx) {
  check_empty(fx, empty_download, NULL);
}

static void a_download_of_no_bytes_on_a_stream_does_nothing(tbk_fixture_t* fx) {
  check_empty(fx, empty_download, fx_stream(fx));
}

static void a_copy_of_no_bytes_does_nothing(tbk_fixture_t* fx) {
  check_empty(fx, empty_copy, NULL);
}

static void a_copy_of_no_bytes_on_a_stream_does_nothing(tbk_fixture_t* fx) {
  check_empty(fx, empty_copy, fx_stream(fx));
}

static void a_fill_of_no_bytes_does_nothing(tbk_fixture_t* fx) {
  check_empty(fx, empty_fill, NULL);
}

static void a_fill_of_no_bytes_on_a_stream_does_nothing(tbk_fixture_t* fx) {
  check_empty(fx, empty_fill, fx_stream(fx));
}

static const tbk_case_t cases[] = {
    TBK_CASE("CPY-004", NULL, 0, an_upload_writes_its_range_only),
    TBK_CASE("CPY-004", "stream", 0, an_upload_on_a_stream_writes_its_range_only),
    TBK_CASE("CPY-004", "two_devices", 0, an_upload_to_the_second_device_writes_its_range_only),
    TBK_CASE("CPY-004", NULL, 0, an_upload_after_an_error_writes_its_range_only),
    TBK_CASE("CPY-009", NULL, 0, a_download_writes_its_destination_only),
    TBK_CASE("CPY-009", "stream", 0, a_download_on_a_stream_writes_its_destination_only),
    TBK_CASE("CPY-009", "two_devices", 0,
             a_download_from_the_second_device_writes_its_destination_only),
    TBK_CASE("CPY-009", NULL, 0, a_download_after_an_error_writes_its_destination_only),
    TBK_CASE("CPY-015", NULL, 0, a_copy_writes_its_destination_only),
    TBK_CASE("CPY-015", "stream", 0, a_copy_on_a_stream_writes_its_destination_only),
    TBK_CASE("CPY-015", "two_devices", 0, a_copy_on_the_second_device_writes_its_destination_only),
    TBK_CASE("CPY-015", NULL, 0, a_copy_after_an_error_writes_its_destination_only),
    TBK_CASE("CPY-015", NULL, 0, a_copy_may_shift_the_bytes),
    TBK_CASE("CPY-016", NULL, 0, a_copy_may_stay_inside_an_allocation),
    TBK_CASE("CPY-016", "stream", 0, a_copy_on_a_stream_may_stay_inside_an_allocation),
    TBK_CASE("CPY-016", "two_devices", 0,
             a_copy_may_stay_inside_an_allocation_of_the_second_device),
    TBK_CASE("CPY-018", "fill", 0, a_fill_writes_its_range_only),
    TBK_CASE("CPY-018", "fill stream", 0, a_fill_on_a_stream_writes_its_range_only),
    TBK_CASE("CPY-018", "fill two_devices", 0, a_fill_on_the_second_device_writes_its_range_only),
    TBK_CASE("CPY-018", "fill", 0, a_fill_after_an_error_writes_its_range_only),
    TBK_CASE("CPY-018", "fill", 0, a_fill_takes_every_value),
    TBK_CASE("CPY-005", NULL, 0, an_upload_of_no_bytes_does_nothing),
    TBK_CASE("CPY-005", "stream", 0, an_upload_of_no_bytes_on_a_stream_does_nothing),
    TBK_CASE("CPY-010", NULL, 0, a_download_of_no_bytes_does_nothing),
    TBK_CASE("CPY-010", "stream", 0, a_download_of_no_bytes_on_a_stream_does_nothing),
    TBK_CASE("CPY-017", NULL, 0, a_copy_of_no_bytes_does_nothing),
    TBK_CASE("CPY-017", "stream", 0, a_copy_of_no_bytes_on_a_stream_does_nothing),
    TBK_CASE("CPY-019", "fill", 0, a_fill_of_no_bytes_does_nothing),
    TBK_CASE("CPY-019", "fill stream", 0, a_fill_of_no_bytes_on_a_stream_does_nothing),
};
TBK_SUITE(copy);
