/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * broad_kernel.c: kernels, plans and programs that fail in every use.
 */
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "generic_copy.h"
#include "narrow.h"
#include "rewrite.h"

#define BASIC(name, clause, operation, note, op, ...) \
  { name, clause, MUTANT, operation, BROAD, note, {__VA_ARGS__}, op, 0, 0, 0 }

/* A kernel is handed out once. */
KERNEL_FIND(kernels_are_found_once) {
  wrap_t* wrap = wrap_of(self);
  const tbk_kernel_t* kernel = KERNEL_FIND_INNER;
  bool again = false;
  pthread_mutex_lock(&wrap->lock);
  for (size_t i = 0; i < WRAP_KERNELS && kernel != NULL; ++i) {
    kernel_copy_t* slot = &wrap->kernels[i];
    again = slot->inner == kernel && slot->device == device;
    if (slot->inner == NULL) {
      slot->inner = kernel;
      slot->device = device;
      break;
    }
    if (again) break;
  }
  pthread_mutex_unlock(&wrap->lock);
  return again ? NULL : kernel;
}

/* An input that is no output is used as room for what comes between. */
LAUNCH(inputs_are_scratch) {
  arguments_copy_t copy;
  const tbk_status_t status = LAUNCH_INNER;
  if (status != TBK_OK || !arguments_copy(&copy, KERNEL_NAME, arguments) || copy.count < 2)
    return status;
  const tbk_tensor_t *input = &copy.tensors[0], *output = arguments_output(&copy);
  const uint64_t bytes = dtype_bytes(input->dtype);
  if (tensor_elements(input) == 0 || input->memory == output->memory) return status;
  ignore(INNER(self, core)
             ->fill(self, device, input->memory, (uint64_t)input->offset * bytes, 0x11, bytes,
                    stream, NULL));
  return status;
}

LAUNCH_PLAN(plans_do_nothing) {
  return TBK_OK;
}

LAUNCH_PLAN(plans_are_refused) {
  return wrap_fail(error, TBK_UNSUPPORTED, "this plan cannot be run");
}

/* Launched on a stream of the backend's own, and not waited for. */
LAUNCH(launch_without_stream_is_late) {
  if (stream == NULL && device >= 0 && device < WRAP_DEVICES)
    stream = side_held(wrap_of(self), device);
  return LAUNCH_INNER;
}

LAUNCH(add_subtracts) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  tbk_scalar_t* alpha = &copy.as.add.alpha;
  alpha->real = -alpha->real;
  alpha->imaginary = -alpha->imaginary;
  if (alpha->kind != TBK_SCALAR_BOOL) alpha->integer = (int64_t)(0 - (uint64_t)alpha->integer);
  arguments = &copy.as;
  return LAUNCH_INNER;
}

LAUNCH(fill_gives_one) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  const tbk_scalar_t one = {TBK_SCALAR_INT, 1, 1, 0};
  if (copy.as.fill.value.kind != TBK_SCALAR_COMPLEX) copy.as.fill.value = one;
  arguments = &copy.as;
  return LAUNCH_INNER;
}

/* Converts nothing: other dtypes are refused. */
LAUNCH(copy_takes_floats_only) {
  arguments_copy_t copy;
  if (!arguments_copy(&copy, KERNEL_NAME, arguments)) return LAUNCH_INNER;
  if (copy.tensors[0].dtype != TBK_FLOAT32 || arguments_output(&copy)->dtype != TBK_FLOAT32)
    return wrap_fail(error, TBK_UNSUPPORTED, "FLOAT32 alone");
  return LAUNCH_INNER;
}

static uint32_t sub_for_add(rewrite_t* to, const tbk_instruction_t* instruction,
                            const uint32_t* operands, uint64_t context) {
  (void)context;
  tbk_instruction_t other = *instruction;
  if (other.opcode == TBK_OPCODE_ADD) other.opcode = TBK_OPCODE_SUB;
  return rewrite_keep(to, &other, operands);
}
LAUNCH(programs_subtract) {
  static _Thread_local rewrite_t to;
  const tbk_args_pointwise_t* given = pointwise_arguments(arguments);
  if (given == NULL) return LAUNCH_INNER;
  tbk_args_pointwise_t changed = *given;
  changed.program = rewrite_program(&to, given->program, sub_for_add, 0);
  arguments = &changed;
  return LAUNCH_INNER;
}

