/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu.h: what the files of this backend share: the instance, its devices, streams and points.
 *
 * A stream is a thread with a list of tasks. One lock guards all that is not a task's own, and one
 * condition is signalled whenever something has changed: what waits looks again.
 */
#ifndef CPU_H
#define CPU_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <tbk/tbk.h>
#include <time.h>

enum { CPU_DEVICES = 2, CPU_ALIGNMENT = 64, CPU_MEMORY_BYTES = 256 << 20 /* of each device */ };

/* A place in one stream, or in several; done when all have come by. */
typedef struct cpu_point {
  int references;
  int pending; /* streams that have not come by */
  struct timespec at;
} cpu_point_t;

/* What a stream does next: one of the three, the others NULL; and all of it in one block. */
typedef struct cpu_task {
  STAILQ_ENTRY(cpu_task) entry;
  void (*run)(tbk_stream_t* stream, void* payload);
  cpu_point_t* awaits;
  cpu_point_t* reaches;
  bool always; /* run it also where the device is lost */
  _Alignas(max_align_t) char payload[];
} cpu_task_t;

struct tbk_stream {
  LIST_ENTRY(tbk_stream) entry;
  STAILQ_HEAD(, cpu_task) tasks; /* the first is the one that runs */
  tbk_instance_t* instance;
  int32_t device;
  pthread_t thread;
  bool is_failed; /* and nobody has been told */
  bool is_ending; /* the thread ends when nothing is left to do */
  bool has_ended; /* and can be joined */
  bool is_joined;
  bool is_closed;     /* its device was closed; the handle stays until it is given back */
  bool is_given_back; /* by the host */
};

struct tbk_event {
  LIST_ENTRY(tbk_event) entry;
  int32_t device;
  uint32_t flags;
  cpu_point_t* point; /* what it was last recorded at; NULL before */
};

typedef struct cpu_device {
  bool is_open;
  bool is_lost;   /* until the instance ends */
  bool is_failed; /* work of a stream that is gone */
  uint64_t used_bytes;
} cpu_device_t;

typedef struct cpu_block { /* stands in front of the bytes that the caller gets */
  _Alignas(CPU_ALIGNMENT) LIST_ENTRY(cpu_block) entry;
  uint64_t size_bytes;
  int32_t device; /* -1: pinned memory */
} cpu_block_t;

struct tbk_plan {
  LIST_ENTRY(tbk_plan) entry;
  const tbk_kernel_t* kernel;
};

struct tbk_instance {
  tbk_backend_t backend;
  pthread_mutex_t lock; /* of all below, and of what it leads to */
  pthread_cond_t changed;
  cpu_device_t devices[CPU_DEVICES];
  LIST_HEAD(, cpu_block) blocks;
  LIST_HEAD(, tbk_stream) streams;
  LIST_HEAD(, tbk_event) events;
  LIST_HEAD(, tbk_plan) plans;
};

extern const tbk_stream_ops_t cpu_stream_ops;
extern const tbk_event_ops_t cpu_event_ops;
extern const tbk_callback_ops_t cpu_callback_ops;
extern const tbk_pinned_ops_t cpu_pinned_ops;
extern const tbk_peer_ops_t cpu_peer_ops;
extern const tbk_async_memory_ops_t cpu_async_memory_ops;
extern const tbk_kernel_ops_t cpu_kernel_ops;
extern const tbk_random_ops_t cpu_random_ops;
extern const tbk_fault_ops_t cpu_fault_ops;

/* Returns `status`, with the message in `error` unless that is NULL. */
tbk_status_t cpu_fail(tbk_status_t status, tbk_error_t* error, const char* message);

/* Returns OK where the device is open, and is not lost. */
tbk_status_t cpu_enter(tbk_instance_t* self, int32_t device, tbk_error_t* error);

/* memory.c: memory of a device; pinned memory of the host where the device is -1. */
tbk_status_t cpu_allocate(tbk_instance_t* self, int32_t device, uint64_t size_bytes,
                          tbk_memory_t* out_memory, tbk_error_t* error);
void cpu_free(tbk_instance_t* self, tbk_memory_t memory);

/* stream.c: does `run` with a copy of the payload in the order of the stream; at once where it is
 * NULL. The device is open. */
tbk_status_t cpu_submit(tbk_instance_t* self, int32_t device, tbk_stream_t* stream,
                        void (*run)(tbk_stream_t* stream, void* payload), const void* payload,
                        size_t size_bytes, tbk_error_t* error);
/* The same, for work that is done on a lost device too. */
tbk_status_t cpu_submit_always(tbk_instance_t* self, tbk_stream_t* stream,
                               void (*run)(tbk_stream_t* stream, void* payload),
                               const void* payload, size_t size_bytes, tbk_error_t* error);
/* The rest of stream.c is called with the lock held. */
tbk_status_t cpu_enter_stream(const tbk_stream_t* stream, tbk_error_t* error);
cpu_point_t* cpu_point_new(void);
void cpu_point_drop(cpu_point_t* point);
void cpu_point_wait(tbk_instance_t* self, const cpu_point_t* point);
bool cpu_enqueue_point(tbk_stream_t* stream, cpu_point_t* awaits, cpu_point_t* reaches);
/* Waits for all work of a device, and ends its streams. Returns FAILED where work did. */
tbk_status_t cpu_streams_close(tbk_instance_t* self, int32_t device);
/* Joins the threads that have ended, and frees the streams that were given back, or all. */
void cpu_streams_reap(tbk_instance_t* self, bool all);

#endif /* CPU_H */
