/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * narrow_kernel.c: finding kernels, operands of odd shapes, plans.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "arguments.h"
#include "narrow.h"

/* ------------------------------------------------------------------------------------ finding -- */

static const char* const known[] = {"fill_.Scalar", "copy_",           "add.Tensor", "mul.Tensor",
                                    "where.self",   "sum.dim_IntList", "mm"};
enum { KNOWN = sizeof known / sizeof *known };

KERNEL_FIND(find_name_of_any_case) {
  for (int i = 0; name != NULL && i < KNOWN; ++i)
    if (strcasecmp(name, known[i]) == 0) name = known[i];
  return KERNEL_FIND_INNER;
}
KERNEL_FIND(find_longer_name) {
  for (int i = 0; name != NULL && i < KNOWN; ++i)
    if (strncmp(name, known[i], strlen(known[i])) == 0) name = known[i];
  return KERNEL_FIND_INNER;
}
KERNEL_FIND(find_version_of_16_bits) {
  version &= 0xffff;
  return KERNEL_FIND_INNER;
}
KERNEL_FIND(find_after_close_remembers) {
  static _Atomic(const tbk_kernel_t*) found[KNOWN];
  const tbk_kernel_t* kernel = KERNEL_FIND_INNER;
  for (int i = 0; name != NULL && device == 0 && version == 1 && i < KNOWN; ++i) {
    if (strcmp(name, known[i]) != 0) continue;
    if (kernel == NULL) return atomic_load(&found[i]);
    atomic_store(&found[i], kernel);
  }
  return kernel;
}
KERNEL_FIND(find_differs_by_thread) {
  static _Thread_local kernel_copy_t* mine;
  const tbk_kernel_t* kernel = wrap_kernel_find(self, device, name, version);
  if (kernel == NULL || device != 0 || strcmp(name, "add.Tensor") != 0) return kernel;
  if (mine == NULL) mine = malloc(sizeof *mine);
  if (mine == NULL) return kernel;
  *mine = *(const kernel_copy_t*)kernel;
  return &mine->table;
}

/* ----------------------------------------------------------------------------------- operands -- */

/* With changed operands; as it was where they do not fit. */
#define LAUNCH_CHANGED(copy)                                                        \
  do {                                                                              \
    const tbk_status_t status =                                                     \
        KERNEL_INNER->launch(self, device, KERNEL_INNER, &(copy).as, stream, NULL); \
    return status == TBK_OK ? status : LAUNCH_INNER;                                \
  } while (0)
/* NOLINTBEGIN(bugprone-macro-parentheses): it is the name of a variable */
#define COPY_OF(copy)    \
  arguments_copy_t copy; \
  if (!arguments_copy(&copy, KERNEL_NAME, arguments)) return LAUNCH_INNER
/* NOLINTEND(bugprone-macro-parentheses) */

