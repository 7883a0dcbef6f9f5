/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel.c: the table of kernels: at once, or planned.
 */
#include <stdlib.h>
#include <string.h>

#include "named.h"

enum { WORKSPACE_ALIGNMENT = 512 };

typedef struct kernel {
  tbk_kernel_t table; /* first, so that a tbk_kernel_t of ours is one of these */
  const npu_operator_t* operator;
} kernel_t;

struct tbk_plan {
  const kernel_t* kernel;
  emit_job_t job; /* without memory */
  uint64_t workspace_bytes;
};

/* Where a launch runs, and on what. */
typedef struct launch {
  const npu_operator_t* operator;
  const void* arguments;
  emit_job_t job;
  npu_queue_t* queue;
  void* given; /* workspace of the caller */
  uint64_t given_bytes;
} launch_t;

uint64_t npu_aligned(uint64_t bytes) {
  return (bytes + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
}

/* The bytes between an operand's first element and its last. */
static void reach(const emit_view_t* view, uint64_t* out_begin, uint64_t* out_end) {
  int64_t low = view->offset, high = view->offset + 1;
  for (int32_t i = 0; i < view->rank; i++) {
    const int64_t far = (view->sizes[i] - 1) * view->strides[i];
    low += far < 0 ? far : 0;
    high += far > 0 ? far : 0;
  }
  *out_begin = view->memory + (uint64_t)(low * view->element_bytes);
  *out_end = view->memory + (uint64_t)(high * view->element_bytes);
}

bool npu_overlap(const emit_view_t* one, const emit_view_t* other) {
  uint64_t begin, end, other_begin, other_end;
  reach(one, &begin, &end);
  reach(other, &other_begin, &other_end);
  return begin < other_end && other_begin < end;
}

/* Whether the output may share bytes with an input: aclnn says of no operator that it may. */
static bool is_in_place(const emit_job_t* job) {
  for (int i = 1; i < job->operand_count; i++)
    if (job->operands[i].count > 0 && npu_overlap(&job->operands[0], &job->operands[i]))
      return true;
  return false;
}

emit_view_t npu_contiguous(const emit_view_t* like, void* memory) {
  emit_view_t view = *like;
  int64_t stride = 1;
  view.memory = (uintptr_t)memory;
  view.offset = 0;
  for (int32_t i = view.rank - 1; i >= 0; i--) {
    view.strides[i] = stride;
    stride *= view.sizes[i];
  }
  return view;
}

/* The sum of nothing is 0, and aclnn is not asked for it; else NULL where there is nothing to do. */
static const npu_operator_t* what_runs(const npu_operator_t* operator, emit_job_t * job) {
  if (job->operands[0].count == 0) return NULL;
  const bool sums = operator->checked == & emit_sum || operator->checked == & emit_mm;
  if (!sums || job->shape.inner != 0) return operator;
  job->operand_count = 1;
  return &npu_zero;
}

tbk_status_t npu_reserve(npu_queue_t* queue, uint64_t bytes, void** out_memory,
                         tbk_error_t* error) {
  char text[200];
  acl_result result = npu_workspace_reserve(queue, bytes, out_memory);
  if (result == ACL_OK) return TBK_OK;
  npu_describe(result, text, sizeof text);
  return npu_fail(error, npu_translate(result), "workspace of %llu bytes: %s",
                  (unsigned long long)bytes, text);
}

/* Both phases, with the caller's workspace where that is large enough, else with the queue's behind `used`.
 * A refusal comes before anything is issued. */
static acl_result run_one(launch_t* launch, const npu_operator_t* operator, const emit_job_t* job,
                          uint64_t used, tbk_status_t* out_status, tbk_error_t* error) {
  npu_step_t step;
  void* memory = NULL;
  *out_status = npu_plan(operator, launch->arguments, job, &step, error);
  if (*out_status != TBK_OK) return ACL_OK;
  if (step.workspace_bytes <= launch->given_bytes) {
    memory = launch->given;
  } else {
    *out_status = npu_reserve(launch->queue, used + step.workspace_bytes, &memory, error);
    memory = (char*)memory + used;
  }
  if (*out_status == TBK_OK) return npu_issue(&step, memory, launch->queue->native);
  npu_drop(&step);
  return ACL_OK;
}

/* Computes into memory of the queue, and copies from there in the order of the stream. Where the copy is
 * refused, nothing was written but that memory. */
static acl_result run_apart(launch_t* launch, tbk_status_t* out_status, tbk_error_t* error) {
  void* memory = NULL;
  emit_job_t apart = launch->job, back = {.operand_count = 2};
  const emit_view_t* out = &launch->job.operands[0];
  const uint64_t bytes = npu_aligned((uint64_t)(out->count * out->element_bytes));
  *out_status = npu_reserve(launch->queue, bytes, &memory, error);
  if (*out_status != TBK_OK) return ACL_OK;
  back.operands[0] = *out;
  back.operands[1] = apart.operands[0] = npu_contiguous(out, memory);
  acl_result result = run_one(launch, launch->operator, & apart, bytes, out_status, error);
  launch->given_bytes = 0; /* in use from now on */
  if (result != ACL_OK || *out_status != TBK_OK) return result;
  return run_one(launch, &npu_operators[NPU_COPY], &back, bytes, out_status, error);
}

/* Whether it copies a tensor to itself. */
static bool is_copy_to_itself(const emit_job_t* job) {
  const emit_view_t *out = &job->operands[0], *in = &job->operands[1];
  return out->memory == in->memory && out->offset == in->offset && out->dtype == in->dtype &&
         memcmp(out->strides, in->strides, sizeof out->strides) == 0;
}

static acl_result run(launch_t* launch, tbk_status_t* out_status, tbk_error_t* error) {
  const npu_operator_t* runs = what_runs(launch->operator, & launch->job);
  *out_status = TBK_OK;
  if (runs == NULL) return ACL_OK;
  if (!is_in_place(&launch->job)) return run_one(launch, runs, &launch->job, 0, out_status, error);
  if (runs->checked == &emit_copy && is_copy_to_itself(&launch->job)) return ACL_OK;
  return run_apart(launch, out_status, error);
}

static tbk_status_t submit(tbk_instance_t* self, int32_t device, launch_t* launch,
                           tbk_stream_t* stream, tbk_error_t* error) {
  npu_entry_t entry;
  tbk_status_t status = npu_enter_with(self, device, stream, &entry, error);
  if (status != TBK_OK) return status;
  npu_queue_t* queue = stream != NULL ? &stream->queue : &self->devices[device].internal;
  launch->queue = queue;
  pthread_mutex_lock(&queue->lock);
  acl_result result = run(launch, &status, error);
  pthread_mutex_unlock(&queue->lock);
  if (status == TBK_OK && result == ACL_OK && stream == NULL)
    result = npu_acl()->stream_synchronize(queue->native);
  const bool told = status != TBK_OK; /* and then nothing was issued that could have failed */
  if (status == TBK_DEVICE_LOST) result = ACL_INTERNAL; /* which leaving remembers */
  tbk_status_t left =
      npu_leave(self, device, &entry, result, launch->operator->symbol, told ? NULL : error);
  return told ? status : left;
}

static tbk_status_t launch(tbk_instance_t* self, int32_t device, const tbk_kernel_t* table,
                           const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  const npu_operator_t* operator= table ? ((const kernel_t*)table)->operator: NULL;
  launch_t launched = {.operator= operator, .arguments = arguments };
  tbk_status_t status =
      emit_build(operator ? operator->checked : NULL, arguments, true, &launched.job, error);
  return status == TBK_OK ? submit(self, device, &launched, stream, error) : status;
}

/* What phase one wants for these shapes; the caller's memory may begin anywhere. */
static tbk_status_t ask(tbk_instance_t* self, int32_t device, const npu_operator_t* operator,
                        const void* arguments, const emit_job_t* job, uint64_t* out_bytes,
                        tbk_error_t* error) {
  npu_entry_t entry;
  uint64_t bytes = 0;
  emit_job_t asked = *job;
  tbk_status_t status = npu_enter(self, device, &entry, error);
  if (status != TBK_OK) return status;
  const npu_operator_t* runs = what_runs(operator, & asked);
  if (runs != NULL) status = npu_probe(runs, arguments, &asked, &bytes, error);
  tbk_status_t left = npu_leave(self, device, &entry, ACL_OK, "preparing", NULL);
  *out_bytes = bytes > 0 ? bytes + WORKSPACE_ALIGNMENT : 0;
  return status != TBK_OK ? status : left;
}

static tbk_status_t prepare(tbk_instance_t* self, int32_t device, const tbk_kernel_t* table,
                            const void* arguments, tbk_plan_t** out_plan,
                            uint64_t* out_workspace_bytes, tbk_error_t* error) {
  const kernel_t* kernel = (const kernel_t*)table;
  emit_job_t job;
  uint64_t bytes = 0;
  tbk_status_t status = emit_build(kernel ? kernel->operator->checked : NULL, arguments, false,
                                   &job, error);
  if (status != TBK_OK) return status;
  if (out_plan == NULL || out_workspace_bytes == NULL)
    return npu_fail(error, TBK_INVALID, "out_plan or out_workspace_bytes is NULL");
  emit_strip(&job);
  status = ask(self, device, kernel->operator, arguments, &job, &bytes, error);
  if (status != TBK_OK) return status;
  tbk_plan_t* plan = calloc(1, sizeof *plan);
  if (plan == NULL) return npu_fail(error, TBK_OUT_OF_MEMORY, "no host memory for a plan");
  *plan = (tbk_plan_t){.kernel = kernel, .job = job, .workspace_bytes = bytes};
  *out_plan = plan;
  *out_workspace_bytes = bytes;
  return TBK_OK;
}

/* An executor of its own for each launch: one that is shared would have to be bound anew under a lock, and an
 * offset cannot be bound at all. */
static tbk_status_t launch_plan(tbk_instance_t* self, int32_t device, const tbk_plan_t* plan,
                                const void* arguments, tbk_memory_t workspace,
                                uint64_t workspace_offset, tbk_stream_t* stream,
                                tbk_error_t* error) {
  const npu_operator_t* operator= plan ? plan->kernel->operator: NULL;
  launch_t launched = {.operator= operator, .arguments = arguments };
  tbk_status_t status =
      emit_build(operator ? operator->checked : NULL, arguments, true, &launched.job, error);
  if (status != TBK_OK && status != TBK_UNSUPPORTED) return status;
  if (status == TBK_UNSUPPORTED || !emit_fits(&launched.job, &plan->job))
    return npu_fail(error, TBK_INVALID, "not the arguments of the plan");
  if (plan->workspace_bytes > 0) {
    const uint64_t begin = npu_aligned(workspace + workspace_offset);
    launched.given = (void*)(uintptr_t)begin;
    launched.given_bytes = plan->workspace_bytes - (begin - workspace - workspace_offset);
  }
  status = submit(self, device, &launched, stream, error);
  return status == TBK_UNSUPPORTED ? TBK_FAILED : status; /* what was planned is not refused */
}

/* Work that is enqueued holds nothing of the plan. */
static void plan_destroy(tbk_instance_t* self, tbk_plan_t* plan) {
  (void)self;
  free(plan);
}

#define KERNEL(index) \
  { {sizeof(tbk_kernel_t), launch, prepare, launch_plan, plan_destroy}, &npu_operators[index] }

static const kernel_t kernels[NPU_OPERATORS] = {KERNEL(0), KERNEL(1), KERNEL(2), KERNEL(3),
                                                KERNEL(4), KERNEL(5), KERNEL(6)};

static const tbk_kernel_t* kernel_find(tbk_instance_t* self, int32_t device, const char* name,
                                       uint32_t version) {
  npu_entry_t entry;
  tbk_status_t status = npu_enter(self, device, &entry, NULL);
  if (status == TBK_OK) status = npu_leave(self, device, &entry, ACL_OK, "finding a kernel", NULL);
  if (name == NULL || (status != TBK_OK && status != TBK_DEVICE_LOST)) return NULL;
  for (size_t i = 0; i < NPU_OPERATORS; i++) {
    const emit_operator_t* checked = kernels[i].operator->checked;
    if (checked->version == version && strcmp(checked->name, name) == 0)
      return npu_is_offered(kernels[i].operator) ? &kernels[i].table : NULL;
  }
  return npu_named_find(name, version);
}

const tbk_kernel_ops_t npu_kernel_ops = {sizeof npu_kernel_ops, kernel_find};
