/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * spread.c: what tables hold, brought to the lanes of a tile.
 */
#include <string.h>

#include "tables.h"

typedef uint8_t __attribute__((may_alias)) word1_t;
typedef uint16_t __attribute__((may_alias)) word2_t;
typedef uint32_t __attribute__((may_alias)) word4_t;
typedef uint64_t __attribute__((may_alias)) word8_t;

#define SIZES(X) \
  X(1, word1_t)  \
  X(2, word2_t)  \
  X(4, word4_t)  \
  X(8, word8_t)

static int64_t place_in(const table_t* table, const tile_t* tile) {
  int64_t at = 0;
  for (int32_t d = 0; d < SPACE_RANK; d++)
    at += tile->index[d] * table->strides[d];
  return at;
}

/* Rows are often a few elements, which a call for each would cost more than. */
static void copy_row(char* to, const char* from, int64_t count, int64_t bytes) {
  switch (bytes) {
#define COPY(size, T)                                        \
  case size:                                                 \
    for (int64_t i = 0; i < count; i++)                      \
      ((T*)(void*)to)[i] = ((const T*)(const void*)from)[i]; \
    break;
    SIZES(COPY)
#undef COPY
  }
}

static void fill_row(char* to, const char* from, int64_t count, int64_t bytes) {
  uint64_t bits = 0;
  memcpy(&bits, from, (size_t)bytes);
  lanes_fill(to, bits, bytes, (size_t)count);
}

/* Moves the index on, when that of dimension `d` was; returns the dimension in which it did move. */
static int32_t carry(const tile_t* tile, int64_t* index, int32_t d) {
  while (index[d] == tile->space->sizes[d] && d > tile->first) {
    index[d--] = 0;
    index[d]++;
  }
  return d;
}

void table_spread(const table_t* table, const tile_t* tile, void* buffer) {
  const int64_t bytes = table->element_bytes;
  const int32_t row = table->row;
  char* to = buffer;
  tile_t now = *tile;
  if (row < 0) {
    fill_row(to, table->data + place_in(table, tile) * bytes, (int64_t)tile->count, bytes);
    return;
  }
  int64_t run = table->run - tile->position % table->run;
  for (int64_t left = (int64_t)tile->count; left > 0;) {
    const char* from = table->data + place_in(table, &now) * bytes;
    const int64_t rest = table->run > 1 ? run : tile->space->sizes[row] - now.index[row];
    const int64_t count = rest < left ? rest : left;
    (table->run > 1 ? fill_row : copy_row)(to, from, count, bytes);
    now.index[row] += table->run > 1 ? 1 : count;
    run = table->run;
    carry(tile, now.index, row);
    to += count * bytes;
    left -= count;
  }
}

/* ---------------------------------------------------------------------------------- gather -- */

typedef struct gathering {
  const access_t* access;
  const table_t* moving; /* the offsets that move along a row, or NULL */
  bool is_aligned;
  char* data; /* what the others say */
  const int64_t* offsets;
} gathering_t;

static void load_each(const gathering_t* g, int64_t count, char* to) {
  const int64_t bytes = g->access->element_bytes;
  if (!g->is_aligned) {
    for (int64_t i = 0; i < count; i++) {
      const bool outside = g->offsets[i] == TABLE_OUTSIDE;
      const uint64_t word = outside ? 0 : cpu_load_word(g->data + g->offsets[i], bytes);
      memcpy(to + i * bytes, &word, (size_t)bytes);
    }
    return;
  }
  switch (bytes) {
#define LOAD(size, T)                                                                              \
  case size:                                                                                       \
    for (int64_t i = 0; i < count; i++)                                                            \
      ((T*)(void*)to)[i] = g->offsets[i] == TABLE_OUTSIDE                                          \
                               ? 0                                                                 \
                               : __atomic_load_n((const T*)(const void*)(g->data + g->offsets[i]), \
                                                 __ATOMIC_RELAXED);                                \
    break;
    SIZES(LOAD)
#undef LOAD
  }
}

static void load_row(gathering_t* g, int64_t count, char* to) {
  const int64_t bytes = g->access->element_bytes;
  if (!g->moving) {
    cpu_row_load(to, g->data, 0, count, bytes);
    return;
  }
  if (!g->moving->is_even) {
    load_each(g, count, to);
    return;
  }
  int64_t first = 0, end = count;
  while (first < end && g->offsets[first] == TABLE_OUTSIDE)
    first++;
  while (end > first && g->offsets[end - 1] == TABLE_OUTSIDE)
    end--;
  lanes_fill(to, 0, bytes, (size_t)first);
  if (end > first)
    cpu_row_load(to + first * bytes, g->data + g->offsets[first], g->moving->even_step, end - first,
                 bytes);
  lanes_fill(to + end * bytes, 0, bytes, (size_t)(count - end));
}

/* Adds up where a row begins; returns whether it is there. */
static bool find_row(gathering_t* g, const table_t* tables, const tile_t* tile) {
  g->data = g->access->data;
  for (int32_t k = 0; k < g->access->own_rank; k++) {
    const table_t* table = &tables[k];
    const int64_t* at = (const int64_t*)(const void*)table->data + place_in(table, tile);
    if (table == g->moving)
      g->offsets = at;
    else if (*at == TABLE_OUTSIDE)
      return false;
    else
      g->data += *at;
  }
  return true;
}

void tables_gather(const tables_t* tables, const table_t* first, const tile_t* tile,
                   const access_t* access, void* buffer) {
  gathering_t g = {.access = access};
  const int64_t bytes = access->element_bytes, size = tile->space->sizes[tables->row];
  uintptr_t all = (uintptr_t)access->data;
  for (int32_t k = 0; k < access->own_rank; k++) {
    if (first[k].coordinates >> tables->row & 1) g.moving = &first[k];
    all |= (uintptr_t)access->strides[k];
  }
  g.is_aligned = all % (uintptr_t)bytes == 0;
  tile_t now = *tile;
  char* to = buffer;
  for (int64_t left = (int64_t)tile->count; left > 0;) {
    const int64_t rest = size - now.index[tables->row], count = rest < left ? rest : left;
    if (find_row(&g, first, &now))
      load_row(&g, count, to);
    else
      lanes_fill(to, 0, bytes, (size_t)count);
    now.index[tables->row] += count;
    carry(tile, now.index, tables->row);
    to += count * bytes;
    left -= count;
  }
  uint8_t* truth = buffer;
  for (size_t i = 0; access->dtype == TBK_BOOL && i < tile->count; i++)
    truth[i] = truth[i] != 0;
}
