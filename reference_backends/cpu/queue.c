/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * queue.c: operations in order. Which queue goes on, and on which thread, is the scheduler's.
 */
#include "cpu.h"

#include <stdlib.h>

void* cpu_op_new(size_t size, void (*run)(cpu_op_t* op)) {
  cpu_op_t* op = calloc(1, size);
  if (op) op->run = run;
  return op;
}

static void discard(cpu_op_t* op) {
  if (op->drop) op->drop(op);
  if (op->waits_for) cpu_point_drop(op->waits_for);
  free(op);
}

tbk_status_t cpu_submit(tbk_instance_t* self, tbk_stream_t* stream, void* op, tbk_error_t* error) {
  cpu_op_t* work = op;
  if (!work) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for an operation");
  if (!stream) work->run(work);
  cpu_lock(self);
  if (stream)
    cpu_enqueue(stream, work);
  else
    discard(work);
  cpu_unlock(self);
  return TBK_OK;
}

void cpu_enqueue(tbk_stream_t* stream, cpu_op_t* op) {
  cpu_queue_t* queue = stream->lane->queue;
  const cpu_scheduler_t* scheduler = queue->device->instance->scheduler;
  cpu_queue_append(queue, op);
  uint64_t ticket = stream->lane->last = op->ticket;
  queue->refs++; /* another thread may destroy the stream meanwhile */
  scheduler->wake(queue);
  scheduler->drive(queue, ticket);
  cpu_queue_drop(queue);
}

cpu_queue_t* cpu_queue_new(cpu_device_t* device) {
  tbk_instance_t* self = device->instance;
  cpu_queue_t* queue = calloc(1, sizeof *queue);
  if (!queue) return NULL;
  queue->device = device;
  queue->refs = 1;
  queue->id = ++self->queue_count;
  STAILQ_INIT(&queue->ops);
  pthread_cond_init(&queue->wake, NULL);
  LIST_INSERT_HEAD(&self->queues, queue, entry);
  if (self->scheduler->start(queue)) return queue;
  LIST_REMOVE(queue, entry);
  cpu_queue_free(queue);
  return NULL;
}

void cpu_queue_free(cpu_queue_t* queue) {
  pthread_cond_destroy(&queue->wake);
  free(queue);
}

/* Leaves it to the scheduler once nobody refers to it and its work is over. */
static void settle(cpu_queue_t* queue) {
  if (queue->closing && !queue->running && STAILQ_EMPTY(&queue->ops))
    queue->device->instance->scheduler->end(queue);
}

void cpu_queue_drop(cpu_queue_t* queue) {
  if (!queue || --queue->refs > 0) return;
  queue->closing = true;
  settle(queue);
}

void cpu_queue_append(cpu_queue_t* queue, cpu_op_t* op) {
  op->ticket = ++queue->device->instance->ticket;
  STAILQ_INSERT_TAIL(&queue->ops, op, entry);
}

bool cpu_queue_ready(const cpu_queue_t* queue) {
  const cpu_op_t* op = STAILQ_FIRST(&queue->ops);
  if (!op || queue->running) return false;
  bool lazy = queue->device->instance->options.policy == CPU_LAZY;
  if (lazy && op->ticket > queue->demand) return false;
  return !op->waits_for || op->waits_for->done || queue->device->lost;
}

void cpu_queue_step(cpu_queue_t* queue) {
  tbk_instance_t* self = queue->device->instance;
  cpu_op_t* op = STAILQ_FIRST(&queue->ops);
  STAILQ_REMOVE_HEAD(&queue->ops, entry);
  queue->running = op;
  bool runs = op->always || !queue->device->lost;
  cpu_unlock(self);
  uint64_t delay_us = self->options.delay_us;
  if (delay_us) vdev_sleep_us(vdev_mix(self->options.seed ^ op->ticket) % (delay_us + 1));
  if (runs) op->run(op);
  cpu_lock(self);
  discard(op);
  queue->running = NULL;
  pthread_cond_broadcast(&self->done);
  settle(queue);
}

/* Returns whether anything up to `ticket` is not complete. */
bool cpu_queue_pending(const cpu_queue_t* queue, uint64_t ticket) {
  const cpu_op_t* op = STAILQ_FIRST(&queue->ops);
  return (queue->running && queue->running->ticket <= ticket) || (op && op->ticket <= ticket);
}

bool cpu_device_pending(const cpu_device_t* device, uint64_t ticket) {
  const cpu_queue_t* queue;
  LIST_FOREACH(queue, &device->instance->queues, entry)
  if (queue->device == device && cpu_queue_pending(queue, ticket)) return true;
  return false;
}

/* Asks for what the operations up to `ticket` wait for, too; tickets fall, so this ends. */
void cpu_queue_demand(cpu_queue_t* queue, uint64_t ticket) {
  tbk_instance_t* self = queue->device->instance;
  self->worker.urgent = true;
  if (queue->demand < ticket) {
    queue->demand = ticket;
    const cpu_op_t* op;
    STAILQ_FOREACH(op, &queue->ops, entry) {
      if (op->ticket > ticket) break;
      const cpu_point_t* point = op->waits_for;
      if (point && !point->done) cpu_queue_demand(point->queue, point->ticket);
    }
  }
  self->scheduler->wake(queue);
}

void cpu_device_demand(cpu_device_t* device, uint64_t ticket) {
  cpu_queue_t* queue;
  LIST_FOREACH(queue, &device->instance->queues, entry)
  if (queue->device == device) cpu_queue_demand(queue, ticket);
}

void cpu_wake_all(tbk_instance_t* self) {
  cpu_queue_t* queue;
  LIST_FOREACH(queue, &self->queues, entry) self->scheduler->wake(queue);
  pthread_cond_broadcast(&self->done);
}

cpu_point_t* cpu_point_keep(cpu_point_t* point) {
  point->refs++;
  return point;
}

void cpu_point_drop(cpu_point_t* point) {
  if (point && --point->refs == 0) free(point);
}

void cpu_lane_drop(cpu_lane_t* lane) {
  if (--lane->refs > 0) return;
  if (lane->error != TBK_OK) lane->device->error = lane->error;
  cpu_queue_drop(lane->queue);
  free(lane);
}
