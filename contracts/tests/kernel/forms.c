/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "forms.h"

#include "room.h"

const int64_t form_flat[1] = {37};
static const int64_t cube[3] = {3, 4, 5};

bool form_has_inputs(operator_id_t id) {
  return id != OPERATOR_FILL;
}

bool form_is_pointwise(operator_id_t id) {
  return id != OPERATOR_SUM && id != OPERATOR_MM;
}

form_t form_of(const tbk_fixture_t* fx, operator_id_t id, tensor_layout_t input,
               tensor_layout_t output) {
  static const int64_t product[3] = {4, 6, 5};
  return (form_t){.id = id,
                  .dtype = operation_dtype(fx),
                  .rank = 3,
                  .sizes = id == OPERATOR_MM ? product : cube,
                  .input = input,
                  .output = output,
                  .reduced = 2};
}

/* Returns whether arithmetic has a rule: not for truth values, but for their sum. */
static bool has_rule(operator_id_t id, const number_type_t* type) {
  bool arithmetic = id == OPERATOR_ADD || id == OPERATOR_MUL || id == OPERATOR_MM;
  return type->dtype != TBK_BOOL || !arithmetic;
}

bool form_run(tbk_fixture_t* fx, const form_t* form) {
  operation_t operation;
  size_t mark = room_mark(fx);
  operation_make(fx, &operation, form);
  bool accepted = OPERATION_RUN(fx, &operation);
  room_release(fx, mark);
  return accepted;
}

/* KRN-023: small contiguous FLOAT32. A sum without a dimension left has rank 0, which is none. */
static bool must_accept(const tbk_fixture_t* fx, const form_t* form) {
  enum { SMALL = 4096 };
  bool is_mm = form->id == OPERATOR_MM;
  int64_t most = form->sizes[0] * (is_mm ? form->sizes[1] : 1);
  if (is_mm && form->sizes[1] * form->sizes[2] > most) most = form->sizes[1] * form->sizes[2];
  if (is_mm && form->sizes[0] * form->sizes[2] > most) most = form->sizes[0] * form->sizes[2];
  for (int32_t k = 1; k < form->rank && !is_mm; ++k)
    most *= form->sizes[k];
  bool to_rank_0 = form->id == OPERATOR_SUM && form->reduced == 0 && !form->keepdim;
  return form->dtype == TBK_FLOAT32 && fx_has_dtype(fx, TBK_FLOAT32) && most <= SMALL &&
         !to_rank_0 && form->rank <= fx->properties.max_rank;
}

void form_run_checked(tbk_fixture_t* fx, const form_t* form) {
  bool computed = form_run(fx, form);
  CHECK_SAID(computed || !must_accept(fx, form), "small contiguous float32 accepted",
             "UNSUPPORTED from %s: %s", operation_name(form->id), fx->error.message);
}

void form_run_dtypes(tbk_fixture_t* fx, form_t form) {
  static const int64_t product[3] = {9, 17, 5};
  if (form.sizes == NULL) {
    form.sizes = form.id == OPERATOR_MM ? product : form_flat;
    form.rank = 1;
  }
  bool any = false;
  for (size_t i = 0; i < number_type_count; ++i) {
    const number_type_t* type = &number_types[i];
    if (!fx_has_dtype(fx, type->dtype) || !has_rule(form.id, type)) continue;
    any = true;
    form.dtype = type->dtype;
    form_run_checked(fx, &form);
  }
  if (!any) fx_evidence(fx, TBK_NOT_SHOWN, "the device declares no dtype that the operator takes");
}

void form_run_lengths(tbk_fixture_t* fx, form_t form) {
  static const int64_t lengths[] = {1, 2, 16, 255, 256, 1025, 16411};
  form.dtype = TBK_FLOAT32;
  form.rank = 1;
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
    form.sizes = &lengths[i];
    form_run_checked(fx, &form);
  }
}
