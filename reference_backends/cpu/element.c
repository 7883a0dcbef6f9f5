/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * element.c: elements of all dtypes, loaded into and stored from numbers of the widest kind.
 */
#include "kernel.h"

#include <math.h>
#include <string.h>

typedef uint8_t __attribute__((may_alias)) word8_t;
typedef uint16_t __attribute__((may_alias)) word16_t;
typedef uint32_t __attribute__((may_alias)) word32_t;
typedef uint64_t __attribute__((may_alias)) word64_t;

uint64_t cpu_load_word(const char* from, int64_t size_bytes) {
  uint64_t word = 0;
  if ((uintptr_t)from % (uintptr_t)size_bytes) {
    vdev_words_copy(&word, from, (uint64_t)size_bytes);
    return word; /* little-endian, as are all hosts of this backend */
  }
  switch (size_bytes) {
    case 1:
      return __atomic_load_n((const word8_t*)(const void*)from, __ATOMIC_RELAXED);
    case 2:
      return __atomic_load_n((const word16_t*)(const void*)from, __ATOMIC_RELAXED);
    case 4:
      return __atomic_load_n((const word32_t*)(const void*)from, __ATOMIC_RELAXED);
    default:
      return __atomic_load_n((const word64_t*)(const void*)from, __ATOMIC_RELAXED);
  }
}

void cpu_store_word(char* to, uint64_t word, int64_t size_bytes) {
  if ((uintptr_t)to % (uintptr_t)size_bytes) {
    vdev_words_copy(to, &word, (uint64_t)size_bytes);
    return;
  }
  switch (size_bytes) {
    case 1:
      __atomic_store_n((word8_t*)(void*)to, (uint8_t)word, __ATOMIC_RELAXED);
      break;
    case 2:
      __atomic_store_n((word16_t*)(void*)to, (uint16_t)word, __ATOMIC_RELAXED);
      break;
    case 4:
      __atomic_store_n((word32_t*)(void*)to, (uint32_t)word, __ATOMIC_RELAXED);
      break;
    default:
      __atomic_store_n((word64_t*)(void*)to, word, __ATOMIC_RELAXED);
  }
}

