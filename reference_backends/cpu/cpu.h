/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cpu.h: what the files of the cpu backend share. A device is an arena of memory (vdev/arena.h) and
 * queues of operations (queue.c), run by one of the schedulers (threads.c, seeded.c, inline.c).
 *
 * Locks: instance->lock guards everything that is scheduled: devices' states, streams, queues,
 * events. An arena has its own lock. instance->lock is never taken while an arena's is held.
 */
#ifndef TBK_CPU_H
#define TBK_CPU_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <tbk/tables.h>
#include <tbk/tbk_operators.h>
#include <vdev/arena.h>
#include <vdev/words.h>

/* ---------------------------------------------------------------------------------- options -- */

enum { CPU_THREADS, CPU_SEEDED };
enum { CPU_FIFO, CPU_LAZY, CPU_ONE_QUEUE, CPU_SHUFFLED, CPU_INLINE };

typedef struct cpu_options {
  uint64_t devices;
  vdev_arena_config_t arena; /* of each device */
  uint64_t scheduler;
  uint64_t seed;
  uint64_t policy;
  uint64_t delay_us;
  uint64_t zero_handle;
  uint64_t granularity;
  uint64_t open_ms;
  uint64_t shape_ms;
  uint64_t events;         /* most live events of a device */
  uint64_t max_allocation; /* bytes of one allocation; 0: no limit */
  uint64_t sticky;
  char exclusive[256]; /* path of the lock file, or empty */
} cpu_options_t;

tbk_status_t cpu_options_parse(cpu_options_t* options, const char* text, tbk_error_t* error);

/* ------------------------------------------------------------------------- queues and points -- */

typedef struct cpu_device cpu_device_t;
typedef struct cpu_queue cpu_queue_t;
typedef struct cpu_op cpu_op_t;

/* What an event stands for after one record: a point in a queue. Shared by event and waits. */
typedef struct cpu_point {
  int refs;
  bool done;
  uint64_t time_ns;
  cpu_queue_t* queue; /* valid until done */
  uint64_t ticket;
} cpu_point_t;

/* An operation, the first member of what it needs. Allocated with cpu_op_new. */
struct cpu_op {
  STAILQ_ENTRY(cpu_op) entry;
  uint64_t ticket;            /* grows with each operation of the instance */
  void (*run)(cpu_op_t* op);  /* without the lock */
  void (*drop)(cpu_op_t* op); /* with the lock, after run or instead of it; may be NULL */
  cpu_point_t* waits_for;     /* runs only when this is done; may be NULL */
  bool always;                /* runs on a lost device too */
};

struct cpu_queue {
  LIST_ENTRY(cpu_queue) entry;
  cpu_device_t* device;
  STAILQ_HEAD(, cpu_op) ops;
  cpu_op_t* running; /* NULL where nothing is */
  uint64_t demand;   /* somebody has asked for work up to this ticket */
  uint64_t id;
  int refs;
  bool closing;        /* nothing more will come */
  pthread_t thread;    /* threads.c */
  pthread_cond_t wake; /* threads.c */
};

/* What stream_native_handle gives: a place in the order of a queue, with the error of its work. */
typedef struct cpu_lane {
  int refs;
  cpu_queue_t* queue; /* NULL when the device was closed */
  cpu_device_t* device;
  uint64_t last; /* ticket of the last operation */
  tbk_status_t error;
} cpu_lane_t;

struct tbk_stream {
  LIST_ENTRY(tbk_stream) entry;
  cpu_device_t* device;
  uint32_t generation;
  cpu_lane_t* lane;
};

struct tbk_event {
  LIST_ENTRY(tbk_event) entry;
  cpu_device_t* device;
  uint32_t generation;
  uint32_t flags;
  cpu_point_t* point; /* NULL until recorded */
};

/* All with the lock held, but for `rest`. */
typedef struct cpu_scheduler {
  bool (*start)(cpu_queue_t* queue); /* false where there are no resources */
  void (*wake)(cpu_queue_t* queue);  /* there may be something to run */
  void (*end)(cpu_queue_t* queue);   /* closing, empty, not running: get rid of it */
  void (*drive)(cpu_queue_t* queue, uint64_t ticket); /* after an operation was enqueued */
  void (*rest)(tbk_instance_t* instance); /* without the lock: no device is open any more */
} cpu_scheduler_t;
extern const cpu_scheduler_t cpu_threads, cpu_seeded, cpu_inline;

void* cpu_op_new(size_t size, void (*run)(cpu_op_t* op));
/*
 * Runs the operation at once where stream is NULL, else enqueues it; takes the operation. An
 * operation that is NULL could not be allocated.
 */
tbk_status_t cpu_submit(tbk_instance_t* self, tbk_stream_t* stream, void* op, tbk_error_t* error);

/* The rest of queue.c wants the lock held. */
void cpu_enqueue(tbk_stream_t* stream, cpu_op_t* op);
cpu_queue_t* cpu_queue_new(cpu_device_t* device);
void cpu_queue_drop(cpu_queue_t* queue);
void cpu_queue_free(cpu_queue_t* queue);
void cpu_queue_append(cpu_queue_t* queue, cpu_op_t* op);
bool cpu_queue_ready(const cpu_queue_t* queue);
void cpu_queue_step(cpu_queue_t* queue); /* gives up the lock while the operation runs */
bool cpu_queue_pending(const cpu_queue_t* queue, uint64_t ticket);
void cpu_queue_demand(cpu_queue_t* queue, uint64_t ticket);
bool cpu_device_pending(const cpu_device_t* device, uint64_t ticket);
void cpu_device_demand(cpu_device_t* device, uint64_t ticket);
void cpu_wake_all(tbk_instance_t* self);
cpu_point_t* cpu_point_keep(cpu_point_t* point);
void cpu_point_drop(cpu_point_t* point);
void cpu_lane_drop(cpu_lane_t* lane);

