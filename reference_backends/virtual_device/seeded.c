/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * seeded.c: the deterministic scheduler. One thread runs the work of all devices of a machine,
 * and takes each choice of the queue that goes next from the seed. So that the choices do not
 * depend on how fast the host enqueues, it begins when somebody waits or asks, or when the host has
 * been quiet for a moment.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "inside.h"

enum { NONE, RUNNING, STOPPING };
#define QUIET_NS UINT64_C(1000000)
#define STEPS_PER_SHUFFLE 16

static uint64_t draw(vdev_machine_t* machine) {
  return machine->worker.random = vdev_mix(machine->worker.random);
}

static uint64_t rank_of(vdev_queue_t* queue, uint64_t era) {
  if (queue->ranked == era + 1) return queue->rank;
  queue->ranked = era + 1;
  const uint64_t seed = queue->device->machine->config.seed;
  return queue->rank = vdev_mix(seed ^ vdev_mix(era ^ (queue->id << 32)));
}

/* policy=shuffled: a strict order of the queues, which changes now and then. Mostly one is ready. */
static vdev_queue_t* pick_shuffled(vdev_machine_t* machine) {
  const uint64_t era = machine->worker.steps / STEPS_PER_SHUFFLE;
  vdev_queue_t *queue, *best = NULL;
  LIST_FOREACH(queue, &machine->queues, entry) {
    if (!vdev_queue_ready(queue)) continue;
    if (!best || rank_of(queue, era) > rank_of(best, era)) best = queue;
  }
  return best;
}

vdev_queue_t* vdev_pick(vdev_machine_t* machine) {
  if (machine->config.policy == VDEV_SHUFFLED) return pick_shuffled(machine);
  uint64_t count = 0;
  vdev_queue_t* queue;
  LIST_FOREACH(queue, &machine->queues, entry) count += vdev_queue_ready(queue);
  if (count == 0) return NULL;
  uint64_t chosen = draw(machine) % count;
  LIST_FOREACH(queue, &machine->queues, entry)
  if (vdev_queue_ready(queue) && chosen-- == 0) break;
  return queue;
}

/* Until somebody waits, or nothing has been enqueued for QUIET_NS. */
static void hold_on(vdev_machine_t* machine) {
  uint64_t seen = 0;
  while (!machine->worker.urgent && machine->worker.state == RUNNING && seen != machine->ticket) {
    seen = machine->ticket;
    uint64_t until = vdev_now_ns() + QUIET_NS;
    struct timespec deadline = {(time_t)(until / 1000000000), (long)(until % 1000000000)};
    int result = 0;
    while (!machine->worker.urgent && machine->worker.state == RUNNING && result != ETIMEDOUT)
      result = pthread_cond_timedwait(&machine->worker.wake, &machine->lock, &deadline);
  }
}

static void* work(void* argument) {
  vdev_machine_t* machine = argument;
  vdev_lock(machine);
  for (;;) {
    vdev_queue_t* queue = vdev_pick(machine);
    if (queue) {
      machine->worker.steps++;
      vdev_queue_step(queue);
      continue;
    }
    if (machine->worker.state == STOPPING) break;
    machine->worker.urgent = false;
    pthread_cond_wait(&machine->worker.wake, &machine->lock);
    hold_on(machine);
  }
  vdev_unlock(machine);
  return NULL;
}

static void init_wake(vdev_machine_t* machine) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&machine->worker.wake, &attributes);
  pthread_condattr_destroy(&attributes);
}

static bool start(vdev_queue_t* queue) {
  vdev_machine_t* machine = queue->device->machine;
  while (machine->worker.state == STOPPING)
    vdev_wait(machine);
  if (machine->worker.state == RUNNING) return true;
  init_wake(machine);
  machine->worker.state = RUNNING;
  machine->worker.random = machine->config.seed;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&machine->worker.thread, NULL, work, machine);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!failed) return true;
  machine->worker.state = NONE;
  pthread_cond_destroy(&machine->worker.wake);
  return false;
}

static void wake(vdev_queue_t* queue) {
  pthread_cond_signal(&queue->device->machine->worker.wake);
}

static void end(vdev_queue_t* queue) {
  LIST_REMOVE(queue, entry);
  vdev_done(queue->device->machine);
  vdev_queue_free(queue);
}

static void drive(vdev_queue_t* queue, uint64_t ticket) {
  (void)queue;
  (void)ticket;
}

static void rest(vdev_machine_t* machine) {
  vdev_lock(machine);
  if (machine->worker.state == RUNNING && LIST_EMPTY(&machine->queues)) {
    machine->worker.state = STOPPING;
    pthread_cond_signal(&machine->worker.wake);
    vdev_unlock(machine);
    pthread_join(machine->worker.thread, NULL);
    vdev_lock(machine);
    pthread_cond_destroy(&machine->worker.wake);
    machine->worker.state = NONE;
    vdev_done(machine);
  }
  vdev_unlock(machine);
}

const vdev_scheduler_t vdev_seeded = {start, wake, end, drive, rest, NULL, NULL, NULL};
