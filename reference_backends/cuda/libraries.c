/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * libraries.c: which driver and which compiler this is: a result is of them as much as of the device.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "job.h"
#include "nvrtc.h"

/* The file that a function lies in, by its last name: libcuda.so.1 is a link, and its end the version. */
static const char* file_of(const void* function, size_t size, char* out_path) {
  void* address = NULL;
  Dl_info found;
  memcpy(&address, function, size);
  if (dladdr(address, &found) == 0 || found.dli_fname == NULL) return "?";
  return realpath(found.dli_fname, out_path) != NULL ? out_path : found.dli_fname;
}

void cuda_describe_libraries(char* text, size_t size) {
  char path[PATH_MAX];
  const cuda_driver_t* driver = cuda_driver();
  const cuda_nvrtc_t* nvrtc = cuda_compiler();
  int major = 0, minor = 0;
  int used = snprintf(text, size, "driver %.400s",
                      file_of(&driver->device_get, sizeof driver->device_get, path));
  if (nvrtc == NULL || nvrtc->version(&major, &minor) != NVRTC_OK) return;
  snprintf(text + used, size - (size_t)used, "; NVRTC %d.%d %.400s", major, minor,
           file_of(&nvrtc->version, sizeof nvrtc->version, path));
}
