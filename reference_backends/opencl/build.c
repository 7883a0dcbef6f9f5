/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * build.c: the operators' arguments, checked and made into jobs.
 */
#include <stdio.h>
#include <string.h>

#include "job.h"

enum { GROUP_FROM = 256 /* summands, from which on a work-group shares them */ };

static void set_range(opencl_job_t* job, int64_t items) {
  const size_t groups = ((size_t)items + OPENCL_WORK_GROUP - 1) / OPENCL_WORK_GROUP;
  job->dimensions = 1;
  job->global[0] = groups * OPENCL_WORK_GROUP;
  job->local[0] = OPENCL_WORK_GROUP;
}

/* One item for each element of the output. */
static void set_elementwise(opencl_job_t* job) {
  const opencl_view_t* out = &job->operands[0];
  opencl_shape_t* shape = &job->shape;
  shape->count = out->count;
  shape->rank = out->rank;
  memcpy(shape->sizes, out->sizes, sizeof shape->sizes);
  for (int k = 0; k < job->operand_count; k++) {
    shape->offsets[k] = job->operands[k].offset;
    memcpy(shape->strides[k], job->operands[k].strides, sizeof shape->strides[k]);
  }
  opencl_fold(&shape->rank, shape->sizes, shape->strides, job->operand_count);
  set_range(job, shape->count);
}

/* How kernels.cl stores elements, by dtype; and what is only moved, by the logarithm of its bytes. */
static const char* const types[] = {"uchar", "char",   "short", "int",    "long",    "ushort",
                                    "float", "double", NULL,    "float2", "double2", "uchar",
                                    NULL,    NULL,     NULL,    "ushort"};
static const char* const raw_types[] = {"uchar", "ushort", "uint", "ulong", "ulong2"};

static void set_raw(opencl_job_t* job, const char* name) {
  const opencl_view_t* out = &job->operands[0];
  snprintf(job->options, sizeof job->options, "-D%s -DSTORED=%s", name,
           raw_types[__builtin_ctz((unsigned)out->element_bytes)]);
  job->scalar_bytes = (size_t)out->element_bytes;
  set_elementwise(job);
}

static void set_arithmetic(opencl_job_t* job, const char* name) {
  const int32_t dtype = job->operands[0].dtype;
  snprintf(job->options, sizeof job->options, "-D%s -DOUT=%d -DSTORED=%s", name, dtype,
           types[dtype]);
  set_elementwise(job);
}

/* Every elementwise kernel takes one, whether it uses it or not. */
static void set_no_scalar(opencl_job_t* job) {
  const tbk_scalar_t none = {.kind = TBK_SCALAR_INT};
  job->scalar_bytes = opencl_scalar_computed(&none, job->operands[0].dtype, job->scalar);
}

tbk_status_t opencl_build_fill(const void* arguments, bool bound, opencl_job_t* job,
                               tbk_error_t* error) {
  const tbk_args_fill__Scalar_t* args = arguments;
  tbk_status_t status = opencl_add_output(args->self, bound, job, error);
  if (status != TBK_OK) return status;
  if (!opencl_scalar_element(&args->value, job->operands[0].dtype, job->scalar))
    return opencl_fail(error, TBK_UNSUPPORTED, "a complex value for dtype %d",
                       job->operands[0].dtype);
  set_raw(job, "FILL");
  return TBK_OK;
}

tbk_status_t opencl_build_copy(const void* arguments, bool bound, opencl_job_t* job,
                               tbk_error_t* error) {
  const tbk_args_copy__t* args = arguments;
  tbk_status_t status = opencl_add_output(args->self, bound, job, error);
  if (status == TBK_OK) status = opencl_add_operand(args->src, bound, job, error);
  if (status == TBK_OK) status = opencl_want_same_sizes(job, error);
  if (status != TBK_OK) return status;
  if (job->operands[0].dtype == job->operands[1].dtype) {
    set_raw(job, "COPY");
  } else {
    set_arithmetic(job, "CONVERT");
    set_no_scalar(job);
    job->shape.inner = job->operands[1].dtype;
  }
  return TBK_OK;
}

