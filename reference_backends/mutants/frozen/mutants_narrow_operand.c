/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_operand.c: kernels that are wrong for one kind of operand, scalar, flag or history.
 */
#include <stdio.h>
#include <string.h>

#include "arguments.h"
#include "generic_copy.h"
#include "narrow.h"

/* What a plan runs on stands in the plan, which two threads may run. */
LAUNCH_PLAN(plan_holds_arguments_of_its_run) {
  static _Atomic(const void*) held;
  static _Atomic(const tbk_plan_t*) of;
  atomic_store(&held, arguments);
  atomic_store(&of, plan);
  wrap_sleep_ms(1);
  if (atomic_load(&of) == plan) arguments = atomic_load(&held);
  return LAUNCH_PLAN_INNER;
}

/* Compared as far as the shorter name goes. */
KERNEL_FIND(name_that_begins_alike_is_found) {
  const tbk_kernel_t* found = KERNEL_FIND_INNER;
  char cut[64];
  const size_t length = name == NULL ? 0 : strlen(name);
  if (found != NULL || length == 0 || length >= sizeof cut) return found;
  for (size_t n = length - 1; n > 1 && found == NULL; --n) {
    snprintf(cut, sizeof cut, "%.*s", (int)n, name);
    found = INNER(self, kernel)->kernel_find(self, device, cut, version);
  }
  return found;
}

/* Packed once, as it is one memory: a * transposed(a) is taken for a * a. */
LAUNCH(mm_packs_one_memory_once) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  const tbk_tensor_t *a = &copy.tensors[0], *b = &copy.tensors[1];
  const bool square = a->rank == 2 && a->sizes[0] == a->sizes[1] && b->sizes[1] == a->sizes[0];
  if (!square || a->memory != b->memory || a->offset != b->offset) return LAUNCH_INNER;
  memcpy(copy.strides[1], copy.strides[0], sizeof copy.strides[0]);
  arguments = &copy.as;
  return LAUNCH_INNER;
}

LAUNCH(add_takes_true_for_0) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  if (copy.as.add.alpha.kind == TBK_SCALAR_BOOL) copy.as.add.alpha.integer = 0;
  arguments = &copy.as;
  return LAUNCH_INNER;
}

/* The offset is multiplied by the size of the output's elements, not of the condition's. */
LAUNCH(where_offset_counts_in_elements_of_out) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  tbk_tensor_t* condition = &copy.tensors[0];
  const int64_t moved = condition->offset * tbk_dtype_bytes(arguments_output(&copy)->dtype);
  const uint64_t last = (uint64_t)moved + tensor_elements(condition);
  if (tensor_contiguous(condition) && moved >= 0 && last <= condition->storage_bytes)
    condition->offset = moved;
  arguments = &copy.as;
  return LAUNCH_INNER;
}

LAUNCH(argsort_is_never_descending) {
  GENERIC_CHANGED(if (c->as.sort.values == NULL) c->as.sort.flags &=
                  ~(uint64_t)TBK_SORT_DESCENDING);
}

/* The epilogue knows a bias for each column alone. */
static void bias_by_column(generic_view_t* bias) {
  const int32_t last = generic_last(bias);
  if (bias->tensor.rank < 2 || bias->sizes[last] > bias->sizes[last - 1]) return;
  if (bias->strides[last] != 0 || bias->strides[last - 1] == 0) return;
  bias->strides[last] = bias->strides[last - 1];
  bias->strides[last - 1] = 0;
}
LAUNCH(matmul_bias_of_rows_is_of_columns) {
  GENERIC_CHANGED(if (c->as.matmul.c != NULL) bias_by_column(&c->views[MATMUL_C]));
}

/* The report is cleared first, also where a former call has left a number for the host to see. */
LAUNCH(index_report_is_cleared_first) {
  generic_copy_t* c = generic_copy_of(KERNEL_NAME, arguments);
  if (c == NULL || c->as.index.report == NULL) return LAUNCH_INNER;
  const tbk_tensor_t* report = c->as.index.report;
  const uint64_t at = (uint64_t)report->offset * sizeof(int32_t);
  ignore(
      INNER(self, core)->fill(self, device, report->memory, at, 0, sizeof(int32_t), stream, NULL));
  return LAUNCH_INNER;
}

extern const mutant_t mutants_narrow_operand[];
const mutant_t mutants_narrow_operand[] = {
    SEVERAL("plan_holds_arguments_of_its_run", "THR-001", THREAD,
            "two threads run one plan at a time",
            PATCH(launching.launch_plan, plan_holds_arguments_of_its_run)),
    ONE(name_that_begins_alike_is_found, "KRN-020", VALUE, kernel.kernel_find,
        "a name that begins with one that is offered"),
    KERNEL(mm_packs_one_memory_once, "KRN-005", STATE, "mm", launch,
           "a square matrix by itself, transposed"),
    KERNEL(add_takes_true_for_0, "KRN-003", VALUE, "add.Tensor", launch, "alpha is a BOOL"),
    KERNEL(where_offset_counts_in_elements_of_out, "KRN-005", EXTENT, "where.self", launch,
           "the condition begins inside its memory"),
    KERNEL(argsort_is_never_descending, "PRG-060", VALUE, TBK_NAME_sort, launch, "without values"),
    KERNEL(matmul_bias_of_rows_is_of_columns, "PRG-039", VALUE, TBK_NAME_matmul, launch,
           "c has a stride of 0 in the last dimension, and no more columns than rows"),
    KERNEL(index_report_is_cleared_first, "PRG-027", STATE, TBK_NAME_index, launch,
           "a call without a bad index makes the report 0"),
    {0}};
