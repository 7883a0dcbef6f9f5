/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel_matmul.c: the arguments of tbk::matmul, checked and made a job; a product for each place of the batch.
 */
#include <tbk/program.h>

#include "matmul.h"

enum { OUT, A, B, C, ALIGNMENT = 64 };

/* The dimensions of the batch that are left, and where each operand goes in them. */
typedef struct batch {
  int32_t rank;
  int64_t sizes[CPU_MAX_RANK], strides[CPU_OPERANDS_MOST][CPU_MAX_RANK];
} batch_t;

static cpu_plane_t plane(const cpu_view_t* view) {
  if (view->rank < 2) return (cpu_plane_t){0};
  return (cpu_plane_t){view->data, view->strides[view->rank - 2], view->strides[view->rank - 1]};
}

static batch_t batch_of(const cpu_job_t* job) {
  batch_t batch = {.rank = job->operands[OUT].rank - 2};
  for (int32_t d = 0; d < batch.rank; d++) {
    batch.sizes[d] = job->operands[OUT].sizes[d];
    for (int i = 0; i < job->operand_count; i++)
      batch.strides[i][d] = job->operands[i].strides[d];
  }
  return batch;
}

/* Whether the rows go on in the next matrix of the batch. */
static bool goes_on(const cpu_plane_t* plane, int64_t stride, int64_t m) {
  return m == 1 || stride == m * plane->row;
}

/* Matrices that are multiplied by one matrix are one with more rows. */
static void fold(batch_t* batch, cpu_product_t* p) {
  cpu_plane_t* const planes[] = {[OUT] = &p->out, [A] = &p->a, [C] = &p->c};
  for (; batch->rank > 0; batch->rank--) {
    const int32_t d = batch->rank - 1;
    const bool one = batch->sizes[d] == 1;
    if (!one && batch->strides[B][d] != 0) return;
    for (int i = OUT; i <= C; i++)
      if (!one && i != B && !goes_on(planes[i], batch->strides[i][d], p->m)) return;
    for (int i = OUT; i <= C && !one && p->m == 1; i++)
      if (i != B) planes[i]->row = batch->strides[i][d];
    p->m *= batch->sizes[d];
  }
}

static cpu_product_t product_of(const cpu_job_t* job, batch_t* batch) {
  const cpu_view_t *out = &job->operands[OUT], *a = &job->operands[A];
  cpu_product_t p = {.dtype = out->dtype,
                     .computed = cpu_summed_in(out->dtype),
                     .bytes = out->element_bytes,
                     .m = out->sizes[out->rank - 2],
                     .n = out->sizes[out->rank - 1],
                     .k = a->sizes[a->rank - 1],
                     .a = plane(a),
                     .b = plane(&job->operands[B]),
                     .c = plane(&job->operands[C]),
                     .out = plane(out),
                     .has_c = job->operand_count > C,
                     .alpha = job->scalar,
                     .beta = job->beta};
  *batch = batch_of(job);
  fold(batch, &p);
  cpu_product_plan(&p);
  return p;
}

/* Goes to the matrices of a place in the batch. */
static void seek(const cpu_job_t* job, const batch_t* batch, const int64_t* index,
                 cpu_product_t* p) {
  char** const data[] = {[OUT] = &p->out.data,
                         [A] = p->is_turned ? &p->b.data : &p->a.data,
                         [B] = p->is_turned ? &p->a.data : &p->b.data,
                         [C] = &p->c.data};
  for (int i = 0; i < job->operand_count; i++)
    for (int32_t d = 0; *data[i] && d < batch->rank; d++)
      *data[i] += index[d] * batch->strides[i][d];
}

static void compute(const cpu_job_t* job) {
  if (job->operands[OUT].count == 0) return;
  int64_t index[CPU_MAX_RANK] = {0};
  batch_t batch;
  const cpu_product_t p = product_of(job, &batch);
  char* workspace = job->workspace;
  if (workspace) workspace += -(uintptr_t)workspace % ALIGNMENT;
  do {
    cpu_product_t one = p;
    seek(job, &batch, index, &one);
    cpu_product_compute(&one, workspace);
  } while (cpu_next_index(index, batch.sizes, batch.rank));
}

tbk_status_t cpu_build_matmul(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                              tbk_error_t* error) {
  const tbk_args_matmul_t* args = arguments;
  tbk_status_t status = tbk_matmul_check(args, error);
  if (status == TBK_OK) status = cpu_add_output(arena, args->out, job, error);
  if (status == TBK_OK) status = cpu_add_operand(arena, args->a, job, error);
  if (status == TBK_OK) status = cpu_add_operand(arena, args->b, job, error);
  if (status == TBK_OK && args->c) status = cpu_add_operand(arena, args->c, job, error);
  if (status == TBK_OK) status = cpu_number_of(&args->alpha, &job->scalar, error);
  if (status == TBK_OK && args->c) status = cpu_number_of(&args->beta, &job->beta, error);
  if (status != TBK_OK) return status;
  batch_t batch;
  const cpu_product_t p = product_of(job, &batch);
  const uint64_t bytes = cpu_product_bytes(&p);
  job->compute = compute;
  job->workspace_bytes = bytes > 0 ? bytes + ALIGNMENT : 0;
  return TBK_OK;
}
