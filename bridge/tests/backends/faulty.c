/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * faulty.c: see faulty.h. One instance in a process: what it is for has no use for more.
 */
#include "faulty_state.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const tbk_backend_t* faulty_inner;
atomic_int_fast64_t faulty_plans;

static struct {
  tbk_backend_t backend;
  tbk_core_t core;
  tbk_stream_ops_t stream;
  tbk_event_ops_t event;
  tbk_callback_ops_t callback;
  tbk_pinned_ops_t pinned;
  tbk_peer_ops_t peer;
  tbk_random_ops_t random;
  tbk_kernel_ops_t kernel;
  char options[1024];
  tbk_host_t host;
} state;

static atomic_int armed_call = -1;
static atomic_uint_fast64_t armed_at, calls[FAULTY_COUNT];
static atomic_int armed_status;
static atomic_int_fast64_t live_memory, live_streams, live_events, live_pinned;

static const char* const names[FAULTY_COUNT] = {
#define FAULTY_NAME(table, function) #function,
    FAULTY_CALLS(FAULTY_NAME)
#undef FAULTY_NAME
};

const char* faulty_name(int index) {
  return index >= 0 && index < FAULTY_COUNT ? names[index] : NULL;
}

static int find(const char* name) {
  for (int i = 0; i < FAULTY_COUNT; ++i) {
    if (strcmp(names[i], name) == 0) return i;
  }
  return -1;
}

bool faulty_arm(const char* name, uint64_t at, int32_t status) {
  const int call = find(name);
  atomic_store(&armed_call, -1);
  for (int i = 0; i < FAULTY_COUNT; ++i)
    atomic_store(&calls[i], 0);
  atomic_store(&armed_at, at);
  atomic_store(&armed_status, status);
  if (at != 0) atomic_store(&armed_call, call);
  return call >= 0;
}

uint64_t faulty_calls(const char* name) {
  const int call = find(name);
  return call < 0 ? 0 : atomic_load(&calls[call]);
}

faulty_live_t faulty_live(void) {
  faulty_live_t live = {atomic_load(&live_memory), atomic_load(&live_streams),
                        atomic_load(&live_events), atomic_load(&live_pinned),
                        atomic_load(&faulty_plans)};
  return live;
}

/* The status that this call has to answer, TBK_OK for going on. */
tbk_status_t faulty_fate(int call, tbk_error_t* error) {
  const uint64_t count = atomic_fetch_add(&calls[call], 1) + 1;
  if (atomic_load(&armed_call) != call || count != atomic_load(&armed_at)) return TBK_OK;
  if (error != NULL)
    snprintf(error->message, sizeof error->message, "injected into %s", names[call]);
  return atomic_load(&armed_status);
}

tbk_status_t faulty_counted(tbk_status_t status, bool something, atomic_int_fast64_t* live,
                            int change) {
  if (status == TBK_OK && something) atomic_fetch_add(live, change);
  return status;
}

#define INNER(table) (faulty_inner->table)

/* ------------------------------------------------------------------------------------- core --- */

