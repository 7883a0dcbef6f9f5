/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernels.c: the generic kernels, by a compiler that runs when a program is first met. tbk::emit checks the
 * arguments, and writes the source of each program once; compile, keep and launch are here. The compiler is the
 * host's: where a comment says "driver", call yours.
 */
#include "kernels.h"

#include <emit/generic.h>
#include <emit/object.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct kernel {
  tbk_kernel_t table; /* first, so that a tbk_kernel_t of ours is one of these */
  const emit_generic_t* generic;
} kernel_t;

/* driver: a kernel that is loaded. This one computes the groups [first, end). */
typedef void (*run_fn)(int64_t first, int64_t end, const int64_t* words, void* const* pointers);

/* ------------------------------------------------------------------------------------ compile -- */

typedef struct compiled {
  struct compiled* next;
  char name[EMIT_NAME_BYTES]; /* the same for whatever one code serves */
  run_fn run;                 /* NULL where the compiler refused */
  char reason[200];
} compiled_t;

/* What was compiled is kept until the process ends: it is the same for all instances and devices. A driver
 * whose code belongs to a context keeps it there. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static compiled_t* all_compiled;

/* driver: compile `source` and load it. */
static void compile(const char* source, compiled_t* out) {
  emit_object_t object;
  void* symbol = NULL;
  if (emit_object_compile(source, "", &object))
    symbol = emit_object_load(object.bytes, object.size, "run");
  memcpy(&out->run, &symbol, sizeof out->run);
  if (symbol == NULL)
    snprintf(out->reason, sizeof out->reason, "%s",
             object.log[0] != '\0' ? object.log : "what was compiled cannot be loaded");
  free(object.bytes);
}

/* Called with the lock. NULL where there is no memory. */
static compiled_t* add(const kernel_t* kernel, const void* arguments, const emit_launch_t* launch) {
  char* source = emit_generic_source(kernel->generic, arguments, launch, emit_c_prelude);
  compiled_t* added = source != NULL ? calloc(1, sizeof *added) : NULL;
  if (added != NULL) {
    memcpy(added->name, launch->name, sizeof added->name);
    compile(source, added);
    added->next = all_compiled;
    all_compiled = added;
  }
  free(source);
  return added;
}

static tbk_status_t find(const kernel_t* kernel, const void* arguments, const emit_launch_t* launch,
                         run_fn* out_run, tbk_error_t* error) {
  pthread_mutex_lock(&lock);
  compiled_t* found = all_compiled;
  while (found != NULL && strcmp(found->name, launch->name) != 0)
    found = found->next;
  if (found == NULL) found = add(kernel, arguments, launch);
  pthread_mutex_unlock(&lock);
  if (found == NULL) return emit_fail(error, TBK_OUT_OF_MEMORY, "no host memory for a kernel");
  *out_run = found->run;
  if (found->run != NULL) return TBK_OK;
  return emit_fail(error, TBK_UNSUPPORTED, "the kernel cannot be compiled: %s", found->reason);
}

/* ------------------------------------------------------------------------------------- launch -- */

/* driver: enqueue it on the stream; words and pointers are gone when this returns. */
static void start(run_fn run, const emit_launch_t* launch, void* workspace) {
  void* pointers[EMIT_POINTERS];
  for (int32_t i = 0; i < launch->pointer_count; i++)
    pointers[i] = (void*)(uintptr_t)launch->memory[i];
  if (launch->workspace != 0) pointers[launch->workspace] = workspace;
  run(0, launch->groups, launch->words, pointers);
}

/* driver: the order of the launches counts; allocate and free the workspace in it. */
static tbk_status_t start_each(const run_fn* runs, const emit_launch_t* launches, size_t count,
                               tbk_error_t* error) {
  const uint64_t bytes = emit_generic_workspace(launches, count);
  void* workspace = bytes > 0 ? malloc(bytes) : NULL;
  if (bytes > 0 && workspace == NULL)
    return emit_fail(error, TBK_OUT_OF_MEMORY, "no memory for a workspace");
  for (size_t i = 0; i < count; i++)
    start(runs[i], &launches[i], workspace);
  free(workspace);
  return TBK_OK;
}

