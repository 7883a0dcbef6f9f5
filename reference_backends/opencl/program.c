/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * program.c: kernels, compiled when they are first asked for and kept until the device is closed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

struct opencl_program {
  opencl_program_t* next;
  char name[EMIT_NAME_BYTES];
  cl_program program;
  cl_kernel kernel; /* NULL where it cannot be compiled */
  char reason[200];
};

/* What the compiler says; NULL with the reason. A driver gives no part of a log that does not fit. */
static char* read_log(const opencl_device_t* device, cl_program program, cl_int* out_result) {
  const opencl_driver_t* driver = &device->instance->driver;
  size_t size = 0;
  *out_result =
      driver->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
  char* text = *out_result == CL_OK ? calloc(1, size + 1) : NULL;
  if (*out_result == CL_OK && text == NULL) *out_result = CL_OUT_OF_HOST_MEMORY;
  if (*out_result == CL_OK)
    *out_result =
        driver->clGetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size, text, NULL);
  if (*out_result == CL_OK) return text;
  free(text);
  return NULL;
}

/* The first line of what the compiler says; all of it goes to the host's log. */
static void tell_log(opencl_device_t* device, opencl_program_t* program, cl_int failure) {
  cl_int result;
  char* text = read_log(device, program->program, &result);
  const char *why = opencl_error_name(failure), *said = text != NULL ? text : "no log: ";
  const char* more = text != NULL ? "" : opencl_error_name(result);
  driver_log(&device->instance->host, TBK_LOG_WARNING, "compiling %s: %s: %s%s", program->name, why,
             said, more);
  const int length = (int)strcspn(said, "\n");
  snprintf(program->reason, sizeof program->reason, "%s: %.*s%s", why, length < 150 ? length : 150,
           said, more);
  free(text);
}

static cl_int compile(opencl_device_t* device, opencl_program_t* program, const char* text,
                      const char* own) {
  const opencl_driver_t* driver = &device->instance->driver;
  char options[128];
  cl_int result = CL_OK;
  snprintf(options, sizeof options, "-cl-std=CL1.2 -DHAS_DOUBLE=%d %s", device->has_double, own);
  program->program = driver->clCreateProgramWithSource(device->context, 1, &text, NULL, &result);
  if (result != CL_OK) return result;
  result = driver->clBuildProgram(program->program, 1, &device->id, options, NULL, NULL);
  if (result != CL_OK) {
    tell_log(device, program, result);
    return result;
  }
  program->kernel = driver->clCreateKernel(program->program, "run", &result);
  if (result != CL_OK) program->kernel = NULL;
  return result;
}

static cl_int build(opencl_device_t* device, opencl_program_t* program,
                    const opencl_source_t* source) {
  if (source->generic == NULL) return compile(device, program, emit_opencl_source, source->name);
  char* text =
      emit_generic_source(source->generic, source->arguments, source->launch, emit_opencl_prelude);
  if (text == NULL) return CL_OUT_OF_HOST_MEMORY;
  const cl_int result = compile(device, program, text, "");
  free(text);
  return result;
}

static void release(const opencl_driver_t* driver, opencl_program_t* program) {
  if (program->kernel != NULL) driver->clReleaseKernel(program->kernel);
  if (program->program != NULL) driver->clReleaseProgram(program->program);
  free(program);
}

/* Called with the lock of programs. What can never be compiled is kept too; where the driver was only
 * in need, the next launch tries again. */
static tbk_status_t find(opencl_device_t* device, const opencl_source_t* source,
                         opencl_program_t** out_program, tbk_error_t* error) {
  opencl_program_t* program = device->programs;
  while (program != NULL && strcmp(program->name, source->name) != 0)
    program = program->next;
  *out_program = program;
  if (program != NULL) return TBK_OK;
  program = calloc(1, sizeof *program);
  if (program == NULL) return opencl_fail(error, TBK_OUT_OF_MEMORY, "no host memory");
  snprintf(program->name, sizeof program->name, "%s", source->name);
  const cl_int result = build(device, program, source);
  if (opencl_translate(result) != TBK_OK && opencl_translate(result) != TBK_FAILED) {
    release(&device->instance->driver, program);
    return opencl_status(device, result, "compiling a kernel", error);
  }
  if (result != CL_OK && program->reason[0] == '\0')
    snprintf(program->reason, sizeof program->reason, "%s", opencl_error_name(result));
  program->next = device->programs;
  *out_program = device->programs = program;
  return TBK_OK;
}

tbk_status_t opencl_program_kernel(opencl_device_t* device, const opencl_source_t* source,
                                   cl_kernel* out_kernel, tbk_error_t* error) {
  opencl_program_t* program;
  pthread_mutex_lock(&device->program_lock);
  tbk_status_t status = find(device, source, &program, error);
  pthread_mutex_unlock(&device->program_lock);
  if (status != TBK_OK) return status;
  *out_kernel = program->kernel;
  if (program->kernel != NULL) return TBK_OK;
  return opencl_fail(error, TBK_UNSUPPORTED, "the kernel cannot be compiled: %.200s",
                     program->reason);
}

void opencl_programs_release(opencl_device_t* device) {
  while (device->programs != NULL) {
    opencl_program_t* program = device->programs;
    device->programs = program->next;
    release(&device->instance->driver, program);
  }
}
