/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "kernel_space.h"

static const kernel_shape_t shapes[] = {
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
    {3, {4, 4, 4}},
    {2, {3, 61}},
    {2, {61, 3}},
    {3, {4, 3, 16}},
    {1, {97}},
};

/* Rows, inner, columns. */
static const kernel_shape_t products[] = {
    {3, {1, 1, 1}},    {3, {5, 7, 3}},   {3, {8, 8, 8}}, {3, {33, 17, 29}}, {3, {33, 33, 33}},
    {3, {4, 0, 3}},    {3, {0, 5, 4}},   {3, {3, 4, 0}}, {3, {129, 2, 65}}, {3, {1, 16, 1}},
    {3, {64, 64, 64}}, {3, {2, 300, 2}}, {3, {5, 7, 5}},
};

SWEEP_SHARED_DIMENSION(kernel_shape_axis, "shape", {"scalar", 0}, {"1", 1}, {"37", 2}, {"5x7", 3},
                       {"3x1x4", 4}, {"2x3x4x5", 5}, {"0", 6}, {"4x0x2", 7}, {"1025", 8},
                       {"2x9001", 9}, {"rank8", 10}, {"257x3", 11}, {"rank5", 12}, {"rank6", 13},
                       {"1M+3", 14}, {"4x4", 15}, {"3x4x5", 16}, {"4x4x4", 17});
SWEEP_SHARED_DIMENSION(kernel_product_axis, "product", {"1x1x1", 0}, {"5x7x3", 1}, {"8x8x8", 2},
                       {"33x17x29", 3}, {"33x33x33", 4}, {"4x0x3", 5}, {"0x5x4", 6}, {"3x4x0", 7},
                       {"129x2x65", 8}, {"1x16x1", 9}, {"64x64x64", 10}, {"2x300x2", 11});
/* Keep many cases quick. */
SWEEP_SHARED_DIMENSION(kernel_small_axis, "shape", {"37", 2}, {"5x7", 3}, {"4x4", 15},
                       {"3x4x5", 16}, {"4x4x4", 17});
SWEEP_SHARED_DIMENSION(kernel_small_product_axis, "product", {"5x7x3", 1}, {"8x8x8", 2},
                       {"5x7x5", 12});
SWEEP_SHARED_DIMENSION(kernel_dtype_axis, "dtype", {"uint8", TBK_UINT8}, {"int8", TBK_INT8},
                       {"int16", TBK_INT16}, {"int32", TBK_INT32}, {"int64", TBK_INT64},
                       {"float16", TBK_FLOAT16}, {"float32", TBK_FLOAT32}, {"float64", TBK_FLOAT64},
                       {"complex64", TBK_COMPLEX64}, {"complex128", TBK_COMPLEX128},
                       {"bool", TBK_BOOL}, {"bfloat16", TBK_BFLOAT16});
SWEEP_SHARED_DIMENSION(kernel_float_axis, "dtype", {"float32", TBK_FLOAT32});
/* One more than the dtype; 0 where nothing is converted. */
SWEEP_SHARED_DIMENSION(kernel_from_axis, "from", {"float16", 1 + TBK_FLOAT16},
                       {"float32", 1 + TBK_FLOAT32}, {"float64", 1 + TBK_FLOAT64},
                       {"bfloat16", 1 + TBK_BFLOAT16}, {"complex64", 1 + TBK_COMPLEX64},
                       {"complex128", 1 + TBK_COMPLEX128});
SWEEP_SHARED_DIMENSION(kernel_source_axis, "from", {"uint8", 1 + TBK_UINT8}, {"int8", 1 + TBK_INT8},
                       {"int16", 1 + TBK_INT16}, {"int32", 1 + TBK_INT32}, {"int64", 1 + TBK_INT64},
                       {"float16", 1 + TBK_FLOAT16}, {"float32", 1 + TBK_FLOAT32},
                       {"float64", 1 + TBK_FLOAT64}, {"complex64", 1 + TBK_COMPLEX64},
                       {"complex128", 1 + TBK_COMPLEX128}, {"bool", 1 + TBK_BOOL},
                       {"bfloat16", 1 + TBK_BFLOAT16});
/* Stand for each size of an element, and for devices of one dtype. */
SWEEP_SHARED_DIMENSION(kernel_width_axis, "dtype", {"uint8", TBK_UINT8}, {"bfloat16", TBK_BFLOAT16},
                       {"float32", TBK_FLOAT32}, {"int32", TBK_INT32}, {"int64", TBK_INT64},
                       {"complex128", TBK_COMPLEX128});
