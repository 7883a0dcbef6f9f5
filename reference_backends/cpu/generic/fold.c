/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * fold.c: states combined, by levels and by halves.
 */
#include "fold.h"

#include "alike.h"

#include <string.h>

size_t fold_levels(int64_t steps) {
  size_t levels = 1;
  for (; steps > 0; steps /= FOLD_RADIX)
    levels++;
  return levels;
}

size_t fold_bytes(const kernel_code_t* code, size_t lanes, size_t levels) {
  const size_t states = code->parts[CODE_MAP]->result_count;
  size_t bytes = (levels + 4) * states * frame_buffer_bytes(lanes);
  for (int i = 0; i < 3; i++)
    bytes += frame_bytes(code->parts[i], lanes);
  if (code->values) bytes += frame_bytes(code->values, lanes);
  return bytes;
}

static char* make_states(fold_states_t* states, size_t count, size_t lanes, char* memory) {
  for (size_t s = 0; s < count; s++) {
    states->at[s] = memory;
    memory += frame_buffer_bytes(lanes);
  }
  return memory;
}

cpu_fold_t fold_single(const code_t* combine, cpu_fold_kind_t kind) {
  const code_step_t* step = combine->steps;
  if (combine->step_count != 1 || combine->parameter_count != 2 || step->in_count != 2) return NULL;
  if (step->in[0] == step->in[1] || combine->results[0] != step->out) return NULL;
  return cpu_fold_find(step->opcode, step->dtype, kind);
}

/* Returns what folds elements in their memory, where the map only loads one that is no BOOL, or squares it then. */
static cpu_fold_t find_rows(const code_t* map, const code_t* combine) {
  const code_step_t *load = map->steps, *square = load + 1;
  if (map->step_count < 1 || load->opcode != TBK_OPCODE_LOAD || load->dtype == TBK_BOOL ||
      map->inputs[load->slot].kind != TBK_INPUT_ALIGNED)
    return NULL;
  const bool squares = map->step_count == 2 && square->opcode == TBK_OPCODE_MUL &&
                       square->in[0] == load->out && square->in[1] == load->out;
  if (map->step_count != 1 && !squares) return NULL;
  return fold_single(combine, squares ? CPU_FOLD_SQUARES : CPU_FOLD_ELEMENTS);
}

void fold_make(fold_t* fold, const kernel_code_t* code, size_t lanes, size_t levels, char* memory) {
  const code_t* map = code->parts[CODE_MAP];
  *fold = (fold_t){.states = map->result_count,
                   .in_order = !(code->reduction->flags & TBK_REDUCTION_COMMUTATIVE),
                   .has_alike = code->has_alike,
                   .alike = code->alike,
                   .identity = code->reduction->identity,
                   .level_count = levels};
  if (!fold->in_order) fold->single = fold_single(code->parts[CODE_COMBINE], CPU_FOLD_ELEMENTS);
  if (fold->single) fold->rows = find_rows(map, code->parts[CODE_COMBINE]);
  for (size_t s = 0; s < fold->states; s++)
    fold->state_bytes[s] = tbk_dtype_bytes(map->result_dtypes[s]);
  memory = frame_make(&fold->map, map, lanes, memory);
  memory = frame_make(&fold->combine, code->parts[CODE_COMBINE], lanes, memory);
  memory = frame_make(&fold->finish, code->parts[CODE_FINISH], lanes, memory);
  fold->extreme = extreme_begin(code);
  if (fold->extreme.fold) memory = frame_make(&fold->values, code->values, lanes, memory);
  for (size_t i = 0; i < levels; i++)
    memory = make_states(&fold->levels[i].states, fold->states, lanes, memory);
  memory = make_states(&fold->even, fold->states, lanes, memory);
  memory = make_states(&fold->odd, fold->states, lanes, memory);
  memory = make_states(&fold->halved, fold->states, lanes, memory);
  make_states(&fold->done, fold->states, lanes, memory);
}

void fold_reset(fold_t* fold) {
  for (size_t i = 0; i < fold->level_count; i++) {
    fold->levels[i].lanes = 0;
    fold->levels[i].merged = 0;
    fold->levels[i].alike = false;
  }
}

