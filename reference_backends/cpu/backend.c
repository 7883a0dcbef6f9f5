/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * backend.c: the entry, the instance, and what every call asks first.
 */
#include "cpu.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

tbk_status_t cpu_fail(tbk_status_t status, tbk_error_t* error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (error) vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return status;
}

void cpu_lock(tbk_instance_t* self) {
  pthread_mutex_lock(&self->lock);
}

void cpu_unlock(tbk_instance_t* self) {
  pthread_mutex_unlock(&self->lock);
}

void cpu_wait(tbk_instance_t* self) {
  pthread_cond_wait(&self->done, &self->lock);
}

cpu_device_t* cpu_device(tbk_instance_t* self, int32_t device) {
  return device >= 0 && (uint64_t)device < self->options.devices ? &self->devices[device] : NULL;
}

tbk_status_t cpu_device_usable(const cpu_device_t* device, uint32_t generation,
                               tbk_error_t* error) {
  if (!device || device->state != CPU_OPEN || device->generation != generation)
    return cpu_fail(TBK_INVALID_STATE, error, "the device is not open");
  if (device->lost) return cpu_fail(TBK_DEVICE_LOST, error, "device %d is lost", device->index);
  return TBK_OK;
}

tbk_status_t cpu_enter(tbk_instance_t* self, int32_t index, tbk_error_t* error) {
  const cpu_device_t* device = cpu_device(self, index);
  cpu_lock(self);
  tbk_status_t status = cpu_device_usable(device, device ? device->generation : 0, error);
  cpu_unlock(self);
  return status;
}

tbk_status_t cpu_enter_stream(tbk_instance_t* self, int32_t index, tbk_stream_t* stream,
                              tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, index, error);
  if (status != TBK_OK || !stream) return status;
  if (stream->device != &self->devices[index])
    return cpu_fail(TBK_INVALID, error, "the stream is of device %d", stream->device->index);
  return cpu_enter_lane(self, stream, error);
}

tbk_status_t cpu_enter_lane(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error) {
  if (!stream) return cpu_fail(TBK_INVALID, error, "stream is NULL");
  cpu_lock(self);
  tbk_status_t status = cpu_device_usable(stream->device, stream->generation, error);
  cpu_unlock(self);
  return status;
}

tbk_status_t cpu_enter_event(tbk_instance_t* self, tbk_event_t* event, tbk_error_t* error) {
  cpu_lock(self);
  tbk_status_t status = cpu_device_usable(event->device, event->generation, error);
  cpu_unlock(self);
  return status;
}

tbk_status_t cpu_tell_error(cpu_device_t* device, cpu_lane_t* lane, bool forget,
                            tbk_error_t* error) {
  tbk_status_t seen = lane ? lane->error : device->error;
  if (lane && forget) lane->error = TBK_OK;
  if (!lane) {
    const tbk_stream_t* stream;
    LIST_FOREACH(stream, &device->instance->streams, entry) {
      if (stream->device != device) continue;
      if (stream->lane->error != TBK_OK) seen = stream->lane->error;
      if (forget) stream->lane->error = TBK_OK;
    }
    if (forget) device->error = TBK_OK;
  }
  if (device->failed && device->instance->options.sticky) seen = TBK_FAILED;
  if (device->lost) return cpu_fail(TBK_DEVICE_LOST, error, "device %d is lost", device->index);
  return seen == TBK_OK ? TBK_OK : cpu_fail(seen, error, "work on device %d failed", device->index);
}

/* All work first: that of one device may write to another. */
static void destroy(tbk_instance_t* self) {
  cpu_lock(self);
  for (uint64_t i = 0; i < self->options.devices; i++)
    cpu_device_demand(&self->devices[i], UINT64_MAX);
  for (uint64_t i = 0; i < self->options.devices; i++)
    while (cpu_device_pending(&self->devices[i], UINT64_MAX))
      cpu_wait(self);
  cpu_unlock(self);
  for (int32_t i = 0; (uint64_t)i < self->options.devices; i++)
    if (self->devices[i].state == CPU_OPEN) (void)cpu_device_close(self, i, NULL);
  while (!LIST_EMPTY(&self->streams))
    self->backend.stream->stream_destroy(self, LIST_FIRST(&self->streams));
  while (!LIST_EMPTY(&self->events))
    self->backend.event->event_destroy(self, LIST_FIRST(&self->events));
  while (!LIST_EMPTY(&self->homes)) {
    cpu_home_t* home = LIST_FIRST(&self->homes);
    LIST_REMOVE(home, entry);
    vdev_arena_free(home->arena);
    free(home);
  }
  cpu_plans_destroy_all(self);
  cpu_pinned_free_all(self);
  pthread_mutex_destroy(&self->lock);
  pthread_cond_destroy(&self->done);
  free(self->shapes);
  free(self->devices);
  free(self);
}

static const tbk_core_t core = {.struct_size = sizeof core,
                                .destroy = destroy,
                                .device_count = cpu_device_count,
                                .device_properties = cpu_device_properties,
                                .device_open = cpu_device_open,
                                .device_close = cpu_device_close,
                                .memory_alloc = cpu_memory_alloc,
                                .memory_free = cpu_memory_free,
                                .upload = cpu_upload,
                                .download = cpu_download,
                                .copy = cpu_copy,
                                .fill = cpu_fill,
                                .memory_info = cpu_memory_info};

/* The reference offers every table of the map: cpu_NAME_ops, in a file of its own. */
#define TABLE(name, type, needs) .name = &cpu_##name##_ops,
static const tbk_backend_t table = {.struct_size = sizeof table,
                                    .abi_version = TBK_ABI_VERSION,
                                    .name = "tbk_cpu",
                                    .version = "0.1.0",
                                    .core = &core,
                                    TBK_TABLE_MAP(TABLE)};
#undef TABLE

static tbk_instance_t* new_instance(const cpu_options_t* options) {
  tbk_instance_t* self = calloc(1, sizeof *self);
  cpu_device_t* devices = calloc(options->devices + 1, sizeof *devices);
  if (!self || !devices) {
    free(self);
    free(devices);
    return NULL;
  }
  self->backend = table;
  self->backend.instance = self;
  self->options = *options;
  self->scheduler = options->policy == CPU_INLINE      ? &cpu_inline
                    : options->scheduler == CPU_SEEDED ? &cpu_seeded
                                                       : &cpu_threads;
  self->devices = devices;
  for (int32_t i = 0; (uint64_t)i < options->devices; i++) {
    devices[i].instance = self;
    devices[i].index = i;
    snprintf(devices[i].name, sizeof devices[i].name, "tbk virtual device %d", i);
  }
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->done, NULL);
  return self;
}

tbk_status_t tbk_backend_create(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                tbk_error_t* error) {
  if (!host || !out_backend) return cpu_fail(TBK_INVALID, error, "host or out_backend is NULL");
  if (host->struct_size < offsetof(tbk_host_t, options) + sizeof host->options)
    return cpu_fail(TBK_INVALID, error, "the host's table is cut short");
  if (host->abi_version != TBK_ABI_VERSION)
    return cpu_fail(TBK_UNSUPPORTED, error, "ABI version %llu is not %d",
                    (unsigned long long)host->abi_version, TBK_ABI_VERSION);
  cpu_options_t options;
  tbk_status_t status = cpu_options_parse(&options, host->options, error);
  if (status != TBK_OK) return status;
  tbk_instance_t* self = new_instance(&options);
  if (!self) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for an instance");
  *out_backend = &self->backend;
  return TBK_OK;
}
