/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * kernels.cl: all kernels, in OpenCL C 1.2. One is compiled at a time: its name, and the dtypes as the
 * numbers that tbk.h gives them, come as macros with the build (program.c). HAS_DOUBLE is 0 or 1.
 */
#pragma OPENCL FP_CONTRACT OFF
#if HAS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
#else
typedef float real;
#endif

/* What job.h calls opencl_shape_t. Element i of operand k lies where offsets[k] and strides[k] say;
 * the last size steps first. Sums run over `inner` elements for each. */
typedef struct {
  long count, rank, inner, inner_rank;
  long sizes[8], inner_sizes[8];
  long offsets[4], strides[4][8], inner_strides[8];
} shape_t;

long place(long i, long rank, const long* sizes, const long* strides) {
  long at = 0;
  for (long d = rank - 1; d > 0; d--) {
    at += i % sizes[d] * strides[d];
    i /= sizes[d];
  }
  return at + i * strides[0];
}
#define AT(k) (shape.offsets[k] + place(i, shape.rank, shape.sizes, shape.strides[k]))

/* ------------------------------------------------------------------------- narrow formats -- */

float float_of_half(ushort bits) {
  float sign = bits & 0x8000 ? -1.0f : 1.0f;
  int exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0x1f) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * (float)fraction * 0x1p-24f;
  return sign * as_float((uint)(exponent + 112) << 23 | (uint)fraction << 13);
}

ushort half_of_float(float value) {
  uint bits = as_uint(value), sign = bits >> 16 & 0x8000;
  float size = fabs(value);
  if (isnan(value)) return (ushort)(sign | 0x7e00);
  if (size >= 65520.0f) return (ushort)(sign | 0x7c00);
  if (size < 0x1p-14f) return (ushort)(sign | (uint)rint(size * 0x1p24f));
  bits = (bits & 0x7fffffff) + 0xfff + (bits >> 13 & 1);
  return (ushort)(sign | ((bits >> 13) - (112 << 10)));
}

float float_of_bfloat(ushort bits) { return as_float((uint)bits << 16); }

