/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pinned.c: host memory. Any will do here; it is counted, so that it can run out.
 */
#include "cpu.h"

#include <stdlib.h>

enum { ALIGNMENT = 64 };
#define PINNED_MOST (UINT64_C(1) << 30) /* bytes of an instance */

struct cpu_pinned { /* stands in front of the bytes that the caller gets */
  _Alignas(ALIGNMENT) LIST_ENTRY(cpu_pinned) entry;
  uint64_t size_bytes;
};

static tbk_status_t pinned_alloc(tbk_instance_t* self, int32_t index, uint64_t size_bytes,
                                 void** out_pointer, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, index, error);
  if (status != TBK_OK) return status;
  if (!out_pointer) return cpu_fail(TBK_INVALID, error, "out_pointer is NULL");
  if (size_bytes == 0) return *out_pointer = NULL, TBK_OK;
  cpu_pinned_t* block = NULL;
  cpu_lock(self);
  if (size_bytes <= PINNED_MOST - self->pinned_bytes) {
    size_bytes = (size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    block = aligned_alloc(ALIGNMENT, sizeof *block + size_bytes);
  }
  if (block) {
    block->size_bytes = size_bytes;
    self->pinned_bytes += size_bytes;
    LIST_INSERT_HEAD(&self->pinned, block, entry);
    *out_pointer = block + 1;
  }
  cpu_unlock(self);
  return block ? TBK_OK : cpu_fail(TBK_OUT_OF_MEMORY, error, "no more memory can be pinned");
}

static void give(tbk_instance_t* self, cpu_pinned_t* block) {
  LIST_REMOVE(block, entry);
  self->pinned_bytes -= block->size_bytes;
  free(block);
}

/* Host memory outlives its device, so what is given back late is still there. */
static void pinned_free(tbk_instance_t* self, void* pointer) {
  if (!pointer) return;
  cpu_lock(self);
  give(self, (cpu_pinned_t*)pointer - 1);
  cpu_unlock(self);
}

void cpu_pinned_free_all(tbk_instance_t* self) {
  cpu_pinned_t* block = LIST_FIRST(&self->pinned);
  while (block != NULL) {
    cpu_pinned_t* next = LIST_NEXT(block, entry);
    free(block);
    block = next;
  }
  LIST_INIT(&self->pinned);
}

const tbk_pinned_ops_t cpu_pinned_ops = {sizeof cpu_pinned_ops, pinned_alloc, pinned_free};
