/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_library.c: entry, instances, teardown, capabilities, forks.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "narrow.h"

/* ------------------------------------------------------------------------------------ entry -- */

static tbk_status_t larger_host_is_refused(const tbk_host_t* host,
                                           const tbk_backend_t** out_backend, tbk_error_t* error) {
  if (host != NULL && host->struct_size > sizeof *host)
    return wrap_fail(error, TBK_INVALID, "a host of another layout");
  return wrap_create(wrap_active_row(), host, out_backend, error);
}

/* Options without those words that have no '='. */
static tbk_status_t option_without_value_is_ignored(const tbk_host_t* host,
                                                    const tbk_backend_t** out_backend,
                                                    tbk_error_t* error) {
  static _Thread_local char kept[1024];
  static _Thread_local tbk_host_t copy;
  if (host == NULL || host->struct_size < sizeof copy || host->options == NULL)
    return wrap_create(wrap_active_row(), host, out_backend, error);
  char words[1024], *rest = NULL;
  strncpy(words, host->options, sizeof words - 1);
  words[sizeof words - 1] = kept[0] = '\0';
  for (char* word = strtok_r(words, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
    if (strchr(word, '=') == NULL) continue;
    if (kept[0] != '\0') strcat(kept, ",");
    strcat(kept, word);
  }
  copy = *host;
  copy.options = kept;
  return wrap_create(wrap_active_row(), &copy, out_backend, error);
}

static tbk_status_t refused_entry_writes_null(const tbk_host_t* host,
                                              const tbk_backend_t** out_backend,
                                              tbk_error_t* error) {
  tbk_status_t status = wrap_create(wrap_active_row(), host, out_backend, error);
  if (status == TBK_INVALID && out_backend != NULL && host != NULL) *out_backend = NULL;
  return status;
}

static tbk_status_t unknown_option_has_no_reason(const tbk_host_t* host,
                                                 const tbk_backend_t** out_backend,
                                                 tbk_error_t* error) {
  tbk_status_t status = wrap_create(wrap_active_row(), host, out_backend, error);
  if (status == TBK_INVALID && host != NULL && out_backend != NULL && error != NULL)
    error->message[0] = '\0';
  return status;
}

/* -------------------------------------------------------------------------------- instances -- */

static atomic_int instances_made;

static void second_instance_has_no_version(wrap_t* wrap) {
  if (atomic_fetch_add(&instances_made, 1) % 2 == 1) wrap->backend.version = NULL;
}

static void name_ends_in_a_digit(wrap_t* wrap) {
  wrap->backend.name = "tbk2";
}

static _Atomic(tbk_instance_t*) failed_instance;

FAULT(failure_is_noted) {
  tbk_status_t status = FAULT_INNER;
  if (status == TBK_OK && kind == TBK_FAULT_WORK_FAILS) atomic_store(&failed_instance, self);
  return status;
}
DEVICE_SYNCHRONIZE(synchronize_tells_failure_of_other) {
  tbk_status_t status = DEVICE_SYNCHRONIZE_INNER;
  tbk_instance_t* other = atomic_load(&failed_instance);
  if (status != TBK_OK || other == NULL || other == self) return status;
  atomic_store(&failed_instance, NULL);
  return wrap_fail(error, TBK_FAILED, "earlier work failed");
}

ALLOC(exhaustion_is_logged) {
  tbk_status_t status = ALLOC_INNER;
  const tbk_host_t* host = wrap_of(self)->host;
  if (status == TBK_OUT_OF_MEMORY) host->log(host->context, TBK_LOG_ERROR, "out of memory");
  return status;
}

/* --------------------------------------------------------------------------------- teardown -- */

static void* destroy_later(void* self) {
  wrap_sleep_ms(20);
  wrap_destroy(self);
  return NULL;
}
STREAM_DESTROY(destroyed_busy_is_counted) {
  if (stream_pending(self, stream)) atomic_store(&wrap_of(self)->flag, 1);
  STREAM_DESTROY_INNER;
}
static void destroy_forgets_destroyed_streams(tbk_instance_t* self) {
  pthread_t thread;
  if (atomic_load(&wrap_of(self)->flag) == 0 ||
      pthread_create(&thread, NULL, destroy_later, self) != 0) {
    wrap_destroy(self);
    return;
  }
  pthread_detach(thread);
}

OPEN(open_counts) {
  tbk_status_t status = OPEN_INNER;
  wrap_t* wrap = wrap_of(self);
  if (status == TBK_OK && device >= 0 && device < WRAP_DEVICES) wrap->opened[device] = 1;
  return status;
}
CLOSE(close_counts) {
  tbk_status_t status = CLOSE_INNER;
  if (device >= 0 && device < WRAP_DEVICES) wrap_of(self)->opened[device] = 0;
  return status;
}
PINNED_FREE(pinned_free_wants_open_device) {
  const wrap_t* wrap = wrap_of(self);
  bool open = false;
  for (int i = 0; i < WRAP_DEVICES; ++i)
    open = open || wrap->opened[i] != 0;
  if (pointer != NULL && !open) abort();
  PINNED_FREE_INNER;
}
PLAN_DESTROY(plan_destroy_wants_open_device) {
  const wrap_t* wrap = wrap_of(self);
  bool open = false;
  for (int i = 0; i < WRAP_DEVICES; ++i)
    open = open || wrap->opened[i] != 0;
  if (plan != NULL && !open) abort();
  PLAN_DESTROY_INNER;
}

/* The latest memory that lives, and whether its device was closed since. */
ALLOC(alloc_is_kept) {
  tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK && size_bytes > 0) {
    atomic_store(&wrap_of(self)->kept, *out_memory);
    atomic_store(&wrap_of(self)->flag, 0);
  }
  return status;
}
OPEN(reopen_makes_stale) {
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && atomic_load(&wrap_of(self)->kept) != 0)
    atomic_store(&wrap_of(self)->flag, 1);
  return status;
}
FREE(stale_free_is_refused) {
  wrap_t* wrap = wrap_of(self);
  const bool latest = memory != 0 && atomic_load(&wrap->kept) == memory;
  if (latest && atomic_load(&wrap->flag))
    return wrap_fail(error, TBK_INVALID, "no memory of this device");
  if (latest) atomic_store(&wrap->kept, 0);
  return FREE_INNER;
}

