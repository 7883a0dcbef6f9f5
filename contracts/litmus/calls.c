/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * calls.c: makes one call of a program: it goes to the library as it stands.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "runner.h"

static uint64_t now_ns(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---------------------------------------------------------------------------------- callbacks -- */

/* Threads of the host that wait for work: none sleeps for longer than there are none. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned count;
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

void litmus_host_waits(const litmus_runner_t* r, bool begins) {
  if (!r->offers.delays) return;
  pthread_mutex_lock(&waiting.lock);
  waiting.count += begins ? 1u : -1u;
  if (begins) pthread_cond_broadcast(&waiting.changed);
  pthread_mutex_unlock(&waiting.lock);
}

/* Work piles up behind it for as long as the host makes calls; from then on it would only take time. */
static void sleep_us(uint32_t microseconds) {
  const uint64_t until = now_ns() + UINT64_C(1000) * microseconds;
  const struct timespec end = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
  pthread_mutex_lock(&waiting.lock);
  while (waiting.count == 0 && now_ns() < until)
    (void)pthread_cond_clockwait(&waiting.changed, &waiting.lock, CLOCK_MONOTONIC, &end);
  pthread_mutex_unlock(&waiting.lock);
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
  if (call->op == LITMUS_CALLBACK_READ) litmus_call_range(r->program, call, &c->offset, &c->size);
  if (call->op == LITMUS_CALLBACK_READ || call->op == LITMUS_CALLBACK_LOOK)
    c->out = look_at(r, call);
  return r->callback->callback_enqueue(r->self, r->streams[call->stream], run_callback, c,
                                       &litmus_here.error);
}

/* -------------------------------------------------------------------------------------- waiting -- */

static tbk_status_t ask(litmus_runner_t* r, const litmus_call_t* call) {
  if (call->op == LITMUS_EVENT_POLL || call->op == LITMUS_EVENT_SPIN)
    return r->event->event_query(r->self, r->events[call->event], &litmus_here.error);
  return r->stream->stream_query(r->self, r->streams[call->stream], &litmus_here.error);
}

/* A mark that is set is waited for no longer: to ask would let work go on that it does not wait for. */
static bool has_passed(litmus_runner_t* r, const litmus_call_t* call) {
  return call->op == LITMUS_AWAIT_MARK &&
         __atomic_load_n(&r->marks[call->mark], __ATOMIC_ACQUIRE) != 0;
}

static void ask_until_over(litmus_runner_t* r, const litmus_call_t* call) {
  uint64_t until = 0; /* mostly it does not take long */
  for (unsigned asked = 0; !has_passed(r, call); asked++) {
    tbk_status_t status = ask(r, call);
    if (status != TBK_NOT_READY && !litmus_went_well(r, status, false)) return;
    if ((status == TBK_OK && call->op != LITMUS_AWAIT_MARK) || litmus_has_ended(r)) return;
    if (asked % 64 != 63) continue;
    const uint64_t now = now_ns();
    if (until == 0) until = now + r->progress->patience_ns * r->progress->weight;
    if (now > until) {
      litmus_end_with(r, LITMUS_STUCK, TBK_OK);
      return;
    }
    sched_yield();
  }
}

static void poll_once(litmus_runner_t* r, const litmus_call_t* call, uint32_t index) {
  tbk_status_t status = ask(r, call);
  if (status == TBK_NOT_READY) return;
  if (litmus_went_well(r, status, false))
    __atomic_fetch_or(&r->result->answered, UINT64_C(1) << index, __ATOMIC_RELAXED);
}

/* ---------------------------------------------------------------------------------------- calls -- */

tbk_status_t litmus_make_stream(litmus_runner_t* r, int stream) {
  return r->stream->stream_create(r->self, litmus_stream_device(r->program, stream),
                                  litmus_stream_priority(stream), &r->streams[stream],
                                  &litmus_here.error);
}

tbk_status_t litmus_make_event(litmus_runner_t* r, int event) {
  return r->event->event_create(r->self, litmus_event_device(r->program, event),
                                litmus_event_is_timed(event) ? TBK_EVENT_TIMING : 0,
                                &r->events[event], &litmus_here.error);
}

/* What was enqueued on a stream that goes is complete when this event is. */
static tbk_status_t renew_stream(litmus_runner_t* r, int stream) {
  tbk_event_t** left = &r->left[litmus_here.call];
  tbk_status_t status = r->event->event_create(r->self, litmus_stream_device(r->program, stream), 0,
                                               left, &litmus_here.error);
  if (status != TBK_OK) return status;
  status = r->event->event_record(r->self, *left, r->streams[stream], &litmus_here.error);
  if (status != TBK_OK) return status;
  r->stream->stream_destroy(r->self, r->streams[stream]);
  r->streams[stream] = NULL;
  return litmus_make_stream(r, stream);
}

tbk_status_t litmus_make_cell(litmus_runner_t* r, int cell) {
  const int32_t device = litmus_cell_device(r->program, cell);
  tbk_status_t status = r->core->memory_alloc(r->self, device, litmus_cell_bytes(r),
                                              &r->cells[cell], &litmus_here.error);
  r->has_cell[cell] = status == TBK_OK;
  r->cell_device[cell] = device;
  return status;
}

tbk_status_t litmus_free_cell(litmus_runner_t* r, int cell) {
  r->has_cell[cell] = false;
  return r->core->memory_free(r->self, r->cell_device[cell], r->cells[cell], &litmus_here.error);
}

static tbk_status_t renew_cell(litmus_runner_t* r, int cell) {
  tbk_status_t status = litmus_free_cell(r, cell);
  return status == TBK_OK ? litmus_make_cell(r, cell) : status;
}

static tbk_status_t make_copy(litmus_runner_t* r, const litmus_call_t* call, tbk_stream_t* stream) {
  uint64_t at, size;
  litmus_call_range(r->program, call, &at, &size);
  const int device = litmus_cell_device(r->program, call->cell);
  tbk_memory_t cell = r->cells[call->cell];
  switch (call->op) {
    case LITMUS_FILL:
      return r->core->fill(r->self, device, cell, at, call->value, size, stream,
                           &litmus_here.error);
    case LITMUS_UPLOAD:
      return r->core->upload(r->self, device, cell, at, r->slots[call->slot] + at, size, stream,
                             &litmus_here.error);
    case LITMUS_DOWNLOAD:
      return r->core->download(r->self, device, r->slots[call->slot] + at, cell, at, size, stream,
                               &litmus_here.error);
    case LITMUS_COPY:
      return r->core->copy(r->self, device, cell, at, r->cells[call->other], at, size, stream,
                           &litmus_here.error);
    default:
      return r->peer->peer_copy(r->self, device, cell, at,
                                litmus_cell_device(r->program, call->other), r->cells[call->other],
                                at, size, stream, &litmus_here.error);
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
                                   &r->cells[call->cell], &litmus_here.error);
  r->has_cell[call->cell] = status == TBK_OK;
  return status;
}

tbk_status_t litmus_free_in_order(litmus_runner_t* r, int stream, int cell) {
  r->has_cell[cell] = false;
  return r->async_memory->async_free(r->self, r->streams[stream], r->cells[cell],
                                     &litmus_here.error);
}

/* What names an event; another thread may put another in the place of those that are not named. */
static tbk_status_t make_event_call(litmus_runner_t* r, const litmus_call_t* call) {
  tbk_event_t* event = r->events[call->event];
  switch (call->op) {
    case LITMUS_WAIT:
      return r->event->event_wait(r->self, r->streams[call->stream], event, &litmus_here.error);
    case LITMUS_RECORD:
      return r->event->event_record(r->self, event, r->streams[call->stream], &litmus_here.error);
    case LITMUS_EVENT_SYNCHRONIZE:
      return r->event->event_synchronize(r->self, event, &litmus_here.error);
    default:
      r->event->event_destroy(r->self, event);
      r->events[call->event] = NULL;
      return litmus_make_event(r, call->event);
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
      return litmus_free_in_order(r, call->stream, call->cell);
    case LITMUS_STREAM_SYNCHRONIZE:
      return r->stream->stream_synchronize(r->self, r->streams[call->stream], &litmus_here.error);
    case LITMUS_DEVICE_SYNCHRONIZE:
      return r->stream->device_synchronize(r->self, call->device, &litmus_here.error);
    case LITMUS_STREAM_RENEW:
      return renew_stream(r, call->stream);
    case LITMUS_CELL_RENEW:
      return renew_cell(r, call->cell);
    default:
      return make_copies(r, call);
  }
}

void litmus_note(litmus_runner_t* r, int32_t call) {
  litmus_here.call = call;
  __atomic_store_n(&r->progress->call, call, __ATOMIC_RELAXED);
  uint64_t steps = __atomic_load_n(&r->progress->steps, __ATOMIC_RELAXED);
  __atomic_store_n(&r->progress->steps, steps + 1,
                   __ATOMIC_RELAXED); /* that it changes is enough */
}

/* A kernel may have no way for this size, or no memory of its own: that is said before any effect. */
static void make_launch(litmus_runner_t* r, const litmus_call_t* call) {
  tbk_stream_t* stream = call->stream < 0 ? NULL : r->streams[call->stream];
  const tbk_status_t status = litmus_launch(r, call, stream, &litmus_here.error);
  if (status == TBK_UNSUPPORTED)
    litmus_end_with(r, LITMUS_NO_ROOM, status);
  else
    litmus_went_well(r, status, true);
}

static void touch_slot(litmus_runner_t* r, const litmus_call_t* call) {
  uint64_t at, size;
  litmus_call_range(r->program, call, &at, &size);
  uint8_t* slot = r->slots[call->slot] + at;
  if (call->op == LITMUS_HOST_WRITE)
    memset(slot, call->value, size);
  else
    memcpy(look_at(r, call) + at, slot, size);
}

/* Of those that wait for work, and have it run. */
static bool waits(unsigned op) {
  return op == LITMUS_EVENT_SYNCHRONIZE || op == LITMUS_STREAM_SYNCHRONIZE ||
         op == LITMUS_DEVICE_SYNCHRONIZE || op == LITMUS_EVENT_SPIN || op == LITMUS_STREAM_SPIN ||
         op == LITMUS_AWAIT_MARK;
}

/* That it is INVALID is for other tests to say (EVT-016), as where it is OK. No clause allows that it
   fails in another way, as on a device that is lost, or broken by the calls before. */
static void make_mistake(litmus_runner_t* r, const litmus_call_t* call) {
  const tbk_status_t status =
      r->event->event_wait(r->self, r->streams[call->stream], NULL, &litmus_here.error);
  if (status == TBK_INVALID) litmus_here.error.message[0] = '\0';
  if (status != TBK_OK && status != TBK_INVALID) litmus_went_well(r, status, false);
}

static void make_step(litmus_runner_t* r, const litmus_call_t* call, uint32_t index) {
  switch (call->op) {
    case LITMUS_THREAD_RENEW: /* threads.c has done it */
      break;
    case LITMUS_MISTAKE:
      make_mistake(r, call);
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
    case LITMUS_HOST_READ:
      touch_slot(r, call);
      break;
    case LITMUS_HOST_LOOK:
      *look_at(r, call) = __atomic_load_n(&r->marks[call->mark], __ATOMIC_ACQUIRE);
      break;
    case LITMUS_KERNEL_FILL:
    case LITMUS_KERNEL_COPY:
      make_launch(r, call);
      break;
    default:
      litmus_went_well(r, make_call(r, call),
                       call->op == LITMUS_CELL_RENEW || call->op == LITMUS_ASYNC_ALLOC);
  }
}

void litmus_step(litmus_runner_t* r, uint32_t index) {
  const litmus_call_t* call = &r->program->calls[index];
  const bool is_wait = waits(call->op);
  litmus_note(r, (int32_t)index);
  if (is_wait) litmus_host_waits(r, true);
  make_step(r, call, index);
  if (is_wait) litmus_host_waits(r, false);
}
