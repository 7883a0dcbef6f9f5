/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * named_test.c: the kernels that have names of elementwise operators, each dtype in each layout, against plain
 * loops. Nothing between the elements of an output may change.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <tbk/tbk_operators.h>

#include "number.h"
#include "session.h"

enum { RANK = 5, OUT = 0, LEFT = 1, RIGHT = 2 };
static const int32_t dtypes[] = {TBK_UINT8,   TBK_INT8,    TBK_INT16,     TBK_INT32,
                                 TBK_INT64,   TBK_BOOL,    TBK_FLOAT16,   TBK_BFLOAT16,
                                 TBK_FLOAT32, TBK_FLOAT64, TBK_COMPLEX64, TBK_COMPLEX128};
enum { DTYPES = sizeof dtypes / sizeof *dtypes, REALS = DTYPES - 2 };

/* Sizes, and strides of an output and two inputs. */
typedef struct layout {
  int32_t rank;
  int64_t sizes[RANK], strides[3][RANK];
} layout_t;
static const layout_t layouts[] = {
    {0, {0}, {{0}, {0}, {0}}},
    {1, {1300}, {{1}, {1}, {1}}},
    {1, {700}, {{-1}, {3}, {0}}},
    {2, {0, 3}, {{3, 1}, {3, 1}, {3, 1}}},
    {2, {40, 24}, {{24, 1}, {24, 1}, {0, 1}}},
    {2, {3, 700}, {{1, 3}, {800, 1}, {0, 0}}},
    {2, {90, 70}, {{70, 1}, {1, 90}, {1, 0}}},
    {3, {2, 3, 5}, {{40, 9, 1}, {1, 2, 6}, {15, 5, 1}}},
    {4, {3, 4, 5, 6}, {{120, 1, 24, 4}, {120, 1, 24, 4}, {120, 30, 6, 1}}},
    {4, {3, 4, 5, 6}, {{120, 30, 6, 1}, {120, 30, 6, 1}, {0, 1, 0, 0}}},
    {4, {1, 17, 1, 33}, {{9999, 33, 7, 1}, {5, 33, -3, 1}, {0, 35, 0, 1}}},
    {5, {2, 3, 2, 3, 4}, {{200, 60, 25, 6, 1}, {1, 2, 6, 12, 36}, {0, 4, 0, -1, 30}}},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

/* ------------------------------------------------------------------------------------ tensors -- */

static void put_real(void* at, int32_t dtype, long double value) {
  const float narrow = (float)value;
  const double wide = (double)value;
  const uint16_t half =
      dtype == TBK_FLOAT16 || dtype == TBK_BFLOAT16 ? number_narrow(value, dtype) : 0;
  const void* from = dtype == TBK_FLOAT32   ? (const void*)&narrow
                     : dtype == TBK_FLOAT64 ? (const void*)&wide
                                            : &half;
  memcpy(at, from, (size_t)tbk_dtype_bytes(dtype));
}

static bool is_real(int32_t dtype) {
  return tbk_dtype_kind(dtype) == TBK_KIND_REAL;
}

/* Bits drawn by chance, and sizes of everyday. */
static session_tensor_t draw(session_t* session, int32_t dtype, const layout_t* layout, int which) {
  session_tensor_t made =
      session_tensor(session, dtype, layout->rank, layout->sizes, layout->strides[which],
                     (uint64_t)dtype * 5 + (uint64_t)which + 1);
  uint64_t state = (uint64_t)which;
  const uint64_t bytes = (uint64_t)tbk_dtype_bytes(dtype);
  for (uint64_t at = 0; at < made.bytes; at += bytes) {
    const long double everyday = (long double)(int64_t)session_draw(&state) * 0x1p-54L;
    if (is_real(dtype) && at / bytes % 4) put_real((char*)made.host + at, dtype, everyday);
  }
  session_upload(session, &made);
  return made;
}

/* Takes the output away from both: what is and what should be are the same, and so is what lies between. */
static void check(session_t* session, session_tensor_t* seen, char* right) {
  const int32_t dtype = seen->tensor.dtype;
  const uint64_t bytes = (uint64_t)tbk_dtype_bytes(dtype);
  uint64_t wrong = 0;
  for (uint64_t at = 0; at < seen->bytes; at += bytes)
    wrong += !number_same((char*)seen->host + at, right + at, dtype);
  CU_ASSERT_EQUAL(wrong, 0);
  free(right);
  session_free(session, seen);
}

static char* copy_of(const session_tensor_t* tensor) {
  char* copy = malloc(tensor->bytes + 8);
  memcpy(copy, tensor->host, tensor->bytes);
  return copy;
}

/* Where an element lies in a copy. */
static void* place(const session_tensor_t* tensor, char* copy, int64_t i) {
  return copy + ((char*)session_element(tensor, i) - (char*)tensor->host);
}

/* ----------------------------------------------------------------------------- add and multiply -- */

static int64_t integer_at(const void* at, int32_t dtype) {
  int64_t whole = 0;
  if (dtype != TBK_INT64) return (int64_t)number_value(at, dtype);
  memcpy(&whole, at, sizeof whole);
  return whole;
}

static void put_integer(void* at, int32_t dtype, int64_t value) {
  const int64_t kept = dtype == TBK_BOOL ? value != 0 : value;
  memcpy(at, &kept, (size_t)tbk_dtype_bytes(dtype)); /* little-endian */
}

/* out = left * right, or left + alpha * right. */
typedef struct formula {
  bool multiplies;
  tbk_scalar_t alpha;
} formula_t;

static void compute_integer(const formula_t* f, void* out, const void* left, const void* right,
                            int32_t dtype) {
  const uint64_t a = (uint64_t)integer_at(left, dtype), b = (uint64_t)integer_at(right, dtype);
  const uint64_t alpha =
      dtype == TBK_BOOL ? (uint64_t)(f->alpha.integer != 0) : (uint64_t)f->alpha.integer;
  put_integer(out, dtype, (int64_t)(f->multiplies ? a * b : a + alpha * b));
}

static void compute_real(const formula_t* f, void* out, const void* left, const void* right,
                         int32_t dtype) {
  const double a = (double)number_value(left, dtype), b = (double)number_value(right, dtype);
  const double alpha = f->alpha.kind == TBK_SCALAR_INT ? (double)f->alpha.integer : f->alpha.real;
  const double scaled = alpha * b;
  put_real(out, dtype, (long double)(f->multiplies ? a * b : a + scaled));
}

static void compute_complex(const formula_t* f, void* out, const void* left, const void* right,
                            int32_t dtype) {
  const int32_t part = dtype == TBK_COMPLEX64 ? TBK_FLOAT32 : TBK_FLOAT64;
  const int64_t bytes = tbk_dtype_bytes(part);
  double n[2][2];
  for (int i = 0; i < 2; i++) {
    n[0][i] = (double)number_value((const char*)left + i * bytes, part);
    n[1][i] = (double)number_value((const char*)right + i * bytes, part);
  }
  const double alpha = f->alpha.kind == TBK_SCALAR_INT ? (double)f->alpha.integer : f->alpha.real;
  const double real =
      f->multiplies ? n[0][0] * n[1][0] - n[0][1] * n[1][1] : n[0][0] + alpha * n[1][0];
  const double other =
      f->multiplies ? n[0][0] * n[1][1] + n[0][1] * n[1][0] : n[0][1] + alpha * n[1][1];
  put_real(out, part, (long double)real);
  put_real((char*)out + bytes, part, (long double)other);
}

static tbk_status_t launch(session_t* session, const formula_t* f, session_tensor_t* t) {
  const tbk_tensor_t *out = session_point(&t[OUT]), *left = session_point(&t[LEFT]);
  const tbk_tensor_t* right = session_point(&t[RIGHT]);
  const tbk_args_mul_Tensor_t mul = {sizeof mul, left, right, out};
  const tbk_args_add_Tensor_t add = {sizeof add, left, right, f->alpha, out};
  return f->multiplies ? session_named(session, TBK_NAME_mul_Tensor, &mul, &t[OUT])
                       : session_named(session, TBK_NAME_add_Tensor, &add, &t[OUT]);
}

/* Draws complex numbers of everyday alone: what an infinity times a number is, is open. */
static void tame(session_t* session, session_tensor_t* tensor) {
  const int32_t part = tensor->tensor.dtype == TBK_COMPLEX64 ? TBK_FLOAT32 : TBK_FLOAT64;
  const uint64_t bytes = (uint64_t)tbk_dtype_bytes(part);
  for (uint64_t at = 0; at < tensor->bytes; at += bytes)
    put_real((char*)tensor->host + at, part, (long double)(int)(at * 7 % 1000) / 8);
  session_upload(session, tensor);
}

static void check_formula(session_t* session, const formula_t* f, int32_t dtype,
                          const layout_t* layout) {
  session_tensor_t t[3];
  const tbk_kind_t kind = tbk_dtype_kind(dtype);
  for (int i = OUT; i <= RIGHT; i++)
    t[i] = draw(session, dtype, layout, i);
  for (int i = LEFT; i <= RIGHT && kind == TBK_KIND_COMPLEX; i++)
    tame(session, &t[i]);
  char* right = copy_of(&t[OUT]);
  for (int64_t i = 0; i < session_count(&t[OUT]); i++) {
    void* out = place(&t[OUT], right, i);
    const void *a = session_element(&t[LEFT], i), *b = session_element(&t[RIGHT], i);
    (kind == TBK_KIND_INTEGER ? compute_integer
     : kind == TBK_KIND_REAL  ? compute_real
                              : compute_complex)(f, out, a, b, dtype);
  }
  CU_ASSERT_EQUAL(launch(session, f, t), TBK_OK);
  check(session, &t[OUT], right);
  session_free(session, &t[LEFT]);
  session_free(session, &t[RIGHT]);
}

static void sums_and_products_of_elements(void) {
  static const formula_t formulas[] = {
      {true, {0}},
      {false, {.kind = TBK_SCALAR_INT, .integer = 1}},
      {false, {.kind = TBK_SCALAR_INT, .integer = -1}},
      {false, {.kind = TBK_SCALAR_INT, .integer = 0x100000003}},
      {false, {.kind = TBK_SCALAR_DOUBLE, .real = -0.3}},
  };
  session_t session = session_open("");
  for (size_t f = 0; f < sizeof formulas / sizeof *formulas; f++)
    for (size_t d = 0; d < DTYPES; d++)
      for (size_t i = 0; i < LAYOUTS; i++)
        if (formulas[f].alpha.kind == TBK_SCALAR_INT ||
            tbk_dtype_kind(dtypes[d]) != TBK_KIND_INTEGER)
          check_formula(&session, &formulas[f], dtypes[d], &layouts[i]);
  session_close(&session);
}

/* A row that is added to the matrix it lies in is read again at each row, as PyTorch's CPU does. */
static void rows_of_a_matrix_are_added_in_order(void) {
  enum { ROWS = 4, COLUMNS = 5 };
  static const int64_t sizes[] = {ROWS, COLUMNS}, strides[][2] = {{1, ROWS}, {12, 2}, {COLUMNS, 1}};
  session_t session = session_open("");
  for (int form = 0; form < 3; form++) {
    session_tensor_t matrix = session_tensor(&session, TBK_INT64, 2, sizes, strides[form], 3);
    char* right = copy_of(&matrix);
    const int64_t row_strides[] = {0, strides[form][1]};
    for (int64_t i = 0; i < ROWS * COLUMNS; i++)
      *(uint64_t*)place(&matrix, right, i) += *(uint64_t*)place(&matrix, right, i % COLUMNS);
    tbk_tensor_t row = *session_point(&matrix);
    row.strides = row_strides;
    const tbk_tensor_t* whole = session_point(&matrix);
    const tbk_args_add_Tensor_t add = {sizeof add, whole, &row, {.integer = 1}, whole};
    CU_ASSERT_EQUAL(session_named(&session, TBK_NAME_add_Tensor, &add, &matrix), TBK_OK);
    check(&session, &matrix, right);
  }
  session_close(&session);
}

/* ------------------------------------------------------------------------------------- copies -- */

/* What PyTorch's CPU makes of a real number: the least integer where it fits no int32, or int64 for UINT8 and INT64. */
static int64_t cut(double value, int32_t to) {
  const bool wide = to == TBK_UINT8 || to == TBK_INT64;
  const double limit = wide ? 0x1p63 : 0x1p31;
  if (trunc(value) >= -limit && value < limit) return (int64_t)value;
  return wide ? INT64_MIN : INT32_MIN;
}

static void convert(void* out, int32_t to, const void* in, int32_t from) {
  const long double value = number_value(in, from);
  if (is_real(to))
    put_real(out, to, from == TBK_INT64 ? (long double)integer_at(in, from) : value);
  else if (to == TBK_BOOL)
    put_integer(out, to, value != 0);
  else
    put_integer(out, to, is_real(from) ? cut((double)value, to) : integer_at(in, from));
}

/* Numbers at the ends of integers, and beside them. */
static void draw_edges(session_t* session, session_tensor_t* tensor) {
  static const double ends[] = {
      0x1p31,   0x1p31 + 5, -0x1p31, -0x1p31 - 0.5, -0x1p31 - 1, 0x1p32 + 7, 255.9, 256.5,
      0x1p63,   -0x1p63,    1e300,   -1e300,        -0.0,        0.5,        -0.9,  -1,
      INFINITY, -INFINITY,  NAN,     0x1p-149,      65504,       65520,      3e38,  127.5};
  enum { ENDS = sizeof ends / sizeof *ends };
  const uint64_t bytes = (uint64_t)tbk_dtype_bytes(tensor->tensor.dtype);
  for (uint64_t at = 0; at < tensor->bytes && is_real(tensor->tensor.dtype); at += 2 * bytes)
    put_real((char*)tensor->host + at, tensor->tensor.dtype,
             (long double)ends[at / bytes / 2 % ENDS]);
  session_upload(session, tensor);
}

static void check_copy(session_t* session, int32_t to, int32_t from, const layout_t* layout) {
  session_tensor_t out = draw(session, to, layout, OUT), in = draw(session, from, layout, LEFT);
  draw_edges(session, &in);
  char* right = copy_of(&out);
  for (int64_t i = 0; i < session_count(&out); i++)
    if (to == from)
      memcpy(place(&out, right, i), session_element(&in, i), (size_t)tbk_dtype_bytes(to));
    else
      convert(place(&out, right, i), to, session_element(&in, i), from);
  const tbk_args_copy__t copy = {sizeof copy, session_point(&out), session_point(&in), 0};
  CU_ASSERT_EQUAL(session_named(session, TBK_NAME_copy_, &copy, &out), TBK_OK);
  check(session, &out, right);
  session_free(session, &in);
}

static void copies_convert_as_elements_do(void) {
  session_t session = session_open("");
  for (size_t to = 0; to < DTYPES; to++)
    for (size_t from = 0; from < DTYPES; from++)
      for (size_t i = 0; i < LAYOUTS; i++)
        if (to == from || (to < REALS && from < REALS))
          check_copy(&session, dtypes[to], dtypes[from], &layouts[i]);
  session_close(&session);
}

static void check_fill(session_t* session, int32_t dtype, const layout_t* layout) {
  session_tensor_t out = draw(session, dtype, layout, OUT);
  char* right = copy_of(&out);
  for (int64_t i = 0; i < session_count(&out); i++) {
    void* at = place(&out, right, i);
    const int32_t part = dtype == TBK_COMPLEX64 ? TBK_FLOAT32 : TBK_FLOAT64;
    memset(at, 0, (size_t)tbk_dtype_bytes(dtype));
    if (tbk_dtype_kind(dtype) == TBK_KIND_INTEGER)
      put_integer(at, dtype, -77);
    else
      put_real(at, is_real(dtype) ? dtype : part, -77);
  }
  const tbk_args_fill__Scalar_t fill = {
      sizeof fill, session_point(&out), {.kind = TBK_SCALAR_INT, .integer = -77}};
  CU_ASSERT_EQUAL(session_named(session, TBK_NAME_fill__Scalar, &fill, &out), TBK_OK);
  check(session, &out, right);
}

static void fills_reach_elements_alone(void) {
  session_t session = session_open("");
  for (size_t d = 0; d < DTYPES; d++)
    for (size_t i = 0; i < LAYOUTS; i++)
      check_fill(&session, dtypes[d], &layouts[i]);
  session_close(&session);
}

/* ------------------------------------------------------------------------------------- choices -- */

/* The condition lies as the output does, or as the second input. */
static void check_where(session_t* session, int32_t dtype, const layout_t* layout, int which) {
  session_tensor_t out = draw(session, dtype, layout, OUT);
  session_tensor_t condition = draw(session, TBK_BOOL, layout, which);
  session_tensor_t one = draw(session, dtype, layout, LEFT),
                   other = draw(session, dtype, layout, RIGHT);
  for (uint64_t i = 0; i < condition.bytes; i++)
    if (i % 3) ((uint8_t*)condition.host)[i] = 0;
  session_upload(session, &condition);
  char* right = copy_of(&out);
  for (int64_t i = 0; i < session_count(&out); i++) {
    const bool holds = *(const uint8_t*)session_element(&condition, i) != 0;
    memcpy(place(&out, right, i), session_element(holds ? &one : &other, i),
           (size_t)tbk_dtype_bytes(dtype));
  }
  const tbk_args_where_self_t where = {sizeof where, session_point(&condition), session_point(&one),
                                       session_point(&other), session_point(&out)};
  CU_ASSERT_EQUAL(session_named(session, TBK_NAME_where_self, &where, &out), TBK_OK);
  check(session, &out, right);
  session_free(session, &condition);
  session_free(session, &one);
  session_free(session, &other);
}

static void where_takes_one_of_two(void) {
  session_t session = session_open("");
  for (size_t d = 0; d < DTYPES; d++)
    for (size_t i = 0; i < LAYOUTS; i++) {
      check_where(&session, dtypes[d], &layouts[i], OUT);
      check_where(&session, dtypes[d], &layouts[i], RIGHT);
    }
  session_close(&session);
}

const CU_TestInfo cpu_named_tests[] = {
    {"sums_and_products_of_elements", sums_and_products_of_elements},
    {"rows_of_a_matrix_are_added_in_order", rows_of_a_matrix_are_added_in_order},
    {"copies_convert_as_elements_do", copies_convert_as_elements_do},
    {"fills_reach_elements_alone", fills_reach_elements_alone},
    {"where_takes_one_of_two", where_takes_one_of_two},
    CU_TEST_INFO_NULL,
};
