/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rare.c: faults at a rate that is planted, to see whether what a run says of rates holds. With
 * one_in=N, one of N calls is broken, which of them chance=SEED says; with share=N, in N of a hundred
 * processes alone; with many=N, those on a stream that was given N pieces of work since it was last waited
 * for; with bytes=N, those of N bytes and more, or right behind so many.
 * No run of contract tests would find most of them, so the kill matrix does not list them.
 */
#include <unistd.h>

#include "calls.h"

static uint64_t mix(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* As what depends on where memory lies, or which thread came first. */
static bool is_of_this_process(const wrap_t* wrap) {
  return wrap->plant.share >= 100 ||
         mix((uint64_t)getpid() ^ mix(wrap->plant.chance)) % 100 < wrap->plant.share;
}

static bool strikes(tbk_instance_t* self) {
  wrap_t* wrap = wrap_of(self);
  const uint64_t call = atomic_fetch_add(&wrap->calls, 1);
  return is_of_this_process(wrap) && mix(call ^ mix(wrap->plant.chance)) % wrap->plant.one_in == 0;
}

EVENT_WAIT(rare_wait) {
  return stream != NULL && event != NULL && strikes(self) ? TBK_OK : EVENT_WAIT_INNER;
}
EVENT_RECORD(rare_record) {
  return stream != NULL && event != NULL && strikes(self) ? TBK_OK : EVENT_RECORD_INNER;
}
EVENT_SYNCHRONIZE(rare_event_synchronize) {
  return event != NULL && strikes(self) ? TBK_OK : EVENT_SYNCHRONIZE_INNER;
}
EVENT_QUERY(rare_event_query) {
  return event != NULL && strikes(self) ? TBK_OK : EVENT_QUERY_INNER;
}
STREAM_SYNCHRONIZE(rare_stream_synchronize) {
  return stream != NULL && strikes(self) ? TBK_OK : STREAM_SYNCHRONIZE_INNER;
}
STREAM_QUERY(rare_stream_query) {
  return stream != NULL && strikes(self) ? TBK_OK : STREAM_QUERY_INNER;
}
DEVICE_SYNCHRONIZE(rare_device_synchronize) {
  return strikes(self) ? TBK_OK : DEVICE_SYNCHRONIZE_INNER;
}
CALLBACK(rare_callback) {
  if (stream == NULL || function == NULL || !strikes(self)) return CALLBACK_INNER;
  function(argument);
  return TBK_OK;
}

/* Work that runs at once, ahead of its stream. */
#define EARLY(f, signature, inner)                      \
  signature(f) {                                        \
    if (stream != NULL && strikes(self)) stream = NULL; \
    return inner;                                       \
  }
EARLY(rare_copy, COPY, COPY_INNER)
EARLY(rare_upload, UPLOAD, UPLOAD_INNER)
EARLY(rare_download, DOWNLOAD, DOWNLOAD_INNER)
EARLY(rare_fill, FILL, FILL_INNER)

#define LARGE(f, signature, inner)                                                 \
  signature(f) {                                                                   \
    if (stream != NULL && size_bytes >= wrap_of(self)->plant.bytes) stream = NULL; \
    return inner;                                                                  \
  }
LARGE(large_copy, COPY, COPY_INNER)
LARGE(large_upload, UPLOAD, UPLOAD_INNER)
LARGE(large_download, DOWNLOAD, DOWNLOAD_INNER)

/* How much was enqueued on it since somebody waited. */
static bool is_full(tbk_instance_t* self, tbk_stream_t* stream) {
  wrap_t* wrap = wrap_of(self);
  return stream != NULL && note_of_stream(wrap, stream)->count++ >= wrap->plant.many;
}
#define PILED(f, signature, inner)            \
  signature(f) {                              \
    if (is_full(self, stream)) stream = NULL; \
    return inner;                             \
  }
PILED(copy_behind_many, COPY, COPY_INNER)
PILED(upload_behind_many, UPLOAD, UPLOAD_INNER)
PILED(download_behind_many, DOWNLOAD, DOWNLOAD_INNER)
#define PASSED(f, signature, inner) \
  signature(f) {                    \
    (void)is_full(self, stream);    \
    return inner;                   \
  }
PASSED(fill_counted, FILL, FILL_INNER)
PASSED(copy_counted, COPY, COPY_INNER)
PASSED(upload_counted, UPLOAD, UPLOAD_INNER)
PASSED(download_counted, DOWNLOAD, DOWNLOAD_INNER)
EVENT_WAIT(wait_behind_many) {
  return event != NULL && is_full(self, stream) ? TBK_OK : EVENT_WAIT_INNER;
}
STREAM_SYNCHRONIZE(synchronize_counted) {
  if (stream != NULL) note_of_stream(wrap_of(self), stream)->count = 0;
  return STREAM_SYNCHRONIZE_INNER;
}

/* Right behind a copy of so many bytes it is too early. */
#define SIZED(f, signature, inner)                                                 \
  signature(f) {                                                                   \
    if (stream != NULL) note_of_stream(wrap_of(self), stream)->count = size_bytes; \
    return inner;                                                                  \
  }
SIZED(fill_sized, FILL, FILL_INNER)
SIZED(copy_sized, COPY, COPY_INNER)
SIZED(upload_sized, UPLOAD, UPLOAD_INNER)
SIZED(download_sized, DOWNLOAD, DOWNLOAD_INNER)
CALLBACK(callback_behind_large) {
  if (stream == NULL || function == NULL) return CALLBACK_INNER;
  stream_note_t* note = note_of_stream(wrap_of(self), stream);
  const bool is_large = note->count >= wrap_of(self)->plant.bytes;
  note->count = 0;
  if (!is_large) return CALLBACK_INNER;
  function(argument);
  return TBK_OK;
}

/* Of two threads that wait at the same time, the later one. */
STREAM_SYNCHRONIZE(synchronize_beside_another) {
  wrap_t* wrap = wrap_of(self);
  const bool is_second = atomic_fetch_add(&wrap->flag, 1) > 0;
  const tbk_status_t status = is_second && stream != NULL ? TBK_OK : STREAM_SYNCHRONIZE_INNER;
  atomic_fetch_sub(&wrap->flag, 1);
  return status;
}

#define RARE(function, clause, member, note) \
  { #function, clause, RARE, ORDER, NARROW, note, {PATCH(member, function) }, 0, 0, 0, 0 }
#define MANY(name, clause, note, ...) \
  { name, clause, RARE, ORDER, NARROW, note, {__VA_ARGS__}, 0, 0, notes_install, 0 }

const mutant_t mutants_rare[] = {
    RARE(rare_wait, "EVT-018", event.event_wait, "left out"),
    RARE(rare_record, "EVT-012", event.event_record, "left out"),
    RARE(rare_event_synchronize, "EVT-026", event.event_synchronize, "at once"),
    RARE(rare_event_query, "EVT-023", event.event_query, "OK"),
    RARE(rare_stream_synchronize, "STR-019", stream.stream_synchronize, "at once"),
    RARE(rare_stream_query, "STR-015", stream.stream_query, "OK"),
    RARE(rare_device_synchronize, "STR-022", stream.device_synchronize, "at once"),
    RARE(rare_callback, "CBK-003", callback.callback_enqueue, "runs inside the call"),
    RARE(rare_copy, "STR-001", core.copy, "runs at once"),
    RARE(rare_upload, "STR-001", core.upload, "runs at once"),
    RARE(rare_download, "STR-001", core.download, "runs at once"),
    RARE(rare_fill, "STR-001", core.fill, "runs at once"),
    RARE(large_copy, "STR-001", core.copy, "runs at once"),
    RARE(large_upload, "STR-001", core.upload, "runs at once"),
    RARE(large_download, "STR-001", core.download, "runs at once"),
    MANY("copy_behind_many", "STR-001", "runs at once", PATCH(core.copy, copy_behind_many),
         PATCH(core.fill, fill_counted), PATCH(core.upload, upload_counted),
         PATCH(stream.stream_synchronize, synchronize_counted)),
    MANY("upload_behind_many", "STR-001", "runs at once", PATCH(core.upload, upload_behind_many),
         PATCH(core.fill, fill_counted), PATCH(core.copy, copy_counted),
         PATCH(stream.stream_synchronize, synchronize_counted)),
    MANY("download_behind_many", "STR-001", "runs at once",
         PATCH(core.download, download_behind_many), PATCH(core.fill, fill_counted),
         PATCH(core.upload, upload_counted), PATCH(stream.stream_synchronize, synchronize_counted)),
    MANY("wait_behind_many", "EVT-018", "left out", PATCH(event.event_wait, wait_behind_many),
         PATCH(core.fill, fill_counted), PATCH(core.upload, upload_counted),
         PATCH(core.download, download_counted),
         PATCH(stream.stream_synchronize, synchronize_counted)),
    MANY("callback_behind_large", "CBK-003", "runs inside the call",
         PATCH(callback.callback_enqueue, callback_behind_large), PATCH(core.fill, fill_sized),
         PATCH(core.copy, copy_sized), PATCH(core.upload, upload_sized),
         PATCH(core.download, download_sized)),
    RARE(synchronize_beside_another, "STR-019", stream.stream_synchronize, "at once"),
    {0}};