/* Have room for all values that a conversion is asked about. */
SWEEP_SHARED_DIMENSION(kernel_table_axis, "shape", {"3x61", 18}, {"61x3", 19}, {"4x3x16", 20},
                       {"97", 21});
SWEEP_SHARED_DIMENSION(kernel_input_axis, "input", {"plain", TENSOR_PLAIN},
                       {"offset", TENSOR_OFFSET}, {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED},
                       {"rows", TENSOR_ROWS}, {"broadcast", TENSOR_BROADCAST},
                       {"reversed", TENSOR_REVERSED}, {"broadcast_middle", TENSOR_BROADCAST_MIDDLE},
                       {"broadcast_last", TENSOR_BROADCAST_LAST}, {"far", TENSOR_FAR});
SWEEP_SHARED_DIMENSION(kernel_output_axis, "output", {"plain", TENSOR_PLAIN},
                       {"offset", TENSOR_OFFSET}, {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED},
                       {"rows", TENSOR_ROWS}, {"far", TENSOR_FAR});
/* Leave out what lies far apart, which takes time. */
SWEEP_SHARED_DIMENSION(kernel_near_input_axis, "input", {"plain", TENSOR_PLAIN},
                       {"offset", TENSOR_OFFSET}, {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED},
                       {"rows", TENSOR_ROWS}, {"broadcast", TENSOR_BROADCAST},
                       {"reversed", TENSOR_REVERSED}, {"broadcast_middle", TENSOR_BROADCAST_MIDDLE},
                       {"broadcast_last", TENSOR_BROADCAST_LAST}, {"thirds", TENSOR_THIRDS});
/* Tell what is contiguous from what is not, where all of the others' layouts are to meet both. */
SWEEP_SHARED_DIMENSION(kernel_two_inputs_axis, "input", {"plain", TENSOR_PLAIN},
                       {"turned", TENSOR_TURNED});
SWEEP_SHARED_DIMENSION(kernel_near_output_axis, "output", {"plain", TENSOR_PLAIN},
                       {"offset", TENSOR_OFFSET}, {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED},
                       {"rows", TENSOR_ROWS}, {"thirds", TENSOR_THIRDS});
/* Leave something between the elements. */
SWEEP_SHARED_DIMENSION(kernel_gaps_axis, "output", {"gaps", TENSOR_GAPS}, {"thirds", TENSOR_THIRDS},
                       {"rows", TENSOR_ROWS});
SWEEP_SHARED_DIMENSION(kernel_values_axis, "values", {"exact", VALUES_EXACT}, {"any", VALUES_ANY},
                       {"special", VALUES_SPECIAL}, {"largest", VALUES_LARGEST});
SWEEP_SHARED_DIMENSION(kernel_alias_axis, "alias", {"none", 0}, {"1st", 1}, {"2nd", 2}, {"3rd", 3},
                       {"all", ALIAS_ALL});
SWEEP_SHARED_DIMENSION(kernel_in_place_axis, "in_place", {"yes", 1});
SWEEP_SHARED_DIMENSION(kernel_into_axis, "into", {"own", 0}, {"all", ALIAS_ALL});
SWEEP_SHARED_DIMENSION(kernel_sharing_axis, "one_memory", {"turned", SHARING_TURNED},
                       {"whole", SHARING_WHOLE}, {"part", SHARING_PART});
/* Name the input with a layout of its own, and the layout of the others. */
SWEEP_SHARED_DIMENSION(kernel_apart_axis, "apart", {"1st", 1}, {"2nd", 2}, {"3rd", 3});
SWEEP_SHARED_DIMENSION(kernel_others_axis, "others", {"plain", TENSOR_PLAIN},
                       {"offset", TENSOR_OFFSET}, {"gaps", TENSOR_GAPS}, {"turned", TENSOR_TURNED},
                       {"rows", TENSOR_ROWS}, {"broadcast", TENSOR_BROADCAST},
                       {"reversed", TENSOR_REVERSED}, {"broadcast_middle", TENSOR_BROADCAST_MIDDLE},
                       {"broadcast_last", TENSOR_BROADCAST_LAST}, {"one", TENSOR_BROADCAST_ALL});
SWEEP_SHARED_DIMENSION(kernel_reduced_axis, "over", {"all", 0}, {"list", -1}, {"0", 1}, {"1", 2},
                       {"0,1", 3}, {"2", 4}, {"0,2", 5});
