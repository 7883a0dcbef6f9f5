/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * forward.c: see forward.h.
 */
#include "forward.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

tbk_backend_create_fn forward_entry(const char* name) {
  static const char here;
  char path[4096];
  Dl_info info;
  if (dladdr(&here, &info) == 0) return NULL;
  const char* slash = strrchr(info.dli_fname, '/');
  const int length = slash == NULL ? 0 : (int)(slash - info.dli_fname + 1);
  snprintf(path, sizeof path, "%.*s../%s", length, info.dli_fname, name);
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  tbk_backend_create_fn entry = NULL;
  if (library != NULL) *(void**)&entry = dlsym(library, TBK_ENTRY_SYMBOL);
  return entry;
}

bool forward_can_read(const tbk_host_t* host) {
  return host != NULL && host->struct_size >= offsetof(tbk_host_t, options) + sizeof host->options;
}

void forward_begin(forward_t* forward, const tbk_host_t* host, bool (*take)(const char* part)) {
  char copy[sizeof forward->options];
  char* rest = NULL;
  size_t used = 0;
  snprintf(copy, sizeof copy, "%s", host->options == NULL ? "" : host->options);
  forward->options[0] = '\0';
  for (char* part = strtok_r(copy, ",", &rest); part; part = strtok_r(NULL, ",", &rest))
    if (!take(part))
      used += (size_t)snprintf(forward->options + used, sizeof forward->options - used, "%s%s",
                               used == 0 ? "" : ",", part);
  forward->host = *host;
  forward->host.struct_size = sizeof forward->host;
  forward->host.options = used == 0 ? NULL : forward->options;
}
