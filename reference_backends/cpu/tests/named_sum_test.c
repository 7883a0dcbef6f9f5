/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * named_sum_test.c: sum.dim_IntList over each set of dimensions, and mm, whose output may be an input, against
 * plain loops; at once and by a plan.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tbk/tbk_operators.h>

#include "number.h"
#include "session.h"

/* ------------------------------------------------------------------------------------ launches -- */

/* Prepares without memory, and launches in a workspace of as many bytes as that said. */
static void launch_by_plan(session_t* session, const char* name, const void* arguments,
                           session_tensor_t* output) {
  const tbk_core_t* core = session->backend->core;
  const tbk_kernel_t* kernel = session->backend->kernel->kernel_find(session->self, 0, name, 1);
  tbk_plan_t* plan = NULL;
  tbk_memory_t workspace = 0;
  uint64_t bytes = 0;
  CU_ASSERT_EQUAL_FATAL(kernel->prepare(session->self, 0, kernel, arguments, &plan, &bytes, NULL),
                        TBK_OK);
  if (bytes) CU_ASSERT_EQUAL(core->memory_alloc(session->self, 0, bytes, &workspace, NULL), TBK_OK);
  CU_ASSERT_EQUAL(
      kernel->launch_plan(session->self, 0, plan, arguments, workspace, 0, session->stream, NULL),
      TBK_OK);
  CU_ASSERT_EQUAL(
      session->backend->stream->stream_synchronize(session->self, session->stream, NULL), TBK_OK);
  kernel->plan_destroy(session->self, plan);
  if (bytes) CU_ASSERT_EQUAL(core->memory_free(session->self, 0, workspace, NULL), TBK_OK);
  session_download(session, output);
}

/* ---------------------------------------------------------------------------------------- sums -- */

enum { RANK = 9, FEW = 5 }; /* of the sets of more than a few dimensions some are tried */
typedef struct layout {
  int32_t rank;
  int64_t sizes[RANK], strides[RANK];
} layout_t;
static const layout_t layouts[] = {
    {0, {0}, {0}},
    {1, {2500}, {1}},
    {1, {0}, {1}},
    {2, {3, 0}, {1, 1}},
    {2, {70, 50}, {50, 1}},
    {3, {33, 1, 40}, {1, 777, 35}},
    {4, {3, 4, 5, 6}, {120, 30, -6, 1}},
    {4, {2, 40, 3, 5}, {0, 1, 40, 120}},
    {5, {2, 3, 1, 2, 7}, {42, 14, 14, 7, 1}},
    {9, {2, 1, 3, 1, 2, 1, 2, 1, 2}, {24, 1, 8, 1, 4, 1, 2, 1, 1}},
    {9, {2, 2, 2, 2, 2, 2, 2, 2, 2}, {256, 128, 64, 32, 16, 8, 4, 2, 1}},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };
