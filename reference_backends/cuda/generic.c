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

typedef struct launches {
  emit_launch_t* all;
  size_t count;
  cu_function* functions; /* of each */
} launches_t;

static void release(launches_t* launches) {
  free(launches->all);
  free(launches->functions);
}

/* `launches` is to be released. */
static tbk_status_t make(const emit_generic_t* generic, const void* arguments, bool is_bound,
                         launches_t* launches, tbk_error_t* error) {
  const emit_limits_t limits = {is_bound, EMIT_WORDS};
  memset(launches, 0, sizeof *launches);
  tbk_status_t status =
      emit_generic_launches(generic, arguments, &limits, &launches->all, &launches->count, error);
  if (status != TBK_OK) return status;
  launches->functions = calloc(launches->count + 1, sizeof(cu_function));
  if (launches->functions == NULL)
    return cuda_fail(error, TBK_OUT_OF_MEMORY, "no host memory for launches");
  for (size_t i = 0; i < launches->count; i++)
    if (launches->all[i].groups > INT32_MAX)
      return cuda_fail(error, TBK_UNSUPPORTED, "more than %d groups", INT32_MAX);
  return TBK_OK;
}

/* Called in the device's context. */
static tbk_status_t compile(cuda_device_t* device, const emit_generic_t* generic,
                            const void* arguments, launches_t* launches, cu_result* out_result,
                            tbk_error_t* error) {
  tbk_status_t status = TBK_OK;
  for (size_t i = 0; i < launches->count && status == TBK_OK && *out_result == CU_OK; i++) {
    const emit_launch_t* launch = &launches->all[i];
    const cuda_source_t source = {launch->name, generic, arguments, launch};
    if (emit_generic_repeats(launches->all, i))
      launches->functions[i] = launches->functions[i - 1];
    else
      status = cuda_program_find(device, &source, &launches->functions[i], out_result, error);
  }
  return status;
}

static cu_result start(cu_function function, emit_launch_t* launch, cu_stream queue) {
  cu_deviceptr pointers[EMIT_POINTERS];
  void* parameters[1 + EMIT_POINTERS] = {launch->words};
  if (launch->groups == 0) return CU_OK;
  for (int i = 0; i < launch->pointer_count; i++) {
    pointers[i] = launch->memory[i];
    parameters[1 + i] = &pointers[i];
  }
  return cuda_driver()->launch_kernel(function, (unsigned)launch->groups, 1, 1, EMIT_GROUP, 1, 1, 0,
                                      queue, parameters, NULL);
}

/* The workspace, where one is needed, is allocated and freed in the order of the queue. */
static cu_result start_all(cuda_device_t* device, launches_t* launches, cu_stream queue) {
  cu_deviceptr workspace = 0;
  cu_result result = CU_OK;
  const uint64_t workspace_bytes = emit_generic_workspace(launches->all, launches->count);
  if (workspace_bytes > 0) result = cuda_take(device, queue, workspace_bytes, &workspace);
  if (result != CU_OK) return result;
  for (size_t i = 0; i < launches->count && result == CU_OK; i++) {
    emit_launch_t* launch = &launches->all[i];
    if (launch->workspace != 0) launch->memory[launch->workspace] = workspace;
    result = start(launches->functions[i], launch, queue);
  }
  if (workspace_bytes == 0) return result;
  const cu_result freed = cuda_give(device, queue, workspace);
  return result == CU_OK ? freed : result;
}

static tbk_status_t run(tbk_instance_t* self, int32_t device, const emit_generic_t* generic,
                        const void* arguments, launches_t* launches, tbk_stream_t* stream,
                        tbk_error_t* error) {
  cu_stream queue;
  cu_result result = CU_OK;
  tbk_status_t status = cuda_begin(self, device, stream, &queue, error);
  if (status != TBK_OK) return status;
  status = compile(&self->devices[device], generic, arguments, launches, &result, error);
  if (status != TBK_OK) return cuda_leave_with(self, device, status, "launching");
  if (result == CU_OK) result = start_all(&self->devices[device], launches, queue);
  return cuda_end(self, device, stream, result, "launching a kernel", error);
}

tbk_status_t cuda_generic_launch(tbk_instance_t* self, int32_t device,
                                 const emit_generic_t* generic, const void* arguments,
                                 tbk_stream_t* stream, tbk_error_t* error) {
  launches_t launches;
  tbk_status_t status = make(generic, arguments, true, &launches, error);
  if (status == TBK_OK) status = run(self, device, generic, arguments, &launches, stream, error);
  release(&launches);
  return status;
}

static tbk_status_t compile_alone(tbk_instance_t* self, int32_t device,
                                  const emit_generic_t* generic, const void* arguments,
                                  launches_t* launches, tbk_error_t* error) {
  cu_result result = CU_OK;
  tbk_status_t status = cuda_enter(self, device, error);
  if (status != TBK_OK) return status;
  status = compile(&self->devices[device], generic, arguments, launches, &result, error);
  if (status != TBK_OK) return cuda_leave_with(self, device, status, "preparing");
  return cuda_leave(self, device, result, "preparing", error);
}

tbk_status_t cuda_generic_compile(tbk_instance_t* self, int32_t device,
                                  const emit_generic_t* generic, const void* arguments,
                                  tbk_error_t* error) {
  launches_t launches;
  tbk_status_t status = make(generic, arguments, false, &launches, error);
  if (status == TBK_OK) status = compile_alone(self, device, generic, arguments, &launches, error);
  release(&launches);
  return status;
}
