/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * range.h: memory with a model on the host, for tests that look at every byte. A test changes a
 * range of a block on the device and the same range of the model; block_check compares all of it,
 * so that what was written outside the range is seen as well.
 */
#ifndef TBK_CONTRACTS_RANGE_H
#define TBK_CONTRACTS_RANGE_H

#include "fixture.h"
#include "room.h"

/* How often a call is repeated in a test, so that a fault in one call among many is met. */
enum { RANGE_ROUNDS = 24 };

typedef struct block {
  tbk_memory_t memory;
  uint64_t size;  /* rounded to the device's copy granularity */
  uint8_t* model; /* what the memory should hold */
} block_t;

/*
 * Allocates exactly `size_bytes` (rounded) on `fx->device`, without the guard of fx_alloc, so that
 * the size class is met. Fills device and model with fresh bytes.
 */
void block_make(tbk_fixture_t* fx, block_t* block, uint64_t size_bytes);
#define BLOCK_CHECK(fx, block) block_check((fx), (block), TBK_HERE(#block))
bool block_check(tbk_fixture_t* fx, const block_t* block, tbk_here_t here);
/* Gives the memory back before the test is over; checks that this succeeds. */
void block_drop(tbk_fixture_t* fx, block_t* block);

/* A range inside a block with room before and behind it; `size` is rounded. */
typedef struct range {
  block_t block;
  uint64_t offset;
  uint64_t size;
} range_t;

void range_make(tbk_fixture_t* fx, range_t* range, uint64_t size_bytes);

/*
 * Calls `function` for each size class that fits, and RANGE_ROUNDS times for sizes taken at random. The
 * second form leaves the largest class out, which costs the most time. What a call allocates is
 * given back before the next.
 */
typedef void (*range_fn)(tbk_fixture_t* fx, uint64_t size_bytes, tbk_stream_t* stream);
void range_over_sizes(tbk_fixture_t* fx, range_fn function, tbk_stream_t* stream);
void range_over_most_sizes(tbk_fixture_t* fx, range_fn function, tbk_stream_t* stream);
extern const uint64_t range_sizes[];
extern const size_t range_size_count;

/*
 * Returns the `index`-th size of a sweep over the classes; a small one taken at random behind the last, and
 * in place of a class that does not fit the device.
 */
uint64_t range_size(tbk_fixture_t* fx, size_t index);
/* The same over the first `classes` of them alone. */
uint64_t range_size_of(tbk_fixture_t* fx, size_t index, size_t classes);

/* Returns the size of one of RANGE_ROUNDS: each class but the largest twice, then small ones taken at random. */
uint64_t range_of_round(tbk_fixture_t* fx, int round);

/* Waits for `stream`; nothing to do where it is NULL. */
void range_settle(tbk_fixture_t* fx, tbk_stream_t* stream);

/* Makes calls that have to fail, so that what follows comes after an error. */
void range_provoke_errors(tbk_fixture_t* fx);

#endif /* TBK_CONTRACTS_RANGE_H */
