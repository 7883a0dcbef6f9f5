/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * faulty_kernel.c: kernels of the backend behind, each with a face of ours in front of it.
 */
#include "faulty_state.h"

enum { KERNELS = 256 };

/* One for each kernel of the backend behind; never freed, found again by the kernel it stands for. */
typedef struct kernel_face {
  tbk_kernel_t table;
  _Atomic(const tbk_kernel_t*) inner;
} kernel_face_t;
static kernel_face_t faces[KERNELS];

static const tbk_kernel_t* behind(const tbk_kernel_t* kernel) {
  return atomic_load(&((const kernel_face_t*)kernel)->inner);
}

static tbk_status_t launch(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                           const void* arguments, tbk_stream_t* stream, tbk_error_t* error) {
  FAULTY_FATE(launch);
  return behind(kernel)->launch(self, device, behind(kernel), arguments, stream, error);
}
static tbk_status_t prepare(tbk_instance_t* self, int32_t device, const tbk_kernel_t* kernel,
                            const void* arguments, tbk_plan_t** out_plan, uint64_t* out_bytes,
                            tbk_error_t* error) {
  FAULTY_FATE(prepare);
  return faulty_counted(
      behind(kernel)->prepare(self, device, behind(kernel), arguments, out_plan, out_bytes, error),
      true, &faulty_plans, 1);
}

/* A plan does not say whose it is, and all kernels of the backends at hand share these two. */
static _Atomic(const tbk_kernel_t*) planner;

static tbk_status_t launch_plan(tbk_instance_t* self, int32_t device, const tbk_plan_t* plan,
                                const void* arguments, tbk_memory_t workspace, uint64_t offset,
                                tbk_stream_t* stream, tbk_error_t* error) {
  FAULTY_FATE(launch_plan);
  return atomic_load(&planner)->launch_plan(self, device, plan, arguments, workspace, offset,
                                            stream, error);
}
static void plan_destroy(tbk_instance_t* self, tbk_plan_t* plan) {
  if (plan != NULL) atomic_fetch_sub(&faulty_plans, 1);
  atomic_load(&planner)->plan_destroy(self, plan);
}

static const tbk_kernel_t* face_of(const tbk_kernel_t* inner) {
  for (int i = 0; i < KERNELS; ++i) {
    const tbk_kernel_t* none = NULL;
    kernel_face_t* face = &faces[i];
    if (atomic_compare_exchange_strong(&face->inner, &none, inner)) {
      face->table.struct_size = sizeof face->table;
      face->table.launch = launch;
      if (TBK_HAS(inner, tbk_kernel_t, prepare)) {
        face->table.prepare = prepare;
        face->table.launch_plan = launch_plan;
        face->table.plan_destroy = plan_destroy;
        atomic_store(&planner, inner);
      }
      return &face->table;
    }
    if (none == inner) return &face->table;
  }
  return NULL;
}

const tbk_kernel_t* faulty_kernel_find(tbk_instance_t* self, int32_t device, const char* name,
                                       uint32_t version) {
  const tbk_kernel_t* inner = faulty_inner->kernel->kernel_find(self, device, name, version);
  return inner == NULL ? NULL : face_of(inner);
}
