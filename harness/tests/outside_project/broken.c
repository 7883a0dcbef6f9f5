/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * broken.c: a backend that no suite may accept.
 */
#include <tbk/tbk.h>

TBK_EXPORT tbk_status_t tbk_backend_create(const tbk_host_t* host,
                                           const tbk_backend_t** out_backend, tbk_error_t* error) {
  (void)host;
  (void)out_backend;
  (void)error;
  return TBK_FAILED;
}
