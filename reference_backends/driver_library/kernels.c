/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <driver/kernels.h>
#include <stdlib.h>
#include <string.h>

typedef struct kernel {
  tbk_kernel_t table;              /* first, so that a tbk_kernel_t of ours is one of these */
  const emit_operator_t* operator; /* by hand; NULL for a generic one */
  const emit_generic_t* generic;
} kernel_t;

struct tbk_plan {
  LIST_ENTRY(tbk_plan) entry;
  const kernel_t* kernel;
  emit_job_t job; /* of a kernel by hand, without memory */
};

static tbk_status_t check(tbk_instance_t* self, int32_t device, tbk_error_t* error) {
  return driver_compiler.check != NULL ? driver_compiler.check(self, device, error) : TBK_OK;
}

static tbk_status_t launch(tbk_instance_t* self, int32_t device, const tbk_kernel_t* table,
                           const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  emit_job_t job;
  const kernel_t* kernel = (const kernel_t*)table;
  tbk_status_t status = check(self, device, error);
  if (status != TBK_OK) return status;
  if (kernel != NULL && kernel->generic != NULL)
    return driver_compiler.launch_generic(self, device, kernel->generic, arguments, stream, error);
  status = emit_build(kernel != NULL ? kernel->operator: NULL, arguments, true, &job, error);
  return status == TBK_OK ? driver_compiler.launch(self, device, &job, stream, error) : status;
}

/* The job is one of a kernel by hand. */
static tbk_status_t compile(tbk_instance_t* self, int32_t device, const kernel_t* kernel,
                            const void* arguments, emit_job_t* job, tbk_error_t* error) {
  tbk_status_t status = check(self, device, error);
  if (status != TBK_OK) return status;
  if (kernel != NULL && kernel->generic != NULL)
    return driver_compiler.compile_generic(self, device, kernel->generic, arguments, error);
  status = emit_build(kernel != NULL ? kernel->operator: NULL, arguments, false, job, error);
  if (status != TBK_OK) return status;
  emit_strip(job);
  return driver_compiler.compile(self, device, job, error);
}

static tbk_status_t prepare(tbk_instance_t* self, int32_t device, const tbk_kernel_t* table,
                            const void* arguments, tbk_plan_t** out_plan,
                            uint64_t* out_workspace_bytes, tbk_error_t* error) {
  pthread_mutex_t* lock;
  emit_job_t job = {0};
  tbk_status_t status = compile(self, device, (const kernel_t*)table, arguments, &job, error);
  if (status != TBK_OK) return status;
  if (out_plan == NULL || out_workspace_bytes == NULL)
    return emit_fail(error, TBK_INVALID, "out_plan or out_workspace_bytes is NULL");
  tbk_plan_t* plan = calloc(1, sizeof *plan);
  if (plan == NULL) return emit_fail(error, TBK_OUT_OF_MEMORY, "no host memory for a plan");
  plan->kernel = (const kernel_t*)table;
  memcpy(&plan->job, &job, sizeof job); /* padding too: emit_fits compares bytes */
  driver_plans_t* plans = driver_compiler.plans(self, &lock);
  pthread_mutex_lock(lock);
  LIST_INSERT_HEAD(plans, plan, entry);
  pthread_mutex_unlock(lock);
  *out_plan = plan;
  *out_workspace_bytes = 0;
  return TBK_OK;
}

static tbk_status_t launch_plan(tbk_instance_t* self, int32_t device, const tbk_plan_t* plan,
                                const void* arguments, tbk_memory_t workspace,
                                uint64_t workspace_offset, tbk_stream_t* stream,
                                tbk_error_t* error) {
  (void)workspace, (void)workspace_offset; /* none was asked for */
  emit_job_t job;
  const kernel_t* kernel = plan != NULL ? plan->kernel : NULL;
  const bool is_generic = kernel != NULL && kernel->generic != NULL;
  tbk_status_t status = check(self, device, error);
  if (status != TBK_OK) return status;
  status = is_generic ? launch(self, device, &kernel->table, arguments, stream, error)
                      : emit_build(kernel != NULL ? kernel->operator: NULL, arguments, true, &job,
                                   error);
  const bool fits = status != TBK_OK || is_generic || emit_fits(&job, &plan->job);
  if (status == TBK_UNSUPPORTED || !fits)
    return emit_fail(error, TBK_INVALID, "not the arguments of the plan");
  if (status != TBK_OK || is_generic) return status;
  return driver_compiler.launch(self, device, &job, stream, error);
}

/* Work that is enqueued holds nothing of the plan. */
static void plan_destroy(tbk_instance_t* self, tbk_plan_t* plan) {
  pthread_mutex_t* lock;
  if (plan == NULL) return;
  (void)driver_compiler.plans(self, &lock);
  pthread_mutex_lock(lock);
  LIST_REMOVE(plan, entry);
  pthread_mutex_unlock(lock);
  free(plan);
}

void driver_plans_free(driver_plans_t* plans) {
  tbk_plan_t* plan;
  while ((plan = LIST_FIRST(plans)) != NULL) {
    LIST_REMOVE(plan, entry);
    free(plan);
  }
}

#define TABLE \
  { sizeof(tbk_kernel_t), launch, prepare, launch_plan, plan_destroy }
#define BY_HAND(name) \
  { TABLE, &emit_##name, NULL }
#define GENERIC(name) \
  { TABLE, NULL, &emit_##name }

static const kernel_t kernels[] = {
    BY_HAND(fill),      BY_HAND(copy),   BY_HAND(add),    BY_HAND(mul),         BY_HAND(where),
    BY_HAND(sum),       BY_HAND(mm),     GENERIC(scan),   GENERIC(sort),        GENERIC(index),
    GENERIC(pointwise), GENERIC(reduce), GENERIC(matmul), GENERIC(convolution),
};

const tbk_kernel_t* driver_kernel_find(const char* name, uint32_t version) {
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    const kernel_t* one = &kernels[i];
    const char* own = one->generic != NULL ? one->generic->name : one->operator->name;
    const uint32_t of = one->generic != NULL ? one->generic->version : one->operator->version;
    if (of == version && strcmp(own, name) == 0) return &one->table;
  }
  return NULL;
}
