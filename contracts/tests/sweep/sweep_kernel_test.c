/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sweeps of the operators: dtypes, shapes, layouts of inputs and outputs in combination, which
 * operand the output is, the extremes of values and scalars, launched or by a plan. What a kernel
 * refuses must be untouched.
 */
#include "dimensions.h"
#include "operation.h"
#include "range.h"

#include <math.h>
#include <string.h>

typedef struct shape {
  int32_t rank;
  int64_t sizes[TENSOR_RANK];
} shape_t;

static const shape_t shapes[] = {
    {0, {0}},
    {1, {1}},
    {1, {37}},
    {2, {5, 7}},
    {3, {3, 1, 4}},
    {4, {2, 3, 4, 5}},
    {1, {0}},
    {3, {4, 0, 2}},
    {1, {1025}},
    {2, {2, 9001}},
    {8, {2, 1, 3, 1, 2, 1, 2, 1}},
    {2, {257, 3}},
    {5, {3, 3, 2, 2, 2}},
    {6, {2, 2, 2, 2, 2, 3}},
    {1, {(1 << 20) + 3}},
    {2, {4, 4}},
    {3, {3, 4, 5}},
};

/* Rows, inner, columns. */
static const shape_t products[] = {
    {3, {1, 1, 1}},    {3, {5, 7, 3}},  {3, {8, 8, 8}},    {3, {33, 17, 29}},
    {3, {33, 33, 33}}, {3, {4, 0, 3}},  {3, {0, 5, 4}},    {3, {3, 4, 0}},
    {3, {129, 2, 65}}, {3, {1, 16, 1}}, {3, {64, 64, 64}}, {3, {2, 300, 2}},
};

SWEEP_DIMENSION(shape_axis, "shape", {"scalar", 0}, {"1", 1}, {"37", 2}, {"5x7", 3}, {"3x1x4", 4},
                {"2x3x4x5", 5}, {"0", 6}, {"4x0x2", 7}, {"1025", 8}, {"2x9001", 9}, {"rank8", 10},
                {"257x3", 11}, {"rank5", 12}, {"rank6", 13}, {"1M+3", 14}, {"4x4", 15},
                {"3x4x5", 16});
SWEEP_DIMENSION(product_axis, "product", {"1x1x1", 0}, {"5x7x3", 1}, {"8x8x8", 2}, {"33x17x29", 3},
                {"33x33x33", 4}, {"4x0x3", 5}, {"0x5x4", 6}, {"3x4x0", 7}, {"129x2x65", 8},
                {"1x16x1", 9}, {"64x64x64", 10}, {"2x300x2", 11});
SWEEP_DIMENSION(dtype_axis, "dtype", {"uint8", TBK_UINT8}, {"int8", TBK_INT8}, {"int16", TBK_INT16},
                {"int32", TBK_INT32}, {"int64", TBK_INT64}, {"float16", TBK_FLOAT16},
                {"float32", TBK_FLOAT32}, {"float64", TBK_FLOAT64}, {"complex64", TBK_COMPLEX64},
                {"complex128", TBK_COMPLEX128}, {"bool", TBK_BOOL}, {"bfloat16", TBK_BFLOAT16});
SWEEP_DIMENSION(float_axis, "dtype", {"float32", TBK_FLOAT32});
/* One more than the dtype; 0 where nothing is converted. */
SWEEP_DIMENSION(from_axis, "from", {"float16", 1 + TBK_FLOAT16}, {"float32", 1 + TBK_FLOAT32},
                {"float64", 1 + TBK_FLOAT64}, {"bfloat16", 1 + TBK_BFLOAT16},
                {"complex64", 1 + TBK_COMPLEX64}, {"complex128", 1 + TBK_COMPLEX128});
SWEEP_DIMENSION(input_axis, "input", {"plain", TENSOR_PLAIN}, {"offset", TENSOR_OFFSET},
                {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED}, {"rows", TENSOR_ROWS},
                {"broadcast", TENSOR_BROADCAST}, {"reversed", TENSOR_REVERSED},
                {"broadcast_middle", TENSOR_BROADCAST_MIDDLE},
                {"broadcast_last", TENSOR_BROADCAST_LAST}, {"far", TENSOR_FAR});
SWEEP_DIMENSION(output_axis, "output", {"plain", TENSOR_PLAIN}, {"offset", TENSOR_OFFSET},
                {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED}, {"rows", TENSOR_ROWS},
                {"far", TENSOR_FAR});
