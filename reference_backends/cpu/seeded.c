/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * seeded.c: the deterministic scheduler. One thread runs the work of all devices of an instance,
 * and takes each choice of the queue that goes next from the seed. So that the choices do not
 * depend on how fast the host enqueues, it begins when somebody waits or asks, or when the host has
 * been quiet for a moment.
 */
#include "cpu.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

enum { NONE, RUNNING, STOPPING };
#define QUIET_NS UINT64_C(1000000)
#define STEPS_PER_SHUFFLE 16

static uint64_t draw(tbk_instance_t* self) {
  return self->worker.random = vdev_mix(self->worker.random);
}

/* policy=shuffled: a strict order of the queues, which changes now and then. */
static cpu_queue_t* pick_shuffled(tbk_instance_t* self) {
  uint64_t era = self->worker.steps / STEPS_PER_SHUFFLE, best_rank = 0;
  cpu_queue_t *queue, *best = NULL;
  LIST_FOREACH(queue, &self->queues, entry) {
    if (!cpu_queue_ready(queue)) continue;
    uint64_t rank = vdev_mix(self->options.seed ^ vdev_mix(era ^ (queue->id << 32)));
    if (best && rank <= best_rank) continue;
    best = queue;
    best_rank = rank;
  }
  return best;
}

static cpu_queue_t* pick(tbk_instance_t* self) {
  if (self->options.policy == CPU_SHUFFLED) return pick_shuffled(self);
  uint64_t count = 0;
  cpu_queue_t* queue;
  LIST_FOREACH(queue, &self->queues, entry) count += cpu_queue_ready(queue);
  if (count == 0) return NULL;
  uint64_t chosen = draw(self) % count;
  LIST_FOREACH(queue, &self->queues, entry)
  if (cpu_queue_ready(queue) && chosen-- == 0) break;
  return queue;
}

/* Until somebody waits, or nothing has been enqueued for QUIET_NS. */
static void hold_on(tbk_instance_t* self) {
  uint64_t seen = 0;
  while (!self->worker.urgent && self->worker.state == RUNNING && seen != self->ticket) {
    seen = self->ticket;
    uint64_t until = vdev_now_ns() + QUIET_NS;
    struct timespec deadline = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
    int result = 0;
    while (!self->worker.urgent && self->worker.state == RUNNING && result != ETIMEDOUT)
      result = pthread_cond_timedwait(&self->worker.wake, &self->lock, &deadline);
  }
}

static void* work(void* argument) {
  tbk_instance_t* self = argument;
  cpu_lock(self);
  for (;;) {
    cpu_queue_t* queue = pick(self);
    if (queue) {
      self->worker.steps++;
      cpu_queue_step(queue);
      continue;
    }
    if (self->worker.state == STOPPING) break;
    self->worker.urgent = false;
    pthread_cond_wait(&self->worker.wake, &self->lock);
    hold_on(self);
  }
  cpu_unlock(self);
  return NULL;
}

static void init_wake(tbk_instance_t* self) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&self->worker.wake, &attributes);
  pthread_condattr_destroy(&attributes);
}

static bool start(cpu_queue_t* queue) {
  tbk_instance_t* self = queue->device->instance;
  while (self->worker.state == STOPPING)
    cpu_wait(self);
  if (self->worker.state == RUNNING) return true;
  init_wake(self);
  self->worker.state = RUNNING;
  self->worker.random = self->options.seed;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&self->worker.thread, NULL, work, self);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!failed) return true;
  self->worker.state = NONE;
  pthread_cond_destroy(&self->worker.wake);
  return false;
}

static void wake(cpu_queue_t* queue) {
  pthread_cond_signal(&queue->device->instance->worker.wake);
}

static void end(cpu_queue_t* queue) {
  LIST_REMOVE(queue, entry);
  pthread_cond_broadcast(&queue->device->instance->done);
  cpu_queue_free(queue);
}

static void drive(cpu_queue_t* queue, uint64_t ticket) {
  (void)queue;
  (void)ticket;
}

static void rest(tbk_instance_t* self) {
  cpu_lock(self);
  if (self->worker.state == RUNNING && LIST_EMPTY(&self->queues)) {
    self->worker.state = STOPPING;
    pthread_cond_signal(&self->worker.wake);
    cpu_unlock(self);
    pthread_join(self->worker.thread, NULL);
    cpu_lock(self);
    pthread_cond_destroy(&self->worker.wake);
    self->worker.state = NONE;
    pthread_cond_broadcast(&self->done);
  }
  cpu_unlock(self);
}

const cpu_scheduler_t cpu_seeded = {start, wake, end, drive, rest};
