/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * defined.c: what a program may do at a point. Whatever the headers call undefined is never run.
 */
#include "sets.h"

/* Returns whether all nodes of the set that touch what the call reads or writes are in `done`. */
static bool are_done(const litmus_model_t* model, const litmus_set_t* set,
                     const litmus_call_t* call, const litmus_set_t* done) {
  if (call->parts == 0) return litmus_set_within(set, done);
  for (int part = call->first_part; part < call->first_part + call->parts; part++) {
    litmus_set_t some = *set;
    for (int word = 0; word < LITMUS_SET_WORDS; word++)
      some.bits[word] &= model->covers[part].bits[word];
    if (!litmus_set_within(&some, done)) return false;
  }
  return true;
}

static bool parts_fit(const litmus_program_t* p, const litmus_call_t* call) {
  if (call->parts == 0) return call->first_part == 0;
  return p->parts > 1 && litmus_may_be_partial(call->op) &&
         call->first_part + call->parts <= litmus_parts(p);
}

/* CPY-003: what is uploaded stays as it is from the call on. */
static bool slot_may_be_uploaded(const litmus_model_t* model, const litmus_call_t* call) {
  const int slot = call->slot;
  litmus_set_t done = litmus_known(model, call->thread);
  return are_done(model, &model->writers[slot], call, &done);
}

/* CPY-003, CPY-008: nothing that uses it is under way. */
static bool slot_is_idle(const litmus_model_t* model, const litmus_call_t* call) {
  const int slot = call->slot;
  litmus_set_t done = litmus_known(model, call->thread);
  return are_done(model, &model->writers[slot], call, &done) &&
         are_done(model, &model->readers[slot], call, &done);
}

/* Returns what would happen before work that the call enqueues now. */
static litmus_set_t before_work(const litmus_model_t* model, const litmus_call_t* call) {
  int16_t tails[LITMUS_THREADS];
  litmus_set_t set = litmus_known(model, call->thread);
  unsigned count =
      call->stream < 0 ? 0 : litmus_stream_tails(model, call->stream, call->thread, tails);
  while (count-- > 0) {
    litmus_set_join(&set, &model->nodes[tails[count]].before);
    litmus_set_add(&set, tails[count]);
  }
  return set;
}

static bool cell_is_usable(const litmus_model_t* model, const litmus_call_t* call, int cell) {
  if (model->cell_place[cell] < 0) return false;
  if (model->cell_begins[cell] < 0) return true;
  litmus_set_t before = before_work(model, call);
  return litmus_set_has(&before, model->cell_begins[cell]);
}

/* Of PyTorch (MEM-509, MEM-514): what uses it comes before work of its own stream, or is on a stream
   that was recorded. */
static bool cell_may_be_dropped(const litmus_model_t* model, int cell) {
  const int place = model->cell_place[cell];
  if (!litmus_cell_is_async(cell) || place < 0) return false;
  const litmus_call_t work = {.stream = model->cell_home[cell]};
  litmus_set_t before = before_work(model, &work);
  for (int node = 0; node < (int)model->node_count; node++) {
    bool uses = litmus_set_has(&model->writers[place], node) ||
                litmus_set_has(&model->readers[place], node);
    if (!uses || litmus_set_has(&before, node)) continue;
    int call = model->nodes[node].call;
    int stream = call < 0 ? -1 : model->program->calls[call].stream;
    if (stream < 0 || !(model->cell_recorded[cell] >> stream & 1)) return false;
  }
  return true;
}

/* MEM-011, and of async_free: whatever uses it comes before. */
static bool cell_is_free_of(const litmus_model_t* model, int cell, litmus_set_t before) {
  int place = model->cell_place[cell];
  return litmus_set_within(&model->writers[place], &before) &&
         litmus_set_within(&model->readers[place], &before);
}

static bool devices_fit(const litmus_program_t* p, const litmus_call_t* call) {
  int device = call->stream < 0 ? -1 : litmus_stream_device(p, call->stream);
  switch (call->op) {
    case LITMUS_FILL:
    case LITMUS_KERNEL_FILL:
    case LITMUS_UPLOAD:
    case LITMUS_PINNED_UPLOAD:
    case LITMUS_LOADED_UPLOAD:
    case LITMUS_DOWNLOAD:
      return device < 0 || device == litmus_cell_device(p, call->cell);
    case LITMUS_COPY:
    case LITMUS_KERNEL_COPY:
      return litmus_cell_device(p, call->cell) == litmus_cell_device(p, call->other) &&
             (device < 0 || device == litmus_cell_device(p, call->cell));
    case LITMUS_BACKWARD:
    case LITMUS_MEET:
      return device == 0 && litmus_cell_device(p, call->cell) == 0 &&
             litmus_cell_device(p, call->other) == 0;
    case LITMUS_PEER_COPY: /* PyTorch's names the stream of device 0; the other one is the last */
      if (p->torch)
        return device == 0 && p->devices > 1 &&
               litmus_cell_device(p, call->cell) != litmus_cell_device(p, call->other);
      return device < 0 || device == litmus_cell_device(p, call->other);
    case LITMUS_ASYNC_FREE:
      return p->torch || device == litmus_cell_device(p, call->cell);
    case LITMUS_ASYNC_ALLOC:
    case LITMUS_RECORD_STREAM:
      return device == litmus_cell_device(p, call->cell);
    case LITMUS_RECORD:
      return device == litmus_event_device(p, call->event);
    case LITMUS_WAIT:
      return p->crosses || device == litmus_event_device(p, call->event);
    default:
      return true;
  }
}

