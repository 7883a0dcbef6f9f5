/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * broad_basic.c: basic functions that do not do what they are for. Much fails with each.
 */
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "generic_copy.h"
#include "narrow.h"

/* Recorded where nothing is. */
EVENT_RECORD(events_complete_at_once) {
  if (event == NULL || stream == NULL) return EVENT_RECORD_INNER;
  wrap_t* wrap = wrap_of(self);
  const int32_t device = note_of_event(wrap, event)->device;
  if (note_of_stream(wrap, stream)->device == device) stream = side_stream(wrap, device);
  return EVENT_RECORD_INNER;
}

/* The allocator's own word stands in front. */
ALLOC(memory_is_8_off) {
  if (size_bytes == 0 || size_bytes > UINT64_MAX - 16) return ALLOC_INNER;
  size_bytes += 16;
  const tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK) *out_memory += 8;
  return status;
}
FREE(memory_was_8_off) {
  if (memory % 16 == 8) memory -= 8;
  return FREE_INNER;
}

CALLBACK(callbacks_never_run) {
  return function == NULL || stream == NULL ? CALLBACK_INNER : TBK_OK;
}

/* Every operand is read and written as if it had no gaps, where its storage has room for that. */
static bool has_room(const tbk_tensor_t* tensor) {
  const uint64_t end = (uint64_t)tensor->offset + tensor_elements(tensor);
  return tensor->offset >= 0 && end * dtype_bytes(tensor->dtype) <= tensor->storage_bytes;
}
LAUNCH(strides_are_ignored) {
  arguments_copy_t copy;
  if (arguments_copy(&copy, KERNEL_NAME, arguments)) {
    for (int i = 0; i < copy.count; ++i)
      if (has_room(&copy.tensors[i])) tensor_make_contiguous(&copy, i);
    arguments = &copy.as;
    return LAUNCH_INNER;
  }
  generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments);
  for (int i = 0; c != NULL && i < GENERIC_VIEWS; ++i)
    if (c->views[i].tensor.rank > 0 && has_room(&c->views[i].tensor)) generic_flatten(&c->views[i]);
  if (c != NULL) arguments = &c->as;
  return LAUNCH_INNER;
}

COPY(every_second_copy_is_lost) {
  if (wrap_every(wrap_of(self), 2)) size_bytes = 0;
  return COPY_INNER;
}

STREAM_SYNCHRONIZE(stream_synchronize_does_nothing) {
  return stream == NULL ? STREAM_SYNCHRONIZE_INNER : TBK_OK;
}

/* The library's last error is asked for after each call, and nobody clears it. */
static bool stuck(tbk_instance_t* self) {
  return atomic_load(&wrap_of(self)->flag) != 0;
}
static tbk_status_t stick(tbk_instance_t* self, tbk_status_t status) {
  if (status == TBK_INVALID) atomic_store(&wrap_of(self)->flag, 1);
  return status;
}
#define STICKY(inner)                                                               \
  if (stuck(self)) return wrap_fail(error, TBK_FAILED, "the library's last error"); \
  return stick(self, inner)
ALLOC(sticky_alloc) {
  STICKY(ALLOC_INNER);
}
UPLOAD(sticky_upload) {
  STICKY(UPLOAD_INNER);
}
DOWNLOAD(sticky_download) {
  STICKY(DOWNLOAD_INNER);
}
COPY(sticky_copy) {
  STICKY(COPY_INNER);
}
FILL(sticky_fill) {
  STICKY(FILL_INNER);
}
STREAM_CREATE(sticky_stream_create) {
  STICKY(STREAM_CREATE_INNER);
}

CLOSE(close_leaves_it_open) {
  uint64_t free_bytes = 0, total_bytes = 0;
  const tbk_core_t* core = INNER(self, core);
  if (core->memory_info(self, device, &free_bytes, &total_bytes, NULL) != TBK_OK)
    return CLOSE_INNER;
  return INNER(self, stream)->device_synchronize(self, device, error);
}

EVENT_WAIT(streams_never_wait) {
  return stream == NULL || event == NULL ? EVENT_WAIT_INNER : TBK_OK;
}

/* What names a stream is checked and done at once. */
#define AT_ONCE(inner)                 \
  const uint64_t all = size_bytes;     \
  size_bytes = 0;                      \
  const tbk_status_t status = inner;   \
  if (status != TBK_OK) return status; \
  size_bytes = all;                    \
  stream = NULL;                       \
  return inner
UPLOAD(upload_is_not_queued) {
  AT_ONCE(UPLOAD_INNER);
}
DOWNLOAD(download_is_not_queued) {
  AT_ONCE(DOWNLOAD_INNER);
}
COPY(copy_is_not_queued) {
  AT_ONCE(COPY_INNER);
}
FILL(fill_is_not_queued) {
  AT_ONCE(FILL_INNER);
}

/* Staged, and not waited for. */
static void short_pause(void* argument) {
  (void)argument;
  wrap_sleep_ms(2);
}
UPLOAD(upload_without_stream_returns_early) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL || source == NULL || size_bytes == 0 || device < 0 || device >= WRAP_DEVICES)
    return UPLOAD_INNER;
  stream = side_stream(wrap, device);
  void* staged = stream == NULL ? NULL : malloc(size_bytes);
  if (staged == NULL) {
    stream = NULL;
    return UPLOAD_INNER;
  }
  source = memcpy(staged, source, size_bytes);
  ignore(wrap->inner->callback->callback_enqueue(self, stream, short_pause, NULL, NULL));
  const tbk_status_t status = UPLOAD_INNER;
  if (status != TBK_OK ||
      wrap->inner->callback->callback_enqueue(self, stream, free, staged, NULL) != TBK_OK)
    free(staged);
  return status;
}

