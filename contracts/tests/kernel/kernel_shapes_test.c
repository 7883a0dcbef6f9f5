/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Kernels: operands of any shape, strided, broadcast, empty and of rank 0. In place is in
 * kernel_place_test.c.
 */
#include "forms.h"
#include "range.h"

/* ---------------------------------------------------------------------------------- everywhere - */

/* Lengths at which a last block is cut short; the longest once. */
static void check_lengths(tbk_fixture_t* fx, operator_id_t id) {
  static const int64_t lengths[][1] = {{1}, {1023}, {8209}};
  static const int64_t products[][3] = {{1, 1, 1}, {5, 3, 7}, {33, 17, 31}};
  for (size_t i = 0; i < 3; ++i) {
    form_t form = form_of(fx, id, TENSOR_PLAIN, TENSOR_PLAIN);
    form.rank = 1;
    form.reduced = 0;
    form.sizes = id == OPERATOR_MM ? products[i] : lengths[i];
    for (int round = 0; round < (i < 2 ? 3 : 1); ++round)
      form_run(fx, &form);
  }
}

static void every_element_gets_its_value(tbk_fixture_t* fx) {
  operation_shown(fx, check_lengths);
}

static void every_element_gets_its_value_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  operation_shown(fx, check_lengths);
}

static void every_element_gets_its_value_after_an_error(tbk_fixture_t* fx) {
  range_provoke_errors(fx);
  operation_shown(fx, check_lengths);
}

/* Inputs are compared whole after each launch: once, and again after many on the same operands. */
static void check_inputs(tbk_fixture_t* fx, operator_id_t id) {
  static const tensor_layout_t layouts[] = {TENSOR_PLAIN, TENSOR_GAPS, TENSOR_TURNED};
  for (size_t i = 0; form_has_inputs(id) && i < 3; ++i) {
    form_t form = form_of(fx, id, layouts[i], TENSOR_PLAIN);
    operation_t operation;
    operation_make(fx, &operation, &form);
    for (int round = 0; round < RANGE_ROUNDS; ++round)
      OPERATION_RUN(fx, &operation);
  }
}

static void inputs_are_unchanged(tbk_fixture_t* fx) {
  operation_shown(fx, check_inputs);
}

static void inputs_are_unchanged_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  operation_shown(fx, check_inputs);
}

/* ------------------------------------------------------------------------------------ strides -- */

static void check_broadcast(tbk_fixture_t* fx, operator_id_t id) {
  if (!form_has_inputs(id)) return;
  form_t form = form_of(fx, id, TENSOR_BROADCAST, TENSOR_PLAIN);
  form_run(fx, &form);
  form = form_of(fx, id, TENSOR_BROADCAST, TENSOR_TURNED);
  form_run(fx, &form);
  form.rank = 1;
  form.reduced = 0;
  form_run(fx, &form);
}

static void inputs_are_broadcast(tbk_fixture_t* fx) {
  operation_shown(fx, check_broadcast);
}

/* One operand alone is broadcast, or in every dimension. */
static void check_broadcast_one(tbk_fixture_t* fx, operator_id_t id) {
  form_t form = form_of(fx, id, TENSOR_PLAIN, TENSOR_PLAIN);
  operation_t operation;
  if (!form_has_inputs(id)) return;
  for (int all = 0; all < 2; ++all) {
    operation_lay_out(fx, &operation, &form);
    tensor_t* last = &operation.inputs[operation.input_count - 1];
    for (int32_t k = 0; k < last->rank; ++k)
      if (all || k == last->rank - 1) last->strides[k] = 0;
    operation_ready(fx, &operation);
    OPERATION_RUN(fx, &operation);
  }
}

static void one_input_is_broadcast(tbk_fixture_t* fx) {
  operation_shown(fx, check_broadcast_one);
}

static void check_strided_inputs(tbk_fixture_t* fx, operator_id_t id) {
  for (int layout = TENSOR_OFFSET; layout <= TENSOR_TURNED; ++layout) {
    form_t form = form_of(fx, id, (tensor_layout_t)layout, TENSOR_PLAIN);
    if (form_has_inputs(id)) form_run(fx, &form);
  }
}

static void inputs_are_read_where_their_strides_say(tbk_fixture_t* fx) {
  operation_shown(fx, check_strided_inputs);
}

static void check_strided_outputs(tbk_fixture_t* fx, operator_id_t id) {
  for (int layout = TENSOR_OFFSET; layout <= TENSOR_TURNED; ++layout) {
    form_t form = form_of(fx, id, TENSOR_PLAIN, (tensor_layout_t)layout);
    form_run(fx, &form);
  }
}

static void outputs_are_written_where_their_strides_say(tbk_fixture_t* fx) {
  operation_shown(fx, check_strided_outputs);
}