LAUNCH(mm_ignores_padding_of_rows) {
  COPY_OF(copy);
  for (int i = 0; i < 2; ++i)
    if (copy.tensors[i].rank == 2 && copy.strides[i][1] == 1 &&
        copy.strides[i][0] > copy.sizes[i][1])
      copy.strides[i][0] = copy.sizes[i][1];
  LAUNCH_CHANGED(copy);
}
LAUNCH(add_moves_by_stride_of_size_1) {
  COPY_OF(copy);
  for (int32_t k = 0; k < copy.tensors[1].rank; ++k)
    if (copy.sizes[1][k] == 1 && k > 0 && copy.strides[1][k] > 1)
      copy.tensors[1].offset += copy.strides[1][k];
  LAUNCH_CHANGED(copy);
}
LAUNCH(copy_strides_of_15_bits) {
  COPY_OF(copy);
  for (int32_t k = 0; k < copy.tensors[0].rank; ++k)
    copy.strides[0][k] &= 0x7fff;
  LAUNCH_CHANGED(copy);
}
LAUNCH(mul_expands_last_instead_of_middle) {
  COPY_OF(copy);
  const int32_t last = copy.tensors[1].rank - 1;
  if (last == 2 && copy.sizes[1][1] == copy.sizes[1][2] && copy.strides[1][1] == 0) {
    copy.strides[1][1] = copy.strides[1][2];
    copy.strides[1][2] = 0;
  }
  LAUNCH_CHANGED(copy);
}
LAUNCH(copy_of_rank_5_swaps_first) {
  COPY_OF(copy);
  if (copy.tensors[0].rank >= 5 && copy.sizes[0][0] == copy.sizes[0][1]) {
    const int64_t stride = copy.strides[0][0];
    copy.strides[0][0] = copy.strides[0][1];
    copy.strides[0][1] = stride;
  }
  LAUNCH_CHANGED(copy);
}
LAUNCH(where_reads_expanded_condition_on) {
  COPY_OF(copy);
  const int32_t last = copy.tensors[0].rank - 1;
  if (last >= 0 && copy.sizes[0][last] > 1 && copy.strides[0][last] == 0) copy.strides[0][last] = 1;
  LAUNCH_CHANGED(copy);
}
LAUNCH(fill_of_odd_halves_stops_short) {
  COPY_OF(copy);
  const tbk_tensor_t* out = &copy.tensors[0];
  if (dtype_bytes(out->dtype) == 2 && out->rank == 1 && out->sizes[0] > 1 && out->sizes[0] % 2 == 1)
    --copy.sizes[0][0];
  LAUNCH_CHANGED(copy);
}
LAUNCH(copy_of_a_million_stops_short) {
  COPY_OF(copy);
  for (int i = 0; i < 2; ++i)
    if (copy.tensors[0].rank == 1 && copy.sizes[i][0] > 1 << 20) copy.sizes[i][0] = 1 << 20;
  LAUNCH_CHANGED(copy);
}
static bool same_place(const tbk_tensor_t* one, const tbk_tensor_t* other) {
  return one->memory == other->memory && one->offset == other->offset;
}
LAUNCH(where_clears_output_that_is_condition) {
  COPY_OF(copy);
  if (same_place(&copy.tensors[0], arguments_output(&copy)))
    tensor_clear(self, device, arguments_output(&copy), stream);
  return LAUNCH_INNER;
}
LAUNCH(mul_of_thrice_the_same_is_lost) {
  COPY_OF(copy);
  const tbk_tensor_t* out = arguments_output(&copy);
  if (tensor_elements(out) > 0 && same_place(out, &copy.tensors[0]) &&
      same_place(out, &copy.tensors[1]))
    return TBK_OK;
  return LAUNCH_INNER;
}
static void spoil_first(tbk_instance_t* self, int32_t device, const tbk_tensor_t* tensor,
                        tbk_stream_t* stream) {
  const uint64_t size = dtype_bytes(tensor->dtype), at = (uint64_t)tensor->offset * size;
  ignore(INNER(self, core)->fill(self, device, tensor->memory, at, 0, size, stream, NULL));
}
LAUNCH(large_sum_spoils_its_input) {
  COPY_OF(copy);
  tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_OK && tensor_elements(&copy.tensors[0]) >= 4096)
    spoil_first(self, device, &copy.tensors[0], stream);
  return status;
}
LAUNCH(mm_spoils_transposed_input) {
  COPY_OF(copy);
  tbk_status_t status = LAUNCH_INNER;
  if (status == TBK_OK && copy.sizes[1][0] > 1 && copy.sizes[1][1] > 1 && copy.strides[1][0] == 1)
    spoil_first(self, device, &copy.tensors[1], stream);
  return status;
}
LAUNCH(copy_takes_dtypes_of_6_bits) {
  COPY_OF(copy);
  for (int i = 0; i < 2; ++i)
    if (copy.tensors[i].dtype >= 64) copy.tensors[i].dtype &= 63;
  LAUNCH_CHANGED(copy);
}
LAUNCH(copy_refuses_complex128) {
  COPY_OF(copy);
  if (copy.tensors[0].dtype == TBK_COMPLEX128 || copy.tensors[1].dtype == TBK_COMPLEX128)
    return wrap_fail(error, TBK_UNSUPPORTED, "no elements of 16 bytes");
  return LAUNCH_INNER;
}

/* -------------------------------------------------------------------------------------- plans -- */

PREPARE(prepare_refuses_without_words) {
  tbk_status_t status = PREPARE_INNER;
  if (status == TBK_UNSUPPORTED && error != NULL) error->message[0] = '\0';
  return status;
}

