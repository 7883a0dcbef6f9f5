/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers. Seeds are fixed where a test counts bits, so that its verdict is always the same.
 */
#include "behind.h"
#include "philox.h"
#include "range.h"

#include <string.h>

/* `count` words at byte `offset` of `memory`. */
static tbk_status_t draw(tbk_fixture_t* fx, uint64_t seed, uint64_t start, tbk_memory_t memory,
                         uint64_t offset, uint64_t count, tbk_stream_t* stream) {
  tbk_generator_t generator = {seed, start};
  return fx->random->random_bits(fx->self, fx->device, &generator, memory, offset, count, stream,
                                 &fx->error);
}

/* Words drawn without a stream, into fresh memory with other contents. */
static uint32_t* words(tbk_fixture_t* fx, uint64_t seed, uint64_t start, uint64_t count) {
  block_t block;
  block_make(fx, &block, count * sizeof(uint32_t));
  REQUIRE_OK(draw(fx, seed, start, block.memory, 0, count, NULL));
  fx_download(fx, block.model, block.memory, block.size);
  block_drop(fx, &block);
  return (uint32_t*)(void*)block.model;
}

static uint64_t equal_words(const uint32_t* a, const uint32_t* b, uint64_t count) {
  uint64_t equal = 0;
  for (uint64_t i = 0; i < count; ++i)
    equal += a[i] == b[i];
  return equal;
}

static const uint64_t counts[] = {1, 2, 3, 4, 5, 7, 64, 255, 1024, 4097, 65537, 262144};
enum { COUNTS = sizeof counts / sizeof *counts };

/* -------------------------------------------------------------------------------- arguments --- */

