/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * philox.h: Philox4x32-10 on the host, as TBK_DEVICE_PHILOX lays its words out.
 */
#ifndef TBK_CONTRACTS_PHILOX_H
#define TBK_CONTRACTS_PHILOX_H

#include <stdint.h>

/* One block: ten rounds over `counter` with `key`. */
void philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);
/* Word `index` of the sequence that starts at `offset` words. */
uint32_t philox_word(uint64_t seed, uint64_t offset, uint64_t index);

#endif /* TBK_CONTRACTS_PHILOX_H */
