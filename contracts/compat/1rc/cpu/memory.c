/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * memory.c: blocks of memory, also of the host, of streams, and copied from device to device.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu.h"

static uint64_t host_bytes(void) {
  return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

tbk_status_t cpu_allocate(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                          tbk_memory_t* out_memory, tbk_error_t* error) {
  cpu_block_t* block = NULL;
  pthread_mutex_lock(&self->lock);
  const uint64_t left =
      device < 0 ? host_bytes() : CPU_MEMORY_BYTES - self->devices[device].used_bytes;
  if (size_bytes <= left)
    block = aligned_alloc(CPU_ALIGNMENT, sizeof *block + (size_bytes | (CPU_ALIGNMENT - 1)) + 1);
  if (block) {
    if (device >= 0) self->devices[device].used_bytes += size_bytes;
    block->size_bytes = size_bytes;
    block->device = device;
    LIST_INSERT_HEAD(&self->blocks, block, entry);
    *out_memory = (uintptr_t)(block + 1);
  }
  pthread_mutex_unlock(&self->lock);
  return block ? TBK_OK : cpu_fail(TBK_OUT_OF_MEMORY, error, "the memory is exhausted");
}

void cpu_free(tbk_instance_t* self, tbk_memory_t memory) {
  cpu_block_t* block = (cpu_block_t*)(uintptr_t)memory - 1;
  pthread_mutex_lock(&self->lock);
  if (block->device >= 0) self->devices[block->device].used_bytes -= block->size_bytes;
  LIST_REMOVE(block, entry);
  pthread_mutex_unlock(&self->lock);
  free(block);
}

/* ------------------------------------------------------------------------------------- pinned -- */

static tbk_status_t pinned_alloc(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                                 void** out_pointer, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, device, error);
  if (status != TBK_OK) return status;
  if (!out_pointer) return cpu_fail(TBK_INVALID, error, "out_pointer is NULL");
  tbk_memory_t memory = 0;
  status = cpu_allocate(self, -1, size_bytes, &memory, error);
  if (status == TBK_OK) *out_pointer = (void*)(uintptr_t)memory;
  return status;
}

static void pinned_free(tbk_instance_t* self, void* pointer) {
  if (pointer) cpu_free(self, (uintptr_t)pointer);
}

const tbk_pinned_ops_t cpu_pinned_ops = {sizeof cpu_pinned_ops, pinned_alloc, pinned_free};

/* --------------------------------------------------------------------- in the order of a stream -- */

static tbk_status_t enter_stream(tbk_instance_t* self, const tbk_stream_t* stream,
                                 tbk_error_t* error) {
  if (!stream) return cpu_fail(TBK_INVALID, error, "stream is NULL");
  pthread_mutex_lock(&self->lock);
  const tbk_status_t status = cpu_enter_stream(stream, error);
  pthread_mutex_unlock(&self->lock);
  return status;
}

static tbk_status_t async_alloc(tbk_instance_t* self, tbk_stream_t* stream, uint64_t size_bytes,
                                tbk_memory_t* out_memory, tbk_error_t* error) {
  if (!out_memory) return cpu_fail(TBK_INVALID, error, "out_memory is NULL");
  const tbk_status_t status = enter_stream(self, stream, error);
  if (status != TBK_OK) return status;
  return cpu_allocate(self, stream->device, size_bytes, out_memory, error);
}

static void run_free(tbk_stream_t* stream, void* payload) {
  cpu_free(stream->instance, *(const tbk_memory_t*)payload);
}

static tbk_status_t async_free(tbk_instance_t* self, tbk_stream_t* stream, tbk_memory_t memory,
                               tbk_error_t* error) {
  const tbk_status_t status = enter_stream(self, stream, error);
  if (status == TBK_DEVICE_LOST) return TBK_OK;
  if (status != TBK_OK || memory == 0) return status;
  return cpu_submit_always(self, stream, run_free, &memory, sizeof memory, error);
}

const tbk_async_memory_ops_t cpu_async_memory_ops = {sizeof cpu_async_memory_ops, async_alloc,
                                                     async_free};

/* --------------------------------------------------------------------- from device to device -- */

static tbk_status_t peer_can_access(tbk_instance_t* self, int32_t device, int32_t peer,
                                    int32_t* out_can, tbk_error_t* error) {
  (void)self;
  if (device < 0 || device >= CPU_DEVICES || peer < 0 || peer >= CPU_DEVICES || !out_can)
    return cpu_fail(TBK_INVALID, error, "no such device, or out_can is NULL");
  *out_can = device != peer;
  return TBK_OK;
}

static tbk_status_t peer_copy(tbk_instance_t* self, int32_t destination_device,
                              tbk_memory_t destination, uint64_t destination_offset,
                              int32_t source_device, tbk_memory_t source, uint64_t source_offset,
                              uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error) {
  const tbk_status_t status = cpu_enter(self, destination_device, error);
  if (status != TBK_OK) return status;
  /* All memory is the host's: to its owner it is a copy like any other. */
  const tbk_core_t* core = self->backend.core;
  return core->copy(self, source_device, destination, destination_offset, source, source_offset,
                    size_bytes, stream, error);
}

const tbk_peer_ops_t cpu_peer_ops = {sizeof cpu_peer_ops, peer_can_access, peer_copy};
