/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "every_call.h"

#include <stdint.h>
#include <string.h>

#include <tbk/tables.h>

enum { NOT_FALLIBLE = -0x7B02, UNWRITTEN = 77 };

static void count_run(void* argument) {
  atomic_fetch_add(&((every_call_t*)argument)->ran, 1);
}

/* `source` and `destination` lie on the host where bytes go between host and device. */
#define SOURCE_OF(entry)                                  \
  _Generic((entry), tbk_status_t(*) TBK_PARAMETERS_upload \
           : (const void*)on->host, default               \
           : on->memory)
#define DESTINATION_OF(entry) \
  _Generic((entry), tbk_status_t(*) TBK_PARAMETERS_download : (void*)on->host, default : on->other)

/* The place of a number that calls give. */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration takes no parentheses. */
#define OUT_NUMBER(parameter, type) type got_##parameter = UNWRITTEN, *parameter = &got_##parameter;

/* What is not of one type in all functions is given by `entry`. */
#define ARGUMENTS(entry)                                                                          \
  TBK_OUT_NUMBERS(OUT_NUMBER)                                                                     \
  tbk_instance_t* self = fx->self;                                                                \
  int32_t device = fx->device, peer = fx->device, priority = 0, kind = TBK_FAULT_WORK_FAILS;      \
  int32_t destination_device = fx->device, source_device = fx->device;                            \
  uint32_t flags = 0;                                                                             \
  uint64_t size_bytes = on->bytes, offset = on->offset;                                           \
  uint64_t destination_offset = on->offset, source_offset = on->offset;                           \
  uint64_t count = on->bytes / 4, workspace_offset = 0;                                           \
  uint8_t value = 1;                                                                              \
  void *place = (void*)on, **out_native = &place, **out_pointer = &place, *native = on->native;   \
  void *argument = on, *pointer = NULL;                                                           \
  tbk_callback_fn function = count_run;                                                           \
  tbk_generator_t state = {1, 0}, *generator = &state;                                            \
  tbk_device_properties_t properties = {.struct_size = sizeof properties};                        \
  tbk_device_properties_t* out_properties = &properties;                                          \
  tbk_memory_t memory = on->memory, made = UNWRITTEN, *out_memory = &made, workspace = on->space; \
  tbk_stream_t *stream = on->stream, *a_stream = (void*)on, **out_stream = &a_stream;             \
  tbk_event_t *event = on->event, *start = on->event, *end = on->end;                             \
  tbk_event_t *an_event = (void*)on, **out_event = &an_event;                                     \
  tbk_plan_t *plan = on->plan, *a_plan = (void*)on, **out_plan = &a_plan;                         \
  const tbk_kernel_t* kernel = on->operation.kernel;                                              \
  const void* arguments = on->operation.wire != NULL ? &on->operation.wire->arguments : NULL;     \
  tbk_error_t* error = &fx->error;                                                                \
  const char* name = "copy_";                                                                     \
  uint32_t version = 1;                                                                           \
  __auto_type source = SOURCE_OF(entry);                                                          \
  __auto_type destination = DESTINATION_OF(entry)

