/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * number.h: what elements are worth, and what the nearest numbers of narrow formats are.
 */
#ifndef TBK_CPU_NUMBER_H
#define TBK_CPU_NUMBER_H

#include <stdbool.h>
#include <stdint.h>
#include <tbk/dtypes.h>

/* Returns the value of an element that is not complex. */
long double number_value(const void* at, int32_t dtype);
/* Returns the bits of the FLOAT16 or BFLOAT16 that is nearest to `value`, of two the even one. */
uint16_t number_narrow(long double value, int32_t dtype);
/* Whether two elements are the same bits, or neither is a number. */
bool number_same(const void* one, const void* other, int32_t dtype);

#endif /* TBK_CPU_NUMBER_H */
