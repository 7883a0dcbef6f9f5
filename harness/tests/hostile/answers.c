/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * answers.c: the cpu backend with one function that answers what it should not. Options:
 * call=FUNCTION, answer=NUMBER (a status, also one that tbk.h does not name; kernel_find answers
 * the pointer of that value), after=N (the first N calls of a process are answered well; 0). The
 * call itself does not happen. Other options go to the cpu backend.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tbk/tables.h>

#include "forward.h"

static struct {
  char call[64];
  long answer, after;
  atomic_long calls;
  forward_t forward;
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

static bool take_option(const char* part) {
  if (strncmp(part, "call=", 5) == 0) {
    snprintf(chosen.call, sizeof chosen.call, "%s", part + 5);
  } else if (strncmp(part, "answer=", 7) == 0) {
    chosen.answer = atol(part + 7);
  } else if (strncmp(part, "after=", 6) == 0) {
    chosen.after = atol(part + 6);
  } else {
    return false;
  }
  return true;
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
  const tbk_backend_create_fn entry = forward_entry("libtbk_cpu.so");
  if (entry == NULL) return TBK_FAILED;
  if (out_backend == NULL || !forward_can_read(host)) return entry(host, out_backend, error);
  forward_begin(&chosen.forward, host, take_option);
  const tbk_backend_t* backend = NULL;
  tbk_status_t status = entry(&chosen.forward.host, &backend, error);
  if (status != TBK_OK) return status;
  copy_tables(backend);
  outer.backend.instance = backend->instance;
  *out_backend = malloc(sizeof outer.backend);
  if (*out_backend == NULL) abort();
  memcpy((void*)(uintptr_t)*out_backend, &outer.backend, sizeof outer.backend);
  return TBK_OK;
}
