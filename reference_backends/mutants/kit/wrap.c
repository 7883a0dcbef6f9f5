/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * wrap.c: copies the tables of a cpu instance and writes the active row's patches into the copies.
 */
#include "wrap.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OPTIONS_LIMIT 2048

typedef struct instance_memory {
  wrap_t wrap;
  tbk_host_t host;
  char options[OPTIONS_LIMIT];
} instance_memory_t;

static pthread_mutex_t wraps_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(wrap_t*) wraps;

wrap_t* wrap_of(tbk_instance_t* self) {
  wrap_t* wrap = atomic_load(&wraps);
  while (wrap != NULL && atomic_load(&wrap->self) != self)
    wrap = wrap->next;
  if (wrap == NULL) abort(); /* called with an instance that was never made, or is destroyed */
  return wrap;
}

tbk_status_t wrap_fail(tbk_error_t* error, tbk_status_t status, const char* text) {
  if (error != NULL) snprintf(error->message, sizeof error->message, "%s", text);
  return status;
}

bool wrap_every(wrap_t* wrap, uint64_t period) {
  return (atomic_fetch_add(&wrap->calls, 1) + 1) % period == 0;
}

void wrap_sleep_ms(unsigned milliseconds) {
  struct timespec span = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000L};
  while (nanosleep(&span, &span) != 0)
    continue;
}

void wrap_wait_untold(tbk_instance_t* self, tbk_stream_t* stream) {
  const tbk_fault_ops_t* fault = INNER(self, fault);
  if (INNER(self, stream)->stream_synchronize(self, stream, NULL) == TBK_FAILED && fault != NULL)
    ignore(fault->fault_enqueue(self, stream, TBK_FAULT_WORK_FAILS, NULL));
}

/* What is broken: the reference beside this library, or what the environment names. */
static bool inner_path(char* path, size_t path_bytes) {
  const char* stated = getenv("TBK_MUTANTS_OF");
  Dl_info info;
  if (stated != NULL) return (size_t)snprintf(path, path_bytes, "%s", stated) < path_bytes;
  if (dladdr((void*)(uintptr_t)wrap_inner_entry, &info) == 0) return false;
  const char* slash = strrchr(info.dli_fname, '/');
  const int length = slash == NULL ? 0 : (int)(slash - info.dli_fname + 1);
  snprintf(path, path_bytes, "%.*slibtbk_cpu.so", length, info.dli_fname);
  return true;
}

tbk_backend_create_fn wrap_inner_entry(tbk_error_t* error) {
  char path[4096];
  if (!inner_path(path, sizeof path)) return NULL;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  tbk_backend_create_fn entry = NULL;
  if (library != NULL) *(void**)&entry = dlsym(library, TBK_ENTRY_SYMBOL);
  if (entry == NULL)
    ignore(wrap_fail(error, TBK_FAILED, "the library that is to be broken does not load"));
  return entry;
}

/* Copies a table of the inner backend, as far as both sides know it. */
static void copy_table(void* ours, size_t our_size, const void* theirs) {
  if (theirs == NULL) return;
  size_t size = *(const size_t*)theirs;
  memcpy(ours, theirs, size < our_size ? size : our_size);
  *(size_t*)ours = size < our_size ? size : our_size;
}

static void take_tables(wrap_t* wrap) {
  copy_table(&wrap->backend, sizeof wrap->backend, wrap->inner);
  copy_table(&wrap->core, sizeof wrap->core, wrap->inner->core);
  wrap->backend.core = &wrap->core;
#define TAKE(name, type, needs)                                  \
  copy_table(&wrap->name, sizeof wrap->name, wrap->inner->name); \
  if (wrap->inner->name != NULL) wrap->backend.name = &wrap->name;
  TBK_TABLE_MAP(TAKE)
#undef TAKE
}

