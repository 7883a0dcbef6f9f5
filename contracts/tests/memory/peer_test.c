/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies between devices. Ranges are multiples of the larger granularity, which a multiple of both.
 */
#include "behind.h"
#include "range.h"

#include <string.h>

/* One block on each device; `from` and `to` say which way a copy goes. */
typedef struct side {
  int32_t device;
  tbk_device_properties_t properties;
  block_t block;
} side_t;

typedef struct pair {
  side_t from;
  side_t to;
  uint64_t step; /* multiples of it suit both devices */
} pair_t;

static void use(tbk_fixture_t* fx, const side_t* side) {
  fx_use_device(fx, side->device);
  fx->properties = side->properties;
}

static void side_make(tbk_fixture_t* fx, side_t* side, uint64_t size_bytes) {
  use(fx, side);
  block_make(fx, &side->block, size_bytes);
}

/* Chooses the devices, and takes no memory yet; `devices` is the number of different ones, 1 or 2.
 * */
static void pair_open(tbk_fixture_t* fx, pair_t* pair, int devices) {
  pair->from.device = fx->device;
  pair->from.properties = fx->properties;
  if (devices == 2) fx_use_device(fx, fx_second_device(fx));
  pair->to.device = fx->device;
  pair->to.properties = fx->properties;
  uint64_t one = fx_round(fx, 1);
  use(fx, &pair->from);
  pair->step = fx_round(fx, 1) > one ? fx_round(fx, 1) : one;
}

static uint64_t pair_round(const pair_t* pair, uint64_t size_bytes) {
  return (size_bytes + pair->step - 1) / pair->step * pair->step;
}

static void pair_make(tbk_fixture_t* fx, pair_t* pair, uint64_t size_bytes) {
  side_make(fx, &pair->from, pair_round(pair, size_bytes));
  side_make(fx, &pair->to, pair_round(pair, size_bytes));
  use(fx, &pair->from);
}

static void pair_turn(pair_t* pair) {
  side_t side = pair->from;
  pair->from = pair->to;
  pair->to = side;
}

static void pair_check(tbk_fixture_t* fx, pair_t* pair) {
  use(fx, &pair->to);
  BLOCK_CHECK(fx, &pair->to.block);
  use(fx, &pair->from);
  BLOCK_CHECK(fx, &pair->from.block);
}

static void pair_drop(tbk_fixture_t* fx, pair_t* pair) {
  use(fx, &pair->to);
  block_drop(fx, &pair->to.block);
  use(fx, &pair->from);
  block_drop(fx, &pair->from.block);
}

static tbk_status_t peer_copy(tbk_fixture_t* fx, const pair_t* pair, uint64_t to, uint64_t from,
                              uint64_t size, tbk_stream_t* stream) {
  return fx->peer->peer_copy(fx->self, pair->to.device, pair->to.block.memory, to,
                             pair->from.device, pair->from.block.memory, from, size, stream,
                             &fx->error);
}

/* ------------------------------------------------------------------------------- can_access -- */

static void can_access_refuses_what_is_no_device(tbk_fixture_t* fx) {
  const int32_t bad[] = {-1, fx->device_count, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    int32_t can = 77;
    CHECK_STATUS(TBK_INVALID, fx->peer->peer_can_access(fx->self, bad[i], 0, &can, &fx->error));
    CHECK_STATUS(TBK_INVALID, fx->peer->peer_can_access(fx->self, 0, bad[i], &can, &fx->error));
    CHECK_STATUS(TBK_INVALID,
                 fx->peer->peer_can_access(fx->self, bad[i], bad[i], &can, &fx->error));
    CHECK_KEPT("peer_can_access", can == 77);
  }
}

static void can_access_refuses_a_null_result(tbk_fixture_t* fx) {
  for (int32_t peer = 0; peer < fx->device_count && peer < 8; ++peer)
    CHECK_STATUS(TBK_INVALID, fx->peer->peer_can_access(fx->self, 0, peer, NULL, &fx->error));
}

static void can_access_is_0_or_1(tbk_fixture_t* fx) {
  int32_t count = fx->device_count < 16 ? fx->device_count : 16;
  for (int32_t device = 0; device < count; ++device) {
    for (int32_t peer = 0; peer < count; ++peer) {
      int32_t can = 77;
      REQUIRE_OK(fx->peer->peer_can_access(fx->self, device, peer, &can, &fx->error));
      CHECK(can == 0 || (can == 1 && device != peer));
    }
  }
}

