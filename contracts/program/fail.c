/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tbk_status_t program_fail(tbk_error_t* error, const char* format, ...) {
  va_list values;
  if (error == NULL) return TBK_INVALID;
  va_start(values, format);
  vsnprintf(error->message, sizeof error->message, format, values);
  va_end(values);
  return TBK_INVALID;
}

void program_fail_in(tbk_error_t* error, const char* format, ...) {
  char message[sizeof error->message];
  va_list values;
  if (error == NULL) return;
  memcpy(message, error->message, sizeof message);
  va_start(values, format);
  int length = vsnprintf(error->message, sizeof error->message, format, values);
  va_end(values);
  if (length >= 0 && (size_t)length < sizeof error->message)
    snprintf(error->message + length, sizeof error->message - (size_t)length, "%s", message);
}
