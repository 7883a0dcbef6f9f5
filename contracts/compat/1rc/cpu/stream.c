/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream.c: streams, each a thread with a list of tasks.
 */
#include "cpu.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------- points -- */

cpu_point_t* cpu_point_new(void) {
  cpu_point_t* point = calloc(1, sizeof *point);
  if (point) point->references = 1;
  return point;
}

void cpu_point_drop(cpu_point_t* point) {
  if (point && --point->references == 0) free(point);
}

void cpu_point_wait(tbk_instance_t* self, const cpu_point_t* point) {
  while (point->pending > 0)
    pthread_cond_wait(&self->changed, &self->lock);
}

static void reach(cpu_point_t* point) {
  if (--point->pending == 0) clock_gettime(CLOCK_MONOTONIC, &point->at);
}

/* -------------------------------------------------------------------------------------- tasks -- */

tbk_status_t cpu_enter_stream(const tbk_stream_t* stream, tbk_error_t* error) {
  if (stream->is_closed) return cpu_fail(TBK_INVALID_STATE, error, "the device is not open");
  if (stream->instance->devices[stream->device].is_lost)
    return cpu_fail(TBK_DEVICE_LOST, error, "the device is lost");
  return TBK_OK;
}

static void perform(tbk_stream_t* stream, cpu_task_t* task) {
  tbk_instance_t* self = stream->instance;
  if (task->awaits) cpu_point_wait(self, task->awaits);
  if (task->reaches) reach(task->reaches);
  if (task->run && (task->always || !self->devices[stream->device].is_lost)) {
    pthread_mutex_unlock(&self->lock);
    task->run(stream, task->payload);
    pthread_mutex_lock(&self->lock);
  }
  STAILQ_REMOVE_HEAD(&stream->tasks, entry);
  cpu_point_drop(task->awaits);
  cpu_point_drop(task->reaches);
  free(task);
  pthread_cond_broadcast(&self->changed);
}

static void* work(void* argument) {
  tbk_stream_t* stream = argument;
  tbk_instance_t* self = stream->instance;
  pthread_mutex_lock(&self->lock);
  while (!stream->is_ending || !STAILQ_EMPTY(&stream->tasks)) {
    if (STAILQ_EMPTY(&stream->tasks))
      pthread_cond_wait(&self->changed, &self->lock);
    else
      perform(stream, STAILQ_FIRST(&stream->tasks));
  }
  stream->has_ended = true;
  pthread_cond_broadcast(&self->changed);
  pthread_mutex_unlock(&self->lock);
  return NULL;
}

static cpu_task_t* append(tbk_stream_t* stream, size_t payload_bytes) {
  cpu_task_t* task = calloc(1, sizeof *task + payload_bytes);
  if (!task) return NULL;
  STAILQ_INSERT_TAIL(&stream->tasks, task, entry);
  pthread_cond_broadcast(&stream->instance->changed);
  return task;
}

bool cpu_enqueue_point(tbk_stream_t* stream, cpu_point_t* awaits, cpu_point_t* reaches) {
  cpu_task_t* task = append(stream, 0);
  if (!task) return false;
  if ((task->awaits = awaits)) awaits->references++;
  if ((task->reaches = reaches)) {
    reaches->references++;
    reaches->pending++;
  }
  return true;
}

/* `device` is the stream's own where the caller names none. */
static tbk_status_t enqueue(tbk_stream_t* stream, int32_t device, const cpu_task_t* like,
                            const void* payload, size_t size_bytes, tbk_error_t* error) {
  tbk_instance_t* self = stream->instance;
  if (stream->device != device)
    return cpu_fail(TBK_INVALID, error, "the stream is of another device");
  pthread_mutex_lock(&self->lock);
  tbk_status_t status = cpu_enter_stream(stream, error);
  cpu_task_t* task = NULL;
  if (status == TBK_OK && !(task = append(stream, size_bytes)))
    status = cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a task");
  if (task) {
    task->run = like->run;
    task->always = like->always;
    memcpy(task->payload, payload, size_bytes);
  }
  pthread_mutex_unlock(&self->lock);
  return status;
}

tbk_status_t cpu_submit(tbk_instance_t* self, int32_t device, tbk_stream_t* stream,
                        void (*run)(tbk_stream_t* stream, void* payload), const void* payload,
                        size_t size_bytes, tbk_error_t* error) {
  (void)self;
  if (stream) return enqueue(stream, device, &(cpu_task_t){.run = run}, payload, size_bytes, error);
  cpu_task_t* task = calloc(1, sizeof *task + size_bytes); /* a copy: `run` may write into it */
  if (!task) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a task");
  memcpy(task->payload, payload, size_bytes);
  run(NULL, task->payload);
  free(task);
  return TBK_OK;
}

tbk_status_t cpu_submit_always(tbk_instance_t* self, tbk_stream_t* stream,
                               void (*run)(tbk_stream_t* stream, void* payload),
                               const void* payload, size_t size_bytes, tbk_error_t* error) {
  (void)self;
  const cpu_task_t like = {.run = run, .always = true};
  return enqueue(stream, stream->device, &like, payload, size_bytes, error);
}

/* ------------------------------------------------------------------------------------ streams -- */

void cpu_streams_reap(tbk_instance_t* self, bool all) {
  tbk_stream_t* next;
  for (tbk_stream_t* stream = LIST_FIRST(&self->streams); stream; stream = next) {
    next = LIST_NEXT(stream, entry);
    if (!all && !(stream->is_given_back && stream->has_ended)) continue;
    if (!stream->is_joined) pthread_join(stream->thread, NULL); /* it needs the lock no more */
    if (stream->is_failed) self->devices[stream->device].is_failed = true;
    LIST_REMOVE(stream, entry);
    free(stream);
  }
}

