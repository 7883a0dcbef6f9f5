/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * conversion.h: what copy_ makes of one dtype in another, where there is one right answer.
 */
#ifndef TBK_CONTRACTS_CONVERSION_H
#define TBK_CONTRACTS_CONVERSION_H

#include "operation.h"

enum { CONVERSION_VALUES = 48 };

/* Tells whether the dtypes differ, and copy_ has a rule for them. */
bool conversion_has_rule(int32_t from_dtype, int32_t to_dtype);
/* Sets the input of a copy to values that are rounded, cut off or kept: each of them where there is room. */
void conversion_inputs(tbk_fixture_t* fx, operation_t* operation);

#endif /* TBK_CONTRACTS_CONVERSION_H */
