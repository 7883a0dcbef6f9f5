/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "drawn.h"

#include "range.h"
#include "resources.h"

const uint64_t drawn_counts[DRAWN_COUNTS] = {1, 2, 3, 4, 5, 7, 64, 255, 1024, 4097, 65537, 262144};

tbk_status_t drawn_into(tbk_fixture_t* fx, uint64_t seed, uint64_t start, tbk_memory_t memory,
                        uint64_t offset, uint64_t count, tbk_stream_t* stream) {
  tbk_generator_t generator = {seed, start};
  return fx->random->random_bits(fx->self, fx->device, &generator, memory, offset, count, stream,
                                 &fx->error);
}

/* Leaves the test where words came late: they can't be what others are compared with. A word that is as before may be
 * drawn so, once in 2^32. */
static void leave_if_late(tbk_fixture_t* fx, const block_t* block, const uint32_t* words,
                          uint64_t count) {
  if (drawn_equal(words, (const uint32_t*)(const void*)block->model, count) == 0) return;
  const char* late = fx_late_clause(fx, words, block->memory, block->size);
  TBK_CHECKS(late);
  if (!CHECK_SAID(late == NULL, "words that are drawn without a stream are there on return",
                  "they came late: others when read back again"))
    tbk_leave();
}

uint32_t* drawn_words(tbk_fixture_t* fx, uint64_t seed, uint64_t start, uint64_t count) {
  block_t block;
  block_make(fx, &block, count * sizeof(uint32_t));
  uint32_t* words = (uint32_t*)(void*)fx_zeros(fx, block.size);
  REQUIRE_OK(drawn_into(fx, seed, start, block.memory, 0, count, NULL));
  fx_download(fx, words, block.memory, block.size);
  leave_if_late(fx, &block, words, count);
  block_drop(fx, &block);
  return words;
}

uint64_t drawn_equal(const uint32_t* a, const uint32_t* b, uint64_t count) {
  uint64_t equal = 0;
  for (uint64_t i = 0; i < count; ++i)
    equal += a[i] == b[i];
  return equal;
}