/* The last element of the last inner dimension is not combined. */
static void shorten(generic_copy_t* c) {
  for (size_t s = 0; s < c->set_count; ++s) {
    const uint64_t rank = c->sets[s].inner_rank;
    if (rank == 0 || c->inner_sizes[s][rank - 1] < 2) continue;
    --c->inner_sizes[s][rank - 1];
    for (size_t k = c->outputs; k < c->outputs + c->inputs; ++k) {
      generic_view_t* view = generic_operand(c, s, k);
      if (view->tensor.rank > 0 && view->tensor.rank >= (int32_t)rank &&
          view->sizes[view->tensor.rank - 1] == c->inner_sizes[s][rank - 1] + 1)
        --view->sizes[view->tensor.rank - 1];
    }
  }
}
LAUNCH(reductions_miss_the_last) {
  GENERIC_CHANGED(shorten(c));
}

LAUNCH(only_the_first_set) {
  GENERIC_CHANGED(if (c->set_count > 1) c->as.pointwise.set_count = 1);
}

LAUNCH(sorts_upwards) {
  GENERIC_CHANGED(c->as.sort.flags &= ~(uint64_t)TBK_SORT_DESCENDING);
}

static void scale_by_one(generic_copy_t* c) {
  const tbk_scalar_t one = {c->as.matmul.alpha.kind, 1, 1, 0};
  c->as.matmul.alpha = one;
  c->as.matmul.beta = one;
}
LAUNCH(products_are_not_scaled) {
  GENERIC_CHANGED(scale_by_one(c));
}

LAUNCH(convolutions_have_no_bias) {
  GENERIC_CHANGED(c->as.convolution.bias = NULL);
}

static void first_index_everywhere(generic_copy_t* c) {
  generic_view_t* index = &c->views[INDEX_FIRST];
  if (c->as.index.mode != TBK_INDEX_GATHER || c->as.index.index_count == 0) return;
  for (int32_t d = 0; d < index->tensor.rank; ++d)
    index->strides[d] = 0;
}
LAUNCH(gathers_begin_at_0) {
  GENERIC_CHANGED(first_index_everywhere(c));
}

LAUNCH(scans_go_forward) {
  GENERIC_CHANGED(c->as.scan.flags = 0);
}

extern const mutant_t mutants_broad_kernel[];
const mutant_t mutants_broad_kernel[] = {
    BASIC("kernels_are_found_once", "KRN-021", COUNT, "the second time there is none", 0,
          PATCH(kernel.kernel_find, kernels_are_found_once)),
    BASIC("inputs_are_scratch", "KRN-004", VALUE, "their first element is overwritten", 0,
          PATCH(launching.launch, inputs_are_scratch)),
    BASIC("plans_do_nothing", "KRN-013", COUNT, "and report success", 0,
          PATCH(launching.launch_plan, plans_do_nothing)),
    BASIC("plans_are_refused", "KRN-014", RETURN, "when they are to be run", 0,
          PATCH(launching.launch_plan, plans_are_refused)),
    BASIC("launches_without_stream_are_late", "CPY-006", ORDER, "by 120 ms", 0,
          PATCH(launching.launch, launch_without_stream_is_late)),
    BASIC("add_subtracts", "KRN-104", VALUE, "alpha has the other sign", "add.Tensor",
          PATCH(launching.launch, add_subtracts)),
    BASIC("fill_gives_one", "KRN-101", VALUE, "whatever the value is", "fill_.Scalar",
          PATCH(launching.launch, fill_gives_one)),
    BASIC("copy_takes_floats_only", "CAP-004", RETURN, "though others are declared", "copy_",
          PATCH(launching.launch, copy_takes_floats_only)),
    BASIC("programs_subtract", "PRG-002", VALUE, "ADD is SUB in every program", "tbk::pointwise",
          PATCH(launching.launch, programs_subtract)),
    BASIC("reductions_miss_the_last", "PRG-016", EXTENT, "element of the inner space",
          "tbk::reduce", PATCH(launching.launch, reductions_miss_the_last)),
    BASIC("only_the_first_set", "PRG-008", EXTENT, "is computed", "tbk::pointwise",
          PATCH(launching.launch, only_the_first_set)),
    BASIC("sorts_upwards", "PRG-060", VALUE, "DESCENDING is not read", "tbk::sort",
          PATCH(launching.launch, sorts_upwards)),
    BASIC("products_are_not_scaled", "PRG-039", VALUE, "alpha and beta are 1", "tbk::matmul",
          PATCH(launching.launch, products_are_not_scaled)),
    BASIC("convolutions_have_no_bias", "PRG-049", VALUE, "it is not read", "tbk::convolution",
          PATCH(launching.launch, convolutions_have_no_bias)),
    BASIC("gathers_begin_at_0", "PRG-022", VALUE, "each place has the first index", "tbk::index",
          PATCH(launching.launch, gathers_begin_at_0)),
    BASIC("scans_go_forward", "PRG-068", VALUE, "REVERSE is not read", "tbk::scan",
          PATCH(launching.launch, scans_go_forward)),
    {0}};
