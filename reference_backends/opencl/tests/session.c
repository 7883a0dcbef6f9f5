/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * session.c: what a host does with a backend. A step that fails is over, and the next one begins; as
 * long as no error was told, all bytes must be right.
 */
#include "session.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <tbk/tbk_operators.h>
#include <time.h>

enum { SIZE = 4096, SIDE = 4, PRODUCT_BYTES = SIDE * SIDE * sizeof(float) };

/* What commands of the host's memory refer to: it outlives every one of them. */
static uint8_t sent[SIZE], received[SIZE];
static atomic_int calls_run;

static void say_wrong(session_t* session, const char* what, const char* why) {
  if (session->wrong[0] == '\0')
    snprintf(session->wrong, sizeof session->wrong, "%s: %s", what, why);
}

static void tell(void* context, int32_t level, const char* message) {
  session_t* session = context;
  const size_t used = strlen(session->told);
  if (level >= TBK_LOG_WARNING)
    snprintf(session->told + used, sizeof session->told - used, "%s\n", message);
}

/* Whether the call went well; what it says where it did not. */
static bool ok(session_t* session, tbk_status_t status, const char* what) {
  if (status == TBK_OK) return true;
  if (status < 0 || status >= TBK_STATUS_COUNT) say_wrong(session, what, "no status");
  if (status == TBK_INVALID || status == TBK_INVALID_STATE)
    say_wrong(session, what, "the host is blamed");
  if (session->error.message[0] == '\0') say_wrong(session, what, "an error without a message");
  tell(session, TBK_LOG_WARNING, session->error.message);
  session->error.message[0] = '\0';
  return false;
}

/* Judges only what no error was told about. */
static void expect(session_t* session, bool right, const char* what) {
  if (!right && session->told[0] == '\0') say_wrong(session, what, "wrong, and no error was told");
}

static tbk_stream_t* new_stream(session_t* session) {
  tbk_stream_t* stream = NULL;
  ok(session,
     session->backend->stream->stream_create(session->self, 0, 0, &stream, &session->error),
     "stream_create");
  return stream;
}

static void synchronize(session_t* session, tbk_stream_t* stream) {
  ok(session, session->backend->stream->stream_synchronize(session->self, stream, &session->error),
     "stream_synchronize");
}

static tbk_memory_t new_memory(session_t* session, uint64_t size) {
  tbk_memory_t memory = 0;
  ok(session,
     session->backend->core->memory_alloc(session->self, 0, size, &memory, &session->error),
     "memory_alloc");
  return memory;
}

static void free_memory(session_t* session, tbk_memory_t memory) {
  ok(session, session->backend->core->memory_free(session->self, 0, memory, &session->error),
     "memory_free");
}

static bool upload(session_t* session, tbk_memory_t memory, const void* source, uint64_t size,
                   tbk_stream_t* stream) {
  return ok(session,
            session->backend->core->upload(session->self, 0, memory, 0, source, size, stream,
                                           &session->error),
            "upload");
}

static bool download(session_t* session, void* to, tbk_memory_t memory, uint64_t size,
                     tbk_stream_t* stream) {
  return ok(session,
            session->backend->core->download(session->self, 0, to, memory, 0, size, stream,
                                             &session->error),
            "download");
}

/* Up, a fill of the first half, a copy, and down again: on `stream`, or without one. */
static void move(session_t* session, tbk_memory_t first, tbk_memory_t second,
                 tbk_stream_t* stream) {
  const tbk_core_t* core = session->backend->core;
  uint8_t expected[SIZE];
  for (int i = 0; i < SIZE; i++)
    sent[i] = (uint8_t)(i * 7 + 1);
  memcpy(expected, sent, SIZE);
  memset(expected, 0x5A, SIZE / 2);
  memset(received, 0, SIZE);
  upload(session, first, sent, SIZE, stream);
  ok(session, core->fill(session->self, 0, first, 0, 0x5A, SIZE / 2, stream, &session->error),
     "fill");
  ok(session, core->copy(session->self, 0, second, 0, first, 0, SIZE, stream, &session->error),
     "copy");
  download(session, received, second, SIZE, stream);
  if (stream != NULL) synchronize(session, stream);
  expect(session, memcmp(received, expected, SIZE) == 0, "the bytes that come back");
}

static void use_memory(session_t* session) {
  uint64_t unused, total;
  tbk_memory_t first = new_memory(session, SIZE), second = new_memory(session, SIZE);
  tbk_stream_t* stream = new_stream(session);
  ok(session,
     session->backend->core->memory_info(session->self, 0, &unused, &total, &session->error),
     "memory_info");
  if (first != 0 && second != 0) move(session, first, second, NULL);
  if (first != 0 && second != 0 && stream != NULL) move(session, first, second, stream);
  session->backend->stream->stream_destroy(session->self, stream);
  free_memory(session, first);
  free_memory(session, second);
}

