/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <driver/addresses.h>
#include <search.h>
#include <stdlib.h>

typedef struct range {
  uint64_t begin, end;
} range_t;

/* Ranges that overlap are one: live allocations do not, so that a key inside of one finds it. */
static int by_range(const void* left, const void* right) {
  const range_t *a = left, *b = right;
  return (a->begin >= b->end) - (a->end <= b->begin);
}

bool address_add(pthread_mutex_t* lock, void** tree, uint64_t begin, uint64_t size_bytes) {
  range_t* entry = malloc(sizeof *entry);
  if (entry == NULL) return false;
  *entry = (range_t){begin, begin + size_bytes};
  pthread_mutex_lock(lock);
  range_t** found = tsearch(entry, tree, by_range);
  const bool kept = found != NULL && *found == entry;
  pthread_mutex_unlock(lock);
  if (!kept) free(entry);
  return kept;
}

bool address_remove(pthread_mutex_t* lock, void** tree, uint64_t begin) {
  const range_t key = {begin, begin + 1};
  pthread_mutex_lock(lock);
  range_t** found = tfind(&key, tree, by_range);
  range_t* entry = found != NULL && (*found)->begin == begin ? *found : NULL;
  if (entry != NULL) tdelete(&key, tree, by_range);
  pthread_mutex_unlock(lock);
  free(entry);
  return entry != NULL;
}

bool address_covers(pthread_mutex_t* lock, void** tree, uint64_t begin, uint64_t size_bytes) {
  const range_t key = {begin, begin + size_bytes};
  pthread_mutex_lock(lock);
  range_t** found = tfind(&key, tree, by_range);
  const bool inside = found != NULL && (*found)->begin <= key.begin && key.end <= (*found)->end;
  pthread_mutex_unlock(lock);
  return inside;
}

void address_end_all(void** tree, void (*give_back)(uint64_t begin)) {
  while (*tree != NULL) {
    range_t* entry = **(range_t***)tree;
    tdelete(entry, tree, by_range);
    if (give_back != NULL) give_back(entry->begin);
    free(entry);
  }
}
