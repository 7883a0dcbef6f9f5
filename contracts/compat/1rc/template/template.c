/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * template.c: the smallest backend that conforms: the ten mandatory functions, on two devices that
 * are host memory. What it lacks is NULL. Frozen: the one to copy is in reference_backends.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <tbk/tbk.h>

enum { DEVICES = 2, ALIGNMENT = 64, MEMORY_BYTES = 256 << 20 /* of each device */ };

typedef struct block { /* stands in front of the bytes that the caller gets */
  _Alignas(ALIGNMENT) LIST_ENTRY(block) entry;
  uint64_t size_bytes;
} block_t;

struct tbk_instance {
  tbk_backend_t backend;
  pthread_mutex_t lock; /* of all below */
  bool open[DEVICES];
  uint64_t used_bytes[DEVICES];
  LIST_HEAD(, block) blocks; /* not given back yet, whether their device is open or not */
};

static tbk_status_t fail(tbk_status_t status, tbk_error_t* error, const char* message) {
  if (error) snprintf(error->message, sizeof error->message, "%s", message);
  return status;
}

static tbk_status_t device_count(tbk_instance_t* self, int32_t* out_count, tbk_error_t* error) {
  if (!self || !out_count) return fail(TBK_INVALID, error, "out_count is NULL");
  *out_count = DEVICES; /* driver: ask it, without starting it; 0 where it is missing */
  return TBK_OK;
}

static tbk_status_t device_properties(tbk_instance_t* self, int32_t device,
                                      tbk_device_properties_t* out, tbk_error_t* error) {
  if (!self || device < 0 || device >= DEVICES) return fail(TBK_INVALID, error, "no such device");
  if (!out || out->struct_size < sizeof(size_t)) return fail(TBK_INVALID, error, "no struct_size");
  tbk_device_properties_t all = {
      .struct_size = out->struct_size,
      .name = "template on the host",
      .flags = TBK_DEVICE_FLAT_ADDRESS | TBK_DEVICE_HOST_VISIBLE, /* driver: rarely the second */
      .memory_bytes = MEMORY_BYTES,
      .memory_alignment = ALIGNMENT,
      .copy_granularity = 1,
      .max_rank = 8};
  memcpy(out, &all, out->struct_size < sizeof all ? out->struct_size : sizeof all);
  return TBK_OK;
}

/* Demands that the device is open, or is not; and leaves it so, or changes it. */
static tbk_status_t pass(tbk_instance_t* self, int32_t device, bool is, bool becomes,
                         tbk_error_t* error) {
  pthread_mutex_lock(&self->lock);
  bool right = device >= 0 && device < DEVICES && self->open[device] == is;
  if (right) self->open[device] = becomes;
  pthread_mutex_unlock(&self->lock);
  return right ? TBK_OK : fail(TBK_INVALID_STATE, error, is ? "not open" : "open already");
}

static tbk_status_t device_open(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  if (device < 0 || device >= DEVICES) return fail(TBK_INVALID, error, "no such device");
  return pass(self, device, false, true, error); /* driver: start it, make a context */
}

static tbk_status_t device_close(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  return pass(self, device, true, false, error); /* driver: wait for all work, end the context */
}

static tbk_status_t memory_alloc(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                                 tbk_memory_t* out_memory, tbk_error_t* error) {
  tbk_status_t status = pass(self, device, true, true, error);
  if (status == TBK_OK && !out_memory) status = fail(TBK_INVALID, error, "out_memory is NULL");
  if (status != TBK_OK) return status;
  block_t* block = NULL;
  pthread_mutex_lock(&self->lock);
  if (size_bytes <= MEMORY_BYTES - self->used_bytes[device]) /* driver: allocate */
    block = aligned_alloc(ALIGNMENT, sizeof *block + (size_bytes | (ALIGNMENT - 1)) + 1);
  if (block) {
    self->used_bytes[device] += block->size_bytes = size_bytes;
    LIST_INSERT_HEAD(&self->blocks, block, entry);
    *out_memory = (uintptr_t)(block + 1);
  }
  pthread_mutex_unlock(&self->lock);
  return block ? TBK_OK : fail(TBK_OUT_OF_MEMORY, error, "the device's memory is exhausted");
}

