/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * random.c: random numbers.
 */
#include "job.h"

static cl_int enqueue(opencl_device_t* device, cl_kernel kernel, const uint64_t* numbers,
                      cl_mem buffer, cl_queue queue, cl_event* out_event) {
  const opencl_driver_t* driver = &device->instance->driver;
  const size_t blocks = (size_t)(numbers[2] + 3) / 4, local = OPENCL_WORK_GROUP;
  const size_t global = (blocks + local - 1) / local * local;
  cl_int result = CL_OK;
  pthread_mutex_lock(&device->kernel_lock);
  for (cl_uint i = 0; i < 4 && result == CL_OK; i++)
    result = driver->clSetKernelArg(kernel, i, sizeof numbers[i], &numbers[i]);
  if (result == CL_OK) result = driver->clSetKernelArg(kernel, 4, sizeof buffer, &buffer);
  if (result == CL_OK)
    result = driver->clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL,
                                            out_event);
  pthread_mutex_unlock(&device->kernel_lock);
  return result;
}

static tbk_status_t random_bits(tbk_instance_t* self, int32_t index,
                                const tbk_generator_t* generator, tbk_memory_t handle,
                                uint64_t offset, uint64_t count, tbk_stream_t* stream,
                                tbk_error_t* error) {
  opencl_device_t* device;
  tbk_stream_t* queue;
  tbk_status_t status = opencl_enter(self, index, &device, error);
  if (status != TBK_OK) return status;
  if (generator == NULL || generator->offset % 4 != 0 || offset % 4 != 0)
    return opencl_fail(error, TBK_INVALID, "no generator, or an offset that is no multiple of 4");
  if (stream != NULL && stream->device != device)
    return opencl_fail(error, TBK_INVALID, "the stream is not one of device %d", index);
  if (count == 0) return TBK_OK;
  const opencl_memory_t* memory = (const opencl_memory_t*)(uintptr_t)handle;
  if (memory == NULL || memory->device != device || offset > memory->size_bytes ||
      count > (memory->size_bytes - offset) / 4)
    return opencl_fail(error, TBK_INVALID, "the range does not lie inside memory of the device");
  if (!device->has_compiler)
    return opencl_fail(error, TBK_UNSUPPORTED, "the driver has no compiler");
  cl_kernel kernel = opencl_program_kernel(device, "-DRANDOM", error);
  if (kernel == NULL) return TBK_FAILED;
  status = opencl_begin(self, index, stream, &queue, error);
  if (status != TBK_OK) return status;
  const uint64_t numbers[4] = {generator->seed, generator->offset / 4, count, offset / 4};
  cl_event event = NULL;
  cl_int result = enqueue(device, kernel, numbers, memory->buffer, queue->queue, &event);
  return opencl_end(queue, stream, result, event, "random numbers", error);
}

const tbk_random_ops_t opencl_random_ops = {
    .struct_size = sizeof(tbk_random_ops_t),
    .random_bits = random_bits,
};