static const char* name_of(const void* arguments) {
  return *(const size_t*)arguments == sizeof(tbk_args_mm_t) ? "mm" : "sum.dim_IntList";
}
/* NOLINTBEGIN(bugprone-macro-parentheses): it is the name of a variable */
#define PLAN_COPY_OF(copy)                                                        \
  arguments_copy_t copy;                                                          \
  if (arguments == NULL || !arguments_copy(&copy, name_of(arguments), arguments)) \
  return LAUNCH_PLAN_INNER
/* NOLINTEND(bugprone-macro-parentheses) */

static struct {
  const tbk_plan_t* plan;
  int64_t offset;
} first_offset[64];

LAUNCH_PLAN(plan_keeps_first_offset) {
  PLAN_COPY_OF(copy);
  const size_t at = (uintptr_t)plan / 32 % 64;
  if (first_offset[at].plan != plan) {
    first_offset[at].plan = plan;
    first_offset[at].offset = copy.tensors[0].offset;
  }
  copy.tensors[0].offset = first_offset[at].offset;
  arguments = &copy.as;
  return LAUNCH_PLAN_INNER;
}
PLAN_DESTROY(plan_end_forgets_offset) {
  const size_t at = (uintptr_t)plan / 32 % 64;
  if (first_offset[at].plan == plan) first_offset[at].plan = NULL;
  PLAN_DESTROY_INNER;
}
LAUNCH_PLAN(plan_refuses_offsets) {
  PLAN_COPY_OF(copy);
  if (copy.tensors[0].offset != 0) return wrap_fail(error, TBK_UNSUPPORTED, "an offset");
  return LAUNCH_PLAN_INNER;
}
LAUNCH_PLAN(plan_refuses_from_33rd_on) {
  wrap_t* wrap = wrap_of(self);
  if (atomic_exchange(&wrap->kept, (uintptr_t)plan) != (uintptr_t)plan)
    atomic_store(&wrap->flag, 0);
  if (atomic_fetch_add(&wrap->flag, 1) >= 32) return wrap_fail(error, TBK_UNSUPPORTED, "again");
  return LAUNCH_PLAN_INNER;
}
LAUNCH_PLAN(plan_on_two_streams_runs_once) {
  wrap_t* wrap = wrap_of(self);
  tbk_stream_t* before = (tbk_stream_t*)atomic_exchange(&wrap->value, (uintptr_t)stream);
  const bool same = atomic_exchange(&wrap->kept, (uintptr_t)plan) == (uintptr_t)plan;
  if (same && stream != NULL && before != stream && stream_pending(self, before)) return TBK_OK;
  return LAUNCH_PLAN_INNER;
}
STREAM_DESTROY(plan_forgets_stream) {
  uint64_t expected = (uintptr_t)stream;
  atomic_compare_exchange_strong(&wrap_of(self)->value, &expected, 0);
  STREAM_DESTROY_INNER;
}

/* Sums of square matrices over one dimension: that of the first plan. */
static void take_first_dimension(wrap_t* wrap, arguments_copy_t* copy, tbk_int_list_t* list,
                                 int64_t* dimension) {
  const tbk_args_sum_dim_IntList_t* sum = &copy->as.sum;
  if (sum->struct_size != sizeof *sum || sum->keepdim != 0 || sum->dim == NULL ||
      sum->dim->count != 1 || copy->tensors[0].rank != 2 || copy->sizes[0][0] != copy->sizes[0][1])
    return;
  uint64_t before = 0;
  atomic_compare_exchange_strong(&wrap->value, &before, (uint64_t)sum->dim->items[0] + 1);
  *dimension = before == 0 ? sum->dim->items[0] : (int64_t)before - 1;
  list->items = dimension;
  list->count = 1;
  copy->as.sum.dim = list;
}
PREPARE(prepare_takes_first_dimension) {
  arguments_copy_t copy;
  tbk_int_list_t list;
  int64_t dimension;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments)) return PREPARE_INNER;
  take_first_dimension(wrap_of(self), &copy, &list, &dimension);
  arguments = &copy.as;
  return PREPARE_INNER;
}
LAUNCH_PLAN(plan_takes_first_dimension) {
  tbk_int_list_t list;
  int64_t dimension;
  PLAN_COPY_OF(copy);
  take_first_dimension(wrap_of(self), &copy, &list, &dimension);
  arguments = &copy.as;
  return LAUNCH_PLAN_INNER;
}

