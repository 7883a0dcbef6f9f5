/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tables.c: which steps are worth a table, and their making.
 */
#include "tables.h"

#include <string.h>

/* A table holds at most so many elements, and each is used so often. */
enum { ELEMENTS_MOST = 1 << 16, USES_LEAST = 4, LINE = 64 };

static int64_t count_places(const space_t* space, uint8_t coordinates) {
  int64_t count = 1;
  for (int32_t d = 0; d < SPACE_RANK; d++)
    if (coordinates >> d & 1) count *= space->sizes[d];
  return count;
}

/* ------------------------------------------------------------------------------------- plan -- */

static void set_walk(tables_t* tables, const space_t* space, tables_walk_t walk) {
  const bool along = walk == TABLES_ALONG;
  tables->walked_first = along ? space->outer_rank : 0;
  tables->walked_rank = along ? space->inner_rank : space->outer_rank;
  tables->walked_count = along ? space->inner_count : space->outer_count;
  tables->fixed_first = along ? 0 : space->outer_rank;
  tables->fixed_rank = along ? space->outer_rank : walk == TABLES_ACROSS ? space->inner_rank : 0;
  tables->fixed_count = along ? space->outer_count : walk == TABLES_ACROSS ? space->inner_count : 1;
  tables->row = tables->walked_first + tables->walked_rank - 1;
  while (tables->row > tables->walked_first && space->sizes[tables->row] == 1)
    tables->row--;
}

static bool is_worth(const tables_t* tables, const space_t* space, const code_step_t* step) {
  if (!step->is_placed) return false;
  const int64_t count = count_places(space, step->coordinates);
  return count <= ELEMENTS_MOST && count <= tables->walked_count * tables->fixed_count / USES_LEAST;
}

/* The dimensions that stay come first, so that what a tile goes through lies together. */
static void set_strides(const tables_t* tables, const space_t* space, table_t* table) {
  const int32_t firsts[] = {tables->walked_first, tables->fixed_first};
  const int32_t ranks[] = {tables->walked_rank, tables->fixed_rank};
  table->count = table->run = 1;
  table->row = -1;
  for (int i = 0; i < 2; i++)
    for (int32_t d = firsts[i] + ranks[i] - 1; d >= firsts[i]; d--) {
      const bool depends = table->coordinates >> d & 1;
      if (i == 0 && table->row < 0) {
        if (depends && space->sizes[d] > 1)
          table->row = d;
        else
          table->run *= space->sizes[d];
      }
      if (!depends) continue;
      table->strides[d] = table->count;
      table->count *= space->sizes[d];
    }
}

static table_t* add_table(tables_t* tables, const code_t* code, const space_t* space,
                          int32_t step) {
  table_t* table = &tables->tables[tables->count];
  *table = (table_t){.step = step,
                     .next = tables->made[step],
                     .coordinates = code->steps[step].coordinates,
                     .element_bytes = tbk_dtype_bytes(code->steps[step].dtype)};
  tables->made[step] = (int8_t)tables->count++;
  set_strides(tables, space, table);
  return table;
}

/* Whether a load goes row by row: at most one of its indices moves along a row. */
static bool is_gathered(const tables_t* tables, const code_t* code, const space_t* space,
                        const code_step_t* step) {
  int moving = 0;
  if (step->opcode != TBK_OPCODE_LOAD || step->in_count == 0) return false;
  if (tables->count + step->in_count > TABLES_MOST) return false;
  for (int32_t k = 0; k < step->in_count; k++) {
    if (step->from[k] == CODE_NOWHERE) return false;
    const code_step_t* from = &code->steps[step->from[k]];
    if (!is_worth(tables, space, from)) return false;
    moving += from->coordinates >> tables->row & 1;
  }
  return moving <= 1;
}

