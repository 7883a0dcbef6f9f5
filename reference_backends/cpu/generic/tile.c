/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tile.c: elements between the memory of a device and buffers. A tile is moved row by row: a row is
 * what an operand goes through by one stride.
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
  cpu_fill_find()(buffer, bits, element_bytes, count);
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

void cpu_row_copy(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t count,
                  int64_t bytes) {
  enum { ELEMENTS = 256 };
  uint64_t buffer[ELEMENTS];
  if (to_stride == bytes && from_stride == bytes) {
    cpu_move_find()(to, from, (size_t)(count * bytes));
    return;
  }
  while (count > 0) {
    const int64_t some = count < ELEMENTS ? count : ELEMENTS;
    cpu_row_load((char*)buffer, from, from_stride, some, bytes);
    cpu_row_store(to, (const char*)buffer, to_stride, some, bytes);
    from += some * from_stride;
    to += some * to_stride;
    count -= some;
  }
}

char* tile_beginning(const tile_t* tile, const access_t* access) {
  char* data = access->data;
  const int32_t rank = tile->space->outer_rank + tile->space->inner_rank;
  for (int32_t d = 0; d < rank; d++)
    data += tile->index[d] * access->strides[d];
  return data;
}

/* What an operand goes through by one stride: the last dimensions of a tile, as far as they are one. */
typedef struct rows {
  int32_t first; /* of these dimensions */
  int64_t size, stride;
  int64_t begun; /* where in a row a tile begins */
} rows_t;

static rows_t find_rows(const tile_t* tile, const access_t* access) {
  const int64_t* sizes = tile->space->sizes;
  int32_t d = tile->first + tile->rank - 1;
  while (d > tile->first && sizes[d] == 1)
    d--;
  rows_t rows = {d, sizes[d], access->strides[d], tile->index[d]};
  while (rows.first > tile->first) {
    const int32_t next = rows.first - 1;
    if (sizes[next] != 1 && access->strides[next] != rows.stride * rows.size) break;
    rows.begun += tile->index[next] * rows.size;
    rows.size *= sizes[next];
    rows.first = next;
  }
  return rows;
}

char* tile_together(const tile_t* tile, const access_t* access) {
  if (tile->rank == 0 || tile->count % CPU_LANE_STEP) return NULL;
  const rows_t rows = find_rows(tile, access);
  if (rows.stride != access->element_bytes || rows.size - rows.begun < (int64_t)tile->count)
    return NULL;
  return tile_beginning(tile, access);
}

/* Returns the beginning of the next row, and moves `index` there, of the dimensions before. */
static char* next_row(const tile_t* tile, const access_t* access, int32_t d, int64_t* index,
                      char* row) {
  for (d--; d >= tile->first; d--) {
    row += access->strides[d];
    if (++index[d] < tile->space->sizes[d]) break;
    row -= access->strides[d] * index[d];
    index[d] = 0;
  }
  return row;
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
  rows_t rows = find_rows(tile, access);
  int64_t index[SPACE_RANK];
  memcpy(index, tile->index, sizeof index);
  char* row = at - rows.begun * rows.stride;
  for (int64_t left = (int64_t)tile->count; left > 0; rows.begun = 0) {
    const int64_t rest = rows.size - rows.begun, count = rest < left ? rest : left;
    move(buffer, row + rows.begun * rows.stride, rows.stride, count, bytes);
    buffer += count * bytes;
    left -= count;
    row = next_row(tile, access, rows.first, index, row);
  }
}

/* Any byte but 0 is true. */
static void make_true(uint8_t* truth, size_t count) {
  for (size_t i = 0; i < count; i++)
    truth[i] = truth[i] != 0;
}

void tile_load(const tile_t* tile, const access_t* access, void* buffer) {
  each_row(tile, access, buffer, read_row);
  if (access->dtype == TBK_BOOL) make_true(buffer, tile->count);
}

void tile_load_along(const access_t* access, int32_t d, const char* from, size_t count,
                     void* buffer) {
  cpu_row_load(buffer, from, access->strides[d], (int64_t)count, access->element_bytes);
  if (access->dtype == TBK_BOOL) make_true(buffer, count);
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
