/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * opcode_test.c: each opcode on numbers, against the C library's functions in a wider type. The bounds
 * are those of the table, or less.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

enum { DRAWN = 20000 };

static double bound_of(uint16_t opcode) {
  switch (opcode) {
#define BOUND(name, number, operands, takes, gives, bound, meaning) \
  case number:                                                      \
    return bound;
    TBK_OPCODE_MAP(BOUND)
#undef BOUND
    default:
      return 0;
  }
}

/* The table's bounds leave room for devices; of what is computed by arithmetic of our own less is promised. */
static double promised(uint16_t opcode, bool narrow) {
  enum { UNITS = 4 };
  const bool is_own =
      opcode == TBK_OPCODE_EXP || opcode == TBK_OPCODE_LOG || opcode == TBK_OPCODE_ERF;
  return is_own && narrow ? UNITS : bound_of(opcode) + 0.5;
}

typedef long double (*unary_fn)(long double);
typedef long double (*binary_fn)(long double, long double);

static long double negate(long double a) {
  return -a;
}
static long double gamma_log(long double a) {
  int sign;
  return lgammal_r(a, &sign);
}
static long double add(long double a, long double b) {
  return a + b;
}
static long double sub(long double a, long double b) {
  return a - b;
}
static long double mul(long double a, long double b) {
  return a * b;
}
static long double quotient(long double a, long double b) {
  return a / b;
}
static long double floored(long double a, long double b) {
  long double left = fmodl(a, b);
  return left != 0 && (left < 0) != (b < 0) ? left + b : left;
}
static long double least(long double a, long double b) {
  return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
}
static long double greatest(long double a, long double b) {
  return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
}

