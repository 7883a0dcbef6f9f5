/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * device.c: what a device is, opening and closing it.
 */
#include "cpu.h"

#include <stdlib.h>
#include <string.h>

tbk_status_t cpu_device_count(tbk_instance_t* self, int32_t* out_count, tbk_error_t* error) {
  if (!out_count) return cpu_fail(TBK_INVALID, error, "out_count is NULL");
  *out_count = (int32_t)self->options.devices;
  return TBK_OK;
}

static uint64_t flags(const cpu_options_t* options) {
  return TBK_DEVICE_CROSS_DEVICE_WAIT | TBK_DEVICE_PHILOX |
         (options->arena.flat ? TBK_DEVICE_FLAT_ADDRESS : 0) |
         (options->exclusive[0] ? TBK_DEVICE_EXCLUSIVE : 0);
}

tbk_status_t cpu_device_properties(tbk_instance_t* self, int32_t index,
                                   tbk_device_properties_t* out_properties, tbk_error_t* error) {
  const cpu_device_t* device = cpu_device(self, index);
  if (!device) return cpu_fail(TBK_INVALID, error, "there is no device %d", index);
  if (!out_properties || out_properties->struct_size < sizeof out_properties->struct_size)
    return cpu_fail(TBK_INVALID, error, "out_properties is NULL or has no struct_size");
  const cpu_options_t* options = &self->options;
  tbk_device_properties_t all = {.struct_size = out_properties->struct_size,
                                 .name = device->name,
                                 .flags = flags(options),
                                 .memory_bytes = options->arena.memory_bytes,
                                 .memory_alignment = options->arena.alignment,
                                 .copy_granularity = options->granularity,
                                 .max_rank = CPU_MAX_RANK,
                                 .priority_least = 0,
                                 .priority_greatest = -1,
                                 .max_allocation_bytes = options->max_allocation};
#define BIT(name, value, size_bytes) all.dtypes |= UINT64_C(1) << (value);
  TBK_DTYPE_MAP(BIT)
#undef BIT
  size_t size = all.struct_size < sizeof all ? all.struct_size : sizeof all;
  memcpy(out_properties, &all, size);
  return TBK_OK;
}

/* Whatever takes time or can fail, without the lock. */
static tbk_status_t make_usable(cpu_device_t* device, tbk_error_t* error) {
  const cpu_options_t* options = &device->instance->options;
  tbk_status_t status = TBK_OK;
  if (options->exclusive[0])
    status = cpu_lock_file_take(options->exclusive, device->index, &device->lock_file, error);
  if (status != TBK_OK) return status;
  vdev_sleep_us(options->open_ms * 1000);
  device->home = calloc(1, sizeof *device->home);
  if (device->home) device->arena = vdev_arena_new(&options->arena, device->generation);
  if (device->arena) return TBK_OK;
  free(device->home);
  cpu_lock_file_give(device->lock_file);
  device->lock_file = NULL;
  return cpu_fail(TBK_OUT_OF_MEMORY, error, "cannot map %llu bytes",
                  (unsigned long long)options->arena.memory_bytes);
}

static void unmake(cpu_device_t* device) {
  tbk_instance_t* self = device->instance;
  if (vdev_arena_live_count(device->arena)) {
    vdev_arena_empty(device->arena);
    device->home->arena = device->arena;
    LIST_INSERT_HEAD(&self->homes, device->home, entry);
  } else {
    vdev_arena_free(device->arena);
    free(device->home);
  }
  device->arena = NULL;
  cpu_lock_file_give(device->lock_file);
  device->lock_file = NULL;
}

static tbk_status_t start_queue(cpu_device_t* device, tbk_error_t* error) {
  if (device->instance->options.policy != CPU_ONE_QUEUE) return TBK_OK;
  device->shared = cpu_queue_new(device);
  return device->shared ? TBK_OK : cpu_fail(TBK_OUT_OF_MEMORY, error, "no thread for the queue");
}

tbk_status_t cpu_device_open(tbk_instance_t* self, int32_t index, tbk_error_t* error) {
  cpu_device_t* device = cpu_device(self, index);
  if (!device) return cpu_fail(TBK_INVALID, error, "there is no device %d", index);
  cpu_lock(self);
  tbk_status_t status = TBK_OK;
  if (device->state != CPU_CLOSED)
    status = cpu_fail(TBK_INVALID_STATE, error, "device %d is open already", index);
  else if (device->lost)
    status = cpu_fail(TBK_DEVICE_LOST, error, "device %d is lost", index);
  if (status == TBK_OK) {
    device->state = CPU_OPENING;
    cpu_unlock(self);
    status = make_usable(device, error);
    cpu_lock(self);
    if (status == TBK_OK && (status = start_queue(device, error)) != TBK_OK) unmake(device);
    device->state = status == TBK_OK ? CPU_OPEN : CPU_CLOSED;
  }
  cpu_unlock(self);
  return status;
}

/* Streams that nobody has destroyed lose their queue, and are stale handles from now on. */
static void release_queues(cpu_device_t* device) {
  tbk_instance_t* self = device->instance;
  tbk_stream_t* stream;
  LIST_FOREACH(stream, &self->streams, entry) {
    if (stream->device != device || !stream->lane->queue) continue;
    cpu_queue_drop(stream->lane->queue);
    stream->lane->queue = NULL;
  }
  cpu_queue_drop(device->shared);
  device->shared = NULL;
}

static bool has_queues(const cpu_device_t* device) {
  const cpu_queue_t* queue;
  LIST_FOREACH(queue, &device->instance->queues, entry)
  if (queue->device == device) return true;
  return false;
}

tbk_status_t cpu_device_close(tbk_instance_t* self, int32_t index, tbk_error_t* error) {
  cpu_device_t* device = cpu_device(self, index);
  cpu_lock(self);
  if (!device || device->state != CPU_OPEN) {
    cpu_unlock(self);
    return cpu_fail(TBK_INVALID_STATE, error, "device %d is not open", index);
  }
  device->state = CPU_CLOSING;
  cpu_device_demand(device, UINT64_MAX);
  while (cpu_device_pending(device, UINT64_MAX))
    cpu_wait(self);
  tbk_status_t status = cpu_tell_error(device, NULL, true, error);
  release_queues(device);
  while (has_queues(device))
    cpu_wait(self);
  device->generation++;
  device->event_count = 0;
  device->failed = false;
  cpu_unlock(self);
  self->scheduler->rest(self);
  cpu_lock(self);
  unmake(device);
  device->state = CPU_CLOSED;
  cpu_unlock(self);
  return status;
}
