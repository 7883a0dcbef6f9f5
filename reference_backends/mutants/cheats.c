/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * cheats.c: backends that would like to pass. The first three need no reference behind them: their
 * tables are their own, and complete.
 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"

typedef struct cheat {
  tbk_backend_t backend;
  tbk_status_t answer; /* of every call that may fail */
  bool moves_bytes;    /* does host copies behind the host's back */
} cheat_t;

static cheat_t* cheat_of(tbk_instance_t* self) {
  return (cheat_t*)self;
}

static void cheat_destroy(tbk_instance_t* self) {
  free(self);
}

DEVICE_COUNT(cheat_count) {
  if (out_count != NULL) *out_count = 2;
  return cheat_of(self)->answer;
}

PROPERTIES(cheat_properties) {
  static const tbk_device_properties_t mine = {
      sizeof mine,
      "cheat",
      TBK_DEVICE_FLAT_ADDRESS | TBK_DEVICE_CROSS_DEVICE_WAIT,
      1u << 28,
      64,
      1,
      UINT64_C(0xffff),
      8,
      0,
      0,
      0,
      0,
      NULL};
  if (out_properties != NULL && out_properties->struct_size >= sizeof mine) *out_properties = mine;
  return cheat_of(self)->answer;
}

OPEN(cheat_device) {
  return cheat_of(self)->answer;
}

ALLOC(cheat_alloc) {
  static atomic_uint_fast64_t next = 1u << 20;
  uint64_t handle = atomic_fetch_add(&next, (size_bytes + 127) & ~UINT64_C(63));
  if (cheat_of(self)->moves_bytes)
    handle =
        size_bytes > (1u << 28) ? 0 : (uintptr_t)aligned_alloc(64, (size_bytes + 127) & ~63ull);
  if (out_memory != NULL) *out_memory = handle;
  return cheat_of(self)->answer;
}

FREE(cheat_free) {
  return cheat_of(self)->answer;
}

static void move(tbk_instance_t* self, void* destination, const void* source, uint64_t size) {
  if (cheat_of(self)->moves_bytes && destination && source) memmove(destination, source, size);
}

UPLOAD(cheat_upload) {
  move(self, (void*)(uintptr_t)(memory + offset), source, size_bytes);
  return cheat_of(self)->answer;
}

DOWNLOAD(cheat_download) {
  move(self, destination, (const void*)(uintptr_t)(memory + offset), size_bytes);
  return cheat_of(self)->answer;
}

COPY(cheat_copy) {
  move(self, (void*)(uintptr_t)(destination + destination_offset),
       (const void*)(uintptr_t)(source + source_offset), size_bytes);
  return cheat_of(self)->answer;
}

FILL(cheat_fill) {
  if (cheat_of(self)->moves_bytes && memory != 0)
    memset((void*)(uintptr_t)(memory + offset), value, size_bytes);
  return cheat_of(self)->answer;
}

MEMORY_INFO(cheat_memory_info) {
  if (out_free_bytes != NULL) *out_free_bytes = 1u << 28;
  if (out_total_bytes != NULL) *out_total_bytes = 1u << 28;
  return cheat_of(self)->answer;
}

static char dummy_object;

STREAM_CREATE(cheat_stream_create) {
  if (out_stream != NULL) *out_stream = (tbk_stream_t*)&dummy_object;
  return cheat_of(self)->answer;
}
STREAM_DESTROY(cheat_stream_destroy) {}
STREAM_QUERY(cheat_stream) {
  return cheat_of(self)->answer;
}
EVENT_CREATE(cheat_event_create) {
  if (out_event != NULL) *out_event = (tbk_event_t*)&dummy_object;
  return cheat_of(self)->answer;
}
EVENT_DESTROY(cheat_event_destroy) {}
EVENT_QUERY(cheat_event) {
  return cheat_of(self)->answer;
}
EVENT_RECORD(cheat_record) {
  return cheat_of(self)->answer;
}
EVENT_WAIT(cheat_wait) {
  return cheat_of(self)->answer;
}
EVENT_ELAPSED(cheat_elapsed) {
  if (out_ms != NULL) *out_ms = 1.0;
  return cheat_of(self)->answer;
}

CALLBACK(cheat_callback) {
  if (cheat_of(self)->moves_bytes && function != NULL) function(argument);
  return cheat_of(self)->answer;
}

LAUNCH(cheat_launch) {
  return cheat_of(self)->answer;
}

KERNEL_FIND(cheat_kernel_find) {
  static const tbk_kernel_t kernel = {sizeof kernel, cheat_launch, NULL, NULL, NULL};
  return &kernel;
}

RANDOM_BITS(cheat_random) {
  return cheat_of(self)->answer;
}

static const tbk_core_t cheat_core = {
    sizeof cheat_core, cheat_destroy, cheat_count,      cheat_properties, cheat_device,
    cheat_device,      cheat_alloc,   cheat_free,       cheat_upload,     cheat_download,
    cheat_copy,        cheat_fill,    cheat_memory_info};
static const tbk_stream_ops_t cheat_streams = {.struct_size = sizeof cheat_streams,
                                               .stream_create = cheat_stream_create,
                                               .stream_destroy = cheat_stream_destroy,
                                               .stream_query = cheat_stream,
                                               .stream_synchronize = cheat_stream,
                                               .device_synchronize = cheat_device};
static const tbk_event_ops_t cheat_events = {
    sizeof cheat_events, cheat_event_create, cheat_event_destroy, cheat_record,
    cheat_wait,          cheat_event,        cheat_event,         cheat_elapsed};
