/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * driver.c: the loader of OpenCL, opened at run time, and the names of its errors.
 */
#include "driver.h"

#include <dlfcn.h>
#include <driver/library.h>
#include <stdio.h>

const char* opencl_driver_load(opencl_driver_t* driver, const char* path, char* text, size_t size) {
  char why[400];
  void* library = library_open(path, RTLD_NOW | RTLD_LOCAL, why, sizeof why);
  if (library == NULL) {
    snprintf(text, size, "no OpenCL loader: %s", why);
    return text;
  }
#define FIND(result, name, arguments)                                                   \
  if (!library_find(library, "cl" #name, &driver->cl##name, sizeof driver->cl##name)) { \
    snprintf(text, size, "%s is no loader of OpenCL 1.2: it lacks cl" #name, path);     \
    return text;                                                                        \
  }
  OPENCL_FUNCTIONS(FIND)
#undef FIND
#define FIND_LATER(result, name, arguments) \
  library_find(library, "cl" #name, &driver->cl##name, sizeof driver->cl##name);
  OPENCL_LATER_FUNCTIONS(FIND_LATER)
#undef FIND_LATER
  return NULL;
}

const char* opencl_error_name(cl_int code) {
  switch (code) {
#define NAME(name, code) \
  case CL_##name:        \
    return #name;
    OPENCL_ERRORS(NAME)
#undef NAME
    default:
      return "an error without a name here";
  }
}
