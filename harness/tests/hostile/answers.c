/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * answers.c: the cpu backend with one function that answers what it should not. Options:
 * call=FUNCTION, answer=NUMBER (a status, also one that tbk.h does not name; kernel_find answers
 * the pointer of that value), after=N (the first N calls of a process are answered well; 0). The
 * call itself does not happen. Other options go to the cpu backend.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tbk/tables.h>

static struct {
  char call[64];
  long answer, after;
  atomic_long calls;
  char options[1024];
  tbk_host_t host;
} chosen;

static struct {
  const tbk_core_t* core;
#define INNER_TABLE(name, type, needs) const type* name;
  TBK_TABLE_MAP(INNER_TABLE)
} inner;

static struct {
  tbk_backend_t backend;
  tbk_core_t core;
#define OUTER_TABLE(name, type, needs) type name;
  TBK_TABLE_MAP(OUTER_TABLE)
} outer;

/* A kernel of the cpu backend, which a call takes by its own address. */
typedef struct copied_kernel {
  tbk_kernel_t face;
  const tbk_kernel_t* inner;
  struct copied_kernel* next;
} copied_kernel_t;

static bool is_spoilt(const char* call) {
  return strcmp(call, chosen.call) == 0 && atomic_fetch_add(&chosen.calls, 1) >= chosen.after;
}

