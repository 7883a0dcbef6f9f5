/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * host.c: groups one after the other, in an order that is drawn, and their accesses checked.
 */
#include <emit/host.h>
#include <emit/object.h>
#include <string.h>

static _Thread_local emit_host_group_t* running;

void* emit_host_reach(uintptr_t address, size_t size_bytes, size_t alignment) {
  static _Thread_local union {
    char bytes[16];
    uint64_t words[2];
  } nowhere;
  for (int i = 0; i < running->range_count && address % alignment == 0; i++) {
    const emit_host_range_t* range = &running->ranges[i];
    if (address < range->start || size_bytes > range->size_bytes) continue;
    if (address - range->start <= range->size_bytes - size_bytes) return (void*)address;
  }
  running->out_of_range = true;
  memset(&nowhere, 0, sizeof nowhere);
  return &nowhere;
}

/* The next number of a sequence that passes many tests of randomness: "splitmix64". */
static uint64_t draw(uint64_t* state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* Any start and any odd step come to each of 64 items once. */
void emit_host_draw(emit_host_group_t* group) {
  const uint64_t drawn = draw(&group->drawn);
  group->start = (unsigned)(drawn % EMIT_HOST_GROUP);
  group->step = (unsigned)(drawn >> 32 & (EMIT_HOST_GROUP - 1)) | 1;
}

bool emit_host_run(const emit_host_kernel_t* kernel, int64_t groups, const void* const* parameters,
                   const emit_host_range_t* ranges, uint64_t seed) {
  emit_host_group_t group = {.drawn = seed, .ranges = ranges, .range_count = kernel->pointer_count};
  const int64_t first = groups > 0 ? (int64_t)(draw(&group.drawn) % (uint64_t)groups) : 0;
  const bool backwards = draw(&group.drawn) & 1;
  running = &group;
  for (int64_t turn = 0; turn < groups; turn++) {
    const int64_t along = backwards ? groups - 1 - turn : turn;
    group.index = along < groups - first ? first + along : along - (groups - first);
    kernel->run(&group, parameters);
  }
  running = NULL;
  return !group.out_of_range;
}

const emit_host_kernel_t* emit_host_load(const void* bytes, size_t size) {
  static const emit_host_functions_t functions = {emit_host_reach, emit_host_draw};
  const emit_host_kernel_t* (*object)(const emit_host_functions_t*) = NULL;
  void* symbol = emit_object_load(bytes, size, "emit_host_object");
  if (symbol == NULL) return NULL;
  memcpy(&object, &symbol, sizeof object);
  return object(&functions);
}