static void apply_row(wrap_t* wrap, const mutant_t* row) {
  const size_t patch_count = sizeof row->patches / sizeof *row->patches;
  for (size_t i = 0; i < patch_count && row->patches[i].slot != 0; ++i) {
    memcpy((char*)wrap + row->patches[i].slot, &row->patches[i].function, sizeof(generic_fn));
  }
  const tbk_kernel_t* launching = &wrap->launching;
  if (launching->launch || launching->prepare || launching->launch_plan || launching->plan_destroy)
    wrap->kernel.kernel_find = wrap_kernel_find;
  if (wrap->core.destroy == wrap->inner->core->destroy) wrap->core.destroy = wrap_destroy;
  if (row->install != NULL) row->install(wrap);
}

static instance_memory_t* take_memory(void) {
  pthread_mutex_lock(&wraps_lock);
  wrap_t* wrap = atomic_load(&wraps);
  while (wrap != NULL && atomic_load(&wrap->self) != NULL)
    wrap = wrap->next;
  instance_memory_t* memory = (instance_memory_t*)wrap;
  if (memory == NULL) {
    memory = calloc(1, sizeof *memory);
    if (memory != NULL) {
      pthread_mutex_init(&memory->wrap.lock, NULL);
      memory->wrap.next = atomic_load(&wraps);
      atomic_store(&memory->wrap.self, (tbk_instance_t*)&wraps_lock); /* taken */
      atomic_store(&wraps, &memory->wrap);
    }
  } else {
    /* The list is read without the lock: what links it stays as it is. */
    memset(&wrap->backend, 0, offsetof(wrap_t, inner));
    memset(wrap->kernels, 0, sizeof *wrap - offsetof(wrap_t, kernels));
    atomic_store(&wrap->self, (tbk_instance_t*)&wraps_lock);
  }
  pthread_mutex_unlock(&wraps_lock);
  return memory;
}

/* Returns whether the option is one of rare.c's. */
static bool take_plant(wrap_t* wrap, const char* option) {
  const struct {
    const char* key;
    uint64_t* value;
  } keys[] = {{"one_in=", &wrap->plant.one_in},
              {"chance=", &wrap->plant.chance},
              {"share=", &wrap->plant.share},
              {"many=", &wrap->plant.many},
              {"bytes=", &wrap->plant.bytes}};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
    const size_t length = strlen(keys[i].key);
    if (strncmp(option, keys[i].key, length) != 0) continue;
    const uint64_t value = strtoull(option + length, NULL, 10);
    *keys[i].value = value == 0 ? 1 : value;
    return true;
  }
  return false;
}

/* A file of a row's options is one for all processes of a run: $TMPDIR at its beginning, or /tmp. */
static void add_row_options(char* options, size_t used, const char* more) {
  static const char word[] = "$TMPDIR";
  const char* folder = getenv("TMPDIR");
  const char* at = strstr(more, word);
  const size_t before = at != NULL ? (size_t)(at - more) : strlen(more);
  snprintf(options + used, OPTIONS_LIMIT - used, "%s%.*s%s%s", used == 0 ? "" : ",", (int)before,
           more,
           at == NULL       ? ""
           : folder != NULL ? folder
                            : "/tmp",
           at == NULL ? "" : at + sizeof word - 1);
}

/* The options without "mutant=" and what is of a mutant, then those of the row. */
static void pass_options(instance_memory_t* memory, const char* options, const mutant_t* row) {
  const char* more = row == NULL ? NULL : row->options;
  const bool is_rare = row != NULL && row->kind == RARE;
  char copy[OPTIONS_LIMIT];
  char* rest = NULL;
  snprintf(copy, sizeof copy, "%s", options == NULL ? "" : options);
  memory->options[0] = '\0';
  memory->wrap.plant.one_in = memory->wrap.plant.chance = 1;
  memory->wrap.plant.many = memory->wrap.plant.bytes = 1;
  memory->wrap.plant.share = 100;
  size_t used = 0;
  for (char* part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
    if (strncmp(part, "mutant=", 7) == 0) continue;
    if (is_rare && take_plant(&memory->wrap, part)) continue;
    used += (size_t)snprintf(memory->options + used, OPTIONS_LIMIT - used, "%s%s",
                             used == 0 ? "" : ",", part);
  }
  if (more != NULL) add_row_options(memory->options, used, more);
  memory->host.options = memory->options[0] == '\0' ? NULL : memory->options;
}

