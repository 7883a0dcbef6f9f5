/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * scan.c: tbk::scan. The lanes of a tile are either elements of one segment (along: each is combined with those
 * before it, in steps of twice the distance, and then with all of the tiles before), or one element of many
 * segments (across), whichever there are many of.
 */
#include "generic.h"

#include <string.h>

typedef struct scan {
  frame_t map, combine, finish;
  size_t states;
  int64_t state_bytes[FOLD_STATES_MOST];
  cpu_fold_t running; /* where combine is one opcode, which can be taken in any order; else NULL */
  fold_states_t now;  /* of the elements of a tile */
  fold_states_t
      before; /* of all elements before it: the same in each lane, or one of each segment */
  fold_states_t made;
} scan_t;

void scan_turn(space_t* space, bool reversed) {
  const int32_t last = space->outer_rank - 1;
  space->outer_rank = last;
  space->inner_rank = 1;
  space->inner_count = space->sizes[last];
  space->outer_count = 1;
  for (int32_t d = 0; d < last; d++)
    space->outer_count *= space->sizes[d];
  space->reversed = reversed;
  for (size_t i = 0; reversed && i < space->output_count + space->input_count; i++) {
    access_t* access = &space->accesses[i];
    if (access->own_rank >= 0 || space->inner_count == 0 || space->outer_count == 0) continue;
    if (access->data) access->data += (space->inner_count - 1) * access->strides[last];
    access->strides[last] = -access->strides[last];
  }
}

size_t scan_bytes(const cpu_generic_t* generic) {
  const size_t states = generic->code->parts[CODE_MAP]->result_count;
  size_t bytes = 3 * states * frame_buffer_bytes(generic->lanes);
  for (int i = 0; i < 3; i++)
    bytes += frame_bytes(generic->code->parts[i], generic->lanes);
  return bytes;
}

static void make(scan_t* scan, const cpu_generic_t* generic) {
  const kernel_code_t* code = generic->code;
  const code_t* map = code->parts[CODE_MAP];
  char* memory = generic->scratch;
  scan->states = map->result_count;
  scan->running = fold_single(code->parts[CODE_COMBINE], CPU_FOLD_RUNNING);
  memory = frame_make(&scan->map, map, generic->lanes, memory);
  memory = frame_make(&scan->combine, code->parts[CODE_COMBINE], generic->lanes, memory);
  memory = frame_make(&scan->finish, code->parts[CODE_FINISH], generic->lanes, memory);
  for (size_t s = 0; s < scan->states; s++) {
    scan->state_bytes[s] = tbk_dtype_bytes(map->result_dtypes[s]);
    scan->now.at[s] = memory;
    scan->before.at[s] = memory + frame_buffer_bytes(generic->lanes);
    scan->made.at[s] = memory + 2 * frame_buffer_bytes(generic->lanes);
    memory += 3 * frame_buffer_bytes(generic->lanes);
  }
}

static void take(const scan_t* scan, const frame_t* frame, const fold_states_t* into,
                 size_t lanes) {
  for (size_t s = 0; s < scan->states; s++)
    memcpy(into->at[s], frame_result(frame, s), lanes * (size_t)scan->state_bytes[s]);
}

/* Combines the lanes of `first` with those of `now` from `lane` on, and puts what comes of it there. */
static void combine(const scan_t* scan, const fold_states_t* first, size_t lane, size_t lanes) {
  const tile_t tile = {.count = lanes};
  for (size_t s = 0; s < scan->states; s++) {
    scan->combine.buffers[s] = first->at[s];
    scan->combine.buffers[scan->states + s] =
        (char*)scan->now.at[s] + lane * (size_t)scan->state_bytes[s];
  }
  frame_run(&scan->combine, &tile);
  take(scan, &scan->combine, &scan->made, lanes); /* a result may lie in what is overwritten */
  for (size_t s = 0; s < scan->states; s++) {
    const size_t bytes = (size_t)scan->state_bytes[s];
    memcpy((char*)scan->now.at[s] + lane * bytes, scan->made.at[s], lanes * bytes);
  }
}

