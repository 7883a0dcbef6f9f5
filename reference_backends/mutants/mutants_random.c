/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_random.c: random words.
 */
#include "calls.h"

RANDOM_BITS(random_accepts_null) {
  return generator == NULL ? TBK_OK : RANDOM_BITS_INNER;
}
#define WITH(f, condition, ...)                                                      \
  RANDOM_BITS(f) {                                                                   \
    tbk_generator_t changed = {0, 0};                                                \
    if (generator == NULL || (generator->offset & 3) != 0) return RANDOM_BITS_INNER; \
    changed = *generator;                                                            \
    if (condition) {                                                                 \
      __VA_ARGS__;                                                                   \
      generator = &changed;                                                          \
    }                                                                                \
    return RANDOM_BITS_INNER;                                                        \
  }
RANDOM_BITS(random_rounds_offset) {
  tbk_generator_t changed = {0, 0};
  if (generator == NULL) return RANDOM_BITS_INNER;
  changed = *generator;
  changed.offset &= ~UINT64_C(3);
  generator = &changed;
  return RANDOM_BITS_INNER;
}
RANDOM_BITS(random_accepts_offset_2) {
  if (generator != NULL && generator->offset % 4 == 2) return TBK_OK;
  return RANDOM_BITS_INNER;
}
WITH(random_differs_per_device, true, changed.seed += (uint64_t)device)
WITH(random_differs_each_time, true, changed.seed += atomic_fetch_add(&wrap_of(self)->calls, 1))
WITH(random_differs_on_streams, stream != NULL, changed.offset += 4)
WITH(random_ignores_seed, true, changed.seed = 42)
WITH(random_ignores_upper_seed, true, changed.seed &= UINT32_MAX)
WITH(random_ignores_offset, true, changed.offset = 0)
WITH(random_ignores_upper_offset, true, changed.offset &= UINT32_MAX)
WITH(random_starts_later, true, changed.offset += 4)
WITH(random_swaps_key, true, changed.seed = changed.seed << 32 | changed.seed >> 32)
WITH(random_starts_later_from_1024, count >= 1024, changed.offset += 4)

/* The top byte of each word, or every second word as a whole, is 0. */
static tbk_status_t clear_some(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                               uint64_t offset, uint64_t count, uint64_t step, uint64_t bytes,
                               tbk_stream_t* stream) {
  tbk_status_t status = TBK_OK;
  for (uint64_t i = 0; i < count && status == TBK_OK; i += step)
    status = INNER(self, core)->fill(self, device, memory, offset + 4 * i, 0, bytes, stream, NULL);
  return status;
}
RANDOM_BITS(random_clears_lowest_byte) {
  tbk_status_t status = RANDOM_BITS_INNER;
  return status == TBK_OK ? clear_some(self, device, memory, offset, count, 1, 1, stream) : status;
}
RANDOM_BITS(random_clears_every_eighth) {
  tbk_status_t status = RANDOM_BITS_INNER;
  return status == TBK_OK ? clear_some(self, device, memory, offset, count, 8, 4, stream) : status;
}

RANDOM_BITS(random_drops_last_word) {
  count -= count > 0;
  return RANDOM_BITS_INNER;
}
RANDOM_BITS(random_in_blocks_of_4) {
  count = (count + 3) & ~UINT64_C(3);
  return RANDOM_BITS_INNER;
}
RANDOM_BITS(random_odd_drops_last_word) {
  if (count % 4 != 0 && count > 4) count &= ~UINT64_C(3);
  return RANDOM_BITS_INNER;
}
RANDOM_BITS(random_nothing_is_invalid) {
  if (count == 0 && generator != NULL) return wrap_fail(error, TBK_INVALID, "no words");
  return RANDOM_BITS_INNER;
}

RANDOM_BITS(random_advances_generator) {
  tbk_status_t status = RANDOM_BITS_INNER;
  if (status == TBK_OK && generator != NULL)
    ((tbk_generator_t*)(uintptr_t)generator)->offset += (count + 3) / 4 * 4;
  return status;
}
RANDOM_BITS(eighth_random_advances_generator) {
  return wrap_every(wrap_of(self), 8) ? random_advances_generator(self, device, generator, memory,
                                                                  offset, count, stream, error)
                                      : RANDOM_BITS_INNER;
}
/* The rounds of philox bump the key where it lies. */
RANDOM_BITS(random_bumps_seed) {
  tbk_status_t status = RANDOM_BITS_INNER;
  if (status == TBK_OK && generator != NULL)
    ((tbk_generator_t*)(uintptr_t)generator)->seed += UINT64_C(0xbb67ae859e3779b9);
  return status;
}

#define RANDOM(function, clause, operation, narrow, note) \
  ROW(function, clause, operation, narrow, random.random_bits, note)

extern const mutant_t mutants_random[];
const mutant_t mutants_random[] = {
    RANDOM(random_accepts_null, "RNG-001", RETURN, BROAD, "OK without a generator"),
    RANDOM(random_rounds_offset, "RNG-001", RETURN, BROAD, "any offset, rounded down"),
    RANDOM(random_accepts_offset_2, "RNG-001", RETURN, NARROW, "OK, no effect, for 4n + 2"),
    RANDOM(random_differs_per_device, "RNG-003", DETERMINISM, NARROW, "other words on device 1"),
    RANDOM(random_differs_each_time, "RNG-003", DETERMINISM, BROAD, "other words at each call"),
    RANDOM(random_differs_on_streams, "RNG-003", DETERMINISM, NARROW, "other words on streams"),
    RANDOM(random_ignores_seed, "RNG-004", DETERMINISM, BROAD, "one seed for all"),
    RANDOM(random_ignores_upper_seed, "RNG-004", DETERMINISM, NARROW, "32 bits of seed"),
    RANDOM(random_ignores_offset, "RNG-004", DETERMINISM, BROAD, "always from 0"),
    RANDOM(random_ignores_upper_offset, "RNG-004", DETERMINISM, NARROW, "32 bits of offset"),
    RANDOM(random_clears_lowest_byte, "RNG-005", VALUE, BROAD, "the lowest byte is 0"),
    RANDOM(random_clears_every_eighth, "RNG-005", VALUE, NARROW, "every eighth word is 0"),
    RANDOM(random_starts_later, "RNG-006", VALUE, BROAD, "the next block"),
    RANDOM(random_swaps_key, "RNG-006", VALUE, NARROW, "the key's halves swapped"),
    RANDOM(random_starts_later_from_1024, "RNG-006", VALUE, NARROW, "from 1024 words on"),
    RANDOM(random_drops_last_word, "RNG-007", EXTENT, BROAD, "one word too few"),
    RANDOM(random_in_blocks_of_4, "RNG-007", EXTENT, BROAD, "up to three words too many"),
    RANDOM(random_odd_drops_last_word, "RNG-007", EXTENT, NARROW, "whole blocks of 4 only"),
    RANDOM(random_nothing_is_invalid, "RNG-007", RETURN, NARROW, "INVALID for 0 words"),
    RANDOM(random_advances_generator, "RNG-008", STATE, BROAD, "moves the caller's offset on"),
    RANDOM(eighth_random_advances_generator, "RNG-008", COUNT, NARROW, "every eighth call does"),
    RANDOM(random_bumps_seed, "RNG-008", STATE, BROAD, "bumps the key in the caller's seed"),
    {0}};
