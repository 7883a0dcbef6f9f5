/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * inline.c: the scheduler of a synchronous device: whoever enqueues runs it before the call returns.
 */
#include "cpu.h"

static bool start(cpu_queue_t* queue) {
  (void)queue;
  return true;
}

static void wake(cpu_queue_t* queue) {
  (void)queue;
}

static void end(cpu_queue_t* queue) {
  LIST_REMOVE(queue, entry);
  pthread_cond_broadcast(&queue->device->instance->done);
  cpu_queue_free(queue);
}

/* Several threads may enqueue on one queue; each also runs what stands before its own. */
static void drive(cpu_queue_t* queue, uint64_t ticket) {
  while (cpu_queue_pending(queue, ticket)) {
    if (cpu_queue_ready(queue))
      cpu_queue_step(queue);
    else
      cpu_wait(queue->device->instance);
  }
}

static void rest(tbk_instance_t* self) {
  (void)self;
}

const cpu_scheduler_t cpu_inline = {start, wake, end, drive, rest};