#define UNARY(name, function) \
  { TBK_OPCODE_##name, #name, function, NULL }
#define BINARY(name, function) \
  { TBK_OPCODE_##name, #name, NULL, function }
static const struct {
  uint16_t opcode;
  const char* name;
  unary_fn unary;
  binary_fn binary;
} rows[] = {
    UNARY(NEG, negate),         UNARY(ABS, fabsl),     UNARY(FLOOR, floorl),
    UNARY(CEIL, ceill),         UNARY(TRUNC, truncl),  UNARY(ROUND, rintl),
    UNARY(SQRT, sqrtl),         UNARY(EXP, expl),      UNARY(EXPM1, expm1l),
    UNARY(LOG, logl),           UNARY(LOG1P, log1pl),  UNARY(LOG2, log2l),
    UNARY(LOG10, log10l),       UNARY(SIN, sinl),      UNARY(COS, cosl),
    UNARY(TAN, tanl),           UNARY(ASIN, asinl),    UNARY(ACOS, acosl),
    UNARY(ATAN, atanl),         UNARY(SINH, sinhl),    UNARY(COSH, coshl),
    UNARY(TANH, tanhl),         UNARY(ASINH, asinhl),  UNARY(ACOSH, acoshl),
    UNARY(ATANH, atanhl),       UNARY(ERF, erfl),      UNARY(ERFC, erfcl),
    UNARY(LGAMMA, gamma_log),   BINARY(ADD, add),      BINARY(SUB, sub),
    BINARY(MUL, mul),           BINARY(DIV, quotient), BINARY(REM_TRUNC, fmodl),
    BINARY(REM_FLOOR, floored), BINARY(MIN, least),    BINARY(MAX, greatest),
    BINARY(POW, powl),          BINARY(ATAN2, atan2l), BINARY(COPYSIGN, copysignl),
};

/* Half of the numbers have any bits, half are of everyday size. */
static double draw_real(uint64_t* state, bool narrow) {
  static const double ends[] = {0.0,   -0.0,  1,        -1,        0.5, -0.5, 2.5, 1e30,
                                -1e30, 1e-30, INFINITY, -INFINITY, NAN, 3,    100, -2};
  const uint64_t bits = session_draw(state), kind = session_draw(state) % 16;
  if (kind == 0) return ends[bits % (sizeof ends / sizeof *ends)];
  if (kind < 8) return ((double)(int64_t)bits) * 0x1p-60; /* to 8 */
  float small;
  double large;
  memcpy(&small, &bits, sizeof small);
  memcpy(&large, &bits, sizeof large);
  return narrow ? (double)small : large;
}

/* How many units in the last place of the right answer; 0 where both are NaN, or both the same. */
static double error_of(double seen, long double right, bool narrow) {
  const double nearest = narrow ? (double)(float)right : (double)right;
  if (isnan(seen) || isnan(nearest)) return isnan(seen) && isnan(nearest) ? 0 : INFINITY;
  if (seen == nearest) return 0;
  const double least_normal = narrow ? 0x1p-126 : 0x1p-1022;
  const double most = narrow ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
  if (fabs(nearest) < least_normal && fabs(seen) <= least_normal) return 0; /* may be zeros */
  double size = fabs(nearest) < least_normal ? least_normal : fabs(nearest);
  if (size > most) size = most;
  if (isinf(seen)) seen = copysign(narrow ? 0x1p128 : INFINITY, seen);
  const double unit = ldexp(1, ilogb(size) - (narrow ? 23 : 52));
  return (double)(fabsl((long double)seen - (isinf(nearest) ? copysign(size, nearest) : right)) /
                  unit);
}

static double real_at(const session_tensor_t* tensor, int64_t i) {
  const void* at = session_element(tensor, i);
  return tensor->tensor.dtype == TBK_FLOAT32 ? (double)*(const float*)at : *(const double*)at;
}

static void fill_reals(session_t* session, session_tensor_t* tensor, uint64_t seed) {
  const bool narrow = tensor->tensor.dtype == TBK_FLOAT32;
  for (int64_t i = 0; i < session_count(tensor); i++) {
    const double value = draw_real(&seed, narrow);
    if (narrow)
      *(float*)session_element(tensor, i) = (float)value;
    else
      *(double*)session_element(tensor, i) = value;
  }
  session_upload(session, tensor);
}

static void check_row(session_t* session, size_t row, int32_t dtype) {
  const char* type = dtype == TBK_FLOAT32 ? "FLOAT32" : "FLOAT64";
  const bool binary = rows[row].binary != NULL;
  const int64_t sizes[] = {DRAWN};
  char text[512];
  snprintf(text, sizeof text,
           "program 1\ninput 0 %s\ninput 1 %s\nv0 = LOAD %s slot 0\nv1 = LOAD %s slot 1\n"
           "v2 = %s %s v0%s\nresult 0 v2\n",
           type, type, type, type, rows[row].name, type, binary ? " v1" : "");
  tbk_program_t* program = session_program(text);
  session_tensor_t a = session_tensor(session, dtype, 1, sizes, NULL, 0);
  session_tensor_t b = session_tensor(session, dtype, 1, sizes, NULL, 0);
  session_tensor_t c = session_tensor(session, dtype, 1, sizes, NULL, 7);
  fill_reals(session, &a, row + 1);
  fill_reals(session, &b, row + 1000);
  CU_ASSERT_EQUAL_FATAL(session_pointwise(session, program, (session_tensor_t*[]){&c, NULL},
                                          (session_tensor_t*[]){&a, &b, NULL}, NULL),
                        TBK_OK);
  double worst = 0;
  int64_t where = 0;
  for (int64_t i = 0; i < DRAWN; i++) {
    const long double x = real_at(&a, i), y = real_at(&b, i);
    if (rows[row].opcode == TBK_OPCODE_LGAMMA && !(x > 2)) continue;
    const long double right = binary ? rows[row].binary(x, y) : rows[row].unary(x);
    const double error = error_of(real_at(&c, i), right, dtype == TBK_FLOAT32);
    if (error > worst) worst = error, where = i;
  }
  const double bound = promised(rows[row].opcode, dtype == TBK_FLOAT32);
  if (worst > bound)
    printf("\n%s of %s: %g units at (%a, %a): %a\n", rows[row].name, type, worst,
           real_at(&a, where), real_at(&b, where), real_at(&c, where));
  CU_ASSERT(worst <= bound);
  free(program);
  session_free(session, &a);
  session_free(session, &b);
  session_free(session, &c);
}

static void reals_are_within_the_bounds_of_the_table(void) {
  session_t session = session_open("");
  for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
    check_row(&session, row, TBK_FLOAT32);
    check_row(&session, row, TBK_FLOAT64);
  }
  session_close(&session);
}

/* ---------------------------------------------------------------------------------- integers -- */

static bool is_open(uint16_t opcode, int64_t a, int64_t b, int width) {
  const bool divides = opcode >= TBK_OPCODE_DIV_TRUNC && opcode <= TBK_OPCODE_REM_FLOOR;
  const int64_t least_number = width == 32 ? INT32_MIN : INT64_MIN;
  return divides && (b == 0 || (b == -1 && a == least_number));
}

static __int128 floor_quotient(__int128 a, __int128 b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static __int128 integer_of(uint16_t opcode, __int128 a, __int128 b, int width) {
  const bool in_width = b >= 0 && b < width;
  switch (opcode) {
    case TBK_OPCODE_ADD:
      return a + b;
    case TBK_OPCODE_SUB:
      return a - b;
    case TBK_OPCODE_MUL:
      return a * b;
    case TBK_OPCODE_DIV_TRUNC:
      return a / b;
    case TBK_OPCODE_DIV_FLOOR:
      return floor_quotient(a, b);
    case TBK_OPCODE_REM_TRUNC:
      return a % b;
    case TBK_OPCODE_REM_FLOOR:
      return a - b * floor_quotient(a, b);
    case TBK_OPCODE_NEG:
      return -a;
    case TBK_OPCODE_ABS:
      return a < 0 ? -a : a;
    case TBK_OPCODE_MIN:
      return a < b ? a : b;
    case TBK_OPCODE_MAX:
      return a > b ? a : b;
    case TBK_OPCODE_AND:
      return a & b;
    case TBK_OPCODE_OR:
      return a | b;
    case TBK_OPCODE_XOR:
      return a ^ b;
    case TBK_OPCODE_NOT:
      return ~a;
    case TBK_OPCODE_SHL:
      return in_width ? (__int128)((unsigned __int128)a << (int)b) : 0;
    default: /* SHR */
      return in_width ? a >> (int)b : a < 0 ? -1 : 0;
  }
}

#define WHOLE(name, count) \
  { TBK_OPCODE_##name, #name, count }
static const struct {
  uint16_t opcode;
  const char* name;
  int operands;
} whole_rows[] = {
    WHOLE(ADD, 2),       WHOLE(SUB, 2),       WHOLE(MUL, 2),       WHOLE(DIV_TRUNC, 2),
    WHOLE(DIV_FLOOR, 2), WHOLE(REM_TRUNC, 2), WHOLE(REM_FLOOR, 2), WHOLE(NEG, 1),
    WHOLE(ABS, 1),       WHOLE(MIN, 2),       WHOLE(MAX, 2),       WHOLE(AND, 2),
    WHOLE(OR, 2),        WHOLE(XOR, 2),       WHOLE(NOT, 1),       WHOLE(SHL, 2),
    WHOLE(SHR, 2),
};

static int64_t draw_integer(uint64_t* state, int width) {
  static const int64_t ends[] = {0,  1,  -1,        2,         31,        32,       63,
                                 64, -5, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
  const uint64_t bits = session_draw(state);
  int64_t value = bits % 2 ? ends[bits / 2 % (sizeof ends / sizeof *ends)]
                           : (int64_t)session_draw(state) >> (bits / 2 % 60);
  return width == 32 ? (int32_t)value : value;
}

static int64_t whole_at(const session_tensor_t* tensor, int64_t i) {
  const void* at = session_element(tensor, i);
  return tensor->tensor.dtype == TBK_INT32 ? *(const int32_t*)at : *(const int64_t*)at;
}

static void fill_integers(session_t* session, session_tensor_t* tensor, uint64_t seed) {
  for (int64_t i = 0; i < session_count(tensor); i++) {
    if (tensor->tensor.dtype == TBK_INT32)
      *(int32_t*)session_element(tensor, i) = (int32_t)draw_integer(&seed, 32);
    else
      *(int64_t*)session_element(tensor, i) = draw_integer(&seed, 64);
  }
  session_upload(session, tensor);
}

static void check_whole_row(session_t* session, size_t row, int32_t dtype) {
  const int width = dtype == TBK_INT32 ? 32 : 64;
  const int64_t sizes[] = {DRAWN};
  char text[512];
  snprintf(text, sizeof text,
           "program 1\ninput 0 INT%d\ninput 1 INT%d\nv0 = LOAD INT%d slot 0\n"
           "v1 = LOAD INT%d slot 1\nv2 = %s INT%d v0%s\nresult 0 v2\n",
           width, width, width, width, whole_rows[row].name, width,
           whole_rows[row].operands == 2 ? " v1" : "");
  tbk_program_t* program = session_program(text);
  session_tensor_t a = session_tensor(session, dtype, 1, sizes, NULL, 0);
  session_tensor_t b = session_tensor(session, dtype, 1, sizes, NULL, 0);
  session_tensor_t c = session_tensor(session, dtype, 1, sizes, NULL, 7);
  fill_integers(session, &a, row + 1);
  fill_integers(session, &b, row + 500);
  CU_ASSERT_EQUAL_FATAL(session_pointwise(session, program, (session_tensor_t*[]){&c, NULL},
                                          (session_tensor_t*[]){&a, &b, NULL}, NULL),
                        TBK_OK);
  int64_t wrong = -1;
  for (int64_t i = 0; i < DRAWN && wrong < 0; i++) {
    const int64_t x = whole_at(&a, i), y = whole_at(&b, i);
    if (is_open(whole_rows[row].opcode, x, y, width)) continue;
    int64_t right = (int64_t)integer_of(whole_rows[row].opcode, x, y, width);
    if (width == 32) right = (int32_t)right;
    if (whole_at(&c, i) != right) wrong = i;
  }
  if (wrong >= 0)
    printf("\n%s of INT%d: of %lld and %lld: %lld\n", whole_rows[row].name, width,
           (long long)whole_at(&a, wrong), (long long)whole_at(&b, wrong),
           (long long)whole_at(&c, wrong));
  CU_ASSERT(wrong < 0);
  free(program);
  session_free(session, &a);
  session_free(session, &b);
  session_free(session, &c);
}

static void integers_are_exact_and_wrap(void) {
  session_t session = session_open("");
  for (size_t row = 0; row < sizeof whole_rows / sizeof *whole_rows; row++) {
    check_whole_row(&session, row, TBK_INT32);
    check_whole_row(&session, row, TBK_INT64);
  }
  session_close(&session);
}

/* What a comparison says of two numbers, and a class of one, against C's own operators. */
static void comparisons_know_nan_and_zeros(void) {
  session_t session = session_open("");
  const int64_t sizes[] = {DRAWN};
  tbk_program_t* program = session_program(
      "program 1\ninput 0 FLOAT32\ninput 1 FLOAT32\nv0 = LOAD FLOAT32 slot 0\n"
      "v1 = LOAD FLOAT32 slot 1\nv2 = EQ BOOL v0 v1\nv3 = NE BOOL v0 v1\nv4 = LT BOOL v0 v1\n"
      "v5 = LE BOOL v0 v1\nv6 = GT BOOL v0 v1\nv7 = GE BOOL v0 v1\nv8 = ISNAN BOOL v0\n"
      "v9 = SIGNBIT BOOL v0\nresult 0 v2\nresult 1 v3\nresult 2 v4\nresult 3 v5\nresult 4 v6\n"
      "result 5 v7\nresult 6 v8\nresult 7 v9\n");
  session_tensor_t in[2], out[8];
  session_tensor_t *ins[3] = {&in[0], &in[1], NULL}, *outs[9] = {NULL};
  for (int i = 0; i < 2; i++) {
    in[i] = session_tensor(&session, TBK_FLOAT32, 1, sizes, NULL, 0);
    fill_reals(&session, &in[i], 77); /* the same: many are equal */
  }
  for (int64_t i = 0; i < DRAWN; i += 2) {
    uint64_t state = (uint64_t)i + 5;
    *(float*)session_element(&in[1], i) = (float)draw_real(&state, true);
  }
  session_upload(&session, &in[1]);
  for (int i = 0; i < 8; i++) {
    out[i] = session_tensor(&session, TBK_BOOL, 1, sizes, NULL, 9);
    outs[i] = &out[i];
  }
  CU_ASSERT_EQUAL_FATAL(session_pointwise(&session, program, outs, ins, NULL), TBK_OK);
  int64_t wrong = 0;
  for (int64_t i = 0; i < DRAWN; i++) {
    const float a = (float)real_at(&in[0], i), b = (float)real_at(&in[1], i);
    const bool right[8] = {a == b, a != b, a<b, a <= b, a> b, a >= b, isnan(a), signbit(a) != 0};
    for (int k = 0; k < 8; k++)
      wrong += *(uint8_t*)session_element(&out[k], i) != right[k];
  }
  CU_ASSERT_EQUAL(wrong, 0);
  free(program);
  for (int i = 0; i < 2; i++)
    session_free(&session, &in[i]);
  for (int i = 0; i < 8; i++)
    session_free(&session, &out[i]);
  session_close(&session);
}

const CU_TestInfo cpu_opcode_tests[] = {
    {"reals_are_within_the_bounds_of_the_table", reals_are_within_the_bounds_of_the_table},
    {"integers_are_exact_and_wrap", integers_are_exact_and_wrap},
    {"comparisons_know_nan_and_zeros", comparisons_know_nan_and_zeros},
    CU_TEST_INFO_NULL,
};
