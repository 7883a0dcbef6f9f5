/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * broad_state.c: statuses, messages, threads, devices and instances that fail in every use.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "narrow.h"

#define BASIC(name, clause, operation, note, install, ...) \
  { name, clause, MUTANT, operation, BROAD, note, {__VA_ARGS__}, 0, 0, install, 0 }

/* X(table, function): every call that answers with a status, but for kernels. */
#define FALLIBLE(X)               \
  X(core, device_count)           \
  X(core, device_properties)      \
  X(core, device_open)            \
  X(core, device_close)           \
  X(core, memory_alloc)           \
  X(core, memory_free)            \
  X(core, upload)                 \
  X(core, download)               \
  X(core, copy)                   \
  X(core, fill)                   \
  X(core, memory_info)            \
  X(stream, stream_create)        \
  X(stream, stream_query)         \
  X(stream, stream_synchronize)   \
  X(stream, device_synchronize)   \
  X(stream, stream_native_handle) \
  X(stream, stream_from_native)   \
  X(event, event_create)          \
  X(event, event_record)          \
  X(event, event_wait)            \
  X(event, event_query)           \
  X(event, event_synchronize)     \
  X(event, event_elapsed)         \
  X(callback, callback_enqueue)   \
  X(pinned, pinned_alloc)         \
  X(peer, peer_can_access)        \
  X(peer, peer_copy)              \
  X(async_memory, async_alloc)    \
  X(async_memory, async_free)     \
  X(random, random_bits)          \
  X(fault, fault_enqueue)

#define INSTALL(table, function, prefix) wrap->table.function = prefix##_##function;

/* INVALID is told as the driver tells it. */
static tbk_status_t as_errno(tbk_status_t status) {
  return status == TBK_INVALID ? -22 : status;
}
#define ERRNO(table, function)                    \
  SIGNATURE(function, errno_##function) {         \
    return as_errno(CALL_INNER(table, function)); \
  }
FALLIBLE(ERRNO)
static void invalid_is_an_errno(wrap_t* wrap){
#define X(table, function) INSTALL(table, function, errno)
    FALLIBLE(X)
#undef X
}

#define SILENT(table, function)            \
  SIGNATURE(function, silent_##function) { \
    error = NULL;                          \
    return CALL_INNER(table, function);    \
  }
FALLIBLE(SILENT) static void failures_have_no_reason(wrap_t* wrap){
#define X(table, function) INSTALL(table, function, silent)
    FALLIBLE(X)
#undef X
}

#define TALKS(table, function)                                           \
  SIGNATURE(function, talks_##function) {                                \
    const tbk_status_t status = CALL_INNER(table, function);             \
    return status == TBK_OK ? wrap_fail(error, TBK_OK, "done") : status; \
  }
FALLIBLE(TALKS) static void success_has_a_message(wrap_t* wrap){
#define X(table, function) INSTALL(table, function, talks)
    FALLIBLE(X)
#undef X
}

#define WRITES(table, function)            \
  SIGNATURE(function, writes_##function) { \
    error->message[0] = '\0';              \
    return CALL_INNER(table, function);    \
  }
FALLIBLE(WRITES) static void message_is_written_first(wrap_t* wrap){
#define X(table, function) INSTALL(table, function, writes)
    FALLIBLE(X)
#undef X
}

#define FORGIVES(table, function)                              \
  SIGNATURE(function, forgives_##function) {                   \
    const tbk_status_t status = CALL_INNER(table, function);   \
    return status == TBK_INVALID_STATE ? TBK_INVALID : status; \
  }
FALLIBLE(FORGIVES) static void closed_is_invalid(wrap_t* wrap){
#define X(table, function) INSTALL(table, function, forgives)
    FALLIBLE(X)
#undef X
}

#define SOFTENS(table, function)                             \
  SIGNATURE(function, softens_##function) {                  \
    const tbk_status_t status = CALL_INNER(table, function); \
    return status == TBK_DEVICE_LOST ? TBK_FAILED : status;  \
  }
FALLIBLE(SOFTENS) static void lost_is_failed(wrap_t* wrap) {
#define X(table, function) INSTALL(table, function, softens)
  FALLIBLE(X)
#undef X
}

/* Calls come from the thread that made the instance. */
static bool foreign(tbk_instance_t* self) {
  return (uintptr_t)pthread_self() != atomic_load(&wrap_of(self)->kept);
}
#define ONE_THREAD(table, function)                                                  \
  SIGNATURE(function, one_thread_##function) {                                       \
    if (foreign(self)) return wrap_fail(error, TBK_INVALID_STATE, "another thread"); \
    return CALL_INNER(table, function);                                              \
  }
