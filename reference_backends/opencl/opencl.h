/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * opencl.h: what the files of this backend share.
 *
 * A device is a context of its own. A stream is a queue in order; every command's event is kept until
 * it was seen complete, because OpenCL cannot be asked whether a queue is idle, and tells errors of
 * commands by their events alone. Calls with a NULL stream go through a queue of the device's own and
 * wait for their event.
 */
#ifndef TBK_OPENCL_OPENCL_H
#define TBK_OPENCL_OPENCL_H

#include <driver/entry.h>
#include <driver/kernels.h>
#include <emit/job.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <tbk/tbk.h>

#include "driver.h"

enum {
  OPENCL_MAX_DEVICES = 64,
  OPENCL_TRIES = 3 /* of what must not fail, since others wait for it */
};

typedef struct opencl_program opencl_program_t;
typedef struct opencl_device opencl_device_t;

/* A device's threads for callbacks of the host. As many as callbacks that block at a time. */
typedef struct opencl_callers {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  STAILQ_HEAD(, opencl_call) calls;
  pthread_t* threads;
  size_t thread_count, idle;
  bool ending;
} opencl_callers_t;

struct tbk_stream {
  LIST_ENTRY(tbk_stream) entry;
  opencl_device_t* device; /* NULL where the device was closed: a stale handle */
  bool ended;              /* destroyed by the host */
  cl_queue queue;
  pthread_mutex_t lock; /* one command and its event at a time; guards all below */
  cl_event* events;     /* of commands not yet seen complete, in order: [first, end) */
  size_t first, end, room;
  cl_int failure; /* of a command, until the stream or its device is synchronised */
};

struct tbk_event {
  LIST_ENTRY(tbk_event) entry;
  opencl_device_t* device; /* NULL where the device was closed: a stale handle */
  uint32_t flags;
  cl_event point; /* NULL until recorded; guarded by the instance's lock */
};

/* What tbk_memory_t is: the address of one of these. */
typedef struct opencl_memory {
  LIST_ENTRY(opencl_memory) entry;
  opencl_device_t* device; /* NULL where the device was closed */
  cl_mem buffer;
  uint64_t size_bytes;
  void* mapped; /* pinned memory: where the buffer is mapped, and what the caller got */
  void* pointer;
} opencl_memory_t;

struct opencl_device {
  tbk_instance_t* instance;
  int32_t index;
  cl_platform platform;
  cl_device id;
  char name[256], driver[1024];
  uint64_t memory_bytes, max_allocation_bytes, alignment, parameter_bytes;
  cl_bits queue_properties;
  bool has_double, has_compiler, has_priorities, has_properties_of_queues;

  cl_int refusal;  /* the last error of a question about the device */
  bool open, lost; /* guarded by the instance's lock, as is used_bytes */
  uint64_t used_bytes;
  cl_context context;
  tbk_stream_t* internal; /* for calls with a NULL stream */
  opencl_callers_t callers;
  pthread_mutex_t kernel_lock; /* clSetKernelArg is not thread-safe: arguments and launch are one */
  pthread_mutex_t program_lock;
  opencl_program_t* programs;
};

typedef struct opencl_options {
  char library[256];
  uint64_t memory; /* 0: what the driver says */
} opencl_options_t;

struct tbk_instance {
  tbk_backend_t backend;
  tbk_host_t host;
  opencl_options_t options;
  pthread_mutex_t lock; /* of lists, and of what says so */
  bool counted;
  int32_t device_count;
  opencl_driver_t driver;
  opencl_device_t devices[OPENCL_MAX_DEVICES];
  LIST_HEAD(, opencl_memory) memories;
  LIST_HEAD(, tbk_stream) streams; /* also those destroyed, as long as they are at work */
  LIST_HEAD(, tbk_event) events;
  driver_plans_t plans;
};

/* backend.c */
#define opencl_fail emit_fail
tbk_status_t opencl_translate(cl_int result);
/* Returns the status for `result` and writes the message; a lost device is remembered. */
tbk_status_t opencl_status(opencl_device_t* device, cl_int result, const char* what,
                           tbk_error_t* error);

/* options.c */
tbk_status_t opencl_options_parse(opencl_options_t* options, const char* text, tbk_error_t* error);

/* count.c: fills driver and devices on first use. */
void opencl_count(tbk_instance_t* self);

