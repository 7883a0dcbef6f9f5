/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * execute.c: runs one program. Each call goes to the library as it stands; what is seen is kept, and
 * judged when all is over.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runner.h"

static uint64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What a thread of the host is at. */
static _Thread_local struct {
  int32_t call; /* -1: none of the program's */
  tbk_error_t error;
} here;

/* Notes the first thing that ends the program. */
void litmus_end_with(litmus_runner_t* r, litmus_outcome_t outcome, tbk_status_t status) {
  int right = LITMUS_RIGHT;
  if (!__atomic_compare_exchange_n(&r->ended, &right, (int)outcome, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE))
    return;
  r->result->call = here.call;
  r->result->status = status;
  if (status != TBK_OK)
    snprintf(r->result->message, sizeof r->result->message, "%.*s",
             (int)sizeof r->result->message - 1, here.error.message);
}

static bool went_well(litmus_runner_t* r, tbk_status_t status, bool takes_memory) {
  if (status == TBK_OK) return true;
  const bool no_room = takes_memory && status == TBK_OUT_OF_MEMORY;
  litmus_end_with(r, no_room ? LITMUS_NO_ROOM : LITMUS_REFUSED, status);
  return false;
}

bool litmus_has_ended(litmus_runner_t* r) {
  return __atomic_load_n(&r->ended, __ATOMIC_ACQUIRE) != LITMUS_RIGHT;
}

/* ---------------------------------------------------------------------------------- callbacks -- */

static void sleep_us(uint32_t microseconds) {
  struct timespec left = {microseconds / 1000000, (long)(microseconds % 1000000) * 1000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR)
    continue;
}

static void run_callback(void* argument) {
  litmus_callback_t* c = argument;
  __atomic_fetch_add(&c->ran, 1, __ATOMIC_RELAXED);
  if (c->op == LITMUS_DELAY) sleep_us(c->microseconds);
  if (c->op == LITMUS_CALLBACK_READ) memcpy(c->out + c->offset, c->slot + c->offset, c->size);
  if (c->op == LITMUS_CALLBACK_LOOK) *c->out = __atomic_load_n(c->mark, __ATOMIC_ACQUIRE);
  if (c->op == LITMUS_CALLBACK_MARK) __atomic_store_n(c->mark, c->value, __ATOMIC_RELEASE);
}

static uint8_t* look_at(litmus_runner_t* r, const litmus_call_t* call) {
  uint8_t* room = r->look_of_call[call->id];
  r->seen->by_call[call->id] = room;
  return room;
}

static tbk_status_t enqueue_callback(litmus_runner_t* r, const litmus_call_t* call) {
  litmus_callback_t* c = &r->callbacks[call->id];
  *c = (litmus_callback_t){.op = call->op,
                           .mark = &r->marks[call->mark],
                           .value = call->value,
                           .slot = r->slots[call->slot],
                           .microseconds = call->microseconds};
  litmus_call_range(r->program, call, &c->offset, &c->size);
  if (call->op == LITMUS_CALLBACK_READ || call->op == LITMUS_CALLBACK_LOOK)
    c->out = look_at(r, call);
  return r->callback->callback_enqueue(r->self, r->streams[call->stream], run_callback, c,
                                       &here.error);
}

/* -------------------------------------------------------------------------------------- waiting -- */

static tbk_status_t ask(litmus_runner_t* r, const litmus_call_t* call) {
  if (call->op == LITMUS_EVENT_POLL || call->op == LITMUS_EVENT_SPIN)
    return r->event->event_query(r->self, r->events[call->event], &here.error);
  return r->stream->stream_query(r->self, r->streams[call->stream], &here.error);
}

static bool is_over(litmus_runner_t* r, const litmus_call_t* call, tbk_status_t status) {
  if (call->op == LITMUS_AWAIT_MARK)
    return __atomic_load_n(&r->marks[call->mark], __ATOMIC_ACQUIRE) != 0;
  return status == TBK_OK;
}

