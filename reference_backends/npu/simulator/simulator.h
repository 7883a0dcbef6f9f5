/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * simulator.h: what the files of the simulated driver share. Its exported functions are those of the
 * maps in acl.h, under the driver's symbols; here they are called api_<member>, and those of operators
 * plan_<member> and issue_<member>.
 */
#ifndef SIM_SIMULATOR_H
#define SIM_SIMULATOR_H

#include <emit/host.h>
#include <emit/job.h>
#include <pthread.h>
#include <simkit/machine.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <vdev/event.h>
#include <vdev/words.h>

#include "../aclnn.h"
#include "rules.h"

#define SIM_EXPORT __attribute__((visibility("default")))

#define SIM_DECLARE(member, symbol, need, page, result, parameters) \
  SIM_EXPORT result api_##member parameters __asm__(symbol);
ACL_RUNTIME_MAP(SIM_DECLARE)
ACL_HANDLE_MAP(SIM_DECLARE)
#undef SIM_DECLARE

/* The marker: what opens a driver finds out by it that the driver is this one. */
SIM_EXPORT extern const char tbk_npu_simulator[];

/* No object has the serial of the default streams. */
enum { SIM_DEVICES = 64, SIM_ALIGNMENT = 64, SIM_UNIT = 32, SIM_DEFAULT_SERIAL = 1 };

/* A device with its default context, which is the only one it has. */
typedef struct sim_context {
  vdev_device_t* device;
  unsigned references;     /* aclrtSetDevice, less aclrtResetDevice */
  uint64_t generation;     /* grows with each first reference */
  int fault;               /* atomic: an error of a stream that stops the context, or 0 */
  vdev_stream_t* stream;   /* the default stream */
  vdev_event_t* epoch;     /* what time stamps count from */
  bool peers[SIM_DEVICES]; /* it has access to */
} sim_context_t;

typedef enum sim_kind {
  SIM_STREAM = 1,
  SIM_EVENT,
  SIM_TENSOR,
  SIM_SCALAR,
  SIM_LIST, /* of tensors */
  SIM_INTS,
  SIM_EXECUTOR,
  SIM_SPENT /* an executor that was issued, and is no more */
} sim_kind_t;

typedef struct sim_reporter sim_reporter_t;

typedef struct sim_stream {
  vdev_stream_t* queue;
  bool mode_set, stops;                          /* aclrtSetStreamFailureMode */
  enum { NEITHER, HOST_FUNCTION, REPORT } style; /* of its callbacks */
  sim_reporter_t* reporter;                      /* NULL: no thread takes its reports */
} sim_stream_t;

typedef struct sim_event {
  vdev_event_t* event;
  uint32_t flags;
  uint64_t recorded; /* serial of the stream that it was recorded on last; 0: none */
} sim_event_t;

typedef struct sim_tensor {
  int dtype, rank;
  int64_t sizes[EMIT_MAX_RANK], strides[EMIT_MAX_RANK];
  int64_t offset;
  uint64_t storage_bytes;
  uintptr_t data;
} sim_tensor_t;

typedef struct sim_tensor_list {
  const acl_tensor** items; /* they end with the list */
  uint64_t count;
} sim_tensor_list_t;

typedef struct sim_executor sim_executor_t; /* operator.h */

/*
 * What a handle names. A stream and an event are never freed, so that a handle is known after its end;
 * of what stands for one call of an operator, the last few thousand are kept.
 */
typedef struct sim_object {
  sim_kind_t kind;
  bool live;
  uint64_t serial; /* no other object has it */
  sim_context_t* context;
  uint64_t generation;
  STAILQ_ENTRY(sim_object) next_dead;
  union {
    sim_stream_t stream;
    sim_event_t event;
    sim_tensor_t tensor;
    tbk_scalar_t scalar;
    tbk_int_list_t ints;
    sim_tensor_list_t list;
    sim_executor_t* executor;
  } as;
} sim_object_t;

/* A live allocation, of a device or pinned. */
typedef struct sim_memory {
  uintptr_t start;
  uint64_t size_bytes; /* as asked for */
  uint64_t room_bytes; /* with what the driver adds */
  bool pinned;
  char* at; /* where work finds it */
  sim_context_t* context;
  int uses; /* pieces of work that are not complete */
} sim_memory_t;

typedef struct sim_own_options {
  uint64_t answer;   /* a broken rule is answered; else it ends the process */
  uint64_t fault_at; /* so many pieces of work on, one fails; 0: none */
  uint64_t foreign;  /* somebody else has called aclInit */
} sim_own_options_t;

typedef struct sim_state {
  pthread_mutex_t lock; /* guards what follows; held over no wait */
  vdev_machine_t* machine;
  sim_own_options_t own;
  pid_t pid; /* of aclInit; 0 before */
  bool finalized;
  int device_count;
  sim_context_t contexts[SIM_DEVICES];
  void* objects; /* tsearch tree of sim_object_t */
  void* memory;  /* tsearch tree of sim_memory_t */
  uint64_t serial;
  uint64_t work; /* atomic: pieces submitted */
} sim_state_t;

