/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * needs.h: the words of a row's `needs`, and sets of them. The words for tables, entries that may
 * be NULL, flags, operators and dtypes follow from the ABI; only the first few stand here.
 */
#ifndef TBK_CONTRACTS_NEEDS_H
#define TBK_CONTRACTS_NEEDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tbk/tables.h>
#include <tbk/tbk_convolution.h>
#include <tbk/tbk_index.h>
#include <tbk/tbk_matmul.h>
#include <tbk/tbk_operators.h>
#include <tbk/tbk_scan.h>
#include <tbk/tbk_sort.h>

/* X(word): what a device has by its properties, and by its kernels once it is open. */
#define TBK_NEED_PROPERTIES(X) X(memory_bytes) X(max_allocation) X(granularity) X(two_devices)
#define TBK_NEED_KERNELS(X) X(prepare) X(generic)
/* X(name): generic kernels, "op:" and what their headers call them. */
#define TBK_GENERIC_KERNELS(X) \
  X(pointwise)                 \
  X(reduce)                    \
  X(index)                     \
  X(sort)                      \
  X(scan)                      \
  X(matmul)                    \
  X(convolution)

/* A character for each word: their number is the size of the string. */
#define TBK_NEED_ONE_MORE(...) "."
enum {
  TBK_NEED_COUNT =
      sizeof("" TBK_TABLE_MAP(TBK_NEED_ONE_MORE) TBK_OPTIONAL_MAP(TBK_NEED_ONE_MORE)
                 TBK_NEED_PROPERTIES(TBK_NEED_ONE_MORE) TBK_DEVICE_FLAG_MAP(TBK_NEED_ONE_MORE)
                     TBK_NEED_KERNELS(TBK_NEED_ONE_MORE) TBK_OPERATOR_MAP(TBK_NEED_ONE_MORE)
                         TBK_GENERIC_KERNELS(TBK_NEED_ONE_MORE) TBK_DTYPE_MAP(TBK_NEED_ONE_MORE)) -
      1
};
#undef TBK_NEED_ONE_MORE

/* A set of words, as large as there are words. */
typedef struct tbk_need_set {
  uint8_t bits[(TBK_NEED_COUNT + 7) / 8];
} tbk_need_set_t;

static inline bool tbk_need_set_has(const tbk_need_set_t* set, size_t index) {
  return (set->bits[index / 8] >> (index % 8) & 1) != 0;
}

static inline void tbk_need_set_add(tbk_need_set_t* set, size_t index) {
  set->bits[index / 8] = (uint8_t)(set->bits[index / 8] | 1U << (index % 8));
}

/* Returns the word with this number, which is below TBK_NEED_COUNT. */
const char* tbk_need_word(size_t index);

#endif /* TBK_CONTRACTS_NEEDS_H */
