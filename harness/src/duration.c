/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * duration.c: see duration.h.
 */
#include "duration.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char* unit;
  double seconds;
} units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}};

static const double most_seconds = 1e9;

bool tbk_duration_read(const char* text, double* out_seconds) {
  char* unit = NULL;
  /* strtod would take a sign, "inf" and hexadecimal digits. */
  if (text[strspn(text, "0123456789.")] == 'x' || !(isdigit((unsigned char)*text) || *text == '.'))
    return false;
  const double value = strtod(text, &unit);
  if (unit == text) return false;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strcmp(unit, units[i].unit) == 0) {
      *out_seconds = value * units[i].seconds;
      return *out_seconds > 0 && *out_seconds <= most_seconds;
    }
  return false;
}