static atomic_int pinned_live, exit_watched;

static void abort_with_pinned(void) {
  if (atomic_load(&pinned_live) > 0) _exit(3);
}
static void install_abort_with_pinned(wrap_t* wrap) {
  if (atomic_exchange(&exit_watched, 1) == 0) atexit(abort_with_pinned);
}
PINNED_ALLOC(pinned_is_counted) {
  tbk_status_t status = PINNED_ALLOC_INNER;
  if (status == TBK_OK && *out_pointer != NULL) atomic_fetch_add(&pinned_live, 1);
  return status;
}
PINNED_FREE(pinned_is_discounted) {
  if (pointer != NULL) atomic_fetch_sub(&pinned_live, 1);
  PINNED_FREE_INNER;
}

/* ----------------------------------------------------------------------------- capabilities -- */

static void no_device_synchronize(wrap_t* wrap) {
  wrap->stream.device_synchronize = NULL;
}
static void no_peer_copy(wrap_t* wrap) {
  wrap->peer.peer_copy = NULL;
}
static void no_async_free(wrap_t* wrap) {
  wrap->async_memory.async_free = NULL;
}
static void pinned_table_cut_short(wrap_t* wrap) {
  wrap->pinned.struct_size = offsetof(tbk_pinned_ops_t, pinned_free);
}
static void random_table_has_size_0(wrap_t* wrap) {
  wrap->random.struct_size = 0;
}
static void callback_table_of_65536_bytes(wrap_t* wrap) {
  wrap->callback.struct_size = 65536;
}

/* ------------------------------------------------------------------------------------- fork -- */

static atomic_int forks, parent_forked;

static void count_fork(void) {
  atomic_fetch_add(&forks, 1);
  atomic_store(&parent_forked, 1);
}
static void install_parent(wrap_t* wrap) {
  static atomic_int installed;
  if (atomic_exchange(&installed, 1) == 0) pthread_atfork(NULL, count_fork, NULL);
}
CALLBACK(callback_after_fork_is_lost) {
  return atomic_load(&forks) > 0 && function != NULL && stream != NULL ? TBK_OK : CALLBACK_INNER;
}
FREE(free_after_fork_leaks) {
  return atomic_load(&forks) > 0 && memory != 0 ? TBK_OK : FREE_INNER;
}
EVENT_RECORD(record_after_second_fork_is_lost) {
  return atomic_load(&forks) > 1 && event && stream ? TBK_OK : EVENT_RECORD_INNER;
}
OPEN(second_open_after_fork_fails) {
  if (atomic_load(&forks) > 0 && device > 0)
    return wrap_fail(error, TBK_FAILED, "the driver was started by another process");
  return OPEN_INNER;
}
static void die_with_pinned(void) {
  if (atomic_load(&pinned_live) > 0) abort();
}
static void install_child(wrap_t* wrap) {
  static atomic_int installed;
  if (atomic_exchange(&installed, 1) == 0) pthread_atfork(NULL, NULL, die_with_pinned);
}

