/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.c: allocation, copies and fills. Addresses are the driver's own, so they are flat.
 */
#include "memory.h"

static void free_memory(uint64_t address) {
  cuda_driver()->mem_free(address);
}

static void free_pinned(uint64_t address) {
  cuda_driver()->mem_free_host((void*)(uintptr_t)address);
}

void cuda_free_all(cuda_device_t* device, bool entered) {
  address_end_all(&device->memory, entered ? free_memory : NULL);
  address_end_all(&device->pinned, entered ? free_pinned : NULL);
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
  if (pointer != 0 &&
      !address_add(&self->lock, &self->devices[device].memory, pointer, size_bytes)) {
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
  void** all = &self->devices[device].memory;
  if (memory == 0 || !address_remove(&self->lock, all, memory)) return TBK_OK;
  tbk_status_t status = cuda_enter(self, device, error);
  if (status == TBK_DEVICE_LOST) return TBK_OK;
  if (status != TBK_OK) {
    (void)address_add(&self->lock, all, memory, 1); /* for close, which needs its beginning alone */
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
