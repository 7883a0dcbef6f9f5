/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * stream.h: work and its order. A stream is a place in the order of a queue, with the fault of its own
 * work. Work of one stream runs in order; work of two streams in any, unless a point orders it.
 */
#ifndef VDEV_STREAM_H
#define VDEV_STREAM_H

#include <sys/queue.h>

#include "machine.h"

typedef struct vdev_stream vdev_stream_t;
typedef struct vdev_work vdev_work_t;
typedef struct vdev_point vdev_point_t;

/*
 * A piece of work: the first member of what it needs. It runs on whatever thread the scheduler has,
 * with no lock held, and may call any function here that does not wait for its own queue; with
 * VDEV_INLINE, submitting to its own queue is such a wait. With VDEV_SEEDED one thread runs all devices
 * of a machine, so work that blocks, or waits for any queue, holds everything.
 */
struct vdev_work {
  void (*run)(vdev_work_t* work);  /* not on a lost device, unless `always` */
  void (*drop)(vdev_work_t* work); /* after run or instead of it, with no lock held; may be NULL */
  bool always;                     /* runs on a lost device too */
  /* The rest is the virtual device's. */
  bool brief;    /* runs with the lock held, and neither asks for it nor has a drop */
  bool is_point; /* is part of one, and goes with it */
  STAILQ_ENTRY(vdev_work) entry;
  uint64_t ticket;         /* grows with each piece of work of the machine */
  vdev_point_t* waits_for; /* runs only when this is done; may be NULL */
};

/*
 * Allocates work of `size` bytes, all zero but `run`.
 * Requires: the struct begins with a vdev_work_t.
 * Ownership: the caller's, who may free() it, until it is submitted. Errors: NULL without host memory.
 */
void* vdev_work_new(size_t size, void (*run)(vdev_work_t* work));

/*
 * Enqueues work. Where `stream` is NULL it is run here and now instead, ordered after nothing.
 * Ensures: each piece is dropped once, and run at most once.
 * Ownership: takes the work, also where it fails.
 * Errors: NO_ROOM where `work` is NULL, so that it need not be asked for before; CLOSED. A lost device
 * accepts work, and drops it when its turn comes.
 */
vdev_status_t vdev_submit(vdev_stream_t* stream, void* work);

/* Work for common ends, each with the errors of vdev_submit. A copy's ranges are as in words.h. */
vdev_status_t vdev_submit_copy(vdev_stream_t* stream, void* to, const void* from,
                               uint64_t size_bytes);
vdev_status_t vdev_submit_fill(vdev_stream_t* stream, void* to, uint8_t value, uint64_t size_bytes);
vdev_status_t vdev_submit_call(vdev_stream_t* stream, void (*function)(void* argument),
                               void* argument);

/* ---------------------------------------------------------------------------------- streams -- */

/*
 * Makes a stream, with a queue of its own but with VDEV_ONE_QUEUE.
 * Ownership: the caller has one reference. Errors: CLOSED; LOST; NO_ROOM.
 */
vdev_status_t vdev_stream_new(vdev_device_t* device, vdev_stream_t** out_stream);

/* Counts one reference more; returns the stream. */
vdev_stream_t* vdev_stream_keep(vdev_stream_t* stream);

/*
 * Gives up one reference. With the last one the stream ends: what is enqueued is completed, this does
 * not wait for it, and a fault that was not told is the device's to tell.
 */
void vdev_stream_drop(vdev_stream_t* stream);

/* Returns OK, CLOSED or LOST. */
vdev_status_t vdev_stream_check(vdev_stream_t* stream);

/* Returns the device that it was made on, also where it is stale. */
vdev_device_t* vdev_stream_device(const vdev_stream_t* stream);

/*
 * Tells whether what was submitted by this stream is complete, and asks for it (VDEV_LAZY).
 * Errors: CLOSED; LOST; NOT_READY; FAILED with the code of a fault, which is kept.
 */
vdev_status_t vdev_stream_query(vdev_stream_t* stream, int* out_code);

/*
 * Waits for what was submitted by this stream until now; else as vdev_device_synchronize, for its own
 * faults. Another thread may drop the stream meanwhile.
 * Requires: not called from work of its queue.
 */
vdev_status_t vdev_stream_synchronize(vdev_stream_t* stream, int* out_code);

/* ----------------------------------------------------------------------------------- faults -- */

enum {
  VDEV_FAULT_ONCE,   /* told by the next synchronisation of the stream or of its device */
  VDEV_FAULT_STICKY, /* told by each synchronisation of the device or a stream of it, until closed */
  VDEV_FAULT_LOSS,   /* the device is lost */
};

/*
 * Makes a fault happen now: for work that finds that it cannot do what it should. What is enqueued
 * behind it runs, but where the device is lost.
 * Requires: `code` is not 0; it is the face's. The device is open.
 */
void vdev_stream_fail(vdev_stream_t* stream, int kind, int code);

/* Makes a fault happen when its turn comes. Errors: those of vdev_submit. */
vdev_status_t vdev_submit_fault(vdev_stream_t* stream, int kind, int code);

/* ----------------------------------------------------------------------------------- points -- */

/*
 * Marks a point: it is done when all that was submitted by the stream before it is complete, also
 * where the device is lost meanwhile.
 * Ownership: the caller has one reference. Errors: CLOSED; NO_ROOM.
 */
vdev_status_t vdev_point_record(vdev_stream_t* stream, vdev_point_t** out_point);

/* Gives up the reference; NULL is nothing. What waits for the point has references of its own. */
void vdev_point_drop(vdev_point_t* point);

/*
 * Makes what is submitted by the stream from now on run after the point, which may be of any device
 * of the machine. A point that is NULL is done.
 * Errors: those of vdev_submit.
 */
vdev_status_t vdev_point_wait(vdev_stream_t* stream, vdev_point_t* point);

/* Tells whether the point is done, and asks for it (VDEV_LAZY). */
bool vdev_point_query(vdev_point_t* point);

/* Waits until the point is done. Requires: not called from work that stands before it. */
void vdev_point_synchronize(vdev_point_t* point);

/* Returns when the point was reached, by vdev_now_ns; 0 where it is not done. */
uint64_t vdev_point_time_ns(vdev_point_t* point);

#endif /* VDEV_STREAM_H */
