/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * async_memory.c: memory in the order of a stream, from the driver's pool of the device or kept.
 */
#include "cuda.h"

/* Where there are no pools, kept.c knows all that it gave. */
static bool remember(tbk_instance_t* self, int32_t device, cu_deviceptr pointer) {
  return !self->devices[device].pools ||
         address_add(&self->lock, &self->devices[device].memory, pointer, 1);
}

static bool forget(tbk_instance_t* self, int32_t device, cu_deviceptr pointer) {
  return !self->devices[device].pools ||
         address_remove(&self->lock, &self->devices[device].memory, pointer);
}

static tbk_status_t async_alloc(tbk_instance_t* self, tbk_stream_t* stream, uint64_t size_bytes,
                                tbk_memory_t* out_memory, tbk_error_t* error) {
  if (stream == NULL || out_memory == NULL)
    return cuda_fail(error, TBK_INVALID, "stream or out_memory is NULL");
  cu_stream queue;
  cu_deviceptr pointer = 0;
  cu_result result = CU_OK;
  const int32_t device = stream->handle.device;
  tbk_status_t status = cuda_begin(self, device, stream, &queue, error);
  if (status != TBK_OK) return status;
  if (size_bytes > SIZE_MAX / 2) {
    result = CU_OUT_OF_MEMORY; /* the driver calls such sizes invalid */
  } else if (size_bytes > 0) {
    result = cuda_take(&self->devices[device], queue, size_bytes, &pointer);
  }
  if (result == CU_OK && pointer != 0 && !remember(self, device, pointer)) {
    (void)cuda_give(&self->devices[device], queue, pointer);
    result = CU_OUT_OF_MEMORY;
  }
  status = cuda_leave(self, device, result, "allocating memory", error);
  if (status == TBK_OK) *out_memory = pointer;
  return status;
}

static tbk_status_t async_free(tbk_instance_t* self, tbk_stream_t* stream, tbk_memory_t memory,
                               tbk_error_t* error) {
  if (stream == NULL) return cuda_fail(error, TBK_INVALID, "stream is NULL");
  cu_stream queue;
  const int32_t device = stream->handle.device;
  tbk_status_t status = cuda_begin(self, device, stream, &queue, error);
  if (status == TBK_DEVICE_LOST) return TBK_OK; /* it goes with the context */
  if (status != TBK_OK) return status;
  cu_result result = CU_OK;
  if (memory != 0 && forget(self, device, memory)) {
    result = cuda_give(&self->devices[device], queue, memory);
    if (result != CU_OK) (void)remember(self, device, memory);
  }
  return cuda_leave(self, device, result, "freeing memory", error);
}

const tbk_async_memory_ops_t cuda_async_memory_ops = {sizeof cuda_async_memory_ops, async_alloc,
                                                      async_free};
