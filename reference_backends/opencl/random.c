/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * random.c: random numbers, by a kernel like the others.
 */
#include "job.h"

static tbk_status_t random_bits(tbk_instance_t* self, int32_t index,
                                const tbk_generator_t* generator, tbk_memory_t handle,
                                uint64_t offset, uint64_t count, tbk_stream_t* stream,
                                tbk_error_t* error) {
  opencl_device_t* device;
  tbk_status_t status = opencl_enter(self, index, &device, error);
  if (status != TBK_OK) return status;
  if (generator == NULL || generator->offset % 4 != 0 || offset % 4 != 0)
    return opencl_fail(error, TBK_INVALID, "no generator, or an offset that is no multiple of 4");
  const opencl_memory_t* memory = (const opencl_memory_t*)(uintptr_t)handle;
  if (count > 0 &&
      (memory == NULL || offset > memory->size_bytes || count > (memory->size_bytes - offset) / 4))
    return opencl_fail(error, TBK_INVALID, "the range does not lie inside memory of the device");
  if (!device->has_compiler)
    return opencl_fail(error, TBK_UNSUPPORTED, "the driver has no compiler");
  const emit_job_t job = emit_random(generator, handle, offset, count);
  return opencl_job_submit(device, &job, stream, error);
}

const tbk_random_ops_t opencl_random_ops = {sizeof opencl_random_ops, random_bits};