extern sim_state_t sim;

/* ------------------------------------------------------------------------- state.c, context.c -- */

/* Answers with a code that is no broken rule, and keeps `why` for aclGetRecentErrMsg. */
acl_result sim_refuse(acl_result result, const char* why);

/* Says that there is no host memory. */
acl_result sim_no_memory(void);

/* Checks what every call must: initialised, not in a forked child, not in a host function. */
acl_result sim_begin(const char* call);
/* sim_begin, and finds the context that is current. */
acl_result sim_begin_in_context(const char* call, sim_context_t** out_context);
/* Whether any device is set. */
bool sim_is_any_set(void);
/* Runs a host function: it makes no call. */
void sim_run_host_function(void (*function)(void*), void* argument);
/* Returns what has stopped the context; 0 where nothing has. */
acl_result sim_fault(const sim_context_t* context);

acl_result sim_of_status(vdev_status_t status);
/* Returns what a wait came to: its own result, a fault of work, or what has stopped the context. */
acl_result sim_after_wait(const sim_context_t* context, vdev_status_t status, int code);

/* ------------------------------------------------------------------------------------ object.c -- */

/* Makes an object; without host memory NULL, and ACL_BAD_ALLOC is the answer. */
sim_object_t* sim_object_add(const sim_object_t* value);
/* Finds an object of this kind in any context; else a rule is broken. */
acl_result sim_object_find(const void* handle, sim_kind_t kind, const char* call,
                           sim_object_t** out_object);
/* Whether the object with this handle is still the one that has this serial, and lives. */
bool sim_object_lives(const void* handle, uint64_t serial);
/* Ends it, and marks it as of a kind; false where another thread was first. */
bool sim_object_end(sim_object_t* object, sim_kind_t kind);
/* Ends what the call destroys; where another thread was first, that is told as if it was long ago. */
acl_result sim_object_destroy(sim_object_t* object, const char* call);
/* Whether the handle is of this kind, alive or not. */
bool sim_object_is(const void* handle, sim_kind_t kind);
/* Ends what is left of some kinds in a context that is being reset; whether there was any. */
bool sim_objects_end(const sim_context_t* context, sim_kind_t first, sim_kind_t last);
/* Whether anything describes an operand still. */
bool sim_descriptors_left(void);

/* ------------------------------------------------------------------------------------ memory.c -- */

/* Rounds up to 32 bytes, in which the driver counts (D 0095). */
uint64_t sim_round_up(uint64_t size_bytes);
/* Finds the live allocation that a pointer points into; the lock is not held. */
bool sim_memory_find(const void* pointer, sim_memory_t** out_memory);
/* Finds a range of one live allocation of a device, and says what is wrong with it. */
acl_result sim_memory_range(const sim_context_t* context, const void* pointer, uint64_t size_bytes,
                            const char* call, sim_memory_t** out_memory);
/* Counts a use by work, 1, or the end of it, -1. NULL is nothing. */
void sim_memory_use(sim_memory_t* memory, int change);
/* Frees what is left in a context that is being reset; whether there was any. */
bool sim_memory_end(const sim_context_t* context);
/* Returns where work finds a place in the allocation. */
char* sim_memory_at(const sim_memory_t* memory, const void* pointer);

/* ------------------------------------------------------------------------------------ stream.c -- */

/* Where work goes: a stream, or the default stream of a context. */
typedef struct sim_queue {
  sim_context_t* context;
  vdev_stream_t* queue;
  sim_object_t* stream; /* NULL: the default stream */
} sim_queue_t;

enum { SIM_USES = ACLNN_TENSORS + 1 }; /* and a workspace */

/* A piece of work, at the beginning of what it needs. */
typedef struct sim_task {
  vdev_work_t work;
  sim_queue_t queue;
  void (*run)(struct sim_task* task);
  bool fails;
  sim_memory_t* uses[SIM_USES];
} sim_task_t;

/* sim_begin_in_context, and finds the queue for work on the stream; what has stopped it is the answer. */
acl_result sim_begin_on_stream(acl_stream stream, const char* call, sim_queue_t* out_queue);
/* Makes a task of `size` bytes that begin with one, which says what memory is used; NULL without host memory. */
void* sim_task_new(const void* value, size_t size, void (*run)(sim_task_t* task));
/* Enqueues a task, which uses the memory from now on; NULL answers that there is no host memory. */
acl_result sim_submit(const sim_queue_t* queue, void* task);
/* Makes work fail: its stream tells the code, or the context stops. */
void sim_fail(const sim_queue_t* queue, acl_result code);

/* ---------------------------------------------------------------------------------- callback.c -- */

/* Forgets the stream's subscription; whether there was one. */
bool sim_report_forget(sim_object_t* stream);

#endif /* SIM_SIMULATOR_H */