SWEEP_DIMENSION(values_axis, "values", {"exact", VALUES_EXACT}, {"any", VALUES_ANY},
                {"special", VALUES_SPECIAL}, {"largest", VALUES_LARGEST});
SWEEP_DIMENSION(alias_axis, "alias", {"none", 0}, {"1st", 1}, {"2nd", 2}, {"3rd", 3},
                {"all", ALIAS_ALL});
SWEEP_DIMENSION(reduced_axis, "over", {"all", 0}, {"list", -1}, {"0", 1}, {"1", 2}, {"0,1", 3},
                {"2", 4}, {"0,2", 5});
SWEEP_DIMENSION(keep_axis, "keepdim", {"no", 0}, {"yes", 1});
SWEEP_DIMENSION(scalar_axis, "scalar", {"ordinary", 0}, {"least", 1}, {"most", 2}, {"odd", 3},
                {"special", 4}, {"beyond", 5}, {"0", 6});
SWEEP_DIMENSION(how_axis, "by", {"launch", 0}, {"plan", 1});

/* ----------------------------------------------------------------------- what may be combined --
 * */

/* One of all, or the one of float_axis where a space has no more. */
static int32_t dtype_of(const sweep_case_t* one) {
  return (int32_t)(sweep_get(one, &dtype_axis) + sweep_get(one, &float_axis));
}

static const shape_t* shape_of(const sweep_case_t* one, operator_id_t id) {
  return id == OPERATOR_MM ? &products[sweep_get(one, &product_axis)]
                           : &shapes[sweep_get(one, &shape_axis)];
}

static int64_t fan_in(const shape_t* shape, operator_id_t id) {
  int64_t count = 1;
  if (id == OPERATOR_MM) return shape->sizes[1];
  for (int32_t k = 0; id == OPERATOR_SUM && k < shape->rank; k++)
    count *= shape->sizes[k];
  return count;
}

/* Returns whether `scalar` may be of a fill, or of an add, which multiplies by it. */
static bool scalar_fits(operator_id_t id, const number_type_t* type, int64_t scalar,
                        int64_t values) {
  if (scalar == 0) return true;
  if (id == OPERATOR_ADD) {
    bool exact = values == VALUES_EXACT && !type->is_complex;
    if (type->digits == 0) return exact && type->size >= 4 && scalar < 4;
    if (scalar == 6) return !type->is_complex && values == VALUES_SPECIAL; /* 0 times infinity */
    return exact && scalar == 3;
  }
  if (values != VALUES_EXACT) return false;
  if (type->dtype == TBK_BOOL) return scalar == 5 || scalar == 6; /* 256 is true */
  if (type->is_complex) return scalar == 4;
  /* Infinity; and what is below 0, which C takes modulo where the dtype has no sign. */
  if (scalar == 5) return type->digits == 11 || (type->digits == 0 && !type->is_signed);
  return scalar != 4 || type->digits > 0;
}

static bool values_fit(const sweep_case_t* one, operator_id_t id, const number_type_t* type) {
  int64_t values = sweep_get(one, &values_axis), scalar = sweep_get(one, &scalar_axis);
  bool selects = id == OPERATOR_COPY || id == OPERATOR_WHERE;
  bool arithmetic = id == OPERATOR_ADD || id == OPERATOR_MUL || id == OPERATOR_MM;
  if (type->dtype == TBK_BOOL && arithmetic) return false;
  if (!scalar_fits(id, type, scalar, values)) return false;
  if (values == VALUES_LARGEST)
    return !type->is_complex && (id != OPERATOR_MM || type->digits == 0);
  if (values == VALUES_ANY) return selects || type->digits == 0;
  if (values == VALUES_SPECIAL)
    return type->digits > 0 && (selects || (id == OPERATOR_ADD && !type->is_complex));
  /* So few bits that every sum is exact, also of parts. */
  return type->digits == 0 || type->digits > 11 || fan_in(shape_of(one, id), id) <= 17;
}

/* A million elements cost time, and are of two dtypes; gaps of 33000 want a small dimension. */
static bool size_fits(const tbk_fixture_t* fx, const sweep_case_t* one, operator_id_t id,
                      const shape_t* shape, const number_type_t* type) {
  int64_t input = sweep_get(one, &input_axis), output = sweep_get(one, &output_axis);
  bool far = input == TENSOR_FAR || output == TENSOR_FAR;
  bool plain = input == TENSOR_PLAIN && output == TENSOR_PLAIN;
  bool million = id != OPERATOR_MM && shape->rank == 1 && shape->sizes[0] > 1 << 20;
  uint64_t most = UINT64_C(4) * type->size * (million ? 1 << 20 : 5 * 33000);
  if ((far || million) && most > sweep_room(fx)) return false;
  if (id == OPERATOR_MM) return !far || shape->sizes[0] * shape->sizes[1] <= 64;
  if (million) {
    bool simple = plain && sweep_get(one, &how_axis) == 0 && sweep_get(one, &from_axis) == 0;
    return simple && id != OPERATOR_WHERE &&
           (type->dtype == TBK_FLOAT32 || type->dtype == TBK_UINT8);
  }
  return !far || (shape->rank >= 2 && shape->sizes[0] <= 5);
}

