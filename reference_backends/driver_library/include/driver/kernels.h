/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernels.h: the kernels of the emitter as a backend offers them that compiles for its driver: those by hand and the
 * generic ones, found by name, launched and planned. What a plan saves is the compilation.
 */
#ifndef DRIVER_KERNELS_H
#define DRIVER_KERNELS_H

#include <emit/generic.h>
#include <pthread.h>
#include <sys/queue.h>

/* Plans that nobody gave back end with the instance. */
typedef LIST_HEAD(driver_plans, tbk_plan) driver_plans_t;

/* What a backend does itself; it defines this one. */
typedef struct driver_compiler {
  /* Called before arguments are looked at; NULL where the others find out that the device is not open. */
  tbk_status_t (*check)(tbk_instance_t* self, int32_t device, tbk_error_t* error);
  /* Where the instance keeps plans, and the lock that guards them. */
  driver_plans_t* (*plans)(tbk_instance_t* self, pthread_mutex_t** out_lock);
  /* Compile what is not compiled yet. The job has no memory. */
  tbk_status_t (*compile)(tbk_instance_t* self, int32_t device, const emit_job_t* job,
                          tbk_error_t* error);
  tbk_status_t (*compile_generic)(tbk_instance_t* self, int32_t device,
                                  const emit_generic_t* generic, const void* arguments,
                                  tbk_error_t* error);
  /* Enqueue, and compile before if need be. */
  tbk_status_t (*launch)(tbk_instance_t* self, int32_t device, const emit_job_t* job,
                         tbk_stream_t* stream, tbk_error_t* error);
  tbk_status_t (*launch_generic)(tbk_instance_t* self, int32_t device,
                                 const emit_generic_t* generic, const void* arguments,
                                 tbk_stream_t* stream, tbk_error_t* error);
} driver_compiler_t;
extern const driver_compiler_t driver_compiler;

/* Returns the kernel; NULL for another name or version. */
const tbk_kernel_t* driver_kernel_find(const char* name, uint32_t version);

void driver_plans_free(driver_plans_t* plans);

#endif /* DRIVER_KERNELS_H */
