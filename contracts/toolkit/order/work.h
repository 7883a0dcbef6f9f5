/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * work.h: the kinds of work that a stream can be given, as one table, so that what is said of order
 * is shown for each of them. A bench is an allocation cut into cells of equal size. Each work reads
 * one cell and writes another, or reads or writes the host. The host knows what every cell held
 * before, and reads all of them back afterwards.
 */
#ifndef TBK_CONTRACTS_WORK_H
#define TBK_CONTRACTS_WORK_H

#include "fixture.h"

#include <tbk/tbk_operators.h>

enum {
  WORK_WRITES = 1 << 0,  /* sets its target cell */
  WORK_READS = 1 << 1,   /* passes on what its source cell holds */
  WORK_TO_HOST = 1 << 2, /* the result is in host memory */
  WORK_ON_HOST = 1 << 3  /* a callback: its source, too, is host memory */
};

enum { WORK_KINDS = 10 };

typedef struct work work_t;
typedef struct bench bench_t;

typedef struct work_kind {
  const char* name;
  unsigned flags;
  bool (*offered)(tbk_fixture_t* fx, bench_t* bench);
  void (*prepare)(tbk_fixture_t* fx, bench_t* bench, work_t* work); /* may be NULL */
  tbk_status_t (*enqueue)(tbk_fixture_t* fx, work_t* work, tbk_stream_t* stream);
} work_kind_t;

/* A cell as a tensor, and what a kernel is launched with. */
typedef struct cell_tensor {
  int64_t size, stride;
  tbk_tensor_t tensor;
} cell_tensor_t;

typedef struct work_arguments {
  cell_tensor_t target, source;
  union {
    tbk_args_fill__Scalar_t fill;
    tbk_args_copy__t copy;
  } of;
} work_arguments_t;

struct work {
  const work_kind_t* kind;
  bench_t* bench;
  uint64_t source; /* offsets of cells */
  uint64_t target;
  uint8_t* host;              /* of an upload the source, of a download and a callback the target */
  const uint8_t* host_source; /* of a callback */
  const uint8_t* expected;    /* what it writes, if nothing else writes its source */
  uint8_t byte;
  int64_t number;
  tbk_generator_t generator;
  tbk_memory_t workspace;
  work_arguments_t
      arguments; /* lives until it has run: that it may go sooner is a clause of its own */
};

struct bench {
  tbk_memory_t memory;
  uint64_t cell_bytes;
  uint32_t cells, cells_used;
  uint32_t host_used;
  uint8_t* before; /* of the memory, before and after the program */
  uint8_t* after;
  uint8_t* host; /* as many cells of host memory, and of expectations */
  uint8_t* expected;
  uint8_t* pinned; /* as many cells again, once they were wanted */
  bool uses_pinned;
  uint64_t random;
  uint8_t next_byte;
  int32_t dtype; /* of kernels */
  const tbk_kernel_t* fill_kernel;
  const tbk_kernel_t* copy_kernel;
  tbk_plan_t* plan;
  uint64_t workspace_bytes;
  const work_kind_t* kinds[WORK_KINDS]; /* those that the device offers */
  size_t kind_count;
};

/* Allocates the cells, and finds out what the device offers. bench_end gives back what fx cannot.
 * */
void bench_begin(tbk_fixture_t* fx, bench_t* bench, uint64_t cell_bytes, uint32_t cells);
void bench_end(tbk_fixture_t* fx, bench_t* bench);
/* Forgets all work; the contents of the cells stay as they are known to the host. */
void bench_reset(tbk_fixture_t* fx, bench_t* bench);
/*
 * From the next bench_reset on uploads and downloads are of memory that is not pinned, which many drivers
 * cannot move without waiting on the host. bench_pin: from then on of pinned memory; returns false where they
 * are so already, or there is none to be had.
 */
void bench_unpin(bench_t* bench);
bool bench_pin(tbk_fixture_t* fx, bench_t* bench);
/* Brings the contents of used cells to the device, when all work is prepared; reads them back. */
void bench_upload(tbk_fixture_t* fx, bench_t* bench);
void bench_download(tbk_fixture_t* fx, bench_t* bench);
uint64_t bench_cell(bench_t* bench);
const work_kind_t* bench_kind(const bench_t* bench, const char* name); /* NULL: not offered */

/* Work of `kind` that sets `cell` to a value of its own; work that reads it into a place of its
 * own.
   A callback takes host memory for a cell: work_chain reads what `first` left on the host. */
void work_write(tbk_fixture_t* fx, bench_t* bench, work_t* work, const work_kind_t* kind,
                uint64_t cell);
void work_read(tbk_fixture_t* fx, bench_t* bench, work_t* work, const work_kind_t* kind,
               uint64_t cell);
void work_chain(tbk_fixture_t* fx, bench_t* bench, work_t* work, const work_kind_t* kind,
                const work_t* first);
/* May be called by an actor, with its own fixture. */
tbk_status_t work_enqueue(tbk_fixture_t* fx, work_t* work, tbk_stream_t* stream);
/* Returns where the result lies once bench_download has run. */
const uint8_t* work_result(const work_t* work);

#endif /* TBK_CONTRACTS_WORK_H */