static bool alias_fits(const sweep_case_t* one, operator_id_t id, const shape_t* shape) {
  static const int first[OPERATORS] = {0, 1, 1, 1, 2, 0, 1},
                   last[OPERATORS] = {0, 1, 2, 2, 3, 0, 2};
  const int64_t alias = sweep_get(one, &alias_axis), input = sweep_get(one, &input_axis);
  bool condition = id == OPERATOR_WHERE && alias == 1; /* the output is the condition */
  if (alias == 0) return true;
  if (condition && sweep_get(one, &dtype_axis) != TBK_BOOL) return false;
  if (alias == ALIAS_ALL) {
    if (id != OPERATOR_ADD && id != OPERATOR_MUL) return false;
    if (sweep_get(one, &values_axis) == VALUES_SPECIAL) return false; /* zeros of either sign */
  } else if (!condition && (first[id] == 0 || alias < first[id] || alias > last[id])) {
    return false;
  }
  if (input == TENSOR_BROADCAST || input == TENSOR_BROADCAST_MIDDLE ||
      input == TENSOR_BROADCAST_LAST)
    return false;
  if (sweep_get(one, &output_axis) != TENSOR_PLAIN) return false; /* it is the input's */
  return id != OPERATOR_MM ||
         (shape->sizes[0] == shape->sizes[1] && shape->sizes[1] == shape->sizes[2]);
}

static bool can_plan(const tbk_fixture_t* fx, operator_id_t id) {
  const tbk_kernel_t* kernel =
      fx->kernel->kernel_find(fx->self, fx->device, operation_name(id), operation_version(id));
  return TBK_HAS(kernel, tbk_kernel_t, prepare) != 0;
}

static bool kernel_fits(const tbk_fixture_t* fx, const sweep_case_t* one, operator_id_t id) {
  const number_type_t* type = number_type(dtype_of(one));
  const shape_t* shape = shape_of(one, id);
  int64_t reduced = sweep_get(one, &reduced_axis);
  if (!scene_fits(fx, one) || (fx->properties.dtypes >> type->dtype & 1) == 0) return false;
  if (sweep_get(one, &how_axis) == 1 && !can_plan(fx, id)) return false;
  if (id != OPERATOR_MM && shape->rank > fx->properties.max_rank) return false;
  if (reduced > 0 && reduced >> shape->rank != 0) return false;
  return values_fit(one, id, type) && alias_fits(one, id, shape) &&
         size_fits(fx, one, id, shape, type);
}

/* ----------------------------------------------------------------------------------- operands --
 * */

/* The ends of what the dtype holds; beyond what a float can count; and what is no number. */
static void set_scalar(operation_t* operation, int64_t kind) {
  static const double special[] = {NAN, -INFINITY, -0.0};
  const number_type_t* type = operation->output.type;
  int bits = 8 * (int)type->size;
  if (kind == 0) return;
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
  const shape_t* shape = shape_of(one, id);
  int64_t reduced = sweep_get(one, &reduced_axis), from = sweep_get(one, &from_axis);
  return (form_t){.id = id,
                  .dtype = dtype_of(one),
                  .converts = from != 0,
                  .from_dtype = (int32_t)from - 1,
                  .rank = shape->rank,
                  .sizes = shape->sizes,
                  .input = (tensor_layout_t)sweep_get(one, &input_axis),
                  .output = (tensor_layout_t)sweep_get(one, &output_axis),
                  .values = (values_t)sweep_get(one, &values_axis),
                  .alias = (int)sweep_get(one, &alias_axis),
                  .reduced = reduced > 0 ? (uint32_t)reduced : 0,
                  .empty_dim_list = reduced < 0,
                  .keepdim = sweep_get(one, &keep_axis) == 1};
}

