/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sort_oracle.c: the order of elements, by their numbers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sort_job.h"

sort_item_t sort_item(const number_type_t* type, const void* element, int64_t index) {
  sort_item_t item = {.type = type, .number = number_load(type, element), .index = index};
  memcpy(&item.bits, element, type->size);
  return item;
}

static int order_of(bool less, bool greater) {
  return less ? -1 : greater ? 1 : 0;
}

static int compare_numbers(const sort_item_t* a, const sort_item_t* b) {
  const uint64_t x = a->number.integer, y = b->number.integer;
  const long double v = a->number.real, w = b->number.real;
  if (a->type->digits == 0 && a->type->is_signed)
    return order_of((int64_t)x<(int64_t)y, (int64_t)x>(int64_t) y);
  if (a->type->digits == 0) return order_of(x<y, x> y);
  if (isnan(v) || isnan(w)) return order_of(!isnan(v), !isnan(w));
  return order_of(v<w, v> w);
}

int sort_compare(const sort_item_t* a, const sort_item_t* b, bool descending) {
  if (a->type->digits != 0 && isnan(a->number.real) && isnan(b->number.real)) return 0;
  return descending ? compare_numbers(b, a) : compare_numbers(a, b);
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
