/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * drawn.h: random words as the device draws them.
 */
#ifndef TBK_CONTRACTS_DRAWN_H
#define TBK_CONTRACTS_DRAWN_H

#include "fixture.h"

/* How many words a test asks for. */
enum { DRAWN_COUNTS = 12 };
extern const uint64_t drawn_counts[DRAWN_COUNTS];

/* Draws `count` words at byte `offset` of `memory`. */
tbk_status_t drawn_into(tbk_fixture_t* fx, uint64_t seed, uint64_t start, tbk_memory_t memory,
                        uint64_t offset, uint64_t count, tbk_stream_t* stream);
/* Returns words drawn without a stream, into fresh memory with other contents; leaves the test where they come late. */
uint32_t* drawn_words(tbk_fixture_t* fx, uint64_t seed, uint64_t start, uint64_t count);
/* Returns how many words of two draws are equal. */
uint64_t drawn_equal(const uint32_t* a, const uint32_t* b, uint64_t count);

#endif /* TBK_CONTRACTS_DRAWN_H */
