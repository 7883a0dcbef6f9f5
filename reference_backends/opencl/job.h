/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * job.h: the way of a job into a queue.
 */
#ifndef TBK_OPENCL_JOB_H
#define TBK_OPENCL_JOB_H

#include <driver/kernels.h>

#include "opencl.h"

/* What is compiled: a kernel by hand of these options; or a generic one of a program, whose source is
 * written where its name is not known yet. */
typedef struct opencl_source {
  const char* name; /* the options of a kernel by hand */
  const emit_generic_t* generic;
  const void* arguments;
  const emit_launch_t* launch;
} opencl_source_t;

/* program.c: finds the kernel, compiled if need be. UNSUPPORTED where it cannot be. */
tbk_status_t opencl_program_kernel(opencl_device_t* device, const opencl_source_t* source,
                                   cl_kernel* out_kernel, tbk_error_t* error);

/* A kernel's parameters. Those of a generic one are words, and one by hand has a shape and a scalar. */
typedef struct opencl_parameters {
  size_t sizes[2];
  const void* values[2];
  int value_count, buffer_count;
  const cl_mem* buffers;
  int64_t groups;
} opencl_parameters_t;

/* kernel.c: enters a queue with a kernel. */
tbk_status_t opencl_kernel_enqueue(opencl_device_t* device, cl_kernel kernel,
                                   const opencl_parameters_t* parameters, tbk_stream_t* stream,
                                   tbk_error_t* error);

/* generic.c: the generic kernels, of driver_compiler. */
tbk_status_t opencl_generic_compile(tbk_instance_t* self, int32_t index,
                                    const emit_generic_t* generic, const void* arguments,
                                    tbk_error_t* error);
tbk_status_t opencl_generic_launch(tbk_instance_t* self, int32_t index,
                                   const emit_generic_t* generic, const void* arguments,
                                   tbk_stream_t* stream, tbk_error_t* error);

/* kernel.c: compiles what is not compiled yet, and launches. Where there is nothing to do, nothing is
 * enqueued. */
tbk_status_t opencl_job_submit(opencl_device_t* device, const emit_job_t* job, tbk_stream_t* stream,
                               tbk_error_t* error);

#endif /* TBK_OPENCL_JOB_H */
