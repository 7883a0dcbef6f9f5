/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * threads.c: the scheduler in which each queue has a thread of its own. A thread ends by itself
 * when its queue is over; whoever passes next joins it.
 */
#include <signal.h>

#include "inside.h"

/* Gives up the lock while it joins; a thread here needs it no more. */
static void join_ended(vdev_machine_t* machine) {
  vdev_queue_t* queue;
  while ((queue = LIST_FIRST(&machine->ended))) {
    LIST_REMOVE(queue, entry);
    vdev_unlock(machine);
    pthread_join(queue->thread, NULL);
    vdev_queue_free(queue);
    vdev_lock(machine);
  }
}

static void* work(void* argument) {
  vdev_queue_t* queue = argument;
  vdev_machine_t* machine = queue->device->machine;
  vdev_lock(machine);
  for (;;) {
    if (vdev_queue_ready(queue)) {
      vdev_queue_step(queue);
    } else if (queue->closing && STAILQ_EMPTY(&queue->pieces)) {
      break;
    } else {
      pthread_cond_wait(&queue->wake, &machine->lock);
    }
  }
  LIST_REMOVE(queue, entry);
  LIST_INSERT_HEAD(&machine->ended, queue, entry);
  vdev_done(machine);
  vdev_unlock(machine);
  return NULL;
}

/* The host's signals are for the host's threads. */
static bool start(vdev_queue_t* queue) {
  join_ended(queue->device->machine);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&queue->thread, NULL, work, queue);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failed == 0;
}

static void wake(vdev_queue_t* queue) {
  pthread_cond_signal(&queue->wake);
}

static void drive(vdev_queue_t* queue, uint64_t ticket) {
  (void)queue;
  (void)ticket;
}

static void rest(vdev_machine_t* machine) {
  vdev_lock(machine);
  join_ended(machine);
  vdev_unlock(machine);
}

const vdev_scheduler_t vdev_threads = {start, wake, wake, drive, rest, NULL, NULL, NULL};