void opencl_build_move(const opencl_view_t* to, const opencl_view_t* from, opencl_job_t* job) {
  *job = (opencl_job_t){.operand_count = 2, .operands = {*to, *from}};
  set_raw(job, "COPY");
}

/* Output and two inputs of one dtype and the same sizes. */
static tbk_status_t add_binary(const tbk_tensor_t* out, const tbk_tensor_t* self,
                               const tbk_tensor_t* other, bool bound, opencl_job_t* job,
                               tbk_error_t* error) {
  tbk_status_t status = opencl_add_output(out, bound, job, error);
  if (status == TBK_OK) status = opencl_add_operand(self, bound, job, error);
  if (status == TBK_OK) status = opencl_add_operand(other, bound, job, error);
  for (int i = 1; i <= 2 && status == TBK_OK; i++)
    status = opencl_want_dtype(&job->operands[i], job->operands[0].dtype, error);
  return status == TBK_OK ? opencl_want_same_sizes(job, error) : status;
}

tbk_status_t opencl_build_add(const void* arguments, bool bound, opencl_job_t* job,
                              tbk_error_t* error) {
  const tbk_args_add_Tensor_t* args = arguments;
  tbk_status_t status = add_binary(args->out, args->self, args->other, bound, job, error);
  if (status != TBK_OK) return status;
  job->scalar_bytes = opencl_scalar_computed(&args->alpha, job->operands[0].dtype, job->scalar);
  if (job->scalar_bytes == 0)
    return opencl_fail(error, TBK_UNSUPPORTED, "alpha does not fit dtype %d",
                       job->operands[0].dtype);
  set_arithmetic(job, "ADD");
  return TBK_OK;
}

tbk_status_t opencl_build_mul(const void* arguments, bool bound, opencl_job_t* job,
                              tbk_error_t* error) {
  const tbk_args_mul_Tensor_t* args = arguments;
  tbk_status_t status = add_binary(args->out, args->self, args->other, bound, job, error);
  if (status != TBK_OK) return status;
  set_arithmetic(job, "MUL");
  set_no_scalar(job);
  return TBK_OK;
}

tbk_status_t opencl_build_where(const void* arguments, bool bound, opencl_job_t* job,
                                tbk_error_t* error) {
  const tbk_args_where_self_t* args = arguments;
  tbk_status_t status = opencl_add_output(args->out, bound, job, error);
  if (status == TBK_OK) status = opencl_add_operand(args->condition, bound, job, error);
  if (status == TBK_OK) status = opencl_want_dtype(&job->operands[1], TBK_BOOL, error);
  if (status == TBK_OK) status = opencl_add_operand(args->self, bound, job, error);
  if (status == TBK_OK) status = opencl_add_operand(args->other, bound, job, error);
  for (int i = 2; i <= 3 && status == TBK_OK; i++)
    status = opencl_want_dtype(&job->operands[i], job->operands[0].dtype, error);
  if (status == TBK_OK) status = opencl_want_same_sizes(job, error);
  if (status == TBK_OK) set_raw(job, "WHERE");
  return status;
}

static tbk_status_t find_reduced(const tbk_int_list_t* dim, int32_t rank, uint32_t* out_reduced,
                                 tbk_error_t* error) {
  *out_reduced = (UINT32_C(1) << rank) - 1;
  if (dim == NULL || dim->count == 0) return TBK_OK;
  const int64_t limit = rank ? rank : 1;
  uint32_t reduced = 0;
  for (size_t i = 0; i < dim->count; i++) {
    const int64_t d = dim->items[i] < 0 ? dim->items[i] + limit : dim->items[i];
    if (d < 0 || d >= limit || (reduced >> d & 1))
      return opencl_fail(error, TBK_UNSUPPORTED, "dim is out of range, or named twice");
    reduced |= UINT32_C(1) << d;
  }
  if (rank > 0) *out_reduced = reduced;
  return TBK_OK;
}

