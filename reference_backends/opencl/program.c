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
  char options[128];
  cl_program program;
  cl_kernel kernel; /* NULL where it cannot be compiled */
  char reason[200];
};

/* The first line of what the compiler says; all of it goes to the host's log. */
static void tell_log(opencl_device_t* device, opencl_program_t* program) {
  const opencl_driver_t* driver = &device->instance->driver;
  char text[4096] = "";
  if (driver->clGetProgramBuildInfo(program->program, device->id, CL_PROGRAM_BUILD_LOG,
                                    sizeof text - 1, text, NULL) != CL_OK)
    snprintf(text, sizeof text, "more than %zu bytes of errors", sizeof text);
  opencl_log(device->instance, TBK_LOG_WARNING, "compiling with %s: %s", program->options, text);
  text[strcspn(text, "\n")] = '\0';
  snprintf(program->reason, sizeof program->reason, "%.199s", text);
}

static cl_int build(opencl_device_t* device, opencl_program_t* program) {
  const opencl_driver_t* driver = &device->instance->driver;
  const char* source = emit_opencl_source;
  cl_int result = CL_OK;
  program->program = driver->clCreateProgramWithSource(device->context, 1, &source, NULL, &result);
  if (result != CL_OK) return result;
  result = driver->clBuildProgram(program->program, 1, &device->id, program->options, NULL, NULL);
  if (result != CL_OK) {
    tell_log(device, program);
    return result;
  }
  program->kernel = driver->clCreateKernel(program->program, "run", &result);
  if (result != CL_OK) program->kernel = NULL;
  return result;
}

/* Called with the lock of programs. A program that cannot be compiled is kept too. */
static opencl_program_t* find(opencl_device_t* device, const char* options) {
  char all[sizeof device->programs->options];
  snprintf(all, sizeof all, "-cl-std=CL1.2 -DHAS_DOUBLE=%d %s", device->has_double, options);
  opencl_program_t* program = device->programs;
  while (program != NULL && strcmp(program->options, all) != 0)
    program = program->next;
  if (program != NULL) return program;
  program = calloc(1, sizeof *program);
  if (program == NULL) return NULL;
  memcpy(program->options, all, sizeof all);
  const cl_int result = build(device, program);
  if (result != CL_OK && program->reason[0] == '\0')
    snprintf(program->reason, sizeof program->reason, "%s", opencl_error_name(result));
  program->next = device->programs;
  device->programs = program;
  return program;
}

cl_kernel opencl_program_kernel(opencl_device_t* device, const char* options, tbk_error_t* error) {
  pthread_mutex_lock(&device->program_lock);
  opencl_program_t* program = find(device, options);
  pthread_mutex_unlock(&device->program_lock);
  if (program != NULL && program->kernel != NULL) return program->kernel;
  opencl_fail(error, TBK_UNSUPPORTED, "the kernel cannot be compiled: %.200s",
              program ? program->reason : "no host memory");
  return NULL;
}

void opencl_programs_release(opencl_device_t* device) {
  const opencl_driver_t* driver = &device->instance->driver;
  while (device->programs != NULL) {
    opencl_program_t* program = device->programs;
    device->programs = program->next;
    if (program->kernel != NULL) driver->clReleaseKernel(program->kernel);
    if (program->program != NULL) driver->clReleaseProgram(program->program);
    free(program);
  }
}
