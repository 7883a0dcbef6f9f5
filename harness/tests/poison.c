/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * poison.c: the template backend, whose transfers silently do nothing any more once an allocation
 * has failed in the process. With POISON_ACROSS_PROCESSES, a path in the environment, it is the
 * device that is lost: no later process can compute either.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tbk/tbk.h>
#include <unistd.h>

static struct {
  tbk_backend_t backend;
  tbk_core_t core;
  const tbk_core_t* inner;
  bool poisoned;
} self;

static const char* marker(void) {
  return getenv("POISON_ACROSS_PROCESSES");
}

static bool is_poisoned(void) {
  return self.poisoned || (marker() != NULL && access(marker(), F_OK) == 0);
}

static tbk_status_t alloc(tbk_instance_t* instance, int32_t device, uint64_t size_bytes,
                          tbk_memory_t* out_memory, tbk_error_t* error) {
  tbk_status_t status = self.inner->memory_alloc(instance, device, size_bytes, out_memory, error);
  if (status != TBK_OUT_OF_MEMORY) return status;
  self.poisoned = true;
  if (marker() != NULL) (void)close(open(marker(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  return status;
}

static tbk_status_t upload(tbk_instance_t* instance, int32_t device, tbk_memory_t memory,
                           uint64_t offset, const void* source, uint64_t size_bytes,
                           tbk_stream_t* stream, tbk_error_t* error) {
  if (is_poisoned()) return TBK_OK;
  return self.inner->upload(instance, device, memory, offset, source, size_bytes, stream, error);
}

static tbk_backend_create_fn template_entry(void) {
  char path[4096];
  Dl_info info;
  tbk_backend_create_fn entry = NULL;
  if (dladdr((void*)&self, &info) == 0) return NULL;
  const char* slash = strrchr(info.dli_fname, '/');
  (void)snprintf(path, sizeof path, "%.*s/../libtbk_template.so",
                 slash != NULL ? (int)(slash - info.dli_fname) : 0, info.dli_fname);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* symbol = library != NULL ? dlsym(library, TBK_ENTRY_SYMBOL) : NULL;
  memcpy(&entry, &symbol, sizeof entry);
  return entry;
}

TBK_EXPORT tbk_status_t tbk_backend_create(const tbk_host_t* host,
                                           const tbk_backend_t** out_backend, tbk_error_t* error) {
  const tbk_backend_t* inner = NULL;
  tbk_backend_create_fn entry = template_entry();
  if (entry == NULL) return TBK_FAILED;
  tbk_status_t status = entry(host, &inner, error);
  if (status != TBK_OK) return status;
  self.backend = *inner;
  self.core = *inner->core;
  self.inner = inner->core;
  self.core.memory_alloc = alloc;
  self.core.upload = upload;
  self.backend.core = &self.core;
  *out_backend = &self.backend;
  return TBK_OK;
}
