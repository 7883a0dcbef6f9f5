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
#define FIND(result, name, arguments)                                               \
  if (!find(library, "cl" #name, &driver->cl##name)) {                              \
    snprintf(text, size, "%s is no loader of OpenCL 1.2: it lacks cl" #name, path); \
    return text;                                                                    \
  }
  OPENCL_FUNCTIONS(FIND)
#undef FIND
  find(library, "clCreateCommandQueueWithProperties", &driver->clCreateCommandQueueWithProperties);
  driver->library = library;
  return NULL;
}

/* Those that the calls made here can answer with, without CL_. */
static const struct {
  cl_int code;
  const char* name;
} errors[] = {
    {CL_OK, "SUCCESS"},
    {CL_DEVICE_NOT_AVAILABLE, "DEVICE_NOT_AVAILABLE"},
    {CL_ALLOCATION_FAILURE, "MEM_OBJECT_ALLOCATION_FAILURE"},
    {CL_OUT_OF_RESOURCES, "OUT_OF_RESOURCES"},
    {CL_OUT_OF_HOST_MEMORY, "OUT_OF_HOST_MEMORY"},
    {-7, "PROFILING_INFO_NOT_AVAILABLE"},
    {-11, "BUILD_PROGRAM_FAILURE"},
    {-12, "MAP_FAILURE"},
    {-14, "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "INVALID_VALUE"},
    {CL_INVALID_DEVICE, "INVALID_DEVICE"},
    {CL_INVALID_CONTEXT, "INVALID_CONTEXT"},
    {-35, "INVALID_QUEUE_PROPERTIES"},
    {CL_INVALID_QUEUE, "INVALID_COMMAND_QUEUE"},
    {-38, "INVALID_MEM_OBJECT"},
    {-45, "INVALID_PROGRAM_EXECUTABLE"},
    {-52, "INVALID_KERNEL_ARGS"},
    {-54, "INVALID_WORK_GROUP_SIZE"},
    {CL_INVALID_BUFFER_SIZE, "INVALID_BUFFER_SIZE"},
    {CL_CONTEXT_TERMINATED, "CONTEXT_TERMINATED_KHR"},
};

const char* opencl_error_name(cl_int code) {
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].code == code) return errors[i].name;
  return "an error without a name here";
}