static void a_bad_generator_is_refused(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx->stream != NULL ? fx_stream(fx) : NULL;
  block_t block;
  block_make(fx, &block, 4096);
  for (uint64_t odd = 1; odd < 4 * RANGE_ROUNDS; ++odd) {
    if (odd % 4 == 0) continue;
    CHECK_STATUS(TBK_INVALID, draw(fx, 7, odd, block.memory, 0, 1024, NULL));
    CHECK_STATUS(TBK_INVALID, draw(fx, 7, (UINT64_C(1) << 40) + odd, block.memory, 0, 4, stream));
  }
  CHECK_STATUS(TBK_INVALID, fx->random->random_bits(fx->self, fx->device, NULL, block.memory, 0,
                                                    1024, NULL, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->random->random_bits(fx->self, fx->device, NULL, block.memory, 0, 4,
                                                    stream, &fx->error));
  range_settle(fx, stream);
  BLOCK_CHECK(fx, &block);
}

static void a_bad_generator_is_refused_on_the_second_device(tbk_fixture_t* fx) {
  range_use_second_device(fx);
  a_bad_generator_is_refused(fx);
}

static void random_bits_need_an_open_device(tbk_fixture_t* fx) {
  tbk_generator_t generator = {1, 0};
  fx_open(fx);
  tbk_memory_t memory = fx_alloc(fx, 4096);
  fx_disown_memory(fx, memory); /* it ends with the device */
  fx_close(fx);
  const int32_t devices[] = {0, fx->device_count, -1, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; ++i)
    CHECK_STATUS(TBK_INVALID_STATE, fx->random->random_bits(fx->self, devices[i], &generator,
                                                            memory, 0, 64, NULL, &fx->error));
}

static void random_bits_on_a_stream_of_another_device_are_refused(tbk_fixture_t* fx) {
  block_t block;
  block_make(fx, &block, 4096);
  int32_t first = fx->device;
  range_use_second_device(fx);
  tbk_stream_t* foreign = fx_stream(fx);
  fx->device = first;
  for (int round = 0; round < RANGE_ROUNDS; ++round)
    CHECK_STATUS(TBK_INVALID, draw(fx, 7, 0, block.memory, 0, 1024, foreign));
  fx_synchronize(fx, foreign);
  BLOCK_CHECK(fx, &block);
}

static void the_generator_is_read_only_and_may_be_reused(tbk_fixture_t* fx) {
  tbk_memory_t memory = fx_alloc(fx, 256);
  for (uint64_t round = 0; round < RANGE_ROUNDS; ++round) {
    tbk_generator_t generator = {round + 99, 4 * round};
    REQUIRE_OK(
        fx->random->random_bits(fx->self, fx->device, &generator, memory, 0, 64, NULL, &fx->error));
    CHECK(generator.seed == round + 99 && generator.offset == 4 * round);
  }
}

/* ------------------------------------------------------------------------------ repeatability - */

static void equal_state_gives_equal_words(tbk_fixture_t* fx) {
  for (size_t i = 0; i < COUNTS; ++i) {
    uint64_t seed = fx_random(fx);
    uint64_t start = 4 * (fx_random(fx) >> 20);
    uint32_t* first = words(fx, seed, start, counts[i]);
    words(fx, seed + 1, start, counts[i]); /* a draw in between changes nothing */
    uint32_t* again = words(fx, seed, start, counts[i]);
    CHECK_BYTES(first, again, counts[i] * sizeof(uint32_t));
  }
}

static void equal_state_gives_equal_words_often(tbk_fixture_t* fx) {
  uint32_t* first = words(fx, 5, 8, 64);
  for (int round = 0; round < 2 * RANGE_ROUNDS; ++round)
    CHECK_BYTES(first, words(fx, 5, 8, 64), 64 * sizeof(uint32_t));
}

static void equal_state_gives_equal_words_at_any_place(tbk_fixture_t* fx) {
  enum { COUNT = 100 };
  uint32_t* expected = words(fx, 11, 40, COUNT);
  block_t block;
  uint64_t step = fx_round(fx, 4);
  block_make(fx, &block, 64 * step + fx_round(fx, COUNT * 4));
  for (uint64_t k = 0; k < RANGE_ROUNDS; ++k) {
    uint8_t* seen = fx_zeros(fx, fx_round(fx, COUNT * 4));
    REQUIRE_OK(draw(fx, 11, 40, block.memory, k * step, COUNT, NULL));
    REQUIRE_OK(fx->core->download(fx->self, fx->device, seen, block.memory, k * step,
                                  fx_round(fx, COUNT * 4), NULL, &fx->error));
    CHECK_BYTES(expected, seen, COUNT * 4);
  }
}

static void every_stream_gives_equal_words(tbk_fixture_t* fx) {
  for (size_t i = 0; i < 8; ++i) {
    block_t block;
    tbk_stream_t* stream = fx_stream(fx);
    uint32_t* expected = words(fx, 3, 16, counts[i + 2]);
    block_make(fx, &block, counts[i + 2] * 4);
    REQUIRE_OK(draw(fx, 3, 16, block.memory, 0, counts[i + 2], stream));
    fx_synchronize(fx, stream);
    fx_download(fx, block.model, block.memory, block.size);
    CHECK_BYTES(expected, block.model, counts[i + 2] * 4);
  }
}

static void every_device_gives_equal_words(tbk_fixture_t* fx) {
  uint32_t* expected[COUNTS];
  for (size_t i = 0; i < COUNTS; ++i)
    expected[i] = words(fx, i + 21, 4 * i, counts[i]);
  range_use_second_device(fx);
  for (size_t i = 0; i < COUNTS; ++i)
    CHECK_BYTES(expected[i], words(fx, i + 21, 4 * i, counts[i]), counts[i] * 4);
}

/* Each bit of the seed, and each of the offset but the two that are always 0. */
static void another_seed_gives_other_words(tbk_fixture_t* fx) {
  enum { COUNT = 256 };
  const uint64_t seed = UINT64_C(0x0123456789abcdef);
  uint32_t* base = words(fx, seed, 0, COUNT);
  for (int bit = 0; bit < 64; ++bit) {
    uint32_t* other = words(fx, seed ^ UINT64_C(1) << bit, 0, COUNT);
    CHECK_SAID(equal_words(base, other, COUNT) < 4, "other words", "%d equal words, seed bit %d",
               (int)equal_words(base, other, COUNT), bit);
  }
}

static void another_offset_gives_other_words(tbk_fixture_t* fx) {
  enum { COUNT = 256 };
  uint32_t* base = words(fx, 77, 0, COUNT);
  for (int bit = 2; bit < 63; ++bit) {
    uint32_t* other = words(fx, 77, UINT64_C(1) << bit, COUNT);
    CHECK_SAID(equal_words(base, other, COUNT) < 4, "other words", "%d equal words, offset bit %d",
               (int)equal_words(base, other, COUNT), bit);
  }
}

/* ---------------------------------------------------------------------------------- the bits -- */

enum { SAMPLE = 1 << 16, SIGMA = 128, BOUND = 7 * SIGMA }; /* 7 sigma: 3 in 10^12 for each bit */

static void check_bits(tbk_fixture_t* fx, uint64_t seed) {
  uint32_t* sample = words(fx, seed, 0, SAMPLE);
  int ones[32] = {0};
  int changes[32] = {0};
  for (int i = 0; i < SAMPLE; ++i) {
    uint32_t change = sample[i] ^ sample[i == 0 ? SAMPLE - 1 : i - 1];
    for (int bit = 0; bit < 32; ++bit) {
      ones[bit] += (int)(sample[i] >> bit & 1);
      changes[bit] += (int)(change >> bit & 1);
    }
  }
  for (int bit = 0; bit < 32; ++bit) {
    CHECK_SAID(ones[bit] > SAMPLE / 2 - BOUND && ones[bit] < SAMPLE / 2 + BOUND,
               "half of 65536 ones, give or take 896", "%d in bit %d", ones[bit], bit);
    CHECK_SAID(changes[bit] > SAMPLE / 2 - BOUND && changes[bit] < SAMPLE / 2 + BOUND,
               "half of 65536 changes from word to word, give or take 896", "%d in bit %d",
               changes[bit], bit);
  }
}

static void each_bit_is_fair(tbk_fixture_t* fx) {
  check_bits(fx, 0);
  check_bits(fx, UINT64_C(0xfedcba9876543210));
}

static void each_bit_is_fair_on_the_second_device(tbk_fixture_t* fx) {
  range_use_second_device(fx);
  check_bits(fx, 1);
}

/* A short period would pass the count: no word of the first half stands in the second. */
static void the_words_do_not_repeat(tbk_fixture_t* fx) {
  enum { COUNT = 1 << 14 };
  uint32_t* sample = words(fx, 1234, 0, COUNT);
  for (uint64_t period = 1; period <= COUNT / 2; period *= 2) {
    uint64_t equal = equal_words(sample, sample + period, COUNT - period);
    CHECK_SAID(equal < 4, "no period", "%d words equal after %d", (int)equal, (int)period);
  }
}

/* -------------------------------------------------------------------------------------- Philox */

static void the_host_computes_the_known_answers(tbk_fixture_t* fx) {
  static const uint32_t given[3][6] = {
      {0, 0, 0, 0, 0, 0},
      {~0u, ~0u, ~0u, ~0u, ~0u, ~0u},
      {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0}};
  static const uint32_t known[3][4] = {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
                                       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
                                       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}};
  for (int i = 0; i < 3; ++i) {
    uint32_t out[4];
    philox_block(given[i], given[i] + 4, out);
    REQUIRE(memcmp(known[i], out, sizeof out) == 0);
  }
  CHECK_BYTES(known[0], words(fx, 0, 0, 4), sizeof known[0]);
}

