/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * pinned.c: host memory. Any will do here; it is counted, so that it can run out.
 */
#include <stdlib.h>

#include "inside.h"

enum { ALIGNMENT = 64 };

typedef struct vdev_pinned { /* stands in front of the bytes that the caller gets */
  _Alignas(ALIGNMENT) LIST_ENTRY(vdev_pinned) entry;
  uint64_t size_bytes;
} pinned_t;

void* vdev_pinned_take(vdev_machine_t* machine, uint64_t size_bytes) {
  pinned_t* piece = NULL;
  vdev_lock(machine);
  const uint64_t left = machine->config.pinned_bytes - machine->pinned_bytes;
  const uint64_t rounded = (size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  const bool has_room = size_bytes <= left && rounded <= left;
  if (has_room && machine->pinned_blocks < machine->config.pinned_blocks) {
    size_bytes = rounded;
    piece = aligned_alloc(ALIGNMENT, sizeof *piece + size_bytes);
  }
  if (piece) {
    piece->size_bytes = size_bytes;
    machine->pinned_bytes += size_bytes;
    machine->pinned_blocks++;
    LIST_INSERT_HEAD(&machine->pinned, piece, entry);
  }
  vdev_unlock(machine);
  return piece ? piece + 1 : NULL;
}

bool vdev_pinned_give(vdev_machine_t* machine, void* pointer) {
  vdev_lock(machine);
  pinned_t* piece = LIST_FIRST(&machine->pinned);
  while (piece && piece + 1 != pointer)
    piece = LIST_NEXT(piece, entry);
  if (piece) {
    LIST_REMOVE(piece, entry);
    machine->pinned_bytes -= piece->size_bytes;
    machine->pinned_blocks--;
  }
  vdev_unlock(machine);
  free(piece);
  return piece != NULL;
}

void vdev_pinned_free_all(vdev_machine_t* machine) {
  pinned_t* piece;
  while ((piece = LIST_FIRST(&machine->pinned))) {
    LIST_REMOVE(piece, entry);
    free(piece);
  }
}
