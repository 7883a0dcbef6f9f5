/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * phases.c: kernels of the tests. Both turn 64 numbers round in place; one has the barrier for it.
 */
#include <emit/host.h>

#define EMIT_OPTIONS "test"
#define EMIT_SYMBOL with_barrier
#define run run_with_barrier
#include "c_types.inc"
#include "host.inc"

typedef struct {
  i64 first;
} shape_t;
typedef u32 stored, scalar_t, first_t;

extern const emit_host_kernel_t with_barrier, without_barrier;

/* clang-format off */
KERNEL_BEGIN
  OWN(u32, value);
  PHASE
    MINE(value) = ELEMENT(out, shape.first + 63 - ITEM);
  BARRIER
  PHASE
    ELEMENT(out, shape.first + ITEM) = MINE(value);
  END
KERNEL_END

#undef run
#undef EMIT_SYMBOL
#define EMIT_SYMBOL without_barrier

KERNEL_BEGIN
  PHASE
    const u32 value = ELEMENT(out, shape.first + 63 - ITEM);
    ELEMENT(out, shape.first + ITEM) = value;
  END
KERNEL_END
