/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pinned.c: host memory that is counted.
 */
#include "cpu.h"

static tbk_status_t pinned_alloc(tbk_instance_t* self, int32_t index, uint64_t size_bytes,
                                 void** out_pointer, tbk_error_t* error) {
  tbk_status_t status = cpu_enter(self, index, error);
  if (status != TBK_OK) return status;
  if (!out_pointer) return cpu_fail(TBK_INVALID, error, "out_pointer is NULL");
  if (size_bytes == 0) return *out_pointer = NULL, TBK_OK;
  void* pointer = vdev_pinned_take(self->machine, size_bytes);
  if (!pointer) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no more memory can be pinned");
  *out_pointer = pointer;
  return TBK_OK;
}

/* Host memory outlives its device, so what is given back late is still there. */
static void pinned_free(tbk_instance_t* self, void* pointer) {
  if (pointer) vdev_pinned_give(self->machine, pointer);
}

const tbk_pinned_ops_t cpu_pinned_ops = {sizeof cpu_pinned_ops, pinned_alloc, pinned_free};
