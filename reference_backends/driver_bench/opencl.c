/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * opencl.c: OpenCL, bare: the first device that can be used, one queue.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../opencl/driver.h"
#include "bench.h"

enum { PLATFORMS = 16 };

static opencl_driver_t cl;
static cl_device device;
static cl_context context;
static cl_queue queue;
static cl_program program;
static cl_kernel kernel;
static cl_mem blocks[2];

static bool find_device(cl_platform* out_platform) {
  cl_platform platforms[PLATFORMS];
  cl_uint count = 0, devices = 0;
  if (cl.clGetPlatformIDs(PLATFORMS, platforms, &count) != CL_OK) return false;
  for (cl_uint i = 0; i < count && i < PLATFORMS && devices == 0; i++) {
    *out_platform = platforms[i];
    if (cl.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, &devices) != CL_OK)
      devices = 0;
  }
  return devices > 0;
}

static bool open_device(const char* options, char* reason, size_t reason_bytes) {
  char path[4096];
  cl_platform platform = NULL;
  cl_int result = CL_OK;
  const char* stated = getenv("TBK_OPENCL_LIBRARY");
  if (!bench_option(options, "library", path, sizeof path))
    snprintf(path, sizeof path, "%s", stated ? stated : "libOpenCL.so.1");
  if (opencl_driver_load(&cl, path, reason, reason_bytes) != NULL) return false;
  snprintf(reason, reason_bytes, "no device, or it cannot be opened");
  if (!find_device(&platform)) return false;
  const intptr_t properties[] = {CL_CONTEXT_PLATFORM, (intptr_t)platform, 0};
  context = cl.clCreateContext(properties, 1, &device, NULL, NULL, &result);
  if (result == CL_OK) queue = cl.clCreateCommandQueue(context, device, 0, &result);
  return result == CL_OK;
}

static void give_back(void) {
  for (int i = 0; i < 2; i++) {
    if (blocks[i] != NULL) cl.clReleaseMemObject(blocks[i]);
    blocks[i] = NULL;
  }
}

static bool take(size_t size_bytes) {
  cl_int result = CL_OK;
  give_back();
  for (int i = 0; i < 2 && result == CL_OK; i++)
    blocks[i] = cl.clCreateBuffer(context, CL_MEM_READ_WRITE, size_bytes, NULL, &result);
  return result == CL_OK;
}

/* Waits for what was enqueued. */
static bool waited(cl_int result, cl_event event) {
  if (result != CL_OK) return false;
  result = cl.clWaitForEvents(1, &event);
  cl.clReleaseEvent(event);
  return result == CL_OK;
}

static bool upload(const void* from, size_t size_bytes) {
  cl_event event = NULL;
  const cl_int result =
      cl.clEnqueueWriteBuffer(queue, blocks[0], 0, 0, size_bytes, from, 0, NULL, &event);
  return waited(result, event);
}

static bool download(void* to, size_t size_bytes) {
  cl_event event = NULL;
  const cl_int result =
      cl.clEnqueueReadBuffer(queue, blocks[0], 0, 0, size_bytes, to, 0, NULL, &event);
  return waited(result, event);
}

static bool copy(size_t size_bytes) {
  cl_event event = NULL;
  const cl_int result =
      cl.clEnqueueCopyBuffer(queue, blocks[0], blocks[1], 0, 0, size_bytes, 0, NULL, &event);
  return waited(result, event);
}

/* The kernels that are launched here compute with no doubles. */
static bool prepare(const emit_job_t* job) {
  char options[128];
  cl_int result = CL_OK;
  const char* source = emit_opencl_source;
  snprintf(options, sizeof options, "-cl-std=CL1.2 -DHAS_DOUBLE=0 %s", job->options);
  program = cl.clCreateProgramWithSource(context, 1, &source, NULL, &result);
  if (result == CL_OK) result = cl.clBuildProgram(program, 1, &device, options, NULL, NULL);
  if (result == CL_OK) kernel = cl.clCreateKernel(program, "run", &result);
  return result == CL_OK;
}

static bool launch(const emit_job_t* job, int times) {
  const size_t items = (size_t)job->groups * EMIT_GROUP, group = EMIT_GROUP;
  cl_event event = NULL;
  cl_int result = cl.clSetKernelArg(kernel, 0, sizeof job->shape, &job->shape);
  if (result == CL_OK) result = cl.clSetKernelArg(kernel, 1, job->scalar_bytes, job->scalar);
  for (cl_uint i = 0; i < EMIT_OPERANDS && result == CL_OK; i++)
    result = cl.clSetKernelArg(kernel, 2 + i, sizeof *blocks, &blocks[0]);
  for (int i = 0; i < times && result == CL_OK; i++)
    result = cl.clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL,
                                       i + 1 == times ? &event : NULL);
  return waited(result, event);
}

static void close_device(void) {
  give_back();
  if (kernel != NULL) cl.clReleaseKernel(kernel);
  if (program != NULL) cl.clReleaseProgram(program);
  cl.clReleaseCommandQueue(queue);
  cl.clReleaseContext(context);
}

const bench_driver_t bench_opencl = {"opencl", "OpenCL", open_device, take,   upload,
                                     download, copy,     prepare,     launch, close_device};
