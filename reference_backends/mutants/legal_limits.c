/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * legal_limits.c: allocations in units, and no more of them than the header promises.
 */
#include "calls.h"
#include "legal.h"

/* In the place of memory whose async_free is still to run. */
#define FREED UINT64_MAX

/* Returns where `memory` is noted, or NULL; 0 finds a free place. */
static _Atomic(tbk_memory_t)* place_of(legal_t* legal, int32_t device, tbk_memory_t memory) {
  for (size_t i = 0; device >= 0 && device < WRAP_DEVICES && i < legal->allocations; i++)
    if (legal->held[device][i] == memory) return &legal->held[device][i];
  return NULL;
}

static bool note(wrap_t* wrap, legal_t* legal, int32_t device, tbk_memory_t memory) {
  pthread_mutex_lock(&wrap->lock);
  _Atomic(tbk_memory_t)* place = place_of(legal, device, 0);
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
  _Atomic(tbk_memory_t)* place = memory == 0 ? NULL : place_of(legal_of(self), device, memory);
  if (place != NULL) *place = 0;
  pthread_mutex_unlock(&wrap->lock);
  return FREE_INNER;
}

/* Returns the device of a stream that is counted, or -1. */
static int32_t device_of(legal_t* legal, tbk_stream_t* stream) {
  for (int32_t device = 0; stream != NULL && device < WRAP_DEVICES; device++)
    for (size_t i = 0; i < legal->streams; i++)
      if (atomic_load(&legal->live[device][i]) == stream) return device;
  return -1;
}

ASYNC_ALLOC(legal_async_alloc) {
  legal_t* legal = legal_of(self);
  const int32_t device = device_of(legal, stream);
  const bool counts = legal->allocations != 0 && size_bytes != 0 && device >= 0;
  if (size_bytes <= UINT64_MAX - legal->unit)
    size_bytes = (size_bytes + legal->unit - 1) / legal->unit * legal->unit;
  if (!counts || out_memory == NULL) return ASYNC_ALLOC_INNER;
  tbk_memory_t memory = 0;
  const tbk_status_t status =
      INNER(self, async_memory)->async_alloc(self, stream, size_bytes, &memory, error);
  if (status != TBK_OK) return status;
  if (!note(wrap_of(self), legal, device, memory)) {
    ignore(INNER(self, async_memory)->async_free(self, stream, memory, NULL));
    return wrap_fail(error, TBK_OUT_OF_MEMORY, "the device has no more allocations");
  }
  *out_memory = memory;
  return TBK_OK;
}

static void give_place(void* place) {
  atomic_store((_Atomic(tbk_memory_t)*)place, 0);
}

/* A callback behind the free tells when it has run: until then it is one of the allocations. */
ASYNC_FREE(legal_async_free) {
  wrap_t* wrap = wrap_of(self);
  legal_t* legal = legal_of(self);
  pthread_mutex_lock(&wrap->lock);
  _Atomic(tbk_memory_t)* place =
      memory == 0 ? NULL : place_of(legal, device_of(legal, stream), memory);
  if (place != NULL) *place = FREED;
  pthread_mutex_unlock(&wrap->lock);
  const tbk_status_t status = ASYNC_FREE_INNER;
  if (place == NULL) return status;
  if (status != TBK_OK)
    *place = memory;
  else if (INNER(self, callback)->callback_enqueue(self, stream, give_place, place, NULL) != TBK_OK)
    give_place(place);
  return status;
}

/* What outlives its device counts no more. */
void legal_forget_allocations(wrap_t* wrap, int32_t device) {
  legal_t* legal = (legal_t*)atomic_load(&wrap->kept);
  pthread_mutex_lock(&wrap->lock);
  for (size_t i = 0; i < LEGAL_ALLOCATIONS; i++)
    legal->held[device][i] = 0;
  pthread_mutex_unlock(&wrap->lock);
}

void legal_patch_allocations(wrap_t* wrap) {
  wrap->core.memory_alloc = legal_alloc;
  wrap->core.memory_free = legal_free;
  wrap->async_memory.async_alloc = legal_async_alloc;
  wrap->async_memory.async_free = legal_async_free;
}
