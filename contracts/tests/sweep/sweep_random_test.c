/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweep of random words: seeds and offsets at the ends of their words, counts around vectors and
 * blocks, places, and where the call is made. Two draws of one state are compared, and with the
 * host's own where the function is known.
 */
#include "dimensions.h"
#include "philox.h"
#include "range.h"

#include <string.h>

#define BIT(n) (INT64_C(1) << (n))

SWEEP_DIMENSION(seed_axis, "seed", {"0", 0}, {"1", 1}, {"2^32-1", BIT(32) - 1}, {"2^32", BIT(32)},
                {"2^63-1", INT64_MAX}, {"2^63", INT64_MIN}, {"2^64-1", -1});
SWEEP_DIMENSION(start_axis, "start", {"0", 0}, {"4", 4}, {"2^32-4", BIT(32) - 4},
                {"2^34-4", BIT(34) - 4}, {"2^34", BIT(34)}, {"2^62", BIT(62)});
SWEEP_DIMENSION(count_axis, "count", {"1", 1}, {"3", 3}, {"4", 4}, {"5", 5}, {"255", 255},
                {"1024", 1024}, {"65537", 65537}, {"1000003", 1000003});
SWEEP_DIMENSION(place_axis, "place", {"0", 0}, {"4", 4}, {"12", 12}, {"4100", 4100});

enum { BEHIND = 64 };

typedef struct draw {
  scene_t scene;
  tbk_generator_t generator;
  tbk_memory_t memory;
  uint64_t place, count, bytes;
} draw_t;

static void call(tbk_fixture_t* fx, void* argument) {
  const draw_t* it = argument;
  tbk_generator_t generator = it->generator; /* may be reused when the call returns */
  CHECK_OK(fx->random->random_bits(fx->self, fx->device, &generator, it->memory, it->place,
                                   it->count, it->scene.stream,
                                   it->scene.error != NULL ? &fx->error : NULL));
  memset(&generator, 0xa5, sizeof generator);
}

static bool random_fits(const tbk_fixture_t* fx, const sweep_case_t* one) {
  uint64_t bytes = 4 * (uint64_t)sweep_get(one, &count_axis) + 8192;
  return scene_fits(fx, one) && 4 * bytes < sweep_room(fx);
}

/* The words again at another place and without a stream: equal state gives equal words. */
static void check_again(tbk_fixture_t* fx, const draw_t* it, const uint8_t* words) {
  uint64_t bytes = fx_round(fx, 4 * it->count);
  uint8_t* seen = fx_zeros(fx, bytes);
  tbk_memory_t memory = fx_alloc_with(fx, seen, bytes);
  CHECK_OK(fx->random->random_bits(fx->self, fx->device, &it->generator, memory, 0, it->count, NULL,
                                   &fx->error));
  fx_download(fx, seen, memory, bytes);
  CHECK_BYTES(words, seen, 4 * it->count);
}

static void check_words(tbk_fixture_t* fx, const draw_t* it, const uint8_t* before,
                        const uint8_t* after) {
  uint64_t end = it->place + 4 * it->count;
  CHECK_BYTES(before, after, it->place);
  CHECK_BYTES(before + end, after + end, it->bytes - end);
  check_again(fx, it, after + it->place);
  if ((fx->properties.flags & TBK_DEVICE_PHILOX) == 0) return;
  uint32_t* expected = (uint32_t*)(void*)fx_zeros(fx, 4 * it->count);
  for (uint64_t i = 0; i < it->count; i++)
    expected[i] = philox_word(it->generator.seed, it->generator.offset, i);
  CHECK_BYTES(expected, after + it->place, 4 * it->count);
}

static void run(tbk_fixture_t* fx, sweep_case_t* one) {
  draw_t* it = (draw_t*)(void*)fx_zeros(fx, sizeof *it);
  scene_begin(fx, one, &it->scene);
  it->generator = (tbk_generator_t){(uint64_t)sweep_get(one, &seed_axis),
                                    (uint64_t)sweep_get(one, &start_axis)};
  it->count = (uint64_t)sweep_get(one, &count_axis);
  it->place = (uint64_t)sweep_get(one, &place_axis);
  it->bytes = fx_round(fx, it->place + 4 * it->count + BEHIND);
  uint8_t* before = fx_bytes(fx, it->bytes);
  uint8_t* after = fx_zeros(fx, it->bytes);
  it->memory = fx_alloc_with(fx, before, it->bytes);
  scene_load(&it->scene);
  scene_call(&it->scene, call, it);
  scene_end(&it->scene);
  fx_download(fx, after, it->memory, it->bytes);
  check_words(fx, it, before, after);
}

static void words_are_the_same_wherever_they_are_drawn(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&seed_axis, &start_axis, &count_axis, &place_axis, &sweep_stream, &sweep_pending,
       &sweep_device, &sweep_thread, &sweep_state, &sweep_error},
      random_fits,
      run,
      0};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("RNG-003", "random", TBK_CASE_THOROUGH, words_are_the_same_wherever_they_are_drawn),
};
TBK_SUITE(sweep_random);