/* device.c */
/* Returns the device where it is open and not lost. */
tbk_status_t opencl_enter(tbk_instance_t* self, int32_t index, opencl_device_t** out_device,
                          tbk_error_t* error);
/* Returns the same for a stream or event and its device. */
tbk_status_t opencl_enter_of(tbk_instance_t* self, const void* handle, opencl_device_t* device,
                             opencl_device_t** out_device, tbk_error_t* error);
tbk_status_t opencl_device_open(tbk_instance_t* self, int32_t index, tbk_error_t* error);
tbk_status_t opencl_device_close(tbk_instance_t* self, int32_t index, tbk_error_t* error);

/* queue.c: the way of every command. */
tbk_stream_t* opencl_stream_new(opencl_device_t* device, int32_t priority, cl_int* out_result);
/* Waits for nothing: gives up the queue and what is kept of its commands; a stale handle is left. */
void opencl_stream_strip(tbk_stream_t* stream);
void opencl_stream_release(tbk_stream_t* stream);
/* Checks device and stream and locks the queue, until opencl_end. */
tbk_status_t opencl_begin(tbk_instance_t* self, int32_t index, tbk_stream_t* stream,
                          tbk_stream_t** out_queue, tbk_error_t* error);
/* Keeps `event` where `result` is CL_OK, sets the queue going, and waits where `stream` is NULL. */
tbk_status_t opencl_end(tbk_stream_t* queue, tbk_stream_t* stream, cl_int result, cl_event event,
                        const char* what, tbk_error_t* error);
/* Waits for the event and takes it; how its command went, rather than "one in the list has failed". */
cl_int opencl_wait(opencl_device_t* device, cl_event event);
/* Makes room for one more event, so that nothing can fail once a command is enqueued. */
bool opencl_reserve(tbk_stream_t* queue);
/* Lets go of the commands that are complete; true where none is left. Locked. */
bool opencl_reap(tbk_stream_t* queue);
/* Waits for all commands so far; returns and forgets the failure of one. */
cl_int opencl_drain(tbk_stream_t* queue);
/* Returns the same for all queues of the device, also those whose stream was destroyed. */
cl_int opencl_device_drain(opencl_device_t* device);

/* memory.c */
tbk_status_t opencl_memory_alloc(tbk_instance_t*, int32_t, uint64_t, tbk_memory_t*, tbk_error_t*);
tbk_status_t opencl_memory_free(tbk_instance_t*, int32_t, tbk_memory_t, tbk_error_t*);
tbk_status_t opencl_memory_info(tbk_instance_t*, int32_t, uint64_t*, uint64_t*, tbk_error_t*);
/* Takes `size_bytes` off what the device has left, and makes a buffer; NULL and the reason. */
opencl_memory_t* opencl_buffer_new(opencl_device_t* device, uint64_t size_bytes, cl_bits flags,
                                   tbk_status_t* out_status, tbk_error_t* error);
/* Leaves a stale handle. Called with the instance's lock. */
void opencl_buffer_release(opencl_memory_t* memory);

/* copy.c */
tbk_status_t opencl_upload(tbk_instance_t*, int32_t, tbk_memory_t, uint64_t, const void*, uint64_t,
                           tbk_stream_t*, tbk_error_t*);
tbk_status_t opencl_download(tbk_instance_t*, int32_t, void*, tbk_memory_t, uint64_t, uint64_t,
                             tbk_stream_t*, tbk_error_t*);
tbk_status_t opencl_copy(tbk_instance_t*, int32_t, tbk_memory_t, uint64_t, tbk_memory_t, uint64_t,
                         uint64_t, tbk_stream_t*, tbk_error_t*);
tbk_status_t opencl_fill(tbk_instance_t*, int32_t, tbk_memory_t, uint64_t, uint8_t, uint64_t,
                         tbk_stream_t*, tbk_error_t*);

/* callback.c */
void opencl_callers_start(opencl_callers_t* callers);
void opencl_callers_end(opencl_callers_t* callers); /* runs what is left, and joins the threads */

/* program.c */
void opencl_programs_release(opencl_device_t* device);

extern const tbk_stream_ops_t opencl_stream_ops;
extern const tbk_event_ops_t opencl_event_ops;
extern const tbk_callback_ops_t opencl_callback_ops;
extern const tbk_pinned_ops_t opencl_pinned_ops;
extern const tbk_kernel_ops_t opencl_kernel_ops;
extern const tbk_random_ops_t opencl_random_ops;

#endif /* TBK_OPENCL_OPENCL_H */
