/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.c: allocation, copies and fills. Addresses are the driver's own, so they are flat.
 */
#include "npu.h"

static void free_memory(uint64_t address) {
  npu_acl()->free((void*)(uintptr_t)address);
}

static void free_pinned(uint64_t address) {
  npu_acl()->free_host((void*)(uintptr_t)address);
}

void npu_free_all(npu_device_t* device, bool entered) {
  address_end_all(&device->memory, entered ? free_memory : NULL);
  address_end_all(&device->pinned, entered ? free_pinned : NULL);
}

/* The driver's own allocator adds 32 bytes (D 0095); where it does not, they have to be asked for. */
acl_result npu_malloc(void** out_pointer, uint64_t size_bytes) {
  *out_pointer = NULL;
  if (size_bytes > SIZE_MAX / 2) return ACL_DEVICE_OOM;
  if (npu_acl()->malloc_align32 == NULL)
    return npu_acl()->malloc_padded(out_pointer, size_bytes, ACL_MALLOC_HUGE_FIRST);
  const uint64_t padded = (size_bytes + 31) / 32 * 32 + 32;
  return npu_acl()->malloc_align32(out_pointer, padded, ACL_MALLOC_HUGE_FIRST);
}

static void* address(tbk_memory_t memory, uint64_t offset) {
  return (void*)(uintptr_t)(memory + offset);
}

static tbk_status_t memory_alloc(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                                 tbk_memory_t* out_memory, tbk_error_t* error) {
  npu_entry_t entry;
  void* pointer = NULL;
  if (out_memory == NULL) return npu_fail(error, TBK_INVALID, "out_memory is NULL");
  tbk_status_t status = npu_enter(self, device, &entry, error);
  if (status != TBK_OK) return status;
  acl_result result = size_bytes > 0 ? npu_malloc(&pointer, size_bytes) : ACL_OK;
  if (result == ACL_OK && pointer != NULL &&
      !address_add(&self->lock, &self->devices[device].memory, (uintptr_t)pointer, size_bytes)) {
    npu_acl()->free(pointer);
    result = ACL_BAD_ALLOC;
  }
  status = npu_leave(self, device, &entry, result, "allocating memory", error);
  if (status == TBK_OK) *out_memory = (uintptr_t)pointer;
  return status;
}

static tbk_status_t memory_free(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                                tbk_error_t* error) {
  npu_entry_t entry;
  npu_count(self);
  if (device < 0 || device >= self->device_count)
    return npu_fail(error, TBK_INVALID, "there is no device %d", device);
  /* What close has freed is not known any more: giving it back is a no-op. */
  void** all = &self->devices[device].memory;
  if (memory == 0 || !address_remove(&self->lock, all, memory)) return TBK_OK;
  tbk_status_t status = npu_enter(self, device, &entry, error);
  if (status == TBK_DEVICE_LOST) return TBK_OK;
  if (status != TBK_OK) { /* for close, which needs its beginning alone */
    (void)address_add(&self->lock, all, memory, 1);
    return status;
  }
  acl_result result = npu_acl()->free(address(memory, 0));
  return npu_leave(self, device, &entry, result, "freeing memory", error);
}

/* By whichever device. */
static bool is_pinned(tbk_instance_t* self, const void* pointer, uint64_t size_bytes) {
  bool inside = false;
  for (int32_t i = 0; i < self->device_count && !inside; i++)
    inside = address_covers(&self->lock, &self->devices[i].pinned, (uintptr_t)pointer, size_bytes);
  return inside;
}

/* A host function takes a download's bytes out: not where the driver has none, nor on a stream of somebody
 * else's, who may have chosen the other style of callbacks (D 1959). */
static bool can_bounce(const tbk_stream_t* stream, int kind) {
  return kind == ACL_HOST_TO_DEVICE ||
         (npu_acl()->launch_host_function != NULL && !stream->borrowed);
}

/* With a stream a copy is asynchronous only where the host's memory is pinned: with other memory, drivers
 * before CANN 8.5 fail unpredictably (D 0106). So that goes by way of pinned blocks, and where it cannot, the
 * stream is waited for. Nothing of another thread comes between. Without a stream a copy is ordered after
 * nothing. */
acl_result npu_transfer(npu_device_t* device, tbk_stream_t* stream, bool direct,
                        const npu_copy_t* copy) {
  const acl_runtime_t* acl = npu_acl();
  const uint64_t size = copy->size_bytes;
  uint64_t done = 0;
  acl_result result = ACL_OK;
  if (size == 0) return ACL_OK;
  if (stream == NULL) return acl->copy(copy->destination, size, copy->source, size, copy->kind);
  acl_stream native = stream->handle.native;
  pthread_mutex_lock(&stream->queue.lock);
  if (direct) {
    result = acl->copy_async(copy->destination, size, copy->source, size, copy->kind, native);
    done = size;
  } else if (can_bounce(stream, copy->kind)) {
    result = npu_bounce(&device->pool, copy, native, &done);
  }
  if (result == ACL_OK && done < size) {
    const npu_copy_t rest = npu_part(copy, done, size);
    result = acl->stream_synchronize(native);
    if (result == ACL_OK)
      result =
          acl->copy(rest.destination, rest.size_bytes, rest.source, rest.size_bytes, rest.kind);
  }
  pthread_mutex_unlock(&stream->queue.lock);
  return result;
}

