/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * nvrtc.c: the compiler that belongs to the simulated driver. It knows the kernels that the simulator was
 * built with; its machine code says which of them is meant, and for which device. Kernels that are written
 * from programs it hands to the compiler of the host, without their prelude: of that there is one for the host.
 */
#include "../nvrtc.h"

#include <emit/generic.h>
#include <emit/host.h>
#include <emit/object.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator.h"

#define SIM_DECLARE_NVRTC(member, symbol, parameters) \
  SIM_EXPORT int nvrtc_##member parameters __asm__(symbol);
CUDA_NVRTC_MAP(SIM_DECLARE_NVRTC)
#undef SIM_DECLARE_NVRTC

enum { VERSION_MAJOR = 12, VERSION_MINOR = 8 };

struct nvrtc_program_object {
  bool known; /* the source is the one that the simulator was built with */
  char* body; /* of a kernel that is written from a program; else NULL */
  emit_object_t object;
  sim_image_t image;
  char log[200];
};

static const char image_magic[sizeof(((sim_image_t*)0)->magic)] = "TBK simulated";

/* FNV-1a. */
static uint64_t sum_of_bytes(const char* bytes, size_t size) {
  uint64_t sum = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < size; i++)
    sum = (sum ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
  return sum;
}

static uint64_t sum_of(const char* text) {
  return sum_of_bytes(text, strlen(text));
}

/* What stands behind the prelude of programs; NULL where that is not how the source begins. */
static char* find_body(const char* source) {
  const size_t length = strlen(emit_cuda_prelude);
  return strncmp(source, emit_cuda_prelude, length) == 0 ? strdup(source + length) : NULL;
}

int nvrtc_version(int* out_major, int* out_minor) {
  if (out_major == NULL || out_minor == NULL) return NVRTC_INVALID_INPUT;
  *out_major = VERSION_MAJOR;
  *out_minor = VERSION_MINOR;
  return NVRTC_OK;
}

int nvrtc_create_program(nvrtc_program* out_program, const char* source, const char* name,
                         int header_count, const char* const* headers,
                         const char* const* include_names) {
  (void)name, (void)headers, (void)include_names;
  if (out_program == NULL || source == NULL || header_count < 0) return NVRTC_INVALID_INPUT;
  nvrtc_program program = calloc(1, sizeof *program);
  if (program == NULL) return 1;
  program->known = header_count == 0 && strcmp(source, emit_cuda_source) == 0;
  if (header_count == 0 && !program->known) program->body = find_body(source);
  memcpy(program->image.magic, image_magic, sizeof image_magic);
  program->image.source = sum_of(source);
  *out_program = program;
  return NVRTC_OK;
}

/* Takes what the real one must be told: the architecture, no contraction; -D says which kernel. */
static bool take_option(sim_image_t* image, const char* option) {
  static const char architecture[] = "--gpu-architecture=sm_";
  if (strncmp(option, architecture, strlen(architecture)) == 0) {
    image->architecture = atoi(option + strlen(architecture));
    return image->architecture > 0;
  }
  if (strncmp(option, "-D", 2) == 0) {
    const size_t used = strlen(image->options);
    if (used + strlen(option) + 2 > sizeof image->options) return false;
    snprintf(image->options + used, sizeof image->options - used, "%s%s", used ? " " : "", option);
    return true;
  }
  if (strcmp(option, "--fmad=false") == 0) image->exact = 1;
  return image->exact != 0 || strncmp(option, "--std=", 6) == 0;
}

static const emit_host_kernel_t* find_kernel(const char* options) {
  const emit_host_kernel_t* const* kernel = emit_host_kernels;
  while (*kernel != NULL && strcmp((*kernel)->options, options) != 0)
    kernel++;
  return *kernel;
}

static int refuse(nvrtc_program program, int result, const char* what) {
  snprintf(program->log, sizeof program->log, "%s", what);
  return result;
}

static int compile_body(nvrtc_program program) {
  if (program->image.options[0] != '\0')
    return refuse(program, NVRTC_INVALID_OPTION, "a macro for a kernel that knows none");
  if (!emit_object_compile(emit_host_prelude, program->body, &program->object))
    return refuse(program, NVRTC_COMPILATION, program->object.log);
  program->image.object_bytes = program->object.size;
  program->image.object_sum = sum_of_bytes(program->object.bytes, program->object.size);
  return NVRTC_OK;
}

int nvrtc_compile_program(nvrtc_program program, int option_count, const char* const* options) {
  if (program == NULL) return NVRTC_INVALID_PROGRAM;
  for (int i = 0; i < option_count; i++)
    if (!take_option(&program->image, options[i]))
      return refuse(program, NVRTC_INVALID_OPTION, "an option that is not known");
  if (program->body != NULL) return compile_body(program);
  if (!program->known)
    return refuse(program, NVRTC_COMPILATION, "not the source that the simulator was built with");
  if (find_kernel(program->image.options) == NULL)
    return refuse(program, NVRTC_COMPILATION, "no kernel that the simulator was built with");
  return NVRTC_OK;
}

int nvrtc_get_cubin_size(nvrtc_program program, size_t* out_size) {
  if (program == NULL || out_size == NULL) return NVRTC_INVALID_PROGRAM;
  *out_size = sizeof program->image + program->object.size;
  return NVRTC_OK;
}

int nvrtc_get_cubin(nvrtc_program program, char* cubin) {
  if (program == NULL || cubin == NULL) return NVRTC_INVALID_PROGRAM;
  memcpy(cubin, &program->image, sizeof program->image);
  if (program->object.size > 0)
    memcpy(cubin + sizeof program->image, program->object.bytes, program->object.size);
  return NVRTC_OK;
}

int nvrtc_get_log_size(nvrtc_program program, size_t* out_size) {
  if (program == NULL || out_size == NULL) return NVRTC_INVALID_PROGRAM;
  *out_size = strlen(program->log) + 1;
  return NVRTC_OK;
}

int nvrtc_get_log(nvrtc_program program, char* log) {
  if (program == NULL || log == NULL) return NVRTC_INVALID_PROGRAM;
  strcpy(log, program->log);
  return NVRTC_OK;
}

int nvrtc_destroy_program(nvrtc_program* program) {
  if (program == NULL || *program == NULL) return NVRTC_INVALID_PROGRAM;
  free((*program)->body);
  free((*program)->object.bytes);
  free(*program);
  *program = NULL;
  return NVRTC_OK;
}

cu_result sim_image_kernel(const void* bytes, int architecture,
                           const emit_host_kernel_t** out_kernel) {
  enum { INVALID_IMAGE = 200, NO_BINARY_FOR_GPU = 209 };
  sim_image_t image;
  if (memcmp(bytes, image_magic, strlen(image_magic)) != 0) return INVALID_IMAGE;
  memcpy(&image, bytes, sizeof image);
  *out_kernel = NULL;
  if (image.architecture != architecture) return NO_BINARY_FOR_GPU;
  if (image.exact == 0) return INVALID_IMAGE;
  if (image.object_bytes > 0) {
    const char* object = (const char*)bytes + sizeof image;
    if (sum_of_bytes(object, image.object_bytes) == image.object_sum)
      *out_kernel = emit_host_load(object, image.object_bytes);
  } else if (image.source == sum_of(emit_cuda_source)) {
    image.options[sizeof image.options - 1] = '\0';
    *out_kernel = find_kernel(image.options);
  }
  return *out_kernel != NULL ? CU_OK : INVALID_IMAGE;
}