static tbk_status_t device_open(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  FAULTY_FATE(device_open);
  return INNER(core)->device_open(self, device, error);
}
static tbk_status_t device_close(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  FAULTY_FATE(device_close);
  return INNER(core)->device_close(self, device, error);
}
static tbk_status_t memory_alloc(tbk_instance_t* self, int32_t device, uint64_t size,
                                 tbk_memory_t* out, tbk_error_t* error) {
  FAULTY_FATE(memory_alloc);
  const tbk_status_t status = INNER(core)->memory_alloc(self, device, size, out, error);
  return faulty_counted(status, status == TBK_OK && *out != 0, &live_memory, 1);
}
static tbk_status_t memory_free(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                                tbk_error_t* error) {
  FAULTY_FATE(memory_free);
  return faulty_counted(INNER(core)->memory_free(self, device, memory, error), memory != 0,
                        &live_memory, -1);
}
static tbk_status_t upload(tbk_instance_t* self, int32_t device, tbk_memory_t memory,
                           uint64_t offset, const void* source, uint64_t size, tbk_stream_t* stream,
                           tbk_error_t* error) {
  FAULTY_FATE(upload);
  return INNER(core)->upload(self, device, memory, offset, source, size, stream, error);
}
static tbk_status_t download(tbk_instance_t* self, int32_t device, void* destination,
                             tbk_memory_t memory, uint64_t offset, uint64_t size,
                             tbk_stream_t* stream, tbk_error_t* error) {
  FAULTY_FATE(download);
  return INNER(core)->download(self, device, destination, memory, offset, size, stream, error);
}
static tbk_status_t copy(tbk_instance_t* self, int32_t device, tbk_memory_t destination,
                         uint64_t destination_offset, tbk_memory_t source, uint64_t source_offset,
                         uint64_t size, tbk_stream_t* stream, tbk_error_t* error) {
  FAULTY_FATE(copy);
  return INNER(core)->copy(self, device, destination, destination_offset, source, source_offset,
                           size, stream, error);
}
static tbk_status_t fill(tbk_instance_t* self, int32_t device, tbk_memory_t memory, uint64_t offset,
                         uint8_t value, uint64_t size, tbk_stream_t* stream, tbk_error_t* error) {
  FAULTY_FATE(fill);
  return INNER(core)->fill(self, device, memory, offset, value, size, stream, error);
}
static tbk_status_t memory_info(tbk_instance_t* self, int32_t device, uint64_t* out_free,
                                uint64_t* out_total, tbk_error_t* error) {
  FAULTY_FATE(memory_info);
  return INNER(core)->memory_info(self, device, out_free, out_total, error);
}

/* ---------------------------------------------------------------------------------- streams --- */

static tbk_status_t stream_create(tbk_instance_t* self, int32_t device, int32_t priority,
                                  tbk_stream_t** out, tbk_error_t* error) {
  FAULTY_FATE(stream_create);
  return faulty_counted(INNER(stream)->stream_create(self, device, priority, out, error), true,
                        &live_streams, 1);
}
static void stream_destroy(tbk_instance_t* self, tbk_stream_t* stream) {
  if (stream != NULL) atomic_fetch_sub(&live_streams, 1);
  INNER(stream)->stream_destroy(self, stream);
}
static tbk_status_t stream_query(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error) {
  FAULTY_FATE(stream_query);
  return INNER(stream)->stream_query(self, stream, error);
}
/* An error is told when the work is over, never earlier (ERR-006): the call is made all the same. */
static tbk_status_t stream_synchronize(tbk_instance_t* self, tbk_stream_t* stream,
                                       tbk_error_t* error) {
  const tbk_status_t status = INNER(stream)->stream_synchronize(self, stream, error);
  FAULTY_FATE(stream_synchronize);
  return status;
}
static tbk_status_t device_synchronize(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  const tbk_status_t status = INNER(stream)->device_synchronize(self, device, error);
  FAULTY_FATE(device_synchronize);
  return status;
}
static tbk_status_t stream_native_handle(tbk_instance_t* self, tbk_stream_t* stream, void** out,
                                         tbk_error_t* error) {
  FAULTY_FATE(stream_native_handle);
  return INNER(stream)->stream_native_handle(self, stream, out, error);
}
static tbk_status_t stream_from_native(tbk_instance_t* self, int32_t device, void* native,
                                       tbk_stream_t** out, tbk_error_t* error) {
  FAULTY_FATE(stream_from_native);
  return faulty_counted(INNER(stream)->stream_from_native(self, device, native, out, error), true,
                        &live_streams, 1);
}

/* ----------------------------------------------------------------------------------- events --- */

