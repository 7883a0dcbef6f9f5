/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pinned.c: page-locked host memory, and copies between devices.
 */
#include <stdlib.h>

#include "npu.h"

static tbk_status_t pinned_alloc(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                                 void** out_pointer, tbk_error_t* error) {
  npu_entry_t entry;
  void* pointer = NULL;
  if (out_pointer == NULL) return npu_fail(error, TBK_INVALID, "out_pointer is NULL");
  tbk_status_t status = npu_enter(self, device, &entry, error);
  if (status != TBK_OK) return status;
  acl_result result = size_bytes > SIZE_MAX / 2 ? ACL_BAD_ALLOC : ACL_OK;
  if (result == ACL_OK && size_bytes > 0) result = npu_acl()->malloc_host(&pointer, size_bytes);
  if (result == ACL_OK && pointer != NULL &&
      !address_add(&self->lock, &self->devices[device].pinned, (uintptr_t)pointer, size_bytes)) {
    npu_acl()->free_host(pointer);
    result = ACL_BAD_ALLOC;
  }
  status = npu_leave(self, device, &entry, result, "allocating pinned memory", error);
  if (status == TBK_OK) *out_pointer = pointer;
  return status;
}

static void pinned_free(tbk_instance_t* self, void* pointer) {
  if (pointer == NULL) return;
  for (int32_t device = 0; device < self->device_count; device++) {
    npu_entry_t entry;
    tbk_error_t error = {""};
    void** all = &self->devices[device].pinned;
    if (!address_remove(&self->lock, all, (uintptr_t)pointer)) continue;
    tbk_status_t status = npu_enter(self, device, &entry, &error);
    if (status == TBK_OK) {
      acl_result result = npu_acl()->free_host(pointer);
      status = npu_leave(self, device, &entry, result, "freeing pinned memory", &error);
    } else { /* for close, which needs its beginning alone */
      (void)address_add(&self->lock, all, (uintptr_t)pointer, 1);
    }
    driver_tell(&self->host, status, &error);
    return;
  }
}

const tbk_pinned_ops_t npu_pinned_ops = {sizeof npu_pinned_ops, pinned_alloc, pinned_free};

static tbk_status_t peer_can_access(tbk_instance_t* self, int32_t device, int32_t peer,
                                    int32_t* out_can, tbk_error_t* error) {
  npu_count(self);
  if (device < 0 || device >= self->device_count || peer < 0 || peer >= self->device_count ||
      out_can == NULL)
    return npu_fail(error, TBK_INVALID, "no device %d or %d, or out_can is NULL", device, peer);
  int32_t can = 0;
  const bool asked = device != peer && !npu_is_forked() && npu_acl()->peer_can_access != NULL;
  if (asked && npu_acl()->peer_can_access(&can, device, peer) != ACL_OK) can = 0;
  *out_can = can != 0;
  return TBK_OK;
}

/* By way of the host, and so only after the stream's earlier work; the context is the source's. */
static acl_result copy_staged(const npu_copy_t* copy, tbk_stream_t* stream,
                              acl_context destination) {
  const acl_runtime_t* acl = npu_acl();
  const uint64_t size = copy->size_bytes;
  npu_entry_t entry;
  void* staged = malloc(size);
  if (staged == NULL) return ACL_BAD_ALLOC;
  if (stream != NULL) pthread_mutex_lock(&stream->queue.lock); /* nothing comes between */
  acl_result result = stream != NULL ? acl->stream_synchronize(stream->handle.native) : ACL_OK;
  if (result == ACL_OK) result = acl->copy(staged, size, copy->source, size, ACL_DEVICE_TO_HOST);
  if (result == ACL_OK) result = npu_context_swap(destination, &entry);
  if (result == ACL_OK) {
    result = acl->copy(copy->destination, size, staged, size, ACL_HOST_TO_DEVICE);
    acl_result back = npu_context_put_back(&entry);
    if (result == ACL_OK) result = back;
  }
  if (stream != NULL) pthread_mutex_unlock(&stream->queue.lock);
  free(staged);
  return result;
}

static acl_context open_context(tbk_instance_t* self, int32_t device) {
  pthread_mutex_lock(&self->lock);
  bool exists = device >= 0 && device < self->device_count;
  acl_context context = exists ? self->devices[device].context : NULL;
  pthread_mutex_unlock(&self->lock);
  return context;
}

static tbk_status_t peer_copy(tbk_instance_t* self, int32_t destination_device,
                              tbk_memory_t destination, uint64_t destination_offset,
                              int32_t source_device, tbk_memory_t source, uint64_t source_offset,
                              uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error) {
  npu_entry_t entry;
  npu_count(self);
  acl_context there = open_context(self, destination_device);
  if (there == NULL)
    return npu_fail(error, TBK_INVALID_STATE, "device %d is not open", destination_device);
  tbk_status_t status = npu_enter_with(self, source_device, stream, &entry, error);
  if (status != TBK_OK) return status;
  const npu_copy_t copy = {(void*)(uintptr_t)(destination + destination_offset),
                           (const void*)(uintptr_t)(source + source_offset), size_bytes,
                           ACL_DEVICE_TO_DEVICE};
  acl_result result = ACL_OK;
  bool reaches = source_device == destination_device;
  npu_device_t* own = &self->devices[source_device];
  if (size_bytes > 0 && !reaches)
    result = npu_context_reach(source_device, own->context, destination_device, there, &reaches);
  if (size_bytes > 0 && result == ACL_OK)
    result = reaches ? npu_transfer(own, stream, true, &copy) : copy_staged(&copy, stream, there);
  return npu_leave(self, source_device, &entry, result, "copying between devices", error);
}

const tbk_peer_ops_t npu_peer_ops = {sizeof npu_peer_ops, peer_can_access, peer_copy};
