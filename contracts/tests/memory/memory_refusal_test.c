/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory: what memory_alloc refuses, and that a refusal changes nothing and says why.
 */
#include "range.h"

#include <string.h>

/* An answer that no backend gives by chance. */
static const tbk_memory_t sentinel = UINT64_C(0x5a5a5a5a5a5a5a5b);

static void alloc_refuses_a_null_result(tbk_fixture_t* fx) {
  for (size_t i = 0; i < range_size_count; ++i)
    CHECK_STATUS(TBK_INVALID,
                 fx->core->memory_alloc(fx->self, fx->device, range_sizes[i], NULL, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->core->memory_alloc(fx->self, fx->device, 0, NULL, &fx->error));
}

static void alloc_needs_an_open_device(tbk_fixture_t* fx) {
  int32_t count = 0;
  REQUIRE_OK(fx->core->device_count(fx->self, &count, &fx->error));
  const int32_t devices[] = {0, count, -1, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i) {
    tbk_memory_t memory = sentinel;
    CHECK_STATUS(TBK_INVALID_STATE,
                 fx->core->memory_alloc(fx->self, devices[i], 64, &memory, &fx->error));
    CHECK_KEPT("memory_alloc", memory == sentinel);
  }
}

static void memory_calls_need_the_device_open_again(tbk_fixture_t* fx) {
  tbk_memory_t memory = sentinel;
  fx_open(fx);
  fx_close(fx);
  CHECK_STATUS(TBK_INVALID_STATE,
               fx->core->memory_alloc(fx->self, fx->device, 64, &memory, &fx->error));
  CHECK_KEPT("memory_alloc", memory == sentinel);
}

static void memory_info_needs_an_open_device(tbk_fixture_t* fx) {
  uint64_t free_bytes = sentinel;
  uint64_t total_bytes = sentinel;
  CHECK_STATUS(TBK_INVALID_STATE,
               fx->core->memory_info(fx->self, 0, &free_bytes, &total_bytes, &fx->error));
  CHECK_KEPT("memory_info", free_bytes == sentinel && total_bytes == sentinel);
}

/* Just below 2^64, where a size that is rounded up becomes a small one, and plainly too much. */
static const uint64_t absurd_sizes[] = {
    UINT64_MAX,       UINT64_MAX - 1,    UINT64_MAX - 7,         UINT64_MAX - 63,
    UINT64_MAX - 255, UINT64_MAX - 4095, UINT64_MAX - 65535,     UINT64_C(1) << 63,
    INT64_MAX,        UINT64_C(1) << 62, (UINT64_C(1) << 60) + 1};
static const size_t absurd_size_count = sizeof absurd_sizes / sizeof *absurd_sizes;

static void check_out_of_memory(tbk_fixture_t* fx) {
  for (size_t i = 0; i < absurd_size_count; ++i) {
    tbk_memory_t memory = sentinel;
    CHECK_STATUS(TBK_OUT_OF_MEMORY, fx->core->memory_alloc(fx->self, fx->device, absurd_sizes[i],
                                                           &memory, &fx->error));
  }
}

static void what_no_device_has_is_out_of_memory(tbk_fixture_t* fx) {
  check_out_of_memory(fx);
}

static void what_no_device_has_is_out_of_memory_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  check_out_of_memory(fx);
}

static void more_than_the_device_has_is_out_of_memory(tbk_fixture_t* fx) {
  uint64_t total = fx->properties.memory_bytes;
  for (uint64_t extra = 1; extra < (UINT64_C(1) << 40); extra *= 37) {
    tbk_memory_t memory = sentinel;
    CHECK_STATUS(TBK_OUT_OF_MEMORY,
                 fx->core->memory_alloc(fx->self, fx->device, total + extra, &memory, &fx->error));
  }
}

/* A limit may be declared lower than it is, so that what is beyond it is given or refused. */
static void more_than_one_allocation_may_have_is_out_of_memory(tbk_fixture_t* fx) {
  uint64_t most = fx->properties.max_allocation_bytes;
  for (uint64_t extra = 1; extra < (UINT64_C(1) << 40); extra *= 37) {
    tbk_memory_t memory = sentinel;
    tbk_status_t status =
        fx->core->memory_alloc(fx->self, fx->device, most + extra, &memory, &fx->error);
    CHECK_SAID(status == TBK_OK || status == TBK_OUT_OF_MEMORY, "OUT_OF_MEMORY, or the memory",
               "%s for %llu bytes: %s", tbk_status_name(status), (unsigned long long)(most + extra),
               fx->error.message);
    if (status == TBK_OK) CHECK_OK(fx->core->memory_free(fx->self, fx->device, memory, &fx->error));
  }
}