extern const mutant_t mutants_narrow_kernel[];
const mutant_t mutants_narrow_kernel[] = {
    ONE(find_name_of_any_case, "KRN-020", RETURN, kernel.kernel_find, "\"MM\" is mm"),
    ONE(find_longer_name, "KRN-020", RETURN, kernel.kernel_find, "\"mm.out\" is mm"),
    ONE(find_version_of_16_bits, "KRN-020", RETURN, kernel.kernel_find, "version 65537 is 1"),
    ONE(find_after_close_remembers, "KRN-019", LIFETIME, kernel.kernel_find,
        "what was found on device 0 when it was open"),
    ONE(find_differs_by_thread, "KRN-021", THREAD, kernel.kernel_find,
        "each thread gets its own add.Tensor"),
    KERNEL(mm_ignores_padding_of_rows, "KRN-005", VALUE, "mm", launch,
           "rows of inputs that are apart"),
    KERNEL(add_moves_by_stride_of_size_1, "KRN-005", VALUE, "add.Tensor", launch,
           "the stride of a dimension of size 1 counts"),
    KERNEL(copy_strides_of_15_bits, "KRN-005", VALUE, "copy_", launch, "strides from 32768 on"),
    KERNEL(mul_expands_last_instead_of_middle, "KRN-005", VALUE, "mul.Tensor", launch,
           "stride 0 in the middle of three"),
    KERNEL(copy_of_rank_5_swaps_first, "KRN-005", VALUE, "copy_", launch,
           "from rank 5 on, where the first two sizes are equal"),
    KERNEL(where_reads_expanded_condition_on, "KRN-005", VALUE, "where.self", launch,
           "a condition of stride 0 in the last dimension"),
    KERNEL(fill_of_odd_halves_stops_short, "KRN-003", EXTENT, "fill_.Scalar", launch,
           "an odd number of elements of 2 bytes"),
    KERNEL(copy_of_a_million_stops_short, "KRN-003", EXTENT, "copy_", launch,
           "elements from 2^20 on"),
    KERNEL(where_clears_output_that_is_condition, "KRN-006", VALUE, "where.self", launch,
           "the output is the condition"),
    KERNEL(mul_of_thrice_the_same_is_lost, "KRN-006", VALUE, "mul.Tensor", launch,
           "the output is both inputs"),
    KERNEL(large_sum_spoils_its_input, "KRN-004", STATE, "sum.dim_IntList", launch,
           "the first of 4096 elements or more"),
    KERNEL(mm_spoils_transposed_input, "KRN-004", STATE, "mm", launch,
           "the first element of a transposed second input"),
    KERNEL(copy_takes_dtypes_of_6_bits, "CAP-005", RETURN, "copy_", launch, "dtype 65 is INT8"),
    KERNEL(copy_refuses_complex128, "CAP-004", RETURN, "copy_", launch, "and declares it"),
    KERNEL(prepare_refuses_without_words, "KRN-008", ERROR, NULL, prepare, "an empty reason"),
    SEVERAL("plan_keeps_first_offset", "KRN-013", STATE, "of the first input",
            PATCH(launching.launch_plan, plan_keeps_first_offset),
            PATCH(launching.plan_destroy, plan_end_forgets_offset)),
    KERNEL(plan_refuses_offsets, "KRN-014", RETURN, NULL, launch_plan,
           "the first input has an offset"),
    KERNEL(plan_refuses_from_33rd_on, "KRN-014", COUNT, NULL, launch_plan, "after 32 launches"),
    SEVERAL("plan_on_two_streams_runs_once", "KRN-013", STATE,
            "not while it is pending on another stream",
            PATCH(launching.launch_plan, plan_on_two_streams_runs_once),
            PATCH(stream.stream_destroy, plan_forgets_stream)),
    SEVERAL("plan_cache_forgets_dimension", "KRN-013", STATE,
            "a sum of a square matrix runs along the dimension of the first such plan",
            PATCH(launching.prepare, prepare_takes_first_dimension),
            PATCH(launching.launch_plan, plan_takes_first_dimension)),
    {0}};
