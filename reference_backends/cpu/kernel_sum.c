/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel_sum.c: sum.dim_IntList.
 */
#include "kernel.h"

/* One element of the output: `data` is where its first summand lies. */
static cpu_number_t sum_from(const cpu_view_t* in, const char* data, const int64_t* extents) {
  int64_t index[CPU_MAX_RANK] = {0};
  uint64_t integer = 0;
  long double real = 0, imaginary = 0;
  do {
    const char* at = data;
    for (int32_t d = 0; d < in->rank; d++)
      at += index[d] * in->strides[d];
    cpu_number_t number = cpu_load(at, in->dtype);
    integer += (uint64_t)number.integer;
    real += (long double)number.real;
    imaginary += (long double)number.imaginary;
  } while (cpu_next_index(index, extents, in->rank));
  return (cpu_number_t){tbk_dtype_kind(in->dtype), (int64_t)integer, (double)real,
                        (double)imaginary};
}

/* The output's strides, one for each dimension of the input, 0 where it is summed over. */
static void spread_strides(const cpu_job_t* job, int64_t* strides) {
  const cpu_view_t *out = &job->operands[0], *in = &job->operands[1];
  bool kept_all = out->rank == in->rank;
  for (int32_t d = 0, next = 0; d < in->rank; d++) {
    bool summed = job->reduced >> d & 1;
    strides[d] = summed ? 0 : out->strides[kept_all ? d : next];
    next += !summed;
  }
}

static void compute(const cpu_job_t* job) {
  const cpu_view_t *out = &job->operands[0], *in = &job->operands[1];
  if (out->count == 0) return;
  int64_t index[CPU_MAX_RANK] = {0}, strides[CPU_MAX_RANK] = {0};
  int64_t kept[CPU_MAX_RANK], summed[CPU_MAX_RANK];
  spread_strides(job, strides);
  for (int32_t d = 0; d < in->rank; d++) {
    bool reduced = job->reduced >> d & 1;
    kept[d] = reduced ? 1 : in->sizes[d];
    summed[d] = reduced ? in->sizes[d] : 1;
  }
  const cpu_number_t nothing = {.kind = tbk_dtype_kind(in->dtype)};
  do {
    char* to = out->data;
    const char* from = in->data;
    for (int32_t d = 0; d < in->rank; d++) {
      to += index[d] * strides[d];
      if (from) from += index[d] * in->strides[d];
    }
    cpu_store(to, out->dtype, in->count ? sum_from(in, from, summed) : nothing);
  } while (cpu_next_index(index, kept, in->rank));
}

static tbk_status_t find_reduced(const tbk_int_list_t* dim, int32_t rank, uint32_t* out_reduced,
                                 tbk_error_t* error) {
  *out_reduced = 0;
  if (!dim || dim->count == 0) {
    *out_reduced = (UINT32_C(1) << rank) - 1;
    return TBK_OK;
  }
  const int64_t limit = rank ? rank : 1;
  for (size_t i = 0; i < dim->count; i++) {
    int64_t d = dim->items[i] < 0 ? dim->items[i] + limit : dim->items[i];
    if (d < 0 || d >= limit || (*out_reduced >> d & 1))
      return cpu_fail(TBK_UNSUPPORTED, error, "dim is out of range, or named twice");
    *out_reduced |= UINT32_C(1) << d;
  }
  if (rank == 0) *out_reduced = 0;
  return TBK_OK;
}

static tbk_status_t want_sizes(const cpu_job_t* job, bool keepdim, tbk_error_t* error) {
  const cpu_view_t *out = &job->operands[0], *in = &job->operands[1];
  bool right = true;
  int32_t next = 0;
  for (int32_t d = 0; d < in->rank && right; d++) {
    bool summed = job->reduced >> d & 1;
    if (summed && !keepdim) continue;
    right = next < out->rank && out->sizes[next] == (summed ? 1 : in->sizes[d]);
    next++;
  }
  if (right && next == out->rank) return TBK_OK;
  return cpu_fail(TBK_UNSUPPORTED, error, "the output has not the sizes of the sum");
}

static tbk_status_t want_dtypes(const cpu_job_t* job, const int64_t* dtype, tbk_error_t* error) {
  const int32_t out = job->operands[0].dtype, in = job->operands[1].dtype;
  bool widens = out == TBK_INT64 && tbk_dtype_kind(in) == TBK_KIND_INTEGER;
  if ((in == out || widens) && (!dtype || *dtype == out)) return TBK_OK;
  return cpu_fail(TBK_UNSUPPORTED, error, "a sum of dtype %d into dtype %d", in, out);
}

tbk_status_t cpu_build_sum(vdev_arena_t* arena, const void* arguments, cpu_job_t* job,
                           tbk_error_t* error) {
  const tbk_args_sum_dim_IntList_t* args = arguments;
  job->compute = compute;
  tbk_status_t status = cpu_add_output(arena, args->out, job, error);
  if (status == TBK_OK) status = cpu_add_operand(arena, args->self, job, error);
  if (status == TBK_OK) status = want_dtypes(job, args->dtype, error);
  if (status == TBK_OK)
    status = find_reduced(args->dim, job->operands[1].rank, &job->reduced, error);
  return status == TBK_OK ? want_sizes(job, args->keepdim != 0, error) : status;
}
