/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "drawn.h"

#include "range.h"

const uint64_t drawn_counts[DRAWN_COUNTS] = {1, 2, 3, 4, 5, 7, 64, 255, 1024, 4097, 65537, 262144};

tbk_status_t drawn_into(tbk_fixture_t* fx, uint64_t seed, uint64_t start, tbk_memory_t memory,
                        uint64_t offset, uint64_t count, tbk_stream_t* stream) {
  tbk_generator_t generator = {seed, start};
  return fx->random->random_bits(fx->self, fx->device, &generator, memory, offset, count, stream,
                                 &fx->error);
}

uint32_t* drawn_words(tbk_fixture_t* fx, uint64_t seed, uint64_t start, uint64_t count) {
  block_t block;
  block_make(fx, &block, count * sizeof(uint32_t));
  REQUIRE_OK(drawn_into(fx, seed, start, block.memory, 0, count, NULL));
  fx_download(fx, block.model, block.memory, block.size);
  block_drop(fx, &block);
  return (uint32_t*)(void*)block.model;
}

uint64_t drawn_equal(const uint32_t* a, const uint32_t* b, uint64_t count) {
  uint64_t equal = 0;
  for (uint64_t i = 0; i < count; ++i)
    equal += a[i] == b[i];
  return equal;
}
