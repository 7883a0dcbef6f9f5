/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * random.c: Philox4x32-10, as the contract lays it out.
 */
#include "cpu.h"

enum { ROUNDS = 10 };

typedef struct random_work {
  vdev_work_t work;
  char* to;
  uint64_t count;
  tbk_generator_t generator;
} random_work_t;

/* Four words for the counter (`block` as 64 bits, 0, 0). */
static void philox(uint64_t seed, uint64_t block, uint32_t words[4]) {
  uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
  for (int round = 0; round < ROUNDS; round++) {
    uint64_t left = UINT64_C(0xd2511f53) * counter[0];
    uint64_t right = UINT64_C(0xcd9e8d57) * counter[2];
    uint32_t next[4] = {(uint32_t)(right >> 32) ^ counter[1] ^ key[0], (uint32_t)right,
                        (uint32_t)(left >> 32) ^ counter[3] ^ key[1], (uint32_t)left};
    for (int i = 0; i < 4; i++)
      counter[i] = next[i];
    key[0] += UINT32_C(0x9e3779b9);
    key[1] += UINT32_C(0xbb67ae85);
  }
  for (int i = 0; i < 4; i++)
    words[i] = counter[i];
}

static void generate(vdev_work_t* base) {
  const random_work_t* work = (const random_work_t*)base;
  uint32_t words[4] = {0};
  for (uint64_t i = 0; i < work->count; i++) {
    if (i % 4 == 0) philox(work->generator.seed, (work->generator.offset + i) / 4, words);
    vdev_words_copy(work->to + 4 * i, &words[i % 4], sizeof words[0]);
  }
}

static tbk_status_t random_bits(tbk_instance_t* self, int32_t index,
                                const tbk_generator_t* generator, tbk_memory_t memory,
                                uint64_t offset, uint64_t count, tbk_stream_t* stream,
                                tbk_error_t* error) {
  tbk_status_t status = cpu_enter_stream(self, index, stream, error);
  if (status != TBK_OK) return status;
  if (!generator || generator->offset % 4)
    return cpu_fail(TBK_INVALID, error, "generator is NULL or its offset no multiple of 4");
  if (count == 0) return TBK_OK;
  char* to = count > UINT64_MAX / 4
                 ? NULL
                 : vdev_arena_at(cpu_arena(self, index), memory, offset, 4 * count);
  if (!to) return cpu_fail(TBK_INVALID, error, "a range outside of the memory");
  random_work_t* work = vdev_work_new(sizeof *work, generate);
  if (work) {
    work->to = to;
    work->count = count;
    work->generator = *generator;
  }
  return cpu_tell(vdev_submit(cpu_lane(stream), work), error);
}

const tbk_random_ops_t cpu_random_ops = {sizeof cpu_random_ops, random_bits};