static void can_access_is_answered_before_a_device_is_open(tbk_fixture_t* fx) {
  int32_t can = 77;
  CHECK_OK(fx->peer->peer_can_access(fx->self, 0, 0, &can, &fx->error));
  CHECK_EQUAL(0, can);
}

/* ------------------------------------------------------------------------------------ bytes --- */

static void copy_one(tbk_fixture_t* fx, pair_t* pair, uint64_t size_bytes, tbk_stream_t* stream) {
  uint64_t size = pair_round(pair, size_bytes);
  uint64_t to = 3 * pair->step;
  uint64_t from = 5 * pair->step;
  pair_make(fx, pair, size + 8 * pair->step + 64);
  REQUIRE_OK(peer_copy(fx, pair, to, from, size, stream));
  range_settle(fx, stream);
  memcpy(pair->to.block.model + to, pair->from.block.model + from, size);
  pair_check(fx, pair);
  pair_drop(fx, pair);
}

static void copy_sizes(tbk_fixture_t* fx, pair_t* pair, size_t count, tbk_stream_t* stream) {
  for (size_t i = 0; i < count; ++i)
    copy_one(fx, pair, range_size(fx, i), stream);
  for (int round = 0; round < RANGE_ROUNDS; ++round)
    copy_one(fx, pair, 1 + fx_random(fx) % 2048, stream);
}

/* All but the largest, which costs the most time: it is met once. */
static void copy_most_sizes(tbk_fixture_t* fx, pair_t* pair, tbk_stream_t* stream) {
  copy_sizes(fx, pair, range_size_count - 1, stream);
}

static void a_peer_copy_writes_its_destination_only(tbk_fixture_t* fx) {
  pair_t pair;
  pair_open(fx, &pair, 2);
  copy_sizes(fx, &pair, range_size_count, NULL);
}

static void a_peer_copy_from_the_second_device_writes_its_destination_only(tbk_fixture_t* fx) {
  pair_t pair;
  pair_open(fx, &pair, 2);
  pair_turn(&pair);
  copy_most_sizes(fx, &pair, NULL);
}

static void a_peer_copy_on_a_stream_writes_its_destination_only(tbk_fixture_t* fx) {
  pair_t pair;
  pair_open(fx, &pair, 2);
  copy_most_sizes(fx, &pair, fx_stream(fx));
}

static void a_peer_copy_after_an_error_writes_its_destination_only(tbk_fixture_t* fx) {
  pair_t pair;
  pair_open(fx, &pair, 2);
  range_provoke_errors(fx);
  copy_most_sizes(fx, &pair, NULL);
}

static void a_peer_copy_may_stay_on_one_device(tbk_fixture_t* fx) {
  pair_t pair;
  pair_open(fx, &pair, 1);
  copy_most_sizes(fx, &pair, NULL);
}

static void a_peer_copy_on_a_stream_may_stay_on_one_device(tbk_fixture_t* fx) {
  pair_t pair;
  pair_open(fx, &pair, 1);
  tbk_stream_t* stream = fx_stream(fx);
  for (int round = 0; round < RANGE_ROUNDS; ++round)
    copy_one(fx, &pair, 1 + fx_random(fx) % 2048, stream);
}

static void a_peer_copy_works_both_ways(tbk_fixture_t* fx) {
  pair_t pair;
  pair_open(fx, &pair, 2);
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    copy_one(fx, &pair, 1 + fx_random(fx) % 2048, NULL);
    pair_turn(&pair);
  }
}

/* ---------------------------------------------------------------------------------- refusals -- */

static void a_peer_copy_needs_both_devices_open(tbk_fixture_t* fx) {
  block_t block;
  block_make(fx, &block, 4096);
  tbk_memory_t own = block.memory;
  int32_t bad[] = {1, fx->device_count, -1};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    CHECK_STATUS(TBK_INVALID_STATE, fx->peer->peer_copy(fx->self, bad[i], own, 0, fx->device, own,
                                                        0, 4096, NULL, &fx->error));
    CHECK_STATUS(TBK_INVALID_STATE, fx->peer->peer_copy(fx->self, fx->device, own, 0, bad[i], own,
                                                        0, 4096, NULL, &fx->error));
  }
  BLOCK_CHECK(fx, &block);
}

