/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * gather.c: elements by index. Where the lanes of a tile find theirs is computed a dimension at a time,
 * for so many lanes as stay near by.
 */
#include <string.h>

#include "frame.h"

enum { CHUNK = 64 };

typedef uint8_t __attribute__((may_alias)) word1_t;
typedef uint16_t __attribute__((may_alias)) word2_t;
typedef uint32_t __attribute__((may_alias)) word4_t;
typedef uint64_t __attribute__((may_alias)) word8_t;

typedef struct places {
  int64_t offsets[CHUNK]; /* in bytes */
  uint8_t outside[CHUNK]; /* whether the lane gets 0 */
} places_t;

/* One loop for each way to treat bounds, so that none asks for it by the lane. Where there is no element
 * none is the nearest. */
static void add_dimension(places_t* places, const int64_t* index, int64_t size, int64_t stride,
                          uint16_t bounds, size_t count) {
  const int64_t last = size - 1;
  if (bounds == TBK_BOUNDS_TRUSTED)
    for (size_t i = 0; i < count; i++)
      places->offsets[i] += index[i] * stride;
  else if (bounds == TBK_BOUNDS_CLAMP && size > 0)
    for (size_t i = 0; i < count; i++) {
      const int64_t low = index[i] < 0 ? 0 : index[i];
      places->offsets[i] += (low > last ? last : low) * stride;
    }
  else
    for (size_t i = 0; i < count; i++) {
      const bool outside = (uint64_t)index[i] >= (uint64_t)size;
      places->outside[i] |= outside;
      places->offsets[i] += (outside ? 0 : index[i]) * stride;
    }
}

/* What is not aligned, which no allocator hands out, is moved by cpu_load_word. */
static void load_words(const places_t* places, const char* data, int64_t bytes, bool aligned,
                       size_t count, char* to) {
  if (!aligned) {
    for (size_t i = 0; i < count; i++) {
      const uint64_t word =
          places->outside[i] ? 0 : cpu_load_word(data + places->offsets[i], bytes);
      memcpy(to + (int64_t)i * bytes, &word, (size_t)bytes);
    }
    return;
  }
  switch (bytes) {
#define LOAD(size, T)                                                                              \
  case size:                                                                                       \
    for (size_t i = 0; i < count; i++)                                                             \
      ((T*)(void*)to)[i] =                                                                         \
          places->outside[i] ? 0                                                                   \
                             : __atomic_load_n((const T*)(const void*)(data + places->offsets[i]), \
                                               __ATOMIC_RELAXED);                                  \
    break;
    LOAD(1, word1_t)
    LOAD(2, word2_t)
    LOAD(4, word4_t)
    LOAD(8, word8_t)
#undef LOAD
  }
}

static bool is_aligned(const access_t* access) {
  uintptr_t all = (uintptr_t)access->data;
  for (int32_t d = 0; d < access->own_rank; d++)
    all |= (uintptr_t)access->strides[d];
  return all % (uintptr_t)access->element_bytes == 0;
}

void tile_gather(const tile_t* tile, const access_t* access, uint16_t bounds, const void* const* in,
                 void* buffer) {
  const int64_t bytes = access->element_bytes;
  const bool aligned = is_aligned(access);
  for (size_t first = 0; first < tile->count; first += CHUNK) {
    const size_t left = tile->count - first, count = left < CHUNK ? left : CHUNK;
    places_t places = {.outside = {0}};
    for (int32_t d = 0; d < access->own_rank; d++)
      add_dimension(&places, (const int64_t*)in[d] + first, access->own_sizes[d],
                    access->strides[d], bounds, count);
    load_words(&places, access->data, bytes, aligned, count,
               (char*)buffer + (int64_t)first * bytes);
  }
  uint8_t* truth = buffer;
  if (access->dtype == TBK_BOOL)
    for (size_t i = 0; i < tile->count; i++)
      truth[i] = truth[i] != 0;
}
