/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * tbk_opcodes.h: what an instruction of a program computes. One row is one opcode: its number is
 * never used again for another one, and the meaning that the row states is the contract.
 */
#ifndef TBK_TBK_OPCODES_H
#define TBK_TBK_OPCODES_H

/*
 * X(name, number, operands, takes, gives, bound, meaning)
 *   operands  how many; -1: as many as the input has indices.
 *   takes     dtypes of the operands, all the same where nothing else is said: I is INT32 or INT64,
 *             F is FLOAT32 or FLOAT64, N is I or F, L is BOOL or I, V is any of these, ANY is every
 *             dtype but complex ones, NONE is no operand.
 *   gives     SAME is the dtype of the operands; OWN is the instruction's dtype, which is free.
 *   bound     the largest error in units in the last place of the result; 0 is exact or rounded once.
 *
 *   SELECT's first operand is a BOOL; its others are of one dtype, which the value has. The values of a
 *   BITCAST and its operand are N. A PARAMETER is V.
 *
 * Integers are of two's complement: what does not fit wraps around. A NaN among the operands gives
 * NaN unless the row says otherwise; which NaN is open. Subnormal numbers are kept or taken as
 * zeros, of their sign or positive. A zero that FLOOR, CEIL, TRUNC, ROUND or REM_FLOOR gives has
 * either sign, whatever its row says of signs.
 * Two instructions are never contracted into one.
 */
