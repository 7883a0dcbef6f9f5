/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * whole.c: the model of a whole program: what is there before its calls, and what is looked at behind
 * them; and which polls were answered.
 */
#include <string.h>

#include "sets.h"

enum { NONE = -1 };

void litmus_model_begin(litmus_model_t* model, const litmus_program_t* program, uint64_t without,
                        uint64_t extra) {
  /* Not the nodes, nor the reads: each is set when it is made. */
  const size_t set_bytes = (LITMUS_PLACE_OF_CELLS + LITMUS_CELLS) * sizeof *model->writers;
  memset(model->writers, 0, set_bytes);
  memset(model->readers, 0, set_bytes);
  memset(model->first, 0, LITMUS_PLACE_OF_CELLS + LITMUS_CELLS);
  memset(model->is_async, 0, LITMUS_PLACE_OF_CELLS + LITMUS_CELLS);
  memset(model->event_again, 0, sizeof model->event_again);
  memset(model->waited, 0, sizeof model->waited);
  memset(model->heard, 0, sizeof model->heard);
  memset(&model->fresh, 0, sizeof model->fresh);
  memset(model->covers, 0, sizeof model->covers);
  memset(model->stream_begins, 0, sizeof model->stream_begins);
  memset(model->streams, 0, sizeof model->streams);
  memset(model->events, 0, sizeof model->events);
  memset(model->cells, 0, sizeof model->cells);
  model->node_count = model->read_count = 0;
  model->program = program;
  model->without = without;
  model->extra = extra;
  model->place_count = LITMUS_PLACE_OF_CELLS;
  model->last_work = NONE;
  memset(model->host_tail, 0xff, sizeof model->host_tail);
  memset(model->stream_tail, 0xff, sizeof model->stream_tail);
  memset(model->event_record, 0xff, sizeof model->event_record);
  memset(model->cell_place, 0xff, sizeof model->cell_place);
  memset(model->cell_begins, 0xff, sizeof model->cell_begins);
  memset(model->late_record, 0xff, sizeof model->late_record);
  memset(model->late_copy, 0xff, sizeof model->late_copy);
  int start = litmus_new_node(model, NONE);
  for (int thread = 0; thread < LITMUS_THREADS; thread++)
    model->host_tail[thread][thread] = (int16_t)start;
  for (int slot = 0; slot < LITMUS_SLOTS; slot++)
    model->first[slot] = (uint8_t)(LITMUS_FIRST_OF_SLOTS + slot);
  for (int cell = 0; cell < LITMUS_CELLS; cell++) {
    if (litmus_cell_is_async(cell)) continue;
    model->first[model->place_count] = (uint8_t)(LITMUS_FIRST_OF_CELLS + cell);
    model->cell_of[model->place_count] = (int8_t)cell;
    model->cell_place[cell] = (int16_t)model->place_count++;
  }
}

bool litmus_takes_answers(const litmus_model_t* model) {
  return model->program->threads <= 1;
}

/* What happens before a node is what its edges say, and those lead from earlier nodes. */
static void find_before(litmus_model_t* model, litmus_node_t* node) {
  node->before = (litmus_set_t){{0}};
  for (unsigned i = 0; i < node->edge_count; i++) {
    litmus_set_join(&node->before, &model->nodes[node->edges[i].from].before);
    litmus_set_add(&node->before, node->edges[i].from);
  }
}

void litmus_model_answer(litmus_model_t* model, uint64_t answered) {
  bool has_changed = false;
  for (uint32_t i = 0; i < model->node_count && answered != 0; i++) {
    litmus_node_t* node = &model->nodes[i];
    if (node->held_back > 0 && answered >> node->call & 1) {
      node->edge_count = (uint8_t)(node->edge_count + node->held_back);
      node->held_back = 0;
      has_changed = true;
    }
    if (has_changed) find_before(model, node);
  }
}

/* What no call names is not there for the device to spoil. */
static bool is_touched(const litmus_model_t* model, int place) {
  const litmus_set_t none = {{0}};
  return place >= 0 && !(litmus_set_within(&model->writers[place], &none) &&
                         litmus_set_within(&model->readers[place], &none));
}

void litmus_model_end(litmus_model_t* model) {
  int end = litmus_new_node(model, NONE);
  for (int node = 0; node < end; node++)
    litmus_set_add(&model->nodes[end].before, node);
  for (int slot = 0; slot < LITMUS_SLOTS; slot++)
    if (is_touched(model, slot)) litmus_look(model, end, slot, LITMUS_END);
  for (int cell = 0; cell < LITMUS_CELLS; cell++)
    if (is_touched(model, model->cell_place[cell]))
      litmus_look(model, end, model->cell_place[cell], LITMUS_END);
  litmus_model_read(model, 0);
}

bool litmus_model_grow(litmus_model_t* model, const litmus_program_t* program, uint64_t answered,
                       uint64_t without, uint64_t extra) {
  litmus_model_begin(model, program, without, extra);
  for (uint32_t i = 0; i < program->count; i++)
    if (!litmus_model_add(model, i, answered >> i & 1)) return false;
  return true;
}

bool litmus_model_build(litmus_model_t* model, const litmus_program_t* program, uint64_t answered,
                        uint64_t without, uint64_t extra) {
  if (!litmus_model_grow(model, program, answered, without, extra)) return false;
  litmus_model_end(model);
  return true;
}
