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

typedef struct kernel {
  tbk_kernel_t table; /* first, so that a tbk_kernel_t of ours is one of these */
  const emit_generic_t* generic;
} kernel_t;

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

static tbk_status_t compile(launches_t* launches, const kernel_t* kernel, const void* arguments,
                            tbk_error_t* error) {
  tbk_status_t status = TBK_OK;
  launches->kernels = calloc(launches->count + 1, sizeof(cl_kernel));
  if (launches->kernels == NULL)
    return opencl_fail(error, TBK_OUT_OF_MEMORY, "no host memory for launches");
  for (size_t i = 0; i < launches->count && status == TBK_OK; i++) {
    const emit_launch_t* launch = &launches->all[i];
    const opencl_source_t source = {launch->name, kernel->generic, arguments, launch};
    status = opencl_program_kernel(launches->device, &source, &launches->kernels[i], error);
  }
  return status;
}

/* Enters the device, checks, and compiles what is not compiled yet. `launches` is to be released. */
static tbk_status_t make(tbk_instance_t* self, int32_t index, const kernel_t* kernel,
                         const void* arguments, bool is_bound, launches_t* launches,
                         tbk_error_t* error) {
  memset(launches, 0, sizeof *launches);
  tbk_status_t status = opencl_enter(self, index, &launches->device, error);
  if (status != TBK_OK) return status;
  const uint64_t words = launches->device->parameter_bytes / 8;
  const emit_limits_t limits = {is_bound, words < EMIT_WORDS ? (int32_t)words : EMIT_WORDS};
  status = emit_generic_launches(kernel ? kernel->generic : NULL, arguments, &limits,
                                 &launches->all, &launches->count, error);
  if (status != TBK_OK) return status;
  if (!launches->device->has_double && emit_generic_has_double(kernel->generic, arguments))
    return opencl_fail(error, TBK_UNSUPPORTED, "the device has no double precision");
  return compile(launches, kernel, arguments, error);
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

static tbk_status_t run(tbk_instance_t* self, int32_t index, const kernel_t* kernel,
                        const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  launches_t launches;
  tbk_status_t status = make(self, index, kernel, arguments, true, &launches, error);
  if (status == TBK_OK && stream != NULL && stream->device != launches.device)
    status = opencl_fail(error, TBK_INVALID, "the stream is not one of device %d", index);
  if (status == TBK_OK) status = take_workspace(&launches, error);
  for (size_t i = 0; i < launches.count && status == TBK_OK; i++)
    if (launches.all[i].groups > 0) status = submit(&launches, i, stream, error);
  release(&launches);
  return status;
}

static tbk_status_t launch(tbk_instance_t* self, int32_t index, const tbk_kernel_t* table,
                           const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  return run(self, index, (const kernel_t*)table, arguments, stream, error);
}

static tbk_status_t prepare(tbk_instance_t* self, int32_t index, const tbk_kernel_t* table,
                            const void* arguments, tbk_plan_t** out_plan,
                            uint64_t* out_workspace_bytes, tbk_error_t* error) {
  launches_t launches;
  tbk_status_t status =
      make(self, index, (const kernel_t*)table, arguments, false, &launches, error);
  release(&launches);
  if (status != TBK_OK) return status;
  if (out_plan == NULL || out_workspace_bytes == NULL)
    return opencl_fail(error, TBK_INVALID, "out_plan or out_workspace_bytes is NULL");
  tbk_plan_t* plan = opencl_plan_new(self, table);
  if (plan == NULL) return opencl_fail(error, TBK_OUT_OF_MEMORY, "no host memory for a plan");
  *out_plan = plan;
  *out_workspace_bytes = 0;
  return TBK_OK;
}

/* What a plan saves is the compilation, which is kept by name: launches are made anew of the sizes. */
static tbk_status_t launch_plan(tbk_instance_t* self, int32_t index, const tbk_plan_t* plan,
                                const void* arguments, tbk_memory_t workspace,
                                uint64_t workspace_offset, tbk_stream_t* stream,
                                tbk_error_t* error) {
  (void)workspace; /* none was asked for */
  (void)workspace_offset;
  tbk_status_t status =
      run(self, index, plan != NULL ? plan->made_by : NULL, arguments, stream, error);
  if (status != TBK_UNSUPPORTED) return status;
  return opencl_fail(error, TBK_INVALID, "not the arguments of the plan");
}

#define KERNEL(generic) \
  { {sizeof(tbk_kernel_t), launch, prepare, launch_plan, opencl_plan_destroy}, &emit_##generic }

static const kernel_t kernels[] = {
    KERNEL(pointwise), KERNEL(reduce), KERNEL(index),       KERNEL(sort),
    KERNEL(scan),      KERNEL(matmul), KERNEL(convolution),
};

const tbk_kernel_t* opencl_generic_find(const char* name, uint32_t version) {
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (kernels[i].generic->version == version && strcmp(kernels[i].generic->name, name) == 0)
      return &kernels[i].table;
  return NULL;
}
