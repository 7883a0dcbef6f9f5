/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * inside.h: what the files of the virtual device share. A device is an arena of memory (arena.c) and
 * queues of work (queue.c), run by one of the schedulers (threads.c, seeded.c, inline.c, caller.c).
 *
 * Locks: machine->lock guards everything that is scheduled: devices' states, streams, queues, points,
 * events. An arena has its own lock. machine->lock is never taken while an arena's is held.
 */
#ifndef VDEV_INSIDE_H
#define VDEV_INSIDE_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "vdev/event.h"
#include "vdev/words.h"

/* Allocates bytes that are 0; NULL: no room. The calloc of older glibc (2.36) passes by the cache of its
   thread, and so takes longer than most pieces of work. */
static inline void* vdev_zeroed(size_t size) {
  void* memory = malloc(size);
  __asm__("" : "+r"(memory)); /* else the compiler makes a calloc of both */
  return memory == NULL ? NULL : memset(memory, 0, size);
}

/* ------------------------------------------------------------------------- queues and points -- */

typedef struct vdev_queue {
  LIST_ENTRY(vdev_queue) entry;
  vdev_device_t* device;
  STAILQ_HEAD(, vdev_work) pieces;
  vdev_work_t* running; /* NULL where nothing is */
  uint64_t demand;      /* somebody has asked for work up to this ticket */
  uint64_t awaited;     /* the least ticket that somebody waits for alone; 0: nobody does */
  uint64_t id;
  uint64_t rank, ranked; /* seeded.c: its place in that era, counted from 1 */
  int refs;
  bool closing;        /* nothing more will come */
  pthread_t thread;    /* threads.c */
  pthread_cond_t wake; /* threads.c */
} vdev_queue_t;

struct vdev_point {
  vdev_work_t work; /* that reaches it; refers to it until it has run */
  int refs;
  bool done;
  uint64_t time_ns;
  vdev_machine_t* machine;
  vdev_queue_t* queue; /* valid until done */
  uint64_t ticket;
};

struct vdev_stream {
  LIST_ENTRY(vdev_stream) entry;
  int refs;
  vdev_device_t* device;
  uint32_t generation;
  vdev_queue_t* queue; /* NULL when the device was closed */
  uint64_t last;       /* ticket of the last piece */
  int error;           /* code of a fault that was not told; 0: none */
};

struct vdev_event {
  LIST_ENTRY(vdev_event) entry;
  vdev_device_t* device;
  uint32_t generation;
  bool timed;
  vdev_point_t* point; /* NULL until recorded */
};

/* All with the lock held, but for `rest`. */
typedef struct vdev_scheduler {
  bool (*start)(vdev_queue_t* queue); /* false where there are no resources */
  void (*wake)(vdev_queue_t* queue);  /* there may be something to run */
  void (*end)(vdev_queue_t* queue);   /* closing, empty, not running: get rid of it */
  void (*drive)(vdev_queue_t* queue, uint64_t ticket); /* after a piece was enqueued */
  void (*rest)(vdev_machine_t* machine); /* without the lock: no device is open any more */
  /* NULL but for caller.c, which has no other thread that runs anything. */
  bool (*progress)(vdev_machine_t* machine); /* runs a piece; false where none is ready */
  void (*nudge)(vdev_machine_t* machine);    /* somebody asked: runs a few, or none */
  void (*begin)(vdev_machine_t* machine);    /* the first stream is made */
} vdev_scheduler_t;
extern const vdev_scheduler_t vdev_threads, vdev_seeded, vdev_inline, vdev_caller;

/* All of these want the lock held. */
void vdev_enqueue(vdev_stream_t* stream, vdev_work_t* work);
vdev_queue_t* vdev_queue_new(vdev_device_t* device);
void vdev_queue_drop(vdev_queue_t* queue);
void vdev_queue_free(vdev_queue_t* queue);
bool vdev_queue_ready(const vdev_queue_t* queue);
/* seeded.c: returns the queue that goes next by the policy and the seed; NULL: none is ready. */
vdev_queue_t* vdev_pick(vdev_machine_t* machine);
void vdev_queue_step(vdev_queue_t* queue); /* gives up the lock while the piece runs */
/* Returns whether anything up to `ticket` is not complete. */
bool vdev_queue_pending(const vdev_queue_t* queue, uint64_t ticket);
/* Asks for what the pieces up to `ticket` wait for, too. */
void vdev_queue_demand(vdev_queue_t* queue, uint64_t ticket);
bool vdev_device_pending(const vdev_device_t* device, uint64_t ticket);
/* Returns a queue of the device that is not complete up to `ticket`; NULL: all are. */
vdev_queue_t* vdev_device_behind(const vdev_device_t* device, uint64_t ticket);
void vdev_device_demand(vdev_device_t* device, uint64_t ticket);
void vdev_wake_all(vdev_machine_t* machine);
vdev_point_t* vdev_point_keep(vdev_point_t* point);
void vdev_point_unref(vdev_point_t* point); /* NULL is nothing */
void vdev_point_await(vdev_point_t* point); /* gives up the lock while it waits */
void vdev_stream_unref(vdev_stream_t* stream);

