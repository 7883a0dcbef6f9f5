/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * arena_test.c: blocks, the limit, handles of each kind, and addresses that trap.
 */
#include "vdev/arena.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest.h"
#include "vdev/words.h"

enum { BLOCKS = 64, SIZE = 1000, MIB = 1 << 20 };

static const vdev_arena_config_t plain = {.memory_bytes = MIB, .alignment = 64, .flat = 1};

static vdev_arena_t* make(vdev_arena_config_t config) {
  vdev_arena_t* arena = vdev_arena_new(&config, 1);
  CU_ASSERT_PTR_NOT_NULL_FATAL(arena);
  return arena;
}

static void blocks_are_aligned_and_apart(void) {
  vdev_arena_t* arena = make(plain);
  vdev_memory_t blocks[BLOCKS];
  unsigned wrong = 0;
  for (int i = 0; i < BLOCKS; i++) {
    blocks[i] = vdev_arena_take(arena, SIZE);
    wrong += blocks[i] == 0 || blocks[i] % 64 != 0;
    vdev_words_fill(vdev_arena_at(arena, blocks[i], 0, SIZE), (uint8_t)i, SIZE);
  }
  for (int i = 0; i < BLOCKS; i++) {
    const char* at = vdev_arena_at(arena, blocks[i], 0, SIZE);
    wrong += at[0] != (char)i || at[SIZE - 1] != (char)i;
  }
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT_EQUAL(vdev_arena_live_count(arena), BLOCKS);
  vdev_arena_free(arena);
}

static void the_limit_is_real_and_comes_back(void) {
  vdev_arena_t* arena = make(plain);
  CU_ASSERT_EQUAL(vdev_arena_take(arena, MIB + 1), 0);
  for (int round = 0; round < 3; round++) {
    CU_ASSERT_EQUAL(vdev_arena_free_bytes(arena), MIB);
    vdev_memory_t halves[] = {vdev_arena_take(arena, MIB / 2), vdev_arena_take(arena, MIB / 2)};
    CU_ASSERT(halves[0] && halves[1]);
    CU_ASSERT_EQUAL(vdev_arena_free_bytes(arena), 0);
    CU_ASSERT_EQUAL(vdev_arena_take(arena, 0), 0);
    CU_ASSERT(vdev_arena_give(arena, halves[round % 2]));
    CU_ASSERT(vdev_arena_give(arena, halves[1 - round % 2]));
  }
  vdev_arena_free(arena);
}

/* Aligned blocks take more addresses than memory; 1,000 bytes count as 1,024. */
static void alignment_uses_up_no_memory(void) {
  vdev_arena_config_t config = plain;
  config.alignment = 4096;
  vdev_arena_t* arena = make(config);
  unsigned count = vdev_arena_take(arena, SIZE) != 0;
  CU_ASSERT_EQUAL(vdev_arena_take(arena, MIB), 0);
  while (vdev_arena_take(arena, SIZE))
    count++;
  CU_ASSERT_EQUAL(count, MIB / 1024);
  vdev_arena_free(arena);
}

static void what_is_no_block_is_not_given_back(void) {
  vdev_arena_t* arena = make(plain);
  vdev_memory_t block = vdev_arena_take(arena, SIZE);
  CU_ASSERT_FALSE(vdev_arena_give(arena, block + 64));
  CU_ASSERT_FALSE(vdev_arena_give(arena, 0));
  CU_ASSERT_TRUE(vdev_arena_give(arena, block));
  CU_ASSERT_FALSE(vdev_arena_give(arena, block));
  CU_ASSERT_EQUAL(vdev_arena_free_bytes(arena), MIB);
  vdev_arena_free(arena);
}

/* Returns whether a write of the host to this address ends its process by SIGSEGV. */
static bool traps(uint64_t address) {
  pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    *(volatile char*)(uintptr_t)address = 1;
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  /* A sanitizer's handler may exit in its place. */
  return WIFSIGNALED(status) ? WTERMSIG(status) == SIGSEGV : WEXITSTATUS(status) != 0;
}

static void the_host_cannot_touch_it(void) {
  vdev_arena_t* arena = make(plain);
  vdev_memory_t block = vdev_arena_take(arena, SIZE);
  CU_ASSERT(traps(block));
  CU_ASSERT(traps(block + SIZE - 1));
  vdev_arena_empty(arena);
  CU_ASSERT(traps(block));
  vdev_arena_free(arena);
}

static void a_range_outside_is_nowhere(void) {
  vdev_arena_t* arena = make(plain);
  vdev_memory_t block = vdev_arena_take(arena, MIB);
  CU_ASSERT_PTR_NOT_NULL(vdev_arena_at(arena, block, MIB, 0));
  CU_ASSERT_PTR_NOT_NULL(vdev_arena_at(arena, block + 5, 7, MIB - 12));
  CU_ASSERT_PTR_NULL(vdev_arena_at(arena, block, 1, MIB));
  CU_ASSERT_PTR_NULL(vdev_arena_at(arena, block, UINT64_MAX, 2));
  CU_ASSERT_PTR_NULL(vdev_arena_at(arena, block - 1, 0, 1));
  vdev_arena_free(arena);
}