/* Asks until it is told something else, for ten seconds. */
static void await(session_t* session, tbk_event_t* event, tbk_stream_t* stream) {
  const struct timespec pause = {.tv_nsec = 1000000};
  tbk_status_t status = TBK_NOT_READY;
  for (int i = 0; i < 10000 && status == TBK_NOT_READY; i++) {
    status = event != NULL
                 ? session->backend->event->event_query(session->self, event, &session->error)
                 : session->backend->stream->stream_query(session->self, stream, &session->error);
    if (status == TBK_NOT_READY) nanosleep(&pause, NULL);
  }
  if (status == TBK_NOT_READY) say_wrong(session, "a query", "never comes to an end");
  ok(session, status, "a query");
}

static tbk_event_t* new_event(session_t* session) {
  tbk_event_t* event = NULL;
  ok(session,
     session->backend->event->event_create(session->self, 0, TBK_EVENT_TIMING, &event,
                                           &session->error),
     "event_create");
  return event;
}

/* Two events, work between them, and another stream behind the second. */
static void order(session_t* session, tbk_stream_t* stream, tbk_stream_t* other, tbk_event_t* start,
                  tbk_event_t* end, tbk_memory_t memory) {
  const tbk_event_ops_t* ops = session->backend->event;
  double elapsed = -1;
  memset(received, 0, SIZE);
  bool recorded =
      ok(session, ops->event_record(session->self, start, stream, &session->error), "event_record");
  upload(session, memory, sent, SIZE, stream);
  recorded &=
      ok(session, ops->event_record(session->self, end, stream, &session->error), "event_record");
  ok(session, ops->event_wait(session->self, other, end, &session->error), "event_wait");
  download(session, received, memory, SIZE, other);
  await(session, end, NULL);
  await(session, NULL, other);
  ok(session, ops->event_synchronize(session->self, end, &session->error), "event_synchronize");
  synchronize(session, other);
  if (recorded)
    ok(session, ops->event_elapsed(session->self, start, end, &elapsed, &session->error),
       "event_elapsed");
  expect(session, memcmp(received, sent, SIZE) == 0, "what a stream sees behind an event");
  expect(session, elapsed >= 0, "the time between two events");
}

static void use_events(session_t* session) {
  tbk_stream_t *stream = new_stream(session), *other = new_stream(session);
  tbk_event_t *start = new_event(session), *end = new_event(session);
  tbk_memory_t memory = new_memory(session, SIZE);
  if (stream != NULL && other != NULL && start != NULL && end != NULL && memory != 0)
    order(session, stream, other, start, end, memory);
  session->backend->event->event_destroy(session->self, start);
  session->backend->event->event_destroy(session->self, end);
  session->backend->stream->stream_destroy(session->self, stream);
  session->backend->stream->stream_destroy(session->self, other);
  free_memory(session, memory);
}

static void run_call(void* argument) {
  (void)argument;
  calls_run++;
}

/* How many calls were enqueued. */
static int use_callbacks(session_t* session) {
  tbk_stream_t* stream = new_stream(session);
  int enqueued = 0;
  for (int i = 0; i < 3 && stream != NULL; i++)
    enqueued += ok(session,
                   session->backend->callback->callback_enqueue(session->self, stream, run_call,
                                                                NULL, &session->error),
                   "callback_enqueue");
  if (stream != NULL) synchronize(session, stream);
  expect(session, calls_run == enqueued, "the number of calls after stream_synchronize");
  session->backend->stream->stream_destroy(session->self, stream);
  return enqueued;
}

static void use_pinned(session_t* session) {
  const tbk_pinned_ops_t* ops = session->backend->pinned;
  void* pointer = NULL;
  tbk_memory_t memory = new_memory(session, SIZE);
  if (ok(session, ops->pinned_alloc(session->self, 0, SIZE, &pointer, &session->error),
         "pinned_alloc") &&
      memory != 0) {
    memset(pointer, 0x33, SIZE);
    upload(session, memory, pointer, SIZE, NULL);
    download(session, received, memory, SIZE, NULL);
    expect(session, received[0] == 0x33 && received[SIZE - 1] == 0x33, "bytes of pinned memory");
  }
  ops->pinned_free(session->self, pointer);
  free_memory(session, memory);
}

static tbk_tensor_t matrix(tbk_memory_t memory) {
  static const int64_t sizes[] = {SIDE, SIDE}, strides[] = {SIDE, 1};
  return (tbk_tensor_t){.struct_size = sizeof(tbk_tensor_t),
                        .memory = memory,
                        .storage_bytes = PRODUCT_BYTES,
                        .dtype = TBK_FLOAT32,
                        .rank = 2,
                        .sizes = sizes,
                        .strides = strides};
}

