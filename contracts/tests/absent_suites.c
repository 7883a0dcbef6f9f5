/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "case.h"

/* Stands in for a suite whose file is not written yet. */
#define ABSENT(name)                         \
  extern const tbk_suite_t tbk_suite_##name; \
  const tbk_suite_t tbk_suite_##name = {#name, NULL, 0};

#if !__has_include("event_test.c")
ABSENT(event)
#endif
#if !__has_include("callback_test.c")
ABSENT(callback)
#endif
#if !__has_include("stream_test.c")
ABSENT(stream)
#endif
#if !__has_include("kernel_test.c")
ABSENT(kernel)
#endif
#if !__has_include("kernel_plan_test.c")
ABSENT(kernel_plan)
#endif
#if !__has_include("kernel_values_test.c")
ABSENT(kernel_values)
#endif
#if !__has_include("kernel_shapes_test.c")
ABSENT(kernel_shapes)
#endif
#if !__has_include("error_test.c")
ABSENT(error)
#endif
#if !__has_include("fault_test.c")
ABSENT(fault)
#endif
