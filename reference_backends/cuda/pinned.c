/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pinned.c: page-locked host memory, and copies between devices.
 */
#include "cuda.h"

static tbk_status_t pinned_alloc(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                                 void** out_pointer, tbk_error_t* error) {
  if (out_pointer == NULL) return cuda_fail(error, TBK_INVALID, "out_pointer is NULL");
  tbk_status_t status = cuda_enter(self, device, error);
  if (status != TBK_OK) return status;
  void* pointer = NULL;
  cu_result result = CU_OK;
  if (size_bytes > SIZE_MAX / 2) {
    result = CU_OUT_OF_MEMORY;
  } else if (size_bytes > 0) {
    result = cuda_driver()->mem_host_alloc(&pointer, size_bytes, CU_HOST_ALLOC_PORTABLE);
  }
  if (pointer != NULL &&
      !address_add(&self->lock, &self->devices[device].pinned, (uintptr_t)pointer, size_bytes)) {
    cuda_driver()->mem_free_host(pointer);
    result = CU_OUT_OF_MEMORY;
  }
  status = cuda_leave(self, device, result, "allocating pinned memory", error);
  if (status == TBK_OK) *out_pointer = pointer;
  return status;
}

static void pinned_free(tbk_instance_t* self, void* pointer) {
  if (pointer == NULL) return;
  for (int32_t device = 0; device < self->device_count; device++) {
    void** all = &self->devices[device].pinned;
    if (!address_remove(&self->lock, all, (uintptr_t)pointer)) continue;
    tbk_error_t error = {""};
    tbk_status_t status = cuda_enter(self, device, &error);
    if (status == TBK_OK) {
      cu_result result = cuda_driver()->mem_free_host(pointer);
      status = cuda_leave(self, device, result, "freeing pinned memory", &error);
    } else {
      (void)address_add(&self->lock, all, (uintptr_t)pointer, 1); /* for close, as memory_free */
    }
    driver_tell(&self->host, status, &error);
    return;
  }
}

const tbk_pinned_ops_t cuda_pinned_ops = {
    .struct_size = sizeof(tbk_pinned_ops_t),
    .pinned_alloc = pinned_alloc,
    .pinned_free = pinned_free,
};

static tbk_status_t peer_can_access(tbk_instance_t* self, int32_t device, int32_t peer,
                                    int32_t* out_can, tbk_error_t* error) {
  cuda_count(self);
  if (device < 0 || device >= self->device_count || peer < 0 || peer >= self->device_count ||
      out_can == NULL) {
    return cuda_fail(error, TBK_INVALID, "no device %d or %d, or out_can is NULL", device, peer);
  }
  int can = 0;
  bool given = self->devices[device].handle >= 0 && self->devices[peer].handle >= 0;
  if (device != peer && given && !cuda_driver_is_forked()) {
    cu_result result = cuda_driver()->device_can_access_peer(&can, self->devices[device].handle,
                                                             self->devices[peer].handle);
    if (result != CU_OK) can = 0;
  }
  *out_can = can != 0;
  return TBK_OK;
}

static tbk_status_t peer_copy(tbk_instance_t* self, int32_t destination_device,
                              tbk_memory_t destination, uint64_t destination_offset,
                              int32_t source_device, tbk_memory_t source, uint64_t source_offset,
                              uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error) {
  cuda_count(self);
  bool exists = destination_device >= 0 && destination_device < self->device_count;
  pthread_mutex_lock(&self->lock);
  cu_context destination_context = exists ? self->devices[destination_device].context : NULL;
  pthread_mutex_unlock(&self->lock);
  if (destination_context == NULL) {
    return cuda_fail(error, TBK_INVALID_STATE, "device %d is not open", destination_device);
  }
  cu_stream queue;
  tbk_status_t status = cuda_begin(self, source_device, stream, &queue, error);
  if (status != TBK_OK) return status;
  cu_result result = CU_OK;
  if (size_bytes > 0) {
    result = cuda_driver()->copy_peer(destination + destination_offset, destination_context,
                                      source + source_offset, self->devices[source_device].context,
                                      size_bytes, queue);
  }
  return cuda_end(self, source_device, stream, result, "copying between devices", error);
}

const tbk_peer_ops_t cuda_peer_ops = {
    .struct_size = sizeof(tbk_peer_ops_t),
    .peer_can_access = peer_can_access,
    .peer_copy = peer_copy,
};
