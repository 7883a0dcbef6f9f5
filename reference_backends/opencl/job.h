/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * job.h: the way of a job into a queue.
 */
#ifndef TBK_OPENCL_JOB_H
#define TBK_OPENCL_JOB_H

#include <emit/job.h>

#include "opencl.h"

/* kernel.c: compiles what is not compiled yet, and launches. Where there is nothing to do, nothing is
 * enqueued. */
tbk_status_t opencl_job_submit(opencl_device_t* device, const emit_job_t* job, tbk_stream_t* stream,
                               tbk_error_t* error);

#endif /* TBK_OPENCL_JOB_H */