FALLIBLE(ONE_THREAD)
static void one_thread_calls(wrap_t* wrap) {
  atomic_store(&wrap->kept, (uintptr_t)pthread_self());
#define X(table, function) INSTALL(table, function, one_thread)
  FALLIBLE(X)
#undef X
}

/* A failed call leaves 0 behind. */
ALLOC(failed_alloc_gives_0) {
  const tbk_status_t status = ALLOC_INNER;
  if (status != TBK_OK && out_memory != NULL) *out_memory = 0;
  return status;
}
STREAM_CREATE(failed_create_gives_null) {
  const tbk_status_t status = STREAM_CREATE_INNER;
  if (status != TBK_OK && out_stream != NULL) *out_stream = NULL;
  return status;
}
EVENT_CREATE(failed_event_gives_null) {
  const tbk_status_t status = EVENT_CREATE_INNER;
  if (status != TBK_OK && out_event != NULL) *out_event = NULL;
  return status;
}
MEMORY_INFO(failed_info_gives_0) {
  const tbk_status_t status = MEMORY_INFO_INNER;
  if (status != TBK_OK && out_free_bytes != NULL) *out_free_bytes = 0;
  return status;
}
PINNED_ALLOC(failed_pinned_gives_null) {
  const tbk_status_t status = PINNED_ALLOC_INNER;
  if (status != TBK_OK && out_pointer != NULL) *out_pointer = NULL;
  return status;
}

/* What enqueued work did is nobody's business. */
STREAM_SYNCHRONIZE(stream_forgets_failures) {
  const tbk_status_t status = STREAM_SYNCHRONIZE_INNER;
  return status == TBK_FAILED || status == TBK_DEVICE_LOST ? TBK_OK : status;
}
DEVICE_SYNCHRONIZE(device_forgets_failures) {
  const tbk_status_t status = DEVICE_SYNCHRONIZE_INNER;
  return status == TBK_FAILED || status == TBK_DEVICE_LOST ? TBK_OK : status;
}

FAULT(failed_work_loses_the_device) {
  if (kind == TBK_FAULT_WORK_FAILS) kind = TBK_FAULT_DEVICE_LOST;
  return FAULT_INNER;
}

OPEN(open_is_noted) {
  const tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && device < WRAP_DEVICES) {
    wrap_of(self)->opened[device]++;
    atomic_store(&wrap_of(self)->value, (uint64_t)device);
  }
  return status;
}
CLOSE(close_is_noted) {
  const tbk_status_t status = CLOSE_INNER;
  if (device < 0 || device >= WRAP_DEVICES) return status;
  wrap_of(self)->side[device] = NULL;
  wrap_of(self)->opened[device] = 0;
  return status;
}

/* One device is lost with the other. */
FAULT(all_are_lost_together) {
  wrap_t* wrap = wrap_of(self);
  for (int32_t device = 0; kind == TBK_FAULT_DEVICE_LOST && stream && device < WRAP_DEVICES;
       ++device)
    if (wrap->opened[device] > 0)
      ignore(INNER(self, fault)->fault_enqueue(self, side_stream(wrap, device), kind, NULL));
  return FAULT_INNER;
}

OPEN(a_device_opens_once) {
  wrap_t* wrap = wrap_of(self);
  if (device >= 0 && device < WRAP_DEVICES && wrap->opened[device] == 2)
    return wrap_fail(error, TBK_UNAVAILABLE, "it was open before");
  const tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && device < WRAP_DEVICES) wrap->opened[device] = 1;
  return status;
}
CLOSE(closed_for_ever) {
  const tbk_status_t status = CLOSE_INNER;
  if (device >= 0 && device < WRAP_DEVICES && wrap_of(self)->opened[device] == 1)
    wrap_of(self)->opened[device] = 2;
  return status;
}

OPEN(the_second_does_not_open) {
  if (device > 0) return wrap_fail(error, TBK_FAILED, "the device does not start");
  return OPEN_INNER;
}

/* Memory is had on the device that was opened last, whichever is named. */
ALLOC(alloc_on_the_latest_device) {
  wrap_t* wrap = wrap_of(self);
  const int32_t latest = (int32_t)atomic_load(&wrap->value);
  if (device >= 0 && device < WRAP_DEVICES && wrap->opened[device] > 0 && wrap->opened[latest] > 0)
    device = latest;
  return ALLOC_INNER;
}
CLOSE(no_longer_open) {
  const tbk_status_t status = CLOSE_INNER;
  if (device >= 0 && device < WRAP_DEVICES) wrap_of(self)->opened[device] = 0;
  return status;
}

