/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.c: allocation, copies and fills. Addresses are the driver's own, so they are flat.
 */
#include "memory.h"

#include <search.h>
#include <stdlib.h>

typedef struct cuda_allocation {
  uint64_t address;
  cuda_allocation_kind_t kind;
} cuda_allocation_t;

static int by_address(const void* left, const void* right) {
  uint64_t a = ((const cuda_allocation_t*)left)->address;
  uint64_t b = ((const cuda_allocation_t*)right)->address;
  return (a > b) - (a < b);
}

bool cuda_remember(tbk_instance_t* self, int32_t device, cuda_allocation_kind_t kind,
                   uint64_t address) {
  cuda_allocation_t* entry = malloc(sizeof *entry);
  if (entry == NULL) return false;
  *entry = (cuda_allocation_t){.address = address, .kind = kind};
  pthread_mutex_lock(&self->lock);
  bool kept = tsearch(entry, &self->devices[device].allocations, by_address) != NULL;
  pthread_mutex_unlock(&self->lock);
  if (!kept) free(entry);
  return kept;
}

bool cuda_forget(tbk_instance_t* self, int32_t device, uint64_t address) {
  cuda_allocation_t key = {.address = address};
  pthread_mutex_lock(&self->lock);
  void** root = &self->devices[device].allocations;
  cuda_allocation_t** found = tfind(&key, root, by_address);
  cuda_allocation_t* entry = found ? *found : NULL;
  if (entry != NULL) tdelete(&key, root, by_address);
  pthread_mutex_unlock(&self->lock);
  free(entry);
  return entry != NULL;
}

static void free_entry(void* node) {
  cuda_allocation_t* entry = node;
  if (entry->kind == CUDA_DEVICE_MEMORY) {
    cuda_driver()->mem_free(entry->address);
  } else {
    cuda_driver()->mem_free_host((void*)(uintptr_t)entry->address);
  }
  free(entry);
}

void cuda_free_all(cuda_device_t* device, bool entered) {
  tdestroy(device->allocations, entered ? free_entry : free);
  device->allocations = NULL;
}

tbk_status_t cuda_memory_alloc(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                               tbk_memory_t* out_memory, tbk_error_t* error) {
  if (out_memory == NULL) return cuda_fail(error, TBK_INVALID, "out_memory is NULL");
  tbk_status_t status = cuda_enter(self, device, error);
  if (status != TBK_OK) return status;
  cu_deviceptr pointer = 0;
  cu_result result = CU_OK;
  if (size_bytes > SIZE_MAX / 2) {
    result = CU_OUT_OF_MEMORY; /* the driver calls such sizes invalid */
  } else if (size_bytes > 0) {
    result = cuda_mem_alloc(&self->devices[device], size_bytes, &pointer);
  }
  if (pointer != 0 && !cuda_remember(self, device, CUDA_DEVICE_MEMORY, pointer)) {
    cuda_driver()->mem_free(pointer);
    result = CU_OUT_OF_MEMORY;
  }
  status = cuda_leave(self, device, result, "allocating memory", error);
  if (status == TBK_OK) *out_memory = pointer;
  return status;
}

tbk_status_t cuda_memory_free(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                              tbk_error_t* error) {
  cuda_count(self);
  if (device < 0 || device >= self->device_count) {
    return cuda_fail(error, TBK_INVALID, "there is no device %d", device);
  }
  /* What close has freed is not known any more: giving it back is a no-op. */
  if (memory == 0 || !cuda_forget(self, device, memory)) return TBK_OK;
  tbk_status_t status = cuda_enter(self, device, error);
  if (status == TBK_DEVICE_LOST) return TBK_OK;
  if (status != TBK_OK) {
    (void)cuda_remember(self, device, CUDA_DEVICE_MEMORY, memory); /* for close */
    return status;
  }
  return cuda_leave(self, device, cuda_driver()->mem_free(memory), "freeing memory", error);
}

tbk_status_t cuda_upload(tbk_instance_t* self, int32_t device, tbk_memory_t memory, uint64_t offset,
                         const void* source, uint64_t size_bytes, tbk_stream_t* stream,
                         tbk_error_t* error) {
  cu_stream queue;
  tbk_status_t status = cuda_begin(self, device, stream, &queue, error);
  if (status != TBK_OK) return status;
  cu_result result =
      size_bytes ? cuda_driver()->copy_h2d(memory + offset, source, size_bytes, queue) : CU_OK;
  return cuda_end(self, device, stream, result, "uploading", error);
}

tbk_status_t cuda_download(tbk_instance_t* self, int32_t device, void* destination,
                           tbk_memory_t memory, uint64_t offset, uint64_t size_bytes,
                           tbk_stream_t* stream, tbk_error_t* error) {
  cu_stream queue;
  tbk_status_t status = cuda_begin(self, device, stream, &queue, error);
  if (status != TBK_OK) return status;
  cu_result result =
      size_bytes ? cuda_driver()->copy_d2h(destination, memory + offset, size_bytes, queue) : CU_OK;
  return cuda_end(self, device, stream, result, "downloading", error);
}

tbk_status_t cuda_copy(tbk_instance_t* self, int32_t device, tbk_memory_t destination,
                       uint64_t destination_offset, tbk_memory_t source, uint64_t source_offset,
                       uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error) {
  cu_stream queue;
  tbk_status_t status = cuda_begin(self, device, stream, &queue, error);
  if (status != TBK_OK) return status;
  cu_result result = size_bytes ? cuda_driver()->copy_d2d(destination + destination_offset,
                                                          source + source_offset, size_bytes, queue)
                                : CU_OK;
  return cuda_end(self, device, stream, result, "copying", error);
}

tbk_status_t cuda_fill(tbk_instance_t* self, int32_t device, tbk_memory_t memory, uint64_t offset,
                       uint8_t value, uint64_t size_bytes, tbk_stream_t* stream,
                       tbk_error_t* error) {
  cu_stream queue;
  tbk_status_t status = cuda_begin(self, device, stream, &queue, error);
  if (status != TBK_OK) return status;
  cu_result result =
      size_bytes ? cuda_driver()->fill(memory + offset, value, size_bytes, queue) : CU_OK;
  return cuda_end(self, device, stream, result, "filling", error);
}

tbk_status_t cuda_memory_info(tbk_instance_t* self, int32_t device, uint64_t* out_free_bytes,
                              uint64_t* out_total_bytes, tbk_error_t* error) {
  if (out_free_bytes == NULL || out_total_bytes == NULL) {
    return cuda_fail(error, TBK_INVALID, "out_free_bytes or out_total_bytes is NULL");
  }
  tbk_status_t status = cuda_enter(self, device, error);
  if (status != TBK_OK) return status;
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  cu_result result = cuda_driver()->mem_get_info(&free_bytes, &total_bytes);
  status = cuda_leave(self, device, result, "asking for memory", error);
  if (status != TBK_OK) return status;
  *out_free_bytes = free_bytes;
  *out_total_bytes = total_bytes;
  return TBK_OK;
}