static void copy_lanes(const fold_t* fold, size_t s, void* to, const void* from, size_t lanes) {
  memcpy(to, from, lanes * (size_t)fold->state_bytes[s]);
}

/* Takes the results of a frame for `into`: by exchanging buffers where nobody else reads them. */
static void take_results(fold_t* fold, frame_t* frame, fold_states_t* into, size_t lanes,
                         bool exchange) {
  for (size_t s = 0; s < fold->states; s++)
    if (!frame->code->own_result[s]) /* it may lie in what is overwritten next */
      copy_lanes(fold, s, fold->odd.at[s], frame_result(frame, s), lanes);
  for (size_t s = 0; s < fold->states; s++) {
    void** made =
        frame->code->own_result[s] ? &frame->buffers[frame->code->results[s]] : &fold->odd.at[s];
    if (exchange) {
      void* old = into->at[s];
      into->at[s] = *made;
      *made = old;
    } else {
      copy_lanes(fold, s, into->at[s], *made, lanes);
    }
  }
}

/* Fills what is the same in every lane into so many. */
static void spread(const fold_t* fold, const fold_states_t* states, size_t lanes) {
  for (size_t s = 0; fold->has_alike && s < fold->states; s++) {
    const int64_t bytes = fold->state_bytes[s];
    uint64_t first = 0;
    if (!fold->alike[s]) continue;
    memcpy(&first, states->at[s], (size_t)bytes);
    lanes_fill(states->at[s], first, bytes, lanes);
  }
}

/* Runs combine on so many lanes, of the second operand from `second_lane` on. */
static void run_combine(fold_t* fold, const fold_states_t* first, const fold_states_t* second,
                        size_t second_lane, size_t lanes, bool alike) {
  const tile_t tile = {.count = lanes};
  for (size_t s = 0; s < fold->states; s++) {
    const size_t lane = alike && fold->alike[s] ? 0 : second_lane;
    fold->combine.buffers[s] = first->at[s];
    fold->combine.buffers[fold->states + s] =
        (char*)second->at[s] + lane * (size_t)fold->state_bytes[s];
  }
  if (alike && fold->has_alike)
    alike_run(&fold->combine, &tile);
  else
    frame_run(&fold->combine, &tile);
}

/* The later `states` come into a level, which has as many lanes or more, or none yet. */
static void merge(fold_t* fold, fold_level_t* level, const fold_states_t* states, size_t lanes,
                  bool alike) {
  const bool both = alike && level->alike && lanes == level->lanes;
  if (level->alike && !both) spread(fold, &level->states, level->lanes);
  if (alike && !both) spread(fold, states, lanes);
  run_combine(fold, &level->states, states, 0, lanes, both);
  take_results(fold, &fold->combine, &level->states, lanes, lanes == level->lanes);
  level->alike = both;
}

static void carry(fold_t* fold) {
  for (size_t i = 0; i + 1 < fold->level_count; i++) {
    fold_level_t *level = &fold->levels[i], *next = &fold->levels[i + 1];
    if (++level->merged < FOLD_RADIX) return;
    if (next->lanes) {
      merge(fold, next, &level->states, level->lanes, level->alike);
    } else {
      fold_states_t empty = next->states;
      next->states = level->states;
      next->lanes = level->lanes;
      next->alike = level->alike;
      level->states = empty;
    }
    level->merged = 0;
    level->lanes = 0;
  }
}

void fold_add_lanes(fold_t* fold, size_t lanes) {
  fold_level_t* level = &fold->levels[0];
  if (level->lanes) {
    fold_states_t made;
    for (size_t s = 0; s < fold->states; s++)
      made.at[s] = fold->map.buffers[fold->map.code->results[s]];
    merge(fold, level, &made, lanes, true);
  } else {
    take_results(fold, &fold->map, &level->states, lanes, true);
    level->lanes = lanes;
    level->alike = true;
  }
  carry(fold);
}