static void a_peer_copy_needs_a_device_open_again(tbk_fixture_t* fx) {
  pair_t pair;
  pair_open(fx, &pair, 2);
  pair_make(fx, &pair, 4096);
  REQUIRE_OK(peer_copy(fx, &pair, 0, 0, 4096, NULL));
  memcpy(pair.to.block.model, pair.from.block.model, 4096);
  pair_check(fx, &pair);
  tbk_memory_t gone = pair.to.block.memory;
  pair_drop(fx, &pair);
  side_make(fx, &pair.from, 4096);
  REQUIRE_OK(fx->core->device_close(fx->self, pair.to.device, &fx->error));
  pair.to.block.memory = gone;
  CHECK_STATUS(TBK_INVALID_STATE, peer_copy(fx, &pair, 0, 0, 4096, NULL));
  pair_turn(&pair);
  CHECK_STATUS(TBK_INVALID_STATE, peer_copy(fx, &pair, 0, 0, 4096, NULL));
  BLOCK_CHECK(fx, &pair.to.block);
  REQUIRE_OK(fx->core->device_open(fx->self, pair.from.device, &fx->error));
}

/* Also of no bytes: the header makes no exception for them. */
static void check_granularity(tbk_fixture_t* fx, int devices) {
  pair_t pair;
  pair_open(fx, &pair, devices);
  pair_make(fx, &pair, 4096);
  uint64_t step = pair.step;
  for (uint64_t odd = 1; odd < step; odd = odd * 2 + 1) {
    CHECK_STATUS(TBK_INVALID, peer_copy(fx, &pair, odd, 0, step, NULL));
    CHECK_STATUS(TBK_INVALID, peer_copy(fx, &pair, odd, 0, 0, NULL));
    CHECK_STATUS(TBK_INVALID, peer_copy(fx, &pair, 0, odd, 0, NULL));
    CHECK_STATUS(TBK_INVALID, peer_copy(fx, &pair, 0, odd, step, NULL));
    CHECK_STATUS(TBK_INVALID, peer_copy(fx, &pair, 0, 0, odd, NULL));
    CHECK_STATUS(TBK_INVALID, peer_copy(fx, &pair, step, 0, step + odd, NULL));
  }
  pair_check(fx, &pair);
}

static void a_peer_copy_off_the_granularity_is_refused(tbk_fixture_t* fx) {
  check_granularity(fx, 2);
}

static void a_peer_copy_off_the_granularity_is_refused_on_one_device(tbk_fixture_t* fx) {
  check_granularity(fx, 1);
}

/* Whatever its size. */
static void a_peer_copy_on_a_stream_of_the_destination_is_refused(tbk_fixture_t* fx) {
  pair_t pair;
  pair_open(fx, &pair, 2);
  tbk_stream_t* of_first = fx_stream(fx);
  pair_make(fx, &pair, 8192);
  use(fx, &pair.to);
  tbk_stream_t* of_second = fx_stream(fx);
  for (int round = 0; round < RANGE_ROUNDS; ++round)
    CHECK_STATUS(TBK_INVALID, peer_copy(fx, &pair, 0, 0, round % 2 == 0 ? 4096 : 0, of_second));
  pair_turn(&pair);
  CHECK_STATUS(TBK_INVALID, peer_copy(fx, &pair, 0, 0, 0, of_first));
  CHECK_STATUS(TBK_INVALID, peer_copy(fx, &pair, 0, 0, 4096, of_first));
  fx_synchronize(fx, of_first);
  fx_synchronize(fx, of_second);
  pair_check(fx, &pair);
}

/* ------------------------------------------------------------------------------------- order -- */

static void a_peer_copy_is_complete_on_return(tbk_fixture_t* fx) {
  pair_t pair;
  pair_open(fx, &pair, 2);
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    uint64_t size = pair_round(&pair, range_of_round(fx, round));
    pair_make(fx, &pair, size);
    REQUIRE_OK(peer_copy(fx, &pair, 0, 0, size, NULL));
    memcpy(pair.to.block.model, pair.from.block.model, size);
    memset(pair.from.block.model, 0xee, size); /* too late to matter */
    fx_upload(fx, pair.from.block.memory, pair.from.block.model, size);
    pair_check(fx, &pair);
    pair_drop(fx, &pair);
  }
}

typedef struct order {
  pair_t pair;
  tbk_stream_t* stream;
  uint8_t* fresh;
  uint64_t size;
} order_t;