static void a_failed_allocation_leaves_the_result_alone(tbk_fixture_t* fx) {
  for (size_t i = 0; i < absurd_size_count; ++i) {
    tbk_memory_t memory = sentinel + i;
    tbk_status_t status =
        fx->core->memory_alloc(fx->self, fx->device, absurd_sizes[i], &memory, &fx->error);
    FX_CHECK_EXHAUSTED("MEM-009", status, &fx->error);
    CHECK_KEPT("memory_alloc", memory == sentinel + i);
  }
}

static tbk_status_t allocate_and_free_half(tbk_fixture_t* fx) {
  size_t mark = room_mark(fx);
  uint64_t half = fx->properties.memory_bytes / 2 & ~(fx->properties.memory_alignment - 1);
  tbk_status_t status = room_take(fx, half);
  room_release(fx, mark);
  return status;
}

static void a_failed_allocation_changes_nothing_else(tbk_fixture_t* fx) {
  block_t blocks[6];
  bool half_is_free = allocate_and_free_half(fx) == TBK_OK;
  for (size_t i = 0; i < 6; ++i) {
    block_make(fx, &blocks[i], range_size(fx, i));
    range_provoke_errors(fx);
  }
  for (size_t i = 0; i < 6; ++i)
    BLOCK_CHECK(fx, &blocks[i]);
  if (half_is_free) CHECK_OK(allocate_and_free_half(fx));
  block_t next;
  block_make(fx, &next, 4096);
  BLOCK_CHECK(fx, &next);
}

static void a_failed_allocation_without_an_error_to_fill_is_survived(tbk_fixture_t* fx) {
  for (size_t i = 0; i < absurd_size_count; ++i) {
    tbk_memory_t memory = sentinel;
    CHECK_STATUS(TBK_OUT_OF_MEMORY,
                 fx->core->memory_alloc(fx->self, fx->device, absurd_sizes[i], &memory, NULL));
  }
}

static void a_failed_allocation_says_why(tbk_fixture_t* fx) {
  for (size_t i = 0; i < absurd_size_count; ++i) {
    tbk_memory_t memory = sentinel;
    memset(&fx->error, 'x', sizeof fx->error);
    tbk_status_t status =
        fx->core->memory_alloc(fx->self, fx->device, absurd_sizes[i], &memory, &fx->error);
    FX_CHECK_EXHAUSTED("MEM-009", status, &fx->error);
    CHECK(memchr(fx->error.message, '\0', sizeof fx->error.message) != NULL);
    CHECK(fx->error.message[0] != '\0' && fx->error.message[0] != 'x');
    memset(&fx->error, 0, sizeof fx->error);
  }
}

static const tbk_case_t cases[] = {
    TBK_CASE("MEM-001", NULL, 0, alloc_refuses_a_null_result),
    TBK_CASE("DEV-021", NULL, TBK_CASE_CLOSED, alloc_needs_an_open_device),
    TBK_CASE("DEV-021", NULL, TBK_CASE_CLOSED, memory_calls_need_the_device_open_again),
    TBK_CASE("DEV-021", "memory_info", TBK_CASE_CLOSED, memory_info_needs_an_open_device),
    TBK_CASE("MEM-009", NULL, 0, what_no_device_has_is_out_of_memory),
    TBK_CASE("MEM-009", "two_devices", 0, what_no_device_has_is_out_of_memory_on_the_second_device),
    TBK_CASE("MEM-009", "memory_bytes", 0, more_than_the_device_has_is_out_of_memory),
    TBK_CASE("MEM-009", "max_allocation", 0, more_than_one_allocation_may_have_is_out_of_memory),
    TBK_CASE("ERR-001", NULL, 0, a_failed_allocation_leaves_the_result_alone),
    TBK_CASE("ERR-001", NULL, 0, a_failed_allocation_changes_nothing_else),
    TBK_CASE("ERR-008", NULL, 0, a_failed_allocation_without_an_error_to_fill_is_survived),
    TBK_CASE("ERR-008", NULL, 0, a_failed_allocation_says_why),
};
TBK_SUITE(memory_refusal);