static void opaque_handles_name_blocks_alone(void) {
  vdev_arena_config_t config = plain;
  config.flat = 0;
  vdev_arena_t *arena = make(config), *later = vdev_arena_new(&config, 2);
  vdev_memory_t block = vdev_arena_take(arena, SIZE);
  CU_ASSERT_PTR_NOT_NULL(vdev_arena_at(arena, block, SIZE, 0));
  CU_ASSERT_PTR_NULL(vdev_arena_at(arena, block, 1, SIZE));
  CU_ASSERT_PTR_NULL(vdev_arena_at(arena, block + 1, 0, 1));
  CU_ASSERT_NOT_EQUAL(vdev_arena_take(later, SIZE), block);
  vdev_arena_free(arena);
  vdev_arena_free(later);
}

static void an_address_finds_its_block(void) {
  vdev_arena_t* arena = make(plain);
  vdev_memory_t first = vdev_arena_take(arena, SIZE), second = vdev_arena_take(arena, 2 * SIZE);
  vdev_memory_t found = 0;
  uint64_t size_bytes = 0;
  CU_ASSERT(vdev_arena_find(arena, second + 2 * SIZE - 1, &found, &size_bytes));
  CU_ASSERT(found == second && size_bytes == 2 * SIZE);
  CU_ASSERT(vdev_arena_find(arena, first, &found, &size_bytes));
  CU_ASSERT(found == first && size_bytes == SIZE);
  CU_ASSERT_FALSE(vdev_arena_find(arena, first + SIZE, &found, &size_bytes));
  vdev_arena_give(arena, first);
  CU_ASSERT_FALSE(vdev_arena_find(arena, first, &found, &size_bytes));
  vdev_arena_free(arena);
}

/* Takes and gives back one block twice; returns whether the same handle came again. */
static bool comes_back(uint64_t handles) {
  vdev_arena_config_t config = plain;
  config.handles = handles;
  vdev_arena_t* arena = make(config);
  vdev_memory_t block = vdev_arena_take(arena, SIZE);
  vdev_arena_give(arena, block);
  bool again = vdev_arena_take(arena, SIZE) == block;
  vdev_arena_free(arena);
  return again;
}

static void handles_come_as_configured(void) {
  CU_ASSERT_TRUE(comes_back(VDEV_REUSE));
  CU_ASSERT_FALSE(comes_back(VDEV_FRESH));
  CU_ASSERT_FALSE(comes_back(VDEV_NEVER));
}

static void a_block_can_be_limited(void) {
  vdev_arena_config_t config = plain;
  config.allocation_bytes = MIB / 2;
  vdev_arena_t* arena = make(config);
  CU_ASSERT_EQUAL(vdev_arena_take(arena, MIB / 2 + 1), 0);
  CU_ASSERT_NOT_EQUAL(vdev_arena_take(arena, MIB / 2), 0);
  vdev_arena_free(arena);
}

static void fresh_memory_can_be_poisoned(void) {
  vdev_arena_config_t config = plain;
  config.poison = 1;
  config.alignment = 4096;
  vdev_arena_t* arena = make(config);
  vdev_memory_t block = vdev_arena_take(arena, SIZE);
  CU_ASSERT_EQUAL(block % 4096, 0);
  const unsigned char* at = (unsigned char*)vdev_arena_at(arena, block, 0, SIZE);
  CU_ASSERT(at[0] == 0xcb && at[SIZE - 1] == 0xcb && at[SIZE] == 0);
  vdev_arena_free(arena);
}

static void* take_and_give(void* arena) {
  for (uint64_t i = 1; i <= 2000; i++) {
    vdev_memory_t block = vdev_arena_take(arena, vdev_mix(i) % 5000);
    if (block) vdev_arena_give(arena, block);
  }
  return NULL;
}

static void threads_leave_it_whole(void) {
  vdev_arena_t* arena = make(plain);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, take_and_give, arena), 0);
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
  CU_ASSERT_EQUAL(vdev_arena_live_count(arena), 0);
  CU_ASSERT_NOT_EQUAL(vdev_arena_take(arena, MIB), 0);
  vdev_arena_free(arena);
}

CU_TestInfo vdev_arena_tests[] = {
    {"blocks are aligned and apart", blocks_are_aligned_and_apart},
    {"the limit is real and comes back", the_limit_is_real_and_comes_back},
    {"alignment uses up no memory", alignment_uses_up_no_memory},
    {"what is no block is not given back", what_is_no_block_is_not_given_back},
    {"the host cannot touch it", the_host_cannot_touch_it},
    {"a range outside is nowhere", a_range_outside_is_nowhere},
    {"opaque handles name blocks alone", opaque_handles_name_blocks_alone},
    {"an address finds its block", an_address_finds_its_block},
    {"handles come as configured", handles_come_as_configured},
    {"a block can be limited", a_block_can_be_limited},
    {"fresh memory can be poisoned", fresh_memory_can_be_poisoned},
    {"threads leave it whole", threads_leave_it_whole},
    CU_TEST_INFO_NULL,
};