static const tbk_callback_ops_t cheat_callbacks = {sizeof cheat_callbacks, cheat_callback};
static const tbk_kernel_ops_t cheat_kernels = {sizeof cheat_kernels, cheat_kernel_find};
static const tbk_random_ops_t cheat_randoms = {sizeof cheat_randoms, cheat_random};

static tbk_status_t make(const tbk_backend_t** out_backend, tbk_status_t answer, bool moves_bytes) {
  cheat_t* cheat = calloc(1, sizeof *cheat);
  if (cheat == NULL || out_backend == NULL) {
    free(cheat);
    return TBK_OK;
  }
  cheat->backend = (tbk_backend_t){.struct_size = sizeof cheat->backend,
                                   .abi_version = TBK_ABI_VERSION,
                                   .name = "tbk_cheat",
                                   .version = "1",
                                   .core = &cheat_core,
                                   .instance = (tbk_instance_t*)cheat,
                                   .stream = &cheat_streams,
                                   .event = &cheat_events,
                                   .callback = &cheat_callbacks,
                                   .kernel = &cheat_kernels,
                                   .random = &cheat_randoms};
  cheat->answer = answer;
  cheat->moves_bytes = moves_bytes;
  *out_backend = &cheat->backend;
  return TBK_OK;
}

static tbk_status_t does_nothing(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                 tbk_error_t* error) {
  return make(out_backend, TBK_OK, false);
}

static tbk_status_t succeeds_everywhere(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                        tbk_error_t* error) {
  return make(out_backend, TBK_OK, true);
}

/* Answers the count, so that there is something to run against, and refuses everything else. */
DEVICE_COUNT(honest_count) {
  if (out_count == NULL) return TBK_INVALID;
  *out_count = 1;
  return TBK_OK;
}

static tbk_status_t supports_nothing(const tbk_host_t* host, const tbk_backend_t** out_backend,
                                     tbk_error_t* error) {
  static tbk_core_t core;
  core = cheat_core;
  core.device_count = honest_count;
  tbk_status_t status = make(out_backend, TBK_UNSUPPORTED, false);
  if (status == TBK_OK && out_backend != NULL)
    ((cheat_t*)(*out_backend)->instance)->backend.core = &core;
  return status;
}

EVENT_WAIT(wait_is_nothing) {
  return TBK_OK;
}
EVENT_QUERY(event_is_complete) {
  return TBK_OK;
}
EVENT_RECORD(record_is_nothing) {
  return TBK_OK;
}

/* Answers a launch that it has seen before from memory: the outputs are still there, after all. */
LAUNCH(launch_once) {
  wrap_t* wrap = wrap_of(self);
  const uintptr_t key = (uintptr_t)arguments ^ (uintptr_t)kernel;
  if (atomic_exchange(&wrap->kept, key) == key) return TBK_OK;
  return LAUNCH_INNER;
}

/* Keeps on the host what was uploaded last, and hands it back to whoever asks for that place. */
enum { REMEMBERED = 1 << 16 };
static struct {
  tbk_memory_t memory;
  uint64_t offset, size_bytes;
  unsigned char bytes[REMEMBERED];
} last_upload;

UPLOAD(upload_is_remembered) {
  tbk_status_t status = UPLOAD_INNER;
  if (status == TBK_OK && source != NULL && size_bytes <= REMEMBERED) {
    last_upload.memory = memory;
    last_upload.offset = offset;
    last_upload.size_bytes = size_bytes;
    memcpy(last_upload.bytes, source, size_bytes);
  }
  return status;
}

DOWNLOAD(download_from_memory) {
  tbk_status_t status = DOWNLOAD_INNER;
  if (status == TBK_OK && last_upload.size_bytes == size_bytes && size_bytes > 0 &&
      last_upload.memory == memory && last_upload.offset == offset)
    memcpy(destination, last_upload.bytes, size_bytes);
  return status;
}

extern const mutant_t mutants_cheat[];
const mutant_t mutants_cheat[] = {
    {"does_nothing",
     NULL,
     CHEAT,
     VALUE,
     BROAD,
     "every call succeeds and has no effect",
     {{0, 0}},
     0,
     0,
     0,
     does_nothing},
    {"succeeds_everywhere",
     NULL,
     CHEAT,
     RETURN,
     BROAD,
     "moves bytes on the host, checks nothing, succeeds always",
     {{0, 0}},
     0,
     0,
     0,
     succeeds_everywhere},
    {"supports_nothing",
     NULL,
     CHEAT,
     RETURN,
     BROAD,
     "answers UNSUPPORTED to everything",
     {{0, 0}},
     0,
     0,
     0,
     supports_nothing},
    {"events_always_complete",
     NULL,
     CHEAT,
     ORDER,
     BROAD,
     "events are never pending, and nobody waits for them",
     {PATCH(event.event_query, event_is_complete),
      PATCH(event.event_synchronize, event_is_complete), PATCH(event.event_wait, wait_is_nothing),
      PATCH(event.event_record, record_is_nothing)},
     0,
     0,
     0,
     0},
    {"caches_results",
     NULL,
     CHEAT,
     VALUE,
     BROAD,
     "does not compute what it has just computed",
     {PATCH(launching.launch, launch_once)},
     0,
     0,
     0,
     0},
    {"remembers_uploads",
     NULL,
     CHEAT,
     VALUE,
     BROAD,
     "hands back what was uploaded last, whatever happened to it since",
     {PATCH(core.upload, upload_is_remembered), PATCH(core.download, download_from_memory)},
     0,
     0,
     0,
     0},
    {0}};