/* ------------------------------------------------------------------- instance and its devices --
 * */

typedef enum { CPU_CLOSED, CPU_OPENING, CPU_OPEN, CPU_CLOSING } cpu_state_t;

enum { CPU_MAX_RANK = 16 };

/* Stays after its device was closed with live blocks, so that their addresses are not given again. */
typedef struct cpu_home {
  LIST_ENTRY(cpu_home) entry;
  vdev_arena_t* arena;
} cpu_home_t;

struct cpu_device {
  tbk_instance_t* instance;
  int32_t index;
  cpu_state_t state;
  uint32_t generation; /* raised by each close: what is older is a stale handle */
  bool lost;           /* stays, also when it is closed and opened again */
  bool failed;         /* at least once; for sticky=1 */
  tbk_status_t error;  /* of work whose stream is gone */
  vdev_arena_t* arena; /* NULL unless open */
  cpu_home_t* home;    /* of the arena */
  cpu_queue_t* shared; /* policy=one_queue */
  uint64_t event_count;
  struct cpu_lock_file* lock_file;
  char name[32];
};

typedef struct cpu_pinned cpu_pinned_t;

struct tbk_instance {
  tbk_backend_t backend;
  cpu_options_t options;
  const cpu_scheduler_t* scheduler;
  cpu_device_t* devices;

  pthread_mutex_t lock;
  pthread_cond_t done; /* something completed, ended or was closed */
  uint64_t ticket;
  uint64_t queue_count; /* ever made */
  LIST_HEAD(, cpu_queue) queues;
  LIST_HEAD(, cpu_queue) ended; /* whose threads are to be joined */
  LIST_HEAD(, tbk_stream) streams;
  LIST_HEAD(, tbk_event) events;
  LIST_HEAD(, cpu_home) homes;
  LIST_HEAD(, cpu_pinned) pinned;
  LIST_HEAD(, tbk_plan) plans;
  uint64_t pinned_bytes;
  uint64_t* shapes; /* hashes of the launches seen, for shape_ms */
  size_t shape_count;

  struct { /* seeded.c */
    pthread_t thread;
    pthread_cond_t wake;
    int state;
    bool urgent; /* somebody waits or asks */
    uint64_t random;
    uint64_t steps;
  } worker;
};

tbk_status_t cpu_fail(tbk_status_t status, tbk_error_t* error, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
cpu_device_t* cpu_device(tbk_instance_t* self, int32_t device); /* NULL out of range */

/* OK where the device is open and not lost. */
tbk_status_t cpu_enter(tbk_instance_t* self, int32_t device, tbk_error_t* error);
/* The same, and the stream is NULL or one of this device. */
tbk_status_t cpu_enter_stream(tbk_instance_t* self, int32_t device, tbk_stream_t* stream,
                              tbk_error_t* error);
/* For calls that name a stream and no device. */
tbk_status_t cpu_enter_lane(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error);
tbk_status_t cpu_enter_event(tbk_instance_t* self, tbk_event_t* event, tbk_error_t* error);
/* With the lock held. */
tbk_status_t cpu_device_usable(const cpu_device_t* device, uint32_t generation, tbk_error_t* error);
/* The error of the lane's work, or of the device's where lane is NULL; `forget` it unless sticky.
 * */
tbk_status_t cpu_tell_error(cpu_device_t* device, cpu_lane_t* lane, bool forget,
                            tbk_error_t* error);

void cpu_lock(tbk_instance_t* self);
void cpu_unlock(tbk_instance_t* self);
void cpu_wait(tbk_instance_t* self); /* for `done` */

tbk_status_t cpu_device_count(tbk_instance_t*, int32_t*, tbk_error_t*);
tbk_status_t cpu_device_properties(tbk_instance_t*, int32_t, tbk_device_properties_t*,
                                   tbk_error_t*);
tbk_status_t cpu_device_open(tbk_instance_t*, int32_t, tbk_error_t*);
tbk_status_t cpu_device_close(tbk_instance_t*, int32_t, tbk_error_t*);
void cpu_pinned_free_all(tbk_instance_t* self);
void cpu_plans_destroy_all(tbk_instance_t* self);

/* exclusive.c: UNAVAILABLE where another process holds `path`. */
tbk_status_t cpu_lock_file_take(const char* path, int32_t device, struct cpu_lock_file** out_file,
                                tbk_error_t* error);
void cpu_lock_file_give(struct cpu_lock_file* file);

/* Table entries, by file. */
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
/* Enqueues a copy between two places that are known to be good. */
tbk_status_t cpu_submit_copy(tbk_instance_t* self, void* to, const void* from, uint64_t size_bytes,
                             tbk_stream_t* stream, tbk_error_t* error);
/* cpu_stream_ops, cpu_event_ops, ... */
#define CPU_TABLE(name, type, needs) extern const type cpu_##name##_ops;
TBK_TABLE_MAP(CPU_TABLE)
#undef CPU_TABLE

#endif /* TBK_CPU_H */
