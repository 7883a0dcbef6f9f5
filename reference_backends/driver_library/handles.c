/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <driver/handles.h>

void handle_add(pthread_mutex_t* lock, driver_handles_t* handles, driver_handle_t* handle) {
  pthread_mutex_lock(lock);
  handle->live = true;
  LIST_INSERT_HEAD(handles, handle, entry);
  pthread_mutex_unlock(lock);
}

bool handle_remove(pthread_mutex_t* lock, driver_handle_t* handle) {
  pthread_mutex_lock(lock);
  LIST_REMOVE(handle, entry);
  const bool live = handle->live;
  pthread_mutex_unlock(lock);
  return live;
}

void handles_make_stale(driver_handles_t* handles, void (*end)(driver_handle_t* handle)) {
  driver_handle_t* handle;
  LIST_FOREACH(handle, handles, entry) {
    if (handle->live && end != NULL) end(handle);
    handle->live = false;
    handle->native = NULL;
  }
}

void handles_free(driver_handles_t* handles, void (*release)(void* handle)) {
  driver_handle_t* handle;
  while ((handle = LIST_FIRST(handles)) != NULL) {
    LIST_REMOVE(handle, entry);
    release(handle);
  }
}
