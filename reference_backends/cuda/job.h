/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * job.h: the way of a job into a stream.
 */
#ifndef TBK_CUDA_JOB_H
#define TBK_CUDA_JOB_H

#include <driver/kernels.h>

#include "cuda.h"

/* program.c: NVRTC, or NULL where there is none. A simulated driver has its own. Does not open a driver. */
const void* cuda_compiler(void);
/* What is compiled: a kernel by hand of these options; or a generic one of a program, whose source is
 * written where its name is not known yet. */
typedef struct cuda_source {
  const char* name; /* the options of a kernel by hand */
  const emit_generic_t* generic;
  const void* arguments;
  const emit_launch_t* launch;
} cuda_source_t;

/* Finds the kernel, compiled if need be, in the device's context. What the driver answered, where that is
 * no word on the kernel, is in *out_result; UNSUPPORTED with the reason where there is no such kernel. */
tbk_status_t cuda_program_find(cuda_device_t* device, const cuda_source_t* source,
                               cu_function* out_function, cu_result* out_result,
                               tbk_error_t* error);

/* generic.c: the generic kernels, of driver_compiler. */
tbk_status_t cuda_generic_compile(tbk_instance_t* self, int32_t device,
                                  const emit_generic_t* generic, const void* arguments,
                                  tbk_error_t* error);
tbk_status_t cuda_generic_launch(tbk_instance_t* self, int32_t device,
                                 const emit_generic_t* generic, const void* arguments,
                                 tbk_stream_t* stream, tbk_error_t* error);

/* kernel.c: leaves the context with `status`, which is no word of the driver's, unless the driver has one. */
tbk_status_t cuda_leave_with(tbk_instance_t* self, int32_t device, tbk_status_t status,
                             const char* what);

/* product.c: enqueues a matrix product by cuBLAS, in the device's context; false, and nothing is enqueued,
 * where it does not serve this job. */
bool cuda_product_enqueue(cuda_device_t* device, const emit_job_t* job, cu_stream queue,
                          cu_result* out_result);

/* kernel.c: compiles what is not compiled yet, and launches. */
tbk_status_t cuda_job_submit(tbk_instance_t* self, int32_t device, const emit_job_t* job,
                             tbk_stream_t* stream, tbk_error_t* error);

#endif /* TBK_CUDA_JOB_H */
