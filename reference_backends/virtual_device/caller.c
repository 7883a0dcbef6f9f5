/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * caller.c: the scheduler without a thread. Whoever enqueues, asks or waits runs pieces of work,
 * and which, and how many, is taken from the seed. As long as one host thread makes the calls, the
 * same calls are answered in the same way each time.
 */
#include "inside.h"

/* At most so many pieces run within a call that need not wait. */
#define MOST_STEPS 3
/* After so many pieces on average, work piles up more, or less, than before. */
#define MOOD_CALLS 12

static uint64_t draw(vdev_machine_t* machine) {
  return machine->worker.random = vdev_mix(machine->worker.random);
}

static bool progress(vdev_machine_t* machine) {
  vdev_queue_t* queue = vdev_pick(machine);
  if (!queue) return false;
  machine->worker.steps++;
  vdev_queue_step(queue);
  return true;
}

static void nudge(vdev_machine_t* machine) {
  for (uint64_t left = draw(machine) % (MOST_STEPS + 1); left > 0 && progress(machine);)
    left--;
}

/* The choices begin anew, so that they do not depend on what was run before. */
static void begin(vdev_machine_t* machine) {
  machine->worker.random = machine->config.seed;
  machine->worker.steps = 0;
  machine->worker.mood = (unsigned)(machine->config.seed % 5);
  if (LIST_EMPTY(&machine->queues)) machine->queue_count = 0;
}

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

/* Of the calls that enqueue all, some, few or none run anything, so that work piles up. */
static void drive(vdev_queue_t* queue, uint64_t ticket) {
  static const unsigned one_in[] = {1, 3, 9, 0, 0};
  vdev_machine_t* machine = queue->device->machine;
  (void)ticket;
  if (draw(machine) % MOOD_CALLS == 0)
    machine->worker.mood = (unsigned)(draw(machine) % (sizeof one_in / sizeof *one_in));
  const unsigned mood = one_in[machine->worker.mood];
  if (mood > 0 && draw(machine) % mood == 0) nudge(machine);
}

/* What was left when the last stream went. */
static void rest(vdev_machine_t* machine) {
  vdev_lock(machine);
  while (progress(machine))
    continue;
  vdev_unlock(machine);
}

const vdev_scheduler_t vdev_caller = {start, wake, end, drive, rest, progress, nudge, begin};
