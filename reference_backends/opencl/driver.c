/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * driver.c: the loader of OpenCL, opened at run time, and the names of its errors.
 */
#include "driver.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* A function's pointer out of dlsym's: C has no cast for it. */
static int find(void* library, const char* name, void* out_function) {
  void* symbol = dlsym(library, name);
  memcpy(out_function, &symbol, sizeof symbol);
  return symbol != NULL;
}

/* Whether the file ends before its table of sections, the last part of a library: opening one makes a
 * crash. Of a name without a slash the dynamic loader alone knows the file. */
static bool is_cut(const char* path) {
  ElfW(Ehdr) header;
  FILE* file = strchr(path, '/') ? fopen(path, "rb") : NULL;
  if (file == NULL) return false;
  bool cut = fread(&header, sizeof header, 1, file) != 1 || fseek(file, 0, SEEK_END) != 0;
  cut = cut || (size_t)ftell(file) < header.e_shoff + header.e_shnum * sizeof(ElfW(Shdr));
  fclose(file);
  return cut;
}

const char* opencl_driver_load(opencl_driver_t* driver, const char* path, char* text, size_t size) {
  void* library = is_cut(path) ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    const char* reason = dlerror(); /* none where it was not called */
    snprintf(text, size, "no OpenCL loader: %s%s", reason ? reason : path,
             reason ? "" : " is no library, or cut short");
    return text;
  }
#define FIND(result, name, arguments)                                               \
  if (!find(library, "cl" #name, &driver->cl##name)) {                              \
    snprintf(text, size, "%s is no loader of OpenCL 1.2: it lacks cl" #name, path); \
    return text;                                                                    \
  }
  OPENCL_FUNCTIONS(FIND)
#undef FIND
#define FIND_LATER(result, name, arguments) find(library, "cl" #name, &driver->cl##name);
  OPENCL_LATER_FUNCTIONS(FIND_LATER)
#undef FIND_LATER
  return NULL;
}

const char* opencl_driver_file(const opencl_driver_t* driver) {
  Dl_info found;
  void* function;
  memcpy(&function, &driver->clGetPlatformIDs, sizeof function);
  return dladdr(function, &found) != 0 && found.dli_fname != NULL ? found.dli_fname : "unknown";
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
