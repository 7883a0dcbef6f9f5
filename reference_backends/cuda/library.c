/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cuda_look_up(void* library, const char* symbol, void* out_function, size_t size) {
  void* address = dlsym(library, symbol);
  memcpy(out_function, &address, size);
  return address != NULL;
}

void cuda_about(char out[CUDA_ABOUT_BYTES], const char* what, int major, int minor, void* library) {
  struct link_map* map = NULL;
  const bool known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != NULL;
  char* file = known ? realpath(map->l_name, NULL) : NULL;
  snprintf(out, CUDA_ABOUT_BYTES, "%s %d.%d: %s", what, major, minor,
           file    ? file
           : known ? map->l_name
                   : "a file that cannot be told");
  free(file);
}
