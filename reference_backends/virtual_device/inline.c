/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * inline.c: the scheduler of a synchronous device: whoever enqueues runs it before the call returns.
 */
#include "inside.h"

static bool start(vdev_queue_t* queue) {
  (void)queue;
  return true;
}

static void wake(vdev_queue_t* queue) {
  (void)queue;
}

static void end(vdev_queue_t* queue) {
  LIST_REMOVE(queue, entry);
  vdev_done(queue->device->machine);
  vdev_queue_free(queue);
}

/* Several threads may enqueue on one queue; each also runs what stands before its own. */
static void drive(vdev_queue_t* queue, uint64_t ticket) {
  while (vdev_queue_pending(queue, ticket)) {
    if (vdev_queue_ready(queue))
      vdev_queue_step(queue);
    else
      vdev_wait(queue->device->machine);
  }
}

static void rest(vdev_machine_t* machine) {
  (void)machine;
}

const vdev_scheduler_t vdev_inline = {start, wake, end, drive, rest, NULL, NULL, NULL};
