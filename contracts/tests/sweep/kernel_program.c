/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "kernel_program.h"

#include "conversion.h"
#include "range.h"

#include <math.h>
#include <string.h>

/* --------------------------------------------------------------------------------- operands ---- */

/* The ends of what the dtype holds; beyond what a float can count; and what is no number. */
static void set_scalar(operation_t* operation, int64_t kind) {
  static const double special[] = {NAN, -INFINITY, -0.0};
  const number_type_t* type = operation->output.type;
  int bits = 8 * (int)type->size;
  if (kind == 0) return;
  if (kind == 7) {
    operation->scalar = (tbk_scalar_t){TBK_SCALAR_BOOL, 1, 0, 0};
    return;
  }
  if (type->is_complex) { /* each part is taken as it is */
    operation->scalar =
        (tbk_scalar_t){TBK_SCALAR_COMPLEX, 0, special[operation->output.count % 2], 2};
    return;
  }
  if (type->dtype == TBK_BOOL) {
    operation->scalar = (tbk_scalar_t){TBK_SCALAR_INT, kind == 5 ? 256 : 0, 0, 0};
    return;
  }
  if (type->digits > 0) {
    double largest = type->size == 2   ? 60000
                     : type->size == 4 ? 0x1.fffffep127
                                       : 0x1.fffffffffffffp1023;
    double least = type->size == 2 ? 0x1p-14 : type->size == 4 ? 0x1p-126 : 0x1p-1022;
    operation->scalar.real = kind == 1   ? least
                             : kind == 2 ? -largest
                             : kind == 3 ? 0.1
                             : kind == 5 ? 65520 /* half way: to even, which is infinity */
                             : kind == 6 ? 0
                                         : special[operation->output.count % 3];
    return;
  }
  if (kind >= 5) {
    operation->scalar.integer = kind == 5 ? -1 : 0;
    return;
  }
  uint64_t most = type->is_signed ? UINT64_MAX >> (65 - bits) : UINT64_MAX >> (64 - bits);
  int64_t least = type->is_signed ? -(int64_t)most - 1 : 0;
  int64_t odd = bits == 64 ? (INT64_C(1) << 53) + 1 : bits == 32 ? (1 << 24) + 1 : 5;
  operation->scalar.kind = TBK_SCALAR_INT;
  operation->scalar.integer = kind == 1 ? least : kind == 2 ? (int64_t)most : odd;
}

/* alpha 0.1 has all bits: times a power of two, and 0 added to it, it is rounded to the dtype
 * once. */
static void make_products_exact(tbk_fixture_t* fx, operation_t* operation) {
  for (int64_t i = 0; i < operation->output.count; i++) {
    const number_t zero = {0, 0, 0}, power = {0, ldexpl(1, (int)(fx_random(fx) % 5)), 0};
    number_store(operation->inputs[1].type, tensor_at(&operation->inputs[1], i), power);
    number_store(operation->inputs[0].type, tensor_at(&operation->inputs[0], i), zero);
  }
}

static form_t form_of(const sweep_case_t* one, operator_id_t id) {
  const kernel_shape_t* shape = kernel_shape_of(one, id);
  const int64_t reduced = sweep_get(one, &kernel_reduced_axis);
  const int64_t from = sweep_get(one, &kernel_from_axis) + sweep_get(one, &kernel_source_axis);
  return (form_t){.id = id,
                  .dtype = kernel_dtype_of(one),
                  .converts = from != 0,
                  .from_dtype = (int32_t)from - 1,
                  .rank = shape->rank,
                  .sizes = shape->sizes,
                  .input = kernel_input_of(one),
                  .output = kernel_output_of(one),
                  .values = (values_t)sweep_get(one, &kernel_values_axis),
                  .alias = kernel_alias_of(one),
                  .apart = (int)sweep_get(one, &kernel_apart_axis),
                  .others = (tensor_layout_t)sweep_get(one, &kernel_others_axis),
                  .sharing = (sharing_t)sweep_get(one, &kernel_sharing_axis),
                  .reduced = reduced > 0 ? (uint32_t)reduced : 0,
                  .empty_dim_list = reduced < 0,
                  .keepdim = sweep_get(one, &kernel_keep_axis) == 1};
}

static void make(tbk_fixture_t* fx, operation_t* operation, const sweep_case_t* one,
                 const form_t* form) {
  operation_lay_out(fx, operation, form);
  if (form->converts && form->values == VALUES_EXACT) conversion_inputs(fx, operation);
  set_scalar(operation, sweep_get(one, &kernel_scalar_axis));
  if (form->id == OPERATOR_ADD && sweep_get(one, &kernel_scalar_axis) == 3 &&
      operation->output.type->digits > 0)
    make_products_exact(fx, operation);
  operation_ready(fx, operation);
}

