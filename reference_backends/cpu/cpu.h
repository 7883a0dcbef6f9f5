/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu.h: what the files of the cpu backend share. It is a face of the virtual device (<vdev/...>):
 * what its functions answer is put into the words of tbk.h here, and their arguments are checked.
 *
 * instance->lock guards the lists and caches of the instance alone; nothing waits while it is held.
 */
#ifndef TBK_CPU_H
#define TBK_CPU_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <tbk/dtypes.h>
#include <tbk/tables.h>
#include <tbk/tbk_operators.h>
#include <vdev/event.h>
#include <vdev/words.h>

#include "generic/code.h"

enum { CPU_MAX_RANK = 16 };

typedef struct cpu_options {
  vdev_config_t device;
  uint64_t zero_handle;
  uint64_t granularity;
  uint64_t shape_ms;
} cpu_options_t;

tbk_status_t cpu_options_parse(cpu_options_t* options, const char* text, tbk_error_t* error);

/* What stream_native_handle gives is the stream of the virtual device; several may be of one. */
struct tbk_stream {
  LIST_ENTRY(tbk_stream) entry;
  vdev_stream_t* lane;
};

typedef struct cpu_name {
  char text[32];
} cpu_name_t;

struct tbk_instance {
  tbk_backend_t backend;
  cpu_options_t options;
  vdev_machine_t* machine;
  cpu_name_t* names; /* of the devices */

  pthread_mutex_t lock;
  LIST_HEAD(, tbk_stream) streams;
  LIST_HEAD(, tbk_plan) plans;
  uint64_t* shapes; /* hashes of the launches seen, for shape_ms */
  size_t shape_count;
  code_cache_t programs;
};

tbk_status_t cpu_fail(tbk_status_t status, tbk_error_t* error, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
/* Puts what the virtual device answered into the words of tbk.h. */
tbk_status_t cpu_tell(vdev_status_t status, tbk_error_t* error);

vdev_device_t* cpu_device(tbk_instance_t* self, int32_t device); /* NULL out of range */
/* Of a device that is open. */
vdev_arena_t* cpu_arena(tbk_instance_t* self, int32_t device);
/* What stands for a NULL stream is NULL: at once. */
vdev_stream_t* cpu_lane(tbk_stream_t* stream);

/* Returns OK where the device is open and not lost. */
tbk_status_t cpu_enter(tbk_instance_t* self, int32_t device, tbk_error_t* error);
/* The same, and the stream is NULL or one of this device. */
tbk_status_t cpu_enter_stream(tbk_instance_t* self, int32_t device, tbk_stream_t* stream,
                              tbk_error_t* error);
/* For calls that name a stream and no device. */
tbk_status_t cpu_enter_lane(tbk_stream_t* stream, tbk_error_t* error);

void cpu_streams_free_all(tbk_instance_t* self);
void cpu_plans_destroy_all(tbk_instance_t* self);

/* Table entries, by file. */
tbk_status_t cpu_device_count(tbk_instance_t*, int32_t*, tbk_error_t*);
tbk_status_t cpu_device_properties(tbk_instance_t*, int32_t, tbk_device_properties_t*,
                                   tbk_error_t*);
tbk_status_t cpu_device_open(tbk_instance_t*, int32_t, tbk_error_t*);
tbk_status_t cpu_device_close(tbk_instance_t*, int32_t, tbk_error_t*);
tbk_status_t cpu_memory_alloc(tbk_instance_t*, int32_t, uint64_t, tbk_memory_t*, tbk_error_t*);
tbk_status_t cpu_memory_free(tbk_instance_t*, int32_t, tbk_memory_t, tbk_error_t*);
tbk_status_t cpu_memory_info(tbk_instance_t*, int32_t, uint64_t*, uint64_t*, tbk_error_t*);
tbk_status_t cpu_upload(tbk_instance_t*, int32_t, tbk_memory_t, uint64_t, const void*, uint64_t,
                        tbk_stream_t*, tbk_error_t*);
tbk_status_t cpu_download(tbk_instance_t*, int32_t, void*, tbk_memory_t, uint64_t, uint64_t,
                          tbk_stream_t*, tbk_error_t*);
tbk_status_t cpu_copy(tbk_instance_t*, int32_t, tbk_memory_t, uint64_t, tbk_memory_t, uint64_t,
                      uint64_t, tbk_stream_t*, tbk_error_t*);
tbk_status_t cpu_fill(tbk_instance_t*, int32_t, tbk_memory_t, uint64_t, uint8_t, uint64_t,
                      tbk_stream_t*, tbk_error_t*);
/* Enqueues a copy between two places; NULL is outside of the memory. */
tbk_status_t cpu_submit_copy(void* to, const void* from, uint64_t size_bytes, tbk_stream_t* stream,
                             tbk_error_t* error);
/* cpu_stream_ops, cpu_event_ops, ... */
#define CPU_TABLE(name, type, needs) extern const type cpu_##name##_ops;
TBK_TABLE_MAP(CPU_TABLE)
#undef CPU_TABLE

#endif /* TBK_CPU_H */
