/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which call of all calls: every function in the map of tables is called on a lost device, with
 * valid arguments, which are variables under the header's own parameter names. A function that is
 * added to the header is called here as well, or this file does not compile.
 */
#include <stdint.h>
#include <string.h>

#include <tbk/tables.h>

#include "operation.h"

typedef struct lost {
  tbk_memory_t memory, other, space;
  tbk_stream_t* stream;
  tbk_event_t *event, *end;
  void* native;
  operation_t operation;
  tbk_plan_t* plan;
  uint64_t bytes;
  uint8_t* host;
} lost_t;

enum { NOT_FALLIBLE = -0x7B02 };

static void never(void* argument) {
  (void)argument;
}

/* `source` and `destination` lie on the host where bytes go between host and device. */
#define SOURCE_OF(entry)                                  \
  _Generic((entry), tbk_status_t(*) TBK_PARAMETERS_upload \
           : (const void*)lost->host, default             \
           : lost->memory)
#define DESTINATION_OF(entry)                               \
  _Generic((entry), tbk_status_t(*) TBK_PARAMETERS_download \
           : (void*)lost->host, default                     \
           : lost->other)

/* What is not of one type in all functions is given by `entry`. */
#define ARGUMENTS(entry)                                                                          \
  tbk_instance_t* self = fx->self;                                                                \
  int32_t device = fx->device, peer = fx->device, priority = 0, can = 0, devices = 0;             \
  int32_t destination_device = fx->device, source_device = fx->device;                            \
  int32_t kind = TBK_FAULT_WORK_FAILS, *out_can = &can, *out_count = &devices;                    \
  uint32_t flags = 0;                                                                             \
  uint64_t size_bytes = lost->bytes, offset = 0, destination_offset = 0, source_offset = 0;       \
  uint64_t count = lost->bytes / 4, workspace_offset = 0, bytes = 0, more = 0;                    \
  uint64_t *out_workspace_bytes = &bytes, *out_free_bytes = &bytes, *out_total_bytes = &more;     \
  uint8_t value = 1;                                                                              \
  double ms = 0, *out_ms = &ms;                                                                   \
  void *place = NULL, **out_native = &place, **out_pointer = &place, *native = lost->native;      \
  void *argument = NULL, *pointer = NULL;                                                         \
  tbk_callback_fn function = never;                                                               \
  tbk_generator_t state = {1, 0}, *generator = &state;                                            \
  tbk_device_properties_t properties = {.struct_size = sizeof properties};                        \
  tbk_device_properties_t* out_properties = &properties;                                          \
  tbk_memory_t memory = lost->memory, made = 0, *out_memory = &made, workspace = lost->space;     \
  tbk_stream_t *stream = lost->stream, *a_stream = NULL, **out_stream = &a_stream;                \
  tbk_event_t *event = lost->event, *start = lost->event, *end = lost->end;                       \
  tbk_event_t *an_event = NULL, **out_event = &an_event;                                          \
  tbk_plan_t *plan = lost->plan, *a_plan = NULL, **out_plan = &a_plan;                            \
  const tbk_kernel_t* kernel = lost->operation.kernel;                                            \
  const void* arguments = lost->operation.wire != NULL ? &lost->operation.wire->arguments : NULL; \
  tbk_error_t* error = &fx->error;                                                                \
  const char* name = "copy_";                                                                     \
  uint32_t version = 1;                                                                           \
  __auto_type source = SOURCE_OF(entry);                                                          \
  __auto_type destination = DESTINATION_OF(entry)

#define IS_FALLIBLE(function) __builtin_types_compatible_p(TBK_RETURNS_##function, tbk_status_t)

#define CALL_ENTRY(function, entry)                                                      \
  static tbk_status_t call_##function(tbk_fixture_t* fx, lost_t* lost) {                 \
    ARGUMENTS(entry);                                                                    \
    return __builtin_choose_expr(IS_FALLIBLE(function), (entry)TBK_ARGUMENTS_##function, \
                                 NOT_FALLIBLE);                                          \
  }
#define CALL(table, type, function) CALL_ENTRY(function, fx->table->function)
#define CALL_OF(table, type, needs) TBK_MANDATORY_##table(CALL) TBK_OPTIONAL_##table(CALL)