static void finish(const scan_t* scan, const tile_t* tile) {
  for (size_t s = 0; s < scan->states; s++)
    scan->finish.buffers[s] = scan->now.at[s];
  frame_run(&scan->finish, tile);
  for (size_t i = 0; i < tile->space->output_count; i++)
    tile_store(tile, &tile->space->accesses[i], frame_result(&scan->finish, i));
}

static int64_t linear_at(const space_t* space, int64_t position) {
  return space->reversed ? space->inner_count - 1 - position : position;
}

/* Combines each lane of `now` with those before it. */
static void combine_lanes(const scan_t* scan, size_t lanes) {
  if (scan->running)
    scan->running(scan->now.at[0], scan->now.at[0], lanes);
  else
    for (size_t distance = 1; distance < lanes; distance *= 2)
      combine(scan, &scan->now, distance, lanes - distance);
}

/* One segment. */
static void scan_along(const scan_t* scan, const space_t* space, int64_t outer, int64_t lanes) {
  tile_t tile = {.space = space, .rank = space->outer_rank};
  tile_seek(&tile, outer);
  tile.first = space->outer_rank;
  tile.rank = 1;
  tile.linear_moves = true;
  for (int64_t at = 0; at < space->inner_count; at += lanes) {
    const int64_t left = space->inner_count - at;
    tile_seek(&tile, at);
    tile.linear = linear_at(space, at);
    tile.count = (size_t)(left < lanes ? left : lanes);
    frame_run(&scan->map, &tile);
    take(scan, &scan->map, &scan->now, tile.count);
    combine_lanes(scan, tile.count);
    if (at > 0) combine(scan, &scan->before, 0, tile.count);
    for (size_t s = 0; s < scan->states; s++) {
      const int64_t bytes = scan->state_bytes[s];
      uint64_t last = 0;
      memcpy(&last, (char*)scan->now.at[s] + (int64_t)(tile.count - 1) * bytes, (size_t)bytes);
      lanes_fill(scan->before.at[s], last, bytes, (size_t)lanes);
    }
    finish(scan, &tile);
  }
}

/* A block of segments. */
static void scan_across(const scan_t* scan, const space_t* space, const tile_t* block) {
  tile_t tile = *block;
  for (int64_t at = 0; at < space->inner_count; at++) {
    tile.index[space->outer_rank] = at;
    tile.linear = linear_at(space, at);
    frame_run(&scan->map, &tile);
    take(scan, &scan->map, &scan->now, tile.count);
    if (at > 0) combine(scan, &scan->before, 0, tile.count);
    for (size_t s = 0; s < scan->states; s++)
      memcpy(scan->before.at[s], scan->now.at[s], tile.count * (size_t)scan->state_bytes[s]);
    finish(scan, &tile);
  }
}

static void scan_space(const scan_t* scan, const cpu_generic_t* generic, const space_t* space) {
  const int64_t lanes = (int64_t)generic->lanes;
  const bool along = reduce_goes_along(generic, space);
  for (int64_t at = 0; along && at < space->outer_count; at++)
    scan_along(scan, space, at, lanes);
  for (int64_t at = 0; !along && at < space->outer_count; at += lanes) {
    tile_t block = {.space = space, .rank = space->outer_rank};
    const int64_t left = space->outer_count - at;
    tile_seek(&block, at);
    block.count = (size_t)(left < lanes ? left : lanes);
    scan_across(scan, space, &block);
  }
}

void scan_compute(const cpu_generic_t* generic) {
  scan_t scan;
  make(&scan, generic);
  for (size_t i = 0; i < generic->set_count; i++) {
    const space_t* space = &generic->spaces[i];
    const access_t* inputs = space->accesses + space->output_count;
    if (space->outer_count == 0 || space->inner_count == 0) continue;
    frame_begin(&scan.map, space, inputs, generic->lanes);
    frame_begin(&scan.combine, space, NULL, generic->lanes);
    frame_begin(&scan.finish, space, inputs + scan.map.code->input_count, generic->lanes);
    scan_space(&scan, generic, space);
  }
}
