/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * strip.c: pointwise programs on long rows, strip by strip. A strip is so short that the processor reads
 * the next one from memory while it computes this one, and its steps cost little but their loops.
 */
#include "generic.h"

enum { STRIP = 256, ACCESSES_MOST = TBK_PROGRAM_MOST_RESULTS + TBK_PROGRAM_MOST_INPUTS };

/* Some elements of a row. */
typedef struct strip {
  const access_t* accesses; /* the outputs, then the inputs */
  size_t output_count;
  char* places[ACCESSES_MOST]; /* where those begin, by access */
  int32_t along;               /* the dimension that a row goes along */
  size_t count;
  bool is_first; /* of its row: none is longer */
} strip_t;

static bool lies_together(const strip_t* strip, size_t i) {
  const access_t* access = &strip->accesses[i];
  return access->strides[strip->along] == access->element_bytes &&
         strip->count % CPU_LANE_STEP == 0;
}

/* Fills a buffer with what is one element all along a row once, where no other step writes that buffer. */
static void load(const frame_t* frame, const code_step_t* step, const strip_t* strip) {
  const size_t i = strip->output_count + step->slot;
  if (step->owns && !strip->is_first && strip->accesses[i].strides[strip->along] == 0) return;
  char* place = step->stays && lies_together(strip, i) ? strip->places[i] : NULL;
  frame->loaded[step->out] = place;
  if (!place)
    tile_load_along(&strip->accesses[i], strip->along, strip->places[i], strip->count,
                    frame->buffers[step->out]);
}

static void compute_strip(const frame_t* frame, const strip_t* strip) {
  const code_t* code = frame->code;
  const bool direct = code->direct_result && lies_together(strip, 0);
  const size_t last = code->step_count - 1;
  for (size_t i = code->uniform_count; i < code->step_count; i++) {
    const code_step_t* step = &code->steps[i];
    void* out = direct && i == last ? strip->places[0] : frame->buffers[step->out];
    if (step->opcode == TBK_OPCODE_LOAD)
      load(frame, step, strip);
    else
      frame_loop(frame, step, strip->count, out);
  }
  for (size_t i = 0; i < strip->output_count && !direct; i++) {
    const access_t* access = &strip->accesses[i];
    cpu_row_store(strip->places[i], frame_result(frame, i), access->strides[strip->along],
                  (int64_t)strip->count, access->element_bytes);
  }
}

bool strips_fit(const code_t* code, const space_t* space) {
  if (code->reads_coordinates || code->reads_linear_index || space->outer_rank == 0) return false;
  for (size_t i = 0; i < space->input_count; i++)
    if (space->accesses[space->output_count + i].own_rank >= 0) return false;
  return space->sizes[space->outer_rank - 1] >= STRIP;
}

static void compute_row(const frame_t* frame, strip_t* strip, size_t accesses, int64_t size,
                        size_t lanes) {
  const size_t most = lanes < STRIP ? lanes : STRIP;
  for (size_t left = (size_t)size; left > 0; left -= strip->count) {
    strip->count = left < most ? left : most;
    strip->is_first = left == (size_t)size;
    compute_strip(frame, strip);
    for (size_t i = 0; i < accesses; i++)
      strip->places[i] += (int64_t)strip->count * strip->accesses[i].strides[strip->along];
  }
}

void strips_compute(const frame_t* frame, const space_t* space, size_t lanes) {
  const size_t accesses = space->output_count + space->input_count;
  const int64_t size = space->sizes[space->outer_rank - 1];
  strip_t strip = {.accesses = space->accesses,
                   .output_count = space->output_count,
                   .along = space->outer_rank - 1};
  tile_t tile = {.space = space, .rank = space->outer_rank};
  for (int64_t row = 0; row < space->outer_count; row += size) {
    tile_seek(&tile, row);
    for (size_t i = 0; i < accesses; i++)
      strip.places[i] = tile_beginning(&tile, &space->accesses[i]);
    compute_row(frame, &strip, accesses, size, lanes);
  }
}
