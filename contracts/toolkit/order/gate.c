/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "gate.h"

#include "actor.h"
#include "gate_core.h"
#include "resources.h"
#include "room.h"
#include "threads.h"
#include "wait.h"

#include <stdlib.h>

struct tbk_gate_core* tbk_gate_core_new(tbk_fixture_t* fx) {
  struct tbk_gate_core* core = calloc(1, sizeof *core);
  if (core == NULL) abort();
  tbk_list_append(&fx->resources->gates, &core);
  return core;
}

static void hold(void* argument) {
  struct tbk_gate_core* core = argument;
  atomic_store(&core->entered, 1);
  if (atomic_load(&core->enqueuing) && pthread_equal(pthread_self(), core->caller)) {
    atomic_store(&core->inlined, 1);
    tbk_word_set(&core->opened, 1);
  } else if (!tbk_word_wait(&core->opened, FX_PATIENCE_NS)) {
    atomic_store(&core->expired, 1);
    tbk_word_set(&core->opened, 1);
  }
  tbk_word_set(&core->left, 1);
}

enum { BUSY_BYTES = 1 << 21, BUSY_TRIES = 6 };

static bool is_adopted(const tbk_fixture_t* fx, tbk_memory_t memory) {
  return memory != 0 && tbk_list_has(&fx->resources->memory, &memory, sizeof memory);
}

static bool copy_on(tbk_fixture_t* fx, int32_t device, tbk_stream_t* stream, uint64_t copies) {
  tbk_memory_t busy = atomic_load(&fx->resources->busy[device]);
  uint64_t half = fx_round(fx, room_cell(fx, BUSY_BYTES, 2));
  if (!is_adopted(fx, busy)) {
    busy = 0;
    if (fx->core->memory_alloc(fx->self, device, 2 * half, &busy, NULL) != TBK_OK) return false;
    fx_adopt_memory(fx, device, busy);
    atomic_store(&fx->resources->busy[device], busy);
  }
  tbk_status_t status = TBK_OK;
  for (uint64_t i = 0; i < copies && status == TBK_OK; i++)
    status = fx->core->copy(fx->self, device, busy, 0, busy, half, half, stream, NULL);
  return status == TBK_OK;
}

/*
 * Where nothing is pending on a stream, its callback may run in the caller, and a gate would be open
 * before it is closed. So the stream gets work first: copies of memory that nobody looks at.
 */
static void keep_busy(tbk_fixture_t* fx, tbk_stream_t* stream, uint64_t copies) {
  for (int32_t device = 0; device < (fx->resources->second_open ? 2 : 1); device++) {
    if (copy_on(fx, device, stream, copies)) return; /* else the stream is of the other one */
  }
}

static tbk_status_t enqueue_once(tbk_fixture_t* fx, struct tbk_gate_core* core,
                                 tbk_stream_t* stream) {
  core->caller = pthread_self();
  core->armed = 1;
  atomic_store(&core->enqueuing, 1);
  tbk_status_t status = fx->callback->callback_enqueue(fx->self, stream, hold, core, &fx->error);
  atomic_store(&core->enqueuing, 0);
  if (status != TBK_OK) {
    core->armed = 0;
    atomic_store(&core->opened, 1);
  }
  return status;
}

tbk_status_t tbk_gate_core_enqueue(tbk_fixture_t* fx, struct tbk_gate_core* core,
                                   tbk_stream_t* stream) {
  tbk_status_t status = enqueue_once(fx, core, stream);
  uint64_t copies = 1;
  for (int i = 1; i < BUSY_TRIES && status == TBK_OK && atomic_load(&core->inlined); i++) {
    atomic_store(&core->inlined, 0);
    atomic_store(&core->entered, 0);
    atomic_store(&core->left, 0);
    atomic_store(&core->opened, 0);
    keep_busy(fx, stream, copies);
    status = enqueue_once(fx, core, stream);
    copies *= 4;
  }
  return status;
}

static const char in_host_order[] =
    "the device executes on the host's thread: order holds trivially";

/* Returns whether a closed gate would hold its stream and not its caller. */
static bool can_close(tbk_fixture_t* fx, unsigned calls) {
  if (fx->gate == TBK_GATE_UNKNOWN) fx->gate = gate_probe(fx);
  if (fx->gate == TBK_GATE_NONE) {
    fx_evidence(fx, TBK_NOT_SHOWN, "a stream of this device cannot be held");
  } else if (fx->gate == TBK_GATE_SYNCHRONOUS) {
    fx_evidence(fx, TBK_TRIVIAL, in_host_order);
  } else if ((fx->blocking & calls) != 0) {
    fx_evidence(fx, TBK_TRIVIAL, "a call of this test waits on the host: order holds trivially");
  } else {
    return true;
  }
  return false;
}

