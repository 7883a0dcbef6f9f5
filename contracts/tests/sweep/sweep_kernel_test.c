/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweeps of the operators: dtypes, shapes, layouts of inputs and outputs in combination, which
 * operand the output is, the extremes of values and scalars, launched or by a plan. What a kernel
 * refuses must be untouched.
 */
#include "kernel_space.h"
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
    number_store(operation->inputs[0].type, tensor_at(&operation->inputs[0], i), zero);
    number_store(operation->inputs[1].type, tensor_at(&operation->inputs[1], i), power);
  }
}

static form_t form_of(const sweep_case_t* one, operator_id_t id) {
  const kernel_shape_t* shape = kernel_shape_of(one, id);
  int64_t reduced = sweep_get(one, &kernel_reduced_axis), from = sweep_get(one, &kernel_from_axis);
  return (form_t){.id = id,
                  .dtype = kernel_dtype_of(one),
                  .converts = from != 0,
                  .from_dtype = (int32_t)from - 1,
                  .rank = shape->rank,
                  .sizes = shape->sizes,
                  .input = (tensor_layout_t)sweep_get(one, &kernel_input_axis),
                  .output = (tensor_layout_t)sweep_get(one, &kernel_output_axis),
                  .values = (values_t)sweep_get(one, &kernel_values_axis),
                  .alias = (int)sweep_get(one, &kernel_alias_axis),
                  .reduced = reduced > 0 ? (uint32_t)reduced : 0,
                  .empty_dim_list = reduced < 0,
                  .keepdim = sweep_get(one, &kernel_keep_axis) == 1};
}

static void make(tbk_fixture_t* fx, operation_t* operation, const sweep_case_t* one,
                 const form_t* form) {
  operation_lay_out(fx, operation, form);
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

/* False: it has no plans, or not for this. */
static bool prepare(tbk_fixture_t* fx, program_t* it) {
  const tbk_kernel_t* kernel = it->operation.kernel;
  if (!operation_has_plans(kernel)) return false;
  tbk_status_t status =
      kernel->prepare(fx->self, fx->device, kernel, &it->operation.wire->arguments, &it->plan,
                      &it->workspace_bytes, &fx->error);
  if (status == TBK_UNSUPPORTED) return false;
  REQUIRE_OK(status);
  if (it->workspace_bytes > 0) it->workspace = fx_alloc(fx, it->workspace_bytes);
  return true;
}

/* The plan on other memory and at other offsets, and on the first operands again. */
static void compute_again(tbk_fixture_t* fx, program_t* it) {
  form_t form = it->operation.form;
  if (form.input == TENSOR_PLAIN) form.input = TENSOR_OFFSET;
  if (form.output == TENSOR_PLAIN && form.alias == 0) form.output = TENSOR_OFFSET;
  make(fx, &it->other, it->scene.one, &form);
  if (!compute(fx, it, &it->other) || form.alias != 0) return;
  operation_t* first = &it->operation;
  fx_upload(fx, first->output.memory, first->poison, first->output.block_bytes);
  (void)compute(fx, it, first);
}

static void run(tbk_fixture_t* fx, sweep_case_t* one, operator_id_t id) {
  program_t* it = (program_t*)(void*)fx_zeros(fx, sizeof *it);
  form_t form = form_of(one, id);
  scene_begin(fx, one, &it->scene);
  make(fx, &it->operation, one, &form);
  if (it->operation.kernel == NULL || (sweep_get(one, &kernel_how_axis) == 1 && !prepare(fx, it))) {
    one->left_out = true;
    return;
  }
  bool right = compute(fx, it, &it->operation);
  if (it->plan == NULL) return;
  if (right) compute_again(fx, it);
  it->operation.kernel->plan_destroy(fx->self, it->plan);
}

/* ------------------------------------------------------------------------------------- rows ---- */

#define PROGRAM(name, id)                                                     \
  static bool fits_##name(const tbk_fixture_t* fx, const sweep_case_t* one) { \
    return kernel_fits(fx, one, id);                                          \
  }                                                                           \
  static void run_##name(tbk_fixture_t* fx, sweep_case_t* one) {              \
    run(fx, one, id);                                                         \
  }

#define SCENE &sweep_stream, &sweep_device, &sweep_thread, &sweep_error
#define LAYOUTS &kernel_output_axis, &kernel_how_axis

#define OPERANDS &kernel_input_axis, &kernel_values_axis, &kernel_alias_axis

PROGRAM(fill, OPERATOR_FILL)

static void fill_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kernel_dtype_axis, &kernel_scalar_axis, &kernel_shape_axis, LAYOUTS, SCENE},
      fits_fill,
      run_fill,
      2};
  sweep_run(fx, &space);
}

PROGRAM(copy, OPERATOR_COPY)

static void copy_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kernel_dtype_axis, &kernel_shape_axis, LAYOUTS, OPERANDS, SCENE}, fits_copy, run_copy, 0};
  sweep_run(fx, &space);
}

PROGRAM(add, OPERATOR_ADD)

static void add_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kernel_dtype_axis, &kernel_values_axis, &kernel_scalar_axis, &kernel_shape_axis, LAYOUTS,
       &kernel_input_axis, &kernel_alias_axis, SCENE},
      fits_add,
      run_add,
      3};
  sweep_run(fx, &space);
}