static void upload_then_peer_copy(tbk_fixture_t* fx, void* argument) {
  order_t* order = argument;
  CHECK_OK(fx->core->upload(fx->self, order->pair.from.device, order->pair.from.block.memory, 0,
                            order->fresh, order->size, order->stream, &fx->error));
  CHECK_OK(peer_copy(fx, &order->pair, 0, 0, order->size, order->stream));
}

static bool peer_copy_early(tbk_fixture_t* fx, void* argument, tbk_stream_t* other) {
  order_t* order = argument;
  uint8_t* seen = fx_zeros(fx, order->size);
  CHECK_OK(peer_copy(fx, &order->pair, 0, 0, order->size, other));
  behind_settle(fx, other);
  CHECK_OK(fx->core->download(fx->self, order->pair.to.device, seen, order->pair.to.block.memory, 0,
                              order->size, NULL, &fx->error));
  return memcmp(seen, order->pair.from.block.model, order->size) == 0;
}

static void check_order(tbk_fixture_t* fx, order_t* order) {
  order->stream = fx_stream(fx);
  order->size = pair_round(&order->pair, 65536);
  order->fresh = fx_bytes(fx, order->size);
  pair_make(fx, &order->pair, order->size);
  behind_gate(fx, order->stream, upload_then_peer_copy, order);
  memcpy(order->pair.from.block.model, order->fresh, order->size);
  memcpy(order->pair.to.block.model, order->fresh, order->size);
  pair_check(fx, &order->pair);
  memset(order->pair.to.block.model, 0, order->size);
  REQUIRE_OK(fx->core->upload(fx->self, order->pair.to.device, order->pair.to.block.memory, 0,
                              order->pair.to.block.model, order->size, NULL, &fx->error));
  behind_control(fx, order->stream, peer_copy_early, order);
}

static void a_peer_copy_waits_for_earlier_work_of_its_stream(tbk_fixture_t* fx) {
  order_t order;
  pair_open(fx, &order.pair, 2);
  check_order(fx, &order);
}

static void a_peer_copy_inside_a_device_waits_for_earlier_work_of_its_stream(tbk_fixture_t* fx) {
  order_t order;
  pair_open(fx, &order.pair, 1);
  check_order(fx, &order);
}

static const tbk_case_t cases[] = {
    TBK_CASE("PER-001", "peer", 0, can_access_refuses_what_is_no_device),
    TBK_CASE("PER-001", "peer", 0, can_access_refuses_a_null_result),
    TBK_CASE("PER-002", "peer", 0, can_access_is_0_or_1),
    TBK_CASE("DEV-004", "peer", TBK_CASE_CLOSED, can_access_is_answered_before_a_device_is_open),
    TBK_CASE("PER-006", "peer two_devices", 0, a_peer_copy_writes_its_destination_only),
    TBK_CASE("PER-006", "peer two_devices", 0,
             a_peer_copy_from_the_second_device_writes_its_destination_only),
    TBK_CASE("PER-006", "peer stream two_devices", 0,
             a_peer_copy_on_a_stream_writes_its_destination_only),
    TBK_CASE("PER-006", "peer two_devices", 0,
             a_peer_copy_after_an_error_writes_its_destination_only),
    TBK_CASE("PER-005", "peer", 0, a_peer_copy_may_stay_on_one_device),
    TBK_CASE("PER-005", "peer stream", 0, a_peer_copy_on_a_stream_may_stay_on_one_device),
    TBK_CASE("PER-005", "peer two_devices", 0, a_peer_copy_works_both_ways),
    TBK_CASE("PER-003", "peer", 0, a_peer_copy_needs_both_devices_open),
    TBK_CASE("PER-003", "peer two_devices", 0, a_peer_copy_needs_a_device_open_again),
    TBK_CASE("PER-004", "peer granularity two_devices", 0,
             a_peer_copy_off_the_granularity_is_refused),
    TBK_CASE("PER-004", "peer granularity", 0,
             a_peer_copy_off_the_granularity_is_refused_on_one_device),
    TBK_CASE("PER-007", "peer stream two_devices", 0,
             a_peer_copy_on_a_stream_of_the_destination_is_refused),
    TBK_CASE("CPY-006", "peer two_devices", 0, a_peer_copy_is_complete_on_return),
    TBK_CASE("STR-001", "peer stream two_devices", 0,
             a_peer_copy_waits_for_earlier_work_of_its_stream),
    TBK_CASE("STR-001", "peer stream", 0,
             a_peer_copy_inside_a_device_waits_for_earlier_work_of_its_stream),
};
TBK_SUITE(peer);
