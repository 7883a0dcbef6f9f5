/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * libraries.c: which driver, compiler and cuBLAS these are, and what they read in the environment: a
 * result is of them as much as of the device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cublas.h"
#include "job.h"
#include "nvrtc.h"

static void add(char* text, size_t size, const char* name, const char* what) {
  const size_t used = strlen(text);
  snprintf(text + used, size - used, "%s%s%s", used > 0 ? "; " : "", name, what);
}

void cuda_describe_libraries(char* text, size_t size) {
  static const char* const names[] = {"CUDA_VISIBLE_DEVICES=", "CUDA_LAUNCH_BLOCKING=",
                                      "CUDA_MODULE_LOADING=", "NVIDIA_TF32_OVERRIDE="};
  text[0] = '\0';
  add(text, size, "", cuda_driver_about());
  add(text, size, "", cuda_compiler() != NULL ? cuda_nvrtc_about() : cuda_nvrtc_missing());
  if (cuda_compiler() != NULL) add(text, size, "", cuda_cublas_about());
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strlen(names[i]) - 1, names[i]);
    const char* value = getenv(name);
    if (value != NULL) add(text, size, names[i], value);
  }
}
