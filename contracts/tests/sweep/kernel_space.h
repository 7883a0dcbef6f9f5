/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernel_space.h: the dimensions of the operators, and which of their values may be combined.
 */
#ifndef TBK_CONTRACTS_KERNEL_SPACE_H
#define TBK_CONTRACTS_KERNEL_SPACE_H

#include "dimensions.h"
#include "operation.h"

typedef struct shape {
  int32_t rank;
  int64_t sizes[TENSOR_RANK];
} kernel_shape_t;

extern const sweep_dimension_t kernel_shape_axis, kernel_product_axis, kernel_dtype_axis,
    kernel_float_axis, kernel_from_axis, kernel_input_axis, kernel_output_axis, kernel_values_axis,
    kernel_alias_axis, kernel_small_axis, kernel_small_product_axis, kernel_in_place_axis,
    kernel_into_axis, kernel_sharing_axis, kernel_apart_axis, kernel_others_axis, kernel_gaps_axis,
    kernel_near_input_axis, kernel_two_inputs_axis, kernel_near_output_axis, kernel_source_axis,
    kernel_width_axis, kernel_table_axis, kernel_reduced_axis, kernel_keep_axis, kernel_scalar_axis,
    kernel_how_axis, kernel_plan_axis, kernel_made_axis;

/* Returns the dtype, by whichever of its dimensions the space has. */
int32_t kernel_dtype_of(const sweep_case_t* one);
/* Returns the sizes; of a product rows, inner and columns. */
const kernel_shape_t* kernel_shape_of(const sweep_case_t* one, operator_id_t id);
/* Return the layouts, by whichever of their dimensions the space has. */
tensor_layout_t kernel_input_of(const sweep_case_t* one);
tensor_layout_t kernel_output_of(const sweep_case_t* one);
/* Tells whether a plan is made for it. */
bool kernel_by_plan(const sweep_case_t* one);
/* Returns which input the output is, as a form has it. */
int kernel_alias_of(const sweep_case_t* one);
/* Tells whether the device has room for it, and the case is of a size that tests have time for. */
bool kernel_size_fits(const tbk_fixture_t* fx, const sweep_case_t* one, operator_id_t id,
                      const kernel_shape_t* shape, const number_type_t* type);
/* Tells whether the device offers the operator. */
bool kernel_is_offered(const tbk_fixture_t* fx, operator_id_t id);
/* Tells whether the values may be combined for the operator, and whether the device has got all of it. */
bool kernel_fits(const tbk_fixture_t* fx, const sweep_case_t* one, operator_id_t id);

#endif /* TBK_CONTRACTS_KERNEL_SPACE_H */
