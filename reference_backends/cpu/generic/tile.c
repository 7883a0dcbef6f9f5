/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tile.c: elements between the memory of a device and buffers. A tile is moved row by row: a row is
 * what lies in the last dimension, in which an operand moves by one stride.
 */
#include <string.h>

#include "frame.h"

typedef uint8_t __attribute__((may_alias)) word1_t;
typedef uint16_t __attribute__((may_alias)) word2_t;
typedef uint32_t __attribute__((may_alias)) word4_t;
typedef uint64_t __attribute__((may_alias)) word8_t;

#define SIZES(X) \
  X(1, word1_t)  \
  X(2, word2_t)  \
  X(4, word4_t)  \
  X(8, word8_t)

void tile_seek(tile_t* tile, int64_t position) {
  tile->position = position;
  for (int32_t d = tile->first + tile->rank - 1; d >= tile->first; d--) {
    const int64_t size = tile->space->sizes[d];
    tile->index[d] = position % size;
    position /= size;
  }
}

/* An element that is not aligned, which no allocator hands out, is moved by cpu_load_word. */
static void load_strided(char* to, const char* from, int64_t stride, int64_t count, int64_t bytes) {
  const bool aligned = ((uintptr_t)from | (uintptr_t)stride) % (uintptr_t)bytes == 0;
  if (!aligned) {
    for (int64_t i = 0; i < count; i++) {
      const uint64_t word = cpu_load_word(from + i * stride, bytes);
      memcpy(to + i * bytes, &word, (size_t)bytes);
    }
    return;
  }
  switch (bytes) {
#define LOAD(size, T)                                                                    \
  case size:                                                                             \
    for (int64_t i = 0; i < count; i++)                                                  \
      ((T*)(void*)to)[i] =                                                               \
          __atomic_load_n((const T*)(const void*)(from + i * stride), __ATOMIC_RELAXED); \
    break;
    SIZES(LOAD)
#undef LOAD
  }
}

static void store_strided(char* to, const char* from, int64_t stride, int64_t count,
                          int64_t bytes) {
  const bool aligned = ((uintptr_t)to | (uintptr_t)stride) % (uintptr_t)bytes == 0;
  if (!aligned) {
    for (int64_t i = 0; i < count; i++) {
      uint64_t word = 0;
      memcpy(&word, from + i * bytes, (size_t)bytes);
      cpu_store_word(to + i * stride, word, bytes);
    }
    return;
  }
  switch (bytes) {
#define STORE(size, T)                                                                 \
  case size:                                                                           \
    for (int64_t i = 0; i < count; i++)                                                \
      __atomic_store_n((T*)(void*)(to + i * stride), ((const T*)(const void*)from)[i], \
                       __ATOMIC_RELAXED);                                              \
    break;
    SIZES(STORE)
#undef STORE
  }
}

void lanes_fill(void* buffer, uint64_t bits, int64_t element_bytes, size_t count) {
  switch (element_bytes) {
#define FILL(size, T)                  \
  case size:                           \
    for (size_t i = 0; i < count; i++) \
      ((T*)buffer)[i] = (T)bits;       \
    break;
    SIZES(FILL)
#undef FILL
  }
}

void cpu_row_load(char* to, const char* from, int64_t stride, int64_t count, int64_t bytes) {
  if (stride == bytes)
    cpu_move_find()(to, from, (size_t)(count * bytes));
  else if (stride == 0)
    lanes_fill(to, cpu_load_word(from, bytes), bytes, (size_t)count);
  else
    load_strided(to, from, stride, count, bytes);
}

void cpu_row_store(char* to, const char* from, int64_t stride, int64_t count, int64_t bytes) {
  if (stride == bytes)
    cpu_move_find()(to, from, (size_t)(count * bytes));
  else
    store_strided(to, from, stride, count, bytes);
}

char* tile_beginning(const tile_t* tile, const access_t* access) {
  char* data = access->data;
  const int32_t rank = tile->space->outer_rank + tile->space->inner_rank;
  for (int32_t d = 0; d < rank; d++)
    data += tile->index[d] * access->strides[d];
  return data;
}