static tbk_status_t event_create(tbk_instance_t* self, int32_t device, uint32_t flags,
                                 tbk_event_t** out, tbk_error_t* error) {
  FAULTY_FATE(event_create);
  return faulty_counted(INNER(event)->event_create(self, device, flags, out, error), true,
                        &live_events, 1);
}
static void event_destroy(tbk_instance_t* self, tbk_event_t* event) {
  if (event != NULL) atomic_fetch_sub(&live_events, 1);
  INNER(event)->event_destroy(self, event);
}
static tbk_status_t event_record(tbk_instance_t* self, tbk_event_t* event, tbk_stream_t* stream,
                                 tbk_error_t* error) {
  FAULTY_FATE(event_record);
  return INNER(event)->event_record(self, event, stream, error);
}
static tbk_status_t event_wait(tbk_instance_t* self, tbk_stream_t* stream, tbk_event_t* event,
                               tbk_error_t* error) {
  FAULTY_FATE(event_wait);
  return INNER(event)->event_wait(self, stream, event, error);
}
static tbk_status_t event_query(tbk_instance_t* self, tbk_event_t* event, tbk_error_t* error) {
  FAULTY_FATE(event_query);
  return INNER(event)->event_query(self, event, error);
}
static tbk_status_t event_synchronize(tbk_instance_t* self, tbk_event_t* event,
                                      tbk_error_t* error) {
  const tbk_status_t status = INNER(event)->event_synchronize(self, event, error);
  FAULTY_FATE(event_synchronize);
  return status;
}
static tbk_status_t event_elapsed(tbk_instance_t* self, tbk_event_t* start, tbk_event_t* end,
                                  double* out_ms, tbk_error_t* error) {
  FAULTY_FATE(event_elapsed);
  return INNER(event)->event_elapsed(self, start, end, out_ms, error);
}

/* ------------------------------------------------------- callbacks, pinned, peer, random ------ */

static tbk_status_t callback_enqueue(tbk_instance_t* self, tbk_stream_t* stream,
                                     tbk_callback_fn function, void* argument, tbk_error_t* error) {
  FAULTY_FATE(callback_enqueue);
  return INNER(callback)->callback_enqueue(self, stream, function, argument, error);
}
static tbk_status_t pinned_alloc(tbk_instance_t* self, int32_t device, uint64_t size, void** out,
                                 tbk_error_t* error) {
  FAULTY_FATE(pinned_alloc);
  const tbk_status_t status = INNER(pinned)->pinned_alloc(self, device, size, out, error);
  return faulty_counted(status, status == TBK_OK && *out != NULL, &live_pinned, 1);
}
static void pinned_free(tbk_instance_t* self, void* pointer) {
  if (pointer != NULL) atomic_fetch_sub(&live_pinned, 1);
  INNER(pinned)->pinned_free(self, pointer);
}
static tbk_status_t peer_can_access(tbk_instance_t* self, int32_t device, int32_t peer,
                                    int32_t* out_can, tbk_error_t* error) {
  FAULTY_FATE(peer_can_access);
  return INNER(peer)->peer_can_access(self, device, peer, out_can, error);
}
static tbk_status_t peer_copy(tbk_instance_t* self, int32_t to_device, tbk_memory_t to,
                              uint64_t to_offset, int32_t from_device, tbk_memory_t from,
                              uint64_t from_offset, uint64_t size, tbk_stream_t* stream,
                              tbk_error_t* error) {
  FAULTY_FATE(peer_copy);
  return INNER(peer)->peer_copy(self, to_device, to, to_offset, from_device, from, from_offset,
                                size, stream, error);
}
static tbk_status_t random_bits(tbk_instance_t* self, int32_t device,
                                const tbk_generator_t* generator, tbk_memory_t memory,
                                uint64_t offset, uint64_t count, tbk_stream_t* stream,
                                tbk_error_t* error) {
  FAULTY_FATE(random_bits);
  return INNER(random)->random_bits(self, device, generator, memory, offset, count, stream, error);
}

/* ------------------------------------------------------------------------------------ entry --- */

