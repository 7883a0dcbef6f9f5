/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * device.c: what a device is, opening and closing it.
 */
#include "cpu.h"

#include <errno.h>
#include <string.h>

tbk_status_t cpu_device_count(tbk_instance_t* self, int32_t* out_count, tbk_error_t* error) {
  if (!out_count) return cpu_fail(TBK_INVALID, error, "out_count is NULL");
  *out_count = (int32_t)self->options.device.devices;
  return TBK_OK;
}

static uint64_t flags(const cpu_options_t* options) {
  return TBK_DEVICE_CROSS_DEVICE_WAIT | TBK_DEVICE_PHILOX |
         (options->device.arena.flat ? TBK_DEVICE_FLAT_ADDRESS : 0) |
         (options->device.exclusive[0] ? TBK_DEVICE_EXCLUSIVE : 0);
}

tbk_status_t cpu_device_properties(tbk_instance_t* self, int32_t index,
                                   tbk_device_properties_t* out_properties, tbk_error_t* error) {
  if (!cpu_device(self, index)) return cpu_fail(TBK_INVALID, error, "there is no device %d", index);
  if (!out_properties || out_properties->struct_size < sizeof out_properties->struct_size)
    return cpu_fail(TBK_INVALID, error, "out_properties is NULL or has no struct_size");
  const cpu_options_t* options = &self->options;
  tbk_device_properties_t all = {.struct_size = out_properties->struct_size,
                                 .name = self->names[index].text,
                                 .flags = flags(options),
                                 .memory_bytes = options->device.arena.memory_bytes,
                                 .memory_alignment = options->device.arena.alignment,
                                 .copy_granularity = options->granularity,
                                 .dtypes = TBK_DTYPES_ALL,
                                 .max_rank = CPU_MAX_RANK,
                                 .priority_least = 0,
                                 .priority_greatest = -1,
                                 .max_allocation_bytes = options->device.arena.allocation_bytes};
  size_t size = all.struct_size < sizeof all ? all.struct_size : sizeof all;
  memcpy(out_properties, &all, size);
  return TBK_OK;
}

tbk_status_t cpu_device_open(tbk_instance_t* self, int32_t index, tbk_error_t* error) {
  vdev_device_t* device = cpu_device(self, index);
  if (!device) return cpu_fail(TBK_INVALID, error, "there is no device %d", index);
  vdev_status_t status = vdev_device_open(device);
  if (status == VDEV_STATE)
    return cpu_fail(TBK_INVALID_STATE, error, "device %d is open already", index);
  if (status == VDEV_FAILED)
    return cpu_fail(TBK_FAILED, error, "cannot open %.200s: %s", self->options.device.exclusive,
                    strerror(errno));
  return cpu_tell(status, error);
}

tbk_status_t cpu_device_close(tbk_instance_t* self, int32_t index, tbk_error_t* error) {
  vdev_device_t* device = cpu_device(self, index);
  vdev_status_t status = device ? vdev_device_close(device, NULL) : VDEV_CLOSED;
  if (status != VDEV_CLOSED) code_cache_empty(&self->programs);
  return cpu_tell(status, error);
}
