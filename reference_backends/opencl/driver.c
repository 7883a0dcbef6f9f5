/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * driver.c: the loader of OpenCL, opened at run time, and the names of its errors.
 */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* A function's pointer out of dlsym's: C has no cast for it. */
static int find(void* library, const char* name, void* out_function) {
  void* symbol = dlsym(library, name);
  memcpy(out_function, &symbol, sizeof symbol);
  return symbol != NULL;
}

const char* opencl_driver_load(opencl_driver_t* driver, const char* path, char* text, size_t size) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    const char* reason = dlerror();
    snprintf(text, size, "no OpenCL loader: %s", reason ? reason : path);
    return text;
  }
#define FIND(result, name, arguments)                                              \
  if (!find(library, "cl" #name, &driver->cl##name)) {                             \
    snprintf(text, size, "%s is no loader of OpenCL 1.2: it lacks cl" #name, path); \
    return text;                                                                   \
  }
  OPENCL_FUNCTIONS(FIND)
#undef FIND
  find(library, "clCreateCommandQueueWithProperties", &driver->clCreateCommandQueueWithProperties);
  driver->library = library;
  return NULL;
}

/* The codes from 0 and from -30 downwards, without CL_. */
static const char* const errors_of_running[] = {
    "SUCCESS",
    "DEVICE_NOT_FOUND",
    "DEVICE_NOT_AVAILABLE",
    "COMPILER_NOT_AVAILABLE",
    "MEM_OBJECT_ALLOCATION_FAILURE",
    "OUT_OF_RESOURCES",
    "OUT_OF_HOST_MEMORY",
    "PROFILING_INFO_NOT_AVAILABLE",
    "MEM_COPY_OVERLAP",
    "IMAGE_FORMAT_MISMATCH",
    "IMAGE_FORMAT_NOT_SUPPORTED",
    "BUILD_PROGRAM_FAILURE",
    "MAP_FAILURE",
    "MISALIGNED_SUB_BUFFER_OFFSET",
    "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
    "COMPILE_PROGRAM_FAILURE",
    "LINKER_NOT_AVAILABLE",
    "LINK_PROGRAM_FAILURE",
    "DEVICE_PARTITION_FAILED",
    "KERNEL_ARG_INFO_NOT_AVAILABLE",
};
static const char* const errors_of_arguments[] = {
    "INVALID_VALUE",
    "INVALID_DEVICE_TYPE",
    "INVALID_PLATFORM",
    "INVALID_DEVICE",
    "INVALID_CONTEXT",
    "INVALID_QUEUE_PROPERTIES",
    "INVALID_COMMAND_QUEUE",
    "INVALID_HOST_PTR",
    "INVALID_MEM_OBJECT",
    "INVALID_IMAGE_FORMAT_DESCRIPTOR",
    "INVALID_IMAGE_SIZE",
    "INVALID_SAMPLER",
    "INVALID_BINARY",
    "INVALID_BUILD_OPTIONS",
    "INVALID_PROGRAM",
    "INVALID_PROGRAM_EXECUTABLE",
    "INVALID_KERNEL_NAME",
    "INVALID_KERNEL_DEFINITION",
    "INVALID_KERNEL",
    "INVALID_ARG_INDEX",
    "INVALID_ARG_VALUE",
    "INVALID_ARG_SIZE",
    "INVALID_KERNEL_ARGS",
    "INVALID_WORK_DIMENSION",
    "INVALID_WORK_GROUP_SIZE",
    "INVALID_WORK_ITEM_SIZE",
    "INVALID_GLOBAL_OFFSET",
    "INVALID_EVENT_WAIT_LIST",
    "INVALID_EVENT",
    "INVALID_OPERATION",
    "INVALID_GL_OBJECT",
    "INVALID_BUFFER_SIZE",
    "INVALID_MIP_LEVEL",
    "INVALID_GLOBAL_WORK_SIZE",
    "INVALID_PROPERTY",
};

const char* opencl_error_name(cl_int code) {
  const cl_int running = (cl_int)(sizeof errors_of_running / sizeof *errors_of_running);
  const cl_int arguments = (cl_int)(sizeof errors_of_arguments / sizeof *errors_of_arguments);
  if (code <= 0 && -code < running) return errors_of_running[-code];
  if (code <= -30 && -code - 30 < arguments) return errors_of_arguments[-code - 30];
  if (code == CL_NO_PLATFORM) return "PLATFORM_NOT_FOUND_KHR";
  if (code == CL_CONTEXT_TERMINATED) return "CONTEXT_TERMINATED_KHR";
  return "an error of the vendor's own";
}