static void check_mixed(tbk_fixture_t* fx, operator_id_t id) {
  static const tensor_layout_t pairs[][2] = {
      {TENSOR_TURNED, TENSOR_GAPS}, {TENSOR_GAPS, TENSOR_TURNED}, {TENSOR_TURNED, TENSOR_TURNED}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
    form_t form = form_of(fx, id, pairs[i][0], pairs[i][1]);
    form_run(fx, &form);
  }
}

static void layouts_may_be_mixed(tbk_fixture_t* fx) {
  operation_shown(fx, check_mixed);
}

static void strides_count_on_the_second_device(tbk_fixture_t* fx) {
  fx_use_device(fx, fx_second_device(fx));
  operation_shown(fx, check_mixed);
}

/* A stride of a dimension of size 1 means nothing; windows over one storage may overlap. */
static void check_odd_strides(tbk_fixture_t* fx, operator_id_t id) {
  static const int64_t thin[3] = {1, 6, 1};
  form_t form = form_of(fx, id, TENSOR_PLAIN, TENSOR_PLAIN);
  operation_t operation;
  form.sizes = thin;
  operation_lay_out(fx, &operation, &form);
  for (int i = 0; i < operation.input_count; ++i)
    if (operation.inputs[i].sizes[0] == 1) operation.inputs[i].strides[0] = 1000003;
  if (operation.output.rank > 0 && operation.output.sizes[0] == 1)
    operation.output.strides[0] = 1000003;
  operation_ready(fx, &operation);
  OPERATION_RUN(fx, &operation);
  form = form_of(fx, id, TENSOR_PLAIN, TENSOR_PLAIN);
  operation_lay_out(fx, &operation, &form);
  for (int i = 0; i < operation.input_count; ++i)
    operation.inputs[i].strides[0] = 1;
  operation_ready(fx, &operation);
  OPERATION_RUN(fx, &operation);
}

static void any_strides_are_right_or_refused(tbk_fixture_t* fx) {
  operation_for_each(fx, check_odd_strides);
}

/* Runs the operator with a stride of 0 in one dimension of one input. */
static void run_broadcast_at(tbk_fixture_t* fx, const form_t* form, int input, int32_t dimension) {
  operation_t operation;
  size_t mark = room_mark(fx);
  operation_lay_out(fx, &operation, form);
  if (input < operation.input_count && dimension < operation.inputs[input].rank) {
    operation.inputs[input].strides[dimension] = 0;
    operation_ready(fx, &operation);
    OPERATION_RUN(fx, &operation);
  }
  room_release(fx, mark);
}

/* All sizes are equal, so that who takes one dimension for another still finds a tensor that fits. */
static void check_broadcast_of_cubes(tbk_fixture_t* fx, operator_id_t id) {
  static const int64_t sizes[3] = {4, 4, 4};
  form_t form = form_of(fx, id, TENSOR_PLAIN, TENSOR_PLAIN);
  form.sizes = sizes;
  for (int input = 0; form_has_inputs(id) && input < 3; ++input)
    for (int32_t dimension = 0; dimension < 3; ++dimension)
      run_broadcast_at(fx, &form, input, dimension);
}

static void each_input_is_broadcast_along_each_dimension_of_a_cube(tbk_fixture_t* fx) {
  operation_shown(fx, check_broadcast_of_cubes);
}

/* --------------------------------------------------------------------------- empty, and rank 0 - */

static void strip(tbk_tensor_t* view) {
  view->memory = 0;
  view->storage_bytes = 0;
}

/* Without elements there may be no memory either. */
static void run_empty(tbk_fixture_t* fx, const form_t* form) {
  operation_t operation;
  for (int bare = 0; bare < 2; ++bare) {
    operation_make(fx, &operation, form);
    for (int k = 0; k < 3; ++k)
      if (bare && operation.inputs[k].count == 0) strip(&operation.wire->inputs[k]);
    if (bare && operation.output.count == 0) strip(&operation.wire->output);
    OPERATION_RUN(fx, &operation);
  }
}

static void check_empty(tbk_fixture_t* fx, operator_id_t id) {
  static const int64_t shapes[][3] = {{0, 4, 5}, {3, 0, 5}, {0, 0, 0}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
    form_t form = form_of(fx, id, TENSOR_PLAIN, TENSOR_PLAIN);
    form.sizes = shapes[i];
    run_empty(fx, &form);
  }
}

static void operands_without_elements_do_nothing(tbk_fixture_t* fx) {
  operation_shown(fx, check_empty);
}

