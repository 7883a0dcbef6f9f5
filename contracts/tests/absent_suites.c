/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "case.h"

/* Stands in for a suite whose file is not written yet. */
#define ABSENT(name)                         \
  extern const tbk_suite_t tbk_suite_##name; \
  __attribute__((weak)) const tbk_suite_t tbk_suite_##name = {#name, NULL, 0};

ABSENT(library)
ABSENT(device)
ABSENT(memory)
ABSENT(memory_free)
ABSENT(copy)
ABSENT(copy_refusal)
ABSENT(copy_order)
ABSENT(stream)
ABSENT(event)
ABSENT(callback)
ABSENT(pinned)
ABSENT(peer)
ABSENT(async_memory)
ABSENT(kernel)
ABSENT(kernel_plan)
ABSENT(kernel_values)
ABSENT(kernel_shapes)
ABSENT(random)
ABSENT(error)
ABSENT(fault)
ABSENT(thread)
ABSENT(fork)
ABSENT(teardown)
ABSENT(capability)
