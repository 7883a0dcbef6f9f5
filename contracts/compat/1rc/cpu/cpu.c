/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu.c: the instance and its devices.
 */
#include "cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tbk_status_t cpu_fail(tbk_status_t status, tbk_error_t* error, const char* message) {
  if (error) snprintf(error->message, sizeof error->message, "%s", message);
  return status;
}

tbk_status_t cpu_enter(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  pthread_mutex_lock(&self->lock);
  const bool is_there = device >= 0 && device < CPU_DEVICES && self->devices[device].is_open;
  const bool is_lost = is_there && self->devices[device].is_lost;
  pthread_mutex_unlock(&self->lock);
  if (!is_there) return cpu_fail(TBK_INVALID_STATE, error, "the device is not open");
  return is_lost ? cpu_fail(TBK_DEVICE_LOST, error, "the device is lost") : TBK_OK;
}

static tbk_status_t device_count(tbk_instance_t* self, int32_t* out_count, tbk_error_t* error) {
  if (!self || !out_count) return cpu_fail(TBK_INVALID, error, "out_count is NULL");
  *out_count = CPU_DEVICES;
  return TBK_OK;
}

static tbk_status_t device_properties(tbk_instance_t* self, int32_t device,
                                      tbk_device_properties_t* out, tbk_error_t* error) {
  (void)self;
  if (device < 0 || device >= CPU_DEVICES) return cpu_fail(TBK_INVALID, error, "no such device");
  if (!out || out->struct_size < sizeof(size_t))
    return cpu_fail(TBK_INVALID, error, "no struct_size");
  const tbk_device_properties_t all = {.struct_size = out->struct_size,
                                       .name = "threads of the host",
                                       .flags = TBK_DEVICE_FLAT_ADDRESS | TBK_DEVICE_HOST_VISIBLE |
                                                TBK_DEVICE_CROSS_DEVICE_WAIT | TBK_DEVICE_PHILOX,
                                       .memory_bytes = CPU_MEMORY_BYTES,
                                       .memory_alignment = CPU_ALIGNMENT,
                                       .copy_granularity = 1,
                                       .dtypes = UINT64_C(1) << TBK_FLOAT32 | UINT64_C(1)
                                                                                  << TBK_BOOL,
                                       .max_rank = 8};
  memcpy(out, &all, out->struct_size < sizeof all ? out->struct_size : sizeof all);
  return TBK_OK;
}

static tbk_status_t device_open(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  if (device < 0 || device >= CPU_DEVICES) return cpu_fail(TBK_INVALID, error, "no such device");
  pthread_mutex_lock(&self->lock);
  cpu_device_t* of = &self->devices[device];
  tbk_status_t status = TBK_OK;
  if (of->is_open)
    status = cpu_fail(TBK_INVALID_STATE, error, "the device is open already");
  else if (of->is_lost)
    status = cpu_fail(TBK_DEVICE_LOST, error, "the device is lost");
  else
    of->is_open = true;
  pthread_mutex_unlock(&self->lock);
  return status;
}

static tbk_status_t device_close(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  const tbk_status_t entered = cpu_enter(self, device, error);
  if (entered == TBK_INVALID_STATE) return entered;
  pthread_mutex_lock(&self->lock);
  const tbk_status_t status = cpu_streams_close(self, device);
  self->devices[device].is_open = false;
  pthread_mutex_unlock(&self->lock);
  return status == TBK_OK ? TBK_OK : cpu_fail(status, error, "earlier work failed");
}

static void destroy(tbk_instance_t* self) {
  pthread_mutex_lock(&self->lock);
  for (int32_t device = 0; device < CPU_DEVICES; device++)
    cpu_streams_close(self, device);
  cpu_streams_reap(self, true);
  pthread_mutex_unlock(&self->lock);
  while (!LIST_EMPTY(&self->events))
    cpu_event_ops.event_destroy(self, LIST_FIRST(&self->events));
  tbk_plan_t* plan;
  while ((plan = LIST_FIRST(&self->plans))) {
    LIST_REMOVE(plan, entry);
    free(plan);
  }
  while (!LIST_EMPTY(&self->blocks))
    cpu_free(self, (uintptr_t)(LIST_FIRST(&self->blocks) + 1));
  pthread_cond_destroy(&self->changed);
  pthread_mutex_destroy(&self->lock);
  free(self);
}

/* ------------------------------------------------------------------------------------- memory -- */

static tbk_status_t memory_alloc(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                                 tbk_memory_t* out_memory, tbk_error_t* error) {
  const tbk_status_t status = cpu_enter(self, device, error);
  if (status != TBK_OK) return status;
  if (!out_memory) return cpu_fail(TBK_INVALID, error, "out_memory is NULL");
  return cpu_allocate(self, device, size_bytes, out_memory, error);
}

static tbk_status_t memory_free(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                                tbk_error_t* error) {
  (void)device; /* the block knows it, also when it is closed or lost */
  (void)error;
  if (memory != 0) cpu_free(self, memory);
  return TBK_OK;
}