/* One body for functions that answer a status, and one for those that answer nothing. */
#define BODY_tbk_status_t(call, function)                       \
  if (is_spoilt(#function)) return (tbk_status_t)chosen.answer; \
  return call;
#define BODY_void(call, function) \
  if (!is_spoilt(#function)) (void)(call);
#define BODY_OF(returns, call, function) BODY_##returns(call, function)
#define BODY(returns, call, function) BODY_OF(returns, call, function)
#define WRAP(table, type, function)                                                        \
  static TBK_RETURNS_##function on_##function TBK_PARAMETERS_##function {                  \
    BODY(TBK_RETURNS_##function, inner.table->function TBK_ARGUMENTS_##function, function) \
  }
#define EACH(X)                                                                             \
  TBK_MANDATORY_core(X) TBK_OPTIONAL_core(X) TBK_MANDATORY_stream(X) TBK_OPTIONAL_stream(X) \
      TBK_MANDATORY_event(X) TBK_OPTIONAL_event(X) TBK_MANDATORY_callback(X)                \
          TBK_MANDATORY_pinned(X) TBK_MANDATORY_peer(X) TBK_MANDATORY_async_memory(X)       \
              TBK_MANDATORY_random(X) TBK_MANDATORY_fault(X)
EACH(WRAP)

static tbk_status_t on_launch TBK_PARAMETERS_launch {
  if (is_spoilt("launch")) return (tbk_status_t)chosen.answer;
  kernel = ((const copied_kernel_t*)(const void*)kernel)->inner;
  return kernel->launch TBK_ARGUMENTS_launch;
}

static tbk_status_t on_prepare TBK_PARAMETERS_prepare {
  if (is_spoilt("prepare")) return (tbk_status_t)chosen.answer;
  kernel = ((const copied_kernel_t*)(const void*)kernel)->inner;
  return kernel->prepare TBK_ARGUMENTS_prepare;
}

static _Atomic(copied_kernel_t*) kernels;

/* The same kernel each time; two threads that ask first at once may get two. */
static const tbk_kernel_t* face_of(const tbk_kernel_t* kernel) {
  copied_kernel_t* first = atomic_load(&kernels);
  for (copied_kernel_t* copy = first; copy != NULL; copy = copy->next)
    if (copy->inner == kernel) return &copy->face;
  copied_kernel_t* copy = calloc(1, sizeof *copy);
  if (copy == NULL) abort();
  memcpy(&copy->face, kernel,
         kernel->struct_size < sizeof copy->face ? kernel->struct_size : sizeof copy->face);
  copy->inner = kernel;
  copy->face.launch = on_launch;
  if (copy->face.prepare != NULL) copy->face.prepare = on_prepare;
  copy->next = first;
  while (!atomic_compare_exchange_weak(&kernels, &copy->next, copy))
    continue;
  return &copy->face;
}

static const tbk_kernel_t* on_kernel_find TBK_PARAMETERS_kernel_find {
  if (is_spoilt("kernel_find")) return (const tbk_kernel_t*)(intptr_t)chosen.answer;
  const tbk_kernel_t* kernel = inner.kernel->kernel_find TBK_ARGUMENTS_kernel_find;
  return kernel == NULL ? NULL : face_of(kernel);
}

static void take_option(const char* part, size_t* used) {
  if (strncmp(part, "call=", 5) == 0) {
    snprintf(chosen.call, sizeof chosen.call, "%s", part + 5);
  } else if (strncmp(part, "answer=", 7) == 0) {
    chosen.answer = atol(part + 7);
  } else if (strncmp(part, "after=", 6) == 0) {
    chosen.after = atol(part + 6);
  } else {
    *used += (size_t)snprintf(chosen.options + *used, sizeof chosen.options - *used, "%s%s",
                              *used == 0 ? "" : ",", part);
  }
}

static void take_options(const char* options) {
  char copy[sizeof chosen.options];
  char* rest = NULL;
  size_t used = 0;
  snprintf(copy, sizeof copy, "%s", options == NULL ? "" : options);
  chosen.options[0] = '\0';
  for (char* part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest))
    take_option(part, &used);
  chosen.host.options = used == 0 ? NULL : chosen.options;
}

/* The cpu backend lies one folder up. */
static tbk_backend_create_fn cpu_entry(void) {
  char path[4096];
  Dl_info info;
  if (dladdr((void*)&chosen, &info) == 0) return NULL;
  const char* slash = strrchr(info.dli_fname, '/');
  const int length = slash == NULL ? 0 : (int)(slash - info.dli_fname + 1);
  snprintf(path, sizeof path, "%.*s../libtbk_cpu.so", length, info.dli_fname);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  tbk_backend_create_fn entry = NULL;
  if (library != NULL) *(void**)&entry = dlsym(library, TBK_ENTRY_SYMBOL);
  return entry;
}

static void copy_tables(const tbk_backend_t* backend) {
  outer.backend = *backend;
  inner.core = backend->core;
  outer.core = *backend->core;
  outer.backend.core = &outer.core;
#define COPY_TABLE(name, type, needs) \
  inner.name = backend->name;         \
  if (backend->name != NULL) {        \
    outer.name = *backend->name;      \
    outer.backend.name = &outer.name; \
  }
  TBK_TABLE_MAP(COPY_TABLE)
#define PUT(table, type, function) \
  if (outer.table.function != NULL) outer.table.function = on_##function;
  EACH(PUT)
  outer.kernel.kernel_find = on_kernel_find;
}

TBK_EXPORT tbk_status_t tbk_backend_create(const tbk_host_t* host,
                                           const tbk_backend_t** out_backend, tbk_error_t* error) {
  const tbk_backend_create_fn entry = cpu_entry();
  const size_t needed = offsetof(tbk_host_t, options) + sizeof host->options;
  if (entry == NULL) return TBK_FAILED;
  if (host == NULL || out_backend == NULL || host->struct_size < needed)
    return entry(host, out_backend, error);
  chosen.host = *host;
  chosen.host.struct_size = sizeof chosen.host;
  take_options(host->options);
  const tbk_backend_t* backend = NULL;
  tbk_status_t status = entry(&chosen.host, &backend, error);
  if (status != TBK_OK) return status;
  copy_tables(backend);
  outer.backend.instance = backend->instance;
  *out_backend = malloc(sizeof outer.backend);
  if (*out_backend == NULL) abort();
  memcpy((void*)(uintptr_t)*out_backend, &outer.backend, sizeof outer.backend);
  return TBK_OK;
}
