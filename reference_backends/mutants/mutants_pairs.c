/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_pairs.c: the kinds of fault of contracts/spec/pairs.yml, each a few lines that any function
 * of the header can have. Which ones have it, for which clause, is generated. FAULT_kind(f, statuses)
 * is the body of a function that is the reference's f but for this fault; it may use the parameters
 * that the words of the kind ask for.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"

#include "generated/pairs.h"

enum { PAUSE_MS = 10, COMPANY_US = 300, SMALLEST = 64 };
static const uint64_t largest = UINT64_C(1) << 40;

/* One mutant is active in a process. */
static struct {
  atomic_int held, told, inside, named, opened, closed, reopened, lost, failing, failed;
} now = {.named = -1};

#define STATUS(status) (1U << (status))

static bool is_one_of(tbk_status_t status, unsigned statuses) {
  return status >= 0 && status < 32 && (statuses >> status & 1) != 0;
}
static bool has_failed(tbk_status_t status) {
  return status != TBK_OK && status != TBK_NOT_READY;
}
static tbk_status_t pair_fail(tbk_error_t* error, tbk_status_t status) {
  return wrap_fail(error, status, "so this mutant says");
}

/* ------------------------------------------------------------------------------------ errors --- */

#define FAULT_swallows(f, statuses)          \
  const tbk_status_t status = PAIR_CALL_##f; \
  return is_one_of(status, statuses) ? TBK_OK : status;

static tbk_status_t other_than(unsigned statuses) {
  return is_one_of(TBK_FAILED, statuses) ? TBK_OUT_OF_MEMORY : TBK_FAILED;
}
#define FAULT_answers_another(f, statuses)   \
  const tbk_status_t status = PAIR_CALL_##f; \
  return is_one_of(status, statuses) ? other_than(statuses) : status;

#define SPOIL_OUT(out) \
  if ((out) != NULL) memset((void*)(out), 0x5A, sizeof *(out));
#define FAULT_writes_when_refused(f, statuses) \
  const tbk_status_t status = PAIR_CALL_##f;   \
  if (has_failed(status)) {                    \
    PAIR_OUTS_##f(SPOIL_OUT)                   \
  }                                            \
  return status;

#define FAULT_stays_refused(f, statuses)                   \
  const int held = atomic_exchange(&now.held, TBK_OK);     \
  if (held != TBK_OK) PAIR_FAIL_##f(held);                 \
  const tbk_status_t status = PAIR_CALL_##f;               \
  if (has_failed(status)) atomic_store(&now.held, status); \
  return status;

static void pause_a_while(void* argument) {
  (void)argument;
  wrap_sleep_ms(PAUSE_MS);
}
static void hold_up(tbk_instance_t* self, tbk_stream_t* stream) {
  if (stream != NULL)
    ignore(INNER(self, callback)->callback_enqueue(self, stream, pause_a_while, NULL, NULL));
}
#define FAULT_enqueues_when_refused(f, statuses) \
  const tbk_status_t status = PAIR_CALL_##f;     \
  if (has_failed(status)) hold_up(self, stream); \
  return status;

/* All there is of the first device. */
static void take_memory(tbk_instance_t* self) {
  for (uint64_t size = largest; size >= SMALLEST;) {
    tbk_memory_t kept = 0;
    if (INNER(self, core)->memory_alloc(self, 0, size, &kept, NULL) != TBK_OK) size /= 2;
  }
}
#define FAULT_keeps_memory_when_refused(f, statuses) \
  const tbk_status_t status = PAIR_CALL_##f;         \
  if (has_failed(status)) take_memory(self);         \
  return status;

#define FAULT_no_reason(f, statuses)  \
  tbk_error_t unseen;                 \
  if (error != NULL) error = &unseen; \
  PAIR_RETURN_##f;

#define FAULT_unnamed_status(f, statuses)    \
  const tbk_status_t status = PAIR_CALL_##f; \
  return has_failed(status) ? 99 : status;

#define FAULT_wants_error(f, statuses)   \
  if (error == NULL) return TBK_INVALID; \
  PAIR_RETURN_##f;

