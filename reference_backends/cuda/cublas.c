/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "cublas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "library.h"

static cuda_cublas_t cublas;
static bool usable;
static char missing[CUDA_TRIED_BYTES] = "no cuBLAS";
static char about[CUDA_ABOUT_BYTES];

/* A real cuBLAS works on a driver of its own, which must not meet the pointers of a simulated one. */
static const char* load_products(void* library) {
  int major = 0, minor = 0;
#define LOOK_UP(member, symbol, parameters) \
  if (!library_find(library, symbol, &cublas.member, sizeof cublas.member)) return "no " symbol;
  CUDA_CUBLAS_MAP(LOOK_UP)
#undef LOOK_UP
  if ((dlsym(library, "tbk_cuda_simulator") != NULL) != cuda_driver_is_simulated())
    return "not of the driver's kind";
  cublas.get_property(0, &major);
  cublas.get_property(1, &minor);
  cuda_about(about, "cuBLAS", major, minor, &cublas.get_property, sizeof cublas.get_property);
  return NULL;
}

static void open_any(void) {
  static const char* const system_names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so",
                                             NULL};
  const char* stated = getenv("TBK_CUDA_CUBLAS");
  const char* const given[] = {stated != NULL ? stated : cuda_driver_choice.paths[0], NULL};
  const bool is_given = stated != NULL || cuda_driver_is_simulated();
  if (stated != NULL && stated[0] == '\0')
    snprintf(missing, sizeof missing, "no cuBLAS: TBK_CUDA_CUBLAS is empty");
  else
    usable = cuda_library_open("cuBLAS", is_given ? given : system_names, load_products, missing);
}

const cuda_cublas_t* cuda_cublas(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_any);
  return usable ? &cublas : NULL;
}

const char* cuda_cublas_about(void) {
  return cuda_cublas() != NULL ? about : missing;
}