static bool mark_is_new(const litmus_model_t* model, int mark) {
  const litmus_set_t none = {{0}};
  return litmus_set_within(&model->writers[LITMUS_PLACE_OF_MARKS + mark], &none);
}

/* Of PyTorch another one is taken. The default one stays; and while memory is allocated in the order of
   streams, all do: who uses it is known by the number of a stream. */
static bool stream_may_go(const litmus_model_t* model, int stream) {
  if (!model->program->torch) return true;
  for (int cell = 0; cell < LITMUS_CELLS; cell++)
    if (litmus_cell_is_async(cell) && model->cell_place[cell] >= 0) return false;
  return stream != LITMUS_CALLERS_STREAM && litmus_stream_device(model->program, stream) == 0;
}

static bool is_in_order(const litmus_model_t* model, const litmus_call_t* call) {
  switch (call->op) {
    case LITMUS_FILL:
    case LITMUS_KERNEL_FILL:
      return cell_is_usable(model, call, call->cell);
    case LITMUS_PINNED_UPLOAD: /* what is pinned already is handed on as it is */
    case LITMUS_LOADED_UPLOAD:
      return call->slot >= LITMUS_SLOTS / 2 && cell_is_usable(model, call, call->cell) &&
             slot_may_be_uploaded(model, call);
    case LITMUS_UPLOAD:
      return cell_is_usable(model, call, call->cell) && slot_may_be_uploaded(model, call);
    case LITMUS_DOWNLOAD:
      return cell_is_usable(model, call, call->cell) && slot_is_idle(model, call);
    case LITMUS_COPY:
    case LITMUS_KERNEL_COPY:
    case LITMUS_BACKWARD:
    case LITMUS_PEER_COPY:
      return call->cell != call->other && cell_is_usable(model, call, call->cell) &&
             cell_is_usable(model, call, call->other);
    case LITMUS_MEET: /* who uses memory of an order is known by the stream that its call names */
      return call->cell != call->other && !litmus_cell_is_async(call->cell) &&
             !litmus_cell_is_async(call->other);
    case LITMUS_CALLBACK_READ: {
      litmus_set_t before = before_work(model, call);
      return are_done(model, &model->writers[call->slot], call, &before);
    }
    case LITMUS_CALLBACK_MARK:
      return mark_is_new(model, call->mark);
    case LITMUS_AWAIT_MARK: { /* asking that stream must be enough for it to run */
      litmus_set_t before = before_work(model, call);
      return !mark_is_new(model, call->mark) &&
             litmus_set_within(&model->writers[LITMUS_PLACE_OF_MARKS + call->mark], &before);
    }
    case LITMUS_HOST_WRITE:
      return slot_is_idle(model, call);
    case LITMUS_HOST_READ:
      return slot_may_be_uploaded(model, call);
    case LITMUS_STREAM_RENEW:
      return stream_may_go(model, call->stream);
    case LITMUS_CELL_RENEW:
      return !litmus_cell_is_async(call->cell) &&
             cell_is_free_of(model, call->cell, litmus_known(model, call->thread));
    case LITMUS_ASYNC_ALLOC:
      return litmus_cell_is_async(call->cell) && model->cell_place[call->cell] < 0;
    case LITMUS_RECORD_STREAM:
      return litmus_cell_is_async(call->cell) && model->cell_place[call->cell] >= 0;
    case LITMUS_ASYNC_FREE:
      if (model->program->torch) return cell_may_be_dropped(model, call->cell);
      return litmus_cell_is_async(call->cell) && model->cell_place[call->cell] >= 0 &&
             cell_is_free_of(model, call->cell, before_work(model, call));
    default:
      return true;
  }
}

bool litmus_is_defined(const litmus_model_t* model, const litmus_call_t* call) {
  const bool needs_stream = call->op > LITMUS_PEER_COPY || model->program->torch;
  if (litmus_is_work(call->op) && call->stream < 0 && needs_stream) return false;
  if (call->op == LITMUS_THREAD_RENEW && call->thread == 0) return false;
  return parts_fit(model->program, call) && devices_fit(model->program, call) &&
         litmus_is_handed_over(model, call) && is_in_order(model, call);
}
