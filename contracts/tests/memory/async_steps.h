/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * async_steps.h: the calls that tests of stream-ordered memory are made of. async_take REQUIREs success, the
 * others CHECK it, so that an actor may make them.
 */
#ifndef TBK_CONTRACTS_ASYNC_STEPS_H
#define TBK_CONTRACTS_ASYNC_STEPS_H

#include "fixture.h"

tbk_memory_t async_take(tbk_fixture_t* fx, tbk_stream_t* stream, uint64_t size_bytes);
void async_give(tbk_fixture_t* fx, tbk_stream_t* stream, tbk_memory_t memory);
void async_put(tbk_fixture_t* fx, tbk_stream_t* stream, tbk_memory_t memory, const void* bytes,
               uint64_t size_bytes);
void async_get(tbk_fixture_t* fx, tbk_stream_t* stream, void* bytes, tbk_memory_t memory,
               uint64_t size_bytes);

#endif /* TBK_CONTRACTS_ASYNC_STEPS_H */
