/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rooms.c: host memory of programs. Most are small, and use the same memory one after the other: to
 * allocate it anew would take longer than the program. What a large one needs goes before the next.
 */
#include <stdlib.h>
#include <string.h>

#include "runner.h"

enum { SMALL_BYTES = 4096, CELL_BYTES = 256, LINE_BYTES = 64, KEPT_BYTES = 1 << 20 };

bool litmus_keeps_cells(const litmus_runner_t* runner) {
  return runner->program->size_bytes <= CELL_BYTES;
}

uint64_t litmus_cell_bytes(const litmus_runner_t* runner) {
  return litmus_keeps_cells(runner) ? CELL_BYTES : runner->program->size_bytes;
}

/* The first half is pinned, as far as there is room for that. */
static uint8_t* make_slot(litmus_runner_t* runner, int slot, uint64_t bytes) {
  void* memory = NULL;
  bool pinned =
      slot < LITMUS_SLOTS / 2 && runner->pinned != NULL &&
      runner->pinned->pinned_alloc(runner->self, 0, bytes, &memory, &runner->error) == TBK_OK;
  runner->is_pinned[slot] = pinned;
  return pinned ? memory : malloc(bytes);
}

static void free_slot(litmus_runner_t* runner, int slot) {
  if (runner->slots[slot] == NULL) return;
  if (runner->is_pinned[slot])
    runner->pinned->pinned_free(runner->self, runner->slots[slot]);
  else
    free(runner->slots[slot]);
}

bool litmus_rooms_open(litmus_runner_t* runner) {
  for (int slot = 0; slot < LITMUS_SLOTS; slot++) {
    runner->small_slots[slot] = make_slot(runner, slot, SMALL_BYTES);
    if (runner->small_slots[slot] == NULL) return false;
  }
  return true;
}

/* What the last program left. */
static void give_back(litmus_runner_t* runner) {
  for (int slot = 0; slot < LITMUS_SLOTS && runner->has_large; slot++)
    free_slot(runner, slot);
  memset(runner->slots, 0, sizeof runner->slots);
  if (runner->looks_bytes <= KEPT_BYTES) return;
  free(runner->looks);
  runner->looks = NULL;
  runner->looks_bytes = 0;
}

static bool begin_slots(litmus_runner_t* runner) {
  const uint64_t size = runner->program->size_bytes;
  runner->has_large = size > SMALL_BYTES;
  for (int slot = 0; slot < LITMUS_SLOTS; slot++) {
    if (!(runner->uses.slots >> slot & 1)) continue;
    runner->slots[slot] =
        runner->has_large ? make_slot(runner, slot, size) : runner->small_slots[slot];
    if (runner->slots[slot] == NULL) return false;
    memset(runner->slots[slot], LITMUS_FIRST_OF_SLOTS + slot, size);
  }
  return true;
}

/* Side by side, so that small ones stay in the cache. */
static void deal_out(litmus_runner_t* runner, uint64_t step_bytes) {
  uint8_t* at = runner->looks;
  for (uint64_t left = runner->uses.looks; left != 0; left &= left - 1) {
    runner->look_of_call[runner->program->calls[__builtin_ctzll(left)].id] = at;
    at += step_bytes;
  }
  for (int cell = 0; cell < LITMUS_CELLS; cell++) {
    if (!(runner->uses.cells >> cell & 1)) continue;
    runner->look_of_cell[cell] = at;
    at += step_bytes;
  }
}

bool litmus_rooms_begin(litmus_runner_t* runner) {
  give_back(runner);
  const uint64_t step = (runner->program->size_bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
  const uint64_t count = (unsigned)__builtin_popcountll(runner->uses.looks) +
                         (unsigned)__builtin_popcount(runner->uses.cells);
  if (count * step > runner->looks_bytes) {
    free(runner->looks);
    runner->looks_bytes = count * step > KEPT_BYTES ? count * step : KEPT_BYTES;
    runner->looks = malloc(runner->looks_bytes);
    if (runner->looks == NULL) runner->looks_bytes = 0;
    if (runner->looks == NULL) return false;
  }
  deal_out(runner, step);
  return begin_slots(runner);
}
