/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * queue.c: work in order. Which queue goes on, and on which thread, is the scheduler's.
 */
#include <stdlib.h>

#include "inside.h"

void vdev_enqueue(vdev_stream_t* stream, vdev_work_t* work) {
  vdev_queue_t* queue = stream->queue;
  const vdev_scheduler_t* scheduler = queue->device->machine->scheduler;
  const uint64_t ticket = ++queue->device->machine->ticket;
  work->ticket = stream->last = ticket;
  STAILQ_INSERT_TAIL(&queue->pieces, work, entry);
  queue->refs++; /* another thread may drop the stream meanwhile */
  scheduler->wake(queue);
  scheduler->drive(queue, ticket);
  vdev_queue_drop(queue);
}

vdev_queue_t* vdev_queue_new(vdev_device_t* device) {
  vdev_machine_t* machine = device->machine;
  vdev_queue_t* queue = vdev_zeroed(sizeof *queue);
  if (!queue) return NULL;
  queue->device = device;
  queue->refs = 1;
  queue->id = ++machine->queue_count;
  STAILQ_INIT(&queue->pieces);
  pthread_cond_init(&queue->wake, NULL);
  LIST_INSERT_HEAD(&machine->queues, queue, entry);
  if (machine->scheduler->start(queue)) return queue;
  LIST_REMOVE(queue, entry);
  vdev_queue_free(queue);
  return NULL;
}

void vdev_queue_free(vdev_queue_t* queue) {
  pthread_cond_destroy(&queue->wake);
  free(queue);
}

/* Leaves it to the scheduler once nobody refers to it and its work is over. */
static void settle(vdev_queue_t* queue) {
  if (queue->closing && !queue->running && STAILQ_EMPTY(&queue->pieces))
    queue->device->machine->scheduler->end(queue);
}

void vdev_queue_drop(vdev_queue_t* queue) {
  if (!queue || --queue->refs > 0) return;
  queue->closing = true;
  settle(queue);
}

bool vdev_queue_ready(const vdev_queue_t* queue) {
  const vdev_work_t* work = STAILQ_FIRST(&queue->pieces);
  if (!work || queue->running) return false;
  bool lazy = queue->device->machine->config.policy == VDEV_LAZY;
  if (lazy && work->ticket > queue->demand) return false;
  return !work->waits_for || work->waits_for->done || queue->device->lost;
}

static void delay(vdev_machine_t* machine, uint64_t ticket) {
  const uint64_t most_us = machine->config.delay_us;
  if (most_us == 0) return;
  vdev_unlock(machine);
  vdev_sleep_us(vdev_mix(machine->config.seed ^ ticket) % (most_us + 1));
  vdev_lock(machine);
}

static void run_piece(vdev_machine_t* machine, vdev_work_t* work, bool runs) {
  delay(machine, work->ticket);
  if (work->brief) {
    if (runs) work->run(work);
    return;
  }
  vdev_unlock(machine);
  if (runs) work->run(work);
  if (work->drop) work->drop(work);
  vdev_lock(machine);
}

/* Wakes those who wait for any piece of work, or for this one as the last. */
static void tell_done(vdev_queue_t* queue) {
  const bool awaited = queue->awaited > 0 && !vdev_queue_pending(queue, queue->awaited);
  if (awaited) queue->awaited = 0;
  if (awaited || queue->device->machine->waiting > 0) vdev_done(queue->device->machine);
}

void vdev_queue_step(vdev_queue_t* queue) {
  vdev_work_t* work = STAILQ_FIRST(&queue->pieces);
  STAILQ_REMOVE_HEAD(&queue->pieces, entry);
  queue->running = work;
  run_piece(queue->device->machine, work, work->always || !queue->device->lost);
  vdev_point_unref(work->waits_for);
  if (work->is_point)
    vdev_point_unref((vdev_point_t*)work);
  else
    free(work);
  queue->running = NULL;
  tell_done(queue);
  settle(queue);
}

bool vdev_queue_pending(const vdev_queue_t* queue, uint64_t ticket) {
  const vdev_work_t* work = STAILQ_FIRST(&queue->pieces);
  return (queue->running && queue->running->ticket <= ticket) || (work && work->ticket <= ticket);
}

vdev_queue_t* vdev_device_behind(const vdev_device_t* device, uint64_t ticket) {
  vdev_queue_t* queue;
  LIST_FOREACH(queue, &device->machine->queues, entry)
  if (queue->device == device && vdev_queue_pending(queue, ticket)) return queue;
  return NULL;
}

bool vdev_device_pending(const vdev_device_t* device, uint64_t ticket) {
  return vdev_device_behind(device, ticket) != NULL;
}

/* Tickets fall from a piece to what it waits for, so this ends. */
void vdev_queue_demand(vdev_queue_t* queue, uint64_t ticket) {
  vdev_machine_t* machine = queue->device->machine;
  machine->worker.urgent = true;
  if (queue->demand < ticket) {
    queue->demand = ticket;
    const vdev_work_t* work;
    STAILQ_FOREACH(work, &queue->pieces, entry) {
      if (work->ticket > ticket) break;
      const vdev_point_t* point = work->waits_for;
      if (point && !point->done) vdev_queue_demand(point->queue, point->ticket);
    }
  }
  machine->scheduler->wake(queue);
}

void vdev_device_demand(vdev_device_t* device, uint64_t ticket) {
  vdev_queue_t* queue;
  LIST_FOREACH(queue, &device->machine->queues, entry)
  if (queue->device == device) vdev_queue_demand(queue, ticket);
}

void vdev_wake_all(vdev_machine_t* machine) {
  vdev_queue_t* queue;
  LIST_FOREACH(queue, &machine->queues, entry) machine->scheduler->wake(queue);
  vdev_done(machine);
}
