/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a gate does on this device, and which calls wait behind one. Each call that might wait is
 * made by a thread of its own; only where one does wait is a deadline spent, and a device that is
 * merely slow loses evidence by that, never a verdict.
 */
#include "gate_core.h"
#include "resources.h"
#include "room.h"
#include "threads.h"

#include <sched.h>
#include <string.h>

/* Halves of it are copied, and the granularity is 4096 at most (DEV-013). */
enum { PROBE_BYTES = 2 * 4096 };
#define ENTERED_PATIENCE_NS UINT64_C(100000000)
#define PROBE_PATIENCE_NS UINT64_C(1500000000)

struct probe {
  tbk_fixture_t* fx;
  tbk_stream_t* held;
  tbk_stream_t* other;
  tbk_event_t* event;
  tbk_memory_t memory[2];
  struct tbk_gate_core* core;
  tbk_status_t status;
  int other_done;
  atomic_int called;
  tbk_error_t error; /* the thread's own */
  uint8_t bytes[PROBE_BYTES];
};

static void close_gate(void* argument) {
  struct probe* probe = argument;
  probe->status = tbk_gate_core_enqueue(probe->fx, probe->core, probe->held);
}

static void try_upload(void* argument) {
  struct probe* p = argument;
  p->status = p->fx->core->upload(p->fx->self, p->fx->device, p->memory[0], 0, p->bytes,
                                  PROBE_BYTES, p->held, &p->error);
}

static void try_copy(void* argument) {
  struct probe* p = argument;
  p->status = p->fx->core->copy(p->fx->self, p->fx->device, p->memory[1], 0, p->memory[0], 0,
                                PROBE_BYTES, p->held, &p->error);
}

static void try_fill(void* argument) {
  struct probe* p = argument;
  if (!TBK_HAS(p->fx->core, tbk_core_t, fill)) return;
  p->status = p->fx->core->fill(p->fx->self, p->fx->device, p->memory[1], 0, 1, PROBE_BYTES,
                                p->held, &p->error);
}

static void nothing(void* argument) {
  atomic_store(&((struct probe*)argument)->called, 1);
}

static void try_callback(void* argument) {
  struct probe* p = argument;
  p->status = p->fx->callback->callback_enqueue(p->fx->self, p->held, nothing, p, &p->error);
}

static void try_record(void* argument) {
  struct probe* p = argument;
  if (p->event == NULL) return;
  p->status = p->fx->event->event_record(p->fx->self, p->event, p->held, &p->error);
}

static void try_wait(void* argument) {
  struct probe* p = argument;
  if (p->event == NULL) return;
  p->status = p->fx->event->event_record(p->fx->self, p->event, p->held, &p->error);
  p->status = p->fx->event->event_wait(p->fx->self, p->other, p->event, &p->error);
}

static void try_download(void* argument) {
  struct probe* p = argument;
  p->status = p->fx->core->download(p->fx->self, p->fx->device, p->bytes, p->memory[0], 0,
                                    PROBE_BYTES, p->held, &p->error);
}

/* Whether the other stream gets its work done while the first is held. That the gate is not only
   enqueued but entered matters where one thread serves all streams in any order; where nothing runs
   until it is asked for, it is not entered, and the wait is in vain. The work is a copy on the device,
   too: the bytes of an upload may go their own way. */
static void use_other(void* argument) {
  struct probe* p = argument;
  uint64_t begin = fx_awake_ns();
  while (!atomic_load(&p->core->entered) && fx_awake_ns() - begin < ENTERED_PATIENCE_NS)
    sched_yield();
  uint64_t deadline = fx_awake_ns() + PROBE_PATIENCE_NS;
  p->status = p->fx->core->upload(p->fx->self, p->fx->device, p->memory[1], 0, p->bytes,
                                  PROBE_BYTES, p->other, &p->error);
  if (p->status == TBK_OK)
    p->status = p->fx->core->copy(p->fx->self, p->fx->device, p->memory[1], PROBE_BYTES / 2,
                                  p->memory[1], 0, PROBE_BYTES / 2, p->other, &p->error);
  do {
    if (p->status == TBK_OK) {
      p->status = p->fx->stream->stream_query(p->fx->self, p->other, &p->error);
    }
    p->other_done = p->status == TBK_OK && atomic_load(&p->core->opened) == 0;
    if (p->status == TBK_NOT_READY) sched_yield();
    if (p->status == TBK_NOT_READY) p->status = TBK_OK;
  } while (!p->other_done && p->status == TBK_OK && fx_awake_ns() < deadline);
}