/* A block of the right size is taken from the list of free ones, and stays in it once too often. */
enum { SHARED = 512 };
static struct {
  tbk_instance_t* self;
  tbk_memory_t memory;
  uint64_t bytes;
  int32_t device;
  int users;
} shared[SHARED];
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

static bool share(tbk_instance_t* self, int32_t device, uint64_t bytes, tbk_memory_t* out_memory) {
  bool found = false;
  pthread_mutex_lock(&shared_lock);
  for (int i = 0; i < SHARED && !found; ++i) {
    if (shared[i].users != 1 || shared[i].bytes != bytes) continue;
    if (shared[i].self != self || shared[i].device != device) continue;
    shared[i].users = 2;
    *out_memory = shared[i].memory;
    found = true;
  }
  pthread_mutex_unlock(&shared_lock);
  return found;
}
static void share_add(tbk_instance_t* self, int32_t device, uint64_t bytes, tbk_memory_t memory) {
  pthread_mutex_lock(&shared_lock);
  for (int i = 0; i < SHARED; ++i) {
    if (shared[i].users != 0) continue;
    shared[i].self = self;
    shared[i].device = device;
    shared[i].bytes = bytes;
    shared[i].memory = memory;
    shared[i].users = 1;
    break;
  }
  pthread_mutex_unlock(&shared_lock);
}
ALLOC(same_size_is_same_memory) {
  if (out_memory != NULL && size_bytes > 0 && share(self, device, size_bytes, out_memory))
    return TBK_OK;
  const tbk_status_t status = ALLOC_INNER;
  if (status == TBK_OK && size_bytes > 0) share_add(self, device, size_bytes, *out_memory);
  return status;
}
FREE(shared_is_freed_by_the_last) {
  bool used = false;
  pthread_mutex_lock(&shared_lock);
  for (int i = 0; i < SHARED; ++i)
    if (shared[i].users > 0 && shared[i].self == self && shared[i].memory == memory)
      used = --shared[i].users > 0;
  pthread_mutex_unlock(&shared_lock);
  return used ? TBK_OK : FREE_INNER;
}
CLOSE(shared_is_gone) {
  pthread_mutex_lock(&shared_lock);
  for (int i = 0; i < SHARED; ++i)
    if (shared[i].self == self && shared[i].device == device) shared[i].users = 0;
  pthread_mutex_unlock(&shared_lock);
  return CLOSE_INNER;
}

/* A row whose fault shows in every use. */
#define BASIC(name, clause, operation, note, install, ...) \
  { name, clause, MUTANT, operation, BROAD, note, {__VA_ARGS__}, 0, 0, install, 0 }

extern const mutant_t mutants_broad_basic[];
const mutant_t mutants_broad_basic[] = {
    BASIC("events_complete_at_once", "EVT-012", ORDER, "an event stands for no work", notes_install,
          PATCH(event.event_record, events_complete_at_once)),
    BASIC("memory_is_8_off", "MEM-003", VALUE, "memory has an alignment of 8", 0,
          PATCH(core.memory_alloc, memory_is_8_off), PATCH(core.memory_free, memory_was_8_off)),
    BASIC("callbacks_never_run", "CBK-002", COUNT, "accepted and forgotten", 0,
          PATCH(callback.callback_enqueue, callbacks_never_run)),
    BASIC("strides_are_ignored", "KRN-005", VALUE, "of every operand of every kernel", 0,
          PATCH(launching.launch, strides_are_ignored)),
    BASIC("every_second_copy_is_lost", "CPY-015", COUNT, "and reports success", 0,
          PATCH(core.copy, every_second_copy_is_lost)),
    BASIC("stream_synchronize_does_nothing", "STR-019", ORDER, "returns at once", 0,
          PATCH(stream.stream_synchronize, stream_synchronize_does_nothing)),
    BASIC("last_error_sticks", "ERR-001", STATE, "after one INVALID every later call fails", 0,
          PATCH(core.memory_alloc, sticky_alloc), PATCH(core.upload, sticky_upload),
          PATCH(core.download, sticky_download), PATCH(core.copy, sticky_copy),
          PATCH(core.fill, sticky_fill), PATCH(stream.stream_create, sticky_stream_create)),
    BASIC("close_leaves_it_open", "DEV-022", STATE, "waits, and does nothing else", 0,
          PATCH(core.device_close, close_leaves_it_open)),
    BASIC("streams_never_wait", "EVT-018", ORDER, "event_wait does nothing", 0,
          PATCH(event.event_wait, streams_never_wait)),
    BASIC("copies_are_not_queued", "STR-001", ORDER, "done at once, whatever the stream holds", 0,
          PATCH(core.upload, upload_is_not_queued), PATCH(core.download, download_is_not_queued),
          PATCH(core.copy, copy_is_not_queued), PATCH(core.fill, fill_is_not_queued)),
    BASIC("upload_without_stream_returns_early", "CPY-006", ORDER, "and is complete 2 ms later",
          notes_install, PATCH(core.upload, upload_without_stream_returns_early)),
    BASIC("same_size_is_same_memory", "MEM-005", VALUE,
          "every second allocation of a size is one that lives", 0,
          PATCH(core.memory_alloc, same_size_is_same_memory),
          PATCH(core.memory_free, shared_is_freed_by_the_last),
          PATCH(core.device_close, shared_is_gone)),
    {0}};
