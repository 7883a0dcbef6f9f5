/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * scenario.c: a program that uses each function of the backend, on two devices, and goes on whatever
 * fails, as one does who gives back what he has.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tbk/tbk_operators.h>

#include "faults.h"

enum { SIZE = 1024 };

static fault_run_t* run;
static const tbk_backend_t* of;
static tbk_instance_t* self;
static fault_caller_t caller;
tbk_error_t fault_error;

tbk_status_t fault_note(const char* call, tbk_status_t status) {
  if (run->count < FAULT_STEPS) {
    bool told =
        memchr(fault_error.message, '\0', sizeof fault_error.message) != fault_error.message;
    run->steps[run->count++] = (fault_step_t){call, status, told};
  }
  fault_error.message[0] = '\0';
  return status;
}

#define STEP(table, function, ...) FAULT_STEP(of, table, function, __VA_ARGS__)

static void keep_log(void* context, int32_t level, const char* message) {
  (void)level;
  ((fault_run_t*)context)->warned = message[0] != '\0';
}

static void nothing(void* argument) {
  (void)argument;
}

typedef struct held {
  tbk_memory_t memory[2];
  tbk_memory_t elsewhere;
  tbk_stream_t* stream[2];
  tbk_event_t* event[2];
  void* pinned[2];
} held_t;

static void ask_for_too_much(uint64_t bytes) {
  tbk_memory_t none;
  tbk_status_t status = of->core->memory_alloc(self, 0, bytes, &none, &fault_error);
  (void)fault_note("memory_alloc", status == TBK_OUT_OF_MEMORY ? TBK_OK : status);
}

static void take(held_t* held, uint64_t total_bytes) {
  for (int i = 0; i < 2; i++) {
    (void)STEP(core, memory_alloc, 0, SIZE, &held->memory[i]);
    (void)STEP(stream, stream_create, 0, 0, &held->stream[i]);
    (void)STEP(event, event_create, 0, TBK_EVENT_TIMING, &held->event[i]);
    (void)STEP(pinned, pinned_alloc, 0, SIZE, &held->pinned[i]);
  }
  (void)STEP(core, memory_alloc, 1, SIZE, &held->elsewhere);
  /* An error of the backend's own, for the text of which it asks the driver. */
  ask_for_too_much(UINT64_MAX);
  if (caller.is_refused && held->memory[0] != 0) ask_for_too_much(total_bytes);
}

static void work_on_memory(const held_t* held) {
  static char bytes[SIZE];
  const tbk_memory_t* m = held->memory;
  if (m[0] == 0 || m[1] == 0) return;
  for (int i = 0; i < 2; i++) {
    tbk_stream_t* stream = i == 0 ? NULL : held->stream[0];
    (void)STEP(core, upload, 0, m[0], 0, bytes, SIZE, stream);
    (void)STEP(core, fill, 0, m[0], 0, 7, SIZE, stream);
    (void)STEP(core, copy, 0, m[1], 0, m[0], 0, SIZE, stream);
    (void)STEP(core, download, 0, bytes, m[1], 0, SIZE, stream);
    if (held->elsewhere != 0)
      (void)STEP(peer, peer_copy, 1, held->elsewhere, 0, 0, m[0], 0, SIZE, stream);
  }
}

static void work_on_streams(const held_t* held) {
  tbk_stream_t* const* s = held->stream;
  tbk_event_t* const* e = held->event;
  double milliseconds;
  for (int i = 0; i < 2; i++) {
    if (s[i] == NULL || e[i] == NULL || s[!i] == NULL) continue;
    (void)STEP(callback, callback_enqueue, s[i], nothing, NULL);
    (void)STEP(event, event_record, e[i], s[i]);
    (void)STEP(event, event_wait, s[!i], e[i]);
    (void)STEP(event, event_synchronize, e[i]);
    (void)STEP(stream, stream_synchronize, s[i]);
    (void)STEP(stream, stream_synchronize, s[!i]);
    (void)STEP(event, event_query, e[i]);
    (void)STEP(stream, stream_query, s[!i]);
  }
  for (int i = 0; i < 2 && e[0] != NULL && e[1] != NULL; i++)
    (void)STEP(event, event_elapsed, e[0], e[1], &milliseconds);
  for (int i = 0; i < 2 && s[0] != NULL && e[i] != NULL; i++)
    (void)STEP(event, event_record, e[i], s[0]); /* both on one stream now */
  (void)STEP(stream, device_synchronize, 0);
  if (e[0] != NULL && e[1] != NULL) (void)STEP(event, event_elapsed, e[0], e[1], &milliseconds);
}