static const struct {
  int32_t in, out;
  long double step; /* twice what one addition may be off, of all that is added; 0: integers */
} pairs[] = {
    {TBK_BOOL, TBK_INT64, 0},
    {TBK_UINT8, TBK_INT64, 0},
    {TBK_INT16, TBK_INT64, 0},
    {TBK_INT64, TBK_INT64, 0},
    {TBK_INT32, TBK_INT32, 0},
    {TBK_INT8, TBK_INT8, 0},
    {TBK_BOOL, TBK_BOOL, 0},
    {TBK_FLOAT16, TBK_FLOAT16, 0x1p-11L},
    {TBK_BFLOAT16, TBK_BFLOAT16, 0x1p-8L},
    {TBK_FLOAT32, TBK_FLOAT32, FLT_EPSILON},
    {TBK_FLOAT64, TBK_FLOAT64, (long double)DBL_EPSILON},
    {TBK_COMPLEX64, TBK_COMPLEX64, FLT_EPSILON},
    {TBK_COMPLEX128, TBK_COMPLEX128, (long double)DBL_EPSILON},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static int32_t part_of(int32_t dtype) {
  if (dtype == TBK_COMPLEX64) return TBK_FLOAT32;
  return dtype == TBK_COMPLEX128 ? TBK_FLOAT64 : dtype;
}

static void put(void* at, int32_t dtype, long double value) {
  const float narrow = (float)value;
  const double wide = (double)value;
  const uint16_t half =
      dtype == TBK_FLOAT16 || dtype == TBK_BFLOAT16 ? number_narrow(value, dtype) : 0;
  memcpy(at,
         dtype == TBK_FLOAT32   ? (const void*)&narrow
         : dtype == TBK_FLOAT64 ? (const void*)&wide
                                : &half,
         (size_t)tbk_dtype_bytes(dtype));
}

/* Any bits, or real numbers from -8 to 8. */
static session_tensor_t draw(session_t* session, int32_t dtype, int32_t rank, const int64_t* sizes,
                             const int64_t* strides, uint64_t seed) {
  session_tensor_t made = session_tensor(session, dtype, rank, sizes, strides, seed);
  const int32_t part = part_of(dtype);
  const uint64_t bytes = (uint64_t)tbk_dtype_bytes(part);
  for (uint64_t at = 0; at < made.bytes && tbk_dtype_kind(part) == TBK_KIND_REAL; at += bytes)
    put((char*)made.host + at, part, (long double)(int64_t)session_draw(&seed) * 0x1p-60L);
  session_upload(session, &made);
  return made;
}

/* What is added up for one element of an output, of a real or an imaginary part. */
typedef struct total {
  uint64_t whole;
  long double real, size;
  int64_t count;
} total_t;

static bool belongs(const session_tensor_t* in, int64_t i, int64_t o, uint32_t summed) {
  int64_t kept = 0, step = 1;
  for (int32_t d = in->tensor.rank - 1; d >= 0; i /= in->sizes[d], d--)
    if (!(summed >> d & 1)) {
      kept += i % in->sizes[d] * step;
      step *= in->sizes[d];
    }
  return kept == o;
}

static total_t total_of(const session_tensor_t* in, int64_t o, uint32_t summed, int which) {
  const int32_t part = part_of(in->tensor.dtype);
  total_t total = {0};
  for (int64_t i = 0; i < session_count(in); i++) {
    if (!belongs(in, i, o, summed)) continue;
    const char* at = (char*)session_element(in, i) + which * tbk_dtype_bytes(part);
    int64_t whole = 0;
    const long double value = number_value(at, part);
    if (part == TBK_INT64) memcpy(&whole, at, sizeof whole);
    if (tbk_dtype_kind(part) == TBK_KIND_REAL)
      total.real += value;
    else
      total.whole += (uint64_t)(part == TBK_INT64 ? whole : (int64_t)value);
    total.size += fabsl(value);
    total.count++;
  }
  return total;
}

static bool is_sum(const void* at, int32_t dtype, const total_t* total, long double step) {
  if (step > 0) {
    const long double narrow = dtype == TBK_FLOAT16 || dtype == TBK_BFLOAT16 ? FLT_EPSILON : step;
    const long double off = fabsl(number_value(at, dtype) - total->real);
    return off <= step * fabsl(total->real) + narrow * (long double)total->count * total->size;
  }
  uint64_t seen = 0;
  const uint64_t right = dtype == TBK_BOOL ? total->whole != 0 : total->whole;
  const int64_t bytes = tbk_dtype_bytes(dtype);
  memcpy(&seen, at, (size_t)bytes);
  return memcmp(&seen, &right, (size_t)bytes) == 0;
}

/* How many elements of the output are not the sum. */
static int64_t count_wrong(const session_tensor_t* out, const session_tensor_t* in, uint32_t summed,
                           long double step) {
  const int32_t part = part_of(out->tensor.dtype);
  int64_t wrong = 0;
  for (int64_t o = 0; o < session_count(out); o++)
    for (int which = 0; which < (part == out->tensor.dtype ? 1 : 2); which++) {
      const total_t total = total_of(in, o, summed, which);
      const char* at = (char*)session_element(out, o) + which * tbk_dtype_bytes(part);
      wrong += !is_sum(at, part, &total, step);
    }
  return wrong;
}

/* Gives the sizes of the sum; returns their number. */
static int32_t sizes_of_sum(const layout_t* layout, uint32_t summed, bool keepdim, int64_t* sizes) {
  int32_t rank = 0;
  for (int32_t d = 0; d < layout->rank; d++) {
    if (!(summed >> d & 1)) sizes[rank++] = layout->sizes[d];
    if (summed >> d & 1 && keepdim) sizes[rank++] = 1;
  }
  return rank;
}

static void check_sum(session_t* session, const layout_t* layout, size_t pair, uint32_t summed,
                      bool keepdim) {
  int64_t sizes[RANK], dims[RANK], strides[RANK] = {1};
  const int32_t rank = sizes_of_sum(layout, summed, keepdim, sizes);
  for (int32_t d = 1; d < rank; d++) /* the first dimension lies together */
    strides[d] = strides[d - 1] * (sizes[d - 1] ? sizes[d - 1] : 1) + d;
  session_tensor_t in =
      draw(session, pairs[pair].in, layout->rank, layout->sizes, layout->strides, 9);
  session_tensor_t out = draw(session, pairs[pair].out, rank, sizes, strides, 4);
  tbk_int_list_t list = {dims, 0};
  for (int32_t d = 0; d < layout->rank; d++)
    if (summed >> d & 1) dims[list.count++] = d % 2 ? d : d - layout->rank;
  const tbk_args_sum_dim_IntList_t args = {sizeof args, session_point(&in), &list, keepdim,
                                           NULL,        session_point(&out)};
  CU_ASSERT_EQUAL(session_named(session, TBK_NAME_sum_dim_IntList, &args, &out), TBK_OK);
  CU_ASSERT_EQUAL(count_wrong(&out, &in, summed, pairs[pair].step), 0);
  memset(out.host, 0x55, out.bytes);
  session_upload(session, &out);
  launch_by_plan(session, TBK_NAME_sum_dim_IntList, &args, &out);
  CU_ASSERT_EQUAL(count_wrong(&out, &in, summed, pairs[pair].step), 0);
  session_free(session, &in);
  session_free(session, &out);
}

/* No dimension named means all. */
static void sums_over_each_set_of_dimensions(void) {
  session_t session = session_open("");
  for (size_t i = 0; i < LAYOUTS; i++)
    for (size_t p = 0; p < PAIRS; p++)
      for (uint32_t summed = layouts[i].rank ? 1 : 0;
           summed<1u << layouts[i].rank; summed += layouts[i].rank> FEW ? 37 : 1) {
        check_sum(&session, &layouts[i], p, summed, false);
        check_sum(&session, &layouts[i], p, summed, true);
      }
  session_close(&session);
}

/* ------------------------------------------------------------------------------------ products -- */

static const int32_t factors[] = {TBK_UINT8,   TBK_INT16,     TBK_INT64,
                                  TBK_FLOAT16, TBK_BFLOAT16,  TBK_FLOAT32,
                                  TBK_FLOAT64, TBK_COMPLEX64, TBK_COMPLEX128};
enum { M = 9, APART, IS_A, IS_B, TURNED };

/* Whole numbers from -2 to 2, so that all sums are exact; UINT8 wraps around. */
static session_tensor_t small(session_t* session, int32_t dtype, const int64_t* strides,
                              uint64_t seed) {
  const int64_t sizes[] = {M, M};
  session_tensor_t made = session_tensor(session, dtype, 2, sizes, strides, seed);
  const int32_t part = part_of(dtype);
  const uint64_t bytes = (uint64_t)tbk_dtype_bytes(part);
  for (uint64_t at = 0; at < made.bytes; at += bytes) {
    const int64_t whole = (int64_t)(session_draw(&seed) % 5) - 2;
    if (tbk_dtype_kind(part) == TBK_KIND_REAL)
      put((char*)made.host + at, part, (long double)whole);
    else
      memcpy((char*)made.host + at, &whole, bytes);
  }
  session_upload(session, &made);
  return made;
}

static long double part_at(const session_tensor_t* tensor, int64_t row, int64_t column, int which) {
  const int32_t part = part_of(tensor->tensor.dtype);
  if (which && part == tensor->tensor.dtype) return 0;
  const char* at = (char*)session_element(tensor, row * M + column) + which * tbk_dtype_bytes(part);
  return number_value(at, part);
}

static void multiply(const session_tensor_t* a, const session_tensor_t* b, long double* right) {
  for (int64_t i = 0; i < M * M; i++)
    for (int64_t k = 0; k < M; k++) {
      const long double re[] = {part_at(a, i / M, k, 0), part_at(b, k, i % M, 0)};
      const long double im[] = {part_at(a, i / M, k, 1), part_at(b, k, i % M, 1)};
      right[2 * i] += re[0] * re[1] - im[0] * im[1];
      right[2 * i + 1] += re[0] * im[1] + im[0] * re[1];
    }
}

static int64_t differences(const session_tensor_t* out, const long double* right) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < M * M; i++)
    for (int which = 0; which < 2; which++) {
      long double expected = right[2 * i + which];
      if (out->tensor.dtype == TBK_UINT8) expected = (uint8_t)(int64_t)expected;
      wrong += part_at(out, i / M, i % M, which) != expected;
    }
  return wrong;
}

