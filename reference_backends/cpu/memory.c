/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.c: allocation, by the device's arena.
 */
#include "cpu.h"

tbk_status_t cpu_memory_alloc(tbk_instance_t* self, int32_t index, uint64_t size_bytes,
                              tbk_memory_t* out_memory, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, index, error);
  if (status != TBK_OK) return status;
  if (!out_memory) return cpu_fail(TBK_INVALID, error, "out_memory is NULL");
  tbk_memory_t memory = 0;
  const uint64_t most = self->options.max_allocation;
  if (most && size_bytes > most)
    return cpu_fail(TBK_OUT_OF_MEMORY, error, "%llu bytes are more than one allocation may have",
                    (unsigned long long)size_bytes);
  if (size_bytes || self->options.zero_handle) {
    memory = vdev_arena_take(self->devices[index].arena, size_bytes);
    if (!memory)
      return cpu_fail(TBK_OUT_OF_MEMORY, error, "device %d has no room for %llu bytes", index,
                      (unsigned long long)size_bytes);
  }
  *out_memory = memory;
  return TBK_OK;
}

/* What was taken before the device was closed is gone already; what is lost is forgotten. */
tbk_status_t cpu_memory_free(tbk_instance_t* self, int32_t index, tbk_memory_t memory,
                             tbk_error_t* error) {
  cpu_device_t* device = cpu_device(self, index);
  if (!device) return cpu_fail(TBK_INVALID, error, "there is no device %d", index);
  cpu_lock(self);
  vdev_arena_t* arena = device->state == CPU_OPEN ? device->arena : NULL;
  cpu_unlock(self);
  if (arena && memory) vdev_arena_give(arena, memory);
  return TBK_OK;
}

tbk_status_t cpu_memory_info(tbk_instance_t* self, int32_t index, uint64_t* out_free_bytes,
                             uint64_t* out_total_bytes, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, index, error);
  if (status != TBK_OK) return status;
  if (!out_free_bytes || !out_total_bytes)
    return cpu_fail(TBK_INVALID, error, "out_free_bytes or out_total_bytes is NULL");
  *out_free_bytes = vdev_arena_free_bytes(self->devices[index].arena);
  *out_total_bytes = self->options.arena.memory_bytes;
  return TBK_OK;
}