static void make(tbk_fixture_t* fx, operation_t* operation, const sweep_case_t* one,
                 const form_t* form) {
  operation_lay_out(fx, operation, form);
  set_scalar(operation, sweep_get(one, &scalar_axis));
  if (form->id == OPERATOR_ADD && sweep_get(one, &scalar_axis) == 3 &&
      operation->output.type->digits > 0)
    make_products_exact(fx, operation);
  operation_ready(fx, operation);
}

/* ------------------------------------------------------------------------------------- program --
 * */

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
  if (!TBK_HAS(kernel, tbk_kernel_t, prepare)) return false;
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
  if (it->operation.kernel == NULL || (sweep_get(one, &how_axis) == 1 && !prepare(fx, it))) {
    one->left_out = true;
    return;
  }
  bool right = compute(fx, it, &it->operation);
  if (it->plan == NULL) return;
  if (right) compute_again(fx, it);
  it->operation.kernel->plan_destroy(fx->self, it->plan);
}

/* ---------------------------------------------------------------------------------------- rows --
 * */

#define PROGRAM(name, id)                                                     \
  static bool fits_##name(const tbk_fixture_t* fx, const sweep_case_t* one) { \
    return kernel_fits(fx, one, id);                                          \
  }                                                                           \
  static void run_##name(tbk_fixture_t* fx, sweep_case_t* one) {              \
    run(fx, one, id);                                                         \
  }

#define SCENE &sweep_stream, &sweep_device, &sweep_thread, &sweep_error
#define LAYOUTS &output_axis, &how_axis

#define OPERANDS &input_axis, &values_axis, &alias_axis

PROGRAM(fill, OPERATOR_FILL)

static void fill_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&dtype_axis, &scalar_axis, &shape_axis, LAYOUTS, SCENE}, fits_fill, run_fill, 2};
  sweep_run(fx, &space);
}

PROGRAM(copy, OPERATOR_COPY)

static void copy_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&dtype_axis, &shape_axis, LAYOUTS, OPERANDS, SCENE}, fits_copy, run_copy, 0};
  sweep_run(fx, &space);
}

PROGRAM(add, OPERATOR_ADD)

static void add_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&dtype_axis, &values_axis, &scalar_axis, &shape_axis,
                                       LAYOUTS, &input_axis, &alias_axis, SCENE},
                                      fits_add,
                                      run_add,
                                      3};
  sweep_run(fx, &space);
}

PROGRAM(mul, OPERATOR_MUL)

static void mul_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&dtype_axis, &values_axis, &shape_axis, LAYOUTS, &input_axis, &alias_axis, SCENE},
      fits_mul,
      run_mul,
      2};
  sweep_run(fx, &space);
}

PROGRAM(where, OPERATOR_WHERE)

static void where_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&dtype_axis, &shape_axis, LAYOUTS, OPERANDS, SCENE}, fits_where, run_where, 0};
  sweep_run(fx, &space);
}

PROGRAM(sum, OPERATOR_SUM)

static void sum_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {{&dtype_axis, &values_axis, &shape_axis, &reduced_axis,
                                       &keep_axis, LAYOUTS, &input_axis, SCENE},
                                      fits_sum,
                                      run_sum,
                                      3};
  sweep_run(fx, &space);
}

PROGRAM(mm, OPERATOR_MM)

static void mm_is_right_in_every_form(tbk_fixture_t* fx) {
  static const sweep_space_t space = {
      {&dtype_axis, &product_axis, &output_axis, &how_axis, OPERANDS, SCENE}, fits_mm, run_mm, 2};
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
      {&operator_axis, &shape_axis, &input_axis, &output_axis, &how_axis, &float_axis, SCENE},
      fits_layouts,
      run_layouts,
      3};
  sweep_run(fx, &space);
}

/* NaN, infinities and zeros of both signs, to every float and to a truth value. */
static bool fits_conversion(const tbk_fixture_t* fx, const sweep_case_t* one) {
  const number_type_t* to = number_type((int32_t)sweep_get(one, &dtype_axis));
  const number_type_t* from = number_type((int32_t)sweep_get(one, &from_axis) - 1);
  if ((fx->properties.dtypes >> from->dtype & fx->properties.dtypes >> to->dtype & 1) == 0)
    return false;
  if (from == to || !scene_fits(fx, one)) return false;
  if (!size_fits(fx, one, OPERATOR_COPY, shape_of(one, OPERATOR_COPY), to)) return false;
  if (shape_of(one, OPERATOR_COPY)->rank > fx->properties.max_rank) return false;
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
  static const sweep_space_t space = {
      {&dtype_axis, &from_axis, &shape_axis, &input_axis, &output_axis, SCENE},
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
