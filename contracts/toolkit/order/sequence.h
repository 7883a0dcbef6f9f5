/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * sequence.h: one long program on one stream, in which every work depends on its neighbours: each
 * kind of writing is followed by each kind of reading and by each kind of writing, in one cell, and
 * every value read has a place of its own. Whatever is moved past its neighbour is seen.
 */
#ifndef TBK_CONTRACTS_SEQUENCE_H
#define TBK_CONTRACTS_SEQUENCE_H

#include "fixture.h"

enum { SEQUENCE_CELLS = 320 };

typedef struct sequence sequence_t;

sequence_t* sequence_begin(tbk_fixture_t* fx, uint64_t cell_bytes, uint32_t cells);
/* Plans that writing alternates with reading, `works` of them at most; or all pairs of kinds, if 0. */
void sequence_alternate(sequence_t* sequence, size_t works);
/*
 * Enqueues the first half on `first` and the rest on `second`, behind a gate on `first`; once more with pinned
 * memory where a call waits on the host.
 */
void sequence_run(sequence_t* sequence, tbk_stream_t* first, tbk_stream_t* second);
void sequence_end(sequence_t* sequence);

#endif /* TBK_CONTRACTS_SEQUENCE_H */
