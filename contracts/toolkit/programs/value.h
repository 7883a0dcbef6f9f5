/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * value.h: what a value of a program may be on a device that keeps the table of opcodes: one number, any
 * of an interval, or, where the table leaves it open, anything. The oracle of the generic kernels.
 */
#ifndef TBK_CONTRACTS_VALUE_H
#define TBK_CONTRACTS_VALUE_H

#include <tbk/program.h>

#include "number.h"

typedef struct value {
  uint16_t dtype;
  bool open;
  uint64_t bits; /* integers and BOOL, sign-extended */
  /* Real numbers, each one of the dtype: the least, what exact functions give, the greatest; all NaN or
   * none. -0 lies below 0. */
  long double low, middle, high;
  int nan_sign; /* of a NaN that was given and not computed: 1 or -1; 0 is open */
} value_t;

value_t value_open(uint16_t dtype);
value_t value_of_integer(uint16_t dtype, uint64_t bits);
/* An exact one, rounded to the dtype. */
value_t value_of_real(uint16_t dtype, long double real);
/* Returns the value of an element, or of zero-extended bits. */
value_t value_load(uint16_t dtype, const void* element);
value_t value_of_bits(uint16_t dtype, uint64_t bits);
/* Returns the bits of an exact value, zero-extended. */
uint64_t value_bits(const value_t* value);
bool value_is_real(uint16_t dtype);
/* Returns whether it is one number, or NaN. */
bool value_is_exact(const value_t* value);
/* Returns what may come of either. */
value_t value_hull(const value_t* a, const value_t* b);
/* Returns whether an element is what the value may be. */
bool value_allows(const value_t* value, const void* element);
void value_print(const value_t* value, char* out, size_t out_size);

#endif /* TBK_CONTRACTS_VALUE_H */
