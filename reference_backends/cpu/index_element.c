/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * index_element.c: what becomes of an element that is there, and one that comes to it.
 */
#include "index.h"

/* In unsigned arithmetic, which wraps around; a store keeps what the dtype has of it. */
static int64_t merge_integers(int64_t mode, int64_t old, int64_t given) {
  switch (mode) {
    case TBK_INDEX_ADD:
      return (int64_t)((uint64_t)old + (uint64_t)given);
    case TBK_INDEX_MUL:
      return (int64_t)((uint64_t)old * (uint64_t)given);
    case TBK_INDEX_MIN:
      return given < old ? given : old;
    default:
      return given > old ? given : old;
  }
}

/* Sums and products of two numbers up to FLOAT32 are exact enough in double to be rounded once. NaN stays. */
static double merge_reals(int64_t mode, double old, double given) {
  switch (mode) {
    case TBK_INDEX_ADD:
      return old + given;
    case TBK_INDEX_MUL:
      return old * given;
    case TBK_INDEX_MIN:
      return given < old || given != given ? given : old;
    default:
      return given > old || given != given ? given : old;
  }
}

void cpu_index_merge(int64_t mode, int32_t dtype, char* table, const char* value) {
  cpu_number_t old = cpu_load(table, dtype);
  const cpu_number_t given = cpu_load(value, dtype);
  if (old.kind == TBK_KIND_INTEGER)
    old.integer = merge_integers(mode, old.integer, given.integer);
  else
    old.real = merge_reals(mode, old.real, given.real);
  cpu_store(table, dtype, old);
}