/* Moves `at` and `index` behind a row of `count` elements. */
static char* behind(const tile_t* tile, const access_t* access, int64_t* index, char* at,
                    int64_t count) {
  int32_t d = tile->first + tile->rank - 1;
  at += count * access->strides[d];
  index[d] += count;
  while (index[d] == tile->space->sizes[d] && d > tile->first) {
    at += access->strides[d - 1] - access->strides[d] * index[d];
    index[d--] = 0;
    index[d]++;
  }
  return at;
}

typedef void (*row_fn)(char* buffer, char* at, int64_t stride, int64_t count, int64_t bytes);

static void read_row(char* buffer, char* at, int64_t stride, int64_t count, int64_t bytes) {
  cpu_row_load(buffer, at, stride, count, bytes);
}

static void write_row(char* buffer, char* at, int64_t stride, int64_t count, int64_t bytes) {
  cpu_row_store(at, buffer, stride, count, bytes);
}

static void each_row(const tile_t* tile, const access_t* access, char* buffer, row_fn move) {
  char* at = tile_beginning(tile, access);
  const int64_t bytes = access->element_bytes;
  if (tile->rank == 0) {
    move(buffer, at, bytes, 1, bytes);
    return;
  }
  const int32_t last = tile->first + tile->rank - 1;
  int64_t index[SPACE_RANK];
  memcpy(index, tile->index, sizeof index);
  for (int64_t left = (int64_t)tile->count; left > 0;) {
    const int64_t rest = tile->space->sizes[last] - index[last], row = rest < left ? rest : left;
    move(buffer, at, access->strides[last], row, bytes);
    buffer += row * bytes;
    left -= row;
    if (left) at = behind(tile, access, index, at, row);
  }
}

void tile_load(const tile_t* tile, const access_t* access, void* buffer) {
  each_row(tile, access, buffer, read_row);
  if (access->dtype != TBK_BOOL) return;
  uint8_t* truth = buffer;
  for (size_t i = 0; i < tile->count; i++)
    truth[i] = truth[i] != 0;
}

void tile_store(const tile_t* tile, const access_t* access, const void* buffer) {
  each_row(tile, access, (char*)(uintptr_t)buffer, write_row);
}

static void count_coordinates(const tile_t* tile, int32_t d, int64_t* buffer) {
  int64_t coordinate = tile->index[d], rows = 1;
  if (d < tile->first || d >= tile->first + tile->rank) {
    lanes_fill(buffer, (uint64_t)coordinate, sizeof *buffer, tile->count);
    return;
  }
  for (int32_t e = d + 1; e < tile->first + tile->rank; e++)
    rows *= tile->space->sizes[e];
  int64_t left = rows - tile->position % rows;
  for (size_t i = 0; i < tile->count; i++) {
    buffer[i] = coordinate;
    if (--left) continue;
    left = rows;
    if (++coordinate == tile->space->sizes[d]) coordinate = 0;
  }
}

void tile_coordinates(const tile_t* tile, int32_t d, int64_t* buffer) {
  const space_t* space = tile->space;
  count_coordinates(tile, d, buffer);
  if (!space->reversed || d != space->outer_rank + space->inner_rank - 1) return;
  for (size_t i = 0; i < tile->count; i++)
    buffer[i] = space->sizes[d] - 1 - buffer[i];
}

/* Returns where the element lies that lane `i` asks for; NULL where it gets 0. */
static const char* place_of(const access_t* access, uint16_t bounds, const void* const* in,
                            size_t i) {
  const char* at = access->data;
  for (int32_t d = 0; d < access->own_rank && at; d++) {
    const int64_t last = access->own_sizes[d] - 1;
    int64_t index = ((const int64_t*)in[d])[i];
    if (bounds == TBK_BOUNDS_ZERO && (index < 0 || index > last)) return NULL;
    if (bounds == TBK_BOUNDS_CLAMP) index = index < 0 ? 0 : index > last ? last : index;
    at += index * access->strides[d];
  }
  return at;
}

void tile_gather(const tile_t* tile, const access_t* access, uint16_t bounds, const void* const* in,
                 void* buffer) {
  const int64_t bytes = access->element_bytes;
  for (size_t i = 0; i < tile->count; i++) {
    const char* at = place_of(access, bounds, in, i);
    uint64_t word = at ? cpu_load_word(at, bytes) : 0;
    if (access->dtype == TBK_BOOL) word = word != 0;
    memcpy((char*)buffer + (int64_t)i * bytes, &word, (size_t)bytes);
  }
}
