/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * job.h: the way of a job into a stream.
 */
#ifndef TBK_CUDA_JOB_H
#define TBK_CUDA_JOB_H

#include <emit/job.h>

#include "cuda.h"

/* program.c: NVRTC, or NULL where there is none. A simulated driver has its own. Does not open a driver. */
const void* cuda_compiler(void);
/* Returns the kernel with these options, compiled if need be; NULL and the reason. The device's context
 * is entered. */
cu_function cuda_program_function(cuda_device_t* device, const char* options, tbk_error_t* error);

/* kernel.c: compiles what is not compiled yet, and launches. */
tbk_status_t cuda_job_submit(tbk_instance_t* self, int32_t device, const emit_job_t* job,
                             tbk_stream_t* stream, tbk_error_t* error);

#endif /* TBK_CUDA_JOB_H */
