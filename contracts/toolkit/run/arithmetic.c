/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "arithmetic.h"

#include <fenv.h>
#include <stdbool.h>

static femode_t at_first;
static bool is_noted;

void tbk_arithmetic_note(void) {
  if (!is_noted) (void)fegetmode(&at_first);
  is_noted = true;
}

void tbk_arithmetic_restore(void) {
  if (is_noted) (void)fesetmode(&at_first);
}
