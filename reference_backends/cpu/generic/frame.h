/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * frame.h: code with buffers, which computes one tile of a space at a time.
 */
#ifndef TBK_CPU_FRAME_H
#define TBK_CPU_FRAME_H

#include "space.h"

enum { FRAME_LANES_MOST = 1024 };

/* Some elements of a space in their order: the index moves through the dimensions [first, first +
 * rank), from `position` on, and stays where it is in the others. */
typedef struct tile {
  const space_t* space;
  int32_t first, rank;
  int64_t position;          /* of the first element among those walked */
  int64_t index[SPACE_RANK]; /* of the first element; all dimensions of the space */
  int64_t linear;            /* LINEAR_INDEX of the first element */
  bool linear_moves;         /* and of the others: one more each, one less in a reversed space */
  size_t count;
} tile_t;

/* Sets position and index, of the dimensions that are walked. */
void tile_seek(tile_t* tile, int64_t position);
/* Returns where the first element lies. */
char* tile_beginning(const tile_t* tile, const access_t* access);
/* Returns where the elements lie side by side, in whole steps of lanes; NULL where they do not. */
char* tile_together(const tile_t* tile, const access_t* access);
/* Moves between a buffer and an operand of the space. */
void tile_load(const tile_t* tile, const access_t* access, void* buffer);
void tile_store(const tile_t* tile, const access_t* access, const void* buffer);
/* Moves elements that lie along dimension `d`, from one on, to a buffer. */
void tile_load_along(const access_t* access, int32_t d, const char* from, size_t count,
                     void* buffer);
/* The coordinate along `d` of each element. */
void tile_coordinates(const tile_t* tile, int32_t d, int64_t* buffer);
/* Elements at indices of their own; `in` has one buffer for each dimension. */
void tile_gather(const tile_t* tile, const access_t* access, uint16_t bounds, const void* const* in,
                 void* buffer);
/* Fills a buffer with one element's bits. */
void lanes_fill(void* buffer, uint64_t bits, int64_t element_bytes, size_t count);

typedef struct tables tables_t;

typedef struct frame {
  const code_t* code;
  const access_t* inputs;
  const tables_t* tables; /* NULL: there are none */
  void** buffers;         /* those of parameters are set by whoever runs it */
  const void** loaded;    /* by buffer: where a load that stays has its elements */
} frame_t;

/* Returns the size of one buffer, and of all that a frame needs. */
size_t frame_buffer_bytes(size_t lanes);
size_t frame_bytes(const code_t* code, size_t lanes);
/* Makes a frame in `memory`, whose first free byte it returns. */
char* frame_make(frame_t* frame, const code_t* code, size_t lanes, char* memory);
/* Computes what is the same for all elements of a space, and takes its inputs, from `inputs` on. */
void frame_begin(frame_t* frame, const space_t* space, const access_t* inputs, size_t lanes);
/* Runs a step that has a loop, on what its operands left; the result comes to `out`. */
void frame_loop(const frame_t* frame, const code_step_t* step, size_t count, void* out);
/* Runs one step that has no tables. */
void frame_step(const frame_t* frame, const code_step_t* step, const tile_t* tile);
/* Computes one tile; the results lie in the code's buffers. */
void frame_run(const frame_t* frame, const tile_t* tile);
/* Returns whether the only result can be written where it belongs. */
bool frame_has_direct_result(const frame_t* frame);
/* Computes one tile of such a frame, whose result comes to `out`; whole steps of lanes. */
void frame_run_into(const frame_t* frame, const tile_t* tile, void* out);
const void* frame_result(const frame_t* frame, size_t i);

#endif /* TBK_CPU_FRAME_H */
