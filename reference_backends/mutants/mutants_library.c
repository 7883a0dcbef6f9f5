/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_library.c: the entry, and its tables.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

#define ENTRY(f)                                                                   \
  static tbk_status_t f(const tbk_host_t* host, const tbk_backend_t** out_backend, \
                        tbk_error_t* error)
#define ENTRY_INNER wrap_create(wrap_active_row(), host, out_backend, error)

ENTRY(accepts_null_host) {
  static const tbk_host_t plain = {sizeof plain, TBK_ABI_VERSION, NULL, NULL, NULL};
  if (host == NULL) host = &plain;
  return ENTRY_INNER;
}

ENTRY(accepts_null_out) {
  const tbk_backend_t* nowhere = NULL;
  if (out_backend == NULL) out_backend = &nowhere;
  return ENTRY_INNER;
}

ENTRY(accepts_short_host) {
  tbk_host_t copy = {sizeof copy, TBK_ABI_VERSION, NULL, NULL, NULL};
  const size_t needed = offsetof(tbk_host_t, options) + sizeof host->options;
  if (host != NULL && host->struct_size < needed) host = &copy;
  return ENTRY_INNER;
}

ENTRY(accepts_any_version) {
  tbk_host_t copy;
  if (host == NULL || host->struct_size < sizeof copy) return ENTRY_INNER;
  copy = *host;
  copy.abi_version = TBK_ABI_VERSION;
  host = &copy;
  return ENTRY_INNER;
}

ENTRY(wrong_version_is_invalid) {
  tbk_status_t status = ENTRY_INNER;
  return status == TBK_UNSUPPORTED ? TBK_INVALID : status;
}

/* Keeps "key=value" parts whose key it knows; the reference never sees the others. */
ENTRY(ignores_unknown_options) {
  static const char* const known[] = {"devices", "memory",  "scheduler", "seed", "policy",
                                      "mutant",  "handles", "poison",    "flat", "granularity"};
  static char kept[1024];
  tbk_host_t copy;
  char parts[1024], *rest = NULL;
  if (host == NULL || host->struct_size < sizeof copy || host->options == NULL) return ENTRY_INNER;
  copy = *host;
  snprintf(parts, sizeof parts, "%s", host->options);
  kept[0] = '\0';
  for (char* part = strtok_r(parts, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
      if (strncmp(part, known[i], strlen(known[i])) == 0)
        snprintf(kept + strlen(kept), sizeof kept - strlen(kept), "%s%s", *kept ? "," : "", part);
    }
  }
  copy.options = kept;
  host = &copy;
  return ENTRY_INNER;
}

static void no_version(wrap_t* wrap) {
  wrap->backend.version = "";
}
/* From the second instance on, so that there is a first one to run tests with. */
static void name_with_capitals(wrap_t* wrap) {
  static atomic_int instances;
  if (atomic_fetch_add(&instances, 1) > 0) wrap->backend.name = "Acme-1";
}
static void name_too_long(wrap_t* wrap) {
  static atomic_int instances;
  if (atomic_fetch_add(&instances, 1) > 0)
    wrap->backend.name = "a_name_that_is_longer_than_the_thirty_one_bytes_allowed";
}

/* Two instances that share their devices' state: what one opens, the other has open. */
static atomic_int open_anywhere[WRAP_DEVICES];

OPEN(open_for_all_instances) {
  const bool known = device >= 0 && device < WRAP_DEVICES;
  if (known && atomic_load(&open_anywhere[device]) > 0)
    return wrap_fail(error, TBK_INVALID_STATE, "the device is already open");
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && known) atomic_fetch_add(&open_anywhere[device], 1);
  return status;
}

CLOSE(close_for_all_instances) {
  tbk_status_t status = CLOSE_INNER;
  if (device >= 0 && device < WRAP_DEVICES) atomic_store(&open_anywhere[device], 0);
  return status;
}

/* The end of one instance is the end of all: the others answer INVALID_STATE from then on. */
static atomic_int ended;

static void destroy_ends_all(tbk_instance_t* self) {
  atomic_store(&ended, 1);
  wrap_destroy(self);
}

ALLOC(alloc_unless_ended) {
  if (atomic_load(&ended) != 0) return wrap_fail(error, TBK_INVALID_STATE, "the library has ended");
  return ALLOC_INNER;
}

/* Who closes device 0 closes it for all: `value` says which device 0 an instance has open. */
static atomic_uint_fast64_t device_generation;

OPEN(open_of_generation) {
  tbk_status_t status = OPEN_INNER;
  if (status == TBK_OK && device == 0)
    atomic_store(&wrap_of(self)->value, atomic_load(&device_generation));
  return status;
}

CLOSE(close_ends_generation) {
  tbk_status_t status = CLOSE_INNER;
  if (status == TBK_OK && device == 0) atomic_fetch_add(&device_generation, 1);
  return status;
}