#define FAULT_speaks_of_success(f, statuses)              \
  const tbk_status_t status = PAIR_CALL_##f;              \
  if (status == TBK_OK) ignore(pair_fail(error, TBK_OK)); \
  return status;

/* It tells once. */
#define FAULT_forgets_loss(f, statuses)      \
  const tbk_status_t status = PAIR_CALL_##f; \
  return status == TBK_DEVICE_LOST && atomic_fetch_add(&now.told, 1) > 0 ? TBK_OK : status;

#define FAULT_refuses_from_lost(f, statuses)                       \
  if (atomic_load(&now.lost) != 0) PAIR_FAIL_##f(TBK_DEVICE_LOST); \
  PAIR_RETURN_##f;

#define FAULT_fails_after_failure(f, statuses)                         \
  if (atomic_load(&now.failed) != 0) PAIR_FAIL_##f(TBK_INVALID_STATE); \
  PAIR_RETURN_##f;

#define FAULT_fails_beside_lost(f, statuses)                         \
  if (atomic_load(&now.lost) != 0) PAIR_FAIL_##f(TBK_INVALID_STATE); \
  PAIR_RETURN_##f;

/* ------------------------------------------------------------------------------------- order --- */

/* A hidden stream of the device of `stream`, with nothing on it. */
static tbk_stream_t* idle_beside(tbk_instance_t* self, tbk_stream_t* stream) {
  wrap_t* wrap = wrap_of(self);
  return stream == NULL ? NULL : side_stream(wrap, note_of_stream(wrap, stream)->device);
}
/* A hidden stream of the device that is busy for a while. */
static tbk_stream_t* busy_of(tbk_instance_t* self, int32_t device) {
  tbk_stream_t* stream = side_stream(wrap_of(self), device);
  hold_up(self, stream);
  return stream;
}

