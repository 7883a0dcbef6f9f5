/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * handles.h: streams and events that a device has given, each with its native one. When the device is closed the
 * native ones end and what is left are stale handles, which live until they are destroyed or the instance ends.
 */
#ifndef DRIVER_HANDLES_H
#define DRIVER_HANDLES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

/* The first member of what it is a handle of. */
typedef struct driver_handle {
  LIST_ENTRY(driver_handle) entry;
  void* native; /* NULL is one, too, where the driver has a default stream */
  int32_t device;
  bool live; /* while it is in a list and its device open; else stale */
} driver_handle_t;

typedef LIST_HEAD(driver_handles, driver_handle) driver_handles_t;

/* Makes it a live one. */
void handle_add(pthread_mutex_t* lock, driver_handles_t* handles, driver_handle_t* handle);

/* Returns whether there is a native one left to destroy. */
bool handle_remove(pthread_mutex_t* lock, driver_handle_t* handle);

/* Makes all of them stale, with the lock; ends each that is not so yet, unless `end` is NULL. */
void handles_make_stale(driver_handles_t* handles, void (*end)(driver_handle_t* handle));

/* Empties the list, when nobody uses it any more. */
void handles_free(driver_handles_t* handles, void (*release)(void* handle));

#endif /* DRIVER_HANDLES_H */
