/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.c: allocation, from the arena of the device.
 */
#include "cpu.h"

tbk_status_t cpu_memory_alloc(tbk_instance_t* self, int32_t index, uint64_t size_bytes,
                              tbk_memory_t* out_memory, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, index, error);
  if (status != TBK_OK) return status;
  if (!out_memory) return cpu_fail(TBK_INVALID, error, "out_memory is NULL");
  tbk_memory_t memory = 0;
  if (size_bytes || self->options.zero_handle) {
    memory = vdev_arena_take(cpu_arena(self, index), size_bytes);
    if (!memory)
      return cpu_fail(TBK_OUT_OF_MEMORY, error,
                      "device %d has no room for %llu bytes, or they are too many for one block",
                      index, (unsigned long long)size_bytes);
  }
  *out_memory = memory;
  return TBK_OK;
}

/* What was taken before the device was closed is gone already; what is lost is forgotten. */
tbk_status_t cpu_memory_free(tbk_instance_t* self, int32_t index, tbk_memory_t memory,
                             tbk_error_t* error) {
  vdev_device_t* device = cpu_device(self, index);
  if (!device) return cpu_fail(TBK_INVALID, error, "there is no device %d", index);
  bool open = vdev_device_check(device) != VDEV_CLOSED;
  if (open && memory) vdev_arena_give(vdev_device_arena(device), memory);
  return TBK_OK;
}

tbk_status_t cpu_memory_info(tbk_instance_t* self, int32_t index, uint64_t* out_free_bytes,
                             uint64_t* out_total_bytes, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, index, error);
  if (status != TBK_OK) return status;
  if (!out_free_bytes || !out_total_bytes)
    return cpu_fail(TBK_INVALID, error, "out_free_bytes or out_total_bytes is NULL");
  *out_free_bytes = vdev_arena_free_bytes(cpu_arena(self, index));
  *out_total_bytes = self->options.device.arena.memory_bytes;
  return TBK_OK;
}