void gate_close_over(tbk_fixture_t* fx, tbk_gate_t* gate, tbk_stream_t* stream, unsigned calls) {
  gate->core = NULL;
  if (!can_close(fx, calls)) return;
  gate->core = tbk_gate_core_new(fx);
  gate->core->stream = stream;
  tbk_status_t status = tbk_gate_core_enqueue(fx, gate->core, stream);
  if (status != TBK_OK) {
    tbk_check_status(TBK_OK, status, &fx->error, TBK_HERE("callback_enqueue of a gate"));
    tbk_leave();
  }
  if (atomic_load(&gate->core->inlined))
    fx_evidence(fx, TBK_NOT_SHOWN, "a callback ran in its caller before the stream was held");
}

void gate_close(tbk_fixture_t* fx, tbk_gate_t* gate, tbk_stream_t* stream) {
  gate_close_over(fx, gate, stream,
                  TBK_ENQUEUE_UPLOAD | TBK_ENQUEUE_COPY | TBK_ENQUEUE_FILL | TBK_ENQUEUE_RECORD |
                      TBK_ENQUEUE_CALLBACK);
}

bool gate_is_closed(const tbk_gate_t* gate) {
  return gate->core != NULL && gate->core->armed && atomic_load(&gate->core->opened) == 0;
}

static void report_expired(struct tbk_gate_core* core) {
  if (!atomic_load(&core->expired) || core->reported) return;
  core->reported = 1;
  tbk_record_failure(TBK_HERE("gate"), "no call waits for work behind a closed gate",
                     "a call waited until the gate's deadline");
}

static void let_go(struct tbk_gate_core* core) {
  if (atomic_load(&core->opened) == 0) tbk_word_set(&core->opened, 1);
  if (atomic_load(&core->entered)) tbk_word_wait(&core->left, FX_PATIENCE_NS);
  report_expired(core);
}

void gate_open(tbk_fixture_t* fx, tbk_gate_t* gate) {
  (void)fx;
  if (gate->core != NULL && gate->core->armed) let_go(gate->core);
}

void tbk_gates_open(tbk_fixture_t* fx) {
  struct tbk_gate_core** cores = fx->resources->gates.items;
  for (size_t i = 0; i < fx->resources->gates.count; i++) {
    if (cores[i]->armed) let_go(cores[i]);
  }
}

/* One that may still be entered is left to the process. */
void tbk_gates_free(tbk_fixture_t* fx, bool device_idle) {
  struct tbk_gate_core** cores = fx->resources->gates.items;
  for (size_t i = 0; i < fx->resources->gates.count; i++) {
    if (!cores[i]->armed || (device_idle && atomic_load(&cores[i]->left))) free(cores[i]);
  }
  fx->resources->gates.count = 0;
}

struct watch {
  struct tbk_gate_core* core;
  atomic_int returned;
};

/* Opens the gate once the caller is asleep in its call and nobody is about to wake it, or when
 * those
   that stay busy have had their time. */
static void open_when_held(void* argument) {
  enum { STEP_NS = 200000, BUSY_NS = 100000000, ASLEEP = 3 };
  struct watch* watch = argument;
  lapse_t busy;
  lapse_begin(&busy);
  for (int asleep = 0; asleep < ASLEEP && !lapse_over(&busy, BUSY_NS);) {
    if (tbk_word_wait(&watch->returned, STEP_NS)) return;
    asleep = process_sleeps() ? asleep + 1 : 0;
  }
  tbk_word_set(&watch->core->opened, 1);
}

bool gate_held(tbk_fixture_t* fx, tbk_gate_t* gate, void (*call)(void* argument), void* argument) {
  struct watch watch = {.core = gate->core};
  tbk_thread_t* thread = gate_is_closed(gate) ? tbk_thread_start(open_when_held, &watch) : NULL;
  if (thread == NULL) {
    gate_open(fx, gate);
    call(argument);
    return true;
  }
  call(argument);
  bool early = gate_is_closed(gate);
  tbk_word_set(&watch.returned, 1);
  tbk_thread_end(thread, FX_PATIENCE_NS);
  gate_open(fx, gate);
  if (!early) gate_shows(fx);
  return !early;
}

void gate_stream_goes(tbk_fixture_t* fx, const tbk_gate_t* gate, tbk_stream_t* stream) {
  const bool closed = gate_is_closed(gate);
  fx->stream->stream_destroy(fx->self, stream);
  if (closed && !gate_is_closed(gate))
    fx_evidence(fx, TBK_TRIVIAL, "stream_destroy waits for the work of its stream");
}

bool gate_can_control(const tbk_fixture_t* fx) {
  return fx->gate == TBK_GATE_FULL;
}

void gate_shows(tbk_fixture_t* fx) {
  fx->resources->by_gates++;
}

void gate_control(tbk_fixture_t* fx, bool fault_seen) {
  if (fault_seen) gate_shows(fx);
  if (fault_seen) return;
  if (fx->gate == TBK_GATE_ONE_QUEUE) {
    fx_evidence(fx, TBK_TRIVIAL, "one queue serves all streams: order holds trivially");
  } else if (fx->gate == TBK_GATE_SYNCHRONOUS) {
    fx_evidence(fx, TBK_TRIVIAL, in_host_order);
  } else {
    fx_evidence(fx, TBK_NOT_SHOWN, "the program without the edge did not show the fault");
  }
}