#define TBK_OPCODE_MAP(X)                                                                          \
  X(CONSTANT, 1, 0, NONE, OWN, 0, "the immediate's bits")                                          \
  X(NUMBER, 2, 0, NONE, OWN, 0, "number `slot` of the launch")                                     \
  X(PARAMETER, 3, 0, NONE, OWN, 0, "parameter `slot`: a state of a reduction")                     \
  X(COORDINATE, 4, 0, NONE, INT64, 0, "the position along dimension `slot` of the space")          \
  X(LINEAR_INDEX, 5, 0, NONE, INT64, 0, "the position in the space, the last dimension first")     \
  X(LOAD, 6, -1, INT64, OWN, 0, "an element of input `slot`; a BOOL is whether its byte is not 0") \
  X(PHILOX, 7, 3, INT64, INT64, 0,                                                                 \
    "word `slot` (0 to 3) of Philox4x32-10, 0 to 2^32 - 1: the key is operand 0, low to high, "    \
    "the "                                                                                         \
    "counter operand 1 + operand 2 as 64 bits, low to high, and then 0, 0")                        \
  X(CAST, 8, 1, ANY, OWN, 0,                                                                       \
    "to integers wraps or truncates, and is open where a real number does not fit; to BOOL is "    \
    "whether it is not 0; to real numbers rounds once, to even")                                   \
  X(SELECT, 9, 3, ANY, SAME, 0, "operand 1 where operand 0, a BOOL, is true, else operand 2")      \
  X(BITCAST, 10, 1, N, OWN, 0, "the same bits as a dtype of the same size")                        \
                                                                                                   \
  X(ADD, 16, 2, N, SAME, 0, "a + b")                                                               \
  X(SUB, 17, 2, N, SAME, 0, "a - b")                                                               \
  X(MUL, 18, 2, N, SAME, 0, "a * b")                                                               \
  X(DIV, 19, 2, F, SAME, 0, "a / b; by zero an infinity, or NaN of 0 / 0")                         \
  X(DIV_TRUNC, 20, 2, I, SAME, 0,                                                                  \
    "a / b towards zero; by zero open, and of the least number by -1 too")                         \
  X(DIV_FLOOR, 21, 2, I, SAME, 0,                                                                  \
    "a / b towards the least; by zero open, and of the least number by -1 too")                    \
  X(REM_TRUNC, 22, 2, N, SAME, 0,                                                                  \
    "what a leaves when divided towards zero, with the sign of a; exact; by zero open or NaN")     \
  X(REM_FLOOR, 23, 2, N, SAME, 1,                                                                  \
    "what a leaves when divided towards the least, with the sign of b; by zero open or NaN")       \
  X(NEG, 24, 1, N, SAME, 0, "-a; of a zero the other zero")                                        \
  X(ABS, 25, 1, N, SAME, 0, "the size of a; of the least integer itself")                          \
  X(MIN, 26, 2, N, SAME, 0, "the less; NaN where either is; of two zeros either")                  \
  X(MAX, 27, 2, N, SAME, 0, "the greater; NaN where either is; of two zeros either")               \
  X(FMA, 28, 3, F, SAME, 0, "a * b + c, rounded once")                                             \
  X(COPYSIGN, 29, 2, F, SAME, 0, "the size of a with the sign of b, also where either is NaN")     \
                                                                                                   \
  X(AND, 32, 2, L, SAME, 0, "bit by bit")                                                          \
  X(OR, 33, 2, L, SAME, 0, "bit by bit")                                                           \
  X(XOR, 34, 2, L, SAME, 0, "bit by bit")                                                          \
  X(NOT, 35, 1, L, SAME, 0, "bit by bit; of a BOOL the other")                                     \
  X(SHL, 36, 2, I, SAME, 0, "a shifted left by b; 0 where b is negative or the width and more")    \
  X(SHR, 37, 2, I, SAME, 0,                                                                        \
    "a shifted right by b, its sign drawn in; only the sign where b is negative or the width and " \
    "more")                                                                                        \
                                                                                                   \
  X(EQ, 40, 2, V, BOOL, 0, "a == b; false where either is NaN")                                    \
  X(NE, 41, 2, V, BOOL, 0, "a != b; true where either is NaN")                                     \
  X(LT, 42, 2, V, BOOL, 0, "a < b; false where either is NaN")                                     \
  X(LE, 43, 2, V, BOOL, 0, "a <= b; false where either is NaN")                                    \
  X(GT, 44, 2, V, BOOL, 0, "a > b; false where either is NaN")                                     \
  X(GE, 45, 2, V, BOOL, 0, "a >= b; false where either is NaN")                                    \
  X(ISNAN, 46, 1, F, BOOL, 0, "whether a is NaN")                                                  \
  X(SIGNBIT, 47, 1, F, BOOL, 0, "whether the sign is set, also of zeros and NaN")                  \
                                                                                                   \
  X(FLOOR, 48, 1, F, SAME, 0, "the greatest whole number that is not above a")                     \
  X(CEIL, 49, 1, F, SAME, 0, "the least whole number that is not below a")                         \
  X(TRUNC, 50, 1, F, SAME, 0, "a without its fraction")                                            \
  X(ROUND, 51, 1, F, SAME, 0, "the nearest whole number; of two the even one")                     \
  X(SQRT, 52, 1, F, SAME, 1, "the square root; NaN below zero; -0 of -0")                          \
  X(EXP, 53, 1, F, SAME, 4, "e to the power a")                                                    \
  X(EXPM1, 54, 1, F, SAME, 4, "e to the power a, less 1")                                          \
  X(LOG, 55, 1, F, SAME, 4, "the natural logarithm; -infinity of zeros, NaN below")                \
  X(LOG1P, 56, 1, F, SAME, 4, "the natural logarithm of 1 + a")                                    \
  X(LOG2, 57, 1, F, SAME, 4, "the logarithm to base 2")                                            \
  X(LOG10, 58, 1, F, SAME, 4, "the logarithm to base 10")                                          \
  X(POW, 59, 2, F, SAME, 16, "a to the power b, with the special values of C's pow")               \
  X(SIN, 60, 1, F, SAME, 4, "the sine; NaN of infinities")                                         \
  X(COS, 61, 1, F, SAME, 4, "the cosine; NaN of infinities")                                       \
  X(TAN, 62, 1, F, SAME, 5, "the tangent; NaN of infinities")                                      \
  X(ASIN, 63, 1, F, SAME, 4, "the arc sine; NaN beyond 1")                                         \
  X(ACOS, 64, 1, F, SAME, 4, "the arc cosine; NaN beyond 1")                                       \
  X(ATAN, 65, 1, F, SAME, 5, "the arc tangent")                                                    \
  X(ATAN2, 66, 2, F, SAME, 6, "the angle of (b, a), with the special values of C's atan2")         \
  X(SINH, 67, 1, F, SAME, 4, "the hyperbolic sine")                                                \
  X(COSH, 68, 1, F, SAME, 4, "the hyperbolic cosine")                                              \
  X(TANH, 69, 1, F, SAME, 5, "the hyperbolic tangent")                                             \
  X(ASINH, 70, 1, F, SAME, 4, "the inverse of SINH")                                               \
  X(ACOSH, 71, 1, F, SAME, 4, "the inverse of COSH; NaN below 1")                                  \
  X(ATANH, 72, 1, F, SAME, 5, "the inverse of TANH; NaN beyond 1")                                 \
  X(ERF, 73, 1, F, SAME, 16, "the error function")                                                 \
  X(ERFC, 74, 1, F, SAME, 16, "1 less the error function")                                         \
  X(LGAMMA, 75, 1, F, SAME, 32,                                                                    \
    "the logarithm of the size of the gamma function; the bound holds where a is above 2")

enum {
#define TBK_OPCODE_ENUM(name, number, operands, takes, gives, bound, meaning) \
  TBK_OPCODE_##name = (number),
  TBK_OPCODE_MAP(TBK_OPCODE_ENUM)
#undef TBK_OPCODE_ENUM
      TBK_OPCODE_LIMIT = 256
};

#endif /* TBK_TBK_OPCODES_H */
