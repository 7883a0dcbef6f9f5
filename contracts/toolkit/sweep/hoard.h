/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hoard.h: all memory of a device but a little. An allocator that hands out what was never used before
 * what was given back shows nothing until it has nothing else; a row that hoards is TBK_CASE_ALONE.
 */
#ifndef TBK_CONTRACTS_HOARD_H
#define TBK_CONTRACTS_HOARD_H

#include "fixture.h"

/*
 * Allocates on `stream`, or by memory_alloc on fx->device where it is NULL. Returns false, with 0 in
 * `out`, where there is no memory, which `out_refused` then says; any other error is a failed check.
 */
bool piece_take(tbk_fixture_t* fx, tbk_stream_t* stream, uint64_t size, tbk_memory_t* out,
                bool* out_refused);
/* Gives it back in the way in which it was taken. */
void piece_give(tbk_fixture_t* fx, tbk_stream_t* stream, tbk_memory_t memory);

enum { HOARD_MOST = 600 };

typedef struct hoard {
  tbk_memory_t memory[HOARD_MOST];
  uint64_t sizes[HOARD_MOST];
  size_t count;
} hoard_t;

/*
 * Takes memory of fx->device in pieces that become smaller, until there is none of `least` bytes: on
 * `stream` by async_alloc, or by memory_alloc where it is NULL.
 */
void hoard_take(tbk_fixture_t* fx, hoard_t* hoard, tbk_stream_t* stream, uint64_t least);
/* Gives back what was taken last, the smallest pieces, until so many bytes are free. */
void hoard_leave_room(tbk_fixture_t* fx, hoard_t* hoard, tbk_stream_t* stream, uint64_t bytes);
/* Gives all of it back. */
void hoard_give(tbk_fixture_t* fx, hoard_t* hoard, tbk_stream_t* stream);

#endif /* TBK_CONTRACTS_HOARD_H */
