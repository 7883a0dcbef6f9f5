/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * execute.c: runs one program: what is there before its calls, and what is waited for and looked at
 * behind them. What is seen is kept, and judged when all is over.
 */
#include <stdio.h>
#include <string.h>

#include "runner.h"

_Thread_local litmus_here_t litmus_here;

/* Notes the first thing that ends the program. */
void litmus_end_with(litmus_runner_t* r, litmus_outcome_t outcome, tbk_status_t status) {
  int right = LITMUS_RIGHT;
  if (!__atomic_compare_exchange_n(&r->ended, &right, (int)outcome, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    return;
  r->result->call = litmus_here.call;
  r->result->status = status;
  if (status != TBK_OK)
    snprintf(r->result->message, sizeof r->result->message, "%.*s",
             (int)sizeof r->result->message - 1, litmus_here.error.message);
}

bool litmus_went_well(litmus_runner_t* r, tbk_status_t status, bool takes_memory) {
  if (status == TBK_OK) return true;
  const bool no_room = takes_memory && status == TBK_OUT_OF_MEMORY;
  litmus_end_with(r, no_room ? LITMUS_NO_ROOM : LITMUS_REFUSED, status);
  return false;
}

bool litmus_has_ended(litmus_runner_t* r) {
  return __atomic_load_n(&r->ended, __ATOMIC_ACQUIRE) != LITMUS_RIGHT;
}

static bool begin_cell(litmus_runner_t* r, int cell) {
  const uint64_t size = r->program->size_bytes;
  const int device = litmus_cell_device(r->program, cell);
  const bool fits = litmus_keeps_cells(r) && r->cell_device[cell] == device;
  if (r->has_cell[cell] && !fits && !litmus_went_well(r, litmus_free_cell(r, cell), false))
    return false;
  if (!r->has_cell[cell] && !litmus_went_well(r, litmus_make_cell(r, cell), true)) return false;
  uint8_t* room = r->look_of_cell[cell];
  memset(room, LITMUS_FIRST_OF_CELLS + cell, size);
  return litmus_went_well(
      r, r->core->upload(r->self, device, r->cells[cell], 0, room, size, NULL, &litmus_here.error),
      false);
}

static bool has_bit(uint32_t bits, int index) {
  return bits >> index & 1;
}

/* What it names, and the streams before those too: schedulers that take their choices from a seed
   tell streams by how many there were before. */
static void begin(litmus_runner_t* r) {
  const litmus_uses_t* uses = &r->uses;
  bool well = litmus_rooms_begin(r);
  if (!well) litmus_end_with(r, LITMUS_NO_ROOM, TBK_OK);
  for (int cell = 0; well && cell < LITMUS_CELLS; cell++)
    well = !has_bit(uses->cells, cell) || litmus_cell_is_async(cell) || begin_cell(r, cell);
  for (int stream = 0; well && uses->streams >> stream != 0; stream++)
    well = litmus_went_well(r, litmus_make_stream(r, stream), false);
  for (int event = 0; well && event < LITMUS_EVENTS; event++)
    well = !has_bit(uses->events, event) || litmus_went_well(r, litmus_make_event(r, event), false);
}

/* Each callback has run once by now (CBK-002). */
static void count_callbacks(litmus_runner_t* r) {
  for (uint64_t left = r->uses.callbacks; left != 0; left &= left - 1) {
    const int index = __builtin_ctzll(left);
    const unsigned id = r->program->calls[index].id;
    int ran = __atomic_load_n(&r->callbacks[id].ran, __ATOMIC_ACQUIRE);
    if (ran == 1 || litmus_has_ended(r)) continue;
    litmus_here.call = index;
    litmus_end_with(r, LITMUS_MISCOUNTED, TBK_OK);
    snprintf(r->result->message, sizeof r->result->message, "the callback ran %d times", ran);
  }
}

/* Waits for all, whatever went wrong before. */
static void wait_for_all(litmus_runner_t* r) {
  for (uint64_t gone = r->uses.renewals; gone != 0; gone &= gone - 1) {
    tbk_event_t* left = r->left[__builtin_ctzll(gone)];
    if (left != NULL)
      litmus_went_well(r, r->event->event_synchronize(r->self, left, &litmus_here.error), false);
  }
  for (int stream = 0; stream < LITMUS_STREAMS; stream++)
    if (r->streams[stream] != NULL)
      litmus_went_well(
          r, r->stream->stream_synchronize(r->self, r->streams[stream], &litmus_here.error), false);
  for (uint32_t device = 0; device < r->program->devices; device++)
    litmus_went_well(r, r->stream->device_synchronize(r->self, (int32_t)device, &litmus_here.error),
                     false);
}

static void look_at_cells(litmus_runner_t* r) {
  for (int cell = 0; cell < LITMUS_CELLS; cell++) {
    if (!r->has_cell[cell] || !has_bit(r->uses.cells, cell)) continue;
    uint8_t* room = r->look_of_cell[cell];
    tbk_status_t status =
        r->core->download(r->self, litmus_cell_device(r->program, cell), room, r->cells[cell], 0,
                          r->program->size_bytes, NULL, &litmus_here.error);
    if (litmus_went_well(r, status, false)) r->seen->cells[cell] = room;
  }
  for (int slot = 0; slot < LITMUS_SLOTS; slot++)
    r->seen->slots[slot] = r->slots[slot];
}

/* Returns whether work was enqueued for it. */
static bool give_back_cell(litmus_runner_t* r, int cell) {
  if (!r->has_cell[cell]) return false;
  if (litmus_cell_is_async(cell))
    return r->streams[0] != NULL && litmus_went_well(r, litmus_free_in_order(r, 0, cell), false);
  const bool fit = litmus_keeps_cells(r) && !litmus_has_ended(r);
  if (!fit) litmus_went_well(r, litmus_free_cell(r, cell), false);
  return false;
}

static void end(litmus_runner_t* r) {
  bool more = false;
  litmus_host_waits(r, true);
  wait_for_all(r);
  litmus_host_waits(r, false);
  if (!litmus_has_ended(r)) count_callbacks(r);
  if (!litmus_has_ended(r)) look_at_cells(r);
  for (int cell = 0; cell < LITMUS_CELLS; cell++)
    more |= give_back_cell(r, cell);
  if (more) wait_for_all(r);
  for (uint64_t gone = r->uses.renewals; gone != 0; gone &= gone - 1)
    r->event->event_destroy(r->self, r->left[__builtin_ctzll(gone)]);
  for (int event = 0; event < LITMUS_EVENTS; event++)
    r->event->event_destroy(r->self, r->events[event]);
  for (int stream = 0; stream < LITMUS_STREAMS; stream++)
    r->stream->stream_destroy(r->self, r->streams[stream]);
}

/* One call may wait for all that was piled up, and for large copies: on a slow device that is no hang. */
static uint32_t weight_of(const litmus_runner_t* r) {
  return 1 + (uint32_t)(r->program->size_bytes >> 22) + r->uses.piled / 32;
}

void litmus_run(litmus_runner_t* r, const litmus_program_t* program, litmus_result_t* out_result,
                litmus_seen_t* out_seen) {
  *out_result = (litmus_result_t){.call = -1};
  memset(out_seen, 0, sizeof *out_seen);
  r->program = program;
  r->result = out_result;
  r->seen = out_seen;
  memset(r->streams, 0, sizeof r->streams);
  memset(r->events, 0, sizeof r->events);
  memset(r->marks, 0, sizeof r->marks);
  memset(r->left, 0, sizeof r->left);
  r->ended = LITMUS_RIGHT;
  litmus_here.error.message[0] = '\0';
  r->progress->call = -1;
  litmus_here.call = -1;
  r->uses = litmus_program_uses(program);
  r->progress->weight = weight_of(r);
  begin(r);
  if (program->threads > 1) {
    litmus_run_threads(r);
  } else {
    for (uint32_t i = 0; i < program->count && !litmus_has_ended(r); i++)
      litmus_step(r, i);
  }
  litmus_note(r, -1);
  end(r);
  out_result->outcome = (litmus_outcome_t)r->ended;
  out_seen->answered = out_result->answered;
}

void litmus_result_judge(const litmus_program_t* program, const litmus_seen_t* seen,
                         litmus_result_t* result, litmus_model_t* model, bool is_grown) {
  if (is_grown && (result->answered == 0 || litmus_takes_answers(model))) {
    litmus_model_answer(model, result->answered);
    litmus_model_end(model);
  } else {
    litmus_model_replay(model, program, result->answered);
  }
  if (result->outcome == LITMUS_RIGHT && litmus_judge(model, seen, &result->wrong))
    result->outcome = LITMUS_WRONG;
}
