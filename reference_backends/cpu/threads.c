/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * threads.c: the scheduler in which each queue has a thread of its own. A thread ends by itself
 * when its queue is over; whoever passes next joins it.
 */
#include "cpu.h"

#include <signal.h>

/* Gives up the lock while it joins; a thread here needs it no more. */
static void join_ended(tbk_instance_t* self) {
  cpu_queue_t* queue;
  while ((queue = LIST_FIRST(&self->ended))) {
    LIST_REMOVE(queue, entry);
    cpu_unlock(self);
    pthread_join(queue->thread, NULL);
    cpu_queue_free(queue);
    cpu_lock(self);
  }
}

static void* work(void* argument) {
  cpu_queue_t* queue = argument;
  tbk_instance_t* self = queue->device->instance;
  cpu_lock(self);
  for (;;) {
    if (cpu_queue_ready(queue)) {
      cpu_queue_step(queue);
    } else if (queue->closing && STAILQ_EMPTY(&queue->ops)) {
      break;
    } else {
      pthread_cond_wait(&queue->wake, &self->lock);
    }
  }
  LIST_REMOVE(queue, entry);
  LIST_INSERT_HEAD(&self->ended, queue, entry);
  pthread_cond_broadcast(&self->done);
  cpu_unlock(self);
  return NULL;
}

/* The host's signals are for the host's threads. */
static bool start(cpu_queue_t* queue) {
  join_ended(queue->device->instance);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&queue->thread, NULL, work, queue);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return failed == 0;
}

static void wake(cpu_queue_t* queue) {
  pthread_cond_signal(&queue->wake);
}

static void drive(cpu_queue_t* queue, uint64_t ticket) {
  (void)queue;
  (void)ticket;
}

static void rest(tbk_instance_t* self) {
  cpu_lock(self);
  join_ended(self);
  cpu_unlock(self);
}

const cpu_scheduler_t cpu_threads = {start, wake, wake, drive, rest};
