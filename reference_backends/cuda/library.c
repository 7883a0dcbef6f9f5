/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { WHY_BYTES = 400 };

/* Returns whether the library serves; else writes why it does not. The system's names are guesses, and most
 * of them are not there: the dynamic loader's words for that are long. */
static bool try_one(const char* name, cuda_load_fn* load, char out[WHY_BYTES]) {
  void* library = library_open(name, RTLD_NOW | RTLD_LOCAL, out, WHY_BYTES);
  if (library == NULL) {
    if (strchr(name, '/') == NULL) snprintf(out, WHY_BYTES, "%s cannot be opened", name);
    return false;
  }
  const char* refused = load(library);
  if (refused != NULL) snprintf(out, WHY_BYTES, "%s (%s)", name, refused);
  return refused == NULL;
}

bool cuda_library_open(const char* what, const char* const* names, cuda_load_fn* load,
                       char tried[CUDA_TRIED_BYTES]) {
  char why[WHY_BYTES];
  tried[0] = '\0';
  for (; *names != NULL; names++) {
    if (try_one(*names, load, why)) return true;
    const size_t used = strlen(tried);
    snprintf(tried + used, CUDA_TRIED_BYTES - used, "%s%s%s%s", used > 0 ? ", " : "no ",
             used > 0 ? "" : what, used > 0 ? "" : ": ", why);
  }
  return false;
}

void cuda_about(char out[CUDA_ABOUT_BYTES], const char* what, int major, int minor,
                const void* function, size_t function_size) {
  const int used = snprintf(out, CUDA_ABOUT_BYTES, "%s %d.%d: ", what, major, minor);
  library_file_of(function, function_size, out + used, CUDA_ABOUT_BYTES - (size_t)used);
}