/* A product into one of its factors, 8 by 8 floats: it takes memory in the order of the stream. */
static void multiply_in_place(const held_t* held) {
  static const int64_t sizes[2] = {8, 8}, strides[2] = {8, 1};
  const tbk_tensor_t all = {sizeof all, held->memory[0], SIZE, 0, TBK_FLOAT32, 2, sizes, strides};
  const tbk_args_mm_t arguments = {sizeof arguments, &all, &all, &all};
  if (of->kernel == NULL || held->memory[0] == 0) return;
  const tbk_kernel_t* mm = of->kernel->kernel_find(self, 0, TBK_NAME_mm, TBK_VERSION_mm);
  strcpy(fault_error.message, mm != NULL ? "" : "?"); /* offered where nothing fails */
  if (fault_note("kernel_find", mm != NULL ? TBK_OK : TBK_FAILED) != TBK_OK) return;
  (void)fault_note("mm in place",
                   mm->launch(self, 0, mm, &arguments, held->stream[0], &fault_error));
}

static void take_in_order(const held_t* held) {
  tbk_memory_t memory = 0;
  if (of->async_memory == NULL || held->stream[0] == NULL) return;
  if (STEP(async_memory, async_alloc, held->stream[0], SIZE, &memory) == TBK_OK)
    (void)STEP(async_memory, async_free, held->stream[0], memory);
  if (fault_with_kernels) multiply_in_place(held);
}

static void give_back(held_t* held) {
  for (int i = 0; i < 2; i++) {
    (void)STEP(core, memory_free, 0, held->memory[i]);
    of->stream->stream_destroy(self, held->stream[i]);
    of->event->event_destroy(self, held->event[i]);
    of->pinned->pinned_free(self, held->pinned[i]);
  }
  (void)STEP(core, memory_free, 1, held->elsewhere);
}

static void use(void) {
  uint64_t free_bytes, total_bytes = 0;
  int32_t can;
  held_t held = {{0}, 0, {NULL}, {NULL}, {NULL}};
  bool open[2];
  for (int32_t i = 0; i < 2; i++)
    open[i] = STEP(core, device_open, i) == TBK_OK;
  if (open[0] && open[1]) {
    for (int i = 0; i < 2; i++) {
      (void)STEP(core, memory_info, i, &free_bytes, &total_bytes); /* both have as much */
      (void)STEP(peer, peer_can_access, 0, 1, &can);
    }
    take(&held, total_bytes);
    work_on_memory(&held);
    take_in_order(&held);
    work_on_streams(&held);
    if (fault_with_kernels && held.memory[0] != 0 && held.memory[1] != 0)
      fault_kernels(of, held.memory, held.stream[0]);
    for (int i = 0; i < 2; i++)
      (void)STEP(stream, device_synchronize, 0);
    give_back(&held);
  }
  for (int32_t n = 0; n < 2; n++) {
    const int32_t i = caller.is_entered ? 1 - n : n; /* that of the caller's context first */
    if (open[i]) (void)STEP(core, device_close, i);
  }
}

void fault_scenario(const char* backend, const char* options, fault_caller_t as, fault_run_t* out) {
  tbk_backend_create_fn create;
  run = out, caller = as;
  void* library = dlopen(backend, RTLD_NOW | RTLD_LOCAL);
  void* address = library != NULL ? dlsym(library, TBK_ENTRY_SYMBOL) : NULL;
  if (address == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    _Exit(125);
  }
  memcpy(&create, &address, sizeof create);
  const tbk_host_t host = {sizeof host, TBK_ABI_VERSION, out, keep_log, options};
  int32_t count = 0;
  if (fault_note("tbk_backend_create", create(&host, &of, &fault_error)) != TBK_OK) return;
  self = of->instance;
  (void)STEP(core, device_count, &count);
  tbk_device_properties_t properties = {.struct_size = sizeof properties};
  for (int32_t i = 0; i < count && i < 2; i++)
    (void)STEP(core, device_properties, i, &properties);
  if (count >= 2) use();
  of->core->destroy(self);
}