/* The argument that is to be wrong. */
#define SPOIL_NUMBER(parameter, type) \
  if (on->spoil == SPOIL_##parameter) (parameter) = (type)on->number;
#define SPOIL_POINTER(parameter, type) \
  if (on->spoil == SPOIL_##parameter) (parameter) = on->object;
#define SPOIL                                                                      \
  SPOIL_MAP(SPOIL_NUMBER, SPOIL_POINTER)                                           \
  if (on->spoil == SPOIL_function) function = NULL;                                \
  if (on->spoil == SPOIL_generator_offset) state.offset = (uint64_t)on->number;    \
  if (on->spoil == SPOIL_struct_size) properties.struct_size = (size_t)on->number; \
  if (on->without_error) error = NULL

#define OUT_WRITTEN(parameter, type) got_##parameter != UNWRITTEN ||
#define HAS_WRITTEN                                                         \
  (TBK_OUT_NUMBERS(OUT_WRITTEN) made != UNWRITTEN || place != (void*)on ||  \
   a_stream != (void*)on || an_event != (void*)on || a_plan != (void*)on || \
   properties.name != NULL || properties.memory_alignment != 0)

#define IS_FALLIBLE(function) __builtin_types_compatible_p(TBK_RETURNS_##function, tbk_status_t)

/* What a call that succeeded has made. */
typedef struct made {
  const char* function;
  tbk_memory_t memory;
  tbk_stream_t* stream;
  tbk_event_t* event;
  tbk_plan_t* plan;
  void* place;
} made_t;

/* Gives back what a call has made, by the function that its header names. */
static tbk_status_t give_back(tbk_fixture_t* fx, const every_call_t* on, const made_t* made) {
  if ((void*)made->stream != (void*)on) fx->stream->stream_destroy(fx->self, made->stream);
  if ((void*)made->event != (void*)on) fx->event->event_destroy(fx->self, made->event);
  if ((void*)made->plan != (void*)on) on->operation.kernel->plan_destroy(fx->self, made->plan);
  if (made->place != (const void*)on && strcmp(made->function, "pinned_alloc") == 0)
    fx->pinned->pinned_free(fx->self, made->place);
  if (made->memory == UNWRITTEN) return TBK_OK;
  if (strcmp(made->function, "async_alloc") == 0)
    return fx->async_memory->async_free(fx->self, on->stream, made->memory, &fx->error);
  return fx->core->memory_free(fx->self, fx->device, made->memory, &fx->error);
}

#define CALL_ENTRY(function, entry)                                                             \
  static tbk_status_t call_##function(tbk_fixture_t* fx, every_call_t* on) {                    \
    ARGUMENTS(entry);                                                                           \
    SPOIL;                                                                                      \
    tbk_status_t status = __builtin_choose_expr(IS_FALLIBLE(function),                          \
                                                (entry)TBK_ARGUMENTS_##function, NOT_FALLIBLE); \
    const made_t what = {#function, made, a_stream, an_event, a_plan, place};                   \
    on->wrote = HAS_WRITTEN;                                                                    \
    return status == TBK_OK ? give_back(fx, on, &what) : status;                                \
  }
#define CALL(table, type, function) CALL_ENTRY(function, fx->table->function)
#define CALL_OF(table, type, needs) TBK_MANDATORY_##table(CALL) TBK_OPTIONAL_##table(CALL)

/* Each function takes some of the arguments. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-parameter"
CALL_OF(core, tbk_core_t, "")
TBK_TABLE_MAP(CALL_OF)
CALL_ENTRY(launch, kernel->launch)
CALL_ENTRY(prepare, kernel->prepare)
CALL_ENTRY(launch_plan, kernel->launch_plan)
#pragma GCC diagnostic pop

/* A native handle comes from the backend alone: where it gives none, nothing is called that takes one. */
static bool has_native(const char* parameters, const every_call_t* on) {
  return strstr(parameters, "void* native") == NULL || on->native != NULL;
}

#define WORDS(...) WORDS_OF(__VA_ARGS__)
#define WORDS_OF(...) #__VA_ARGS__
#define OFFERED(table, type, function)                                              \
  static bool offered_##function(const tbk_fixture_t* fx, const every_call_t* on) { \
    return TBK_HAS(fx->table, type, function) != 0 &&                               \
           has_native(WORDS(TBK_PARAMETERS_##function), on);                        \
  }
#define OFFERED_OF(table, type, needs) TBK_MANDATORY_##table(OFFERED) TBK_OPTIONAL_##table(OFFERED)
OFFERED_OF(core, tbk_core_t, "")
TBK_TABLE_MAP(OFFERED_OF)

static bool offered_launch(const tbk_fixture_t* fx, const every_call_t* on) {
  (void)fx;
  return on->operation.kernel != NULL;
}

static bool offered_plan(const tbk_fixture_t* fx, const every_call_t* on) {
  (void)fx;
  return on->plan != NULL;
}

#define ROW(table, type, function)   \
  {#table,                           \
   #function,                        \
   WORDS(TBK_PARAMETERS_##function), \
   TBK_WORDS_##function,             \
   IS_FALLIBLE(function),            \
   offered_##function,               \
   call_##function},
#define ROWS_OF(table, type, needs) TBK_MANDATORY_##table(ROW) TBK_OPTIONAL_##table(ROW)

const call_row_t every_call[] = {ROWS_OF(core, tbk_core_t, "") TBK_TABLE_MAP(ROWS_OF){
                                     "kernel", "launch", WORDS(TBK_PARAMETERS_launch),
                                     TBK_WORDS_launch, true, offered_launch, call_launch},
                                 {"kernel", "prepare", WORDS(TBK_PARAMETERS_prepare),
                                  TBK_WORDS_prepare, true, offered_plan, call_prepare},
                                 {"kernel", "launch_plan", WORDS(TBK_PARAMETERS_launch_plan),
                                  TBK_WORDS_launch_plan, true, offered_plan, call_launch_plan}};
const size_t every_call_count = sizeof every_call / sizeof *every_call;

bool call_has(const call_row_t* row, const char* parameter) {
  const size_t length = strlen(parameter);
  const char* at = row->parameters;
  while ((at = strstr(at, parameter)) != NULL) {
    bool begins = at[-1] == ' ' || at[-1] == '*'; /* a type comes before it */
    if (begins && (at[length] == ',' || at[length] == ')')) return true;
    at += length;
  }
  return false;
}

bool call_is(const call_row_t* row, const char* word) {
  const size_t length = strlen(word);
  const char* at = row->words;
  while ((at = strstr(at, word)) != NULL && (at[-1] != ' ' || at[length] != ' '))
    at += length;
  return at != NULL;
}

bool call_takes_away(const call_row_t* row) {
  return !row->fallible || call_is(row, "gives_back") || call_is(row, "closes") ||
         strcmp(row->table, "fault") == 0;
}

/* The device is open already; queries may meet pending work; kernels may refuse. */
bool call_is_right(const call_row_t* row, tbk_status_t status) {
  if (call_is(row, "opens")) return status == TBK_INVALID_STATE;
  bool pending = status == TBK_NOT_READY && strstr(row->table, "event") != NULL;
  pending = pending || (status == TBK_NOT_READY && strcmp(row->function, "stream_query") == 0);
  return status == TBK_OK || pending ||
         (status == TBK_UNSUPPORTED && strcmp(row->table, "kernel") == 0);
}

const char* call_expected(const call_row_t* row) {
  return call_is(row, "opens") ? "INVALID_STATE: the device is open" : "success";
}

/* The first operator that has a plan, or else the first that is offered. */
static void make_operation(tbk_fixture_t* fx, every_call_t* on) {
  uint64_t workspace_bytes = 0;
  for (int id = 0; fx->kernel != NULL && id < OPERATORS && on->plan == NULL; id++) {
    const tbk_kernel_t* kernel = operation_find(fx, (operator_id_t)id);
    bool prepares = operation_has_plans(kernel);
    if (kernel == NULL || (on->operation.kernel != NULL && !prepares)) continue;
    operation_make_plain(fx, &on->operation, (operator_id_t)id);
    if (prepares && kernel->prepare(fx->self, fx->device, kernel, &on->operation.wire->arguments,
                                    &on->plan, &workspace_bytes, &fx->error) != TBK_OK)
      on->plan = NULL;
  }
  on->space = fx_alloc(fx, workspace_bytes > 0 ? workspace_bytes : on->bytes);
}

every_call_t* every_call_make(tbk_fixture_t* fx) {
  every_call_t* on = (every_call_t*)(void*)fx_zeros(fx, sizeof *on);
  on->bytes = fx_round(fx, 256);
  on->host = fx_bytes(fx, on->bytes);
  on->memory = fx_alloc_with(fx, on->host, on->bytes);
  on->other = fx_alloc(fx, on->bytes);
  if (fx->stream != NULL) on->stream = fx_stream(fx);
  if (fx->event != NULL) {
    on->event = fx_event(fx, TBK_EVENT_TIMING);
    on->end = fx_event(fx, TBK_EVENT_TIMING);
    REQUIRE_OK(fx->event->event_record(fx->self, on->event, on->stream, &fx->error));
    REQUIRE_OK(fx->event->event_record(fx->self, on->end, on->stream, &fx->error));
  }
  if (TBK_HAS(fx->stream, tbk_stream_ops_t, stream_native_handle))
    REQUIRE_OK(fx->stream->stream_native_handle(fx->self, on->stream, &on->native, &fx->error));
  make_operation(fx, on);
  if (on->stream != NULL) fx_synchronize(fx, on->stream);
  return on;
}

void every_call_end(tbk_fixture_t* fx, every_call_t* on) {
  if (on->plan != NULL) on->operation.kernel->plan_destroy(fx->self, on->plan);
  on->plan = NULL;
}
