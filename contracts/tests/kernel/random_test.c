/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers: which calls are refused, how many words are written, and when. Which words is in
 * random_words_test.c.
 */
#include "behind.h"
#include "drawn.h"
#include "range.h"

#include <string.h>

/* -------------------------------------------------------------------------------- arguments --- */

static void a_bad_generator_is_refused(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx->stream != NULL ? fx_stream(fx) : NULL;
  block_t block;
  block_make(fx, &block, 4096);
  for (uint64_t odd = 1; odd < 4 * RANGE_ROUNDS; ++odd) {
    if (odd % 4 == 0) continue;
    CHECK_STATUS(TBK_INVALID, drawn_into(fx, 7, odd, block.memory, 0, 1024, NULL));
    CHECK_STATUS(TBK_INVALID,
                 drawn_into(fx, 7, (UINT64_C(1) << 40) + odd, block.memory, 0, 4, stream));
  }
  CHECK_STATUS(TBK_INVALID, fx->random->random_bits(fx->self, fx->device, NULL, block.memory, 0,
                                                    1024, NULL, &fx->error));
  CHECK_STATUS(TBK_INVALID, fx->random->random_bits(fx->self, fx->device, NULL, block.memory, 0, 4,
                                                    stream, &fx->error));
  range_settle(fx, stream);
  BLOCK_CHECK(fx, &block);
}

/* To do nothing is for calls that keep to the rules: no count excuses a generator. */
static void a_bad_generator_is_refused_for_no_words(tbk_fixture_t* fx) {
  tbk_stream_t* streams[2] = {NULL, fx->stream != NULL ? fx_stream(fx) : NULL};
  block_t block;
  block_make(fx, &block, 256);
  const tbk_memory_t memories[2] = {block.memory, 0};
  for (int i = 0; i < 4; ++i) {
    tbk_memory_t memory = memories[i / 2];
    CHECK_STATUS(TBK_INVALID, fx->random->random_bits(fx->self, fx->device, NULL, memory, 0, 0,
                                                      streams[i % 2], &fx->error));
    CHECK_STATUS(TBK_INVALID, drawn_into(fx, 7, 2, memory, 0, 0, streams[i % 2]));
  }
  range_settle(fx, streams[1]);
  BLOCK_CHECK(fx, &block);
}

static void a_bad_generator_is_refused_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
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
  fx_use_device(fx, fx_second_device(fx));
  tbk_stream_t* foreign = fx_stream(fx);
  fx_use_device(fx, first);
  for (int round = 0; round < RANGE_ROUNDS; ++round)
    CHECK_STATUS(TBK_INVALID, drawn_into(fx, 7, 0, block.memory, 0, 1024, foreign));
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

/* ------------------------------------------------------------------------------------ extent -- */

static void draw_range(tbk_fixture_t* fx, uint64_t count, tbk_stream_t* stream) {
  block_t block;
  uint64_t offset = fx_round(fx, 4 * 5);
  uint32_t* expected = drawn_words(fx, count, 4, count);
  block_make(fx, &block, offset + fx_round(fx, count * 4) + 64);
  REQUIRE_OK(drawn_into(fx, count, 4, block.memory, offset, count, stream));
  range_settle(fx, stream);
  memcpy(block.model + offset, expected, count * 4);
  BLOCK_CHECK(fx, &block);
  block_drop(fx, &block);
}

static void exactly_count_words_are_written(tbk_fixture_t* fx) {
  for (size_t i = 0; i < DRAWN_COUNTS; ++i)
    draw_range(fx, drawn_counts[i], NULL);
  for (int round = 0; round < RANGE_ROUNDS; ++round)
    draw_range(fx, 1 + fx_random(fx) % 600, NULL);
}

static void exactly_count_words_are_written_on_a_stream(tbk_fixture_t* fx) {
  tbk_stream_t* stream = fx_stream(fx);
  for (size_t i = 0; i < DRAWN_COUNTS - 1; ++i)
    draw_range(fx, drawn_counts[i], stream);
}

static void exactly_count_words_are_written_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  for (size_t i = 0; i < DRAWN_COUNTS - 1; ++i)
    draw_range(fx, drawn_counts[i], NULL);
}

static void no_words_do_nothing(tbk_fixture_t* fx) {
  block_t block;
  block_make(fx, &block, 256);
  for (int round = 0; round < RANGE_ROUNDS; ++round) {
    CHECK_OK(drawn_into(fx, 5, 0, block.memory, 64, 0, NULL));
    CHECK_OK(drawn_into(fx, 5, 0, 0, 0, 0, NULL));
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
  CHECK_OK(drawn_into(fx, 32, 8, order->target.memory, 0, order->count, other));
  CHECK_OK(fx->core->download(fx->self, fx->device, seen, order->target.memory, 0,
                              order->target.size, other, &fx->error));
  behind_settle(fx, other);
  return memcmp(seen, order->target.model, order->target.size) != 0;
}

static void random_bits_wait_for_earlier_work_of_their_stream(tbk_fixture_t* fx) {
  order_t order = {.stream = fx_stream(fx), .count = 4096};
  uint32_t* expected = drawn_words(fx, 31, 8, order.count);
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
    uint64_t count = drawn_counts[round % (DRAWN_COUNTS - 1)];
    uint32_t* expected = drawn_words(fx, round, 0, count);
    block_t block;
    block_make(fx, &block, count * 4);
    REQUIRE_OK(drawn_into(fx, round, 0, block.memory, 0, count, stream));
    REQUIRE_OK(fx->core->download(fx->self, fx->device, block.model, block.memory, 0, block.size,
                                  stream, &fx->error));
    fx_synchronize(fx, stream);
    CHECK_BYTES(expected, block.model, count * 4);
    block_drop(fx, &block);
  }
}

static void random_bits_are_complete_on_return(tbk_fixture_t* fx) {
  for (uint64_t round = 0; round < DRAWN_COUNTS; ++round) {
    uint64_t count = drawn_counts[round];
    uint32_t* first = drawn_words(fx, round, 0, count);
    CHECK_BYTES(first, drawn_words(fx, round, 0, count), count * 4);
  }
}

static const tbk_case_t cases[] = {
    TBK_CASE("RNG-001", "random", 0, a_bad_generator_is_refused),
    TBK_CASE("RNG-001", "random", 0, a_bad_generator_is_refused_for_no_words),
    TBK_CASE("RNG-001", "random two_devices", 0, a_bad_generator_is_refused_on_the_second_device),
    TBK_CASE("DEV-021", "random", TBK_CASE_CLOSED, random_bits_need_an_open_device),
    TBK_CASE("STR-002", "random stream two_devices", 0,
             random_bits_on_a_stream_of_another_device_are_refused),
    TBK_CASE("RNG-008", "random", 0, the_generator_is_read_only_and_may_be_reused),
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
