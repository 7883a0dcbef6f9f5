/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers: which words a state gives. Seeds are fixed where a test counts bits, so that its
 * verdict is always the same.
 */
#include "drawn.h"
#include "philox.h"
#include "range.h"

#include <string.h>

/* ------------------------------------------------------------------------------ repeatability - */

static void equal_state_gives_equal_words(tbk_fixture_t* fx) {
  for (size_t i = 0; i < DRAWN_COUNTS; ++i) {
    uint64_t seed = fx_random(fx);
    uint64_t start = 4 * (fx_random(fx) >> 20);
    uint32_t* first = drawn_words(fx, seed, start, drawn_counts[i]);
    drawn_words(fx, seed + 1, start, drawn_counts[i]); /* a draw in between changes nothing */
    uint32_t* again = drawn_words(fx, seed, start, drawn_counts[i]);
    CHECK_BYTES(first, again, drawn_counts[i] * sizeof(uint32_t));
  }
}

static void equal_state_gives_equal_words_often(tbk_fixture_t* fx) {
  uint32_t* first = drawn_words(fx, 5, 8, 64);
  for (int round = 0; round < 2 * RANGE_ROUNDS; ++round)
    CHECK_BYTES(first, drawn_words(fx, 5, 8, 64), 64 * sizeof(uint32_t));
}

static void equal_state_gives_equal_words_at_any_place(tbk_fixture_t* fx) {
  enum { COUNT = 100 };
  uint32_t* expected = drawn_words(fx, 11, 40, COUNT);
  block_t block;
  uint64_t step = fx_round(fx, 4);
  block_make(fx, &block, 64 * step + fx_round(fx, COUNT * 4));
  for (uint64_t k = 0; k < RANGE_ROUNDS; ++k) {
    uint8_t* seen = fx_zeros(fx, fx_round(fx, COUNT * 4));
    REQUIRE_OK(drawn_into(fx, 11, 40, block.memory, k * step, COUNT, NULL));
    REQUIRE_OK(fx->core->download(fx->self, fx->device, seen, block.memory, k * step,
                                  fx_round(fx, COUNT * 4), NULL, &fx->error));
    CHECK_BYTES(expected, seen, COUNT * 4);
  }
}

static void every_stream_gives_equal_words(tbk_fixture_t* fx) {
  for (size_t i = 0; i < 8; ++i) {
    block_t block;
    tbk_stream_t* stream = fx_stream(fx);
    uint32_t* expected = drawn_words(fx, 3, 16, drawn_counts[i + 2]);
    block_make(fx, &block, drawn_counts[i + 2] * 4);
    REQUIRE_OK(drawn_into(fx, 3, 16, block.memory, 0, drawn_counts[i + 2], stream));
    fx_synchronize(fx, stream);
    fx_download(fx, block.model, block.memory, block.size);
    CHECK_BYTES(expected, block.model, drawn_counts[i + 2] * 4);
  }
}

static void every_device_gives_equal_words(tbk_fixture_t* fx) {
  uint32_t* expected[DRAWN_COUNTS];
  for (size_t i = 0; i < DRAWN_COUNTS; ++i)
    expected[i] = drawn_words(fx, i + 21, 4 * i, drawn_counts[i]);
  fx_use_device(fx, fx_second_device(fx));
  for (size_t i = 0; i < DRAWN_COUNTS; ++i)
    CHECK_BYTES(expected[i], drawn_words(fx, i + 21, 4 * i, drawn_counts[i]), drawn_counts[i] * 4);
}

/* Each bit of the seed, and each of the offset but the two that are always 0. */
static void another_seed_gives_other_words(tbk_fixture_t* fx) {
  enum { COUNT = 256 };
  const uint64_t seed = UINT64_C(0x0123456789abcdef);
  uint32_t* base = drawn_words(fx, seed, 0, COUNT);
  for (int bit = 0; bit < 64; ++bit) {
    uint32_t* other = drawn_words(fx, seed ^ UINT64_C(1) << bit, 0, COUNT);
    CHECK_SAID(drawn_equal(base, other, COUNT) < 4, "other words", "%d equal words, seed bit %d",
               (int)drawn_equal(base, other, COUNT), bit);
  }
}

static void another_offset_gives_other_words(tbk_fixture_t* fx) {
  enum { COUNT = 256 };
  uint32_t* base = drawn_words(fx, 77, 0, COUNT);
  for (int bit = 2; bit < 63; ++bit) {
    uint32_t* other = drawn_words(fx, 77, UINT64_C(1) << bit, COUNT);
    CHECK_SAID(drawn_equal(base, other, COUNT) < 4, "other words", "%d equal words, offset bit %d",
               (int)drawn_equal(base, other, COUNT), bit);
  }
}

/* ---------------------------------------------------------------------------------- the bits -- */

enum { SAMPLE = 1 << 16, SIGMA = 128, BOUND = 7 * SIGMA }; /* 7 sigma: 3 in 10^12 for each bit */

static void check_bits(tbk_fixture_t* fx, uint64_t seed) {
  uint32_t* sample = drawn_words(fx, seed, 0, SAMPLE);
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
  fx_use_device(fx, fx_second_device(fx));
  check_bits(fx, 1);
}

/* A short period would pass the count: no word of the first half stands in the second. */
static void the_words_do_not_repeat(tbk_fixture_t* fx) {
  enum { COUNT = 1 << 14 };
  uint32_t* sample = drawn_words(fx, 1234, 0, COUNT);
  for (uint64_t period = 1; period <= COUNT / 2; period *= 2) {
    uint64_t equal = drawn_equal(sample, sample + period, COUNT - period);
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
  CHECK_BYTES(known[0], drawn_words(fx, 0, 0, 4), sizeof known[0]);
}

static void check_philox(tbk_fixture_t* fx, uint64_t seed, uint64_t start, uint64_t count) {
  uint32_t* expected = (uint32_t*)(void*)fx_zeros(fx, count * sizeof(uint32_t));
  for (uint64_t i = 0; i < count; ++i)
    expected[i] = philox_word(seed, start, i);
  CHECK_BYTES(expected, drawn_words(fx, seed, start, count), count * sizeof(uint32_t));
}

static void the_words_are_those_of_philox(tbk_fixture_t* fx) {
  for (size_t i = 0; i < DRAWN_COUNTS; ++i)
    check_philox(fx, i, 0, drawn_counts[i] < 65537 ? drawn_counts[i] : 9000);
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
  fx_use_device(fx, fx_second_device(fx));
  for (size_t i = 0; i < DRAWN_COUNTS - 2; ++i)
    check_philox(fx, fx_random(fx), 4 * i, drawn_counts[i]);
}

static const tbk_case_t cases[] = {
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
};
TBK_SUITE(random_words);
