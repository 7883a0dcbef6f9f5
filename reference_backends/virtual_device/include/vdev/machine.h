/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * machine.h: a machine is a set of devices with one scheduler; nothing is shared between machines.
 * Contexts, current devices and names are a face's affair, and so are the checks of its arguments: a
 * function here that gets what it does not ask for may do anything.
 *
 * Any function may be called from any thread, also from work (stream.h), unless it says otherwise.
 */
#ifndef VDEV_MACHINE_H
#define VDEV_MACHINE_H

#include <stdint.h>

#include "config.h"

typedef struct vdev_machine vdev_machine_t;
typedef struct vdev_device vdev_device_t;

typedef enum vdev_status {
  VDEV_OK,
  VDEV_INVALID,   /* objects of different devices */
  VDEV_CLOSED,    /* the device is not open, or was closed since the object was made */
  VDEV_STATE,     /* the object is in another state than the call needs */
  VDEV_LOST,      /* the device is lost, and stays so */
  VDEV_NO_ROOM,   /* a limit is reached, or the host has no memory or thread left */
  VDEV_NOT_READY, /* work is not complete */
  VDEV_FAILED,    /* work failed */
  VDEV_BUSY,      /* another process has the device */
} vdev_status_t;

/*
 * Makes the devices, all closed; nothing is started.
 * Requires: `config` is vdev_config_default or what vdev_config_parse made of it; it is copied.
 * Ownership: the caller's, until vdev_machine_free. Errors: NULL without host memory.
 */
vdev_machine_t* vdev_machine_new(const vdev_config_t* config);

/*
 * Completes all work of all devices, closes them, and frees whatever is left: streams, events, pinned
 * memory, arenas.
 * Requires: no other thread uses the machine, this is not called from work, and all points that the
 * caller had were dropped.
 */
void vdev_machine_free(vdev_machine_t* machine);

/* Returns the copy of the configuration, which lives as long as the machine. */
const vdev_config_t* vdev_machine_config(const vdev_machine_t* machine);

/* Returns a device, which lives as long as the machine; NULL where the index is out of range. */
vdev_device_t* vdev_device_at(vdev_machine_t* machine, int32_t index);
int32_t vdev_device_index(const vdev_device_t* device);

/*
 * Opens a device: gives it its memory and, with VDEV_ONE_QUEUE, its queue. It takes open_ms.
 * Errors: STATE where it is not closed; LOST; BUSY; NO_ROOM; FAILED where the file of `exclusive`
 * cannot be opened, as errno says. The device stays closed then.
 */
vdev_status_t vdev_device_open(vdev_device_t* device);

/*
 * Completes its work and closes the device. Its streams and events are stale from now on: they can be
 * given back, and everything else answers CLOSED. Blocks that were not given back keep their addresses
 * until the machine ends.
 * Requires: no other call on the device or what is of it meanwhile, and not called from work.
 * `out_code` may be NULL.
 * Errors: CLOSED where it is not open, and nothing happens. Else it is closed, and this tells what
 * vdev_device_synchronize would have told.
 */
vdev_status_t vdev_device_close(vdev_device_t* device, int* out_code);

/* Returns OK, CLOSED or LOST; a device that is NULL is not open. */
vdev_status_t vdev_device_check(vdev_device_t* device);

/*
 * Waits for what was enqueued on all streams of the device until now, also where it is lost: nothing
 * of it runs any more then. A fault that was not told yet is told once, a sticky one each time.
 * Requires: not called from work of this device. `out_code` may be NULL.
 * Errors: CLOSED; LOST; FAILED, with the code of the fault in `out_code`.
 */
vdev_status_t vdev_device_synchronize(vdev_device_t* device, int* out_code);

/*
 * Loses the device at once: work that is enqueued is dropped, but for what runs in any case (stream.h).
 * It stays lost when it is closed, and cannot be opened again.
 */
void vdev_device_lose(vdev_device_t* device);

/*
 * Returns the memory of an open device, lost or not.
 * Requires: the device is open, and is not closed while the arena is used.
 */
vdev_arena_t* vdev_device_arena(const vdev_device_t* device);

/*
 * Takes host memory that counts as pinned, aligned to 64 bytes. It outlives the devices.
 * Ownership: the caller's until vdev_pinned_give; what is left goes with the machine.
 * Errors: NULL where the limit of pinned bytes or the host's memory does not suffice.
 */
void* vdev_pinned_take(vdev_machine_t* machine, uint64_t size_bytes);

/* Gives pinned memory back. Errors: false where it is none; the time grows with the number of pieces. */
bool vdev_pinned_give(vdev_machine_t* machine, void* pointer);

#endif /* VDEV_MACHINE_H */
