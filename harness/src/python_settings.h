/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * python_settings.h: what users set for scripts of their own is none of the worker's. To it a warning is
 * no error, an assertion is made, and its end is the end.
 */
#ifndef TBK_HARNESS_PYTHON_SETTINGS_H
#define TBK_HARNESS_PYTHON_SETTINGS_H

#include <stddef.h>
#include <stdlib.h>

static inline void tbk_python_settings_drop(void) {
  static const char* const names[] = {"PYTHONWARNINGS", "PYTHONOPTIMIZE", "PYTHONINSPECT"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    (void)unsetenv(names[i]);
}

#endif /* TBK_HARNESS_PYTHON_SETTINGS_H */
