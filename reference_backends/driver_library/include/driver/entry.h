/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * entry.h: what is the same at the entry of every backend that has a driver below it.
 */
#ifndef DRIVER_ENTRY_H
#define DRIVER_ENTRY_H

#include <pthread.h>
#include <stdbool.h>
#include <tbk/tbk.h>

enum { DRIVER_PATHS = 2, DRIVER_PATH_BYTES = 4096 };

/* Which libraries are the driver, said by options before they are opened. A process has one driver. */
typedef struct driver_choice {
  pthread_mutex_t lock; /* guards what is below the keys, until the libraries are opened */
  const char* keys[DRIVER_PATHS]; /* "driver" for driver=PATH; NULL where there are fewer */
  bool made;
  char paths[DRIVER_PATHS][DRIVER_PATH_BYTES]; /* empty: the system's */
} driver_choice_t;

/*
 * Takes "KEY=PATH,KEY=PATH", where a path may hold anything but a comma. Who states nothing takes what the process
 * has. Errors: INVALID for other options and files that cannot be read; INVALID_STATE where another driver was chosen.
 */
tbk_status_t driver_choose(driver_choice_t* choice, const char* options, tbk_error_t* error);

/* Errors: INVALID where the host or the place for the backend is missing or too small; UNSUPPORTED for another version. */
tbk_status_t driver_check_host(const tbk_host_t* host, const tbk_backend_t** out_backend,
                               tbk_error_t* error);

/* Writes as much of the properties as the caller has room for. Errors: INVALID where that is none. */
tbk_status_t driver_give_properties(const tbk_device_properties_t* properties,
                                    tbk_device_properties_t* out_properties, tbk_error_t* error);

/* Writes to the host's log, where it has one. */
void driver_log(const tbk_host_t* host, int32_t level, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

/* Warns of what a destructor, which answers nothing, could not do. */
void driver_tell(const tbk_host_t* host, tbk_status_t status, const tbk_error_t* error);

#endif /* DRIVER_ENTRY_H */
