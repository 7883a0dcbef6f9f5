/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * entry.c: the one exported symbol. The option mutant=NAME chooses the row; the environment's
 * TBK_MUTANT does so where no option can be read, because the host structure itself is under test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wrap.h"

static _Thread_local const mutant_t* active_row;

const mutant_t* wrap_active_row(void) {
  return active_row;
}

const mutant_t* mutant_find(const char* name, size_t length) {
  for (size_t t = 0; mutant_tables[t] != NULL; ++t) {
    for (const mutant_t* row = mutant_tables[t]; row->name != NULL; ++row) {
      if (strlen(row->name) == length && memcmp(row->name, name, length) == 0) return row;
    }
  }
  return NULL;
}

/* The value of "mutant=" in "a=1,mutant=NAME,b=2", not terminated; NULL if it is not there. */
static const char* option_value(const char* options, size_t* out_length) {
  static const char key[] = "mutant=";
  for (const char* at = options; at != NULL && *at != '\0';) {
    if (strncmp(at, key, sizeof key - 1) == 0) {
      at += sizeof key - 1;
      *out_length = strcspn(at, ",");
      return at;
    }
    at = strchr(at, ',');
    if (at != NULL) ++at;
  }
  return NULL;
}

TBK_EXPORT tbk_status_t tbk_backend_create(const tbk_host_t* host,
                                           const tbk_backend_t** out_backend, tbk_error_t* error) {
  const size_t needed = offsetof(tbk_host_t, options) + sizeof host->options;
  size_t length = 0;
  const char* name = NULL;
  if (host != NULL && host->struct_size >= needed) name = option_value(host->options, &length);
  if (name == NULL) {
    name = getenv("TBK_MUTANT");
    length = name == NULL ? 0 : strlen(name);
  }
  active_row = name == NULL ? NULL : mutant_find(name, length);
  if (name != NULL && active_row == NULL) {
    char text[128];
    snprintf(text, sizeof text, "no mutant is called '%.*s'", (int)(length & 63), name);
    return wrap_fail(error, TBK_INVALID, text);
  }
  if (active_row != NULL && active_row->entry != NULL)
    return active_row->entry(host, out_backend, error);
  return wrap_create(active_row, host, out_backend, error);
}
