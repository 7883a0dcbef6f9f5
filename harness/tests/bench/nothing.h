/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * nothing.h: a runner whose library does nothing, and says that all is well: what a program takes
 * there is what its own side of the interface takes.
 */
#ifndef TBK_BENCH_NOTHING_H
#define TBK_BENCH_NOTHING_H

#include "runner.h"

/* What of a runner is the library's. */
typedef struct bench_library {
  const tbk_core_t* core;
  const tbk_stream_ops_t* stream;
  const tbk_event_ops_t* event;
  const tbk_callback_ops_t* callback;
  const tbk_peer_ops_t* peer;
  const tbk_async_memory_ops_t* async_memory;
  const tbk_kernel_t* fill_kernels[LITMUS_DEVICES];
  const tbk_kernel_t* copy_kernels[LITMUS_DEVICES];
  tbk_memory_t cells[LITMUS_CELLS];
  bool has_cell[LITMUS_CELLS];
  int32_t cell_device[LITMUS_CELLS];
} bench_library_t;

/* Puts nothing in the library's place; only pinned memory is still its own. */
void bench_take_out(litmus_runner_t* runner, bench_library_t* out_library);
void bench_put_back(litmus_runner_t* runner, const bench_library_t* library);

#endif /* TBK_BENCH_NOTHING_H */