DOWNLOAD(download_of_generation) {
  if (device == 0 && atomic_load(&wrap_of(self)->value) != atomic_load(&device_generation))
    return wrap_fail(error, TBK_INVALID_STATE, "the device was closed");
  return DOWNLOAD_INNER;
}

static void* wait_for_ever(void* argument) {
  for (;;)
    pause();
  return argument;
}

static void starts_thread(wrap_t* wrap) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, wait_for_ever, NULL) == 0) pthread_detach(thread);
}

/* As a daemon detaches itself. It ends in the end, so that nobody has to look for it. */
static void starts_process(wrap_t* wrap) {
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    alarm(60);
    wait_for_ever(wrap);
  }
  if (child > 0) (void)waitpid(child, NULL, 0);
}

/* To look after what instances share. */
static void second_instance_starts_thread(wrap_t* wrap) {
  static atomic_int instances;
  if (atomic_fetch_add(&instances, 1) == 1) starts_thread(wrap);
}

static void opens_device(wrap_t* wrap) {
  tbk_instance_t* self = atomic_load(&wrap->self);
  ignore(wrap->inner->core->device_open(self, 0, NULL));
}

/* To see whether the first can reach it. */
static void opens_second_device(wrap_t* wrap) {
  tbk_instance_t* self = atomic_load(&wrap->self);
  ignore(wrap->inner->core->device_open(self, 1, NULL));
}

/* The environment chooses this one where there are no options at all. */
ENTRY(needs_options) {
  if (host != NULL && host->struct_size >= sizeof *host && host->options == NULL)
    return wrap_fail(error, TBK_INVALID, "no options");
  return ENTRY_INNER;
}

OPEN(open_log_crashes) {
  const tbk_host_t* host = wrap_of(self)->host;
  host->log(host->context, TBK_LOG_INFO, "device opened");
  return OPEN_INNER;
}

extern const mutant_t mutants_library[];
const mutant_t mutants_library[] = {
    ENTRY_ROW(accepts_null_host, "LIB-001", RETURN, BROAD, "makes an instance without a host"),
    ENTRY_ROW(accepts_null_out, "LIB-001", RETURN, BROAD, "OK with nowhere to put the table"),
    ENTRY_ROW(accepts_short_host, "LIB-002", ABI, BROAD, "takes a host cut short for a whole one"),
    ENTRY_ROW(accepts_any_version, "LIB-003", ABI, BROAD, "knows every ABI version"),
    ENTRY_ROW(wrong_version_is_invalid, "LIB-003", RETURN, BROAD, "INVALID instead of UNSUPPORTED"),
    ENTRY_ROW(ignores_unknown_options, "LIB-004", ABI, BROAD, "does not mind options it lacks"),
    INSTALL_ROW(no_version, "LIB-005", ABI, BROAD, "the version is empty"),
    INSTALL_ROW(name_with_capitals, "LIB-005", ABI, BROAD, "a name that torch.device refuses"),
    INSTALL_ROW(name_too_long, "LIB-005", ABI, NARROW, "a name of more than 31 bytes"),
    {"instances_share_devices",
     "LIB-006",
     MUTANT,
     STATE,
     BROAD,
     "what one instance has open, another cannot open",
     {PATCH(core.device_open, open_for_all_instances),
      PATCH(core.device_close, close_for_all_instances)},
     0,
     0,
     0,
     0},
    {"destroy_ends_all_instances",
     "LIB-006",
     MUTANT,
     LIFETIME,
     NARROW,
     "destroying one instance breaks the others",
     {PATCH(core.destroy, destroy_ends_all), PATCH(core.memory_alloc, alloc_unless_ended)},
     0,
     0,
     0,
     0},
    {"close_is_for_all_instances",
     "LIB-006",
     MUTANT,
     LIFETIME,
     BROAD,
     "what one instance closes is closed for all",
     {PATCH(core.device_open, open_of_generation), PATCH(core.device_close, close_ends_generation),
      PATCH(core.download, download_of_generation)},
     0,
     0,
     0,
     0},
    INSTALL_ROW(starts_thread, "LIB-007", STATE, BROAD, "a thread runs from the entry on"),
    INSTALL_ROW(starts_process, "LIB-007", STATE, NARROW, "a daemon runs from the entry on"),
    INSTALL_ROW(second_instance_starts_thread, "LIB-007", STATE, NARROW,
                "a thread runs from the second instance on"),
    INSTALL_ROW(opens_device, "LIB-007", STATE, NARROW, "device 0 is open from the entry on"),
    INSTALL_ROW(opens_second_device, "LIB-007", STATE, NARROW,
                "device 1 is open from the entry on"),
    ENTRY_ROW(needs_options, "LIB-008", RETURN, BROAD, "refuses a host without options"),
    ROW(open_log_crashes, "LIB-008", ABI, NARROW, core.device_open, "calls log without a look"),
    {0}};
