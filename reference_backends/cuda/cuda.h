/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cuda.h: what the files of this backend share.
 *
 * Every call enters the device's primary context and leaves it again, so that what the calling
 * thread had current (PyTorch's own CUDA, say) stays as it was. Streams are non-blocking ones; calls
 * with a NULL stream run on a stream of the backend's own that is synchronised before they return,
 * because the driver's "synchronous" copies between device addresses do not wait.
 */
#ifndef TBK_CUDA_CUDA_H
#define TBK_CUDA_CUDA_H

#include <driver/addresses.h>
#include <driver/entry.h>
#include <driver/handles.h>
#include <driver/kernels.h>
#include <emit/job.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/queue.h>

#include <tbk/tbk.h>

#include "driver.h"

enum { CUDA_MAX_DEVICES = 64, CUDA_ALIGNMENT = 256 };

typedef struct cuda_program cuda_program_t;
typedef struct cuda_kept cuda_kept_t;

typedef struct cuda_device {
  cu_device handle;
  cu_context context; /* NULL while it is not open */
  cu_stream internal; /* for calls with a NULL stream */
  bool lost;
  bool pools; /* the driver has memory in the order of a stream */
  char name[256];
  uint64_t memory_bytes;
  void *memory, *pinned;            /* what close has to free; guarded by the instance's lock */
  driver_handles_t streams, events; /* likewise */
  pthread_mutex_t program_lock;
  cuda_program_t* programs; /* guarded by program_lock */
  pthread_mutex_t kept_lock;
  LIST_HEAD(, cuda_kept) kept; /* memory of queues where there are no pools; guarded by kept_lock */
  pthread_mutex_t product_lock;
  struct cublas_object*
      products;     /* the handle of cuBLAS, once there is one; guarded by product_lock */
  bool no_products; /* none can be had */
} cuda_device_t;

struct tbk_stream {
  driver_handle_t handle;
  bool borrowed; /* of stream_from_native: never destroyed here */
};

struct tbk_event {
  driver_handle_t handle;
  bool timing;
  bool recorded;
};

struct tbk_instance {
  tbk_backend_t backend;
  tbk_host_t host;      /* for its log; the options are not kept */
  pthread_mutex_t lock; /* guards all below but the properties of devices */
  bool counted;
  int32_t device_count;
  char libraries[1024]; /* one of each serves all devices */
  driver_plans_t plans;
  cuda_device_t devices[CUDA_MAX_DEVICES];
};

/* Fills device_count and the properties of devices on first use. */
void cuda_count(tbk_instance_t* self);

/* Writes which driver, compiler and cuBLAS there are; only where devices were counted. libraries.c */
void cuda_describe_libraries(char* text, size_t size);

/* Writes the message and returns `status`. */
#define cuda_fail emit_fail

/* Returns the status that says what `result` says. */
tbk_status_t cuda_translate(cu_result result);

/* Whether the driver has refused what was asked for, or done it: neither in need nor dead. */
bool cuda_is_refusal(cu_result result);

/* Checks index and state, and enters the device's context. Balanced by cuda_leave. */
tbk_status_t cuda_enter(tbk_instance_t* self, int32_t device, tbk_error_t* error);
/* Leaves the context and translates `result`; a fault of the device is remembered. */
tbk_status_t cuda_leave(tbk_instance_t* self, int32_t device, cu_result result, const char* what,
                        tbk_error_t* error);

/* cuda_enter, and the queue for `stream`: its own, or the internal one for NULL. */
tbk_status_t cuda_begin(tbk_instance_t* self, int32_t device, tbk_stream_t* stream,
                        cu_stream* out_queue, tbk_error_t* error);
/* Waits if the stream was NULL and all went well; then cuda_leave. */
tbk_status_t cuda_end(tbk_instance_t* self, int32_t device, tbk_stream_t* stream, cu_result result,
                      const char* what, tbk_error_t* error);

/* Frees all allocations. `entered`: the context is there to free them in; else it takes them with it. */
void cuda_free_all(cuda_device_t* device, bool entered);

/* kept.c: memory in the order of a queue, in the device's context. */
cu_result cuda_take(cuda_device_t* device, cu_stream queue, uint64_t size_bytes, cu_deviceptr* out);
cu_result cuda_give(cuda_device_t* device, cu_stream queue, cu_deviceptr pointer);
/* Allocates other memory; what is kept and not used any more makes room. */
cu_result cuda_mem_alloc(cuda_device_t* device, uint64_t size_bytes, cu_deviceptr* out);
/* The queue is about to be destroyed: what is kept of it is freed once its work is complete. */
void cuda_kept_leave_queue(cuda_device_t* device, cu_stream queue);
/* Frees what is kept or was not given back, when nothing runs any more; the first error. */
cu_result cuda_kept_free(cuda_device_t* device, bool entered);

/* End the native ones, for handles_make_stale. */
void cuda_stream_end(driver_handle_t* stream);
void cuda_event_end(driver_handle_t* event);
cu_result cuda_programs_unload(cuda_device_t* device); /* the first error */
/* Gives the handle of cuBLAS back, in the context of the device. */
void cuda_products_end(cuda_device_t* device);

tbk_status_t cuda_device_open(tbk_instance_t* self, int32_t device, tbk_error_t* error);
tbk_status_t cuda_device_close(tbk_instance_t* self, int32_t device, tbk_error_t* error);

extern const tbk_core_t cuda_core;
extern const tbk_stream_ops_t cuda_stream_ops;
extern const tbk_event_ops_t cuda_event_ops;
extern const tbk_callback_ops_t cuda_callback_ops;
extern const tbk_pinned_ops_t cuda_pinned_ops;
extern const tbk_peer_ops_t cuda_peer_ops;
extern const tbk_async_memory_ops_t cuda_async_memory_ops;
extern const tbk_kernel_ops_t cuda_kernel_ops;
extern const tbk_random_ops_t cuda_random_ops;

#endif /* TBK_CUDA_CUDA_H */
