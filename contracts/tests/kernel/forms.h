/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * forms.h: what tests of kernels offer. Each operation is right or refused, what is refused is
 * untouched, and small contiguous float32 may not be refused. A test offers two dozen shapes at most,
 * because a device may compile for each of them.
 */
#ifndef TBK_CONTRACTS_FORMS_H
#define TBK_CONTRACTS_FORMS_H

#include "operation.h"

extern const int64_t form_flat[1]; /* an odd length */

/* Returns float32, or what the device declares in its place, of rank 3, a sum over the middle dimension. */
form_t form_of(const tbk_fixture_t* fx, operator_id_t id, tensor_layout_t input,
               tensor_layout_t output);
bool form_has_inputs(operator_id_t id);
bool form_is_pointwise(operator_id_t id);

/* Launches with fresh operands; tells whether it was accepted. */
bool form_run(tbk_fixture_t* fx, const form_t* form);
/* Does the same, and fails where what KRN-023 demands is refused. */
void form_run_checked(tbk_fixture_t* fx, const form_t* form);
/* Does so for every declared dtype that the operator has a rule for, once. */
void form_run_dtypes(tbk_fixture_t* fx, form_t form);
/* Does so for float32 of lengths on both sides of what a block may be. */
void form_run_lengths(tbk_fixture_t* fx, form_t form);

#endif /* TBK_CONTRACTS_FORMS_H */
