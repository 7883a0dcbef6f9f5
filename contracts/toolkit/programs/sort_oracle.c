/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sort_oracle.c: the order of elements, by their ranks.
 */
#include <stdlib.h>
#include <string.h>

#include "sort_job.h"

sort_item_t sort_item(const number_type_t* type, const void* element, int64_t index) {
  sort_item_t item = {.type = type, .rank = number_rank(type, element), .index = index};
  memcpy(&item.bits, element, type->size);
  return item;
}

static int order_of(bool less, bool greater) {
  return less ? -1 : greater ? 1 : 0;
}

int sort_compare(const sort_item_t* a, const sort_item_t* b, bool descending) {
  const int order = order_of(a->rank<b->rank, a->rank> b->rank);
  return descending ? -order : order;
}

static int by_index(const void* a, const void* b) {
  const sort_item_t *x = a, *y = b;
  int order = sort_compare(x, y, false);
  return order != 0 ? order : order_of(x->index<y->index, x->index> y->index);
}

static int by_index_descending(const void* a, const void* b) {
  const sort_item_t *x = a, *y = b;
  int order = sort_compare(x, y, true);
  return order != 0 ? order : order_of(x->index<y->index, x->index> y->index);
}

static int by_bits(const void* a, const void* b) {
  const sort_item_t *x = a, *y = b;
  int order = sort_compare(x, y, false);
  return order != 0 ? order : order_of(x->bits<y->bits, x->bits> y->bits);
}

static int by_bits_descending(const void* a, const void* b) {
  const sort_item_t *x = a, *y = b;
  int order = sort_compare(x, y, true);
  return order != 0 ? order : order_of(x->bits<y->bits, x->bits> y->bits);
}

void sort_items(sort_item_t* items, int64_t count, bool descending) {
  if (count > 1)
    qsort(items, (size_t)count, sizeof *items, descending ? by_index_descending : by_index);
}

void sort_by_bits(sort_item_t* items, int64_t count, bool descending) {
  if (count > 1)
    qsort(items, (size_t)count, sizeof *items, descending ? by_bits_descending : by_bits);
}
