/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * host.h: kernels compiled for the host, for simulators of drivers. They run in groups of 64 items, in
 * any order; the library tbk::emit_host has them all.
 */
#ifndef EMIT_HOST_H
#define EMIT_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EMIT_HOST_PARAMETERS = 6, EMIT_HOST_POINTERS = 4, EMIT_HOST_GROUP = 64 };

/* Where a kernel may read and write: the operand's memory. */
typedef struct emit_host_range {
  uintptr_t start;
  uint64_t size_bytes;
} emit_host_range_t;

typedef struct emit_host_group {
  int64_t index;
  uint64_t drawn; /* state of the source of choices */
  unsigned start, step;
  emit_host_range_t ranges[EMIT_HOST_POINTERS];
  bool out_of_range; /* an access went elsewhere, or was misaligned */
} emit_host_group_t;

/* The parameters are shape, scalar and EMIT_HOST_POINTERS pointers. */
typedef struct emit_host_kernel {
  const char* options; /* what the source is compiled with */
  void (*run)(emit_host_group_t* group, const void* const* parameters);
  size_t parameter_bytes[EMIT_HOST_PARAMETERS];
} emit_host_kernel_t;

/* Ends with NULL. */
extern const emit_host_kernel_t* const emit_host_kernels[];

/*
 * Runs `groups` groups, with choices that follow from `seed`.
 * Requires: parameters as the kernel says, pointers as the host sees them; one range for each.
 * Ensures: reads and writes inside of the ranges alone.
 * Threads: any. Errors: false where an access would have gone elsewhere.
 */
bool emit_host_run(const emit_host_kernel_t* kernel, int64_t groups, const void* const* parameters,
                   const emit_host_range_t* ranges, uint64_t seed);

/* For host.inc: the place that is meant, or where nothing is harmed; the order of the next phase. */
void* emit_host_reach(uintptr_t address, size_t size_bytes, size_t alignment);
void emit_host_draw(emit_host_group_t* group);

#endif /* EMIT_HOST_H */