static tbk_status_t move(tbk_instance_t* self, int32_t device, tbk_stream_t* stream,
                         const npu_copy_t* copy, const char* what, tbk_error_t* error) {
  npu_entry_t entry;
  tbk_status_t status = npu_enter_with(self, device, stream, &entry, error);
  if (status != TBK_OK) return status;
  const void* host = copy->kind == ACL_HOST_TO_DEVICE ? copy->source : copy->destination;
  const bool direct = copy->kind == ACL_DEVICE_TO_DEVICE || is_pinned(self, host, copy->size_bytes);
  acl_result result = npu_transfer(&self->devices[device], stream, direct, copy);
  return npu_leave(self, device, &entry, result, what, error);
}

static tbk_status_t upload(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                           uint64_t offset, const void* source, uint64_t size_bytes,
                           tbk_stream_t* stream, tbk_error_t* error) {
  const npu_copy_t copy = {address(memory, offset), source, size_bytes, ACL_HOST_TO_DEVICE};
  return move(self, device, stream, &copy, "uploading", error);
}

static tbk_status_t download(tbk_instance_t* self, int32_t device, void* destination,
                             tbk_memory_t memory, uint64_t offset, uint64_t size_bytes,
                             tbk_stream_t* stream, tbk_error_t* error) {
  const npu_copy_t copy = {destination, address(memory, offset), size_bytes, ACL_DEVICE_TO_HOST};
  return move(self, device, stream, &copy, "downloading", error);
}

static tbk_status_t copy_inside(tbk_instance_t* self, int32_t device, tbk_memory_t destination,
                                uint64_t destination_offset, tbk_memory_t source,
                                uint64_t source_offset, uint64_t size_bytes, tbk_stream_t* stream,
                                tbk_error_t* error) {
  const npu_copy_t copy = {address(destination, destination_offset), address(source, source_offset),
                           size_bytes, ACL_DEVICE_TO_DEVICE};
  return move(self, device, stream, &copy, "copying", error);
}

static acl_result set_bytes(tbk_stream_t* stream, void* pointer, uint8_t value, uint64_t size) {
  if (size == 0) return ACL_OK;
  if (stream == NULL) return npu_acl()->fill(pointer, size, value, size);
  pthread_mutex_lock(&stream->queue.lock);
  acl_result result = npu_acl()->fill_async(pointer, size, value, size, stream->handle.native);
  pthread_mutex_unlock(&stream->queue.lock);
  return result;
}

static tbk_status_t fill(tbk_instance_t* self, int32_t device, tbk_memory_t memory, uint64_t offset,
                         uint8_t value, uint64_t size_bytes, tbk_stream_t* stream,
                         tbk_error_t* error) {
  npu_entry_t entry;
  tbk_status_t status = npu_enter_with(self, device, stream, &entry, error);
  if (status != TBK_OK) return status;
  acl_result result = set_bytes(stream, address(memory, offset), value, size_bytes);
  return npu_leave(self, device, &entry, result, "filling", error);
}

static tbk_status_t memory_info(tbk_instance_t* self, int32_t device, uint64_t* out_free_bytes,
                                uint64_t* out_total_bytes, tbk_error_t* error) {
  npu_entry_t entry;
  size_t free_bytes = 0, total_bytes = 0;
  if (out_free_bytes == NULL || out_total_bytes == NULL)
    return npu_fail(error, TBK_INVALID, "out_free_bytes or out_total_bytes is NULL");
  tbk_status_t status = npu_enter(self, device, &entry, error);
  if (status != TBK_OK) return status;
  acl_result result = npu_acl()->memory_info(ACL_HBM_MEM, &free_bytes, &total_bytes);
  if (result == ACL_OK && total_bytes == 0) /* a chip without any */
    result = npu_acl()->memory_info(ACL_DDR_MEM, &free_bytes, &total_bytes);
  status = npu_leave(self, device, &entry, result, "asking for memory", error);
  if (status != TBK_OK) return status;
  *out_free_bytes = free_bytes;
  *out_total_bytes = total_bytes;
  return TBK_OK;
}

const tbk_core_t npu_core = {
    .struct_size = sizeof(tbk_core_t),
    .destroy = npu_destroy,
    .device_count = npu_device_count,
    .device_properties = npu_device_properties,
    .device_open = npu_device_open,
    .device_close = npu_device_close,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .upload = upload,
    .download = download,
    .copy = copy_inside,
    .fill = fill,
    .memory_info = memory_info,
};
