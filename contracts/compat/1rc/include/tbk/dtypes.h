/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * dtypes.h: what follows from the map of dtypes, for hosts and backends alike. No part of the
 * interface: nothing here crosses it, and tbk.h does not include it.
 */
#ifndef TBK_DTYPES_H
#define TBK_DTYPES_H

#include <tbk/types.h>

/* Every dtype as a bit, as the device's properties tell them. */
#define TBK_DTYPE_BIT(name, value, size_bytes) | UINT64_C(1) << (value)
#define TBK_DTYPES_ALL (UINT64_C(0) TBK_DTYPE_MAP(TBK_DTYPE_BIT))

/* Truth values are integers. In this order each kind holds the one before. */
typedef enum tbk_kind { TBK_KIND_INTEGER, TBK_KIND_REAL, TBK_KIND_COMPLEX } tbk_kind_t;

/* Returns the size of an element; 0 where the dtype is not known. */
static inline int64_t tbk_dtype_bytes(int32_t dtype) {
  switch (dtype) {
#define TBK_DTYPE_CASE(name, value, size_bytes) \
  case value:                                   \
    return size_bytes;
    TBK_DTYPE_MAP(TBK_DTYPE_CASE)
#undef TBK_DTYPE_CASE
    default:
      return 0;
  }
}

/* Returns what kind of number an element is. */
static inline tbk_kind_t tbk_dtype_kind(int32_t dtype) {
  switch (dtype) {
    case TBK_FLOAT16:
    case TBK_BFLOAT16:
    case TBK_FLOAT32:
    case TBK_FLOAT64:
      return TBK_KIND_REAL;
    case TBK_COMPLEX64:
    case TBK_COMPLEX128:
      return TBK_KIND_COMPLEX;
    default:
      return TBK_KIND_INTEGER;
  }
}

#endif /* TBK_DTYPES_H */
