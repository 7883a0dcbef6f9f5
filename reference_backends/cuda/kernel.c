/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel.c: the tables of kernels and of random numbers, and their way into streams.
 */
#include "job.h"

static cu_result start(cu_function function, const emit_job_t* job, cu_stream queue) {
  cu_deviceptr pointers[EMIT_OPERANDS] = {0};
  emit_job_t copy = *job; /* parameters are not const */
  void* parameters[2 + EMIT_OPERANDS] = {&copy.shape, copy.scalar};
  for (int i = 0; i < EMIT_OPERANDS; i++) {
    if (i < job->operand_count && job->operands[i].count > 0) pointers[i] = job->operands[i].memory;
    parameters[2 + i] = &pointers[i];
  }
  return cuda_driver()->launch_kernel(function, (unsigned)job->groups, 1, 1, EMIT_GROUP, 1, 1, 0,
                                      queue, parameters, NULL);
}

static tbk_status_t find_by_hand(cuda_device_t* device, const char* options,
                                 cu_function* out_function, cu_result* out_result,
                                 tbk_error_t* error) {
  const cuda_source_t source = {.name = options};
  return cuda_program_find(device, &source, out_function, out_result, error);
}

/* By cuBLAS where that serves, else by the kernel; UNSUPPORTED where there is none. */
static tbk_status_t enqueue(cuda_device_t* device, const emit_job_t* job, cu_stream queue,
                            cu_result* out_result, tbk_error_t* error) {
  cu_function function;
  if (cuda_product_enqueue(device, job, queue, out_result)) return TBK_OK;
  tbk_status_t status = find_by_hand(device, job->options, &function, out_result, error);
  if (status == TBK_OK && *out_result == CU_OK) *out_result = start(function, job, queue);
  return status;
}

/* Computes into memory of its own, in the order of the stream. */
static tbk_status_t enqueue_apart(cuda_device_t* device, const emit_job_t* job, cu_stream queue,
                                  cu_result* out_result, tbk_error_t* error) {
  emit_job_t apart = *job, move;
  cu_deviceptr memory = 0;
  cu_function mover;
  emit_set_apart(&apart, 0, &move);
  tbk_status_t status = find_by_hand(device, move.options, &mover, out_result, error);
  if (status != TBK_OK || *out_result != CU_OK) return status;
  *out_result = cuda_take(device, queue, emit_output_bytes(job), &memory);
  if (*out_result != CU_OK) return TBK_OK;
  apart.operands[0].memory = move.operands[1].memory = memory;
  status = enqueue(device, &apart, queue, out_result, error);
  if (status == TBK_OK && *out_result == CU_OK) *out_result = start(mover, &move, queue);
  const cu_result freed = cuda_give(device, queue, memory);
  if (status == TBK_OK && *out_result == CU_OK) *out_result = freed;
  return status;
}

tbk_status_t cuda_leave_with(tbk_instance_t* self, int32_t device, tbk_status_t status,
                             const char* what) {
  tbk_status_t left = cuda_leave(self, device, CU_OK, what, NULL);
  return left == TBK_OK ? status : left;
}

tbk_status_t cuda_job_submit(tbk_instance_t* self, int32_t device, const emit_job_t* job,
                             tbk_stream_t* stream, tbk_error_t* error) {
  cu_stream queue;
  cu_result result = CU_OK;
  tbk_status_t status = cuda_begin(self, device, stream, &queue, error);
  if (status != TBK_OK || job->groups == 0)
    return status != TBK_OK ? status : cuda_leave(self, device, CU_OK, "launching", error);
  if (job->groups > INT32_MAX)
    status = cuda_fail(error, TBK_UNSUPPORTED, "more than %d groups", INT32_MAX);
  if (status == TBK_OK)
    status = (emit_is_in_place_product(job) ? enqueue_apart : enqueue)(&self->devices[device], job,
                                                                       queue, &result, error);
  if (status != TBK_OK) return cuda_leave_with(self, device, status, "launching");
  return cuda_end(self, device, stream, result, "launching a kernel", error);
}

/* Compiles, so that launching the plan does not; of a product also what serves where cuBLAS does not. */
static tbk_status_t compile(tbk_instance_t* self, int32_t device, const emit_job_t* job,
                            tbk_error_t* error) {
  emit_job_t apart = *job, move;
  cu_function function;
  cu_result result = CU_OK;
  tbk_status_t status = cuda_enter(self, device, error);
  if (status != TBK_OK) return status;
  cuda_device_t* state = &self->devices[device];
  status = find_by_hand(state, job->options, &function, &result, error);
  if (status == TBK_OK && result == CU_OK && emit_is_in_place_product(job)) {
    emit_set_apart(&apart, 0, &move);
    status = find_by_hand(state, move.options, &function, &result, error);
  }
  if (status == TBK_OK) return cuda_leave(self, device, result, "preparing", error);
  return cuda_leave_with(self, device, status, "preparing");
}

static driver_plans_t* plans_of(tbk_instance_t* self, pthread_mutex_t** out_lock) {
  *out_lock = &self->lock;
  return &self->plans;
}

const driver_compiler_t driver_compiler = {
    NULL, plans_of, compile, cuda_generic_compile, cuda_job_submit, cuda_generic_launch};

static const tbk_kernel_t* kernel_find(tbk_instance_t* self, int32_t device, const char* name,
                                       uint32_t version) {
  tbk_status_t status = cuda_enter(self, device, NULL);
  if (status == TBK_OK) status = cuda_leave(self, device, CU_OK, "finding a kernel", NULL);
  if (name == NULL || (status != TBK_OK && status != TBK_DEVICE_LOST)) return NULL;
  return driver_kernel_find(name, version);
}

const tbk_kernel_ops_t cuda_kernel_ops = {sizeof cuda_kernel_ops, kernel_find};

static tbk_status_t random_bits(tbk_instance_t* self, int32_t device,
                                const tbk_generator_t* generator, tbk_memory_t memory,
                                uint64_t offset, uint64_t count, tbk_stream_t* stream,
                                tbk_error_t* error) {
  if (generator == NULL || generator->offset % 4 != 0 || offset % 4 != 0)
    return cuda_fail(error, TBK_INVALID, "no generator, or an offset that is no multiple of 4");
  const emit_job_t job = emit_random(generator, memory, offset, count);
  return cuda_job_submit(self, device, &job, stream, error);
}

const tbk_random_ops_t cuda_random_ops = {sizeof cuda_random_ops, random_bits};