/* ---------------------------------------------------------------------------------- program ---- */

typedef struct program {
  scene_t scene;
  operation_t operation, other;
  tbk_plan_t* plan; /* NULL: launched */
  uint64_t workspace_bytes;
  tbk_memory_t workspace;
  operation_t* now; /* what the next call computes */
  tbk_status_t status;
} program_t;

static void call(tbk_fixture_t* fx, void* argument) {
  program_t* it = argument;
  operation_t* operation = it->now;
  tbk_error_t* error = it->scene.error != NULL ? &fx->error : NULL;
  const void* arguments = &operation->wire->arguments;
  memset(&fx->error, 0, sizeof fx->error);
  it->status = it->plan != NULL
                   ? operation->kernel->launch_plan(fx->self, fx->device, it->plan, arguments,
                                                    it->workspace, 0, it->scene.stream, error)
                   : operation->kernel->launch(fx->self, fx->device, operation->kernel, arguments,
                                               it->scene.stream, error);
}

/* Returns whether it was right, or refused as it may be. */
static bool compute(tbk_fixture_t* fx, program_t* it, operation_t* operation) {
  tbk_here_t here = TBK_HERE(operation_name(operation->form.id));
  it->now = operation;
  scene_load(&it->scene);
  scene_call(&it->scene, call, it);
  scene_end(&it->scene);
  if (it->status == TBK_UNSUPPORTED && it->plan == NULL)
    return operation_check_untouched(fx, operation, here);
  return tbk_check_status(TBK_OK, it->status, &fx->error, here) &&
         operation_check(fx, operation, 0, here);
}

/* Takes operands of the same sizes and strides that are not one memory, but where that is in the strides. */
static void set_apart(form_t* form) {
  if (form->alias != 0) form->output = form->input;
  form->alias = 0;
  if (form->sharing != SHARING_TURNED) form->sharing = SHARING_NONE;
}

/* Makes the plan for the operands, or for such that are apart. False: it has no plans, or not for this. */
static bool prepare(tbk_fixture_t* fx, program_t* it) {
  const tbk_kernel_t* kernel = it->operation.kernel;
  operation_t* operation = &it->operation;
  if (!operation_has_plans(kernel)) return false;
  if (sweep_get(it->scene.one, &kernel_made_axis) == 1) {
    form_t form = operation->form;
    set_apart(&form);
    operation = &it->other;
    make(fx, operation, it->scene.one, &form);
  }
  tbk_status_t status = kernel->prepare(fx->self, fx->device, kernel, &operation->wire->arguments,
                                        &it->plan, &it->workspace_bytes, &fx->error);
  if (status == TBK_UNSUPPORTED) return false;
  REQUIRE_OK(status);
  if (it->workspace_bytes > 0) it->workspace = fx_alloc(fx, it->workspace_bytes);
  return true;
}

/* Runs the plan on other memory that is apart, at other offsets, and on the first operands again. */
static void compute_again(tbk_fixture_t* fx, program_t* it) {
  form_t form = it->operation.form;
  operation_t* first = &it->operation;
  set_apart(&form);
  if (form.input == TENSOR_PLAIN) form.input = TENSOR_OFFSET;
  if (form.output == TENSOR_PLAIN) form.output = TENSOR_OFFSET;
  make(fx, &it->other, it->scene.one, &form);
  if (!compute(fx, it, &it->other) || first->form.alias != 0) return;
  fx_upload(fx, first->output.memory, first->poison, first->output.block_bytes);
  (void)compute(fx, it, first);
}

void kernel_run(tbk_fixture_t* fx, sweep_case_t* one, operator_id_t id) {
  program_t* it = (program_t*)(void*)fx_zeros(fx, sizeof *it);
  form_t form = form_of(one, id);
  scene_begin(fx, one, &it->scene);
  make(fx, &it->operation, one, &form);
  if (it->operation.kernel == NULL || (kernel_by_plan(one) && !prepare(fx, it))) {
    one->left_out = true;
    return;
  }
  bool right = compute(fx, it, &it->operation);
  if (it->plan == NULL) return;
  if (right) compute_again(fx, it);
  it->operation.kernel->plan_destroy(fx->self, it->plan);
}

void kernel_run_once(tbk_fixture_t* fx, sweep_case_t* one, operator_id_t id, values_t values) {
  program_t* it = (program_t*)(void*)fx_zeros(fx, sizeof *it);
  form_t form = form_of(one, id);
  form.values = values;
  scene_begin(fx, one, &it->scene);
  make(fx, &it->operation, one, &form);
  (void)compute(fx, it, &it->operation);
}
