/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * mutants_pageable.c: devices whose copies of pageable memory wait for their stream on the host, as many
 * drivers' do. A program with such a copy has waited before it comes to the edge, so that nothing is held
 * there; one whose host memory is pinned shows the fault.
 */
#include "calls.h"

/* The latest block is enough: memory that is taken for pageable waits, which is legal. */
PINNED_ALLOC(pinned_range_is_noted) {
  wrap_t* wrap = wrap_of(self);
  tbk_status_t status = PINNED_ALLOC_INNER;
  if (status != TBK_OK || out_pointer == NULL) return status;
  atomic_store(&wrap->value, size_bytes);
  atomic_store(&wrap->kept, (uintptr_t)*out_pointer);
  return status;
}
static bool is_pinned(wrap_t* wrap, const void* host) {
  return (uintptr_t)host - atomic_load(&wrap->kept) < atomic_load(&wrap->value);
}
static tbk_status_t wait_if_pageable(tbk_instance_t* self, tbk_status_t status, const void* host,
                                     tbk_stream_t* stream) {
  if (status == TBK_OK && stream != NULL && !is_pinned(wrap_of(self), host))
    wrap_wait_untold(self, stream);
  return status;
}
UPLOAD(pageable_upload_waits) {
  return wait_if_pageable(self, UPLOAD_INNER, source, stream);
}
DOWNLOAD(pageable_download_waits) {
  return wait_if_pageable(self, DOWNLOAD_INNER, destination, stream);
}

EVENT_WAIT(wait_does_nothing_beside_pageable) {
  return stream == NULL || event == NULL ? EVENT_WAIT_INNER : TBK_OK;
}
UPLOAD(pinned_upload_ahead_of_stream) {
  wrap_t* wrap = wrap_of(self);
  if (stream != NULL && is_pinned(wrap, source))
    stream = side_stream(wrap, note_of_stream(wrap, stream)->device);
  return wait_if_pageable(self, UPLOAD_INNER, source, stream);
}

#define PAGEABLE_COPIES_WAIT \
  PATCH(pinned.pinned_alloc, pinned_range_is_noted), PATCH(core.download, pageable_download_waits)
#define BESIDE(name, clause, note, ...)                                                   \
  {                                                                                       \
    name, clause, MUTANT, ORDER, NARROW, note, {PAGEABLE_COPIES_WAIT, __VA_ARGS__}, 0, 0, \
        notes_install, 0                                                                  \
  }

extern const mutant_t mutants_pageable[];
const mutant_t mutants_pageable[] = {
    ODD("pageable_copies_block", "copies of pageable memory wait on the host", NULL,
        PAGEABLE_COPIES_WAIT, PATCH(core.upload, pageable_upload_waits)),
    BESIDE("wait_does_nothing_beside_pageable", "EVT-018",
           "no edge, on a device whose copies of pageable memory wait",
           PATCH(core.upload, pageable_upload_waits),
           PATCH(event.event_wait, wait_does_nothing_beside_pageable)),
    BESIDE("pinned_upload_ahead_of_stream", "STR-001",
           "one of pinned memory runs ahead; copies of pageable memory wait",
           PATCH(core.upload, pinned_upload_ahead_of_stream)),
    {0}};
