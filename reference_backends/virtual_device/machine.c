/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * machine.c: a set of devices, from its beginning to its end.
 */
#include <stdlib.h>

#include "inside.h"

void vdev_wait(vdev_machine_t* machine) {
  bool (*progress)(vdev_machine_t*) = machine->scheduler->progress;
  if (progress && progress(machine)) return;
  machine->waiting++;
  pthread_cond_wait(&machine->done, &machine->lock);
  machine->waiting--;
}

void vdev_wait_for(vdev_queue_t* queue, uint64_t ticket) {
  vdev_machine_t* machine = queue->device->machine;
  bool (*progress)(vdev_machine_t*) = machine->scheduler->progress;
  if (progress && progress(machine)) return;
  if (queue->awaited == 0 || ticket < queue->awaited) queue->awaited = ticket;
  machine->patient++;
  pthread_cond_wait(&machine->done, &machine->lock);
  machine->patient--;
}

void vdev_done(vdev_machine_t* machine) {
  if (machine->waiting > 0 || machine->patient > 0) pthread_cond_broadcast(&machine->done);
}

void vdev_asked(vdev_machine_t* machine) {
  if (machine->scheduler->nudge) machine->scheduler->nudge(machine);
}

vdev_machine_t* vdev_machine_new(const vdev_config_t* config) {
  vdev_machine_t* machine = calloc(1, sizeof *machine);
  vdev_device_t* devices = calloc(config->devices + 1, sizeof *devices);
  if (!machine || !devices) {
    free(machine);
    free(devices);
    return NULL;
  }
  machine->config = *config;
  machine->scheduler = config->policy == VDEV_INLINE      ? &vdev_inline
                       : config->scheduler == VDEV_SEEDED ? &vdev_seeded
                       : config->scheduler == VDEV_CALLER ? &vdev_caller
                                                          : &vdev_threads;
  machine->devices = devices;
  for (int32_t i = 0; (uint64_t)i < config->devices; i++) {
    devices[i].machine = machine;
    devices[i].index = i;
  }
  pthread_mutex_init(&machine->lock, NULL);
  pthread_cond_init(&machine->done, NULL);
  return machine;
}

/* That of all devices before any is closed: work of one may write to another. */
static void complete_all(vdev_machine_t* machine) {
  vdev_lock(machine);
  for (uint64_t i = 0; i < machine->config.devices; i++)
    vdev_device_demand(&machine->devices[i], UINT64_MAX);
  for (uint64_t i = 0; i < machine->config.devices; i++)
    while (vdev_device_pending(&machine->devices[i], UINT64_MAX))
      vdev_wait(machine);
  vdev_unlock(machine);
}

static void free_handles(vdev_machine_t* machine) {
  vdev_stream_t* stream;
  while ((stream = LIST_FIRST(&machine->streams))) {
    LIST_REMOVE(stream, entry);
    free(stream);
  }
  while (!LIST_EMPTY(&machine->events))
    vdev_event_free(LIST_FIRST(&machine->events));
}

void vdev_machine_free(vdev_machine_t* machine) {
  complete_all(machine);
  for (uint64_t i = 0; i < machine->config.devices; i++)
    (void)vdev_device_close(&machine->devices[i], NULL);
  free_handles(machine);
  vdev_home_t* home;
  while ((home = LIST_FIRST(&machine->homes))) {
    LIST_REMOVE(home, entry);
    vdev_arena_free(home->arena);
    free(home);
  }
  vdev_pinned_free_all(machine);
  pthread_mutex_destroy(&machine->lock);
  pthread_cond_destroy(&machine->done);
  free(machine->devices);
  free(machine);
}

const vdev_config_t* vdev_machine_config(const vdev_machine_t* machine) {
  return &machine->config;
}
