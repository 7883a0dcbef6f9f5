/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * device.c: opening and closing a device, and what it tells of its work.
 */
#include <errno.h>
#include <stdlib.h>

#include "inside.h"

vdev_device_t* vdev_device_at(vdev_machine_t* machine, int32_t index) {
  bool there = index >= 0 && (uint64_t)index < machine->config.devices;
  return there ? &machine->devices[index] : NULL;
}

int32_t vdev_device_index(const vdev_device_t* device) {
  return device->index;
}

vdev_status_t vdev_device_usable(const vdev_device_t* device, uint32_t generation) {
  if (device->state != OPEN || device->generation != generation) return VDEV_CLOSED;
  return device->lost ? VDEV_LOST : VDEV_OK;
}

vdev_status_t vdev_device_check(vdev_device_t* device) {
  if (!device) return VDEV_CLOSED;
  if (__atomic_load_n(&device->serves, __ATOMIC_ACQUIRE) != 0) return VDEV_OK;
  vdev_lock(device->machine);
  vdev_status_t status = vdev_device_usable(device, device->generation);
  vdev_unlock(device->machine);
  return status;
}

vdev_arena_t* vdev_device_arena(const vdev_device_t* device) {
  return device->arena;
}

/* With the lock held, after each change of what it goes by. */
static void set_serves(vdev_device_t* device) {
  const bool serves = device->state == OPEN && !device->lost;
  __atomic_store_n(&device->serves, serves ? device->generation + 1 : 0, __ATOMIC_RELEASE);
}

/* Whatever takes time or can fail, without the lock. */
static vdev_status_t make_usable(vdev_device_t* device) {
  const vdev_config_t* config = &device->machine->config;
  vdev_status_t status = VDEV_OK;
  if (config->exclusive[0])
    status = vdev_lock_file_take(config->exclusive, device->index, &device->lock_file);
  if (status != VDEV_OK) return status;
  vdev_sleep_us(config->open_ms * 1000);
  device->home = calloc(1, sizeof *device->home);
  if (device->home) device->arena = vdev_arena_new(&config->arena, device->generation);
  if (device->arena) return VDEV_OK;
  free(device->home);
  vdev_lock_file_give(device->lock_file);
  device->lock_file = NULL;
  return VDEV_NO_ROOM;
}

static void unmake(vdev_device_t* device) {
  if (vdev_arena_live_count(device->arena)) {
    vdev_arena_empty(device->arena);
    device->home->arena = device->arena;
    LIST_INSERT_HEAD(&device->machine->homes, device->home, entry);
  } else {
    vdev_arena_free(device->arena);
    free(device->home);
  }
  device->arena = NULL;
  vdev_lock_file_give(device->lock_file);
  device->lock_file = NULL;
}

/* With the lock held. */
static vdev_status_t start_queue(vdev_device_t* device) {
  if (device->machine->config.policy != VDEV_ONE_QUEUE) return VDEV_OK;
  device->shared = vdev_queue_new(device);
  return device->shared ? VDEV_OK : VDEV_NO_ROOM;
}

vdev_status_t vdev_device_open(vdev_device_t* device) {
  vdev_machine_t* machine = device->machine;
  int reason = 0;
  vdev_lock(machine);
  vdev_status_t status = device->state != SHUT ? VDEV_STATE : device->lost ? VDEV_LOST : VDEV_OK;
  if (status == VDEV_OK) {
    device->state = OPENING;
    vdev_unlock(machine);
    status = make_usable(device);
    reason = errno;
    vdev_lock(machine);
    if (status == VDEV_OK && (status = start_queue(device)) != VDEV_OK) unmake(device);
    device->state = status == VDEV_OK ? OPEN : SHUT;
    set_serves(device);
  }
  vdev_unlock(machine);
  errno = reason;
  return status;
}

/* Streams that nobody has dropped lose their queue, and are stale from now on. */
static void release_queues(vdev_device_t* device) {
  vdev_stream_t* stream;
  LIST_FOREACH(stream, &device->machine->streams, entry) {
    if (stream->device != device) continue;
    vdev_queue_drop(stream->queue);
    stream->queue = NULL;
  }
  vdev_queue_drop(device->shared);
  device->shared = NULL;
}

static bool has_queues(const vdev_device_t* device) {
  const vdev_queue_t* queue;
  LIST_FOREACH(queue, &device->machine->queues, entry)
  if (queue->device == device) return true;
  return false;
}

vdev_status_t vdev_device_close(vdev_device_t* device, int* out_code) {
  vdev_machine_t* machine = device->machine;
  vdev_lock(machine);
  if (device->state != OPEN) {
    vdev_unlock(machine);
    return VDEV_CLOSED;
  }
  device->state = CLOSING;
  set_serves(device);
  vdev_device_demand(device, UINT64_MAX);
  while (vdev_device_pending(device, UINT64_MAX))
    vdev_wait(machine);
  vdev_status_t status = vdev_tell_fault(device, NULL, true, out_code);
  release_queues(device);
  while (has_queues(device))
    vdev_wait(machine);
  device->generation++;
  device->event_count = 0;
  device->sticky = 0;
  vdev_unlock(machine);
  machine->scheduler->rest(machine);
  vdev_lock(machine);
  unmake(device);
  device->state = SHUT;
  vdev_unlock(machine);
  return status;
}

vdev_status_t vdev_device_synchronize(vdev_device_t* device, int* out_code) {
  vdev_machine_t* machine = device->machine;
  vdev_lock(machine);
  vdev_status_t status = vdev_device_usable(device, device->generation);
  if (status != VDEV_CLOSED) {
    const uint64_t last = machine->ticket;
    vdev_device_demand(device, last);
    vdev_queue_t* queue;
    while ((queue = vdev_device_behind(device, last)))
      vdev_wait_for(queue, last);
    status = vdev_tell_fault(device, NULL, true, out_code);
  }
  vdev_unlock(machine);
  return status;
}

void vdev_device_lose(vdev_device_t* device) {
  vdev_lock(device->machine);
  device->lost = true;
  set_serves(device);
  vdev_wake_all(device->machine);
  vdev_unlock(device->machine);
}

/* Returns the last code of all that was not told, and forgets it if told to. */
static int device_error(vdev_device_t* device, bool forget) {
  int seen = device->error;
  if (forget) device->error = 0;
  vdev_stream_t* stream;
  LIST_FOREACH(stream, &device->machine->streams, entry) {
    if (stream->device != device) continue;
    if (stream->error) seen = stream->error;
    if (forget) stream->error = 0;
  }
  return seen;
}

vdev_status_t vdev_tell_fault(vdev_device_t* device, vdev_stream_t* stream, bool forget,
                              int* out_code) {
  int seen = stream ? stream->error : device_error(device, forget);
  if (stream && forget) stream->error = 0;
  if (device->sticky) seen = device->sticky;
  if (device->lost) return VDEV_LOST;
  if (seen && out_code) *out_code = seen;
  return seen ? VDEV_FAILED : VDEV_OK;
}