SWEEP_SHARED_DIMENSION(kernel_keep_axis, "keepdim", {"no", 0}, {"yes", 1});
SWEEP_SHARED_DIMENSION(kernel_scalar_axis, "scalar", {"ordinary", 0}, {"least", 1}, {"most", 2},
                       {"odd", 3}, {"special", 4}, {"beyond", 5}, {"0", 6}, {"true", 7});
SWEEP_SHARED_DIMENSION(kernel_how_axis, "by", {"launch", 0}, {"plan", 1});
SWEEP_SHARED_DIMENSION(kernel_plan_axis, "by", {"plan", 1});
/* A plan is made for operands as they are, or for the same that are apart; handles are no matter of it. */
SWEEP_SHARED_DIMENSION(kernel_made_axis, "made_for", {"them", 0}, {"apart", 1});

/* --------------------------------------------------------------------- what may be combined ---- */

int32_t kernel_dtype_of(const sweep_case_t* one) {
  return (int32_t)(sweep_get(one, &kernel_dtype_axis) + sweep_get(one, &kernel_float_axis) +
                   sweep_get(one, &kernel_width_axis));
}

const kernel_shape_t* kernel_shape_of(const sweep_case_t* one, operator_id_t id) {
  return id == OPERATOR_MM
             ? &products[sweep_get(one, &kernel_product_axis) +
                         sweep_get(one, &kernel_small_product_axis)]
             : &shapes[sweep_get(one, &kernel_shape_axis) + sweep_get(one, &kernel_small_axis) +
                       sweep_get(one, &kernel_table_axis)];
}

bool kernel_by_plan(const sweep_case_t* one) {
  return sweep_get(one, &kernel_how_axis) + sweep_get(one, &kernel_plan_axis) == 1;
}

tensor_layout_t kernel_input_of(const sweep_case_t* one) {
  return (tensor_layout_t)(sweep_get(one, &kernel_input_axis) +
                           sweep_get(one, &kernel_near_input_axis) +
                           sweep_get(one, &kernel_two_inputs_axis));
}

tensor_layout_t kernel_output_of(const sweep_case_t* one) {
  return (tensor_layout_t)(sweep_get(one, &kernel_output_axis) +
                           sweep_get(one, &kernel_near_output_axis) +
                           sweep_get(one, &kernel_gaps_axis));
}

int kernel_alias_of(const sweep_case_t* one) {
  const int64_t in_place = sweep_get(one, &kernel_in_place_axis);
  return (int)(sweep_get(one, &kernel_alias_axis) + sweep_get(one, &kernel_into_axis) +
               in_place * sweep_get(one, &kernel_apart_axis));
}

static int64_t fan_in(const kernel_shape_t* shape, operator_id_t id) {
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
  /* Of the kind BOOL, which counts as 1; PyTorch refuses it as alpha of numbers, and a kernel may. */
  if (scalar == 7) return values == VALUES_EXACT;
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
  int64_t values = sweep_get(one, &kernel_values_axis),
          scalar = sweep_get(one, &kernel_scalar_axis);
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
  return type->digits == 0 || type->digits > 11 || fan_in(kernel_shape_of(one, id), id) <= 17;
}

/* A million elements cost time, and are of two dtypes; gaps of 33000 want a small dimension. */
bool kernel_size_fits(const tbk_fixture_t* fx, const sweep_case_t* one, operator_id_t id,
                      const kernel_shape_t* shape, const number_type_t* type) {
  const tensor_layout_t input = kernel_input_of(one), output = kernel_output_of(one);
  bool far = input == TENSOR_FAR || output == TENSOR_FAR;
  bool plain = input == TENSOR_PLAIN && output == TENSOR_PLAIN;
  bool million = id != OPERATOR_MM && shape->rank == 1 && shape->sizes[0] > 1 << 20;
  uint64_t most = UINT64_C(4) * type->size * (million ? 1 << 20 : 5 * 33000);
  if ((far || million) && most > sweep_room(fx)) return false;
  if (id == OPERATOR_MM) return !far || shape->sizes[0] * shape->sizes[1] <= 64;
  if (million) {
    bool simple = plain && !kernel_by_plan(one) && sweep_get(one, &kernel_from_axis) == 0;
    return simple && id != OPERATOR_WHERE &&
           (type->dtype == TBK_FLOAT32 || type->dtype == TBK_UINT8);
  }
  return !far || (shape->rank >= 2 && shape->sizes[0] <= 5);
}

