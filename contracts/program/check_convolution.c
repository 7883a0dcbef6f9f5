/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * check_convolution.c: whether the arguments of tbk::convolution fit each other.
 */
#include <tbk/tbk_convolution.h>

#include "opcode.h"
#include "tensors.h"

/* Numbers that a convolution sums. */
static const uint64_t NUMBERS = PROGRAM_ANY & ~PROGRAM_BIT(BOOL);

static tbk_status_t check_words(const tbk_args_convolution_t* a, tbk_error_t* error) {
  if (a->mode < TBK_CONVOLUTION_OUTPUT || a->mode > TBK_CONVOLUTION_WEIGHT)
    return program_fail(error, "mode is %lld", (long long)a->mode);
  if (a->groups < 1) return program_fail(error, "groups is %lld", (long long)a->groups);
  if (a->index_bits != 32 && a->index_bits != 64)
    return program_fail(error, "index_bits is %lld", (long long)a->index_bits);
  if (a->stride == NULL || a->padding == NULL || a->dilation == NULL)
    return program_fail(error, "stride, padding or dilation at NULL");
  if (a->mode == TBK_CONVOLUTION_WEIGHT && a->bias != NULL)
    return program_fail(error, "a gradient by the weight has no bias");
  return TBK_OK;
}

static tbk_status_t check_tensor(const tbk_args_convolution_t* a, const tbk_tensor_t* tensor,
                                 uint32_t dtype, int32_t rank, const place_t* at) {
  tbk_status_t status = program_check_shape(at, tensor, dtype);
  if (status != TBK_OK) return status;
  if (tensor->rank != rank) return WRONG(at, "rank %d", tensor->rank);
  return program_check_extent(at, tensor, a->index_bits);
}

/* All three have the dtype and the rank of the input. */
static tbk_status_t check_tensors(const tbk_args_convolution_t* a, tbk_error_t* error) {
  const char* const names[] = {"output", "input", "weight"}; /* by mode: it is what is written */
  const tbk_tensor_t* const tensors[] = {a->output, a->input, a->weight};
  const place_t input = {PROGRAM_ONE, "input", PROGRAM_ONE, error};
  if (a->input == NULL || a->input->struct_size < sizeof *a->input)
    return WRONG(&input, "it is not there");
  const uint32_t dtype = (uint32_t)a->input->dtype;
  const int32_t rank = a->input->rank;
  if (!program_dtype_in(dtype, NUMBERS)) return WRONG(&input, "dtype %d", a->input->dtype);
  if (rank < 3 || rank > 2 + TBK_CONVOLUTION_MOST_SPATIAL) return WRONG(&input, "rank %d", rank);
  for (int i = 0; i < 3; ++i) {
    const place_t at = {PROGRAM_ONE, names[i], PROGRAM_ONE, error};
    tbk_status_t status = check_tensor(a, tensors[i], dtype, rank, &at);
    if (status == TBK_OK && a->mode == i) status = program_check_written(&at, tensors[i]);
    if (status != TBK_OK) return status;
  }
  return TBK_OK;
}

static tbk_status_t check_channels(const tbk_args_convolution_t* a, tbk_error_t* error) {
  const int64_t *x = a->input->sizes, *k = a->weight->sizes, *y = a->output->sizes;
  if (x[0] != y[0])
    return program_fail(error, "%lld images come to %lld", (long long)x[0], (long long)y[0]);
  if (x[1] % a->groups != 0 || y[1] % a->groups != 0)
    return program_fail(error, "%lld groups do not divide %lld and %lld channels",
                        (long long)a->groups, (long long)x[1], (long long)y[1]);
  if (k[0] != y[1] || k[1] != x[1] / a->groups)
    return program_fail(error, "a weight of %lld x %lld channels; they are %lld x %lld",
                        (long long)k[0], (long long)k[1], (long long)y[1],
                        (long long)(x[1] / a->groups));
  return TBK_OK;
}

static int64_t last_of(int64_t size) {
  return size > 0 ? size - 1 : 0;
}

/* Positions are counted from the beginning of the padding, and those that no element has count too. */
static tbk_status_t check_dimension(const tbk_args_convolution_t* a, int32_t d,
                                    tbk_error_t* error) {
  const place_t at = {PROGRAM_ONE, "dimension", (size_t)d, error};
  const int64_t limit = a->index_bits == 32 ? INT32_MAX : INT64_MAX;
  int64_t along_output, along_weight, reached, padded;
  if (a->stride[d] < 1) return WRONG(&at, "stride %lld", (long long)a->stride[d]);
  if (a->padding[d] < 0) return WRONG(&at, "padding %lld", (long long)a->padding[d]);
  if (a->dilation[d] < 1) return WRONG(&at, "dilation %lld", (long long)a->dilation[d]);
  if (__builtin_mul_overflow(last_of(a->output->sizes[2 + d]), a->stride[d], &along_output) ||
      __builtin_mul_overflow(last_of(a->weight->sizes[2 + d]), a->dilation[d], &along_weight) ||
      __builtin_add_overflow(along_output, along_weight, &reached) ||
      __builtin_add_overflow(a->input->sizes[2 + d], a->padding[d], &padded) || reached > limit ||
      padded > limit || a->stride[d] > limit || a->dilation[d] > limit)
    return WRONG(&at, "positions reach further than %lld bits", (long long)a->index_bits);
  return TBK_OK;
}

static tbk_status_t check_bias(const tbk_args_convolution_t* a, tbk_error_t* error) {
  const place_t at = {PROGRAM_ONE, "bias", PROGRAM_ONE, error};
  const tbk_tensor_t* written = a->mode == TBK_CONVOLUTION_OUTPUT ? a->output : a->input;
  if (a->bias == NULL) return TBK_OK;
  tbk_status_t status = check_tensor(a, a->bias, (uint32_t)a->input->dtype, 1, &at);
  if (status == TBK_OK && a->bias->sizes[0] != written->sizes[1])
    return WRONG(&at, "%lld elements for %lld channels", (long long)a->bias->sizes[0],
                 (long long)written->sizes[1]);
  return status;
}

tbk_status_t tbk_convolution_check(const tbk_args_convolution_t* a, tbk_error_t* error) {
  if (a == NULL || a->struct_size < sizeof *a) return program_fail(error, "no arguments");
  tbk_status_t status = check_words(a, error);
  if (status == TBK_OK) status = check_tensors(a, error);
  if (status == TBK_OK) status = check_channels(a, error);
  for (int32_t d = 0; status == TBK_OK && d < a->input->rank - 2; ++d)
    status = check_dimension(a, d, error);
  return status == TBK_OK ? check_bias(a, error) : status;
}
