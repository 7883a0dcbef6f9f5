/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel.c: the table of kernels, and their ways into the queues: at once, or prepared.
 */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>
#include <tbk/tbk_convolution.h>
#include <tbk/tbk_index.h>
#include <tbk/tbk_matmul.h>
#include <tbk/tbk_scan.h>
#include <tbk/tbk_sort.h>

typedef struct kernel {
  tbk_kernel_t table; /* first, so that a tbk_kernel_t of ours is one of these */
  const char* name;
  uint32_t version;
  size_t arguments_bytes;
  cpu_build_fn build;
} kernel_t;

struct tbk_plan {
  LIST_ENTRY(tbk_plan) entry;
  const kernel_t* kernel;
  uint64_t signature;
};

typedef struct job_work {
  vdev_work_t work;
  cpu_job_t job;
  void* workspace; /* ours; NULL where it is the caller's */
} job_work_t;

/* Returns a hash of what a plan is made for, and what a compiler would cache by: all but memory
 * and offsets. */
static uint64_t signature_of(const kernel_t* kernel, const cpu_job_t* job) {
  uint64_t hash = vdev_mix((uintptr_t)kernel ^ job->reduced);
  hash = vdev_mix(hash ^ job->shapes);
  for (int i = 0; i < job->operand_count; i++) {
    const cpu_view_t* view = &job->operands[i];
    hash = vdev_mix(hash ^ (uint64_t)view->dtype << 32 ^ (uint64_t)view->rank);
    for (int32_t d = 0; d < view->rank; d++) {
      hash = vdev_mix(hash ^ (uint64_t)view->sizes[d]);
      hash = vdev_mix(hash ^ (uint64_t)view->strides[d]);
    }
  }
  return hash;
}

/* The first launch of a shape takes as long as shape_ms says. */
static void compile(tbk_instance_t* self, uint64_t signature) {
  if (!self->options.shape_ms) return;
  bool seen = false;
  pthread_mutex_lock(&self->lock);
  for (size_t i = 0; i < self->shape_count && !seen; i++)
    seen = self->shapes[i] == signature;
  if (!seen) {
    uint64_t* more = realloc(self->shapes, (self->shape_count + 1) * sizeof *more);
    if (more) {
      self->shapes = more;
      self->shapes[self->shape_count++] = signature;
    }
  }
  pthread_mutex_unlock(&self->lock);
  if (!seen) vdev_sleep_us(self->options.shape_ms * 1000);
}

static tbk_status_t check(const kernel_t* kernel, const void* arguments, tbk_error_t* error) {
  size_t struct_size = 0;
  if (arguments) memcpy(&struct_size, arguments, sizeof struct_size);
  if (kernel && struct_size >= kernel->arguments_bytes) return TBK_OK;
  return cpu_fail(TBK_INVALID, error, "no kernel, no arguments, or their struct_size too small");
}

static void run(vdev_work_t* work) {
  const cpu_job_t* job = &((const job_work_t*)work)->job;
  job->compute(job);
}

static void free_job(cpu_job_t* job) {
  cpu_generic_free(job->generic);
  free(job->index);
  free(job->sort);
  free(job->convolution);
}

static void drop(vdev_work_t* work) {
  free(((job_work_t*)work)->workspace);
  free_job(&((job_work_t*)work)->job);
}

static job_work_t* new_job(tbk_instance_t* self) {
  job_work_t* work = vdev_work_new(sizeof *work, run);
  if (!work) return NULL;
  work->work.drop = drop;
  work->job.cache = &self->programs;
  return work;
}

/* Gives the job up, which never got into a queue. */
static tbk_status_t refuse(job_work_t* work, tbk_status_t status) {
  drop(&work->work);
  free(work);
  return status;
}

