/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hostile.c: the template backend with a row of tables.c at work. Options: hostile=NAME, at=N (the
 * N-th upload of the process; 1), once=PATH (only the process that can make this file does it, so
 * that exactly one test of a run is hit). Other options go to the template.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hostile.h"

static struct {
  const hostile_row_t* row;
  bool unknown; /* the row that was asked for */
  long at;
  char once[512];
  char options[1024];
  tbk_host_t host;
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

static void take_option(char* part, size_t* used) {
  if (strncmp(part, "hostile=", 8) == 0) {
    hostile.row = hostile_find(part + 8);
    hostile.unknown = hostile.row == NULL;
  } else if (strncmp(part, "at=", 3) == 0) {
    hostile.at = atol(part + 3);
  } else if (strncmp(part, "once=", 5) == 0) {
    snprintf(hostile.once, sizeof hostile.once, "%s", part + 5);
  } else {
    *used += (size_t)snprintf(hostile.options + *used, sizeof hostile.options - *used, "%s%s",
                              *used == 0 ? "" : ",", part);
  }
}

static void take_options(const char* options) {
  char copy[sizeof hostile.options];
  char* rest = NULL;
  size_t used = 0;
  snprintf(copy, sizeof copy, "%s", options == NULL ? "" : options);
  hostile.options[0] = '\0';
  for (char* part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest))
    take_option(part, &used);
  hostile.host.options = used == 0 ? NULL : hostile.options;
}

/* The template lies one folder up: lib/hostile/this, lib/libtbk_template.so. */
static tbk_backend_create_fn template_entry(void) {
  char path[4096];
  Dl_info info;
  if (dladdr((void*)&hostile, &info) == 0) return NULL;
  const char* slash = strrchr(info.dli_fname, '/');
  const int length = slash == NULL ? 0 : (int)(slash - info.dli_fname + 1);
  snprintf(path, sizeof path, "%.*s../libtbk_template.so", length, info.dli_fname);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  tbk_backend_create_fn entry = NULL;
  if (library != NULL) *(void**)&entry = dlsym(library, TBK_ENTRY_SYMBOL);
  return entry;
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
  const tbk_backend_create_fn entry = template_entry();
  const size_t needed = offsetof(tbk_host_t, options) + sizeof host->options;
  if (entry == NULL) return TBK_FAILED;
  if (host == NULL || out_backend == NULL || host->struct_size < needed)
    return entry(host, out_backend, error);
  hostile.host = *host;
  hostile.host.struct_size = sizeof hostile.host;
  take_options(host->options);
  if (hostile.unknown) {
    if (error != NULL)
      snprintf(error->message, sizeof error->message, "%s", "hostile= names nothing it can do");
    return TBK_INVALID;
  }
  act_if(AT_ENTRY);
  static atomic_int registered;
  if (atomic_exchange(&registered, 1) == 0) atexit(at_exit);
  const tbk_backend_t* inner = NULL;
  tbk_status_t status = entry(&hostile.host, &inner, error);
  return status == TBK_OK ? hand_out(inner, out_backend, error) : status;
}
