/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "library.h"

static cuda_driver_t driver;
static bool driver_usable;
static bool driver_simulated;
static char driver_reason[512]; /* why it is not usable */
static char driver_about[CUDA_ABOUT_BYTES];
static pid_t driver_process; /* that opened it; 0 before */
static pthread_once_t driver_once = PTHREAD_ONCE_INIT;

driver_choice_t cuda_driver_choice = {PTHREAD_MUTEX_INITIALIZER, {"driver"}, false, {""}};

/* The version is of the newest CUDA that the driver serves, as 1000 * major + 10 * minor. */
static void describe(void) {
  int version = 0;
  if (driver.get_version(&version) != CU_OK) version = 0;
  cuda_about(driver_about, driver_simulated ? "simulated CUDA driver" : "CUDA driver",
             version / 1000, version % 1000 / 10, &driver.init, sizeof driver.init);
}

static bool is_optional(const void* function) {
#define IS_IT(member) || function == (const void*)&driver.member
  return false CUDA_DRIVER_OPTIONAL(IS_IT);
#undef IS_IT
}

static bool find_functions(void* library) {
#define LOOK_UP(member, symbol, parameters)                                   \
  if (!library_find(library, symbol, &driver.member, sizeof driver.member) && \
      !is_optional(&driver.member)) {                                         \
    snprintf(driver_reason, sizeof driver_reason,                             \
             "the driver has no " symbol ": too old, or no driver");          \
    return false;                                                             \
  }
  CUDA_DRIVER_MAP(LOOK_UP)
#undef LOOK_UP
  return true;
}

static void driver_open(void) {
  static const char* const system_names[] = {"libcuda.so.1", "libcuda.so", NULL};
  const char* const given[] = {cuda_driver_choice.paths[0], NULL};
  driver_process = getpid();
  char why[480];
  void* library = library_open_first(given[0][0] != '\0' ? given : system_names,
                                     RTLD_NOW | RTLD_LOCAL, why, sizeof why);
  if (library == NULL) {
    snprintf(driver_reason, sizeof driver_reason, "no driver: %s", why);
    return;
  }
  driver_simulated = dlsym(library, "tbk_cuda_simulator") != NULL;
  if (!find_functions(library)) return;
  /* The toolkit ships a stub of libcuda that loads, and whose cuInit fails. */
  cu_result result = driver.init(0);
  driver_usable = result == CU_OK;
  if (driver_usable) describe();
  const char* text = NULL;
  if (driver_usable || driver.error_string(result, &text) != CU_OK) text = NULL;
  if (!driver_usable)
    snprintf(driver_reason, sizeof driver_reason, "cuInit: error %d, %s", result,
             text ? text : "of which the driver has no text");
}

const cuda_driver_t* cuda_driver(void) {
  pthread_once(&driver_once, driver_open);
  return driver_usable ? &driver : NULL;
}

const char* cuda_driver_reason(void) {
  return cuda_driver() == NULL ? driver_reason : "";
}

const char* cuda_driver_about(void) {
  return driver_about;
}

bool cuda_driver_is_simulated(void) {
  return cuda_driver() != NULL && driver_simulated;
}

bool cuda_driver_is_forked(void) {
  return driver_process != 0 && driver_process != getpid();
}

const char* cuda_error_text(cu_result result) {
  const char* text = NULL;
  if (driver_usable && driver.error_string(result, &text) == CU_OK && text != NULL) return text;
  return "unknown error of the driver";
}