static void check_philox(tbk_fixture_t* fx, uint64_t seed, uint64_t start, uint64_t count) {
  uint32_t* expected = (uint32_t*)(void*)fx_zeros(fx, count * sizeof(uint32_t));
  for (uint64_t i = 0; i < count; ++i)
    expected[i] = philox_word(seed, start, i);
  CHECK_BYTES(expected, words(fx, seed, start, count), count * sizeof(uint32_t));
}

static void the_words_are_those_of_philox(tbk_fixture_t* fx) {
  for (size_t i = 0; i < COUNTS; ++i)
    check_philox(fx, i, 0, counts[i] < 65537 ? counts[i] : 9000);
  for (int round = 0; round < RANGE_ROUNDS; ++round)
    check_philox(fx, fx_random(fx), 4 * (fx_random(fx) >> 3), 1 + fx_random(fx) % 300);
  check_philox(fx, 42, 400, 65537);
}

static void philox_carries_into_the_high_counter(tbk_fixture_t* fx) {
  const uint64_t carry = UINT64_C(4) << 32;
  for (uint64_t back = 4; back <= 64; back *= 2)
    check_philox(fx, 9, carry - back, 128);
  check_philox(fx, UINT64_MAX, carry * 3, 64);
  check_philox(fx, UINT64_C(1) << 32, (carry << 20) - 8, 64);
}