/* Makes a call that may wait. False if it did until the gate was opened, by us or, before our patience
   was at its end, by the gate's own deadline: all calls share a gate, and a busy machine is slow. */
static bool returns_at_once(struct probe* probe, void (*call)(void* argument)) {
  tbk_thread_t* thread = tbk_thread_start(call, probe);
  if (thread == NULL) return false;
  if (tbk_thread_end(thread, 2 * PROBE_PATIENCE_NS)) return !atomic_load(&probe->core->expired);
  tbk_gates_open(probe->fx);
  tbk_thread_end(thread, FX_PATIENCE_NS);
  return false;
}

static bool new_gate(struct probe* probe) {
  probe->core = tbk_gate_core_new(probe->fx);
  return returns_at_once(probe, close_gate) && probe->status == TBK_OK &&
         !atomic_load(&probe->core->inlined);
}

static void settle(struct probe* probe) {
  tbk_gates_open(probe->fx);
  probe->status =
      probe->fx->stream->device_synchronize(probe->fx->self, probe->fx->device, &probe->error);
}

static unsigned find_blocking(struct probe* probe) {
  static const struct {
    unsigned bit;
    void (*call)(void* argument);
  } calls[] = {
      {TBK_ENQUEUE_UPLOAD, try_upload},     {TBK_ENQUEUE_COPY, try_copy},
      {TBK_ENQUEUE_FILL, try_fill},         {TBK_ENQUEUE_CALLBACK, try_callback},
      {TBK_ENQUEUE_RECORD, try_record},     {TBK_ENQUEUE_WAIT, try_wait},
      {TBK_ENQUEUE_DOWNLOAD, try_download},
  };
  unsigned blocking = 0;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
    if (returns_at_once(probe, calls[i].call)) continue;
    blocking |= calls[i].bit;
    settle(probe);
    if (!new_gate(probe)) break;
  }
  return blocking;
}

static tbk_gate_kind_t find_kind(struct probe* probe) {
  if (!new_gate(probe)) {
    return probe->status == TBK_OK ? TBK_GATE_SYNCHRONOUS : TBK_GATE_NONE;
  }
  bool returned = returns_at_once(probe, use_other);
  bool full = returned && probe->other_done;
  settle(probe);
  if (!new_gate(probe)) return TBK_GATE_NONE;
  probe->fx->blocking = find_blocking(probe);
  return full ? TBK_GATE_FULL : TBK_GATE_ONE_QUEUE;
}

static bool set_up(struct probe* p) {
  tbk_fixture_t* fx = p->fx;
  for (int i = 0; i < 2; i++) {
    if (fx->core->memory_alloc(fx->self, fx->device, PROBE_BYTES, &p->memory[i], NULL) != TBK_OK) {
      return false;
    }
  }
  if (fx->event != NULL &&
      fx->event->event_create(fx->self, fx->device, 0, &p->event, NULL) != TBK_OK) {
    return false;
  }
  return fx->stream->stream_create(fx->self, fx->device, 0, &p->held, NULL) == TBK_OK &&
         fx->stream->stream_create(fx->self, fx->device, 0, &p->other, NULL) == TBK_OK;
}

static void tear_down(struct probe* p) {
  tbk_fixture_t* fx = p->fx;
  settle(p);
  if (p->event != NULL) fx->event->event_destroy(fx->self, p->event);
  if (p->held != NULL) fx->stream->stream_destroy(fx->self, p->held);
  if (p->other != NULL) fx->stream->stream_destroy(fx->self, p->other);
  for (int i = 0; i < 2; i++) {
    if (p->memory[i] == 0) continue;
    p->status = fx->core->memory_free(fx->self, fx->device, p->memory[i], NULL);
  }
}

tbk_gate_kind_t gate_probe(tbk_fixture_t* fx) {
  tbk_gate_kind_t kind = TBK_GATE_NONE;
  if (fx->stream != NULL && fx->callback != NULL) {
    static struct probe probe; /* a device that never lets go of a thread keeps it */
    probe = (struct probe){.fx = fx};
    size_t mark = room_mark(fx);
    if (set_up(&probe)) kind = find_kind(&probe);
    tear_down(&probe);
    room_release(fx, mark);
  }
  fx->gate = kind;
  fx->wait_blocks = (fx->blocking & TBK_ENQUEUE_WAIT) != 0;
  fx->resources->session->gate = kind;
  fx->resources->session->wait_blocks = (int)fx->blocking;
  return kind;
}