PROGRAM(mul, OPERATOR_MUL)

static void mul_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&kernel_dtype_axis, &kernel_values_axis, &kernel_shape_axis,
                                       LAYOUTS, &kernel_input_axis, &kernel_alias_axis, SCENE},
                                      fits_mul,
                                      run_mul,
                                      2};
  sweep_run(fx, &space);
}

PROGRAM(where, OPERATOR_WHERE)

static void where_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kernel_dtype_axis, &kernel_shape_axis, LAYOUTS, OPERANDS, SCENE}, fits_where, run_where, 0};
  sweep_run(fx, &space);
}

PROGRAM(sum, OPERATOR_SUM)

static void sum_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&kernel_dtype_axis, &kernel_values_axis, &kernel_shape_axis, &kernel_reduced_axis,
       &kernel_keep_axis, LAYOUTS, &kernel_input_axis, SCENE},
      fits_sum,
      run_sum,
      3};
  sweep_run(fx, &space);
}

PROGRAM(mm, OPERATOR_MM)

static void mm_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&kernel_dtype_axis, &kernel_product_axis,
                                       &kernel_output_axis, &kernel_how_axis, OPERANDS, SCENE},
                                      fits_mm,
                                      run_mm,
                                      2};
  sweep_run(fx, &space);
}

/* Each layout with each shape, of the operators with a form of their own for each. */
SWEEP_DIMENSION(operator_axis, "operator", {"copy", OPERATOR_COPY}, {"add", OPERATOR_ADD},
                {"mul", OPERATOR_MUL}, {"where", OPERATOR_WHERE}, {"sum", OPERATOR_SUM});
static bool fits_layouts(const tbk_fixture_t* fx, const sweep_case_t* one) {
  return kernel_fits(fx, one, (operator_id_t)sweep_get(one, &operator_axis));
}

static void run_layouts(tbk_fixture_t* fx, sweep_case_t* one) {
  run(fx, one, (operator_id_t)sweep_get(one, &operator_axis));
}

static void every_layout_of_every_shape_is_right(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&operator_axis, &kernel_shape_axis, &kernel_input_axis, &kernel_output_axis,
       &kernel_how_axis, &kernel_float_axis, SCENE},
      fits_layouts,
      run_layouts,
      3};
  sweep_run(fx, &space);
}

/* NaN, infinities and zeros of both signs, to every float and to a truth value. */
static bool fits_conversion(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const number_type_t* to = number_type((int32_t)sweep_get(one, &kernel_dtype_axis));
  const number_type_t* from = number_type((int32_t)sweep_get(one, &kernel_from_axis) - 1);
  if (!fx_has_dtype(fx, from->dtype) || !fx_has_dtype(fx, to->dtype)) return false;
  if (from == to || !scene_fits(fx, one)) return false;
  if (!kernel_size_fits(fx, one, OPERATOR_COPY, kernel_shape_of(one, OPERATOR_COPY), to))
    return false;
  if (kernel_shape_of(one, OPERATOR_COPY)->rank > fx->properties.max_rank) return false;
  return to->dtype == TBK_BOOL || (to->digits > 0 && (to->is_complex || !from->is_complex));
}

static void run_conversion(tbk_fixture_t* fx, sweep_case_t* one) {
  program_t* it = (program_t*)(void*)fx_zeros(fx, sizeof *it);
  form_t form = form_of(one, OPERATOR_COPY);
  form.values = VALUES_SPECIAL;
  scene_begin(fx, one, &it->scene);
  make(fx, &it->operation, one, &form);
  (void)compute(fx, it, &it->operation);
}

static void copy_converts_special_values_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&kernel_dtype_axis, &kernel_from_axis, &kernel_shape_axis,
                                       &kernel_input_axis, &kernel_output_axis, SCENE},
                                      fits_conversion,
                                      run_conversion,
                                      3};
  sweep_run(fx, &space);
}

static const tbk_case_t cases[] = {
    TBK_CASE("KRN-101", "kernel op:fill_.Scalar", TBK_CASE_THOROUGH, fill_is_right_in_every_form),
    TBK_CASE("KRN-102", "kernel op:copy_", TBK_CASE_THOROUGH, copy_is_right_in_every_form),
    TBK_CASE("KRN-103", "kernel op:copy_", TBK_CASE_THOROUGH,
             copy_converts_special_values_in_every_form),
    TBK_CASE("KRN-104", "kernel op:add.Tensor", TBK_CASE_THOROUGH, add_is_right_in_every_form),
    TBK_CASE("KRN-105", "kernel op:mul.Tensor", TBK_CASE_THOROUGH, mul_is_right_in_every_form),
    TBK_CASE("KRN-106", "kernel op:where.self", TBK_CASE_THOROUGH, where_is_right_in_every_form),
    TBK_CASE("KRN-107", "kernel op:sum.dim_IntList", TBK_CASE_THOROUGH, sum_is_right_in_every_form),
    TBK_CASE("KRN-005",
             "kernel op:copy_ op:add.Tensor op:mul.Tensor op:where.self op:sum.dim_IntList",
             TBK_CASE_THOROUGH, every_layout_of_every_shape_is_right),
    TBK_CASE("KRN-108", "kernel op:mm", TBK_CASE_THOROUGH, mm_is_right_in_every_form),
};
TBK_SUITE(sweep_kernel);