static void the_words_of_the_second_device_are_those_of_philox(tbk_fixture_t* fx) {
  range_use_second_device(fx);
  for (size_t i = 0; i < COUNTS - 2; ++i)
    check_philox(fx, fx_random(fx), 4 * i, counts[i]);
}

/* ------------------------------------------------------------------------------------ extent -- */

static void draw_range(tbk_fixture_t* fx, uint64_t count, tbk_stream_t* stream) {
  block_t block;
  uint64_t offset = fx_round(fx, 4 * 5);
  uint32_t* expected = words(fx, count, 4, count);
  block_make(fx, &block, offset + fx_round(fx, count * 4) + 64);
  REQUIRE_OK(draw(fx, count, 4, block.memory, offset, count, stream));
  range_settle(fx, stream);
  memcpy(block.model + offset, expected, count * 4);
  BLOCK_CHECK(fx, &block);
  block_drop(fx, &block);
}

static void exactly_count_words_are_written(tbk_fixture_t* fx) {
  for (size_t i = 0; i < COUNTS; ++i)
    draw_range(fx, counts[i], NULL);
  for (int round = 0; round < RANGE_ROUNDS; ++round)
    draw_range(fx, 1 + fx_random(fx) % 600, NULL);
}

static void exactly_count_words_are_written_on_a_stream(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (size_t i = 0; i < COUNTS - 1; ++i)
    draw_range(fx, counts[i], stream);
}

static void exactly_count_words_are_written_on_the_second_device(tbk_fixture_t* fx) {
  range_use_second_device(fx);
  for (size_t i = 0; i < COUNTS - 1; ++i)
    draw_range(fx, counts[i], NULL);
}

static void no_words_do_nothing(tbk_fixture_t* fx) {
  block_t block;
  block_make(fx, &block, 256);
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    CHECK_OK(draw(fx, 5, 0, block.memory, 64, 0, NULL));
    CHECK_OK(draw(fx, 5, 0, 0, 0, 0, NULL));
  }
  BLOCK_CHECK(fx, &block);
}

/* ------------------------------------------------------------------------------------- order -- */

typedef struct order {
  tbk_stream_t* stream;
  block_t target;
  tbk_memory_t saved;
  uint64_t count;
} order_t;

/* The copy has to save what was there before the draw; the generator is scribbled over at once. */
static void copy_then_draw(tbk_fixture_t* fx, void* argument) {
  order_t* order = argument;
  tbk_generator_t generator = {31, 8};
  CHECK_OK(fx->core->copy(fx->self, fx->device, order->saved, 0, order->target.memory, 0,
                          order->target.size, order->stream, &fx->error));
  CHECK_OK(fx->random->random_bits(fx->self, fx->device, &generator, order->target.memory, 0,
                                   order->count, order->stream, &fx->error));
  memset(&generator, 0xdd, sizeof generator);
}

static bool draw_early(tbk_fixture_t* fx, void* argument, tbk_stream_t* other) {
  order_t* order = argument;
  uint8_t* seen = fx_zeros(fx, order->target.size);
  CHECK_OK(draw(fx, 32, 8, order->target.memory, 0, order->count, other));
  CHECK_OK(fx->core->download(fx->self, fx->device, seen, order->target.memory, 0,
                              order->target.size, other, &fx->error));
  behind_settle(fx, other);
  return memcmp(seen, order->target.model, order->target.size) != 0;
}

