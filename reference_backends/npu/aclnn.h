/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * aclnn.h: the functions of aclnn that serve overloads by name, one row each in aclnn.def. The backend and its simulator are both built from these rows.
 */
#ifndef TBK_NPU_ACLNN_H
#define TBK_NPU_ACLNN_H

#include "acl.h"

/* An argument of phase one, by class: Pointer to a descriptor, Integer, Double, Boolean, Number (32 bits) and
 * Character (8 bits: cubeMathType). The letters of ACLNN_ARGUMENTS say what a pointer is to. */
typedef union aclnn_word {
  void* p;
  int64_t i;
  double d;
  bool b;
  int n;
  int8_t c;
} aclnn_word_t;

typedef void* aclnn_p;
typedef int64_t aclnn_i;
typedef double aclnn_d;
typedef bool aclnn_b;
typedef int aclnn_n;
typedef int8_t aclnn_c;

/* Of a signature, which is N(classes): the parameters of phase one; the words of them; and the arguments that the words
 * hold. */
#define ACLNN_PARAMETERS_1(A) aclnn_##A a0
#define ACLNN_PARAMETERS_2(A, B) ACLNN_PARAMETERS_1(A), aclnn_##B a1
#define ACLNN_PARAMETERS_3(A, B, C) ACLNN_PARAMETERS_2(A, B), aclnn_##C a2
#define ACLNN_PARAMETERS_4(A, B, C, D) ACLNN_PARAMETERS_3(A, B, C), aclnn_##D a3
#define ACLNN_PARAMETERS_5(A, B, C, D, E) ACLNN_PARAMETERS_4(A, B, C, D), aclnn_##E a4
#define ACLNN_PARAMETERS_6(A, B, C, D, E, F) ACLNN_PARAMETERS_5(A, B, C, D, E), aclnn_##F a5
#define ACLNN_PARAMETERS_7(A, B, C, D, E, F, G) ACLNN_PARAMETERS_6(A, B, C, D, E, F), aclnn_##G a6
#define ACLNN_PARAMETERS_8(A, B, C, D, E, F, G, H) \
  ACLNN_PARAMETERS_7(A, B, C, D, E, F, G), aclnn_##H a7

/* NOLINTBEGIN(bugprone-macro-parentheses): a designator takes no parentheses. */
#define ACLNN_WORD(class, value) \
  { .class = (value) }
/* NOLINTEND(bugprone-macro-parentheses) */
#define ACLNN_WORDS_1(A) ACLNN_WORD(A, a0)
#define ACLNN_WORDS_2(A, B) ACLNN_WORDS_1(A), ACLNN_WORD(B, a1)
#define ACLNN_WORDS_3(A, B, C) ACLNN_WORDS_2(A, B), ACLNN_WORD(C, a2)
#define ACLNN_WORDS_4(A, B, C, D) ACLNN_WORDS_3(A, B, C), ACLNN_WORD(D, a3)
#define ACLNN_WORDS_5(A, B, C, D, E) ACLNN_WORDS_4(A, B, C, D), ACLNN_WORD(E, a4)
#define ACLNN_WORDS_6(A, B, C, D, E, F) ACLNN_WORDS_5(A, B, C, D, E), ACLNN_WORD(F, a5)
#define ACLNN_WORDS_7(A, B, C, D, E, F, G) ACLNN_WORDS_6(A, B, C, D, E, F), ACLNN_WORD(G, a6)
#define ACLNN_WORDS_8(A, B, C, D, E, F, G, H) ACLNN_WORDS_7(A, B, C, D, E, F, G), ACLNN_WORD(H, a7)

#define ACLNN_VALUES_1(A) w[0].A
#define ACLNN_VALUES_2(A, B) ACLNN_VALUES_1(A), w[1].B
#define ACLNN_VALUES_3(A, B, C) ACLNN_VALUES_2(A, B), w[2].C
#define ACLNN_VALUES_4(A, B, C, D) ACLNN_VALUES_3(A, B, C), w[3].D
#define ACLNN_VALUES_5(A, B, C, D, E) ACLNN_VALUES_4(A, B, C, D), w[4].E
#define ACLNN_VALUES_6(A, B, C, D, E, F) ACLNN_VALUES_5(A, B, C, D, E), w[5].F
#define ACLNN_VALUES_7(A, B, C, D, E, F, G) ACLNN_VALUES_6(A, B, C, D, E, F), w[6].G
#define ACLNN_VALUES_8(A, B, C, D, E, F, G, H) ACLNN_VALUES_7(A, B, C, D, E, F, G), w[7].H

/* The most arguments of a function, and of tensors among them with those in lists. */
enum { ACLNN_ARGUMENTS = 8, ACLNN_TENSORS = 64 };

/*
 * ACLNN(name, signature, arguments, page, meaning, overloads): what it computes is a text of simulator/meaning.c; the
 * overloads that it serves are OVERLOAD(name, dtypes of the first tensor), RECIPE(name, dtypes, recipe) where the
 * recipe of operation.h is not the arguments themselves, and CHECKED(name, recipe, rules) where a rule of the emitter
 * looks at the arguments first, and a kernel of the emitter is the meaning. Arguments have a letter for each:
 *   t a tensor that is read, q one that may be absent, T a list of them; o, O what is written
 *   s aclScalar, S one that may be absent, l aclIntArray
 *   i, d, b, n, c by value; z a text
 */
typedef enum aclnn_function {
#define ACLNN(name, signature, arguments, page, meaning, overloads) ACLNN_FUNCTION_##name,
#include "aclnn.def"
#undef ACLNN
  ACLNN_FUNCTIONS
} aclnn_function_t;

/* Both phases; issue is NULL where the library lacks one of them. */
typedef struct aclnn_phases {
  void (*plan)(void);
  acl_issue issue;
} aclnn_phases_t;

typedef struct aclnn_row {
  const char* name; /* without "aclnn" */
  const char* arguments;
  const char* page;
  /* Calls its phase one. */
  acl_result (*call)(void (*plan)(void), const aclnn_word_t* words, uint64_t* out_bytes,
                     acl_executor** out_executor);
} aclnn_row_t;

#endif /* TBK_NPU_ACLNN_H */
