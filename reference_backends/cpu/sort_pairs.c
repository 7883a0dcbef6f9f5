/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sort_pairs.c: pairs sorted byte by byte, from the last to the first, which keeps equal ones in order; and the
 * least of them found byte by byte, from the first to the last. Neither is slow for any keys.
 */
#include <string.h>

#include "sort.h"

enum { FEW = 24, DIGITS = 256 };

static unsigned digit_of(uint64_t key, int64_t byte) {
  return (unsigned)(key >> (8 * byte)) & (DIGITS - 1);
}

static void insert_each(sort_pair_t* pairs, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    const sort_pair_t one = pairs[i];
    int64_t at = i;
    for (; at > 0 && pairs[at - 1].key > one.key; at--)
      pairs[at] = pairs[at - 1];
    pairs[at] = one;
  }
}

/* Returns false where all have the same digit, and nothing is to be moved. */
static bool deal(const sort_pair_t* from, sort_pair_t* to, int64_t count, int64_t byte) {
  int64_t places[DIGITS] = {0}, next = 0;
  for (int64_t i = 0; i < count; i++)
    places[digit_of(from[i].key, byte)]++;
  if (places[digit_of(from[0].key, byte)] == count) return false;
  for (int d = 0; d < DIGITS; d++) {
    const int64_t many = places[d];
    places[d] = next;
    next += many;
  }
  for (int64_t i = 0; i < count; i++)
    to[places[digit_of(from[i].key, byte)]++] = from[i];
  return true;
}

sort_pair_t* cpu_sort_pairs(sort_pair_t* pairs, sort_pair_t* spare, int64_t count,
                            int64_t key_bytes) {
  if (count <= FEW) {
    insert_each(pairs, count);
    return pairs;
  }
  for (int64_t byte = 0; byte < key_bytes; byte++) {
    if (!deal(pairs, spare, count, byte)) continue;
    sort_pair_t* sorted = spare;
    spare = pairs;
    pairs = sorted;
  }
  return pairs;
}

/* Returns how many are left without those above `last`, as far as the mask looks. */
static int64_t drop_above(sort_pair_t* pairs, int64_t count, uint64_t last, uint64_t mask) {
  int64_t to = 0;
  for (int64_t i = 0; i < count; i++)
    if ((pairs[i].key & mask) <= last) pairs[to++] = pairs[i];
  return to;
}

/* Returns the digit up to which those with these digits before it are kept, and how many of that one are. */
static unsigned find_last(const sort_pair_t* pairs, int64_t count, uint64_t digits, uint64_t mask,
                          int64_t byte, int64_t* kept) {
  int64_t places[DIGITS] = {0};
  unsigned digit = 0;
  for (int64_t i = 0; i < count; i++)
    if ((pairs[i].key & mask) == digits) places[digit_of(pairs[i].key, byte)]++;
  for (; *kept > places[digit]; digit++)
    *kept -= places[digit];
  return digit;
}

void cpu_sort_select(sort_pair_t* pairs, int64_t count, int64_t kept, int64_t key_bytes) {
  uint64_t last = 0, mask = 0;
  int64_t equal = kept, to = 0;
  if (kept == 0) return;
  for (int64_t byte = key_bytes - 1; byte >= 0 && count > kept; byte--) {
    last |= (uint64_t)find_last(pairs, count, last, mask, byte, &equal) << (8 * byte);
    mask |= (uint64_t)(DIGITS - 1) << (8 * byte);
    count = drop_above(pairs, count, last, mask);
  }
  for (int64_t i = 0; i < count && count > kept; i++)
    if (pairs[i].key != last || equal-- > 0) pairs[to++] = pairs[i];
}