static void take(void* ours, size_t size, const void* theirs) {
  if (theirs == NULL) return;
  const size_t known = *(const size_t*)theirs;
  memcpy(ours, theirs, known < size ? known : size);
}

/* Replaces what the backend behind has, and leaves NULL what it has not. */
#define REPLACE(table, function) \
  if (state.table.function != NULL) state.table.function = function
#define TAKE(table)                                                      \
  do {                                                                   \
    take(&state.table, sizeof state.table, faulty_inner->table);         \
    if (faulty_inner->table != NULL) state.backend.table = &state.table; \
  } while (0)

static void take_tables(void) {
  take(&state.backend, sizeof state.backend, faulty_inner);
  TAKE(core);
  TAKE(stream);
  TAKE(event);
  TAKE(callback);
  TAKE(pinned);
  TAKE(peer);
  TAKE(random);
  TAKE(kernel);
}

static void replace_entries(void) {
  REPLACE(core, device_open);
  REPLACE(core, device_close);
  REPLACE(core, memory_alloc);
  REPLACE(core, memory_free);
  REPLACE(core, upload);
  REPLACE(core, download);
  REPLACE(core, copy);
  REPLACE(core, fill);
  REPLACE(core, memory_info);
  REPLACE(stream, stream_create);
  REPLACE(stream, stream_destroy);
  REPLACE(stream, stream_query);
  REPLACE(stream, stream_synchronize);
  REPLACE(stream, device_synchronize);
  REPLACE(stream, stream_native_handle);
  REPLACE(stream, stream_from_native);
  REPLACE(event, event_create);
  REPLACE(event, event_destroy);
  REPLACE(event, event_record);
  REPLACE(event, event_wait);
  REPLACE(event, event_query);
  REPLACE(event, event_synchronize);
  REPLACE(event, event_elapsed);
  REPLACE(callback, callback_enqueue);
  REPLACE(pinned, pinned_alloc);
  REPLACE(pinned, pinned_free);
  REPLACE(peer, peer_can_access);
  REPLACE(peer, peer_copy);
  REPLACE(random, random_bits);
  if (state.kernel.kernel_find != NULL) state.kernel.kernel_find = faulty_kernel_find;
}

/* Takes "inner=PATH" out of the options; what is left is for the backend behind. */
static const char* split_options(const char* options, char* path, size_t size) {
  char copy[1024];
  char* rest = NULL;
  snprintf(copy, sizeof copy, "%s", options == NULL ? "" : options);
  state.options[0] = '\0';
  for (char* part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
    if (strncmp(part, "inner=", 6) == 0) {
      snprintf(path, size, "%s", part + 6);
    } else {
      const size_t used = strlen(state.options);
      snprintf(state.options + used, sizeof state.options - used, "%s%s", used ? "," : "", part);
    }
  }
  return state.options[0] == '\0' ? NULL : state.options;
}

static tbk_status_t fail(tbk_error_t* error, const char* text) {
  if (error != NULL) snprintf(error->message, sizeof error->message, "%s", text);
  return TBK_INVALID;
}

TBK_EXPORT tbk_status_t tbk_backend_create(const tbk_host_t* host,
                                           const tbk_backend_t** out_backend, tbk_error_t* error) {
  char path[1024] = "";
  if (faulty_inner != NULL) return fail(error, "one instance in a process");
  state.host = *host;
  state.host.options = split_options(host->options, path, sizeof path);
  void* library = path[0] == '\0' ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  tbk_backend_create_fn create = NULL;
  if (library != NULL) *(void**)&create = dlsym(library, TBK_ENTRY_SYMBOL);
  if (create == NULL) return fail(error, "option inner=PATH: no backend there");
  const tbk_status_t status = create(&state.host, &faulty_inner, error);
  if (status != TBK_OK) return status;
  take_tables();
  replace_entries();
  *out_backend = &state.backend;
  return TBK_OK;
}