static void ask_until_over(litmus_runner_t* r, const litmus_call_t* call) {
  uint64_t until = 0; /* mostly it does not take long */
  for (unsigned asked = 0;; asked++) {
    tbk_status_t status = ask(r, call);
    if (status != TBK_NOT_READY && !went_well(r, status, false)) return;
    if (is_over(r, call, status) || litmus_has_ended(r)) return;
    if (asked % 64 != 63) continue;
    const uint64_t now = now_ns();
    if (until == 0) until = now + r->progress->patience_ns * r->progress->weight;
    if (now > until) break;
    sched_yield();
  }
  litmus_end_with(r, LITMUS_STUCK, TBK_OK);
}

static void poll_once(litmus_runner_t* r, const litmus_call_t* call, uint32_t index) {
  tbk_status_t status = ask(r, call);
  if (status == TBK_NOT_READY) return;
  if (went_well(r, status, false))
    __atomic_fetch_or(&r->result->answered, UINT64_C(1) << index, __ATOMIC_RELAXED);
}

/* ---------------------------------------------------------------------------------------- calls -- */

static tbk_status_t make_stream(litmus_runner_t* r, int stream) {
  return r->stream->stream_create(r->self, litmus_stream_device(r->program, stream),
                                  litmus_stream_priority(stream), &r->streams[stream], &here.error);
}

static tbk_status_t make_event(litmus_runner_t* r, int event) {
  return r->event->event_create(r->self, litmus_event_device(r->program, event),
                                litmus_event_is_timed(event) ? TBK_EVENT_TIMING : 0,
                                &r->events[event], &here.error);
}

/* What was enqueued on a stream that goes is complete when this event is. */
static tbk_status_t renew_stream(litmus_runner_t* r, int stream) {
  tbk_event_t** left = &r->left[here.call];
  tbk_status_t status = r->event->event_create(r->self, litmus_stream_device(r->program, stream), 0,
                                               left, &here.error);
  if (status != TBK_OK) return status;
  status = r->event->event_record(r->self, *left, r->streams[stream], &here.error);
  if (status != TBK_OK) return status;
  r->stream->stream_destroy(r->self, r->streams[stream]);
  r->streams[stream] = NULL;
  return make_stream(r, stream);
}

static tbk_status_t make_cell(litmus_runner_t* r, int cell) {
  const int32_t device = litmus_cell_device(r->program, cell);
  tbk_status_t status =
      r->core->memory_alloc(r->self, device, litmus_cell_bytes(r), &r->cells[cell], &here.error);
  r->has_cell[cell] = status == TBK_OK;
  r->cell_device[cell] = device;
  return status;
}

static tbk_status_t free_cell(litmus_runner_t* r, int cell) {
  r->has_cell[cell] = false;
  return r->core->memory_free(r->self, r->cell_device[cell], r->cells[cell], &here.error);
}

static tbk_status_t renew_cell(litmus_runner_t* r, int cell) {
  tbk_status_t status = free_cell(r, cell);
  return status == TBK_OK ? make_cell(r, cell) : status;
}

static tbk_status_t make_copy(litmus_runner_t* r, const litmus_call_t* call, tbk_stream_t* stream) {
  uint64_t at, size;
  litmus_call_range(r->program, call, &at, &size);
  const int device = litmus_cell_device(r->program, call->cell);
  tbk_memory_t cell = r->cells[call->cell];
  switch (call->op) {
    case LITMUS_FILL:
      return r->core->fill(r->self, device, cell, at, call->value, size, stream, &here.error);
    case LITMUS_UPLOAD:
      return r->core->upload(r->self, device, cell, at, r->slots[call->slot] + at, size, stream,
                             &here.error);
    case LITMUS_DOWNLOAD:
      return r->core->download(r->self, device, r->slots[call->slot] + at, cell, at, size, stream,
                               &here.error);
    case LITMUS_COPY:
      return r->core->copy(r->self, device, cell, at, r->cells[call->other], at, size, stream,
                           &here.error);
    default:
      return r->peer->peer_copy(r->self, device, cell, at,
                                litmus_cell_device(r->program, call->other), r->cells[call->other],
                                at, size, stream, &here.error);
  }
}