#define FAULT_late_without_stream(f, statuses)                 \
  if (stream == NULL) stream = busy_of(self, PAIR_DEVICE_##f); \
  PAIR_RETURN_##f;

#define FAULT_ahead_of_stream(f, statuses) \
  stream = idle_beside(self, stream);      \
  PAIR_RETURN_##f;

#define FAULT_holds_nothing_up(f, statuses)                    \
  if (stream != NULL) stream = busy_of(self, PAIR_DEVICE_##f); \
  PAIR_RETURN_##f;

static void wait_for_all(tbk_instance_t* self) {
  wrap_t* wrap = wrap_of(self);
  for (size_t i = 0; i < WRAP_STREAMS; i++)
    if (wrap->streams[i].stream != NULL)
      ignore(INNER(self, stream)->stream_synchronize(self, wrap->streams[i].stream, NULL));
}
#define FAULT_waits_for_work(f, statuses) \
  wait_for_all(self);                     \
  PAIR_RETURN_##f;

/* Closed again where it is to be opened: nothing else shows that it was open. */
static void open_first(tbk_instance_t* self) {
  if (INNER(self, core)->device_open(self, 0, NULL) == TBK_OK) atomic_store(&now.opened, 1);
}
#define FAULT_opens_device(f, statuses) \
  open_first(self);                     \
  PAIR_RETURN_##f;

#define FAULT_returns_early(f, statuses)                                \
  if (atomic_exchange(&now.failing, 0) != 0) PAIR_FAIL_##f(TBK_FAILED); \
  PAIR_RETURN_##f;

/* ---------------------------------------------------------------------- lifetime and threads --- */

#define FAULT_aborts_when_closed(f, statuses) \
  if (atomic_load(&now.closed) != 0) abort(); \
  PAIR_RETURN_##f;

#define FAULT_fails_when_reopened(f, statuses)                           \
  if (atomic_load(&now.reopened) != 0) PAIR_FAIL_##f(TBK_INVALID_STATE); \
  PAIR_RETURN_##f;

static bool is_abroad(void) {
  return gettid() != getpid();
}
#define FAULT_refuses_abroad(f, statuses)     \
  if (is_abroad()) PAIR_FAIL_##f(TBK_FAILED); \
  PAIR_RETURN_##f;
#define FAULT_of_its_thread(f, statuses) FAULT_refuses_abroad(f, statuses)

static void leave(const bool* met) {
  (void)met;
  atomic_fetch_sub(&now.inside, 1);
}
static bool enter(void) {
  const struct timespec moment = {0, COMPANY_US * 1000};
  const bool met = atomic_fetch_add(&now.inside, 1) > 0;
  ignore(nanosleep(&moment, NULL));
  return met;
}
#define FAULT_refuses_company(f, statuses)                  \
  const bool met __attribute__((cleanup(leave))) = enter(); \
  if (met) PAIR_FAIL_##f(TBK_FAILED);                       \
  PAIR_RETURN_##f;

#define FAULT_goes_where_last(f, statuses)                  \
  const int32_t last = atomic_exchange(&now.named, device); \
  if (last >= 0) device = last;                             \
  PAIR_RETURN_##f;

/* -------------------------------------------------------------------------------------- rows --- */

#define DEFINE(kind, operation, table, function, clause, name, statuses, options) \
  SIGNATURE(function, name) {                                                     \
    FAULT_##kind(function, statuses)                                              \
  }
PAIR_MAP(DEFINE)
PAIR_ENTRY_MAP(DEFINE)

static tbk_status_t(*noted_fault) TBK_PARAMETERS_fault_enqueue;
FAULT(pair_fault) {
  const tbk_status_t status = noted_fault TBK_ARGUMENTS_fault_enqueue;
  if (status == TBK_OK && kind == TBK_FAULT_WORK_FAILS) {
    atomic_store(&now.failing, 1);
    atomic_store(&now.failed, 1);
  }
  if (status == TBK_OK && kind == TBK_FAULT_DEVICE_LOST) atomic_store(&now.lost, 1);
  return status;
}
OPEN(pair_open) {
  if (device == 0 && atomic_exchange(&now.opened, 0) != 0)
    ignore(INNER(self, core)->device_close(self, 0, NULL));
  const tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && atomic_exchange(&now.closed, 0) != 0) atomic_store(&now.reopened, 1);
  return status;
}
static tbk_status_t(*noted_close) TBK_PARAMETERS_device_close;
CLOSE(pair_close) {
  const tbk_status_t status = noted_close TBK_ARGUMENTS_device_close;
  if (status == TBK_OK) atomic_store(&now.closed, 1);
  return status;
}

/* What some kinds have to know; the pair's own function stays as it is. */
static void pair_install(wrap_t* wrap) {
  const tbk_backend_t* inner = wrap->inner;
  notes_install(wrap);
  noted_close = wrap->core.device_close;
  wrap->core.device_close = pair_close;
  if (wrap->core.device_open == inner->core->device_open) wrap->core.device_open = pair_open;
  noted_fault = wrap->fault.fault_enqueue;
  wrap->fault.fault_enqueue = pair_fault;
}

#define NAMED(kind, function, clause) #function "/" #kind "/" clause
/* NOLINTBEGIN(bugprone-macro-parentheses): they are the names of members */
#define PAIR_ROW(kind, operation, table, function, clause, name, statuses, options) \
  {NAMED(kind, function, clause), clause, PAIR,    operation,    BROAD, #kind,      \
   {PATCH(table.function, name)}, 0,      options, pair_install, 0},
/* NOLINTEND(bugprone-macro-parentheses) */
#define PAIR_ENTRY_ROW(kind, operation, table, function, clause, name, statuses, options) \
  {NAMED(kind, function, clause),                                                         \
   clause,                                                                                \
   PAIR,                                                                                  \
   operation,                                                                             \
   BROAD,                                                                                 \
   #kind,                                                                                 \
   {{0, 0}},                                                                              \
   0,                                                                                     \
   options,                                                                               \
   0,                                                                                     \
   name},

extern const mutant_t mutants_pairs[];
const mutant_t mutants_pairs[] = {PAIR_MAP(PAIR_ROW) PAIR_ENTRY_MAP(PAIR_ENTRY_ROW){0}};