static bool launch(session_t* session, const char* name, uint32_t version, const void* arguments) {
  const tbk_kernel_t* kernel =
      session->backend->kernel->kernel_find(session->self, 0, name, version);
  expect(session, kernel != NULL, name);
  return kernel != NULL &&
         ok(session, kernel->launch(session->self, 0, kernel, arguments, NULL, &session->error),
            "launch");
}

/* self = self + self, by a plan. */
static bool add_by_plan(session_t* session, const tbk_args_add_Tensor_t* arguments) {
  const tbk_kernel_t* kernel = session->backend->kernel->kernel_find(
      session->self, 0, TBK_NAME_add_Tensor, TBK_VERSION_add_Tensor);
  tbk_plan_t* plan = NULL;
  uint64_t workspace = 0;
  if (kernel == NULL ||
      !ok(session,
          kernel->prepare(session->self, 0, kernel, arguments, &plan, &workspace, &session->error),
          "prepare"))
    return false;
  const bool done = ok(
      session, kernel->launch_plan(session->self, 0, plan, arguments, 0, 0, NULL, &session->error),
      "launch_plan");
  kernel->plan_destroy(session->self, plan);
  return done;
}

/* All ones: 1, added to itself twice, is 4; the product of that with itself, in place, 64. */
static void compute(session_t* session, tbk_memory_t memory) {
  const tbk_generator_t generator = {.seed = 1};
  float values[SIDE * SIDE];
  for (int i = 0; i < SIDE * SIDE; i++)
    values[i] = 1;
  tbk_tensor_t tensor = matrix(memory);
  const tbk_args_add_Tensor_t sum = {
      sizeof sum, &tensor, &tensor, {TBK_SCALAR_INT, 1, 0, 0}, &tensor};
  const tbk_args_mm_t product = {sizeof product, &tensor, &tensor, &tensor};
  upload(session, memory, values, sizeof values, NULL);
  launch(session, TBK_NAME_add_Tensor, TBK_VERSION_add_Tensor, &sum);
  add_by_plan(session, &sum);
  launch(session, TBK_NAME_mm, TBK_VERSION_mm, &product);
  download(session, values, memory, sizeof values, NULL);
  expect(session, values[0] == 64 && values[SIDE * SIDE - 1] == 64, "what kernels compute");
  ok(session,
     session->backend->random->random_bits(session->self, 0, &generator, memory, 0, SIDE * SIDE,
                                           NULL, &session->error),
     "random_bits");
}

static void use_kernels(session_t* session) {
  tbk_memory_t memory = new_memory(session, PRODUCT_BYTES);
  if (memory != 0) compute(session, memory);
  free_memory(session, memory);
}

/* Closes the device over what is still there, and gives that back afterwards. */
static void close_device(session_t* session) {
  tbk_stream_t* stream = new_stream(session);
  tbk_event_t* event = new_event(session);
  tbk_memory_t memory = new_memory(session, SIZE);
  if (stream != NULL && event != NULL)
    ok(session,
       session->backend->event->event_record(session->self, event, stream, &session->error),
       "event_record");
  if (stream != NULL && memory != 0) upload(session, memory, sent, SIZE, stream);
  ok(session, session->backend->core->device_close(session->self, 0, &session->error),
     "device_close");
  session->backend->stream->stream_destroy(session->self, stream);
  session->backend->event->event_destroy(session->self, event);
  free_memory(session, memory);
}

static void use_device(session_t* session, bool kernels) {
  const tbk_core_t* core = session->backend->core;
  if (!ok(session, core->device_open(session->self, 0, &session->error), "device_open")) return;
  calls_run = 0;
  if (kernels) {
    use_kernels(session);
    close_device(session);
    return;
  }
  use_memory(session);
  use_events(session);
  const int enqueued = use_callbacks(session);
  use_pinned(session);
  close_device(session);
  if (calls_run != enqueued) say_wrong(session, "callbacks", "not each that was enqueued ran once");
}

void session_run(session_t* session, session_create_fn create, const char* options, bool kernels) {
  memset(session, 0, sizeof *session);
  const tbk_host_t host = {.struct_size = sizeof host,
                           .abi_version = TBK_ABI_VERSION,
                           .context = session,
                           .log = tell,
                           .options = options};
  if (!ok(session, create(&host, &session->backend, &session->error), "create")) return;
  session->self = session->backend->instance;
  const tbk_core_t* core = session->backend->core;
  ok(session, core->device_count(session->self, &session->device_count, &session->error),
     "device_count");
  if (session->device_count > 0) use_device(session, kernels);
  core->destroy(session->self);
}
