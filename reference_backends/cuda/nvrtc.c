/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "nvrtc.h"

#include <emit/job.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

static cuda_nvrtc_t nvrtc;
static bool usable;
static char missing[CUDA_TRIED_BYTES];
static char about[CUDA_ABOUT_BYTES];

static const char* load_compiler(void* library) {
  int major = 0, minor = 0;
#define LOOK_UP(member, symbol, parameters) \
  if (!library_find(library, symbol, &nvrtc.member, sizeof nvrtc.member)) return "no " symbol;
  CUDA_NVRTC_MAP(LOOK_UP)
#undef LOOK_UP
  nvrtc.version(&major, &minor);
  cuda_about(about, "NVRTC", major, minor, &nvrtc.version, sizeof nvrtc.version);
  return NULL;
}

/* The driver's file is one where it is simulated. */
static void open_any(const char* path) {
  const char* stated = getenv("TBK_CUDA_NVRTC");
  const bool is_stated = stated != NULL && stated[0] != '\0';
  const char* names[] = {path, "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NULL};
  const char* const only[] = {stated, NULL};
  const char* const* list = is_stated ? only : path[0] != '\0' ? names : names + 1;
  usable = cuda_library_open("NVRTC", list, load_compiler, missing);
}

const cuda_nvrtc_t* cuda_nvrtc(const char* path) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static bool tried;
  pthread_mutex_lock(&lock);
  if (!tried) open_any(path);
  tried = true;
  pthread_mutex_unlock(&lock);
  return usable ? &nvrtc : NULL;
}

const char* cuda_nvrtc_about(void) {
  return about;
}

const char* cuda_nvrtc_missing(void) {
  return missing;
}

static void read_log(const cuda_nvrtc_t* compiler, nvrtc_program program, cuda_build_t* build) {
  size_t size = 0;
  if (compiler->get_log_size(program, &size) != NVRTC_OK || size <= 1) return;
  char* log = malloc(size + 1);
  if (log != NULL && compiler->get_log(program, log) == NVRTC_OK) {
    log[size] = '\0';
    snprintf(build->log, sizeof build->log, "%s", log);
  }
  free(log);
}

enum { OPTIONS_MOST = 8 };

/* Splits "-DADD -DOUT=6" in place, behind the options that all kernels have. */
static int split(char* text, const char** options, int count) {
  char* rest = NULL;
  for (char* one = strtok_r(text, " ", &rest); one != NULL && count < OPTIONS_MOST;
       one = strtok_r(NULL, " ", &rest))
    options[count++] = one;
  return count;
}

/* Machine code, never PTX: a driver refuses the PTX of an NVRTC that is newer. Nothing is contracted: it
 * would round once where the contract's oracle rounds twice. */
static int compile(const cuda_nvrtc_t* compiler, nvrtc_program program, cuda_build_t* build) {
  char architecture[48], own[EMIT_OPTIONS_BYTES];
  const char* options[OPTIONS_MOST] = {architecture, "--fmad=false", "--std=c++17"};
  snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d", build->architecture);
  snprintf(own, sizeof own, "%s", build->options);
  return compiler->compile_program(program, split(own, options, 3), options);
}

static int read_image(const cuda_nvrtc_t* compiler, nvrtc_program program, cuda_image_t* out) {
  enum { INTERNAL = 11 };
  out->size = 0;
  int result = compiler->get_cubin_size(program, &out->size);
  if (result != NVRTC_OK || out->size == 0) return result != NVRTC_OK ? result : INTERNAL;
  out->bytes = malloc(out->size);
  if (out->bytes == NULL) return NVRTC_OUT_OF_MEMORY;
  result = compiler->get_cubin(program, out->bytes);
  if (result != NVRTC_OK) free(out->bytes);
  return result;
}

bool cuda_nvrtc_compile(const cuda_nvrtc_t* compiler, cuda_build_t* build,
                        cuda_image_t* out_image) {
  nvrtc_program program = NULL;
  build->log[0] = build->reason[0] = '\0';
  const char* source = build->source != NULL ? build->source : emit_cuda_source;
  int result = compiler->create_program(&program, source, "tbk.cu", 0, NULL, NULL);
  if (result == NVRTC_OK) {
    result = compile(compiler, program, build);
    read_log(compiler, program, build);
    if (result == NVRTC_OK) result = read_image(compiler, program, out_image);
    const bool whole = result == NVRTC_OK;
    if (whole && build->look != NULL) build->look(program, build->closure);
    compiler->destroy_program(&program);
    if (whole) return true;
  }
  build->in_need = result == NVRTC_OUT_OF_MEMORY;
  snprintf(build->reason, sizeof build->reason, "NVRTC answers %d for %s on sm_%d: %.*s", result,
           build->options, build->architecture, (int)strcspn(build->log, "\n") % 100, build->log);
  return false;
}
