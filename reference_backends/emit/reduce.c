/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * reduce.c: operators that sum: sum and mm.
 */
#include <stdio.h>

#include "inside.h"

enum {
  GROUP_FROM = 256, /* summands, from which on a group shares them */
  TILE = 8          /* a group makes 8 by 8 elements of a product */
};

static tbk_status_t find_reduced(const tbk_int_list_t* dim, int32_t rank, uint32_t* out_reduced,
                                 tbk_error_t* error) {
  *out_reduced = (UINT32_C(1) << rank) - 1;
  if (dim == NULL || dim->count == 0) return TBK_OK;
  const int64_t limit = rank ? rank : 1;
  uint32_t reduced = 0;
  for (size_t i = 0; i < dim->count; i++) {
    const int64_t d = dim->items[i] < 0 ? dim->items[i] + limit : dim->items[i];
    if (d < 0 || d >= limit || (reduced >> d & 1))
      return emit_fail(error, TBK_UNSUPPORTED, "dim is out of range, or named twice");
    reduced |= UINT32_C(1) << d;
  }
  if (rank > 0) *out_reduced = reduced;
  return TBK_OK;
}

static tbk_status_t want_sum_dtypes(const emit_job_t* job, const int64_t* dtype,
                                    tbk_error_t* error) {
  const int32_t out = job->operands[0].dtype, in = job->operands[1].dtype;
  const bool widens = out == TBK_INT64 && tbk_dtype_kind(in) == TBK_KIND_INTEGER;
  if ((in == out || widens) && (dtype == NULL || *dtype == out)) return TBK_OK;
  return emit_fail(error, TBK_UNSUPPORTED, "a sum of dtype %d into dtype %d", in, out);
}

/* Sorts the input's dimensions into kept ones, with the output's strides, and those summed over;
 * false where the output has not the sizes of the sum. */
static bool sort_dimensions(emit_job_t* job, uint32_t reduced, bool keepdim) {
  const emit_view_t *out = &job->operands[0], *in = &job->operands[1];
  emit_shape_t* shape = &job->shape;
  int32_t next = 0;
  shape->inner = 1;
  for (int32_t d = 0; d < in->rank; d++) {
    const bool summed = reduced >> d & 1;
    if (summed) {
      shape->inner *= in->sizes[d];
      shape->inner_sizes[shape->inner_rank] = in->sizes[d];
      shape->inner_strides[shape->inner_rank++] = in->strides[d];
      if (!keepdim) continue;
    }
    if (next >= out->rank || out->sizes[next] != (summed ? 1 : in->sizes[d])) return false;
    if (!summed) {
      shape->sizes[shape->rank] = in->sizes[d];
      shape->strides[0][shape->rank] = out->strides[next];
      shape->strides[1][shape->rank++] = in->strides[d];
    }
    next++;
  }
  return next == out->rank;
}

static tbk_status_t build_sum(const void* arguments, bool bound, emit_job_t* job,
                              tbk_error_t* error) {
  const tbk_args_sum_dim_IntList_t* args = arguments;
  emit_shape_t* shape = &job->shape;
  uint32_t reduced = 0;
  tbk_status_t status = emit_add_output(args->out, bound, job, error);
  if (status == TBK_OK) status = emit_add_operand(args->self, bound, job, error);
  if (status == TBK_OK) status = want_sum_dtypes(job, args->dtype, error);
  if (status == TBK_OK) status = find_reduced(args->dim, job->operands[1].rank, &reduced, error);
  if (status != TBK_OK) return status;
  if (!sort_dimensions(job, reduced, args->keepdim != 0))
    return emit_fail(error, TBK_UNSUPPORTED, "the output has not the sizes of the sum");
  emit_fold(&shape->rank, shape->sizes, shape->strides, 2);
  emit_fold(&shape->inner_rank, shape->inner_sizes, &shape->inner_strides, 1);
  shape->count = job->operands[0].count;
  shape->offsets[0] = job->operands[0].offset;
  shape->offsets[1] = job->operands[1].offset;
  const bool shared = shape->inner >= GROUP_FROM;
  const int32_t out = job->operands[0].dtype, in = job->operands[1].dtype;
  snprintf(job->options, sizeof job->options, "-DSUM_%s -DOUT=%d -DIN=%d",
           shared ? "GROUP" : "EACH", out, in);
  job->groups = shared ? shape->count : emit_groups(shape->count);
  emit_set_no_scalar(job);
  return TBK_OK;
}

static tbk_status_t build_mm(const void* arguments, bool bound, emit_job_t* job,
                             tbk_error_t* error) {
  const tbk_args_mm_t* args = arguments;
  tbk_status_t status = emit_add_output(args->out, bound, job, error);
  if (status == TBK_OK) status = emit_add_operand(args->self, bound, job, error);
  if (status == TBK_OK) status = emit_add_operand(args->mat2, bound, job, error);
  if (status != TBK_OK) return status;
  const emit_view_t *c = &job->operands[0], *a = c + 1, *b = c + 2;
  if (c->rank != 2 || a->rank != 2 || b->rank != 2 || a->sizes[1] != b->sizes[0] ||
      c->sizes[0] != a->sizes[0] || c->sizes[1] != b->sizes[1])
    return emit_fail(error, TBK_UNSUPPORTED, "not two matrices and their product");
  status = emit_want_dtype(a, c->dtype, error);
  if (status == TBK_OK) status = emit_want_dtype(b, c->dtype, error);
  if (status != TBK_OK) return status;
  emit_set_arithmetic(job, "MM"); /* and then as a matrix, not folded */
  emit_set_no_scalar(job);
  job->shape.rank = 2;
  job->shape.inner = a->sizes[1];
  for (int i = 0; i < 2; i++) {
    job->shape.sizes[i] = c->sizes[i];
    for (int k = 0; k < 3; k++)
      job->shape.strides[k][i] = job->operands[k].strides[i];
  }
  job->groups = ((c->sizes[0] + TILE - 1) / TILE) * ((c->sizes[1] + TILE - 1) / TILE);
  return TBK_OK;
}

const emit_operator_t emit_sum = {TBK_NAME_sum_dim_IntList, TBK_VERSION_sum_dim_IntList,
                                  sizeof(tbk_args_sum_dim_IntList_t), build_sum};
const emit_operator_t emit_mm = {TBK_NAME_mm, TBK_VERSION_mm, sizeof(tbk_args_mm_t), build_mm};
