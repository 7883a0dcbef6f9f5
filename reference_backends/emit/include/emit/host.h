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

enum {
  EMIT_HOST_GROUP = 64,
  EMIT_HOST_PARAMETERS = 6, /* of a kernel by hand */
  EMIT_HOST_POINTERS = 4,   /* the last of these */
  EMIT_HOST_POINTERS_MOST = 72,
  EMIT_HOST_PARAMETERS_MOST = EMIT_HOST_POINTERS_MOST + 1
};

/* Where a kernel may read and write: the operand's memory. */
typedef struct emit_host_range {
  uintptr_t start;
  uint64_t size_bytes;
} emit_host_range_t;

typedef struct emit_host_group {
  int64_t index;
  uint64_t drawn; /* state of the source of choices */
  unsigned start, step;
  const emit_host_range_t* ranges;
  int range_count;
  bool out_of_range; /* an access went elsewhere, or was misaligned */
} emit_host_group_t;

/* The last of the parameters are pointers. */
typedef struct emit_host_kernel {
  const char* options; /* what the source is compiled with */
  void (*run)(emit_host_group_t* group, const void* const* parameters);
  int parameter_count, pointer_count;
  size_t parameter_bytes[EMIT_HOST_PARAMETERS_MOST];
} emit_host_kernel_t;

/* Ends with NULL. */
extern const emit_host_kernel_t* const emit_host_kernels[];

/*
 * Runs `groups` groups, with choices that follow from `seed`.
 * Requires: parameters as the kernel says, pointers as the host sees them; a range for each pointer.
 * Ensures: reads and writes inside of the ranges alone.
 * Threads: any. Errors: false where an access would have gone elsewhere.
 */
bool emit_host_run(const emit_host_kernel_t* kernel, int64_t groups, const void* const* parameters,
                   const emit_host_range_t* ranges, uint64_t seed);

/* For host.inc: the place that is meant, or where nothing is harmed; the order of the next phase. */
void* emit_host_reach(uintptr_t address, size_t size_bytes, size_t alignment);
void emit_host_draw(emit_host_group_t* group);
/* The two as an object gets them that is compiled at run time. */
typedef struct emit_host_functions {
  void* (*reach)(uintptr_t address, size_t size_bytes, size_t alignment);
  void (*draw)(emit_host_group_t* group);
} emit_host_functions_t;

/* Returns the kernel of an object that was compiled of host.inc's prelude and loaded until the process ends;
 * NULL where that is no such object. Threads: any. */
const emit_host_kernel_t* emit_host_load(const void* bytes, size_t size);

#endif /* EMIT_HOST_H */