/* Giving back late is answered as any other call would be. */
FREE(free_needs_an_open_device) {
  uint64_t free_bytes = 0, total = 0;
  const tbk_status_t status =
      INNER(self, core)->memory_info(self, device, &free_bytes, &total, error);
  return status == TBK_OK || status == TBK_DEVICE_LOST ? FREE_INNER : status;
}

static void destroy_needs_closed_devices(tbk_instance_t* self) {
  uint64_t free_bytes = 0, total = 0;
  for (int32_t device = 0; device < 2; ++device)
    if (INNER(self, core)->memory_info(self, device, &free_bytes, &total, NULL) == TBK_OK) abort();
  wrap_destroy(self);
}

static void destroy_does_nothing(tbk_instance_t* self) {
  (void)self;
}

/* A static holds the state: there is one instance at a time. */
static atomic_int instances;
static tbk_status_t one_instance(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                 tbk_error_t* error) {
  if (atomic_load(&instances) != 0)
    return wrap_fail(error, TBK_UNAVAILABLE, "there is an instance");
  const tbk_status_t status = wrap_create(wrap_active_row(), host, out_backend, error);
  if (status == TBK_OK) atomic_store(&instances, 1);
  return status;
}
static void one_instance_less(tbk_instance_t* self) {
  wrap_destroy(self);
  atomic_store(&instances, 0);
}

#define INSTALLED(name, clause, operation, note) INSTALL_ROW(name, clause, operation, BROAD, note)

extern const mutant_t mutants_broad_state[];
const mutant_t mutants_broad_state[] = {
    INSTALLED(invalid_is_an_errno, "ERR-009", ERROR, "-22 where INVALID is due, of every call"),
    INSTALLED(failures_have_no_reason, "ERR-008", ERROR, "the message stays as it was"),
    INSTALLED(success_has_a_message, "ERR-011", ERROR, "of every call"),
    INSTALLED(message_is_written_first, "ERR-010", ERROR, "also into NULL"),
    INSTALLED(closed_is_invalid, "DEV-021", ERROR, "INVALID where INVALID_STATE is due"),
    INSTALLED(lost_is_failed, "FLT-003", ERROR, "FAILED where DEVICE_LOST is due"),
    INSTALLED(one_thread_calls, "THR-001", THREAD, "others are refused"),
    BASIC("failures_write_zeros", "ERR-001", ERROR, "into what they should have given", 0,
          PATCH(core.memory_alloc, failed_alloc_gives_0),
          PATCH(stream.stream_create, failed_create_gives_null),
          PATCH(event.event_create, failed_event_gives_null),
          PATCH(core.memory_info, failed_info_gives_0),
          PATCH(pinned.pinned_alloc, failed_pinned_gives_null)),
    BASIC("failures_are_forgotten", "ERR-005", ERROR, "synchronize succeeds", 0,
          PATCH(stream.stream_synchronize, stream_forgets_failures),
          PATCH(stream.device_synchronize, device_forgets_failures)),
    BASIC("failed_work_loses_the_device", "FLT-002", ERROR, "for ever", 0,
          PATCH(fault.fault_enqueue, failed_work_loses_the_device)),
    BASIC("all_are_lost_together", "FLT-004", STATE, "every open device of the instance", 0,
          PATCH(fault.fault_enqueue, all_are_lost_together), PATCH(core.device_open, open_is_noted),
          PATCH(core.device_close, close_is_noted)),
    BASIC("a_device_opens_once", "DEV-022", LIFETIME, "and never again", 0,
          PATCH(core.device_open, a_device_opens_once), PATCH(core.device_close, closed_for_ever)),
    BASIC("the_second_does_not_open", "DEV-018", RETURN, "only device 0 does", 0,
          PATCH(core.device_open, the_second_does_not_open)),
    BASIC("alloc_on_the_latest_device", "THR-006", STATE, "as if it were current", 0,
          PATCH(core.memory_alloc, alloc_on_the_latest_device),
          PATCH(core.device_open, open_is_noted), PATCH(core.device_close, no_longer_open)),
    BASIC("free_needs_an_open_device", "TDN-006", LIFETIME, "else it is refused", 0,
          PATCH(core.memory_free, free_needs_an_open_device)),
    BASIC("destroy_needs_closed_devices", "TDN-002", LIFETIME, "else the process ends", 0,
          PATCH(core.destroy, destroy_needs_closed_devices)),
    BASIC("destroy_does_nothing", "TDN-008", LIFETIME, "all stays behind", 0,
          PATCH(core.destroy, destroy_does_nothing)),
    {"one_instance_at_a_time",
     "LIB-006",
     MUTANT,
     STATE,
     BROAD,
     "the second is refused",
     {PATCH(core.destroy, one_instance_less)},
     0,
     0,
     0,
     one_instance},
    {0}};