static void check_product(session_t* session, int32_t dtype, int form, bool by_plan) {
  static const int64_t turned[] = {1, M + 2};
  session_tensor_t a = small(session, dtype, form == TURNED ? turned : NULL, 3);
  session_tensor_t b = small(session, dtype, NULL, 5);
  session_tensor_t other = small(session, dtype, form == TURNED ? turned : NULL, 7);
  session_tensor_t* out = form == IS_A ? &a : form == IS_B ? &b : &other;
  long double right[2 * M * M] = {0};
  multiply(&a, &b, right);
  const tbk_args_mm_t args = {sizeof args, session_point(&a), session_point(&b),
                              session_point(out)};
  if (by_plan)
    launch_by_plan(session, TBK_NAME_mm, &args, out);
  else
    CU_ASSERT_EQUAL(session_named(session, TBK_NAME_mm, &args, out), TBK_OK);
  CU_ASSERT_EQUAL(differences(out, right), 0);
  session_free(session, &a);
  session_free(session, &b);
  session_free(session, &other);
}

static void products_may_lie_in_their_factors(void) {
  session_t session = session_open("");
  for (size_t d = 0; d < sizeof factors / sizeof *factors; d++)
    for (int form = APART; form <= TURNED; form++) {
      check_product(&session, factors[d], form, false);
      check_product(&session, factors[d], form, true);
    }
  session_close(&session);
}

const CU_TestInfo cpu_named_sum_tests[] = {
    {"sums_over_each_set_of_dimensions", sums_over_each_set_of_dimensions},
    {"products_may_lie_in_their_factors", products_may_lie_in_their_factors},
    CU_TEST_INFO_NULL,
};