static void random_bits_wait_for_earlier_work_of_their_stream(tbk_fixture_t* fx) {
  order_t order = {.stream = fx_stream(fx), .count = 4096};
  uint32_t* expected = words(fx, 31, 8, order.count);
  block_make(fx, &order.target, order.count * 4);
  order.saved = fx_alloc(fx, order.target.size);
  behind_gate(fx, order.stream, copy_then_draw, &order);
  FX_CHECK_MEMORY(fx, order.target.model, order.saved, order.target.size);
  memcpy(order.target.model, expected, order.count * 4);
  BLOCK_CHECK(fx, &order.target);
  behind_control(fx, order.stream, draw_early, &order);
}

/* Later work of the stream sees the words. */
static void later_work_of_the_stream_sees_the_words(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (uint64_t round = 0; round < RANGE_ROUNDS; ++round) {
    uint64_t count = counts[round % (COUNTS - 1)];
    uint32_t* expected = words(fx, round, 0, count);
    block_t block;
    block_make(fx, &block, count * 4);
    REQUIRE_OK(draw(fx, round, 0, block.memory, 0, count, stream));
    REQUIRE_OK(fx->core->download(fx->self, fx->device, block.model, block.memory, 0, block.size,
                                  stream, &fx->error));
    fx_synchronize(fx, stream);
    CHECK_BYTES(expected, block.model, count * 4);
    block_drop(fx, &block);
  }
}

static void random_bits_are_complete_on_return(tbk_fixture_t* fx) {
  for (uint64_t round = 0; round < RANGE_ROUNDS; ++round) {
    uint64_t count = counts[round % COUNTS];
    uint32_t* first = words(fx, round, 0, count);
    CHECK_BYTES(first, words(fx, round, 0, count), count * 4);
  }
}

static const tbk_case_t cases[] = {
    TBK_CASE("RNG-001", "random", 0, a_bad_generator_is_refused),
    TBK_CASE("RNG-001", "random two_devices", 0, a_bad_generator_is_refused_on_the_second_device),
    TBK_CASE("DEV-021", "random", TBK_CASE_CLOSED, random_bits_need_an_open_device),
    TBK_CASE("STR-002", "random stream two_devices", 0,
             random_bits_on_a_stream_of_another_device_are_refused),
    TBK_CASE("RNG-008", "random", 0, the_generator_is_read_only_and_may_be_reused),
    TBK_CASE("RNG-003", "random", 0, equal_state_gives_equal_words),
    TBK_CASE("RNG-003", "random", 0, equal_state_gives_equal_words_often),
    TBK_CASE("RNG-003", "random", 0, equal_state_gives_equal_words_at_any_place),
    TBK_CASE("RNG-003", "random stream", 0, every_stream_gives_equal_words),
    TBK_CASE("RNG-003", "random two_devices", 0, every_device_gives_equal_words),
    TBK_CASE("RNG-004", "random", 0, another_seed_gives_other_words),
    TBK_CASE("RNG-004", "random", 0, another_offset_gives_other_words),
    TBK_CASE("RNG-005", "random", 0, each_bit_is_fair),
    TBK_CASE("RNG-005", "random two_devices", 0, each_bit_is_fair_on_the_second_device),
    TBK_CASE("RNG-005", "random", 0, the_words_do_not_repeat),
    TBK_CASE("RNG-006", "random philox", 0, the_host_computes_the_known_answers),
    TBK_CASE("RNG-006", "random philox", 0, the_words_are_those_of_philox),
    TBK_CASE("RNG-006", "random philox", 0, philox_carries_into_the_high_counter),
    TBK_CASE("RNG-006", "random philox two_devices", 0,
             the_words_of_the_second_device_are_those_of_philox),
    TBK_CASE("RNG-007", "random", 0, exactly_count_words_are_written),
    TBK_CASE("RNG-007", "random stream", 0, exactly_count_words_are_written_on_a_stream),
    TBK_CASE("RNG-007", "random two_devices", 0,
             exactly_count_words_are_written_on_the_second_device),
    TBK_CASE("RNG-007", "random", 0, no_words_do_nothing),
    TBK_CASE("STR-001", "random stream", 0, random_bits_wait_for_earlier_work_of_their_stream),
    TBK_CASE("STR-001", "random stream", 0, later_work_of_the_stream_sees_the_words),
    TBK_CASE("CPY-006", "random", 0, random_bits_are_complete_on_return),
};
TBK_SUITE(random);
