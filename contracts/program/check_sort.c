/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * check_sort.c: whether the arguments of tbk::sort fit each other.
 */
#include "opcode.h"
#include "tensors.h"

enum { KNOWN_FLAGS = TBK_SORT_DESCENDING | TBK_SORT_STABLE };

static tbk_status_t check_words(const tbk_args_sort_t* a, tbk_error_t* error) {
  if ((a->flags & ~(uint64_t)KNOWN_FLAGS) != 0)
    return program_fail(error, "flags are 0x%llx", (unsigned long long)a->flags);
  if (a->index_bits != 32 && a->index_bits != 64)
    return program_fail(error, "index_bits is %lld", (long long)a->index_bits);
  if (a->values == NULL && a->indices == NULL)
    return program_fail(error, "neither values nor indices");
  return TBK_OK;
}

/* Makes the space of the input. */
static tbk_status_t check_input(const tbk_args_sort_t* a, space_t* out_space, tbk_error_t* error) {
  const place_t at = {PROGRAM_ONE, "input", PROGRAM_ONE, error};
  const tbk_tensor_t* input = a->input;
  if (input == NULL || input->struct_size < sizeof *input) return WRONG(&at, "it is not there");
  if (!program_dtype_in((uint32_t)input->dtype, PROGRAM_ANY))
    return WRONG(&at, "dtype %d", input->dtype);
  tbk_status_t status = program_check_shape(&at, input, (uint32_t)input->dtype);
  if (status == TBK_OK) status = program_check_extent(&at, input, a->index_bits);
  if (status != TBK_OK) return status;
  if (input->rank == 0) return WRONG(&at, "rank 0: there is no dimension to sort");
  out_space->rank = input->rank;
  for (int32_t d = 0; d < input->rank; ++d)
    out_space->sizes[d] = input->sizes[d];
  return TBK_OK;
}

/* The last dimension of the space becomes that of the first that is written; both have the same. */
static tbk_status_t check_output(const tbk_args_sort_t* a, const tbk_tensor_t* tensor,
                                 const char* name, uint32_t dtype, space_t* space, bool* seen,
                                 tbk_error_t* error) {
  const place_t at = {PROGRAM_ONE, name, PROGRAM_ONE, error};
  if (tensor == NULL) return TBK_OK;
  tbk_status_t status = program_check_shape(&at, tensor, dtype);
  if (status == TBK_OK) status = program_check_extent(&at, tensor, a->index_bits);
  if (status != TBK_OK) return status;
  const int32_t last = space->rank - 1;
  if (!*seen && tensor->rank == space->rank) {
    if (tensor->sizes[last] > space->sizes[last])
      return WRONG(&at, "%lld elements of a segment of %lld", (long long)tensor->sizes[last],
                   (long long)space->sizes[last]);
    space->sizes[last] = tensor->sizes[last];
    *seen = true;
  }
  status = program_check_sizes(&at, tensor, space);
  return status == TBK_OK ? program_check_written(&at, tensor) : status;
}

tbk_status_t tbk_sort_check(const tbk_args_sort_t* a, tbk_error_t* error) {
  space_t space = {{0}, 0};
  bool seen = false;
  if (a == NULL || a->struct_size < sizeof *a) return program_fail(error, "no arguments");
  tbk_status_t status = check_words(a, error);
  if (status == TBK_OK) status = check_input(a, &space, error);
  if (status == TBK_OK)
    status = check_output(a, a->values, "values", (uint32_t)a->input->dtype, &space, &seen, error);
  if (status == TBK_OK)
    status = check_output(a, a->indices, "indices", TBK_INT64, &space, &seen, error);
  return status;
}
