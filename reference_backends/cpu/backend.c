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
#include <string.h>

tbk_status_t cpu_fail(tbk_status_t status, tbk_error_t* error, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (error) vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return status;
}

tbk_status_t cpu_tell(vdev_status_t status, tbk_error_t* error) {
  static const struct {
    tbk_status_t status;
    const char* message;
  } words[] = {
      [VDEV_INVALID] = {TBK_INVALID, "event and stream are of different devices"},
      [VDEV_CLOSED] = {TBK_INVALID_STATE, "the device is not open"},
      [VDEV_STATE] = {TBK_INVALID_STATE, "not in the state that this needs"},
      [VDEV_LOST] = {TBK_DEVICE_LOST, "the device is lost"},
      [VDEV_NO_ROOM] = {TBK_OUT_OF_MEMORY, "no host memory, no thread, or a limit is reached"},
      [VDEV_NOT_READY] = {TBK_NOT_READY, "work is not complete"},
      [VDEV_FAILED] = {TBK_FAILED, "work on the device failed"},
      [VDEV_BUSY] = {TBK_UNAVAILABLE, "another process has the device open"},
  };
  if (status == VDEV_OK) return TBK_OK;
  /* Who polls asks often: no format is read for it. */
  if (error) memcpy(error->message, words[status].message, strlen(words[status].message) + 1);
  return words[status].status;
}

vdev_device_t* cpu_device(tbk_instance_t* self, int32_t device) {
  return vdev_device_at(self->machine, device);
}

vdev_arena_t* cpu_arena(tbk_instance_t* self, int32_t device) {
  return vdev_device_arena(cpu_device(self, device));
}

vdev_stream_t* cpu_lane(tbk_stream_t* stream) {
  return stream ? stream->lane : NULL;
}

tbk_status_t cpu_enter(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  return cpu_tell(vdev_device_check(cpu_device(self, device)), error);
}

tbk_status_t cpu_enter_stream(tbk_instance_t* self, int32_t device, tbk_stream_t* stream,
                              tbk_error_t* error) {
  /* What holds of a stream holds of its device. */
  const bool own = stream && vdev_stream_device(stream->lane) == cpu_device(self, device);
  if (own) return cpu_enter_lane(stream, error);
  tbk_status_t status = cpu_enter(self, device, error);
  if (status != TBK_OK || !stream) return status;
  return cpu_fail(TBK_INVALID, error, "the stream is of another device than %d", device);
}

tbk_status_t cpu_enter_lane(tbk_stream_t* stream, tbk_error_t* error) {
  if (!stream) return cpu_fail(TBK_INVALID, error, "stream is NULL");
  return cpu_tell(vdev_stream_check(stream->lane), error);
}

static void destroy(tbk_instance_t* self) {
  vdev_machine_free(self->machine);
  cpu_streams_free_all(self);
  cpu_plans_destroy_all(self);
  code_cache_empty(&self->programs);
  pthread_mutex_destroy(&self->programs.lock);
  pthread_mutex_destroy(&self->lock);
  free(self->shapes);
  free(self->names);
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
  const uint64_t count = options->device.devices;
  tbk_instance_t* self = calloc(1, sizeof *self);
  cpu_name_t* names = calloc(count + 1, sizeof *names);
  vdev_machine_t* machine = self && names ? vdev_machine_new(&options->device) : NULL;
  if (!machine) {
    free(self);
    free(names);
    return NULL;
  }
  self->backend = table;
  self->backend.instance = self;
  self->options = *options;
  self->machine = machine;
  self->names = names;
  for (int32_t i = 0; (uint64_t)i < count; i++)
    snprintf(names[i].text, sizeof names[i].text, "tbk virtual device %d", i);
  pthread_mutex_init(&self->lock, NULL);
  code_cache_init(&self->programs);
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
