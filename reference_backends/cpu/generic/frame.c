/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * frame.c: the steps of a program, run on buffers.
 */
#include "tables.h"

enum { LINE = 64 };

/* With room behind the last lane: combine begins anywhere in a buffer, and takes whole steps. */
size_t frame_buffer_bytes(size_t lanes) {
  return ((lanes + CPU_LANE_STEP) * sizeof(uint64_t) + LINE - 1) / LINE * LINE;
}

static size_t table_bytes(const code_t* code) {
  return (2 * code->buffer_count * sizeof(void*) + LINE - 1) / LINE * LINE;
}

size_t frame_bytes(const code_t* code, size_t lanes) {
  const size_t own = code->buffer_count - code->parameter_count;
  return table_bytes(code) + own * frame_buffer_bytes(lanes);
}

char* frame_make(frame_t* frame, const code_t* code, size_t lanes, char* memory) {
  *frame = (frame_t){.code = code, .buffers = (void**)(void*)memory};
  frame->loaded = (const void**)(void*)(frame->buffers + code->buffer_count);
  memory += table_bytes(code);
  for (size_t i = code->parameter_count; i < code->buffer_count; i++) {
    frame->buffers[i] = memory;
    memory += frame_buffer_bytes(lanes);
  }
  return memory;
}

/* A load that stays has its own buffer only where its elements do not lie side by side. */
static void load(const frame_t* frame, const code_step_t* step, const tile_t* tile) {
  const access_t* access = &frame->inputs[step->slot];
  const void* place = step->stays ? tile_together(tile, access) : NULL;
  frame->loaded[step->out] = place;
  if (!place) tile_load(tile, access, frame->buffers[step->out]);
}

/* Operands may be loads that stay. */
static void find_operands(const frame_t* frame, const code_step_t* step, const void** in) {
  for (int32_t k = 0; k < step->in_count; k++) {
    const int32_t from = step->from[k];
    const bool stays = from != CODE_NOWHERE && frame->code->steps[from].stays;
    const void* place = stays ? frame->loaded[step->in[k]] : NULL;
    in[k] = place ? place : frame->buffers[step->in[k]];
  }
}

void frame_loop(const frame_t* frame, const code_step_t* step, size_t count, void* out) {
  const void* in[SPACE_RANK];
  find_operands(frame, step, in);
  step->loop(out, in, cpu_whole_lanes(count));
}

static void gather(const frame_t* frame, const code_step_t* step, const tile_t* tile, void* out) {
  const void* in[SPACE_RANK];
  find_operands(frame, step, in);
  tile_gather(tile, &frame->inputs[step->slot], step->bounds, in, out);
}

void frame_step(const frame_t* frame, const code_step_t* step, const tile_t* tile) {
  void* out = frame->buffers[step->out];
  switch (step->opcode) {
    case TBK_OPCODE_CONSTANT:
      lanes_fill(out, step->immediate, tbk_dtype_bytes(step->dtype), tile->count);
      break;
    case TBK_OPCODE_NUMBER:
      lanes_fill(out, tile->space->numbers[step->slot], tbk_dtype_bytes(step->dtype), tile->count);
      break;
    case TBK_OPCODE_COORDINATE:
      tile_coordinates(tile, step->slot, out);
      break;
    case TBK_OPCODE_LINEAR_INDEX:
      for (size_t i = 0; i < tile->count; i++)
        ((int64_t*)out)[i] =
            !tile->linear_moves ? tile->linear
                                : tile->linear + (tile->space->reversed ? -(int64_t)i : (int64_t)i);
      break;
    case TBK_OPCODE_LOAD:
      if (frame->inputs[step->slot].own_rank < 0)
        load(frame, step, tile);
      else
        gather(frame, step, tile, out);
      break;
    default:
      frame_loop(frame, step, tile->count, out);
  }
}

void frame_begin(frame_t* frame, const space_t* space, const access_t* inputs, size_t lanes) {
  const tile_t tile = {.space = space, .count = cpu_whole_lanes(lanes)};
  frame->inputs = inputs;
  frame->tables = NULL;
  for (size_t i = 0; i < frame->code->uniform_count; i++)
    frame_step(frame, &frame->code->steps[i], &tile);
}

static void run_by_table(const frame_t* frame, size_t i, const tile_t* tile) {
  const tables_t* tables = frame->tables;
  const code_step_t* step = &frame->code->steps[i];
  void* out = frame->buffers[step->out];
  switch (tables->kinds[i]) {
    case STEP_RUNS:
      frame_step(frame, step, tile);
      break;
    case STEP_SPREADS:
      table_spread(&tables->tables[tables->first[i]], tile, out);
      break;
    case STEP_GATHERS:
      tables_gather(tables, &tables->tables[tables->first[i]], tile, &frame->inputs[step->slot],
                    out);
      break;
    default:; /* its value is in tables */
  }
}

/* Runs the steps that are not the same for all elements, up to `end`. */
static void run_steps(const frame_t* frame, const tile_t* tile, size_t end) {
  for (size_t i = frame->code->uniform_count; i < end; i++)
    if (frame->tables)
      run_by_table(frame, i, tile);
    else
      frame_step(frame, &frame->code->steps[i], tile);
}

void frame_run(const frame_t* frame, const tile_t* tile) {
  run_steps(frame, tile, frame->code->step_count);
}

/* A step whose value is in tables has no operands to compute it of. */
bool frame_has_direct_result(const frame_t* frame) {
  const code_t* code = frame->code;
  return code->direct_result &&
         (!frame->tables || frame->tables->kinds[code->step_count - 1] == STEP_RUNS);
}

void frame_run_into(const frame_t* frame, const tile_t* tile, void* out) {
  const size_t last = frame->code->step_count - 1;
  run_steps(frame, tile, last);
  frame_loop(frame, &frame->code->steps[last], tile->count, out);
}

const void* frame_result(const frame_t* frame, size_t i) {
  return frame->buffers[frame->code->results[i]];
}
