/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * work.c: how work comes into a queue, and the pieces that every face needs.
 */
#include <stdlib.h>

#include "inside.h"

typedef struct copy_work {
  vdev_work_t work;
  void* to;
  const void* from;
  uint64_t size_bytes;
} copy_work_t;

typedef struct fill_work {
  vdev_work_t work;
  void* to;
  uint64_t size_bytes;
  uint8_t value;
} fill_work_t;

typedef struct call_work {
  vdev_work_t work;
  void (*function)(void* argument);
  void* argument;
} call_work_t;

void* vdev_work_new(size_t size, void (*run)(vdev_work_t* work)) {
  vdev_work_t* work = vdev_zeroed(size);
  if (work) work->run = run;
  return work;
}

static void discard(vdev_work_t* work) {
  if (work->drop) work->drop(work);
  free(work);
}

vdev_status_t vdev_submit(vdev_stream_t* stream, void* submitted) {
  vdev_work_t* work = submitted;
  if (!work) return VDEV_NO_ROOM;
  if (!stream) {
    work->run(work);
    return discard(work), VDEV_OK;
  }
  vdev_machine_t* machine = stream->device->machine;
  vdev_lock(machine);
  bool open = stream->queue != NULL;
  if (open) vdev_enqueue(stream, work);
  vdev_unlock(machine);
  if (!open) discard(work);
  return open ? VDEV_OK : VDEV_CLOSED;
}

/* Where no thread but the caller's runs anything, nobody waits for the lock while bytes are moved. */
static bool runs_in_caller(const vdev_stream_t* stream) {
  return stream->device->machine->scheduler->progress != NULL;
}

static void copy(vdev_work_t* work) {
  const copy_work_t* this = (const copy_work_t*)work;
  vdev_words_copy(this->to, this->from, this->size_bytes);
}

vdev_status_t vdev_submit_copy(vdev_stream_t* stream, void* to, const void* from,
                               uint64_t size_bytes) {
  if (!stream) return vdev_words_copy(to, from, size_bytes), VDEV_OK;
  copy_work_t* work = vdev_work_new(sizeof *work, copy);
  if (work) {
    work->work.brief = runs_in_caller(stream);
    work->to = to;
    work->from = from;
    work->size_bytes = size_bytes;
  }
  return vdev_submit(stream, work);
}

static void fill(vdev_work_t* work) {
  const fill_work_t* this = (const fill_work_t*)work;
  vdev_words_fill(this->to, this->value, this->size_bytes);
}

vdev_status_t vdev_submit_fill(vdev_stream_t* stream, void* to, uint8_t value,
                               uint64_t size_bytes) {
  if (!stream) return vdev_words_fill(to, value, size_bytes), VDEV_OK;
  fill_work_t* work = vdev_work_new(sizeof *work, fill);
  if (work) {
    work->work.brief = runs_in_caller(stream);
    work->to = to;
    work->size_bytes = size_bytes;
    work->value = value;
  }
  return vdev_submit(stream, work);
}

static void call(vdev_work_t* work) {
  const call_work_t* this = (const call_work_t*)work;
  this->function(this->argument);
}

vdev_status_t vdev_submit_call(vdev_stream_t* stream, void (*function)(void* argument),
                               void* argument) {
  call_work_t* work = vdev_work_new(sizeof *work, call);
  if (work) {
    work->function = function;
    work->argument = argument;
  }
  return vdev_submit(stream, work);
}
