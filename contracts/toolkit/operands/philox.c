/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Salmon, Moraes, Dror and Shaw: Parallel random numbers: as easy as 1, 2, 3 (2011).
 */
#include "philox.h"

static void philox_round(uint32_t counter[4], const uint32_t key[2]) {
  uint64_t even = UINT64_C(0xd2511f53) * counter[0];
  uint64_t odd = UINT64_C(0xcd9e8d57) * counter[2];
  uint32_t first = (uint32_t)(odd >> 32) ^ counter[1] ^ key[0];
  uint32_t third = (uint32_t)(even >> 32) ^ counter[3] ^ key[1];
  counter[0] = first;
  counter[1] = (uint32_t)odd;
  counter[2] = third;
  counter[3] = (uint32_t)even;
}

void philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t round_key[2] = {key[0], key[1]};
  for (int i = 0; i < 4; ++i)
    out[i] = counter[i];
  for (int round = 0; round < 10; ++round) {
    philox_round(out, round_key);
    round_key[0] += 0x9e3779b9u;
    round_key[1] += 0xbb67ae85u;
  }
}

uint32_t philox_word(uint64_t seed, uint64_t offset, uint64_t index) {
  uint64_t block = (offset + index) / 4;
  const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  uint32_t out[4];
  philox_block(counter, key, out);
  return out[(offset + index) % 4];
}
