/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * check_matmul.c: whether the arguments of tbk::matmul fit each other.
 */
#include "opcode.h"
#include "tensors.h"

static const uint64_t matmul_dtypes = PROGRAM_ANY & ~PROGRAM_BIT(BOOL);

static bool is_real(int32_t dtype) {
  return tbk_dtype_kind(dtype) == TBK_KIND_REAL;
}

static tbk_status_t check_scalar(const char* name, const tbk_scalar_t* scalar, int32_t dtype,
                                 tbk_error_t* error) {
  const int64_t wanted = is_real(dtype) ? TBK_SCALAR_DOUBLE : TBK_SCALAR_INT;
  if (scalar->kind != wanted)
    return program_fail(error, "%s: kind %lld, and of %s it is %lld", name, (long long)scalar->kind,
                        program_dtype_name((uint32_t)dtype), (long long)wanted);
  return TBK_OK;
}

static tbk_status_t check_words(const tbk_args_matmul_t* a, tbk_error_t* error) {
  if (a->index_bits != 32 && a->index_bits != 64)
    return program_fail(error, "index_bits is %lld", (long long)a->index_bits);
  tbk_status_t status = check_scalar("alpha", &a->alpha, a->out->dtype, error);
  if (status == TBK_OK && a->c != NULL)
    status = check_scalar("beta", &a->beta, a->out->dtype, error);
  return status;
}

static tbk_status_t check_out(const tbk_args_matmul_t* a, space_t* out_space, tbk_error_t* error) {
  const place_t at = {PROGRAM_ONE, "out", PROGRAM_ONE, error};
  const tbk_tensor_t* out = a->out;
  if (out == NULL || out->struct_size < sizeof *out) return WRONG(&at, "it is not there");
  if (!program_dtype_in((uint32_t)out->dtype, matmul_dtypes))
    return WRONG(&at, "dtype %d", out->dtype);
  tbk_status_t status = program_check_shape(&at, out, (uint32_t)out->dtype);
  if (status == TBK_OK && out->rank < 2) return WRONG(&at, "rank %d", out->rank);
  if (status == TBK_OK) status = program_check_extent(&at, out, a->index_bits);
  if (status == TBK_OK) status = program_check_written(&at, out);
  for (int32_t d = 0; status == TBK_OK && d < out->rank; ++d)
    out_space->sizes[d] = out->sizes[d];
  out_space->rank = status == TBK_OK ? out->rank : 0;
  return status;
}

/* Checks a tensor that is read. `space` is what its sizes should be, but for dimension `inner`, which is
 * k: the first tensor that has it says how large. */
static tbk_status_t check_read(const tbk_args_matmul_t* a, const tbk_tensor_t* tensor,
                               space_t* space, int32_t inner, int64_t* k, const place_t* at) {
  tbk_status_t status = program_check_shape(at, tensor, (uint32_t)a->out->dtype);
  if (status == TBK_OK) status = program_check_extent(at, tensor, a->index_bits);
  if (status != TBK_OK) return status;
  if (inner >= 0) {
    if (tensor->rank == space->rank && *k < 0) *k = tensor->sizes[inner];
    space->sizes[inner] = *k;
  }
  return program_check_sizes(at, tensor, space);
}

tbk_status_t tbk_matmul_check(const tbk_args_matmul_t* a, tbk_error_t* error) {
  const place_t left = {PROGRAM_ONE, "a", PROGRAM_ONE, error};
  const place_t right = {PROGRAM_ONE, "b", PROGRAM_ONE, error};
  const place_t added = {PROGRAM_ONE, "c", PROGRAM_ONE, error};
  space_t space = {{0}, 0};
  int64_t k = -1;
  if (a == NULL || a->struct_size < sizeof *a) return program_fail(error, "no arguments");
  tbk_status_t status = check_out(a, &space, error);
  if (status == TBK_OK) status = check_words(a, error);
  if (status != TBK_OK) return status;
  space_t of_a = space, of_b = space;
  status = check_read(a, a->a, &of_a, space.rank - 1, &k, &left);
  if (status == TBK_OK) status = check_read(a, a->b, &of_b, space.rank - 2, &k, &right);
  if (status == TBK_OK && a->c != NULL) status = check_read(a, a->c, &space, -1, &k, &added);
  return status;
}
