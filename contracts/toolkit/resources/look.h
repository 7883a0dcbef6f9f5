/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * look.h: bytes that came back wrong are looked at again in other ways, to say which clause does not
 * hold: that of reading them, that of having written them, or that of the memory between.
 */
#ifndef TBK_CONTRACTS_LOOK_H
#define TBK_CONTRACTS_LOOK_H

#include <stdatomic.h>

#include "fixture.h"

/*
 * After memory, read from offset 0, did not hold `expected`: returns the clause that does not hold by
 * itself, or NULL where transfers and memory do as they should, so that it is what came between.
 * Writes `expected` into the memory. Its calls are in no trace.
 */
const char* look_again(tbk_fixture_t* fx, const uint8_t* expected, tbk_memory_t memory,
                       uint64_t size_bytes);

/*
 * Returns whether memory that did not hold `expected` does so when all is done: what should have written
 * it had not done so when it returned.
 */
bool look_later(tbk_fixture_t* fx, const uint8_t* expected, tbk_memory_t memory,
                uint64_t size_bytes);

/* Returns whether memory in which `seen` was wrong holds something else when all is done. */
bool look_changes(tbk_fixture_t* fx, const uint8_t* seen, tbk_memory_t memory, uint64_t size_bytes);

/*
 * Returns whether a count of what has run, which was not `expected`, is so in a moment: then all ran, and
 * what said that they were complete said so too early.
 */
bool look_count_later(const atomic_int* count, int expected);

#endif /* TBK_CONTRACTS_LOOK_H */
