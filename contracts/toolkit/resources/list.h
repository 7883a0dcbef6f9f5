/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * list.h: the lists of what a test made. Several threads of one test add and take out at a time, so every
 * function here may be called from any thread; what walks a list without them runs when no thread of
 * the test is left.
 */
#ifndef TBK_CONTRACTS_LIST_H
#define TBK_CONTRACTS_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Keeps its storage from case to case. */
typedef struct tbk_list {
  void* items;
  size_t count, capacity, item_bytes;
} tbk_list_t;

/* Appends a copy of `item`, of list->item_bytes bytes. Ends the process where the host has no memory. */
void tbk_list_append(tbk_list_t* list, const void* item);

/* Returns whether an item begins with the `key_bytes` bytes of `key`. */
bool tbk_list_has(const tbk_list_t* list, const void* key, size_t key_bytes);

/*
 * Takes out the newest item that begins with `key`: a handle may come again after it was given back.
 * The last item comes into its place. Does nothing where there is none.
 */
void tbk_list_remove(tbk_list_t* list, const void* key, size_t key_bytes);

#endif /* TBK_CONTRACTS_LIST_H */