/* The sum over nothing, and the product of nothing, is 0, and is written. */
static void an_empty_sum_is_0(tbk_fixture_t* fx) {
  static const int64_t shapes[][3] = {{3, 0, 5}, {0, 1, 1}};
  for (int id = OPERATOR_SUM; id <= OPERATOR_MM; ++id) {
    if (operation_find(fx, id) == NULL) continue;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
      form_t form = form_of(fx, id, TENSOR_PLAIN, TENSOR_PLAIN);
      form.sizes = shapes[i];
      form.reduced = i == 0 ? 2 : 0;
      run_empty(fx, &form);
    }
  }
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
}

/* With lists of no items that stand somewhere, and with none. */
static void check_rank_0(tbk_fixture_t* fx, operator_id_t id) {
  const int32_t dtypes[] = {operation_dtype(fx), TBK_INT64};
  if (id == OPERATOR_MM) return;
  for (size_t i = 0; i < 4; ++i) {
    form_t form = form_of(fx, id, TENSOR_OFFSET, i % 2 == 0 ? TENSOR_PLAIN : TENSOR_OFFSET);
    operation_t operation;
    form.rank = 0;
    form.reduced = 0;
    form.dtype = dtypes[i / 2];
    if (!fx_has_dtype(fx, form.dtype)) continue;
    operation_make(fx, &operation, &form);
    for (int k = 0; k < 3 && i % 2 == 1; ++k)
      operation.wire->inputs[k].sizes = operation.wire->inputs[k].strides = NULL;
    if (i % 2 == 1) operation.wire->output.sizes = operation.wire->output.strides = NULL;
    OPERATION_RUN(fx, &operation);
  }
}

static void operands_of_rank_0_are_single_elements(tbk_fixture_t* fx) {
  operation_shown(fx, check_rank_0);
}

/* All ranks that the device declares. */
static void check_ranks(tbk_fixture_t* fx, operator_id_t id) {
  static const int64_t sizes[TENSOR_RANK] = {2, 3, 1, 2, 2, 1, 3, 2};
  int32_t most = fx->properties.max_rank < TENSOR_RANK ? fx->properties.max_rank : TENSOR_RANK;
  for (int32_t rank = most; rank >= 4 && rank > most - 3 && id != OPERATOR_MM; --rank) {
    form_t form = form_of(fx, id, TENSOR_TURNED, TENSOR_GAPS);
    form.rank = rank;
    form.sizes = sizes;
    form.reduced = 5;
    form_run(fx, &form);
  }
}

static void operands_of_every_rank_are_right_or_refused(tbk_fixture_t* fx) {
  operation_for_each(fx, check_ranks);
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
}

static void no_elements_are_right_or_refused(tbk_fixture_t* fx) {
  operation_for_each(fx, check_empty);
}

static void rank_0_is_right_or_refused(tbk_fixture_t* fx) {
  operation_for_each(fx, check_rank_0);
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
}

static const tbk_case_t cases[] = {
    TBK_CASE("KRN-003", "kernel", 0, every_element_gets_its_value),
    TBK_CASE("KRN-003", "kernel two_devices", 0, every_element_gets_its_value_on_the_second_device),
    TBK_CASE("KRN-003", "kernel", 0, every_element_gets_its_value_after_an_error),
    TBK_CASE("KRN-004", "kernel", 0, inputs_are_unchanged),
    TBK_CASE("KRN-004", "kernel two_devices", 0, inputs_are_unchanged_on_the_second_device),
    TBK_CASE("KRN-109", "kernel", 0, inputs_are_broadcast),
    TBK_CASE("KRN-109", "kernel", 0, one_input_is_broadcast),
    TBK_CASE("KRN-112", "kernel", 0, inputs_are_read_where_their_strides_say),
    TBK_CASE("KRN-112", "kernel", 0, outputs_are_written_where_their_strides_say),
    TBK_CASE("KRN-112", "kernel", 0, layouts_may_be_mixed),
    TBK_CASE("KRN-112", "kernel two_devices", 0, strides_count_on_the_second_device),
    TBK_CASE("KRN-005", "kernel", 0, any_strides_are_right_or_refused),
    TBK_CASE("KRN-005", "kernel", 0, each_input_is_broadcast_along_each_dimension_of_a_cube),
    TBK_CASE("KRN-005", "kernel", 0, operands_of_every_rank_are_right_or_refused),
    TBK_CASE("KRN-005", "kernel", 0, no_elements_are_right_or_refused),
    TBK_CASE("KRN-005", "kernel", 0, rank_0_is_right_or_refused),
    TBK_CASE("KRN-110", "kernel", 0, operands_without_elements_do_nothing),
    TBK_CASE("KRN-110", "kernel", 0, an_empty_sum_is_0),
    TBK_CASE("KRN-111", "kernel", 0, operands_of_rank_0_are_single_elements),
};
TBK_SUITE(kernel_shapes);