static tbk_status_t make_copies(litmus_runner_t* r, const litmus_call_t* call) {
  tbk_stream_t* stream = call->stream < 0 ? NULL : r->streams[call->stream];
  tbk_status_t status = make_copy(r, call, stream);
  for (unsigned i = 0; i < call->more && status == TBK_OK; i++)
    status = make_copy(r, call, stream);
  return status;
}

static tbk_status_t allocate_in_order(litmus_runner_t* r, const litmus_call_t* call) {
  tbk_status_t status =
      r->async_memory->async_alloc(r->self, r->streams[call->stream], r->program->size_bytes,
                                   &r->cells[call->cell], &here.error);
  r->has_cell[call->cell] = status == TBK_OK;
  return status;
}

static tbk_status_t free_in_order(litmus_runner_t* r, int stream, int cell) {
  r->has_cell[cell] = false;
  return r->async_memory->async_free(r->self, r->streams[stream], r->cells[cell], &here.error);
}

/* What names an event; another thread may put another in the place of those that are not named. */
static tbk_status_t make_event_call(litmus_runner_t* r, const litmus_call_t* call) {
  tbk_event_t* event = r->events[call->event];
  switch (call->op) {
    case LITMUS_WAIT:
      return r->event->event_wait(r->self, r->streams[call->stream], event, &here.error);
    case LITMUS_RECORD:
      return r->event->event_record(r->self, event, r->streams[call->stream], &here.error);
    case LITMUS_EVENT_SYNCHRONIZE:
      return r->event->event_synchronize(r->self, event, &here.error);
    default:
      r->event->event_destroy(r->self, event);
      r->events[call->event] = NULL;
      return make_event(r, call->event);
  }
}

/* What answers with a status. */
static tbk_status_t make_call(litmus_runner_t* r, const litmus_call_t* call) {
  switch (call->op) {
    case LITMUS_CALLBACK_READ:
    case LITMUS_CALLBACK_MARK:
    case LITMUS_CALLBACK_LOOK:
    case LITMUS_DELAY:
      return enqueue_callback(r, call);
    case LITMUS_WAIT:
    case LITMUS_RECORD:
    case LITMUS_EVENT_SYNCHRONIZE:
    case LITMUS_EVENT_RENEW:
      return make_event_call(r, call);
    case LITMUS_ASYNC_ALLOC:
      return allocate_in_order(r, call);
    case LITMUS_ASYNC_FREE:
      return free_in_order(r, call->stream, call->cell);
    case LITMUS_STREAM_SYNCHRONIZE:
      return r->stream->stream_synchronize(r->self, r->streams[call->stream], &here.error);
    case LITMUS_DEVICE_SYNCHRONIZE:
      return r->stream->device_synchronize(r->self, call->device, &here.error);
    case LITMUS_STREAM_RENEW:
      return renew_stream(r, call->stream);
    case LITMUS_CELL_RENEW:
      return renew_cell(r, call->cell);
    default:
      return make_copies(r, call);
  }
}

static void note(litmus_runner_t* r, int32_t call) {
  here.call = call;
  __atomic_store_n(&r->progress->call, call, __ATOMIC_RELAXED);
  uint64_t steps = __atomic_load_n(&r->progress->steps, __ATOMIC_RELAXED);
  __atomic_store_n(&r->progress->steps, steps + 1,
                   __ATOMIC_RELAXED); /* that it changes is enough */
}

