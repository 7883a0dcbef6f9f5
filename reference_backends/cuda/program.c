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
#include "library.h"
#include "nvrtc.h"

struct cuda_program {
  cuda_program_t* next;
  char name[EMIT_NAME_BYTES];
  cu_module module;
  cu_function function; /* NULL where it cannot be had */
  char reason[200];
};

const void* cuda_compiler(void) {
  return cuda_nvrtc(cuda_driver_choice.paths[0]);
}

static cu_result find_architecture(const cuda_device_t* device, int* out) {
  int major = 0, minor = 0;
  cu_result result =
      cuda_driver()->device_get_attribute(&major, CU_ATTRIBUTE_CC_MAJOR, device->handle);
  if (result == CU_OK)
    result = cuda_driver()->device_get_attribute(&minor, CU_ATTRIBUTE_CC_MINOR, device->handle);
  *out = major * 10 + minor;
  return result;
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
static cu_result build_program(const cuda_device_t* device, cuda_program_t* program,
                               const char* text) {
  const cuda_nvrtc_t* nvrtc = cuda_compiler();
  cuda_build_t build = {.source = text, .options = text == NULL ? program->name : ""};
  cu_result result = find_architecture(device, &build.architecture);
  if (nvrtc == NULL) {
    snprintf(program->reason, sizeof program->reason, "%.199s", cuda_nvrtc_missing());
    return CU_OK;
  }
  if (result != CU_OK)
    snprintf(program->reason, sizeof program->reason, "the architecture cannot be told: %s",
             cuda_error_text(result));
  const bool known = result == CU_OK;
  for (int i = 0; known && i < 2 && program->function == NULL && cuda_is_refusal(result); i++) {
    cuda_image_t image;
    if (!find_image(nvrtc, &build, i == 0, &image)) {
      memcpy(program->reason, build.reason, sizeof program->reason);
      return build.in_need ? CU_OUT_OF_MEMORY : CU_OK;
    }
    if (program->module != NULL) cuda_driver()->module_unload(program->module);
    result = load(program, &image);
    free(image.bytes);
  }
  if (known && result != CU_OK)
    snprintf(program->reason, sizeof program->reason, "loading %s: %s", program->name,
             cuda_error_text(result));
  return result;
}

/* Called with the lock. What can never be had is kept, too; where the driver was only in need, or the
 * context is dead, the next one asks again. */
static cu_result add(cuda_device_t* device, const cuda_source_t* source,
                     cuda_program_t** out_program) {
  char* text = NULL;
  if (source->generic != NULL)
    text =
        emit_generic_source(source->generic, source->arguments, source->launch, emit_cuda_prelude);
  if (source->generic != NULL && text == NULL) return CU_OUT_OF_MEMORY;
  cuda_program_t* program = calloc(1, sizeof *program);
  cu_result result = CU_OUT_OF_MEMORY;
  if (program != NULL) {
    snprintf(program->name, sizeof program->name, "%s", source->name);
    result = build_program(device, program, text);
  }
  free(text);
  if (program == NULL) return result;
  if (!cuda_is_refusal(result)) {
    if (program->module != NULL) cuda_driver()->module_unload(program->module);
    free(program);
    return result;
  }
  program->next = device->programs;
  *out_program = device->programs = program;
  return CU_OK;
}

tbk_status_t cuda_program_find(cuda_device_t* device, const cuda_source_t* source,
                               cu_function* out_function, cu_result* out_result,
                               tbk_error_t* error) {
  pthread_mutex_lock(&device->program_lock);
  cuda_program_t* program = device->programs;
  while (program != NULL && strcmp(program->name, source->name) != 0)
    program = program->next;
  *out_result = program != NULL ? CU_OK : add(device, source, &program);
  pthread_mutex_unlock(&device->program_lock);
  if (*out_result != CU_OK) return TBK_OK;
  *out_function = program->function;
  if (program->function != NULL) return TBK_OK;
  return cuda_fail(error, TBK_UNSUPPORTED, "no kernel: %s", program->reason);
}

cu_result cuda_programs_unload(cuda_device_t* device) {
  cu_result first = CU_OK;
  while (device->programs != NULL) {
    cuda_program_t* program = device->programs;
    device->programs = program->next;
    cu_result result = CU_OK;
    if (program->module != NULL) result = cuda_driver()->module_unload(program->module);
    if (first == CU_OK) first = result;
    free(program);
  }
  return first;
}
