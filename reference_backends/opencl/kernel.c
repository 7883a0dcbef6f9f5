/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel.c: the table of kernels, and their ways into the queues: at once, or prepared.
 */
#include "job.h"

/* Arguments are state of a kernel, so setting them and enqueuing are one step. */
static cl_int enqueue(opencl_device_t* device, cl_kernel kernel,
                      const opencl_parameters_t* parameters, cl_queue queue, cl_event* out_event) {
  const opencl_driver_t* driver = &device->instance->driver;
  const size_t items = (size_t)parameters->groups * EMIT_GROUP, group = EMIT_GROUP;
  cl_uint next = 0;
  cl_int result = CL_OK;
  pthread_mutex_lock(&device->kernel_lock);
  for (int i = 0; i < parameters->value_count && result == CL_OK; i++)
    result = driver->clSetKernelArg(kernel, next++, parameters->sizes[i], parameters->values[i]);
  for (int i = 0; i < parameters->buffer_count && result == CL_OK; i++)
    result = driver->clSetKernelArg(kernel, next++, sizeof(cl_mem), &parameters->buffers[i]);
  if (result == CL_OK)
    result =
        driver->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, &group, 0, NULL, out_event);
  pthread_mutex_unlock(&device->kernel_lock);
  return result;
}

tbk_status_t opencl_kernel_enqueue(opencl_device_t* device, cl_kernel kernel,
                                   const opencl_parameters_t* parameters, tbk_stream_t* stream,
                                   tbk_error_t* error) {
  tbk_stream_t* queue;
  tbk_status_t status = opencl_begin(device->instance, device->index, stream, &queue, error);
  if (status != TBK_OK) return status;
  cl_event event = NULL;
  cl_int result = enqueue(device, kernel, parameters, queue->queue, &event);
  return opencl_end(queue, stream, result, event, "launching a kernel", error);
}

/* Buffers of the operands; one that is none or has no elements gets that of the output, and is not
 * read. */
static bool find_buffers(const opencl_device_t* device, const emit_job_t* job, cl_mem* buffers) {
  for (int i = 0; i < EMIT_OPERANDS; i++) {
    const opencl_memory_t* memory = (const opencl_memory_t*)(uintptr_t)job->operands[i].memory;
    const bool empty = i >= job->operand_count || job->operands[i].count == 0;
    if (!empty && (memory == NULL || memory->device != device)) return false;
    buffers[i] = empty ? buffers[0] : memory->buffer;
  }
  return true;
}

static tbk_status_t run(opencl_device_t* device, cl_kernel kernel, const emit_job_t* job,
                        tbk_stream_t* stream, tbk_error_t* error) {
  cl_mem buffers[EMIT_OPERANDS] = {0};
  if (!find_buffers(device, job, buffers))
    return opencl_fail(error, TBK_INVALID, "a tensor is not in memory of device %d", device->index);
  const opencl_parameters_t parameters = {.sizes = {sizeof job->shape, job->scalar_bytes},
                                          .values = {&job->shape, job->scalar},
                                          .value_count = 2,
                                          .buffer_count = EMIT_OPERANDS,
                                          .buffers = buffers,
                                          .groups = job->groups};
  return opencl_kernel_enqueue(device, kernel, &parameters, stream, error);
}

static tbk_status_t find_kernel(opencl_device_t* device, const char* options, cl_kernel* out_kernel,
                                tbk_error_t* error) {
  const opencl_source_t source = {.name = options};
  return opencl_program_kernel(device, &source, out_kernel, error);
}

/* Computes into memory of its own, which the driver keeps until both commands are through. */
static tbk_status_t run_apart(opencl_device_t* device, cl_kernel kernel, const emit_job_t* job,
                              tbk_stream_t* stream, tbk_error_t* error) {
  emit_job_t apart = *job, move;
  tbk_status_t status;
  opencl_memory_t* memory =
      opencl_buffer_new(device, emit_output_bytes(job), CL_MEM_READ_WRITE, &status, error);
  if (memory == NULL) return status;
  emit_set_apart(&apart, (uintptr_t)memory, &move);
  cl_kernel mover;
  status = find_kernel(device, move.options, &mover, error);
  if (status == TBK_OK) status = run(device, kernel, &apart, stream, error);
  if (status == TBK_OK) status = run(device, mover, &move, stream, error);
  opencl_memory_free(device->instance, device->index, (uintptr_t)memory, NULL);
  return status;
}

tbk_status_t opencl_job_submit(opencl_device_t* device, const emit_job_t* job, tbk_stream_t* stream,
                               tbk_error_t* error) {
  if (stream != NULL && stream->device != device)
    return opencl_fail(error, TBK_INVALID, "the stream is not one of device %d", device->index);
  if (job->groups == 0) return TBK_OK;
  cl_kernel kernel;
  tbk_status_t status = find_kernel(device, job->options, &kernel, error);
  if (status != TBK_OK) return status;
  if (emit_is_in_place_product(job)) return run_apart(device, kernel, job, stream, error);
  return run(device, kernel, job, stream, error);
}

/* Whether the device has all dtypes. */
static tbk_status_t check_dtypes(const opencl_device_t* device, const emit_job_t* job,
                                 tbk_error_t* error) {
  for (int i = 0; i < job->operand_count && !device->has_double; i++) {
    const int32_t dtype = job->operands[i].dtype;
    if (dtype == TBK_FLOAT64 || dtype == TBK_COMPLEX128)
      return opencl_fail(error, TBK_UNSUPPORTED, "the device has no double precision");
  }
  return TBK_OK;
}

static tbk_status_t check_device(tbk_instance_t* self, int32_t index, tbk_error_t* error) {
  opencl_device_t* device;
  return opencl_enter(self, index, &device, error);
}

static tbk_status_t compile(tbk_instance_t* self, int32_t index, const emit_job_t* job,
                            tbk_error_t* error) {
  cl_kernel compiled;
  tbk_status_t status = check_dtypes(&self->devices[index], job, error);
  if (status != TBK_OK) return status;
  return find_kernel(&self->devices[index], job->options, &compiled, error);
}

static tbk_status_t launch(tbk_instance_t* self, int32_t index, const emit_job_t* job,
                           tbk_stream_t* stream, tbk_error_t* error) {
  tbk_status_t status = check_dtypes(&self->devices[index], job, error);
  if (status != TBK_OK) return status;
  return opencl_job_submit(&self->devices[index], job, stream, error);
}

static driver_plans_t* plans_of(tbk_instance_t* self, pthread_mutex_t** out_lock) {
  *out_lock = &self->lock;
  return &self->plans;
}

const driver_compiler_t driver_compiler = {check_device,           plans_of, compile,
                                           opencl_generic_compile, launch,   opencl_generic_launch};

static const tbk_kernel_t* kernel_find(tbk_instance_t* self, int32_t index, const char* name,
                                       uint32_t version) {
  opencl_device_t* device = NULL;
  tbk_status_t status = opencl_enter(self, index, &device, NULL);
  if (name == NULL || (status != TBK_OK && status != TBK_DEVICE_LOST)) return NULL;
  return device->has_compiler ? driver_kernel_find(name, version) : NULL;
}

const tbk_kernel_ops_t opencl_kernel_ops = {sizeof opencl_kernel_ops, kernel_find};