static void plan_step(tables_t* tables, const code_t* code, const space_t* space, int32_t i,
                      bool* needed) {
  const code_step_t* step = &code->steps[i];
  tables->first[i] = (int8_t)tables->count;
  if (tables->count < TABLES_MOST && is_worth(tables, space, step)) {
    tables->kinds[i] = STEP_SPREADS;
    add_table(tables, code, space, i);
    return;
  }
  if (is_gathered(tables, code, space, step)) {
    tables->kinds[i] = STEP_GATHERS;
    for (int32_t k = 0; k < step->in_count; k++) {
      table_t* table = add_table(tables, code, space, step->from[k]);
      table->dimension = k;
      table->bounds = step->bounds;
      table->element_bytes = sizeof(int64_t);
    }
    return;
  }
  tables->kinds[i] = STEP_RUNS;
  for (int32_t k = 0; k < step->in_count; k++)
    if (step->from[k] != CODE_NOWHERE) needed[step->from[k]] = true;
}

/* From the results on; what only tables are made of is not run for lanes. */
static void plan(tables_t* tables, const code_t* code, const space_t* space, tables_walk_t walk) {
  bool needed[TBK_PROGRAM_MOST_INSTRUCTIONS] = {false};
  tables->count = 0;
  if (!code->reads_coordinates) return;
  set_walk(tables, space, walk);
  if (tables->walked_count <= 1 || tables->fixed_count < 1) return;
  memset(tables->made, -1, sizeof tables->made);
  for (size_t i = 0; i < code->result_count; i++)
    if (code->result_steps[i] != CODE_NOWHERE) needed[code->result_steps[i]] = true;
  for (size_t i = code->step_count; i-- > code->uniform_count;) {
    tables->kinds[i] = STEP_RESTS;
    if (needed[i]) plan_step(tables, code, space, (int32_t)i, needed);
  }
}

static size_t rounded(size_t bytes) {
  return (bytes + LINE - 1) / LINE * LINE;
}

size_t tables_bytes(const code_t* code, const space_t* space, tables_walk_t walk) {
  tables_t tables;
  plan(&tables, code, space, walk);
  if (tables.count == 0) return 0;
  size_t bytes = rounded(sizeof tables);
  for (int32_t i = 0; i < tables.count; i++)
    bytes += rounded((size_t)(tables.tables[i].count * tables.tables[i].element_bytes));
  return bytes;
}

/* ------------------------------------------------------------------------------------- fill -- */

static int64_t offset_of(const table_t* table, int64_t index) {
  const int64_t size = table->access->own_sizes[table->dimension];
  if (table->bounds == TBK_BOUNDS_CLAMP && size > 0)
    index = index < 0 ? 0 : index >= size ? size - 1 : index;
  else if (table->bounds != TBK_BOUNDS_TRUSTED && (uint64_t)index >= (uint64_t)size)
    return TABLE_OUTSIDE;
  return index * table->access->strides[table->dimension];
}

static void keep(const table_t* table, const void* buffer, int64_t at, size_t count) {
  char* to = table->data + at * table->element_bytes;
  if (!table->access) {
    memcpy(to, buffer, count * (size_t)table->element_bytes);
    return;
  }
  for (size_t i = 0; i < count; i++)
    ((int64_t*)(void*)to)[i] = offset_of(table, ((const int64_t*)buffer)[i]);
}

/* The steps, in their order, that the tables of these coordinates are made of. */
static size_t find_steps(const tables_t* tables, const code_t* code, uint8_t coordinates,
                         uint16_t* steps) {
  bool wanted[TBK_PROGRAM_MOST_INSTRUCTIONS] = {false};
  size_t count = 0;
  for (int32_t i = 0; i < tables->count; i++)
    if (tables->tables[i].coordinates == coordinates) wanted[tables->tables[i].step] = true;
  for (size_t i = code->step_count; i-- > 0;)
    for (int32_t k = 0; wanted[i] && k < code->steps[i].in_count; k++)
      wanted[code->steps[i].from[k]] = true;
  for (size_t i = 0; i < code->step_count; i++)
    if (wanted[i]) steps[count++] = (uint16_t)i;
  return count;
}

typedef struct filling {
  const frame_t* frame;
  const tables_t* tables;
  uint8_t coordinates;
  uint16_t steps[TBK_PROGRAM_MOST_INSTRUCTIONS];
  size_t step_count;
} filling_t;