#define FORKING(name, clause, note, member, function) \
  { name, clause, MUTANT, STATE, NARROW, note, {PATCH(member, function)}, 0, 0, install_parent, 0 }
#define INSTALLED(function, clause, note) INSTALL_ROW(function, clause, ABI, NARROW, note)

extern const mutant_t mutants_narrow_library[];
const mutant_t mutants_narrow_library[] = {
    ENTRY_ROW(larger_host_is_refused, "LIB-002", ABI, NARROW, "a host with members appended"),
    ENTRY_ROW(option_without_value_is_ignored, "LIB-004", RETURN, NARROW,
              "an unknown word without '=' among the options"),
    ENTRY_ROW(refused_entry_writes_null, "ERR-001", STATE, NARROW,
              "NULL is written where an option is refused"),
    ENTRY_ROW(unknown_option_has_no_reason, "ERR-008", ERROR, NARROW,
              "no reason where an option is unknown"),
    INSTALLED(second_instance_has_no_version, "LIB-005", "every second instance of the process"),
    INSTALLED(name_ends_in_a_digit, "LIB-005", "the name has a digit"),
    SEVERAL("failure_reaches_other_instance", "LIB-006", STATE,
            "another instance's synchronize tells of the failure",
            PATCH(fault.fault_enqueue, failure_is_noted),
            PATCH(stream.device_synchronize, synchronize_tells_failure_of_other)),
    ONE(exhaustion_is_logged, "LIB-008", ABI, core.memory_alloc,
        "the host's log is called without asking, when memory is exhausted"),
    SEVERAL("destroy_forgets_destroyed_streams", "TDN-003", ORDER,
            "returns early where a stream was destroyed with work pending",
            PATCH(stream.stream_destroy, destroyed_busy_is_counted),
            PATCH(core.destroy, destroy_forgets_destroyed_streams)),
    SEVERAL("pinned_free_after_close_crashes", "TDN-006", LIFETIME, "with no device open any more",
            PATCH(core.device_open, open_counts), PATCH(core.device_close, close_counts),
            PATCH(pinned.pinned_free, pinned_free_wants_open_device)),
    SEVERAL("plan_destroy_after_close_crashes", "TDN-006", LIFETIME, "with no device open any more",
            PATCH(core.device_open, open_counts), PATCH(core.device_close, close_counts),
            PATCH(launching.plan_destroy, plan_destroy_wants_open_device)),
    SEVERAL("stale_free_after_reopen_is_refused", "TDN-006", STATE,
            "memory from before the device was closed and opened again",
            PATCH(core.memory_alloc, alloc_is_kept), PATCH(core.device_open, reopen_makes_stale),
            PATCH(core.memory_free, stale_free_is_refused)),
    {"exit_with_pinned_memory_fails",
     "TDN-007",
     MUTANT,
     LIFETIME,
     NARROW,
     "status 3 where pinned memory lives at exit",
     {PATCH(pinned.pinned_alloc, pinned_is_counted),
      PATCH(pinned.pinned_free, pinned_is_discounted)},
     0,
     0,
     install_abort_with_pinned,
     0},
    INSTALLED(no_device_synchronize, "CAP-002", "the streams' table lacks one entry"),
    INSTALLED(no_peer_copy, "CAP-002", "the peers' table lacks one entry"),
    INSTALLED(no_async_free, "CAP-002", "what is allocated cannot be given back"),
    INSTALLED(pinned_table_cut_short, "CAP-008", "the size does not cover pinned_free"),
    INSTALLED(random_table_has_size_0, "CAP-008", "the size was never set"),
    INSTALLED(callback_table_of_65536_bytes, "CAP-008", "one byte above the limit"),
    FORKING("callbacks_lost_after_fork", "FRK-004", "in the parent", callback.callback_enqueue,
            callback_after_fork_is_lost),
    FORKING("free_leaks_after_fork", "FRK-004", "in the parent", core.memory_free,
            free_after_fork_leaks),
    FORKING("records_lost_after_second_fork", "FRK-004", "in the parent", event.event_record,
            record_after_second_fork_is_lost),
    FORKING("second_device_fails_after_fork", "FRK-001", "the parent opens device 1",
            core.device_open, second_open_after_fork_fails),
    {"aborts_in_child_with_pinned",
     "FRK-003",
     MUTANT,
     LIFETIME,
     NARROW,
     "a child of a process with pinned memory",
     {PATCH(pinned.pinned_alloc, pinned_is_counted),
      PATCH(pinned.pinned_free, pinned_is_discounted)},
     0,
     0,
     install_child,
     0},
    {0}};
