/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * event.h: an event stands for the point of its last record. A wait keeps the point that it saw, so
 * later records, and the end of the event, change nothing for it.
 */
#ifndef VDEV_EVENT_H
#define VDEV_EVENT_H

#include "stream.h"

typedef struct vdev_event vdev_event_t;

/*
 * Makes an event, which was never recorded.
 * Ownership: the caller's until vdev_event_free; what is left goes with the machine.
 * Errors: CLOSED; LOST; NO_ROOM where the device has as many events as it may.
 */
vdev_status_t vdev_event_new(vdev_device_t* device, bool timed, vdev_event_t** out_event);

/* Frees an event, also a stale one; work that waits for its point still does. */
void vdev_event_free(vdev_event_t* event);

/* Returns OK, CLOSED or LOST. */
vdev_status_t vdev_event_check(vdev_event_t* event);

/* Records it on a stream. Errors: CLOSED; LOST; INVALID where they are of two devices; NO_ROOM. */
vdev_status_t vdev_event_record(vdev_event_t* event, vdev_stream_t* stream);

/*
 * Makes the stream wait for what was recorded last, on any device of the machine; for nothing where
 * nothing was.
 * Errors: CLOSED or LOST, of the stream's device or the event's; NO_ROOM.
 */
vdev_status_t vdev_event_wait(vdev_stream_t* stream, vdev_event_t* event);

/* Tells whether it is complete, or was never recorded. Errors: CLOSED; LOST; NOT_READY. */
vdev_status_t vdev_event_query(vdev_event_t* event);

/*
 * Waits for it, also where the device is lost.
 * Requires: not called from work that stands before it. Errors: CLOSED; LOST.
 */
vdev_status_t vdev_event_synchronize(vdev_event_t* event);

/*
 * Tells the time between two events.
 * Errors: CLOSED; LOST; STATE where they are not both timed, recorded and of one device; NOT_READY.
 */
vdev_status_t vdev_event_elapsed(vdev_event_t* start, vdev_event_t* end, double* out_ms);

#endif /* VDEV_EVENT_H */
