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
ABSENT(copy)
ABSENT(stream)
ABSENT(event)
ABSENT(callback)
ABSENT(pinned)
ABSENT(peer)
ABSENT(async_memory)
ABSENT(kernel)
ABSENT(random)
ABSENT(error)
ABSENT(fault)
ABSENT(thread)
ABSENT(fork)
ABSENT(teardown)
ABSENT(capability)
