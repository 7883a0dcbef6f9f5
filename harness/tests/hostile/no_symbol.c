/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * no_symbol.c: a sound library that is no backend.
 */
#include <tbk/tbk.h>

TBK_EXPORT int acme_version(void);

int acme_version(void) {
  return 3;
}