tbk_status_t wrap_create(const mutant_t* row, const tbk_host_t* host,
                         const tbk_backend_t** out_backend, tbk_error_t* error) {
  const tbk_backend_create_fn entry = wrap_inner_entry(error);
  if (entry == NULL) return TBK_FAILED;
  const size_t needed = offsetof(tbk_host_t, options) + sizeof host->options;
  if (host == NULL || out_backend == NULL || host->struct_size < needed)
    return entry(host, out_backend, error);
  instance_memory_t* memory = take_memory();
  if (memory == NULL) return wrap_fail(error, TBK_OUT_OF_MEMORY, "no memory for the instance");
  wrap_t* wrap = &memory->wrap;
  memory->host = *host;
  memory->host.struct_size = sizeof memory->host;
  pass_options(memory, host->options, row);
  wrap->host = host;
  wrap->row = row;
  tbk_status_t status = entry(&memory->host, &wrap->inner, error);
  if (status != TBK_OK) {
    atomic_store(&wrap->self, NULL);
    return status;
  }
  take_tables(wrap);
  atomic_store(&wrap->self, wrap->inner->instance);
  wrap->core.destroy = wrap_destroy;
  if (row != NULL) apply_row(wrap, row);
  *out_backend = &wrap->backend;
  return TBK_OK;
}

void wrap_destroy(tbk_instance_t* self) {
  wrap_t* wrap = wrap_of(self);
  void (*destroy)(tbk_instance_t*) = wrap->inner->core->destroy;
  /* Found no more, and not free: another thread's new instance may get this one's address. */
  atomic_store(&wrap->self, (tbk_instance_t*)&wraps_lock);
  destroy(self);
  atomic_store(&wrap->self, NULL);
}

static tbk_status_t plain_launch(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                                 const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  const tbk_kernel_t* inner = ((const kernel_copy_t*)kernel)->inner;
  return inner->launch(self, device, inner, arguments, stream, error);
}

static tbk_status_t plain_prepare(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                                  const void* arguments, tbk_plan_t** out_plan,
                                  uint64_t* out_workspace_bytes, tbk_error_t* error) {
  const tbk_kernel_t* inner = ((const kernel_copy_t*)kernel)->inner;
  return inner->prepare(self, device, inner, arguments, out_plan, out_workspace_bytes, error);
}

static void fill_kernel(wrap_t* wrap, kernel_copy_t* copy, const tbk_kernel_t* inner) {
  const tbk_kernel_t* patches = &wrap->launching;
  copy_table(&copy->table, sizeof copy->table, inner);
  copy->table.launch = patches->launch ? patches->launch : plain_launch;
  if (inner->prepare != NULL) {
    copy->table.prepare = patches->prepare ? patches->prepare : plain_prepare;
    wrap->inner_launch_plan = inner->launch_plan;
    wrap->inner_plan_destroy = inner->plan_destroy;
    if (patches->launch_plan) copy->table.launch_plan = patches->launch_plan;
    if (patches->plan_destroy) copy->table.plan_destroy = patches->plan_destroy;
  }
  copy->inner = inner;
}

const tbk_kernel_t* wrap_kernel_find(tbk_instance_t* self, int32_t device, const char* name,
                                     uint32_t version) {
  wrap_t* wrap = wrap_of(self);
  const tbk_kernel_t* inner = wrap->inner->kernel->kernel_find(self, device, name, version);
  const char* only = wrap->row == NULL ? NULL : wrap->row->kernel;
  if (inner == NULL || (only != NULL && strcmp(only, name) != 0)) return inner;
  const tbk_kernel_t* found = inner;
  pthread_mutex_lock(&wrap->lock);
  for (size_t i = 0; i < WRAP_KERNELS && found == inner; ++i) {
    kernel_copy_t* copy = &wrap->kernels[i];
    if (copy->inner == NULL) {
      copy->device = device;
      snprintf(copy->name, sizeof copy->name, "%s", name);
      fill_kernel(wrap, copy, inner);
    }
    if (copy->inner == inner && copy->device == device && strcmp(copy->name, name) == 0)
      found = &copy->table;
  }
  pthread_mutex_unlock(&wrap->lock);
  return found;
}