static void fill_tile(const filling_t* filling, const tile_t* tile, int64_t at) {
  const code_t* code = filling->frame->code;
  for (size_t i = 0; i < filling->step_count; i++) {
    const size_t step = filling->steps[i];
    if (step >= code->uniform_count) frame_step(filling->frame, &code->steps[step], tile);
    for (int32_t t = filling->tables->made[step]; t >= 0; t = filling->tables->tables[t].next)
      if (filling->tables->tables[t].coordinates == filling->coordinates)
        keep(&filling->tables->tables[t], filling->frame->buffers[code->steps[step].out], at,
             tile->count);
  }
}

/* Fills the tables of these coordinates, as if there were no others. */
static void fill(const frame_t* frame, const tables_t* tables, const space_t* space,
                 uint8_t coordinates, size_t lanes) {
  filling_t filling = {.frame = frame, .tables = tables, .coordinates = coordinates};
  filling.step_count = find_steps(tables, frame->code, coordinates, filling.steps);
  space_t part = *space;
  for (int32_t d = 0; d < SPACE_RANK; d++)
    if (!(coordinates >> d & 1)) part.sizes[d] = 1;
  const int64_t all = count_places(&part, coordinates);
  int64_t walked = 1;
  for (int32_t d = 0; d < tables->walked_rank; d++)
    walked *= part.sizes[tables->walked_first + d];
  for (int64_t begin = 0; begin < all; begin += walked) {
    tile_t tile = {.space = &part, .first = tables->fixed_first, .rank = tables->fixed_rank};
    tile_seek(&tile, begin / walked);
    tile.first = tables->walked_first;
    tile.rank = tables->walked_rank;
    for (int64_t at = 0; at < walked; at += (int64_t)lanes) {
      tile_seek(&tile, at);
      tile.count = (size_t)(walked - at < (int64_t)lanes ? walked - at : (int64_t)lanes);
      fill_tile(&filling, &tile, begin + at);
    }
  }
}

/* Finds out whether rows can be moved by one stride, but for what is outside at their ends. */
static void find_steps_of_rows(table_t* table, int64_t row) {
  const int64_t* at = (const int64_t*)(const void*)table->data;
  bool is_known = false;
  table->is_even = true;
  for (int64_t begin = 0; begin < table->count; begin += row) {
    bool is_left = false;
    for (int64_t i = begin + 1; i < begin + row; i++) {
      const bool before = at[i - 1] != TABLE_OUTSIDE, now = at[i] != TABLE_OUTSIDE;
      is_left = is_left || (before && !now);
      if (now && is_left) table->is_even = false;
      if (!before || !now) continue;
      if (!is_known) table->even_step = at[i] - at[i - 1];
      is_known = true;
      if (at[i] - at[i - 1] != table->even_step) table->is_even = false;
    }
  }
}

void tables_make(frame_t* frame, const space_t* space, tables_walk_t walk, size_t lanes,
                 char* memory) {
  tables_t* tables = (tables_t*)(void*)memory;
  const code_t* code = frame->code;
  frame->tables = NULL;
  if (!code->reads_coordinates || !memory) return;
  plan(tables, code, space, walk);
  if (tables->count == 0) return;
  memory += rounded(sizeof *tables);
  for (int32_t i = 0; i < tables->count; i++) {
    tables->tables[i].data = memory;
    memory += rounded((size_t)(tables->tables[i].count * tables->tables[i].element_bytes));
  }
  for (size_t i = code->uniform_count; i < code->step_count; i++)
    for (int32_t k = 0; tables->kinds[i] == STEP_GATHERS && k < code->steps[i].in_count; k++)
      tables->tables[tables->first[i] + k].access = &frame->inputs[code->steps[i].slot];
  bool is_filled[1 << SPACE_RANK] = {false};
  for (int32_t i = 0; i < tables->count; i++) {
    const uint8_t coordinates = tables->tables[i].coordinates;
    if (!is_filled[coordinates]) fill(frame, tables, space, coordinates, lanes);
    is_filled[coordinates] = true;
  }
  for (int32_t i = 0; i < tables->count; i++)
    if (tables->tables[i].access && tables->tables[i].row == tables->row)
      find_steps_of_rows(&tables->tables[i], space->sizes[tables->row]);
  frame->tables = tables;
}
