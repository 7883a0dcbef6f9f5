/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * reduce.c: tbk::reduce, in blocks of outer elements. The lanes of a tile are either the elements that
 * go (along the inner space, one outer element after the other) or those that stay (across: all of
 * a block at once, one inner element after the other), whichever there are many of, or lie together.
 */
#include "generic.h"

#include <stdlib.h>
#include <string.h>

/* So few lanes are not worth a tile; so many elements of a row are folded at once. */
enum { FEW = 32, ROW_ELEMENTS = 1 << 14 };

static int64_t lesser(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* How far the inputs of the map step in the last of some dimensions: the least that is not 0. */
static int64_t least_step(const space_t* space, size_t map_inputs, int32_t d) {
  int64_t least = INT64_MAX;
  for (size_t i = 0; i < map_inputs; i++) {
    const access_t* access = &space->accesses[space->output_count + i];
    if (access->own_rank < 0 && access->strides[d])
      least = lesser(least, llabs(access->strides[d]));
  }
  return least;
}

bool reduce_goes_along(const cpu_generic_t* generic, const space_t* space) {
  const int64_t lanes = (int64_t)generic->lanes;
  const int64_t outer = lesser(space->outer_count, lanes),
                inner = lesser(space->inner_count, lanes);
  if (outer < FEW || inner < FEW) return inner > outer;
  const size_t inputs = generic->code->parts[CODE_MAP]->input_count;
  const int32_t last = space->outer_rank + space->inner_rank - 1;
  return least_step(space, inputs, last) <= least_step(space, inputs, space->outer_rank - 1);
}

size_t reduce_bytes(cpu_generic_t* generic) {
  int64_t steps = 0;
  for (size_t i = 0; i < generic->set_count; i++)
    if (generic->spaces[i].inner_count > steps) steps = generic->spaces[i].inner_count;
  generic->levels = fold_levels(steps);
  return fold_bytes(generic->code, generic->lanes, generic->levels);
}

/* Returns what a map loads whose elements are folded in their memory. */
static const access_t* only_input(const fold_t* fold) {
  return &fold->map.inputs[fold->map.code->steps[0].slot];
}

/* Whether the elements of an outer one lie one behind the other, and need not be loaded before. */
static bool is_row(const fold_t* fold, const space_t* space) {
  if (!fold->rows || space->inner_rank != 1) return false;
  const access_t* access = only_input(fold);
  return access->strides[space->outer_rank] == access->element_bytes;
}

static void add_tile(fold_t* fold, const tile_t* tile, bool row) {
  if (row) {
    fold_add_folded(fold, fold->rows, tile_beginning(tile, only_input(fold)), tile->count);
    return;
  }
  frame_run(&fold->map, tile);
  if (fold->single)
    fold_add_folded(fold, fold->single, frame_result(&fold->map, 0), tile->count);
  else if (fold->in_order)
    fold_add_in_order(fold, tile->count);
  else
    fold_add_lanes(fold, tile->count);
}

/* Returns a tile that goes along the inner space, at one outer element. */
static tile_t tile_along(const space_t* space, int64_t outer) {
  tile_t tile = {.space = space, .rank = space->outer_rank};
  tile_seek(&tile, outer);
  tile.first = space->outer_rank;
  tile.rank = space->inner_rank;
  tile.linear_moves = true;
  return tile;
}

/* The same as fold_along, of a reduction that finds the greatest or the least of some elements. */
static void find_along(fold_t* fold, const space_t* space, int64_t outer, int64_t lanes,
                       size_t to) {
  tile_t tile = tile_along(space, outer);
  extreme_t extreme = fold->extreme;
  for (int64_t at = 0; at < space->inner_count; at += lanes) {
    tile_seek(&tile, at);
    tile.linear = at;
    tile.count = (size_t)lesser(space->inner_count - at, lanes);
    frame_run(&fold->values, &tile);
    extreme_add(&extreme, frame_result(&fold->values, 0), tile.count, at);
  }
  const size_t bytes = (size_t)fold->state_bytes[0];
  memcpy((char*)fold->done.at[0] + to * bytes, &extreme.value, bytes);
  ((int64_t*)fold->done.at[1])[to] = extreme.index;
}

/* One outer element: its states come to lane `to` of `done`. */
static void fold_along(fold_t* fold, const space_t* space, int64_t outer, int64_t lanes,
                       size_t to) {
  tile_t tile = tile_along(space, outer);
  const bool row = is_row(fold, space);
  if (row) lanes = ROW_ELEMENTS;
  fold_reset(fold);
  for (int64_t at = 0; at < space->inner_count; at += lanes) {
    tile_seek(&tile, at);
    tile.linear = at;
    tile.count = (size_t)lesser(space->inner_count - at, lanes);
    add_tile(fold, &tile, row);
  }
  fold_lanes(fold, fold_collapse(fold, 1), to);
}

/* A block of outer elements whose rows are folded at once: their states come to `done`. */
static void fold_rows(fold_t* fold, const space_t* space, const tile_t* block) {
  tile_t tile = *block;
  char* to = fold->done.at[0];
  for (size_t i = 0; i < block->count; i++, to += fold->state_bytes[0]) {
    fold->rows(to, tile_beginning(&tile, only_input(fold)), (size_t)space->inner_count);
    for (int32_t d = space->outer_rank - 1; d >= 0; d--) {
      if (++tile.index[d] < space->sizes[d]) break;
      tile.index[d] = 0;
    }
  }
}

/* Adds one element for each lane, from where they lie if they do so side by side and are folded as they are. */
static void add_across(fold_t* fold, const tile_t* tile) {
  const bool as_it_is = fold->rows && fold->map.code->step_count == 1 && cpu_loops_are_direct();
  const void* place = as_it_is ? tile_together(tile, only_input(fold)) : NULL;
  if (place) {
    fold_add_elements(fold, place, tile->count);
  } else {
    frame_run(&fold->map, tile);
    fold_add_lanes(fold, tile->count);
  }
}

/* A block of outer elements: their states come to `done`. */
static void fold_across(fold_t* fold, const space_t* space, const tile_t* block) {
  tile_t tile = *block, inner = {.space = space, .first = space->outer_rank};
  inner.rank = space->inner_rank;
  tile.linear_moves = false;
  fold_reset(fold);
  for (int64_t at = 0; at < space->inner_count; at++) {
    tile_seek(&inner, at);
    for (int32_t d = space->outer_rank; d < space->outer_rank + space->inner_rank; d++)
      tile.index[d] = inner.index[d];
    tile.linear = at;
    add_across(fold, &tile);
  }
  fold_keep_lanes(fold, fold_collapse(fold, block->count));
}

static void finish_block(fold_t* fold, const tile_t* block) {
  for (size_t s = 0; s < fold->states; s++)
    fold->finish.buffers[s] = fold->done.at[s];
  frame_run(&fold->finish, block);
  for (size_t i = 0; i < block->space->output_count; i++)
    tile_store(block, &block->space->accesses[i], frame_result(&fold->finish, i));
}

static void compute_block(fold_t* fold, const cpu_generic_t* generic, const space_t* space,
                          int64_t position, bool along) {
  const int64_t lanes = (int64_t)generic->lanes;
  tile_t block = {.space = space, .rank = space->outer_rank, .linear_moves = true};
  tile_seek(&block, position);
  block.linear = position;
  block.count = (size_t)lesser(space->outer_count - position, lanes);
  const int64_t inner = space->inner_count;
  if (along && is_row(fold, space) && inner > 0 && inner <= ROW_ELEMENTS)
    fold_rows(fold, space, &block);
  else if (along && fold->extreme.fold && inner > 0)
    for (size_t i = 0; i < block.count; i++)
      find_along(fold, space, position + (int64_t)i, lanes, i);
  else if (along)
    for (size_t i = 0; i < block.count; i++)
      fold_along(fold, space, position + (int64_t)i, lanes, i);
  else
    fold_across(fold, space, &block);
  finish_block(fold, &block);
}

void reduce_compute(const cpu_generic_t* generic) {
  fold_t fold;
  fold_make(&fold, generic->code, generic->lanes, generic->levels, generic->scratch);
  for (size_t i = 0; i < generic->set_count; i++) {
    const space_t* space = &generic->spaces[i];
    const access_t* inputs = space->accesses + space->output_count;
    const bool along = reduce_goes_along(generic, space);
    if (space->outer_count == 0) continue;
    frame_begin(&fold.map, space, inputs, generic->lanes);
    if (fold.extreme.fold) frame_begin(&fold.values, space, inputs, generic->lanes);
    frame_begin(&fold.combine, space, NULL, generic->lanes);
    frame_begin(&fold.finish, space, inputs + fold.map.code->input_count, generic->lanes);
    tables_make(&fold.map, space, generic_walk(generic, space, CODE_MAP), generic->lanes,
                generic_tables(generic, CODE_MAP));
    tables_make(&fold.finish, space, TABLES_OUTER, generic->lanes,
                generic_tables(generic, CODE_FINISH));
    for (int64_t at = 0; at < space->outer_count; at += (int64_t)generic->lanes)
      compute_block(&fold, generic, space, at, along);
  }
}
