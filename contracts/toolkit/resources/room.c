/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "room.h"

#include <stdio.h>
#include <unistd.h>

#include "resources.h"

/* Offset, guards and what rounding to the granularity may add to a block. */
enum { UNITS_AROUND = 10, BYTES_AROUND = 256, BLOCKS = 4 };
enum { LEAST_BYTES = 4 << 20 }; /* that the header promises in one */

uint64_t room_total(const tbk_device_properties_t* properties) {
  return properties->memory_bytes != 0 ? properties->memory_bytes : ROOM_UNKNOWN_BYTES;
}

uint64_t room_allocation(const tbk_device_properties_t* properties) {
  uint64_t total = room_total(properties), most = properties->max_allocation_bytes;
  return most != 0 && most < total ? most : total;
}

static uint64_t ask_left(const tbk_fixture_t* fx, int32_t device) {
  const uint64_t total = room_total(fx_properties(fx, device));
  uint64_t free_bytes = 0, all = 0;
  if (fx->core == NULL || !TBK_HAS(fx->core, tbk_core_t, memory_info)) return total;
  const tbk_status_t status = fx->core->memory_info(fx->self, device, &free_bytes, &all, NULL);
  return status == TBK_OK && free_bytes < total ? free_bytes : total;
}

static uint64_t left_of(const tbk_fixture_t* fx, int32_t device) {
  uint64_t* left_bytes = &fx->resources->session->left_bytes[device];
  if (*left_bytes == 0) *left_bytes = ask_left(fx, device);
  if (*left_bytes < LEAST_BYTES) *left_bytes = LEAST_BYTES;
  return *left_bytes;
}

/* A test that has both devices open may put what it makes on either. */
uint64_t room_left(const tbk_fixture_t* fx) {
  const uint64_t here = left_of(fx, fx->device);
  const int32_t other = fx->device == 0;
  const bool open = other == 1 ? fx->resources->second_open : fx->resources->session->device_open;
  const uint64_t there = open ? left_of(fx, other) : here;
  return there < here ? there : here;
}

uint64_t room_share(const tbk_fixture_t* fx, uint64_t parts) {
  const uint64_t share = room_left(fx) / parts, most = room_allocation(&fx->properties);
  return share < most ? share : most;
}

bool room_fits(const tbk_fixture_t* fx, uint64_t size_bytes) {
  uint64_t share = room_total(&fx->properties) / BLOCKS;
  uint64_t most = room_allocation(&fx->properties);
  uint64_t whole = size_bytes + BYTES_AROUND + UNITS_AROUND * fx_round(fx, 1);
  if (whole > share || whole > most) return false;
  return whole <= LEAST_BYTES / BLOCKS || whole <= room_left(fx) / BLOCKS;
}

uint64_t room_pinned(const tbk_fixture_t* fx, uint64_t bytes) {
  uint64_t* known_bytes = &fx->resources->session->pinned_bytes;
  void* pointer = NULL;
  while (bytes > ROOM_PINNED_BYTES && bytes > *known_bytes &&
         fx->pinned->pinned_alloc(fx->self, fx->device, bytes, &pointer, NULL) == TBK_OUT_OF_MEMORY)
    bytes = bytes / 2 > ROOM_PINNED_BYTES ? bytes / 2 : ROOM_PINNED_BYTES;
  if (pointer == NULL) return bytes;
  fx->pinned->pinned_free(fx->self, pointer);
  return *known_bytes = bytes;
}

uint64_t room_cell(const tbk_fixture_t* fx, uint64_t bytes, uint64_t count) {
  while (bytes > 1 && !room_fits(fx, fx_round(fx, bytes) * count))
    bytes /= 2;
  return bytes;
}

int64_t room_length(const tbk_fixture_t* fx, int64_t rows, int64_t length) {
  while (length > 1 && !room_fits(fx, 8 * (uint64_t)(length * (rows > 0 ? rows : 1))))
    length /= 2;
  return length;
}

size_t room_mark(const tbk_fixture_t* fx) {
  return fx->resources->memory.count;
}

void room_release(tbk_fixture_t* fx, size_t mark) {
  if (fx->resources->memory.count > mark) tbk_memory_give_back(fx, mark);
}

tbk_status_t room_take(tbk_fixture_t* fx, uint64_t size_bytes) {
  uint64_t most = room_allocation(&fx->properties);
  while (size_bytes > 0) {
    uint64_t piece = size_bytes < most ? size_bytes : most;
    tbk_memory_t memory = 0;
    tbk_status_t status = fx->core->memory_alloc(fx->self, fx->device, piece, &memory, &fx->error);
    if (status != TBK_OK) return status;
    fx_adopt_memory(fx, fx->device, memory);
    size_bytes -= piece;
  }
  return TBK_OK;
}

static uint64_t address_space_bytes(void) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%lu", &pages) != 1) pages = 0;
  fclose(file);
  return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

struct rlimit room_narrow_host(tbk_fixture_t* fx, uint64_t bytes) {
  struct rlimit limit;
  const uint64_t most = address_space_bytes() + bytes;
  SUITE_REQUIRE(getrlimit(RLIMIT_AS, &limit) == 0);
  if (most == bytes)
    fx_evidence(fx, TBK_NOT_SHOWN, "the kernel does not tell what address space is taken");
  else if (limit.rlim_cur > most)
    SUITE_REQUIRE(setrlimit(RLIMIT_AS, &(struct rlimit){most, limit.rlim_max}) == 0);
  return limit;
}