static tbk_status_t want_sum_dtypes(const opencl_job_t* job, const int64_t* dtype,
                                    tbk_error_t* error) {
  const int32_t out = job->operands[0].dtype, in = job->operands[1].dtype;
  const bool widens = out == TBK_INT64 && opencl_kind(in) == OPENCL_INTEGER;
  if ((in == out || widens) && (dtype == NULL || *dtype == out)) return TBK_OK;
  return opencl_fail(error, TBK_UNSUPPORTED, "a sum of dtype %d into dtype %d", in, out);
}

/* Sorts the input's dimensions into kept ones, with the output's strides, and those summed over;
 * false where the output has not the sizes of the sum. */
static bool sort_dimensions(opencl_job_t* job, uint32_t reduced, bool keepdim) {
  const opencl_view_t *out = &job->operands[0], *in = &job->operands[1];
  opencl_shape_t* shape = &job->shape;
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

tbk_status_t opencl_build_sum(const void* arguments, bool bound, opencl_job_t* job,
                              tbk_error_t* error) {
  const tbk_args_sum_dim_IntList_t* args = arguments;
  opencl_shape_t* shape = &job->shape;
  uint32_t reduced = 0;
  tbk_status_t status = opencl_add_output(args->out, bound, job, error);
  if (status == TBK_OK) status = opencl_add_operand(args->self, bound, job, error);
  if (status == TBK_OK) status = want_sum_dtypes(job, args->dtype, error);
  if (status == TBK_OK) status = find_reduced(args->dim, job->operands[1].rank, &reduced, error);
  if (status != TBK_OK) return status;
  if (!sort_dimensions(job, reduced, args->keepdim != 0))
    return opencl_fail(error, TBK_UNSUPPORTED, "the output has not the sizes of the sum");
  opencl_fold(&shape->rank, shape->sizes, shape->strides, 2);
  opencl_fold(&shape->inner_rank, shape->inner_sizes, &shape->inner_strides, 1);
  shape->count = job->operands[0].count;
  shape->offsets[0] = job->operands[0].offset;
  shape->offsets[1] = job->operands[1].offset;
  const bool shared = shape->inner >= GROUP_FROM;
  const int32_t out = job->operands[0].dtype, in = job->operands[1].dtype;
  snprintf(job->options, sizeof job->options, "-DSUM_%s -DOUT=%d -DSTORED=%s -DIN=%d -DSUMMED=%s",
           shared ? "GROUP" : "EACH", out, types[out], in, types[in]);
  set_range(job, shared ? shape->count * OPENCL_WORK_GROUP : shape->count);
  return TBK_OK;
}

tbk_status_t opencl_build_mm(const void* arguments, bool bound, opencl_job_t* job,
                             tbk_error_t* error) {
  const tbk_args_mm_t* args = arguments;
  tbk_status_t status = opencl_add_output(args->out, bound, job, error);
  if (status == TBK_OK) status = opencl_add_operand(args->self, bound, job, error);
  if (status == TBK_OK) status = opencl_add_operand(args->mat2, bound, job, error);
  if (status != TBK_OK) return status;
  const opencl_view_t *c = &job->operands[0], *a = c + 1, *b = c + 2;
  if (c->rank != 2 || a->rank != 2 || b->rank != 2 || a->sizes[1] != b->sizes[0] ||
      c->sizes[0] != a->sizes[0] || c->sizes[1] != b->sizes[1])
    return opencl_fail(error, TBK_UNSUPPORTED, "not two matrices and their product");
  status = opencl_want_dtype(a, c->dtype, error);
  if (status == TBK_OK) status = opencl_want_dtype(b, c->dtype, error);
  if (status != TBK_OK) return status;
  set_arithmetic(job, "MM"); /* and then as a matrix, not folded */
  job->shape.rank = 2;
  job->shape.inner = a->sizes[1];
  job->dimensions = 2;
  for (int i = 0; i < 2; i++) {
    job->shape.sizes[i] = c->sizes[i];
    for (int k = 0; k < 3; k++)
      job->shape.strides[k][i] = job->operands[k].strides[i];
    const size_t tiles = ((size_t)c->sizes[1 - i] + OPENCL_TILE - 1) / OPENCL_TILE;
    job->local[i] = OPENCL_TILE; /* x runs over columns, y over rows */
    job->global[i] = tiles * OPENCL_TILE;
  }
  return TBK_OK;
}
