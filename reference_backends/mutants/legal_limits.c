/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * legal_limits.c: allocations in units, and no more of them than the header promises.
 */
#include <string.h>

#include "calls.h"
#include "legal.h"

/* Returns where `memory` is noted, or NULL; 0 finds a free place. */
static tbk_memory_t* place_of(legal_t* legal, int32_t device, tbk_memory_t memory) {
  for (size_t i = 0; device >= 0 && device < WRAP_DEVICES && i < legal->allocations; i++)
    if (legal->held[device][i] == memory) return &legal->held[device][i];
  return NULL;
}

static bool note(wrap_t* wrap, legal_t* legal, int32_t device, tbk_memory_t memory) {
  pthread_mutex_lock(&wrap->lock);
  tbk_memory_t* place = place_of(legal, device, 0);
  if (place != NULL) *place = memory;
  pthread_mutex_unlock(&wrap->lock);
  return place != NULL;
}

ALLOC(legal_alloc) {
  legal_t* legal = legal_of(self);
  const bool counts = legal->allocations != 0 && size_bytes != 0;
  if (size_bytes <= UINT64_MAX - legal->unit)
    size_bytes = (size_bytes + legal->unit - 1) / legal->unit * legal->unit;
  if (!counts || out_memory == NULL) return ALLOC_INNER;
  tbk_memory_t memory = 0;
  const tbk_status_t status =
      INNER(self, core)->memory_alloc(self, device, size_bytes, &memory, error);
  if (status != TBK_OK) return status;
  if (!note(wrap_of(self), legal, device, memory)) {
    ignore(INNER(self, core)->memory_free(self, device, memory, NULL));
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "the device has no more allocations");
  }
  *out_memory = memory;
  return TBK_OK;
}

/* Forgotten first: once it is free, another thread may get the same handle. */
FREE(legal_free) {
  wrap_t* wrap = wrap_of(self);
  pthread_mutex_lock(&wrap->lock);
  tbk_memory_t* place = memory == 0 ? NULL : place_of(legal_of(self), device, memory);
  if (place != NULL) *place = 0;
  pthread_mutex_unlock(&wrap->lock);
  return FREE_INNER;
}

/* What outlives its device counts no more. */
void legal_forget_allocations(wrap_t* wrap, int32_t device) {
  legal_t* legal = (legal_t*)atomic_load(&wrap->kept);
  pthread_mutex_lock(&wrap->lock);
  memset(legal->held[device], 0, sizeof legal->held[device]);
  pthread_mutex_unlock(&wrap->lock);
}

void legal_patch_allocations(wrap_t* wrap) {
  wrap->core.memory_alloc = legal_alloc;
  wrap->core.memory_free = legal_free;
}