void fold_add_elements(fold_t* fold, const void* elements, size_t lanes) {
  fold_level_t* level = &fold->levels[0];
  const fold_states_t given = {.at = {(void*)(uintptr_t)elements}};
  if (level->lanes) {
    merge(fold, level, &given, lanes, false);
  } else {
    cpu_move_find()(level->states.at[0], elements, lanes * (size_t)fold->state_bytes[0]);
    level->lanes = lanes;
    level->alike = false;
  }
  carry(fold);
}

void fold_add_folded(fold_t* fold, cpu_fold_t make, const void* elements, size_t lanes) {
  fold_level_t* level = &fold->levels[0];
  void* to = level->lanes ? fold->halved.at[0] : level->states.at[0];
  make(to, elements, lanes);
  if (level->lanes) merge(fold, level, &fold->halved, 1, false);
  level->lanes = 1;
  carry(fold);
}

/* Deals lanes out in turn: the first to `even`, the second to `odd`. */
static void deal(const fold_t* fold, const fold_states_t* from, size_t lanes) {
  for (size_t s = 0; s < fold->states; s++) {
    const size_t bytes = (size_t)fold->state_bytes[s];
    const char* source = from->at[s];
    for (size_t i = 0; i < lanes; i++) {
      char* to = i % 2 ? fold->odd.at[s] : fold->even.at[s];
      memcpy(to + i / 2 * bytes, source + i * bytes, bytes);
    }
  }
}

void fold_add_in_order(fold_t* fold, size_t lanes) {
  const fold_states_t states = fold->halved;
  for (size_t s = 0; s < fold->states; s++)
    copy_lanes(fold, s, states.at[s], frame_result(&fold->map, s), lanes);
  for (; lanes > 1; lanes -= lanes / 2) {
    const size_t half = lanes / 2;
    deal(fold, &states, lanes);
    run_combine(fold, &fold->even, &fold->odd, 0, half, false);
    for (size_t s = 0; s < fold->states; s++) {
      const size_t bytes = (size_t)fold->state_bytes[s];
      copy_lanes(fold, s, states.at[s], frame_result(&fold->combine, s), half);
      if (lanes % 2)
        memcpy((char*)states.at[s] + half * bytes, (char*)fold->even.at[s] + half * bytes, bytes);
    }
  }
  fold_level_t* level = &fold->levels[0];
  if (level->lanes)
    merge(fold, level, &states, 1, false);
  else
    for (size_t s = 0; s < fold->states; s++)
      copy_lanes(fold, s, level->states.at[s], states.at[s], 1);
  level->lanes = 1;
  carry(fold);
}

const fold_level_t* fold_collapse(fold_t* fold, size_t lanes) {
  fold_level_t* all = NULL;
  for (size_t i = fold->level_count; i-- > 0;) {
    fold_level_t* level = &fold->levels[i];
    if (!level->lanes) continue;
    if (all)
      merge(fold, all, &level->states, level->lanes, level->alike);
    else
      all = level;
  }
  if (all) return all;
  for (size_t s = 0; s < fold->states; s++)
    lanes_fill(fold->levels[0].states.at[s], fold->identity[s], fold->state_bytes[s], lanes);
  fold->levels[0].lanes = lanes;
  return &fold->levels[0];
}

void fold_keep_lanes(fold_t* fold, const fold_level_t* level) {
  fold_level_t* from = &fold->levels[level - fold->levels];
  const fold_states_t old = fold->done;
  if (from->alike) spread(fold, &from->states, from->lanes);
  fold->done = from->states;
  from->states = old;
}

void fold_lanes(fold_t* fold, const fold_level_t* level, size_t to) {
  bool alike = level->alike;
  for (size_t lanes = level->lanes; lanes > 1; lanes -= lanes / 2) {
    fold_states_t states = level->states;
    if (alike && lanes % 2) {
      spread(fold, &states, lanes);
      alike = false;
    }
    run_combine(fold, &states, &states, lanes - lanes / 2, lanes / 2, alike);
    take_results(fold, &fold->combine, &states, lanes / 2, false);
  }
  for (size_t s = 0; s < fold->states; s++) {
    const size_t bytes = (size_t)fold->state_bytes[s];
    memcpy((char*)fold->done.at[s] + to * bytes, level->states.at[s], bytes);
  }
}
