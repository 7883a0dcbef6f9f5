/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hostile.c: the template backend with a row of tables.c at work. Options: hostile=NAME, at=N (the
 * N-th upload of the process; 1), once=PATH (only the process that can make this file does it, so
 * that exactly one test of a run is hit). Other options go to the template, or to the library that
 * TBK_HOSTILE_BEHIND names.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "forward.h"
#include "hostile.h"

static struct {
  const hostile_row_t* row;
  bool unknown; /* the row that was asked for */
  long at;
  char once[512];
  forward_t forward;
  const tbk_core_t* inner;
  atomic_long uploads;
} hostile = {.at = 1};

static void act_if(hostile_place_t place) {
  if (hostile.row == NULL || hostile.row->place != place) return;
  if (hostile.once[0] != '\0') {
    const int marker = open(hostile.once, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (marker < 0) return;
    close(marker);
  }
  hostile.row->act();
}

__attribute__((constructor)) static void at_constructor(void) {
  hostile.row = hostile_find(getenv("TBK_HOSTILE"));
  act_if(AT_CONSTRUCTOR);
}

__attribute__((destructor)) static void at_destructor(void) {
  act_if(AT_DESTRUCTOR);
}

static void at_exit(void) {
  act_if(AT_EXIT);
}

static tbk_status_t hostile_open(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  act_if(AT_OPEN);
  return hostile.inner->device_open(self, device, error);
}

static tbk_status_t hostile_close(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  act_if(AT_CLOSE);
  return hostile.inner->device_close(self, device, error);
}

static tbk_status_t hostile_upload(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                                   uint64_t offset, const void* source, uint64_t size_bytes,
                                   tbk_stream_t* stream, tbk_error_t* error) {
  if (atomic_fetch_add(&hostile.uploads, 1) + 1 == hostile.at) act_if(AT_CALL);
  return hostile.inner->upload(self, device, memory, offset, source, size_bytes, stream, error);
}

static bool take_option(const char* part) {
  if (strncmp(part, "hostile=", 8) == 0) {
    hostile.row = hostile_find(part + 8);
    hostile.unknown = hostile.row == NULL;
  } else if (strncmp(part, "at=", 3) == 0) {
    hostile.at = atol(part + 3);
  } else if (strncmp(part, "once=", 5) == 0) {
    snprintf(hostile.once, sizeof hostile.once, "%s", part + 5);
  } else {
    return false;
  }
  return true;
}

static tbk_status_t hand_out(const tbk_backend_t* inner, const tbk_backend_t** out_backend,
                             tbk_error_t* error) {
  hostile_tables_t* tables = calloc(1, sizeof *tables);
  if (tables == NULL) return TBK_OUT_OF_MEMORY;
  const size_t backend_size = inner->struct_size, core_size = inner->core->struct_size;
  memcpy(&tables->backend, inner,
         backend_size < sizeof tables->backend ? backend_size : sizeof tables->backend);
  memcpy(&tables->core, inner->core,
         core_size < sizeof tables->core ? core_size : sizeof tables->core);
  hostile.inner = inner->core;
  tables->core.device_open = hostile_open;
  tables->core.device_close = hostile_close;
  tables->core.upload = hostile_upload;
  tables->backend.core = &tables->core;
  if (hostile.row != NULL && hostile.row->spoil != NULL) {
    tbk_status_t status = hostile.row->spoil(tables, error);
    if (status != TBK_OK) return status;
  }
  *out_backend = &tables->backend;
  return TBK_OK;
}

TBK_EXPORT tbk_status_t tbk_backend_create(const tbk_host_t* host,
                                           const tbk_backend_t** out_backend, tbk_error_t* error) {
  const char* behind = getenv("TBK_HOSTILE_BEHIND");
  const tbk_backend_create_fn entry = forward_entry(behind != NULL ? behind : "libtbk_template.so");
  if (entry == NULL) return TBK_FAILED;
  if (out_backend == NULL || !forward_can_read(host)) return entry(host, out_backend, error);
  forward_begin(&hostile.forward, host, take_option);
  if (hostile.unknown) {
    if (error != NULL)
      snprintf(error->message, sizeof error->message, "%s", "hostile= names nothing it can do");
    return TBK_INVALID;
  }
  act_if(AT_ENTRY);
  static atomic_int registered;
  if (atomic_exchange(&registered, 1) == 0) atexit(at_exit);
  const tbk_backend_t* inner = NULL;
  tbk_status_t status = entry(&hostile.forward.host, &inner, error);
  return status == TBK_OK ? hand_out(inner, out_backend, error) : status;
}