static tbk_status_t launch(tbk_instance_t* self, int32_t index, const tbk_kernel_t* table,
                           const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  const kernel_t* kernel = (const kernel_t*)table;
  tbk_status_t status = cpu_enter_stream(self, index, stream, error);
  if (status == TBK_OK) status = check(kernel, arguments, error);
  if (status != TBK_OK) return status;
  job_work_t* work = new_job(self);
  if (!work) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a launch");
  status = kernel->build(cpu_arena(self, index), arguments, &work->job, error);
  if (status != TBK_OK) return refuse(work, status);
  if (work->job.workspace_bytes) {
    work->workspace = aligned_alloc(64, (work->job.workspace_bytes + 63) / 64 * 64);
    if (!work->workspace)
      return refuse(work, cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a workspace"));
    work->job.workspace = work->workspace;
  }
  compile(self, signature_of(kernel, &work->job));
  return cpu_tell(vdev_submit(cpu_lane(stream), work), error);
}

static tbk_status_t prepare(tbk_instance_t* self, int32_t index, const tbk_kernel_t* table,
                            const void* arguments, tbk_plan_t** out_plan,
                            uint64_t* out_workspace_bytes, tbk_error_t* error) {
  const kernel_t* kernel = (const kernel_t*)table;
  tbk_status_t status = cpu_enter(self, index, error);
  if (status == TBK_OK) status = check(kernel, arguments, error);
  if (status != TBK_OK) return status;
  if (!out_plan || !out_workspace_bytes)
    return cpu_fail(TBK_INVALID, error, "out_plan or out_workspace_bytes is NULL");
  cpu_job_t job = {.cache = &self->programs};
  status = kernel->build(NULL, arguments, &job, error);
  free_job(&job);
  if (status != TBK_OK) return status;
  tbk_plan_t* plan = calloc(1, sizeof *plan);
  if (!plan) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a plan");
  plan->kernel = kernel;
  plan->signature = signature_of(kernel, &job);
  compile(self, plan->signature);
  pthread_mutex_lock(&self->lock);
  LIST_INSERT_HEAD(&self->plans, plan, entry);
  pthread_mutex_unlock(&self->lock);
  *out_plan = plan;
  *out_workspace_bytes = job.workspace_bytes;
  return TBK_OK;
}

static tbk_status_t launch_plan(tbk_instance_t* self, int32_t index, const tbk_plan_t* plan,
                                const void* arguments, tbk_memory_t workspace,
                                uint64_t workspace_offset, tbk_stream_t* stream,
                                tbk_error_t* error) {
  tbk_status_t status = cpu_enter_stream(self, index, stream, error);
  if (status == TBK_OK) status = check(plan ? plan->kernel : NULL, arguments, error);
  if (status != TBK_OK) return status;
  vdev_arena_t* arena = cpu_arena(self, index);
  job_work_t* work = new_job(self);
  if (!work) return cpu_fail(TBK_OUT_OF_MEMORY, error, "no host memory for a launch");
  status = plan->kernel->build(arena, arguments, &work->job, error);
  if (status != TBK_OK || signature_of(plan->kernel, &work->job) != plan->signature)
    return refuse(work, cpu_fail(TBK_INVALID, error, "not the arguments of the plan"));
  if (work->job.workspace_bytes) {
    work->job.workspace =
        vdev_arena_at(arena, workspace, workspace_offset, work->job.workspace_bytes);
    if (!work->job.workspace)
      return refuse(work, cpu_fail(TBK_INVALID, error, "the workspace is no memory"));
  }
  return cpu_tell(vdev_submit(cpu_lane(stream), work), error);
}

/* Work that is enqueued holds nothing of the plan. */
static void plan_destroy(tbk_instance_t* self, tbk_plan_t* plan) {
  if (!plan) return;
  pthread_mutex_lock(&self->lock);
  LIST_REMOVE(plan, entry);
  pthread_mutex_unlock(&self->lock);
  free(plan);
}

void cpu_plans_destroy_all(tbk_instance_t* self) {
  while (!LIST_EMPTY(&self->plans))
    plan_destroy(self, LIST_FIRST(&self->plans));
}

/* KERNEL(name of the operator's struct, build function): with a plan, or by launch alone. */
#define NAMES(name, build) \
  TBK_NAME_##name, TBK_VERSION_##name, sizeof(tbk_args_##name##_t), cpu_build_##build
#define KERNEL(name, build) \
  { {sizeof(tbk_kernel_t), launch, NULL, NULL, NULL}, NAMES(name, build) }
#define KERNEL_WITH_PLAN(name, build) \
  { {sizeof(tbk_kernel_t), launch, prepare, launch_plan, plan_destroy}, NAMES(name, build) }

static const kernel_t kernels[] = {
    KERNEL(fill__Scalar, fill),       KERNEL(copy_, copy),
    KERNEL(add_Tensor, add),          KERNEL(mul_Tensor, mul),
    KERNEL(where_self, where),        KERNEL_WITH_PLAN(sum_dim_IntList, sum),
    KERNEL_WITH_PLAN(mm, mm),         KERNEL_WITH_PLAN(pointwise, pointwise),
    KERNEL_WITH_PLAN(reduce, reduce), KERNEL_WITH_PLAN(index, index),
    KERNEL_WITH_PLAN(sort, sort),     KERNEL_WITH_PLAN(scan, scan),
    KERNEL_WITH_PLAN(matmul, matmul), KERNEL_WITH_PLAN(convolution, convolution),
};

static const tbk_kernel_t* kernel_find(tbk_instance_t* self, int32_t index, const char* name,
                                       uint32_t version) {
  tbk_status_t status = cpu_enter(self, index, NULL);
  if (!name || (status != TBK_OK && status != TBK_DEVICE_LOST)) return NULL;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (kernels[i].version == version && strcmp(kernels[i].name, name) == 0)
      return &kernels[i].table;
  return NULL;
}

const tbk_kernel_ops_t cpu_kernel_ops = {sizeof cpu_kernel_ops, kernel_find};
