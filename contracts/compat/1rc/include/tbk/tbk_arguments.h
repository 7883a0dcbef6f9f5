/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk_arguments.h: what the arguments of operators are made of. The structs themselves, one for
 * each overload, are generated into tbk_operators.h. Everything here is borrowed for the length of
 * a call. An absent optional argument (Tensor?, Scalar?, int? ...) is a NULL pointer.
 */
#ifndef TBK_TBK_ARGUMENTS_H
#define TBK_TBK_ARGUMENTS_H

#include <tbk/tbk.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A strided tensor. It does not own what it points to. The element at index (i0, i1, ...) lies at
 * byte (offset + sum(ik * strides[k])) * size of dtype behind `memory`. Strides are in elements and
 * may be 0 for inputs. Rank 0 is a single element; a size of 0 means that there is none.
 */
typedef struct tbk_tensor {
  size_t struct_size;
  tbk_memory_t memory;
  uint64_t storage_bytes; /* bytes behind `memory` that belong to this storage */
  int64_t offset;         /* elements */
  int32_t dtype;
  int32_t rank;
  const int64_t* sizes;
  const int64_t* strides;
} tbk_tensor_t;

typedef struct tbk_tensor_list {
  const tbk_tensor_t* const* items; /* an item may be NULL where the schema has Tensor? */
  size_t count;
} tbk_tensor_list_t;

typedef struct tbk_int_list {
  const int64_t* items;
  size_t count;
} tbk_int_list_t;

typedef struct tbk_double_list {
  const double* items;
  size_t count;
} tbk_double_list_t;

typedef struct tbk_bool_list {
  const uint8_t* items;
  size_t count;
} tbk_bool_list_t;

typedef struct tbk_string_list {
  const char* const* items;
  size_t count;
} tbk_string_list_t;

enum { TBK_SCALAR_INT = 0, TBK_SCALAR_DOUBLE = 1, TBK_SCALAR_BOOL = 2, TBK_SCALAR_COMPLEX = 3 };

/* A number as Python knows it. INT and BOOL use `integer`, DOUBLE `real`, COMPLEX both halves. */
typedef struct tbk_scalar {
  int64_t kind;
  int64_t integer;
  double real;
  double imaginary;
} tbk_scalar_t;

typedef struct tbk_scalar_list {
  const tbk_scalar_t* items;
  size_t count;
} tbk_scalar_list_t;

#ifdef __cplusplus
}
#endif

#endif /* TBK_TBK_ARGUMENTS_H */