/* Returns what has gone wrong on a device and was not told yet. */
static tbk_status_t take_failure(tbk_instance_t* self, int32_t device) {
  cpu_device_t* of = &self->devices[device];
  bool failed = of->is_failed;
  of->is_failed = false;
  tbk_stream_t* stream;
  LIST_FOREACH(stream, &self->streams, entry) {
    if (stream->device != device) continue;
    failed = failed || stream->is_failed;
    stream->is_failed = false;
  }
  return of->is_lost ? TBK_DEVICE_LOST : failed ? TBK_FAILED : TBK_OK;
}

static bool is_running(tbk_instance_t* self, int32_t device) {
  const tbk_stream_t* stream;
  LIST_FOREACH(stream, &self->streams, entry) {
    if (stream->device == device && !stream->has_ended) return true;
  }
  return false;
}

tbk_status_t cpu_streams_close(tbk_instance_t* self, int32_t device) {
  tbk_stream_t* stream;
  LIST_FOREACH(stream, &self->streams, entry) {
    if (stream->device == device) stream->is_ending = stream->is_closed = true;
  }
  pthread_cond_broadcast(&self->changed);
  while (is_running(self, device))
    pthread_cond_wait(&self->changed, &self->lock);
  LIST_FOREACH(stream, &self->streams, entry) {
    if (stream->device != device || stream->is_joined) continue;
    pthread_join(stream->thread, NULL);
    stream->is_joined = true;
  }
  const tbk_status_t status = take_failure(self, device);
  cpu_streams_reap(self, false);
  return status;
}

static tbk_status_t stream_create(tbk_instance_t* self, int32_t device, int32_t priority,
                                  tbk_stream_t** out_stream, tbk_error_t* error) {
  (void)priority;
  const tbk_status_t status = cpu_enter(self, device, error);
  if (status != TBK_OK) return status;
  if (!out_stream) return cpu_fail(TBK_INVALID, error, "out_stream is NULL");
  tbk_stream_t* stream = calloc(1, sizeof *stream);
  if (!stream) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a stream");
  STAILQ_INIT(&stream->tasks);
  stream->instance = self;
  stream->device = device;
  if (pthread_create(&stream->thread, NULL, work, stream) != 0) {
    free(stream);
    return cpu_fail(TBK_OUT_OF_MEMORY, error, "no thread for a stream");
  }
  pthread_mutex_lock(&self->lock);
  cpu_streams_reap(self, false);
  LIST_INSERT_HEAD(&self->streams, stream, entry);
  pthread_mutex_unlock(&self->lock);
  *out_stream = stream;
  return TBK_OK;
}

static void stream_destroy(tbk_instance_t* self, tbk_stream_t* stream) {
  if (!stream) return;
  pthread_mutex_lock(&self->lock);
  stream->is_given_back = stream->is_ending = true;
  pthread_cond_broadcast(&self->changed);
  cpu_streams_reap(self, false);
  pthread_mutex_unlock(&self->lock);
}

static tbk_status_t stream_query(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error) {
  if (!stream) return cpu_fail(TBK_INVALID, error, "stream is NULL");
  pthread_mutex_lock(&self->lock);
  tbk_status_t status = cpu_enter_stream(stream, error);
  if (status == TBK_OK && !STAILQ_EMPTY(&stream->tasks))
    status = cpu_fail(TBK_NOT_READY, error, "work of the stream is not complete");
  if (status == TBK_OK && stream->is_failed)
    status = cpu_fail(TBK_FAILED, error, "work of the stream failed");
  pthread_mutex_unlock(&self->lock);
  return status;
}

static tbk_status_t stream_synchronize(tbk_instance_t* self, tbk_stream_t* stream,
                                       tbk_error_t* error) {
  if (!stream) return cpu_fail(TBK_INVALID, error, "stream is NULL");
  pthread_mutex_lock(&self->lock);
  cpu_point_t* here = cpu_point_new();
  if (here && !stream->is_closed && cpu_enqueue_point(stream, NULL, here))
    cpu_point_wait(self, here);
  cpu_point_drop(here);
  tbk_status_t status = cpu_enter_stream(stream, error);
  if (status == TBK_OK && stream->is_failed) {
    stream->is_failed = false;
    status = cpu_fail(TBK_FAILED, error, "work of the stream failed");
  }
  pthread_mutex_unlock(&self->lock);
  return status;
}

static tbk_status_t device_synchronize(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  const tbk_status_t entered = cpu_enter(self, device, error);
  if (entered == TBK_INVALID_STATE) return entered;
  pthread_mutex_lock(&self->lock);
  cpu_point_t* here = cpu_point_new();
  tbk_stream_t* stream;
  bool all = here != NULL;
  LIST_FOREACH(stream, &self->streams, entry) {
    if (all && stream->device == device && !stream->has_ended)
      all = cpu_enqueue_point(stream, NULL, here);
  }
  if (here) cpu_point_wait(self, here);
  cpu_point_drop(here);
  const tbk_status_t status = all ? take_failure(self, device) : TBK_OUT_OF_MEMORY;
  pthread_mutex_unlock(&self->lock);
  return status == TBK_OK ? TBK_OK : cpu_fail(status, error, "work of the device failed");
}

/* There is no driver below that a native handle could be of. */
const tbk_stream_ops_t cpu_stream_ops = {
    sizeof cpu_stream_ops, stream_create,      stream_destroy, stream_query,
    stream_synchronize,    device_synchronize, NULL,           NULL};
