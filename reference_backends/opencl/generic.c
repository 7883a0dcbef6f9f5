/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * generic.c: the kernels that are written from programs. Each operand set is a launch of its own; all are compiled
 * before the first is enqueued, so that a refusal has no effect.
 */
#include <stdlib.h>
#include <string.h>

#include "job.h"

typedef struct launches {
  opencl_device_t* device;
  emit_launch_t* all;
  size_t count;
  cl_kernel* kernels; /* of each */
  cl_mem workspace;   /* NULL where none is needed */
} launches_t;

/* The driver keeps a workspace until what was enqueued with it has ended. */
static void release(launches_t* launches) {
  if (launches->workspace != NULL)
    launches->device->instance->driver.clReleaseMemObject(launches->workspace);
  free(launches->all);
  free(launches->kernels);
}

static tbk_status_t compile(launches_t* launches, const emit_generic_t* generic,
                            const void* arguments, tbk_error_t* error) {
  tbk_status_t status = TBK_OK;
  launches->kernels = calloc(launches->count + 1, sizeof(cl_kernel));
  if (launches->kernels == NULL)
    return opencl_fail(error, TBK_OUT_OF_MEMORY, "no host memory for launches");
  for (size_t i = 0; i < launches->count && status == TBK_OK; i++) {
    const emit_launch_t* launch = &launches->all[i];
    const opencl_source_t source = {launch->name, generic, arguments, launch};
    if (emit_generic_repeats(launches->all, i))
      launches->kernels[i] = launches->kernels[i - 1];
    else
      status = opencl_program_kernel(launches->device, &source, &launches->kernels[i], error);
  }
  return status;
}

/* Enters the device, checks, and compiles what is not compiled yet. `launches` is to be released. */
static tbk_status_t make(tbk_instance_t* self, int32_t index, const emit_generic_t* generic,
                         const void* arguments, bool is_bound, launches_t* launches,
                         tbk_error_t* error) {
  memset(launches, 0, sizeof *launches);
  tbk_status_t status = opencl_enter(self, index, &launches->device, error);
  if (status != TBK_OK) return status;
  const uint64_t words = launches->device->parameter_bytes / 8;
  const emit_limits_t limits = {is_bound, words < EMIT_WORDS ? (int32_t)words : EMIT_WORDS};
  status =
      emit_generic_launches(generic, arguments, &limits, &launches->all, &launches->count, error);
  if (status != TBK_OK) return status;
  if (!launches->device->has_double && emit_generic_has_double(generic, arguments))
    return opencl_fail(error, TBK_UNSUPPORTED, "the device has no double precision");
  return compile(launches, generic, arguments, error);
}

/* What is not accessed gets the memory of another operand: a kernel takes no NULL. */
static bool find_buffers(const opencl_device_t* device, const emit_launch_t* launch,
                         cl_mem* buffers) {
  cl_mem any = NULL;
  for (int i = 0; i < launch->pointer_count; i++) {
    const opencl_memory_t* memory = (const opencl_memory_t*)(uintptr_t)launch->memory[i];
    if (memory != NULL && memory->device != device) return false;
    buffers[i] = memory != NULL ? memory->buffer : NULL;
    if (buffers[i] != NULL) any = buffers[i];
  }
  for (int i = 0; i < launch->pointer_count; i++)
    if (buffers[i] == NULL) buffers[i] = any;
  return true;
}

static tbk_status_t submit(const launches_t* launches, size_t which, tbk_stream_t* stream,
                           tbk_error_t* error) {
  const emit_launch_t* launch = &launches->all[which];
  opencl_device_t* device = launches->device;
  cl_mem buffers[EMIT_POINTERS];
  if (!find_buffers(device, launch, buffers))
    return opencl_fail(error, TBK_INVALID, "a tensor is not in memory of device %d", device->index);
  if (launch->workspace != 0) buffers[launch->workspace] = launches->workspace;
  const opencl_parameters_t parameters = {.sizes = {(size_t)launch->word_count * 8},
                                          .values = {launch->words},
                                          .value_count = 1,
                                          .buffer_count = launch->pointer_count,
                                          .buffers = buffers,
                                          .groups = launch->groups};
  return opencl_kernel_enqueue(device, launches->kernels[which], &parameters, stream, error);
}

/* What all launches share while they run. */
static tbk_status_t take_workspace(launches_t* launches, tbk_error_t* error) {
  cl_int result = CL_OK;
  opencl_device_t* device = launches->device;
  const uint64_t bytes = emit_generic_workspace(launches->all, launches->count);
  if (bytes == 0) return TBK_OK;
  launches->workspace = device->instance->driver.clCreateBuffer(device->context, CL_MEM_READ_WRITE,
                                                                (size_t)bytes, NULL, &result);
  if (result != CL_OK) launches->workspace = NULL;
  return opencl_status(device, result, "allocating a workspace", error);
}

tbk_status_t opencl_generic_launch(tbk_instance_t* self, int32_t index,
                                   const emit_generic_t* generic, const void* arguments,
                                   tbk_stream_t* stream, tbk_error_t* error) {
  launches_t launches;
  tbk_status_t status = make(self, index, generic, arguments, true, &launches, error);
  if (status == TBK_OK && stream != NULL && stream->device != launches.device)
    status = opencl_fail(error, TBK_INVALID, "the stream is not one of device %d", index);
  if (status == TBK_OK) status = take_workspace(&launches, error);
  for (size_t i = 0; i < launches.count && status == TBK_OK; i++)
    if (launches.all[i].groups > 0) status = submit(&launches, i, stream, error);
  release(&launches);
  return status;
}

tbk_status_t opencl_generic_compile(tbk_instance_t* self, int32_t index,
                                    const emit_generic_t* generic, const void* arguments,
                                    tbk_error_t* error) {
  launches_t launches;
  tbk_status_t status = make(self, index, generic, arguments, false, &launches, error);
  release(&launches);
  return status;
}
