/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * legal_early.c: "it may appear earlier": what enqueues looks at the stream first, as drivers do that keep
 * one word for an error. The call that tells has done nothing.
 */
#include "calls.h"
#include "legal.h"

static tbk_status_t told(tbk_instance_t* self, tbk_stream_t* stream, tbk_error_t* error) {
  if (stream == NULL) return TBK_OK;
  tbk_error_t reason;
  if (INNER(self, stream)->stream_query(self, stream, &reason) != TBK_FAILED) return TBK_OK;
  return wrap_fail(error, TBK_FAILED, reason.message);
}

/* Each is a function that asks first, and then does what the reference does. */
#define EARLY(SIGNATURE_OF, inner, name)                   \
  SIGNATURE_OF(early_##name) {                             \
    const tbk_status_t status = told(self, stream, error); \
    return status == TBK_OK ? (inner) : status;            \
  }
EARLY(UPLOAD, UPLOAD_INNER, upload)
EARLY(DOWNLOAD, DOWNLOAD_INNER, download)
EARLY(COPY, COPY_INNER, copy)
EARLY(FILL, FILL_INNER, fill)
EARLY(CALLBACK, CALLBACK_INNER, callback)
EARLY(EVENT_RECORD, EVENT_RECORD_INNER, record)
EARLY(EVENT_WAIT, EVENT_WAIT_INNER, wait)
EARLY(RANDOM_BITS, RANDOM_BITS_INNER, random)

void legal_patch_early(wrap_t* wrap) {
  const legal_t* legal = (const legal_t*)atomic_load(&wrap->kept);
  if (!legal->tells_early) return;
  wrap->core.upload = early_upload;
  wrap->core.download = early_download;
  wrap->core.copy = early_copy;
  wrap->core.fill = early_fill;
  wrap->callback.callback_enqueue = early_callback;
  wrap->event.event_record = early_record;
  wrap->event.event_wait = early_wait;
  wrap->random.random_bits = early_random;
}
