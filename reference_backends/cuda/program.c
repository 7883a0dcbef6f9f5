/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * program.c: kernels, compiled or taken from the cache when they are first asked for, and loaded until
 * the device is closed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"
#include "nvrtc.h"

struct cuda_program {
  cuda_program_t* next;
  char options[EMIT_OPTIONS_BYTES];
  cu_module module;
  cu_function function; /* NULL where it cannot be had */
  char reason[200];
};

const void* cuda_compiler(void) {
  return cuda_nvrtc(cuda_driver_path());
}

static int architecture_of(const cuda_device_t* device) {
  int major = 0, minor = 0;
  cuda_driver()->device_get_attribute(&major, CU_ATTRIBUTE_CC_MAJOR, device->handle);
  cuda_driver()->device_get_attribute(&minor, CU_ATTRIBUTE_CC_MINOR, device->handle);
  return major * 10 + minor;
}

/* Gets the machine code: from a file, or made and put into one. */
static bool find_image(const cuda_nvrtc_t* nvrtc, cuda_build_t* build, bool may_read,
                       cuda_image_t* out_image) {
  int major = 0, minor = 0;
  nvrtc->version(&major, &minor);
  const cuda_key_t key = cuda_cache_key(build, major, minor, cuda_driver_is_simulated());
  if (may_read && cuda_cache_read(key, out_image)) return true;
  if (!cuda_nvrtc_compile(nvrtc, build, out_image)) return false;
  cuda_cache_write(key, out_image);
  return true;
}

static cu_result load(cuda_program_t* program, const cuda_image_t* image) {
  cu_result result = cuda_driver()->module_load_data(&program->module, image->bytes);
  if (result != CU_OK) {
    program->module = NULL;
    return result;
  }
  result = cuda_driver()->module_get_function(&program->function, program->module, "run");
  if (result != CU_OK) program->function = NULL;
  return result;
}

/* A file may hold what the driver does not take any more: then it is made again, once. */
static void build_program(const cuda_device_t* device, cuda_program_t* program) {
  const cuda_nvrtc_t* nvrtc = cuda_compiler();
  cuda_build_t build = {.options = program->options, .architecture = architecture_of(device)};
  if (nvrtc == NULL) {
    snprintf(program->reason, sizeof program->reason, "%.199s", cuda_nvrtc_missing());
    return;
  }
  cu_result result = CU_INVALID_VALUE;
  for (int i = 0; i < 2 && result != CU_OK; i++) {
    cuda_image_t image;
    if (!find_image(nvrtc, &build, i == 0, &image)) {
      memcpy(program->reason, build.reason, sizeof program->reason);
      return;
    }
    result = load(program, &image);
    free(image.bytes);
  }
  if (result != CU_OK)
    snprintf(program->reason, sizeof program->reason, "loading %s: %s", program->options,
             cuda_error_text(result));
}

cu_function cuda_program_function(cuda_device_t* device, const char* options, tbk_error_t* error) {
  pthread_mutex_lock(&device->program_lock);
  cuda_program_t* program = device->programs;
  while (program != NULL && strcmp(program->options, options) != 0)
    program = program->next;
  if (program == NULL && (program = calloc(1, sizeof *program)) != NULL) {
    snprintf(program->options, sizeof program->options, "%s", options);
    build_program(device, program);
    program->next = device->programs;
    device->programs = program;
  }
  pthread_mutex_unlock(&device->program_lock);
  if (program != NULL && program->function != NULL) return program->function;
  cuda_fail(error, TBK_UNSUPPORTED, "no kernel: %s", program ? program->reason : "no host memory");
  return NULL;
}

void cuda_programs_unload(cuda_device_t* device) {
  while (device->programs != NULL) {
    cuda_program_t* program = device->programs;
    device->programs = program->next;
    if (program->module != NULL) cuda_driver()->module_unload(program->module);
    free(program);
  }
}
