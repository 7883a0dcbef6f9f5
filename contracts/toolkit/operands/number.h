/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * number.h: elements of every dtype on the host, in types that are wider than those under test.
 */
#ifndef TBK_CONTRACTS_NUMBER_H
#define TBK_CONTRACTS_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tbk/tbk.h>

/* Integers and BOOL use `integer`, modulo 2^64; the others `real`, COMPLEX* `imaginary` as well. */
typedef struct number {
  uint64_t integer;
  long double real;
  long double imaginary;
} number_t;

typedef struct number_type {
  int32_t dtype;
  const char* name;
  size_t size;
  int digits; /* of the significand, for floating-point types; else 0 */
  bool is_integer;
  bool is_signed;
  bool is_complex;
} number_type_t;

extern const number_type_t number_types[];
extern const size_t number_type_count;
const number_type_t* number_type(int32_t dtype);
/* Returns the least normal number of a dtype of real numbers, above 0: what is nearer to 0 is subnormal. */
long double number_least_normal(int32_t dtype);

number_t number_load(const number_type_t* type, const void* element);
/* Rounds to nearest, ties to even; integers wrap; BOOL is 1 where `integer` is not 0. */
void number_store(const number_type_t* type, void* element, number_t value);
/* Returns what number_load gives of what number_store makes of it: an integer or BOOL, a real number. */
uint64_t number_wrapped(const number_type_t* type, uint64_t integer);
long double number_rounded(const number_type_t* type, long double real);
/*
 * Writes one of the NaN of a real or complex dtype: all bits set, the smallest and the largest that signal, and the
 * plain one, each without a sign and with it.
 */
enum { NUMBER_NANS = 8 };
void number_store_nan(const number_type_t* type, void* element, int which);
/*
 * Returns where an element stands in the order of its dtype, which is not complex: less for what is less, the
 * same for both zeros, more than any for NaN.
 */
int64_t number_rank(const number_type_t* type, const void* element);
/* Equal bits, or both NaN; or, where `ulps` is not 0, that many representable numbers apart. */
bool number_same(const number_type_t* type, const void* a, const void* b, int64_t ulps);
void number_print(const number_type_t* type, const void* element, char* out, size_t out_size);

#endif /* TBK_CONTRACTS_NUMBER_H */
