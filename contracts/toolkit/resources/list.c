/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "list.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One for all lists: nothing waits while it is held. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static char* item_at(const tbk_list_t* list, size_t index) {
  return (char*)list->items + index * list->item_bytes;
}

static void grow(tbk_list_t* list) {
  list->capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
  list->items = realloc(list->items, list->capacity * list->item_bytes);
  if (list->items == NULL) abort();
}

/* Returns the index of the newest item with this key, or the count of items. */
static size_t find(const tbk_list_t* list, const void* key, size_t key_bytes) {
  for (size_t i = list->count; i-- > 0;)
    if (memcmp(item_at(list, i), key, key_bytes) == 0) return i;
  return list->count;
}

void tbk_list_append(tbk_list_t* list, const void* item) {
  pthread_mutex_lock(&mutex);
  if (list->count == list->capacity) grow(list);
  memcpy(item_at(list, list->count), item, list->item_bytes);
  list->count++;
  pthread_mutex_unlock(&mutex);
}

bool tbk_list_has(const tbk_list_t* list, const void* key, size_t key_bytes) {
  pthread_mutex_lock(&mutex);
  bool has = find(list, key, key_bytes) < list->count;
  pthread_mutex_unlock(&mutex);
  return has;
}

void tbk_list_remove(tbk_list_t* list, const void* key, size_t key_bytes) {
  pthread_mutex_lock(&mutex);
  size_t index = find(list, key, key_bytes);
  if (index < list->count) {
    list->count--;
    memmove(item_at(list, index), item_at(list, list->count), list->item_bytes);
  }
  pthread_mutex_unlock(&mutex);
}