static tbk_status_t memory_free(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                                tbk_error_t* error) {
  (void)error; /* what is left of a closed device's memory can be given back too */
  if (memory == 0) return TBK_OK;
  block_t* block = (block_t*)(uintptr_t)memory - 1;
  pthread_mutex_lock(&self->lock);
  self->used_bytes[device] -= block->size_bytes;
  LIST_REMOVE(block, entry);
  pthread_mutex_unlock(&self->lock);
  free(block); /* driver: free */
  return TBK_OK;
}

/* driver: its copy. Without a stream table `stream` is always NULL: be complete on return. */
static tbk_status_t move(tbk_instance_t* self, int32_t device, uint64_t to, uint64_t from,
                         uint64_t size, tbk_stream_t* stream, tbk_error_t* error) {
  tbk_status_t status = pass(self, device, true, true, error);
  if (status == TBK_OK && stream) status = fail(TBK_INVALID, error, "there are no streams");
  if (status == TBK_OK && size) memcpy((void*)(uintptr_t)to, (const void*)(uintptr_t)from, size);
  return status;
}

static tbk_status_t upload(tbk_instance_t* self, int32_t device, tbk_memory_t to, uint64_t offset,
                           const void* from, uint64_t size, tbk_stream_t* stream, tbk_error_t* e) {
  return move(self, device, to + offset, (uintptr_t)from, size, stream, e);
}
static tbk_status_t download(tbk_instance_t* self, int32_t device, void* to, tbk_memory_t from,
                             uint64_t offset, uint64_t size, tbk_stream_t* stream, tbk_error_t* e) {
  return move(self, device, (uintptr_t)to, from + offset, size, stream, e);
}
static tbk_status_t copy(tbk_instance_t* self, int32_t device, tbk_memory_t to, uint64_t to_offset,
                         tbk_memory_t from, uint64_t from_offset, uint64_t size, tbk_stream_t* s,
                         tbk_error_t* e) {
  return move(self, device, to + to_offset, from + from_offset, size, s, e);
}

static void destroy(tbk_instance_t* self) {
  while (!LIST_EMPTY(&self->blocks))
    memory_free(self, 0, (uintptr_t)(LIST_FIRST(&self->blocks) + 1), NULL);
  free(self);
}

static const tbk_core_t core = {sizeof core, destroy,      device_count, device_properties,
                                device_open, device_close, memory_alloc, memory_free,
                                upload,      download,     copy,         NULL,
                                NULL};

tbk_status_t tbk_backend_create(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                tbk_error_t* error) {
  if (!host || !out_backend || host->struct_size < offsetof(tbk_host_t, options) + sizeof(char*))
    return fail(TBK_INVALID, error, "no host, a host cut short, or no place for the backend");
  if (host->abi_version != TBK_ABI_VERSION) return fail(TBK_UNSUPPORTED, error, "ABI version");
  if (host->options && *host->options) return fail(TBK_INVALID, error, "no option is known");
  tbk_instance_t* self = calloc(1, sizeof *self); /* also all optional tables: NULL */
  if (!self) return fail(TBK_OUT_OF_MEMORY, error, "no host memory");
  pthread_mutex_init(&self->lock, NULL);
  self->backend = (tbk_backend_t){.struct_size = sizeof(tbk_backend_t),
                                  .abi_version = TBK_ABI_VERSION,
                                  .name = "tbk_template",
                                  .version = "0.1.0",
                                  .core = &core,
                                  .instance = self};
  *out_backend = &self->backend;
  return TBK_OK;
}
