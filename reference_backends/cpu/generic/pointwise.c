/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pointwise.c: tbk::pointwise, tile by tile.
 */
#include "generic.h"

size_t pointwise_bytes(const cpu_generic_t* generic) {
  return frame_bytes(generic->code->parts[0], generic->lanes);
}

static void compute_tile(const frame_t* frame, tile_t* tile, int64_t position, size_t count) {
  tile_seek(tile, position);
  tile->linear = position;
  tile->count = count;
  char* place =
      frame_has_direct_result(frame) ? tile_together(tile, &tile->space->accesses[0]) : NULL;
  if (place) {
    frame_run_into(frame, tile, place);
    return;
  }
  frame_run(frame, tile);
  for (size_t i = 0; i < tile->space->output_count; i++)
    tile_store(tile, &tile->space->accesses[i], frame_result(frame, i));
}

void pointwise_compute(const cpu_generic_t* generic) {
  frame_t frame;
  const int64_t lanes = (int64_t)generic->lanes;
  frame_make(&frame, generic->code->parts[0], generic->lanes, generic->scratch);
  for (size_t i = 0; i < generic->set_count; i++) {
    const space_t* space = &generic->spaces[i];
    const int64_t count = space->outer_count;
    if (count == 0) continue;
    frame_begin(&frame, space, space->accesses + space->output_count,
                (size_t)(count < lanes ? count : lanes));
    if (strips_fit(generic->code->parts[0], space)) {
      strips_compute(&frame, space, generic->lanes);
      continue;
    }
    tables_make(&frame, space, TABLES_OUTER, generic->lanes, generic_tables(generic, CODE_MAP));
    tile_t tile = {.space = space, .rank = space->outer_rank, .linear_moves = true};
    for (int64_t at = 0; at < count; at += lanes)
      compute_tile(&frame, &tile, at, (size_t)(count - at < lanes ? count - at : lanes));
  }
}
