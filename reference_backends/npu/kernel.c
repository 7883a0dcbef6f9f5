/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel.c: the table of kernels: at once, and those that are checked also planned.
 */
#include <stdlib.h>
#include <string.h>
#include <tbk/tbk_aten.h>

#include "operation.h"

struct tbk_plan {
  const npu_row_t* row;
  emit_job_t job; /* without memory */
  uint64_t workspace_bytes;
};

/* Makes a call of the arguments; memory is looked at where it is `bound`. The caller frees it, after errors too. */
static tbk_status_t begin(const npu_row_t* row, const void* arguments, bool bound,
                          npu_call_t** out_call, tbk_error_t* error) {
  npu_call_t* call = *out_call = calloc(1, sizeof *call);
  tbk_status_t status = TBK_OK;
  if (call == NULL) return npu_fail(error, TBK_OUT_OF_MEMORY, "no host memory");
  call->arguments = arguments;
  call->error = error;
  if (row != NULL && row->checked != NULL)
    status = emit_build(row->checked, arguments, bound, &call->job, error);
  else if (row == NULL || arguments == NULL || *(const size_t*)arguments < row->arguments_bytes)
    status = npu_fail(error, TBK_INVALID, "no kernel, or arguments of another version");
  return status == TBK_OK ? npu_read(call, row) : status;
}

/* Runs the call on the stream, or at once; with the caller's workspace, where there is any. */
static tbk_status_t submit(tbk_instance_t* self, int32_t device, npu_call_t* call,
                           npu_place_t place, tbk_stream_t* stream, tbk_error_t* error) {
  npu_entry_t entry;
  const char* name = npu_aclnn_row(call->function)->name;
  tbk_status_t status = npu_enter_with(self, device, stream, &entry, error);
  if (status != TBK_OK) return status;
  npu_queue_t* queue = stream != NULL ? &stream->queue : &self->devices[device].internal;
  place.queue = queue;
  pthread_mutex_lock(&queue->lock);
  status = npu_run(call, &place);
  pthread_mutex_unlock(&queue->lock);
  acl_result result = status == TBK_DEVICE_LOST ? ACL_INTERNAL : ACL_OK; /* leaving remembers it */
  if (status == TBK_OK && stream == NULL)
    result = npu_acl()->stream_synchronize(queue->handle.native);
  tbk_status_t left =
      npu_leave(self, device, &entry, result, name, status == TBK_OK ? error : NULL);
  return status != TBK_OK ? status : left;
}

static tbk_status_t launch(tbk_instance_t* self, int32_t device, const tbk_kernel_t* table,
                           const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  npu_call_t* call;
  tbk_status_t status = begin((const npu_row_t*)table, arguments, true, &call, error);
  if (status == TBK_OK) status = submit(self, device, call, (npu_place_t){NULL}, stream, error);
  free(call);
  return status;
}

static tbk_status_t ask(tbk_instance_t* self, int32_t device, npu_call_t* call, uint64_t* out_bytes,
                        tbk_error_t* error) {
  npu_entry_t entry;
  tbk_status_t status = npu_enter(self, device, &entry, error);
  if (status != TBK_OK) return status;
  status = npu_probe(call, out_bytes);
  tbk_error_t* why = status == TBK_OK ? error : NULL;
  tbk_status_t left = npu_leave(self, device, &entry, ACL_OK, "preparing", why);
  return status != TBK_OK ? status : left;
}

static tbk_status_t prepare(tbk_instance_t* self, int32_t device, const tbk_kernel_t* table,
                            const void* arguments, tbk_plan_t** out_plan,
                            uint64_t* out_workspace_bytes, tbk_error_t* error) {
  npu_call_t* call;
  uint64_t bytes = 0;
  tbk_plan_t* plan = NULL;
  tbk_status_t status = begin((const npu_row_t*)table, arguments, false, &call, error);
  if (status == TBK_OK && (out_plan == NULL || out_workspace_bytes == NULL))
    status = npu_fail(error, TBK_INVALID, "out_plan or out_workspace_bytes is NULL");
  if (status == TBK_OK) status = ask(self, device, call, &bytes, error);
  if (status == TBK_OK && (plan = calloc(1, sizeof *plan)) == NULL)
    status = npu_fail(error, TBK_OUT_OF_MEMORY, "no host memory for a plan");
  if (status == TBK_OK) {
    *plan = (tbk_plan_t){(const npu_row_t*)table, call->job, bytes};
    emit_strip(&plan->job);
    *out_plan = plan;
    *out_workspace_bytes = bytes;
  }
  free(call);
  return status;
}

/* An executor of its own for each launch: one that is shared would have to be bound anew under a lock, and an
 * offset cannot be bound at all. */