/* A point that is not enqueued yet: free() it, or enqueue it. NULL without host memory. */
vdev_point_t* vdev_point_new(vdev_stream_t* stream);
void vdev_point_enqueue(vdev_point_t* point, vdev_stream_t* stream);
/* Work that waits for a point, where there is one; takes the work, and a reference of its own. */
vdev_work_t* vdev_wait_new(void);
void vdev_wait_enqueue(vdev_work_t* work, vdev_stream_t* stream, vdev_point_t* point);

/* --------------------------------------------------------------------- machine and its devices -- */

typedef enum { SHUT, OPENING, OPEN, CLOSING } vdev_state_t;

/* Stays after its device was closed with live blocks, so that their addresses are not given again. */
typedef struct vdev_home {
  LIST_ENTRY(vdev_home) entry;
  vdev_arena_t* arena;
} vdev_home_t;

struct vdev_device {
  vdev_machine_t* machine;
  int32_t index;
  vdev_state_t state;
  uint32_t generation;  /* raised by each close: what is older is stale */
  uint32_t serves;      /* atomic: the generation + 1 while it is open and not lost; else 0 */
  bool lost;            /* stays, also when it is closed */
  int error;            /* of work whose stream is gone */
  int sticky;           /* told until it is closed; 0: nothing */
  vdev_arena_t* arena;  /* NULL unless open */
  vdev_home_t* home;    /* of the arena */
  vdev_queue_t* shared; /* VDEV_ONE_QUEUE */
  uint64_t event_count;
  struct vdev_lock_file* lock_file;
};

struct vdev_machine {
  vdev_config_t config;
  const vdev_scheduler_t* scheduler;
  vdev_device_t* devices;

  pthread_mutex_t lock;
  pthread_cond_t done; /* something completed, ended or was closed */
  unsigned waiting;    /* for `done`, whatever it is */
  unsigned patient;    /* for `done`, once what they wait for is complete */
  uint64_t ticket;
  uint64_t queue_count; /* ever made */
  LIST_HEAD(, vdev_queue) queues;
  LIST_HEAD(, vdev_queue) ended; /* whose threads are to be joined */
  LIST_HEAD(, vdev_stream) streams;
  LIST_HEAD(, vdev_event) events;
  LIST_HEAD(, vdev_home) homes;
  LIST_HEAD(, vdev_pinned) pinned;
  uint64_t pinned_bytes, pinned_blocks;

  struct { /* seeded.c; random and steps also caller.c */
    pthread_t thread;
    pthread_cond_t wake;
    int state;
    bool urgent; /* somebody waits or asks */
    uint64_t random;
    uint64_t steps;
    unsigned mood; /* caller.c */
  } worker;
};

static inline void vdev_lock(vdev_machine_t* machine) {
  pthread_mutex_lock(&machine->lock);
}
static inline void vdev_unlock(vdev_machine_t* machine) {
  pthread_mutex_unlock(&machine->lock);
}
void vdev_wait(vdev_machine_t* machine); /* for `done` */
/* Waits until work of a queue up to `ticket` may be complete, or something other than work has happened: a thread
 * that is woken by each piece of work takes the processor from it. */
void vdev_wait_for(vdev_queue_t* queue, uint64_t ticket);
void vdev_done(vdev_machine_t* machine);
void vdev_asked(vdev_machine_t* machine); /* a query that found something pending */
void vdev_pinned_free_all(vdev_machine_t* machine);

/* Returns whether what was made in this generation is usable, by one look that takes no lock; where it
   says no, vdev_device_usable says why. */
static inline bool vdev_device_serves(const vdev_device_t* device, uint32_t generation) {
  return __atomic_load_n(&device->serves, __ATOMIC_ACQUIRE) == generation + 1;
}

/* With the lock held: OK, CLOSED or LOST for what was made in this generation. */
vdev_status_t vdev_device_usable(const vdev_device_t* device, uint32_t generation);
/* With the lock held: LOST, or the fault of the stream, or of the device where it is NULL. */
vdev_status_t vdev_tell_fault(vdev_device_t* device, vdev_stream_t* stream, bool forget,
                              int* out_code);

/* exclusive.c: BUSY where another process holds `path`. */
vdev_status_t vdev_lock_file_take(const char* path, int32_t device,
                                  struct vdev_lock_file** out_file);
void vdev_lock_file_give(struct vdev_lock_file* file);

#endif /* VDEV_INSIDE_H */
