/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * npu.h: what the files of this backend share.
 *
 * Every call makes the device's default context the thread's current one and puts back what was current
 * (torch_npu's own, say). A thread that had none keeps the device's: ACL has no documented way back. One
 * thread at a time issues to a stream (D 0061).
 */
#ifndef TBK_NPU_NPU_H
#define TBK_NPU_NPU_H

#include <driver/addresses.h>
#include <driver/handles.h>
#include <emit/job.h>
#include <pthread.h>
#include <stdbool.h>

#include <tbk/tbk.h>

#include "bounce.h"
#include "library.h"

enum { NPU_MAX_DEVICES = 64, NPU_ALIGNMENT = 64, NPU_CHUNKS = 48 };

/* Memory of a stream for what lives while an operator runs. It grows; what it grew out of is kept until the
 * stream is destroyed, because work that is enqueued may still use it. */
typedef struct npu_workspace {
  void* chunks[NPU_CHUNKS]; /* the last one is in use */
  int count;
  uint64_t size_bytes; /* of the last one */
} npu_workspace_t;

typedef struct npu_queue {
  driver_handle_t handle; /* first; in no list where it is the internal one */
  pthread_mutex_t lock;   /* held while work is issued */
  npu_workspace_t workspace;
} npu_queue_t;

/* The thread that runs callbacks where the driver has none of its own. */
typedef struct npu_reporter {
  pthread_mutex_t lock;
  pthread_t thread;
  bool running;
  bool stop; /* atomic */
  acl_context context;
} npu_reporter_t;

typedef struct npu_device {
  acl_context context;  /* NULL while it is not open */
  npu_queue_t internal; /* for operators with a NULL stream */
  bool lost;
  char name[256];
  uint64_t memory_bytes;
  npu_pool_t pool;                  /* by which pageable memory is copied */
  void *memory, *pinned;            /* what close has to free; guarded by the instance's lock */
  driver_handles_t streams, events; /* likewise */
  npu_reporter_t reporter;
} npu_device_t;

struct tbk_stream {
  union {
    driver_handle_t handle; /* which a queue begins with */
    npu_queue_t queue;
  };
  bool borrowed;   /* of stream_from_native: never destroyed here */
  bool subscribed; /* to the device's reporter; guarded by its lock */
};

struct tbk_instance {
  tbk_backend_t backend;
  tbk_host_t host;      /* for its log; the options are not kept */
  pthread_mutex_t lock; /* guards all below but the properties of devices */
  bool counted;
  int32_t device_count;
  char libraries[1024]; /* one driver serves all devices */
  npu_device_t devices[NPU_MAX_DEVICES];
};

/* Fills device_count and the properties of devices on first use. */
void npu_count(tbk_instance_t* self);

/* Writes the message and returns `status`. */
#define npu_fail emit_fail

/* Returns the status that says what `result` says. */
tbk_status_t npu_translate(acl_result result);

/* Writes number, name and the driver's own text of an error of the last call of this thread. */
void npu_describe(acl_result result, char* out, size_t size);

/* Writes what could not be done, and that; returns the status that says it. */
tbk_status_t npu_tell(tbk_error_t* error, acl_result result, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

/* context.c: what the thread had current, and has to have again. */
typedef struct npu_entry {
  acl_context saved; /* NULL: nothing to put back */
} npu_entry_t;

acl_result npu_context_open(int32_t device, acl_context* out_context);
acl_result npu_context_close(int32_t device);
acl_result npu_context_swap(acl_context context, npu_entry_t* out_entry);
acl_result npu_context_put_back(const npu_entry_t* entry);
/* Tells whether `device` reaches `peer`: enables it in both contexts, once while both are open. An error is
 * one of contexts alone. */
acl_result npu_context_reach(int32_t device, acl_context context, int32_t peer,
                             acl_context peer_context, bool* out_reaches);

/* Checks index and state, and makes the device's context current. Balanced by npu_leave. */
tbk_status_t npu_enter(tbk_instance_t* self, int32_t device, npu_entry_t* out_entry,
                       tbk_error_t* error);
/* Puts back the context and translates `result`; a fault of the device is remembered. */
tbk_status_t npu_leave(tbk_instance_t* self, int32_t device, const npu_entry_t* entry,
                       acl_result result, const char* what, tbk_error_t* error);
/* npu_enter, for a call with a stream, which may be NULL. */
tbk_status_t npu_enter_with(tbk_instance_t* self, int32_t device, const tbk_stream_t* stream,
                            npu_entry_t* out_entry, tbk_error_t* error);

/* memory.c: frees all allocations. `entered`: the context is there to free them in; else it takes them with it. */
void npu_free_all(npu_device_t* device, bool entered);
acl_result npu_malloc(void** out_pointer, uint64_t size_bytes);

/* stream.c */
acl_result npu_queue_open(npu_queue_t* queue);
/* Destroys the native stream and the workspace; waits for the stream's work. */
acl_result npu_queue_close(npu_queue_t* queue, bool borrowed);
acl_result npu_streams_close(npu_device_t* device, bool entered);
void npu_stream_free(void* stream);
/* Gives so many bytes of the queue's workspace; called with its lock. */
acl_result npu_workspace_reserve(npu_queue_t* queue, uint64_t size_bytes, void** out_memory);

/* event.c, callback.c */
void npu_event_end(driver_handle_t* event);
void npu_event_free(void* event);
acl_result npu_callbacks_end(npu_device_t* device, tbk_stream_t* stream);
void npu_reporter_stop(npu_reporter_t* reporter);

/* unverified.c: tells in the log what no documentation says, and this backend relies on. */
void npu_tell_unverified(const tbk_instance_t* self);

/* device.c: its part of the core table, which memory.c has. */
void npu_destroy(tbk_instance_t* self);
tbk_status_t npu_device_count(tbk_instance_t* self, int32_t* out_count, tbk_error_t* error);
tbk_status_t npu_device_properties(tbk_instance_t* self, int32_t device,
                                   tbk_device_properties_t* out_properties, tbk_error_t* error);
tbk_status_t npu_device_open(tbk_instance_t* self, int32_t device, tbk_error_t* error);
tbk_status_t npu_device_close(tbk_instance_t* self, int32_t device, tbk_error_t* error);

/* memory.c: copies; in the order of the stream, where there is one. */
acl_result npu_transfer(npu_device_t* device, tbk_stream_t* stream, bool direct,
                        const npu_copy_t* copy);

extern const tbk_core_t npu_core;
extern const tbk_stream_ops_t npu_stream_ops;
extern const tbk_event_ops_t npu_event_ops;
extern const tbk_callback_ops_t npu_callback_ops;
extern const tbk_pinned_ops_t npu_pinned_ops;
extern const tbk_peer_ops_t npu_peer_ops;
extern const tbk_kernel_ops_t npu_kernel_ops;

#endif /* TBK_NPU_NPU_H */
