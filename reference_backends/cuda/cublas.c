/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cublas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

static cuda_cublas_t cublas;
static bool usable;
static char about[CUDA_ABOUT_BYTES];

static void refuse(const char* name, const char* why) {
  const size_t used = strlen(about);
  snprintf(about + used, sizeof about - used, "%s%s%s", used ? ", " : "no cuBLAS; tried ", name,
           why);
}

/* A real cuBLAS works on a driver of its own, which must not meet the pointers of a simulated one. */
static bool open_library(const char* name) {
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  bool complete = library != NULL;
  const bool simulated = complete && dlsym(library, "tbk_cuda_simulator") != NULL;
  int major = 0, minor = 0;
#define LOOK_UP(member, symbol, parameters) \
  complete = complete && cuda_look_up(library, symbol, &cublas.member, sizeof cublas.member);
  CUDA_CUBLAS_MAP(LOOK_UP)
#undef LOOK_UP
  if (!complete || simulated != cuda_driver_is_simulated()) {
    refuse(name, library == NULL ? "" : complete ? " (not of the driver's kind)" : " (incomplete)");
    return false;
  }
  cublas.get_property(0, &major);
  cublas.get_property(1, &minor);
  cuda_about(about, "cuBLAS", major, minor, library);
  return true;
}

static void open_any(void) {
  static const char* const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
  const char* stated = getenv("TBK_CUDA_CUBLAS");
  if (stated != NULL && stated[0] == '\0') {
    snprintf(about, sizeof about, "no cuBLAS: TBK_CUDA_CUBLAS is empty");
  } else if (stated != NULL) {
    usable = open_library(stated);
  } else if (cuda_driver_is_simulated()) {
    usable = open_library(cuda_driver_path());
  } else {
    for (size_t i = 0; i < sizeof names / sizeof *names && !usable; i++)
      usable = open_library(names[i]);
  }
}

const cuda_cublas_t* cuda_cublas(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_any);
  return usable ? &cublas : NULL;
}

const char* cuda_cublas_about(void) {
  return cuda_cublas() != NULL || about[0] != '\0' ? about : "no cuBLAS";
}
