/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * copy.c: copies and fills.
 */
#include "opencl.h"

/* The buffer behind `handle`; NULL where the range does not lie inside it. */
static cl_mem buffer_at(tbk_memory_t handle, const opencl_device_t* device, uint64_t offset,
                        uint64_t size_bytes) {
  const opencl_memory_t* memory = (const opencl_memory_t*)(uintptr_t)handle;
  if (memory == NULL || memory->device != device || offset > memory->size_bytes) return NULL;
  return size_bytes <= memory->size_bytes - offset ? memory->buffer : NULL;
}

/* opencl_begin, where there is something to do: `out_queue` is NULL where there is not. */
static tbk_status_t begin(tbk_instance_t* self, int32_t index, uint64_t size_bytes,
                          tbk_stream_t* stream, tbk_stream_t** out_queue, tbk_error_t* error) {
  tbk_status_t status = opencl_begin(self, index, stream, out_queue, error);
  if (status != TBK_OK || size_bytes > 0) return status;
  pthread_mutex_unlock(&(*out_queue)->lock);
  *out_queue = NULL;
  return status;
}

static tbk_status_t refuse(tbk_stream_t* queue, tbk_error_t* error) {
  pthread_mutex_unlock(&queue->lock);
  return opencl_fail(error, TBK_INVALID, "the range does not lie inside memory of device %d",
                     queue->device->index);
}

tbk_status_t opencl_upload(tbk_instance_t* self, int32_t index, tbk_memory_t memory,
                           uint64_t offset, const void* source, uint64_t size_bytes,
                           tbk_stream_t* stream, tbk_error_t* error) {
  tbk_stream_t* queue;
  tbk_status_t status = begin(self, index, size_bytes, stream, &queue, error);
  if (status != TBK_OK || queue == NULL) return status;
  cl_mem buffer = buffer_at(memory, queue->device, offset, size_bytes);
  if (buffer == NULL || source == NULL) return refuse(queue, error);
  cl_event event = NULL;
  cl_int result = self->driver.clEnqueueWriteBuffer(queue->queue, buffer, 0, offset, size_bytes,
                                                    source, 0, NULL, &event);
  return opencl_end(queue, stream, result, event, "uploading", error);
}

tbk_status_t opencl_download(tbk_instance_t* self, int32_t index, void* destination,
                             tbk_memory_t memory, uint64_t offset, uint64_t size_bytes,
                             tbk_stream_t* stream, tbk_error_t* error) {
  tbk_stream_t* queue;
  tbk_status_t status = begin(self, index, size_bytes, stream, &queue, error);
  if (status != TBK_OK || queue == NULL) return status;
  cl_mem buffer = buffer_at(memory, queue->device, offset, size_bytes);
  if (buffer == NULL || destination == NULL) return refuse(queue, error);
  cl_event event = NULL;
  cl_int result = self->driver.clEnqueueReadBuffer(queue->queue, buffer, 0, offset, size_bytes,
                                                   destination, 0, NULL, &event);
  return opencl_end(queue, stream, result, event, "downloading", error);
}

tbk_status_t opencl_copy(tbk_instance_t* self, int32_t index, tbk_memory_t destination,
                         uint64_t destination_offset, tbk_memory_t source, uint64_t source_offset,
                         uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error) {
  tbk_stream_t* queue;
  tbk_status_t status = begin(self, index, size_bytes, stream, &queue, error);
  if (status != TBK_OK || queue == NULL) return status;
  cl_mem to = buffer_at(destination, queue->device, destination_offset, size_bytes);
  cl_mem from = buffer_at(source, queue->device, source_offset, size_bytes);
  if (to == NULL || from == NULL) return refuse(queue, error);
  cl_event event = NULL;
  cl_int result = self->driver.clEnqueueCopyBuffer(queue->queue, from, to, source_offset,
                                                   destination_offset, size_bytes, 0, NULL, &event);
  return opencl_end(queue, stream, result, event, "copying", error);
}

tbk_status_t opencl_fill(tbk_instance_t* self, int32_t index, tbk_memory_t memory, uint64_t offset,
                         uint8_t value, uint64_t size_bytes, tbk_stream_t* stream,
                         tbk_error_t* error) {
  tbk_stream_t* queue;
  tbk_status_t status = begin(self, index, size_bytes, stream, &queue, error);
  if (status != TBK_OK || queue == NULL) return status;
  cl_mem buffer = buffer_at(memory, queue->device, offset, size_bytes);
  if (buffer == NULL) return refuse(queue, error);
  cl_event event = NULL;
  cl_int result = self->driver.clEnqueueFillBuffer(queue->queue, buffer, &value, 1, offset,
                                                   size_bytes, 0, NULL, &event);
  return opencl_end(queue, stream, result, event, "filling", error);
}