/* A kernel may have no way for this size, or no memory of its own: that is said before any effect. */
static void make_launch(litmus_runner_t* r, const litmus_call_t* call) {
  tbk_stream_t* stream = call->stream < 0 ? NULL : r->streams[call->stream];
  const tbk_status_t status = litmus_launch(r, call, stream, &here.error);
  if (status == TBK_UNSUPPORTED)
    litmus_end_with(r, LITMUS_NO_ROOM, status);
  else
    went_well(r, status, true);
}

void litmus_step(litmus_runner_t* r, uint32_t index) {
  const litmus_call_t* call = &r->program->calls[index];
  note(r, (int32_t)index);
  uint64_t at, size;
  litmus_call_range(r->program, call, &at, &size);
  switch (call->op) {
    case LITMUS_THREAD_RENEW: /* threads.c has done it */
      break;
    case LITMUS_EVENT_POLL:
    case LITMUS_STREAM_POLL:
      poll_once(r, call, index);
      break;
    case LITMUS_EVENT_SPIN:
    case LITMUS_STREAM_SPIN:
    case LITMUS_AWAIT_MARK:
      ask_until_over(r, call);
      break;
    case LITMUS_HOST_WRITE:
      memset(r->slots[call->slot] + at, call->value, size);
      break;
    case LITMUS_HOST_READ:
      memcpy(look_at(r, call) + at, r->slots[call->slot] + at, size);
      break;
    case LITMUS_HOST_LOOK:
      *look_at(r, call) = __atomic_load_n(&r->marks[call->mark], __ATOMIC_ACQUIRE);
      break;
    case LITMUS_KERNEL_FILL:
    case LITMUS_KERNEL_COPY:
      make_launch(r, call);
      break;
    default:
      went_well(r, make_call(r, call),
                call->op == LITMUS_CELL_RENEW || call->op == LITMUS_ASYNC_ALLOC);
  }
}

/* ---------------------------------------------------------------------------- beginning and end -- */

static bool begin_cell(litmus_runner_t* r, int cell) {
  const uint64_t size = r->program->size_bytes;
  const int device = litmus_cell_device(r->program, cell);
  const bool fits = litmus_keeps_cells(r) && r->cell_device[cell] == device;
  if (r->has_cell[cell] && !fits && !went_well(r, free_cell(r, cell), false)) return false;
  if (!r->has_cell[cell] && !went_well(r, make_cell(r, cell), true)) return false;
  uint8_t* room = r->look_of_cell[cell];
  memset(room, LITMUS_FIRST_OF_CELLS + cell, size);
  return went_well(
      r, r->core->upload(r->self, device, r->cells[cell], 0, room, size, NULL, &here.error), false);
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
    well = went_well(r, make_stream(r, stream), false);
  for (int event = 0; well && event < LITMUS_EVENTS; event++)
    well = !has_bit(uses->events, event) || went_well(r, make_event(r, event), false);
}

/* Each callback has run once by now (CBK-002). */
static void count_callbacks(litmus_runner_t* r) {
  for (uint32_t i = 0; i < r->program->count; i++) {
    const litmus_call_t* call = &r->program->calls[i];
    if (call->op < LITMUS_CALLBACK_READ || call->op > LITMUS_DELAY) continue;
    int ran = __atomic_load_n(&r->callbacks[call->id].ran, __ATOMIC_ACQUIRE);
    if (ran == 1 || litmus_has_ended(r)) continue;
    here.call = (int32_t)i;
    litmus_end_with(r, LITMUS_MISCOUNTED, TBK_OK);
    snprintf(r->result->message, sizeof r->result->message, "the callback ran %d times", ran);
  }
}