static bool shares_elements(tensor_layout_t layout) {
  return layout == TENSOR_BROADCAST || layout == TENSOR_BROADCAST_MIDDLE ||
         layout == TENSOR_BROADCAST_LAST || layout == TENSOR_BROADCAST_ALL;
}

static bool is_square(operator_id_t id, const kernel_shape_t* shape) {
  return id != OPERATOR_MM ||
         (shape->sizes[0] == shape->sizes[1] && shape->sizes[1] == shape->sizes[2]);
}

static bool alias_fits(const sweep_case_t* one, operator_id_t id, const kernel_shape_t* shape) {
  static const int first[OPERATORS] = {0, 1, 1, 1, 2, 0, 1},
                   last[OPERATORS] = {0, 1, 2, 2, 3, 0, 2};
  const int alias = kernel_alias_of(one);
  const bool condition = id == OPERATOR_WHERE && alias == 1; /* the output is the condition */
  if (alias == 0) return true;
  if (condition && kernel_dtype_of(one) != TBK_BOOL) return false;
  if (alias == ALIAS_ALL) {
    if (last[id] < 2) return false;
    if (sweep_get(one, &kernel_values_axis) == VALUES_SPECIAL)
      return false; /* zeros of either sign */
  } else if (!condition && (first[id] == 0 || alias < first[id] || alias > last[id])) {
    return false;
  }
  if (shares_elements(kernel_input_of(one))) return false;
  if (kernel_output_of(one) != TENSOR_PLAIN) return false; /* it is the input's */
  return is_square(id, shape);
}

/* Tells whether the second input has the sizes of the first one turned. */
static bool turns(operator_id_t id, const kernel_shape_t* shape) {
  if (id == OPERATOR_MM) return shape->sizes[0] == shape->sizes[2];
  for (int32_t k = 0; k < shape->rank; ++k)
    if (shape->sizes[k] != shape->sizes[shape->rank - 1 - k]) return false;
  return true;
}

/* Keeps an output that is an input from overlapping another one in part, which is undefined. */
static bool sharing_fits(const sweep_case_t* one, operator_id_t id, const kernel_shape_t* shape) {
  const int64_t sharing = sweep_get(one, &kernel_sharing_axis);
  if (sharing == SHARING_NONE) return true;
  if (kernel_alias_of(one) != 0 && sharing != SHARING_WHOLE) return false;
  return sharing == SHARING_TURNED ? turns(id, shape) : is_square(id, shape);
}

static bool apart_fits(const sweep_case_t* one, operator_id_t id) {
  static const int inputs[OPERATORS] = {0, 1, 2, 2, 3, 1, 2};
  return sweep_get(one, &kernel_apart_axis) <= inputs[id];
}

static const tbk_kernel_t* find(const tbk_fixture_t* fx, operator_id_t id) {
  return fx->kernel->kernel_find(fx->self, fx->device, operation_name(id), operation_version(id));
}

bool kernel_is_offered(const tbk_fixture_t* fx, operator_id_t id) {
  return find(fx, id) != NULL;
}

static bool can_plan(const tbk_fixture_t* fx, operator_id_t id) {
  const tbk_kernel_t* kernel = find(fx, id);
  return kernel != NULL && TBK_HAS(kernel, tbk_kernel_t, prepare) != 0;
}

bool kernel_fits(const tbk_fixture_t* fx, const sweep_case_t* one, operator_id_t id) {
  const number_type_t* type = number_type(kernel_dtype_of(one));
  const kernel_shape_t* shape = kernel_shape_of(one, id);
  int64_t reduced = sweep_get(one, &kernel_reduced_axis);
  if (!scene_fits(fx, one) || !fx_has_dtype(fx, type->dtype)) return false;
  if ((id == OPERATOR_MM ? 2 : shape->rank) > fx->properties.max_rank) return false;
  if (reduced > 0 && reduced >> shape->rank != 0) return false;
  if (sweep_get(one, &kernel_made_axis) == 1 && !kernel_by_plan(one)) return false;
  if (!apart_fits(one, id) || !values_fit(one, id, type) || !alias_fits(one, id, shape) ||
      !sharing_fits(one, id, shape) || !kernel_size_fits(fx, one, id, shape, type))
    return false;
  return !kernel_by_plan(one) || can_plan(fx, id); /* last, as it calls the device */
}