/* Each function takes some of the arguments. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"
CALL_OF(core, tbk_core_t, "")
TBK_TABLE_MAP(CALL_OF)
CALL_ENTRY(launch, kernel->launch)
CALL_ENTRY(prepare, kernel->prepare)
CALL_ENTRY(launch_plan, kernel->launch_plan)
#pragma GCC diagnostic pop

typedef struct row {
  const char *table, *function;
  bool fallible;
  bool (*offered)(const tbk_fixture_t* fx, const lost_t* lost);
  tbk_status_t (*call)(tbk_fixture_t* fx, lost_t* lost);
} row_t;

#define OFFERED(table, type, function)                                          \
  static bool offered_##function(const tbk_fixture_t* fx, const lost_t* lost) { \
    (void)lost;                                                                 \
    return TBK_HAS(fx->table, type, function) != 0;                             \
  }
#define OFFERED_OF(table, type, needs) TBK_MANDATORY_##table(OFFERED) TBK_OPTIONAL_##table(OFFERED)
OFFERED_OF(core, tbk_core_t, "")
TBK_TABLE_MAP(OFFERED_OF)

static bool offered_launch(const tbk_fixture_t* fx, const lost_t* lost) {
  (void)fx;
  return lost->operation.kernel != NULL;
}

static bool offered_plan(const tbk_fixture_t* fx, const lost_t* lost) {
  (void)fx;
  return lost->plan != NULL;
}

#define ROW(table, type, function) \
  {#table, #function, IS_FALLIBLE(function), offered_##function, call_##function},
#define ROWS_OF(table, type, needs) TBK_MANDATORY_##table(ROW) TBK_OPTIONAL_##table(ROW)

static const row_t rows[] = {ROWS_OF(core, tbk_core_t, "") TBK_TABLE_MAP(ROWS_OF){
                                 "kernel", "launch", true, offered_launch, call_launch},
                             {"kernel", "prepare", true, offered_plan, call_prepare},
                             {"kernel", "launch_plan", true, offered_plan, call_launch_plan}};

/*
 * What is not said of a lost device: how devices are counted, described, opened and closed, whether
 * one reaches another, and giving back, which always succeeds.
 */
static bool is_exempt(const row_t* row) {
  const char* end = row->function + strlen(row->function);
  bool of_devices = strcmp(row->table, "core") == 0 && strncmp(row->function, "device_", 7) == 0;
  bool gives_back = end - row->function > 5 && strcmp(end - 5, "_free") == 0;
  return !row->fallible || of_devices || gives_back || strstr(row->function, "_can_") != NULL;
}

/* The first operator that has a plan, or else the first that is offered. */
static void make_operation(tbk_fixture_t* fx, lost_t* lost) {
  uint64_t workspace_bytes = 0;
  for (int id = 0; fx->kernel != NULL && id < OPERATORS && lost->plan == NULL; id++) {
    const tbk_kernel_t* kernel = operation_find(fx, (operator_id_t)id);
    bool prepares = TBK_HAS(kernel, tbk_kernel_t, prepare) != 0;
    if (kernel == NULL || (lost->operation.kernel != NULL && !prepares)) continue;
    operation_make_plain(fx, &lost->operation, (operator_id_t)id);
    if (prepares && kernel->prepare(fx->self, fx->device, kernel, &lost->operation.wire->arguments,
                                    &lost->plan, &workspace_bytes, &fx->error) != TBK_OK)
      lost->plan = NULL;
  }
  lost->space = fx_alloc(fx, workspace_bytes > 0 ? workspace_bytes : lost->bytes);
}

static lost_t* make_lost(tbk_fixture_t* fx) {
  lost_t* lost = (lost_t*)(void*)fx_zeros(fx, sizeof *lost);
  lost->bytes = fx_round(fx, 256);
  lost->host = fx_bytes(fx, lost->bytes);
  lost->memory = fx_alloc_with(fx, lost->host, lost->bytes);
  lost->other = fx_alloc(fx, lost->bytes);
  lost->stream = fx_stream(fx);
  if (fx->event != NULL) {
    lost->event = fx_event(fx, TBK_EVENT_TIMING);
    lost->end = fx_event(fx, TBK_EVENT_TIMING);
    REQUIRE_OK(fx->event->event_record(fx->self, lost->event, lost->stream, &fx->error));
    REQUIRE_OK(fx->event->event_record(fx->self, lost->end, lost->stream, &fx->error));
  }
  if (TBK_HAS(fx->stream, tbk_stream_ops_t, stream_native_handle))
    REQUIRE_OK(fx->stream->stream_native_handle(fx->self, lost->stream, &lost->native, &fx->error));
  make_operation(fx, lost);
  fx_synchronize(fx, lost->stream);
  return lost;
}

/* Twice around: that it stays lost is true after every other call. */
static void every_function_tells_that_the_device_is_lost(tbk_fixture_t* fx) {
  lost_t* lost = make_lost(fx);
  tbk_status_t status =
      fx->fault->fault_enqueue(fx->self, lost->stream, TBK_FAULT_DEVICE_LOST, &fx->error);
  CHECK(status == TBK_OK || status == TBK_DEVICE_LOST);
  CHECK_STATUS(TBK_DEVICE_LOST, fx->stream->stream_synchronize(fx->self, lost->stream, &fx->error));
  for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
    const row_t* row = &rows[i % (sizeof rows / sizeof *rows)];
    if (is_exempt(row) || !row->offered(fx, lost)) continue;
    fx->error.message[0] = '\0';
    status = row->call(fx, lost);
    CHECK_SAID(status == TBK_DEVICE_LOST, "DEVICE_LOST", "%s from %s", tbk_status_name(status),
               row->function);
    CHECK_SAID(status == TBK_OK || fx->error.message[0] != '\0', "a reason with DEVICE_LOST",
               "none from %s", row->function);
  }
}

static const tbk_case_t cases[] = {
    TBK_CASE("FLT-003", "fault", TBK_CASE_FRESH, every_function_tells_that_the_device_is_lost),
};
TBK_SUITE(sweep_lost);
