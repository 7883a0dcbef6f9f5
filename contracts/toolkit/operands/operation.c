/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "operation.h"

#include "oracle.h"
#include "room.h"

#include <string.h>

/* A character for each input: their number is the size of the string. */
#define ONE_MORE(...) "."
#define ROW(id, member, op)                                    \
  {TBK_NAME_##op, TBK_VERSION_##op, sizeof(tbk_args_##op##_t), \
   sizeof("" TBK_INPUTS_##op(ONE_MORE)) - 1},

static const struct {
  const char* name;
  uint32_t version;
  size_t arguments_size;
  int inputs;
} operators[OPERATORS] = {OPERATION_MAP(ROW)};

const char* operation_name(operator_id_t id) {
  return operators[id].name;
}

uint32_t operation_version(operator_id_t id) {
  return operators[id].version;
}

size_t operation_arguments_size(operator_id_t id) {
  return operators[id].arguments_size;
}

/* A product takes rank 2, so where that is too much there is none to test. */
const tbk_kernel_t* operation_find(tbk_fixture_t* fx, operator_id_t id) {
  if (id == OPERATOR_MM && fx->properties.max_rank < 2 && fx->properties.struct_size != 0)
    return NULL;
  return fx->kernel->kernel_find(fx->self, fx->device, operators[id].name, operators[id].version);
}

bool operation_has_plans(const tbk_kernel_t* kernel) {
  TBK_CHECKS("KRN-025");
  if (!TBK_HAS(kernel, tbk_kernel_t, prepare)) return false;
  bool runs = TBK_HAS(kernel, tbk_kernel_t, launch_plan) != 0;
  bool ends = TBK_HAS(kernel, tbk_kernel_t, plan_destroy) != 0;
  return CHECK_SAID(runs && ends, "launch_plan and plan_destroy beside prepare", "no %s",
                    runs ? "plan_destroy" : "launch_plan");
}

/* -------------------------------------------------------------------------------- operands ---- */

static void make_sum_output(tbk_fixture_t* fx, operation_t* operation) {
  const form_t* form = &operation->form;
  uint32_t reduced = form->reduced != 0 ? form->reduced : ~0u;
  int64_t sizes[TENSOR_RANK];
  int32_t rank = 0;
  for (int32_t k = 0; k < form->rank; ++k) {
    if ((reduced >> k & 1) == 0)
      sizes[rank++] = form->sizes[k];
    else if (form->keepdim)
      sizes[rank++] = 1;
  }
  const number_type_t* type = number_type(form->dtype);
  int32_t dtype = type->digits == 0 ? TBK_INT64 : form->dtype;
  tensor_make(fx, &operation->output, dtype, rank, sizes, form->output);
}

static tensor_layout_t layout_of(const form_t* form, int input) {
  return form->apart == 0 || form->apart == input + 1 ? form->input : form->others;
}

static void make_mm(tbk_fixture_t* fx, operation_t* operation) {
  const form_t* form = &operation->form;
  const int64_t left[2] = {form->sizes[0], form->sizes[1]};
  const int64_t right[2] = {form->sizes[1], form->sizes[2]};
  const int64_t result[2] = {form->sizes[0], form->sizes[2]};
  tensor_make(fx, &operation->inputs[0], form->dtype, 2, left, layout_of(form, 0));
  tensor_make(fx, &operation->inputs[1], form->dtype, 2, right, layout_of(form, 1));
  tensor_make(fx, &operation->output, form->dtype, 2, result, form->output);
}

static void make_pointwise(tbk_fixture_t* fx, operation_t* operation) {
  const form_t* form = &operation->form;
  for (int i = 0; i < operation->input_count; ++i) {
    int32_t dtype = form->converts ? form->from_dtype : form->dtype;
    if (form->id == OPERATOR_WHERE && i == 0) dtype = TBK_BOOL;
    tensor_make(fx, &operation->inputs[i], dtype, form->rank, form->sizes, layout_of(form, i));
  }
  if (form->id == OPERATOR_SUM)
    make_sum_output(fx, operation);
  else
    tensor_make(fx, &operation->output, form->dtype, form->rank, form->sizes, form->output);
}

/* Returns the first of two inputs that may be one: of truth values, a selection's condition is of the dtype, too. */
static int first_of_pair(const operation_t* operation) {
  return operation->form.id == OPERATOR_WHERE && operation->form.dtype != TBK_BOOL ? 1 : 0;
}

/* Writes both into one memory: the last counts, and few bits suffice for both. */
static void make_shared(operation_t* operation, sharing_t sharing) {
  const tensor_t* from = &operation->inputs[first_of_pair(operation)];
  tensor_t* to = &operation->inputs[first_of_pair(operation) + 1];
  *to = *from;
  if (sharing == SHARING_PART) to->offset += 1;
  for (int32_t k = 0; k < from->rank && sharing == SHARING_TURNED; ++k) {
    to->sizes[k] = from->sizes[from->rank - 1 - k];
    to->strides[k] = from->strides[from->rank - 1 - k];
  }
  operation->narrow_first = false;
}

/* The output is this input: the same block, and the input's contents to begin with. */
static void make_alias(tbk_fixture_t* fx, operation_t* operation) {
  const int alias = operation->form.alias;
  const tensor_t* input =
      &operation->inputs[alias == ALIAS_ALL ? first_of_pair(operation) : alias - 1];
  operation->output = *input;
  operation->output.model = fx_zeros(fx, input->block_bytes);
  memcpy(operation->output.model, input->model, input->block_bytes);
}

void operation_lay_out(tbk_fixture_t* fx, operation_t* operation, const form_t* form) {
  memset(operation, 0, sizeof *operation);
  operation->form = *form;
  operation->kernel = operation_find(fx, form->id);
  operation->input_count = operators[form->id].inputs;
  operation->narrow_first = fx_random(fx) % 2 == 0;
  operation->wire = (wire_t*)(void*)fx_zeros(fx, sizeof *operation->wire);
  if (form->id == OPERATOR_MM)
    make_mm(fx, operation);
  else
    make_pointwise(fx, operation);
  if (form->sharing != SHARING_NONE) make_shared(operation, form->sharing);
  if (form->alias == ALIAS_ALL) make_shared(operation, SHARING_WHOLE);
  oracle_scalar(fx, operation);
  for (int i = 0; i < operation->input_count; ++i)
    oracle_inputs(fx, operation, i);
}

void operation_ready(tbk_fixture_t* fx, operation_t* operation) {
  for (int i = 0; i < operation->input_count; ++i) {
    tensor_t* input = &operation->inputs[i];
    if (i > 0 && input->model == input[-1].model) input->memory = input[-1].memory;
    tensor_upload(fx, input);
  }
  if (operation->poison != NULL)
    memcpy(operation->output.model, operation->poison, operation->output.block_bytes);
  if (operation->form.alias != 0)
    make_alias(fx, operation);
  else
    tensor_upload(fx, &operation->output);
  operation->poison = fx_zeros(fx, operation->output.block_bytes);
  memcpy(operation->poison, operation->output.model, operation->output.block_bytes);
  oracle_compute(operation);
  operation_describe(operation);
}

void operation_make(tbk_fixture_t* fx, operation_t* operation, const form_t* form) {
  operation_lay_out(fx, operation, form);
  operation_ready(fx, operation);
}

int32_t operation_dtype(const tbk_fixture_t* fx) {
  static const int32_t dtypes[] = {TBK_FLOAT32, TBK_FLOAT64, TBK_FLOAT16, TBK_BFLOAT16, TBK_INT32,
                                   TBK_INT64,   TBK_INT16,   TBK_INT8,    TBK_UINT8};
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; ++i)
    if (fx_has_dtype(fx, dtypes[i])) return dtypes[i];
  return TBK_FLOAT32;
}

void operation_make_plain(tbk_fixture_t* fx, operation_t* operation, operator_id_t id) {
  static const int64_t flat[1] = {37};
  static const int64_t product[3] = {5, 7, 3};
  form_t form = {.id = id, .dtype = operation_dtype(fx), .rank = 1, .sizes = flat, .keepdim = true};
  if (id == OPERATOR_MM) form.sizes = product;
  operation_make(fx, operation, &form);
}

/* ------------------------------------------------------------------------------- arguments ---- */

static void describe_sum(operation_t* operation) {
  const form_t* form = &operation->form;
  wire_t* wire = operation->wire;
  wire->dim = (tbk_int_list_t){wire->dims, 0};
  for (int32_t k = 0; k < form->rank; ++k)
    if (form->reduced >> k & 1) wire->dims[wire->dim.count++] = k;
  wire->arguments.sum = (tbk_args_sum_dim_IntList_t){
      .self = &wire->inputs[0],
      .dim = form->reduced != 0 || form->empty_dim_list ? &wire->dim : NULL,
      .keepdim = form->keepdim,
      .out = &wire->output};
}

static void describe_other(operation_t* operation) {
  wire_t* wire = operation->wire;
  const tbk_tensor_t* in = wire->inputs;
  switch (operation->form.id) {
    case OPERATOR_FILL:
      wire->arguments.fill =
          (tbk_args_fill__Scalar_t){.self = &wire->output, .value = operation->scalar};
      break;
    case OPERATOR_COPY:
      wire->arguments.copy = (tbk_args_copy__t){.self = &wire->output, .src = &in[0]};
      break;
    case OPERATOR_ADD:
      wire->arguments.add = (tbk_args_add_Tensor_t){
          .self = &in[0], .other = &in[1], .alpha = operation->scalar, .out = &wire->output};
      break;
    case OPERATOR_MUL:
      wire->arguments.mul =
          (tbk_args_mul_Tensor_t){.self = &in[0], .other = &in[1], .out = &wire->output};
      break;
    case OPERATOR_WHERE:
      wire->arguments.where = (tbk_args_where_self_t){
          .condition = &in[0], .self = &in[1], .other = &in[2], .out = &wire->output};
      break;
    default:
      wire->arguments.mm = (tbk_args_mm_t){.self = &in[0], .mat2 = &in[1], .out = &wire->output};
  }
}

void operation_describe(operation_t* operation) {
  wire_t* wire = operation->wire;
  memset(wire, 0, sizeof *wire);
  for (int i = 0; i < operation->input_count; ++i)
    tensor_describe(&operation->inputs[i], &wire->inputs[i], wire->sizes[i], wire->strides[i]);
  tensor_describe(&operation->output, &wire->output, wire->sizes[3], wire->strides[3]);
  if (operation->form.id == OPERATOR_SUM)
    describe_sum(operation);
  else
    describe_other(operation);
  wire->arguments.struct_size = operators[operation->form.id].arguments_size;
}

void operation_forget_numbers(operation_t* operation) {
  const tbk_scalar_t nothing = {operation->scalar.kind, 0, 0, 0};
  wire_t* wire = operation->wire;
  if (operation->form.id == OPERATOR_FILL) wire->arguments.fill.value = nothing;
  if (operation->form.id == OPERATOR_ADD) wire->arguments.add.alpha = nothing;
}

/* ---------------------------------------------------------------------------------- launch ---- */

tbk_status_t operation_launch(tbk_fixture_t* fx, operation_t* operation, tbk_stream_t* stream) {
  return operation->kernel->launch(fx->self, fx->device, operation->kernel,
                                   &operation->wire->arguments, stream, &fx->error);
}

void operation_warm_up(tbk_fixture_t* fx, operation_t* operation) {
  tensor_t* output = &operation->output;
  if (operation_launch(fx, operation, NULL) != TBK_OK) return; /* the test will see that too */
  fx_upload(fx, output->memory, operation->poison, output->block_bytes);
}

static bool check_inputs(tbk_fixture_t* fx, const operation_t* operation, tbk_here_t here) {
  TBK_CHECKS("KRN-004");
  bool held = true;
  for (int i = 0; i < operation->input_count; ++i) {
    const tensor_t* input = &operation->inputs[i];
    if (input->memory == operation->output.memory) continue;
    held = tensor_check_bits(fx, input, input->model, "an input", here) && held;
  }
  return held;
}

static bool is_larger_rank(const tbk_fixture_t* fx, const form_t* form) {
  return fx->properties.max_rank > 0 && form->rank > fx->properties.max_rank;
}

/* Returns the clause that speaks of what is not plain about it; NULL: the test's own. */
static const char* clause_of(const tbk_fixture_t* fx, const operation_t* operation) {
  const form_t* form = &operation->form;
  bool plain_output = form->output == TENSOR_PLAIN;
  if (is_larger_rank(fx, form)) return "CAP-006";
  if (operation->output.count == 0) return "KRN-110";
  if (form->alias != 0)
    return form->input == TENSOR_PLAIN && form->others == TENSOR_PLAIN ? "KRN-006" : "KRN-113";
  if (form->rank == 0) return "KRN-111";
  if (form->input == TENSOR_BROADCAST) return "KRN-109";
  return form->input == TENSOR_PLAIN && plain_output ? NULL : "KRN-112";
}

bool operation_check(tbk_fixture_t* fx, const operation_t* operation, int64_t ulps,
                     tbk_here_t here) {
  TBK_CHECKS(clause_of(fx, operation));
  here.text = operators[operation->form.id].name;
  bool held = tensor_check(fx, &operation->output, ulps, "the output", here);
  return check_inputs(fx, operation, here) && held;
}

bool operation_check_untouched(tbk_fixture_t* fx, operation_t* operation, tbk_here_t here) {
  TBK_CHECKS(is_larger_rank(fx, &operation->form) ? "CAP-006" : "KRN-008");
  return operation_check_left_alone(fx, operation, here);
}

bool operation_check_left_alone(tbk_fixture_t* fx, operation_t* operation, tbk_here_t here) {
  here.text = operators[operation->form.id].name;
  bool held = tensor_check_bits(fx, &operation->output, operation->poison, "the output", here);
  return check_inputs(fx, operation, here) && held;
}

/* Launches of operation_run that were not refused, since operation_shown began. */
static size_t accepted;

bool operation_run(tbk_fixture_t* fx, operation_t* operation, int64_t ulps, tbk_here_t here) {
  memset(&fx->error, 0, sizeof fx->error);
  tbk_status_t status = operation_launch(fx, operation, NULL);
  here.text = operators[operation->form.id].name;
  if (status == TBK_UNSUPPORTED) {
    operation_check_untouched(fx, operation, here);
    TBK_CHECKS("KRN-008");
    tbk_check_said(fx->error.message[0] != '\0', here, "a reason with UNSUPPORTED", "%s", "none");
    return false;
  }
  TBK_CHECKS(clause_of(fx, operation));
  accepted++;
  if (tbk_check_status(TBK_OK, status, &fx->error, here))
    operation_check(fx, operation, ulps, here);
  return true;
}

void operation_for_each(tbk_fixture_t* fx, operation_fn function) {
  int offered = 0;
  for (int id = 0; id < OPERATORS; ++id) {
    if (operation_find(fx, (operator_id_t)id) == NULL) continue;
    ++offered;
    size_t mark = room_mark(fx);
    function(fx, (operator_id_t)id);
    room_release(fx, mark);
  }
  if (offered > 0) return;
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
  fx_evidence(fx, TBK_NOT_SHOWN, "none of the operators that the suite computes is offered");
}

void operation_shown(tbk_fixture_t* fx, operation_fn function) {
  accepted = 0;
  operation_for_each(fx, function);
  CHECK(fx->kernel->kernel_find(fx->self, fx->device, "no.such", 1) == NULL);
  if (accepted == 0)
    fx_evidence(fx, TBK_NOT_SHOWN, "no operator that is offered takes what is asked here");
}