static tbk_status_t memory_info(tbk_instance_t* self, int32_t device, uint64_t* out_free_bytes,
                                uint64_t* out_total_bytes, tbk_error_t* error) {
  const tbk_status_t status = cpu_enter(self, device, error);
  if (status != TBK_OK) return status;
  if (!out_free_bytes || !out_total_bytes)
    return cpu_fail(TBK_INVALID, error, "no place for the answer");
  pthread_mutex_lock(&self->lock);
  *out_free_bytes = CPU_MEMORY_BYTES - self->devices[device].used_bytes;
  *out_total_bytes = CPU_MEMORY_BYTES;
  pthread_mutex_unlock(&self->lock);
  return TBK_OK;
}

typedef struct move {
  void* to;
  const void* from;
  size_t size_bytes;
} move_t;

static void run_move(tbk_stream_t* stream, void* payload) {
  (void)stream;
  const move_t* move = payload;
  if (move->size_bytes > 0) memcpy(move->to, move->from, move->size_bytes);
}

static tbk_status_t submit_move(tbk_instance_t* self, int32_t device, uint64_t to, uint64_t from,
                                uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* error) {
  const tbk_status_t status = cpu_enter(self, device, error);
  if (status != TBK_OK) return status;
  const move_t move = {(void*)(uintptr_t)to, (const void*)(uintptr_t)from, size_bytes};
  return cpu_submit(self, device, stream, run_move, &move, sizeof move, error);
}

static tbk_status_t upload(tbk_instance_t* self, int32_t device, tbk_memory_t to, uint64_t offset,
                           const void* from, uint64_t size, tbk_stream_t* stream, tbk_error_t* e) {
  return submit_move(self, device, to + offset, (uintptr_t)from, size, stream, e);
}

static tbk_status_t download(tbk_instance_t* self, int32_t device, void* to, tbk_memory_t from,
                             uint64_t offset, uint64_t size, tbk_stream_t* stream, tbk_error_t* e) {
  return submit_move(self, device, (uintptr_t)to, from + offset, size, stream, e);
}

static tbk_status_t copy(tbk_instance_t* self, int32_t device, tbk_memory_t to, uint64_t to_offset,
                         tbk_memory_t from, uint64_t from_offset, uint64_t size,
                         tbk_stream_t* stream, tbk_error_t* e) {
  return submit_move(self, device, to + to_offset, from + from_offset, size, stream, e);
}

typedef struct set {
  void* to;
  size_t size_bytes;
  uint8_t value;
} set_t;

static void run_set(tbk_stream_t* stream, void* payload) {
  (void)stream;
  const set_t* set = payload;
  if (set->size_bytes > 0) memset(set->to, set->value, set->size_bytes);
}

static tbk_status_t fill(tbk_instance_t* self, int32_t device, tbk_memory_t memory, uint64_t offset,
                         uint8_t value, uint64_t size_bytes, tbk_stream_t* stream, tbk_error_t* e) {
  const tbk_status_t status = cpu_enter(self, device, e);
  if (status != TBK_OK) return status;
  const set_t set = {(void*)(uintptr_t)(memory + offset), size_bytes, value};
  return cpu_submit(self, device, stream, run_set, &set, sizeof set, e);
}

static const tbk_core_t core = {sizeof core, destroy,      device_count, device_properties,
                                device_open, device_close, memory_alloc, memory_free,
                                upload,      download,     copy,         fill,
                                memory_info};

/* ------------------------------------------------------------------------------------ library -- */

static tbk_status_t check_host(const tbk_host_t* host, const tbk_backend_t** out_backend,
                               tbk_error_t* error) {
  if (!host || !out_backend || host->struct_size < offsetof(tbk_host_t, options) + sizeof(char*))
    return cpu_fail(TBK_INVALID, error, "no host, a host cut short, or no place for the backend");
  if (host->abi_version != TBK_ABI_VERSION)
    return cpu_fail(TBK_UNSUPPORTED, error, "the host has another ABI version");
  if (host->options && *host->options) return cpu_fail(TBK_INVALID, error, "no option is known");
  return TBK_OK;
}

tbk_status_t tbk_backend_create(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                tbk_error_t* error) {
  const tbk_status_t status = check_host(host, out_backend, error);
  if (status != TBK_OK) return status;
  tbk_instance_t* self = calloc(1, sizeof *self);
  if (!self) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory");
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->changed, NULL);
  self->backend = (tbk_backend_t){.struct_size = sizeof(tbk_backend_t),
                                  .abi_version = TBK_ABI_VERSION,
                                  .name = "tbk_threads",
                                  .version = "0.1.0",
                                  .core = &core,
                                  .instance = self,
                                  .stream = &cpu_stream_ops,
                                  .event = &cpu_event_ops,
                                  .callback = &cpu_callback_ops,
                                  .pinned = &cpu_pinned_ops,
                                  .peer = &cpu_peer_ops,
                                  .async_memory = &cpu_async_memory_ops,
                                  .kernel = &cpu_kernel_ops,
                                  .random = &cpu_random_ops,
                                  .fault = &cpu_fault_ops};
  *out_backend = &self->backend;
  return TBK_OK;
}