/* All are compiled before the first begins, so that a refusal has no effect. */
static tbk_status_t start_all(const kernel_t* kernel, const void* arguments,
                              const emit_launch_t* launches, size_t count, bool begins,
                              tbk_error_t* error) {
  tbk_status_t status = TBK_OK;
  run_fn* runs = calloc(count + 1, sizeof *runs);
  if (runs == NULL) return emit_fail(error, TBK_OUT_OF_MEMORY, "no host memory for a launch");
  for (size_t i = 0; i < count && status == TBK_OK; i++)
    if (emit_generic_repeats(launches, i))
      runs[i] = runs[i - 1];
    else
      status = find(kernel, arguments, &launches[i], &runs[i], error);
  if (begins && status == TBK_OK) status = start_each(runs, launches, count, error);
  free(runs);
  return status;
}

/* Checks and compiles; and computes, where this is a launch. */
static tbk_status_t serve(tbk_instance_t* self, int32_t device, const tbk_kernel_t* table,
                          const void* arguments, bool is_launch, tbk_error_t* error) {
  const kernel_t* kernel = (const kernel_t*)table;
  const emit_limits_t limits = {is_launch, EMIT_WORDS}; /* driver: the parameters that it takes */
  emit_launch_t* launches = NULL;
  size_t count = 0;
  tbk_status_t status = template_enter(self, device, error);
  if (status == TBK_OK)
    status = emit_generic_launches(kernel != NULL ? kernel->generic : NULL, arguments, &limits,
                                   &launches, &count, error);
  if (status == TBK_OK) status = start_all(kernel, arguments, launches, count, is_launch, error);
  free(launches);
  return status;
}

static tbk_status_t launch(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                           const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  if (stream != NULL) return emit_fail(error, TBK_INVALID, "there are no streams");
  return serve(self, device, kernel, arguments, true, error);
}

/* ------------------------------------------------------------------------------------ prepare -- */

/* What a plan says is that all is compiled: a launch is made anew of the arguments each time. */
struct tbk_plan {
  const tbk_kernel_t* kernel;
};

static tbk_status_t prepare(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                            const void* arguments, tbk_plan_t** out_plan,
                            uint64_t* out_workspace_bytes, tbk_error_t* error) {
  tbk_status_t status = serve(self, device, kernel, arguments, false, error);
  if (status != TBK_OK) return status;
  if (out_plan == NULL || out_workspace_bytes == NULL)
    return emit_fail(error, TBK_INVALID, "out_plan or out_workspace_bytes is NULL");
  tbk_plan_t* plan = malloc(sizeof *plan);
  if (plan == NULL) return emit_fail(error, TBK_OUT_OF_MEMORY, "no host memory for a plan");
  plan->kernel = kernel;
  *out_plan = plan;
  *out_workspace_bytes = 0;
  return TBK_OK;
}

static tbk_status_t launch_plan(tbk_instance_t* self, int32_t device, const tbk_plan_t* plan,
                                const void* arguments, tbk_memory_t workspace,
                                uint64_t workspace_offset, tbk_stream_t* stream,
                                tbk_error_t* error) {
  (void)workspace, (void)workspace_offset; /* none was asked for */
  const tbk_kernel_t* kernel = plan != NULL ? plan->kernel : NULL;
  tbk_status_t status = launch(self, device, kernel, arguments, stream, error);
  if (status != TBK_UNSUPPORTED) return status;
  return emit_fail(error, TBK_INVALID, "not the arguments of the plan");
}

static void plan_destroy(tbk_instance_t* self, tbk_plan_t* plan) {
  (void)self;
  free(plan);
}

/* -------------------------------------------------------------------------------------- table -- */

#define KERNEL(generic) \
  { {sizeof(tbk_kernel_t), launch, prepare, launch_plan, plan_destroy}, &emit_##generic }

/* Add kernels of your own by the names in <tbk/tbk_operators.h>; they stand before these. */
static const kernel_t kernels[] = {
    KERNEL(pointwise), KERNEL(reduce), KERNEL(index),       KERNEL(sort),
    KERNEL(scan),      KERNEL(matmul), KERNEL(convolution),
};

static const tbk_kernel_t* kernel_find(tbk_instance_t* self, int32_t device, const char* name,
                                       uint32_t version) {
  if (name == NULL || template_enter(self, device, NULL) != TBK_OK) return NULL;
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (kernels[i].generic->version == version && strcmp(kernels[i].generic->name, name) == 0)
      return &kernels[i].table;
  return NULL;
}

const tbk_kernel_ops_t template_kernels = {sizeof template_kernels, kernel_find};
