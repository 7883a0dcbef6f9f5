/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cuda_driver_t driver;
static bool driver_usable;
static bool driver_simulated;
static char driver_reason[512]; /* why it is not usable */
static pid_t driver_process;    /* that opened it; 0 before */
static pthread_once_t driver_once = PTHREAD_ONCE_INIT;

static pthread_mutex_t chosen_lock = PTHREAD_MUTEX_INITIALIZER;
static bool chosen;
static char chosen_path[4096]; /* empty: the system's */

/* A function pointer from dlsym without a cast that ISO C does not know. */
static bool look_up(void* library, const char* symbol, void* out_function, size_t size) {
  void* address = dlsym(library, symbol);
  memcpy(out_function, &address, size);
  return address != NULL;
}

/* The last name's error is the one to tell, where there are many. */
static void* open_first(const char* const* names) {
  for (; *names != NULL; names++) {
    void* library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) return library;
  }
  return NULL;
}

bool cuda_driver_choose(const char* path) {
  pthread_mutex_lock(&chosen_lock);
  if (path == NULL) path = chosen_path; /* who does not care takes what the process has */
  bool fits = strlen(path) < sizeof chosen_path && (!chosen || strcmp(path, chosen_path) == 0);
  if (fits && path != chosen_path) strcpy(chosen_path, path);
  chosen = chosen || fits;
  pthread_mutex_unlock(&chosen_lock);
  return fits;
}

static void driver_open(void) {
  static const char* const system_names[] = {"libcuda.so.1", "libcuda.so", NULL};
  const char* const given[] = {chosen_path, NULL};
  driver_process = getpid();
  void* library = open_first(chosen_path[0] != '\0' ? given : system_names);
  if (library == NULL) {
    const char* why = dlerror();
    snprintf(driver_reason, sizeof driver_reason, "no driver: %s", why ? why : "no reason given");
    return;
  }
  driver_simulated = dlsym(library, "tbk_cuda_simulator") != NULL;
#define CUDA_DRIVER_LOOK_UP(member, symbol, parameters)                         \
  if (!look_up(library, symbol, &driver.member, sizeof driver.member)) {        \
    snprintf(driver_reason, sizeof driver_reason, "the driver has no " symbol); \
    return;                                                                     \
  }
  CUDA_DRIVER_MAP(CUDA_DRIVER_LOOK_UP)
#undef CUDA_DRIVER_LOOK_UP
  /* The toolkit ships a stub of libcuda that loads, and whose cuInit fails. */
  cu_result result = driver.init(0);
  driver_usable = result == CU_OK;
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

typedef struct nvrtc_program_object* nvrtc_program;

typedef struct nvrtc {
  int (*create_program)(nvrtc_program* out, const char* source, const char* name, int header_count,
                        const char* const* headers, const char* const* include_names);
  int (*compile_program)(nvrtc_program program, int option_count, const char* const* options);
  int (*get_ptx_size)(nvrtc_program program, size_t* out_size);
  int (*get_ptx)(nvrtc_program program, char* ptx);
  int (*destroy_program)(nvrtc_program* program);
} nvrtc_t;

static bool nvrtc_open(nvrtc_t* nvrtc) {
  static const char* const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
  void* library = open_first(names);
  if (library == NULL) return false;
#define NVRTC_LOOK_UP(member, symbol) look_up(library, symbol, &nvrtc->member, sizeof nvrtc->member)
  return NVRTC_LOOK_UP(create_program, "nvrtcCreateProgram") &&
         NVRTC_LOOK_UP(compile_program, "nvrtcCompileProgram") &&
         NVRTC_LOOK_UP(get_ptx_size, "nvrtcGetPTXSize") && NVRTC_LOOK_UP(get_ptx, "nvrtcGetPTX") &&
         NVRTC_LOOK_UP(destroy_program, "nvrtcDestroyProgram");
#undef NVRTC_LOOK_UP
}

bool cuda_compile(const char* source, int major, int minor, char** out_ptx) {
  nvrtc_t nvrtc = {0};
  if (!nvrtc_open(&nvrtc)) return false;
  char architecture[48];
  snprintf(architecture, sizeof architecture, "--gpu-architecture=compute_%d%d", major, minor);
  /* Contraction would round once where the contract's oracle rounds twice. */
  const char* const options[] = {architecture, "--fmad=false"};
  nvrtc_program program = NULL;
  if (nvrtc.create_program(&program, source, "tbk.cu", 0, NULL, NULL) != 0) return false;
  size_t size = 0;
  char* ptx = NULL;
  bool done = nvrtc.compile_program(program, 2, options) == 0 &&
              nvrtc.get_ptx_size(program, &size) == 0 && (ptx = malloc(size)) != NULL &&
              nvrtc.get_ptx(program, ptx) == 0;
  nvrtc.destroy_program(&program);
  if (!done) {
    free(ptx);
    return false;
  }
  *out_ptx = ptx;
  return true;
}
