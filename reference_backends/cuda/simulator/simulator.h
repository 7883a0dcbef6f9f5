/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * simulator.h: what the files of the simulated driver share. Its exported functions are those of the
 * map in driver.h, under the driver's symbols; here they are called api_<member>.
 */
#ifndef SIM_SIMULATOR_H
#define SIM_SIMULATOR_H

#include <pthread.h>
#include <sys/types.h>

#include <emit/host.h>
#include <simkit/machine.h>
#include <vdev/event.h>
#include <vdev/words.h>

#include "../driver.h"
#include "rules.h"

#define SIM_EXPORT __attribute__((visibility("default")))

#define SIM_DECLARE(member, symbol, parameters) \
  SIM_EXPORT cu_result api_##member parameters __asm__(symbol);
CUDA_DRIVER_MAP(SIM_DECLARE)
#undef SIM_DECLARE

/* The marker: what opens a driver finds out by it that the driver is this one. */
SIM_EXPORT extern const char tbk_cuda_simulator[];

enum { SIM_DEVICES = 64, SIM_DEPTH = 64, SIM_ILLEGAL_ADDRESS = 700, SIM_LAUNCH_FAILED = 719 };
enum { SIM_ARCHITECTURE = 90 };

/* The primary context of a device: the only kind that this driver has. */
struct cu_context_object {
  vdev_device_t* device;
  unsigned references;
  uint64_t generation; /* grows with each first retain */
  int pushed;          /* so often, by all threads, since the first retain */
  cu_result fault;     /* atomic; what every call answers from then on */
  vdev_stream_t* legacy;
};

typedef enum sim_kind { SIM_STREAM = 1, SIM_EVENT, SIM_MODULE, SIM_CUBLAS } sim_kind_t;

/* What a handle of cuBLAS keeps between calls. */
typedef struct sim_blas {
  cu_stream stream;
  cu_deviceptr workspace;
  int math;
  bool scalars_on_device;
} sim_blas_t;

/* A stream, an event, a module or a handle of cuBLAS. It is never freed, so that a handle is known after its end. */
typedef struct sim_object {
  sim_kind_t kind;
  bool live;
  bool timed;
  bool recorded; /* atomic */
  cu_context context;
  uint64_t generation;
  vdev_stream_t* stream;
  vdev_event_t* event;
  const emit_host_kernel_t* kernel;
  sim_blas_t blas;
} sim_object_t;

typedef struct sim_own_options {
  uint64_t answer;   /* a broken rule is answered; else it ends the process */
  uint64_t late;     /* pageable memory is read and written by the work; else staged */
  uint64_t pools;    /* devices have memory in the order of a stream */
  uint64_t fault_at; /* so many pieces of work on, a context dies; 0: none */
} sim_own_options_t;

typedef struct sim_state {
  pthread_mutex_t lock; /* guards what follows; held over no wait */
  vdev_machine_t* machine;
  sim_own_options_t own;
  pid_t pid; /* of cuInit; 0 before */
  int device_count;
  struct cu_context_object contexts[SIM_DEVICES];
  void* objects; /* tsearch tree of sim_object_t */
  void* pinned;  /* tsearch tree of sim_pinned_t */
  uint64_t work; /* atomic: pieces submitted */
} sim_state_t;

extern sim_state_t sim;

/* Checks what every call must: initialised, not in a forked child, not in a host function. */
cu_result sim_begin(const char* call);
/* sim_begin, and finds the context that is current; a fault of it is the answer. */
cu_result sim_begin_in_context(const char* call, cu_context* out_context);
/* Marks that the calling thread runs a host function, or does so no more. */
void sim_in_host_function(bool inside);

/* Whether this is a context of this driver, released or not. */
bool sim_is_context(cu_context context);

cu_result sim_of_status(vdev_status_t status);
/* Returns what a wait came to: its own result, or the fault that came meanwhile. */
cu_result sim_after_wait(cu_context context, vdev_status_t status);

/* Finds an object of this kind in any context; else a rule is broken. */
cu_result sim_object_find(const void* handle, sim_kind_t kind, const char* call,
                          sim_object_t** out_object);
cu_result sim_object_add(const sim_object_t* value, void** out_handle);
/* Ends what the handle names, once; its context is the one that is current. */
cu_result sim_object_destroy(const void* handle, sim_kind_t kind, const char* call);
/* Ends all objects of a context that is being released; whether there were any. */
bool sim_objects_end(cu_context context);

/* sim_begin_in_context, and finds the queue for work on the stream. */
cu_result sim_begin_on_stream(cu_stream stream, const char* call, cu_context* out_context,
                              vdev_stream_t** out_queue);
/* To be called before each piece of work: the one that fault_at names kills the context. */
void sim_count_work(cu_context context, vdev_stream_t* queue);

/* What the simulated NVRTC makes, and a module is loaded from. Of a kernel that the simulator was not
 * built with, the object that it was compiled to stands behind it. */
typedef struct sim_image {
  char magic[16];
  uint64_t source; /* a sum of the text */
  uint64_t object_bytes, object_sum;
  int architecture;
  int exact; /* nothing is contracted */
  char options[64];
} sim_image_t;

/* Finds the kernel that the image names, as it was compiled for the host; else what a load answers. */
cu_result sim_image_kernel(const void* bytes, int architecture,
                           const emit_host_kernel_t** out_kernel);

/* A live block of device memory, where work finds it, and a place in it. */
typedef struct sim_block {
  char* at;
  uint64_t size_bytes, offset;
} sim_block_t;

/* Finds the block of a context that a pointer points into. */
bool sim_find_block(cu_context context, cu_deviceptr pointer, sim_block_t* out);

/* Device code as work. What is larger begins with one of these. */
enum { SIM_PARAMETER_WORDS = 1024 }; /* of 8 bytes, of all parameters of a launch */
typedef struct sim_launch {
  vdev_work_t work;
  cu_context context;
  const emit_host_kernel_t* kernel;
  int64_t groups;
  uint64_t seed;
  emit_host_range_t ranges[EMIT_HOST_POINTERS_MOST];
  cu_deviceptr pointers[EMIT_HOST_POINTERS_MOST]; /* into them; 0 where none is used */
  uint64_t words[SIM_PARAMETER_WORDS];            /* the parameters, one behind the other */
} sim_launch_t;

/* Fills a launch in: copies the parameters, as the driver does in the call, and finds what pointers point
 * into. False where one is missing. */
bool sim_launch_set(sim_launch_t* launch, cu_context context, const emit_host_kernel_t* kernel,
                    int64_t groups, void** parameters);
/* Runs it, as a piece of work. */
void sim_launch_run(vdev_work_t* work);
/* Lets the context answer each call with this from now on. */
void sim_kill(cu_context context, cu_result fault);

/* Whether all of the range is pinned memory. */
bool sim_is_pinned(const void* pointer, uint64_t size_bytes);
/* Frees the pinned memory of a context that is being released; whether there was any. */
bool sim_pinned_end(cu_context context);

#endif /* SIM_SIMULATOR_H */