static double double_of_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t bits_of_double(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double real_of_half(uint32_t bits) {
  double sign = bits & 0x8000 ? -1.0 : 1.0;
  int exponent = (int)(bits >> 10 & 0x1f), fraction = (int)(bits & 0x3ff);
  if (exponent == 0x1f) return fraction ? (double)NAN : sign * (double)INFINITY;
  return sign * (exponent ? ldexp(fraction + 0x400, exponent - 25) : ldexp(fraction, -24));
}

/* Rounds to odd, so that rounding once more, to a narrower format, is right. */
static float odd_float(long double value) {
  float rounded = (float)value;
  if ((long double)rounded == value || rounded != rounded) return rounded;
  uint32_t bits = bits_of_float(rounded);
  if (fabsl((long double)rounded) > fabsl(value)) bits--;
  return float_of_bits(bits | 1);
}

static uint32_t half_bits(float value) {
  uint32_t bits = bits_of_float(value), sign = bits >> 16 & 0x8000;
  float size = fabsf(value);
  if (size != size) return sign | 0x7e00;
  if (size >= 65520.0f) return sign | 0x7c00;
  if (size < 0x1p-14f) return sign | (uint32_t)lrintf(size * 0x1p24f);
  bits &= 0x7fffffff;
  bits += 0xfff + (bits >> 13 & 1);
  return sign | ((bits >> 13) - (112 << 10));
}

static uint32_t bfloat_bits(float value) {
  uint32_t bits = bits_of_float(value);
  if (value != value) return (bits >> 16 & 0x8000) | 0x7fc0;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static cpu_number_t integer(int64_t value) {
  return (cpu_number_t){.kind = TBK_KIND_INTEGER, .integer = value};
}

static cpu_number_t real(double value) {
  return (cpu_number_t){.kind = TBK_KIND_REAL, .real = value};
}

static cpu_number_t complex_number(double real_part, double imaginary_part) {
  return (cpu_number_t){.kind = TBK_KIND_COMPLEX, .real = real_part, .imaginary = imaginary_part};
}

static double real_at(const char* from, int64_t size_bytes) {
  uint64_t word = cpu_load_word(from, size_bytes);
  return size_bytes == 4 ? (double)float_of_bits((uint32_t)word) : double_of_bits(word);
}

cpu_number_t cpu_load(const char* from, int32_t dtype) {
  switch (dtype) {
    case TBK_UINT8:
      return integer((uint8_t)cpu_load_word(from, 1));
    case TBK_BOOL:
      return integer(cpu_load_word(from, 1) != 0);
    case TBK_INT8:
      return integer((int8_t)cpu_load_word(from, 1));
    case TBK_INT16:
      return integer((int16_t)cpu_load_word(from, 2));
    case TBK_INT32:
      return integer((int32_t)cpu_load_word(from, 4));
    case TBK_INT64:
      return integer((int64_t)cpu_load_word(from, 8));
    case TBK_FLOAT16:
      return real(real_of_half((uint32_t)cpu_load_word(from, 2)));
    case TBK_BFLOAT16:
      return real((double)float_of_bits((uint32_t)cpu_load_word(from, 2) << 16));
    case TBK_FLOAT32:
      return real(real_at(from, 4));
    case TBK_FLOAT64:
      return real(real_at(from, 8));
    case TBK_COMPLEX64:
      return complex_number(real_at(from, 4), real_at(from + 4, 4));
    default:
      return complex_number(real_at(from, 8), real_at(from + 8, 8));
  }
}

/* Truncates. What does not fit has no value in C, and gets that of PyTorch's CPU on x86: the least
 * integer of the type that it is converted through, which for a signed one up to 32 bits is int32. */
static int64_t truncated(double value, int32_t dtype) {
  const bool narrow = dtype == TBK_INT8 || dtype == TBK_INT16 || dtype == TBK_INT32;
  const double limit = narrow ? 0x1p31 : 0x1p63;
  if (value >= -limit && value < limit) return (int64_t)value;
  return narrow ? INT32_MIN : INT64_MIN;
}

static bool is_true(cpu_number_t number) {
  if (number.kind == TBK_KIND_INTEGER) return number.integer != 0;
  return number.real != 0 || (number.kind == TBK_KIND_COMPLEX && number.imaginary != 0);
}

static void store_real(char* to, int32_t dtype, cpu_number_t number) {
  bool whole = number.kind == TBK_KIND_INTEGER;
  float narrow;
  switch (dtype) {
    case TBK_FLOAT64:
      cpu_store_word(to, bits_of_double(whole ? (double)number.integer : number.real), 8);
      break;
    case TBK_FLOAT32:
      cpu_store_word(to, bits_of_float(whole ? (float)number.integer : (float)number.real), 4);
      break;
    default:
      narrow = odd_float(whole ? (long double)number.integer : (long double)number.real);
      cpu_store_word(to, dtype == TBK_FLOAT16 ? half_bits(narrow) : bfloat_bits(narrow), 2);
  }
}

void cpu_store(char* to, int32_t dtype, cpu_number_t number) {
  const cpu_number_t imaginary = real(number.kind == TBK_KIND_COMPLEX ? number.imaginary : 0);
  switch (tbk_dtype_kind(dtype)) {
    case TBK_KIND_REAL:
      store_real(to, dtype, number);
      break;
    case TBK_KIND_COMPLEX:
      store_real(to, dtype == TBK_COMPLEX64 ? TBK_FLOAT32 : TBK_FLOAT64, number);
      to += dtype == TBK_COMPLEX64 ? 4 : 8;
      store_real(to, dtype == TBK_COMPLEX64 ? TBK_FLOAT32 : TBK_FLOAT64, imaginary);
      break;
    default: {
      int64_t value =
          number.kind == TBK_KIND_INTEGER ? number.integer : truncated(number.real, dtype);
      if (dtype == TBK_BOOL) value = is_true(number);
      cpu_store_word(to, (uint64_t)value, tbk_dtype_bytes(dtype));
    }
  }
}

tbk_status_t cpu_number_of(const tbk_scalar_t* scalar, cpu_number_t* out_number,
                           tbk_error_t* error) {
  switch (scalar->kind) {
    case TBK_SCALAR_INT:
    case TBK_SCALAR_BOOL:
      return *out_number = integer(scalar->integer), TBK_OK;
    case TBK_SCALAR_DOUBLE:
      return *out_number = real(scalar->real), TBK_OK;
    case TBK_SCALAR_COMPLEX:
      return *out_number = complex_number(scalar->real, scalar->imaginary), TBK_OK;
    default:
      return cpu_fail(TBK_INVALID, error, "a scalar of an unknown kind");
  }
}
