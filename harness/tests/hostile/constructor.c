/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * constructor.c: libraries that go wrong as soon as they are loaded. HOSTILE_ACT says how; the
 * entry is there, and nobody reaches it.
 */
#include "hostile.h"

__attribute__((constructor)) static void at_constructor(void) {
  HOSTILE_ACT();
}

TBK_EXPORT tbk_status_t tbk_backend_create(const tbk_host_t* host,
                                           const tbk_backend_t** out_backend, tbk_error_t* error) {
  (void)host;
  (void)out_backend;
  (void)error;
  return TBK_FAILED;
}