ushort bfloat_of_float(float value) {
  uint bits = as_uint(value);
  if (isnan(value)) return (ushort)((bits >> 16 & 0x8000) | 0x7fc0);
  return (ushort)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* To a float that is rounded to odd, so that rounding once more, to a narrower format, is right. */
float odd_of_real(real value) {
  float rounded = (float)value;
  if ((real)rounded == value || isnan(rounded)) return rounded;
  uint bits = as_uint(rounded);
  if (fabs((real)rounded) > fabs(value)) bits--;
  return as_float(bits | 1);
}

float odd_of_long(long value) {
  ulong size = value < 0 ? -(ulong)value : (ulong)value;
  float scale = value < 0 ? -1.0f : 1.0f;
  for (; size >> 24; size = size >> 1 | (size & 1))
    scale *= 2;
  return scale * (float)(uint)size;
}

/* --------------------------------------------------------------------------------- dtypes -- */

/* OUT: how an element is stored, the type that is computed in, and the way there and back. */
#define TRUTH(x) ((ulong)((x) != 0))
#define WIDENED(x) ((ulong)(long)(x))
#define NARROWED(v) ((stored)(v))
#define SAME(x) (x)

#if defined(STORED)
typedef STORED stored;
#if !defined(OUT) /* moved, and not looked at */
typedef stored scalar_t;
#endif
#endif

#if defined(OUT)
#define IS_COMPLEX (OUT == 9 || OUT == 10)
#if OUT == 5
#define LOAD float_of_half
#define STORE half_of_float
#elif OUT == 15
#define LOAD float_of_bfloat
#define STORE bfloat_of_float
#elif OUT == 11
#define LOAD TRUTH
#define STORE TRUTH
#elif OUT <= 4
#define LOAD WIDENED
#define STORE NARROWED
#else
#define LOAD SAME
#define STORE SAME
#endif
#if OUT == 5 || OUT == 6 || OUT == 15
typedef float scalar_t;
typedef real total_t;
#elif OUT == 7 || IS_COMPLEX
typedef stored scalar_t;
typedef stored total_t;
#else
typedef ulong scalar_t; /* unsigned, so that integers wrap around */
typedef ulong total_t;
#endif
#if IS_COMPLEX
scalar_t times(scalar_t a, scalar_t b) {
  return (scalar_t)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
/* 0 times infinity would be no number. */
scalar_t scaled(scalar_t a, scalar_t by) { return by.y == 0 ? a * by.x : times(a, by); }
#else
scalar_t times(scalar_t a, scalar_t b) { return a * b; }
#define scaled times
#endif
#endif

/* ---------------------------------------------------------------------------- elementwise -- */

/* One row each: the operands behind the output, and the value of an element. */
#if defined(FILL)
#define OPERANDS
#define VALUE scalar
#elif defined(COPY)
#define OPERANDS , __global const stored* a
#define VALUE a[AT(1)]
#elif defined(WHERE)
#define OPERANDS , __global const uchar *c, __global const stored *a, __global const stored *b
#define VALUE c[AT(1)] ? a[AT(2)] : b[AT(3)]
#elif defined(ADD)
#define OPERANDS , __global const stored *a, __global const stored *b
#define VALUE STORE(LOAD(a[AT(1)]) + scaled(LOAD(b[AT(2)]), scalar))
#elif defined(MUL)
#define OPERANDS , __global const stored *a, __global const stored *b
#define VALUE STORE(times(LOAD(a[AT(1)]), LOAD(b[AT(2)])))
#elif defined(CONVERT)
#define OPERANDS , __global const uchar* a
#define VALUE converted(a, AT(1), (int)shape.inner)
#endif

#if defined(CONVERT)
typedef struct {
  bool whole;
  long integer;
  real x, y;
} number_t;

#define WHOLE(v) ((number_t){true, (long)(v), 0, 0})
#define REAL(v) ((number_t){false, 0, (v), 0})
#define ELEMENT(type) (((__global const type*)from)[at])
number_t load(__global const uchar* from, long at, int dtype) {
  switch (dtype) {
    case 0: return WHOLE(ELEMENT(uchar));
    case 1: return WHOLE(ELEMENT(char));
    case 2: return WHOLE(ELEMENT(short));
    case 3: return WHOLE(ELEMENT(int));
    case 4: return WHOLE(ELEMENT(long));
    case 5: return REAL(float_of_half(ELEMENT(ushort)));
    case 6: return REAL(ELEMENT(float));
    case 9: return (number_t){false, 0, ELEMENT(float2).x, ELEMENT(float2).y};
    case 11: return WHOLE(ELEMENT(uchar) != 0);
    case 15: return REAL(float_of_bfloat(ELEMENT(ushort)));
#if HAS_DOUBLE
    case 7: return REAL(ELEMENT(double));
    case 10: return (number_t){false, 0, ELEMENT(double2).x, ELEMENT(double2).y};
#endif
    default: return WHOLE(0);
  }
}

/* Truncates. What does not fit has no value in C, and gets that of PyTorch's CPU on x86: the least
 * integer of the type that it is converted through, for a signed one up to 32 bits int32. */
long truncated(real value) {
#if OUT == 1 || OUT == 2 || OUT == 3
  return value >= -0x1p31f && value < 0x1p31f ? (long)value : (long)INT_MIN;
#else
  return value >= -0x1p63f && value < 0x1p63f ? (long)value : LONG_MIN;
#endif
}

stored converted(__global const uchar* from, long at, int dtype) {
  number_t n = load(from, at, dtype);
#if OUT == 5 || OUT == 15
  return STORE(n.whole ? odd_of_long(n.integer) : odd_of_real(n.x));
#elif OUT == 6 || OUT == 7
  return n.whole ? (stored)n.integer : (stored)n.x;
#elif OUT == 9
  return n.whole ? (float2)((float)n.integer, 0) : (float2)((float)n.x, (float)n.y);
#elif OUT == 10
  return n.whole ? (double2)((double)n.integer, 0) : (double2)(n.x, n.y);
#elif OUT == 11
  return n.whole ? n.integer != 0 : n.x != 0 || n.y != 0;
#else
  return (stored)(n.whole ? n.integer : truncated(n.x));
#endif
}
#endif

#if defined(OPERANDS)
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void run(
    const shape_t shape, const scalar_t scalar, __global stored* out OPERANDS) {
  const long i = (long)get_global_id(0);
  if (i < shape.count) out[AT(0)] = VALUE;
}
#endif

/* -------------------------------------------------------------------------------- by hand -- */

#if defined(SUM_EACH) || defined(SUM_GROUP)
typedef SUMMED summand;
#if IN == OUT
#define SUMMAND LOAD
#elif IN == 11
#define SUMMAND TRUTH
#else
#define SUMMAND WIDENED
#endif
#if OUT == 5 || OUT == 15
#define SUM_STORE(v) STORE(odd_of_real(v))
#elif OUT == 6
#define SUM_STORE(v) ((float)(v))
#else
#define SUM_STORE(v) STORE(v)
#endif
#define INNER(j) place(j, shape.inner_rank, shape.inner_sizes, shape.inner_strides)
#endif

/* Where there are many summands, a work-group adds up for each element: every item takes each 64th
 * summand, and a tree the 64 sums. Else an item does. */
#if defined(SUM_EACH) || defined(SUM_GROUP)
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void run(
    const shape_t shape, __global stored* out, __global const summand* in) {
#if defined(SUM_GROUP)
  __local total_t totals[64];
  const int item = (int)get_local_id(0), items = 64;
  const long i = (long)get_group_id(0);
#else
  const int item = 0, items = 1;
  const long i = (long)get_global_id(0);
#endif
  if (i >= shape.count) return; /* of a group, all items or none */
  __global const summand* from = in + AT(1);
  total_t total = (total_t)(0);
  for (long j = item; j < shape.inner; j += items)
    total += SUMMAND(from[INNER(j)]);
#if defined(SUM_GROUP)
  totals[item] = total;
  for (int half_way = 32; half_way > 0; half_way /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < half_way) totals[item] += totals[item + half_way];
  }
  total = totals[0];
#endif
  if (item == 0) out[AT(0)] = SUM_STORE(total);
}
#endif

/* sizes: rows and columns of the product; inner: what is summed over. Tiles of 8 by 8. */
#if defined(MM)
#define ELEMENT(k, row, column) \
  [shape.offsets[k] + (row) * shape.strides[k][0] + (column) * shape.strides[k][1]]
__kernel __attribute__((reqd_work_group_size(8, 8, 1))) void run(
    const shape_t shape, __global stored* out, __global const stored* a,
    __global const stored* b) {
  __local scalar_t left[8][8], right[8][8];
  const int x = (int)get_local_id(0), y = (int)get_local_id(1);
  const long column = (long)get_global_id(0), row = (long)get_global_id(1);
  scalar_t total = (scalar_t)(0);
  for (long from = 0; from < shape.inner; from += 8) {
    const bool in_left = row < shape.sizes[0] && from + x < shape.inner;
    const bool in_right = column < shape.sizes[1] && from + y < shape.inner;
    left[y][x] = in_left ? LOAD(a ELEMENT(1, row, from + x)) : (scalar_t)(0);
    right[y][x] = in_right ? LOAD(b ELEMENT(2, from + y, column)) : (scalar_t)(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int steps = (int)min(8L, shape.inner - from);
    for (int k = 0; k < steps; k++)
      total += times(left[y][k], right[k][x]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < shape.sizes[0] && column < shape.sizes[1]) out ELEMENT(0, row, column) = STORE(total);
}
#endif

/* Philox4x32-10: item i writes the four words of block first + i, as far as `count` goes. */
#if defined(RANDOM)
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void run(
    const shape_t shape, __global uint* out) {
  const ulong seed = (ulong)shape.sizes[0], first = (ulong)shape.sizes[1];
  const ulong count = (ulong)shape.count, offset = (ulong)shape.offsets[0];
  const ulong i = get_global_id(0);
  if (i * 4 >= count) return;
  uint4 c = (uint4)((uint)(first + i), (uint)((first + i) >> 32), 0, 0);
  uint2 key = (uint2)((uint)seed, (uint)(seed >> 32));
  for (int round = 0; round < 10; round++) {
    const uint high0 = mul_hi(0xD2511F53u, c.x), high1 = mul_hi(0xCD9E8D57u, c.z);
    c = (uint4)(high1 ^ c.y ^ key.x, 0xCD9E8D57u * c.z, high0 ^ c.w ^ key.y, 0xD2511F53u * c.x);
    key += (uint2)(0x9E3779B9u, 0xBB67AE85u);
  }
  const uint words[4] = {c.x, c.y, c.z, c.w};
  for (ulong k = 0; k < 4 && i * 4 + k < count; k++)
    out[offset + i * 4 + k] = words[k];
}
#endif