static tbk_status_t launch_plan(tbk_instance_t* self, int32_t device, const tbk_plan_t* plan,
                                const void* arguments, tbk_memory_t workspace,
                                uint64_t workspace_offset, tbk_stream_t* stream,
                                tbk_error_t* error) {
  npu_call_t* call;
  npu_place_t place = {NULL};
  tbk_status_t status = begin(plan != NULL ? plan->row : NULL, arguments, true, &call, error);
  if (status == TBK_UNSUPPORTED || (status == TBK_OK && !emit_fits(&call->job, &plan->job)))
    status = npu_fail(error, TBK_INVALID, "not the arguments of the plan");
  if (status == TBK_OK && plan->workspace_bytes > 0) {
    const uint64_t begin = npu_aligned(workspace + workspace_offset);
    place.given = (void*)(uintptr_t)begin;
    place.given_bytes = plan->workspace_bytes - (begin - workspace - workspace_offset);
  }
  if (status == TBK_OK) status = submit(self, device, call, place, stream, error);
  free(call);
  return status == TBK_UNSUPPORTED ? TBK_FAILED : status; /* what was planned is not refused */
}

/* Work that is enqueued holds nothing of the plan. */
static void plan_destroy(tbk_instance_t* self, tbk_plan_t* plan) {
  (void)self;
  free(plan);
}

/* Dtypes of the first tensor; and the most overloads that one function serves. */
enum {
  FLOATS = 1 << TBK_FLOAT16 | 1 << TBK_BFLOAT16 | 1 << TBK_FLOAT32 | 1 << TBK_FLOAT64,
  INTEGERS = 1 << TBK_UINT8 | 1 << TBK_INT8 | 1 << TBK_INT16 | 1 << TBK_INT32 | 1 << TBK_INT64,
  WHOLE = INTEGERS | 1 << TBK_BOOL,
  NUMBERS = FLOATS | INTEGERS,
  ALL = NUMBERS | WHOLE,
  MOST_OVERLOADS = 3,
  PRODUCTS = 1 << TBK_FLOAT16 | 1 << TBK_BFLOAT16 | 1 << TBK_FLOAT32, /* as for Mm */
};

#define ROW(overload, recipe, dtypes, checked, ...)                      \
  {{.struct_size = sizeof(tbk_kernel_t), .launch = launch, __VA_ARGS__}, \
   TBK_NAME_##overload,                                                  \
   TBK_VERSION_##overload,                                               \
   sizeof(tbk_args_##overload##_t),                                      \
   recipe,                                                               \
   dtypes,                                                               \
   checked},
#define RECIPE(overload, dtypes, recipe) ROW(overload, recipe, dtypes, NULL, .prepare = NULL)
#define OVERLOAD(overload, dtypes) RECIPE(overload, dtypes, NULL)
#define CHECKED(overload, recipe, rules)                                                  \
  ROW(overload, recipe, 0, &emit_##rules, .prepare = prepare, .launch_plan = launch_plan, \
      .plan_destroy = plan_destroy)

static const npu_row_t rows[ACLNN_FUNCTIONS][MOST_OVERLOADS] = {
#define ACLNN(name, signature, arguments, page, meaning, overloads) {overloads},
#include "aclnn.def"
#undef ACLNN
};

aclnn_function_t npu_function_of(const npu_row_t* row) {
  return (aclnn_function_t)((row - rows[0]) / MOST_OVERLOADS);
}

static const npu_row_t* find(const char* name, uint32_t version) {
  const npu_row_t* end = rows[0] + (size_t)ACLNN_FUNCTIONS * MOST_OVERLOADS;
  for (const npu_row_t* row = rows[0]; row < end && npu_nn() != NULL; row++)
    if (row->name != NULL && strcmp(row->name, name) == 0 && row->version == version &&
        npu_recipe_fits(row))
      return npu_aclnn(npu_function_of(row)).issue != NULL ? row : NULL;
  return NULL;
}

static const tbk_kernel_t* kernel_find(tbk_instance_t* self, int32_t device, const char* name,
                                       uint32_t version) {
  npu_entry_t entry;
  tbk_status_t status = npu_enter(self, device, &entry, NULL);
  if (status == TBK_OK) status = npu_leave(self, device, &entry, ACL_OK, "finding a kernel", NULL);
  if (name == NULL || (status != TBK_OK && status != TBK_DEVICE_LOST)) return NULL;
  const npu_row_t* row = find(name, version);
  return row != NULL ? &row->table : NULL;
}

const tbk_kernel_ops_t npu_kernel_ops = {sizeof npu_kernel_ops, kernel_find};
