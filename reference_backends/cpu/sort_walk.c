/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sort_walk.c: tbk::sort, segment by segment. A segment is copied before anything is written, so that it may be
 * sorted in its own place.
 */
#include "sort.h"

/* What one segment needs, in the workspace. */
typedef struct room {
  sort_pair_t *pairs, *spare; /* of all; of what is kept */
  uint64_t* words;
} room_t;

uint64_t cpu_sort_bytes(const cpu_sort_t* sort) {
  return (uint64_t)sort->length * (sizeof(uint64_t) + sizeof(sort_pair_t)) +
         (uint64_t)sort->kept * sizeof(sort_pair_t);
}

static room_t room_in(const cpu_sort_t* sort, char* workspace) {
  room_t room;
  room.pairs = (sort_pair_t*)(void*)workspace;
  room.spare = room.pairs + sort->length;
  room.words = (uint64_t*)(void*)(room.spare + sort->kept);
  return room;
}

static void load(const cpu_sort_t* sort, const char* from, const room_t* room) {
  const int64_t bytes = sort->input.element_bytes;
  const int64_t stride = sort->input.strides[sort->input.rank - 1];
  for (int64_t i = 0; i < sort->length; i++)
    room->words[i] = cpu_load_word(from + i * stride, bytes);
  cpu_sort_keys(sort->input.dtype, sort->descending, room->words, sort->length, room->pairs);
}

static void store(const cpu_sort_t* sort, const room_t* room, const sort_pair_t* sorted,
                  char* values, char* indices) {
  const int32_t last = sort->input.rank - 1;
  const int64_t bytes = sort->input.element_bytes;
  for (int64_t i = 0; i < sort->kept; i++) {
    const int64_t index = sorted[i].index;
    if (values) cpu_store_word(values + i * sort->values.strides[last], room->words[index], bytes);
    if (indices)
      cpu_store_word(indices + i * sort->indices.strides[last], (uint64_t)index, sizeof index);
  }
}

static char* segment_of(const cpu_view_t* view, const int64_t* place, int32_t last) {
  char* at = view->data;
  for (int32_t d = 0; at && d < last; d++)
    at += place[d] * view->strides[d];
  return at;
}

void cpu_sort_compute(const cpu_sort_t* sort, char* workspace) {
  const int32_t last = sort->input.rank - 1;
  const int64_t bytes = sort->input.element_bytes;
  const room_t room = room_in(sort, workspace);
  int64_t place[CPU_MAX_RANK] = {0};
  if (sort->input.count == 0 || sort->kept == 0) return;
  do {
    load(sort, segment_of(&sort->input, place, last), &room);
    cpu_sort_select(room.pairs, sort->length, sort->kept, bytes);
    store(sort, &room, cpu_sort_pairs(room.pairs, room.spare, sort->kept, bytes),
          segment_of(&sort->values, place, last), segment_of(&sort->indices, place, last));
  } while (cpu_next_index(place, sort->input.sizes, last));
}