/* Waits for all, whatever went wrong before. */
static void wait_for_all(litmus_runner_t* r) {
  for (uint32_t i = 0; i < r->program->count; i++)
    if (r->left[i] != NULL)
      went_well(r, r->event->event_synchronize(r->self, r->left[i], &here.error), false);
  for (int stream = 0; stream < LITMUS_STREAMS; stream++)
    if (r->streams[stream] != NULL)
      went_well(r, r->stream->stream_synchronize(r->self, r->streams[stream], &here.error), false);
  for (uint32_t device = 0; device < r->program->devices; device++)
    went_well(r, r->stream->device_synchronize(r->self, (int32_t)device, &here.error), false);
}

static void look_at_cells(litmus_runner_t* r) {
  for (int cell = 0; cell < LITMUS_CELLS; cell++) {
    if (!r->has_cell[cell] || !has_bit(r->uses.cells, cell)) continue;
    uint8_t* room = r->look_of_cell[cell];
    tbk_status_t status =
        r->core->download(r->self, litmus_cell_device(r->program, cell), room, r->cells[cell], 0,
                          r->program->size_bytes, NULL, &here.error);
    if (went_well(r, status, false)) r->seen->cells[cell] = room;
  }
  for (int slot = 0; slot < LITMUS_SLOTS; slot++)
    r->seen->slots[slot] = r->slots[slot];
}

/* Returns whether work was enqueued for it. */
static bool give_back_cell(litmus_runner_t* r, int cell) {
  if (!r->has_cell[cell]) return false;
  if (litmus_cell_is_async(cell))
    return r->streams[0] != NULL && went_well(r, free_in_order(r, 0, cell), false);
  const bool fit = litmus_keeps_cells(r) && !litmus_has_ended(r);
  if (!fit) went_well(r, free_cell(r, cell), false);
  return false;
}

static void end(litmus_runner_t* r) {
  bool more = false;
  wait_for_all(r);
  if (!litmus_has_ended(r)) count_callbacks(r);
  if (!litmus_has_ended(r)) look_at_cells(r);
  for (int cell = 0; cell < LITMUS_CELLS; cell++)
    more |= give_back_cell(r, cell);
  if (more) wait_for_all(r);
  for (uint32_t i = 0; i < r->program->count; i++)
    if (r->left[i] != NULL) r->event->event_destroy(r->self, r->left[i]);
  for (int event = 0; event < LITMUS_EVENTS; event++)
    r->event->event_destroy(r->self, r->events[event]);
  for (int stream = 0; stream < LITMUS_STREAMS; stream++)
    r->stream->stream_destroy(r->self, r->streams[stream]);
}

/* One call may wait for all that was piled up, and for large copies: on a slow device that is no hang. */
static uint32_t weight_of(const litmus_program_t* program) {
  uint64_t weight = 1 + (program->size_bytes >> 22);
  for (uint32_t i = 0; i < program->count; i++)
    weight += program->calls[i].more / 32;
  return (uint32_t)weight;
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
  here.error.message[0] = '\0';
  r->progress->call = -1;
  here.call = -1;
  r->progress->weight = weight_of(program);
  begin(r);
  if (program->threads > 1) {
    litmus_run_threads(r);
  } else {
    for (uint32_t i = 0; i < program->count && !litmus_has_ended(r); i++)
      litmus_step(r, i);
  }
  note(r, -1);
  end(r);
  out_result->outcome = (litmus_outcome_t)r->ended;
  out_seen->answered = out_result->answered;
}

void litmus_result_judge(const litmus_program_t* program, const litmus_seen_t* seen,
                         litmus_result_t* result, litmus_model_t* out_model) {
  litmus_model_replay(out_model, program, result->answered);
  if (result->outcome == LITMUS_RIGHT && litmus_judge(out_model, seen, &result->wrong))
    result->outcome = LITMUS_WRONG;
}

void litmus_run_judged(litmus_runner_t* runner, const litmus_program_t* program,
                       litmus_result_t* out_result, litmus_seen_t* out_seen,
                       litmus_model_t* model) {
  litmus_run(runner, program, out_result, out_seen);
  litmus_result_judge(program, out_seen, out_result, model);
}
