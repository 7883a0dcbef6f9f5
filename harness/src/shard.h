/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shard.h: which tests each of N processes runs: one after the other, or by the time that they took.
 * All shards come to the same division, from the same tests and the same old results.
 */
#ifndef TBK_HARNESS_SHARD_H
#define TBK_HARNESS_SHARD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long tests took, of old result files. */
typedef struct tbk_timings {
  json_t* wall_ns;   /* by id; of a test that was repeated, all of it */
  uint64_t first_ns; /* what the first shard alone does besides: litmus programs */
  uint32_t jobs;     /* how many tests ran at a time */
} tbk_timings_t;

/* Reads result files, or several in one. Returns false, with the reason, where it holds no test. */
bool tbk_timings_read(tbk_timings_t* out, const char* path, char* reason, size_t reason_size);
void tbk_timings_free(tbk_timings_t* timings);

/* A test to be given to a shard; `alone`: no other may run beside it. */
typedef struct tbk_sharded {
  const char* id;
  bool alone;
} tbk_sharded_t;

/*
 * Gives the number of the shard, from 0, for each of `count` tests: the longest first, each to the
 * shard that has least to do. What runs alone counts as often as others would have run beside it. A
 * test that is not in `timings` counts as their mean, one that took no time as a thousandth of that.
 */
void tbk_shard_by_time(const tbk_sharded_t* tests, size_t count, const tbk_timings_t* timings,
                       uint32_t shard_count, uint32_t* out_shards);

#endif /* TBK_HARNESS_SHARD_H */
