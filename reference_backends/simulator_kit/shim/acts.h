/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * acts.h: what faults that are written by hand are made of.
 */
#ifndef SIMKIT_ACTS_H
#define SIMKIT_ACTS_H

#include "shim.h"

static inline shim_result_t go_on(shim_call_t* call) {
  shim_hit();
  return shim_real(call->index, call->words);
}

static inline shim_result_t nothing(shim_call_t* call) {
  (void)call;
  shim_hit();
  return 0;
}

static inline shim_result_t twice(shim_call_t* call) {
  shim_result_t result = go_on(call);
  (void)shim_real(call->index, call->words);
  return result;
}

/* The error is swallowed, and what was to be made is not there. */
static inline shim_result_t say_success(shim_call_t* call) {
  if (shim_real(call->index, call->words) != 0) shim_hit();
  return 0;
}

/* All get the handle that was made first. */
static inline shim_result_t the_first_again(shim_call_t* call) {
  static uintptr_t first[SHIM_FUNCTIONS];
  shim_result_t result = shim_real(call->index, call->words);
  if (result != 0) return result;
  uintptr_t* out = (uintptr_t*)call->words[0];
  if (first[call->index] == 0) first[call->index] = *out;
  if (*out != first[call->index]) shim_hit();
  *out = first[call->index];
  return 0;
}

/* The first error leaves the thread where it is: whoever returns early forgets to put back. */
static _Thread_local bool shim_failed;

static inline shim_result_t look_whether_it_fails(shim_call_t* call) {
  shim_result_t result = shim_real(call->index, call->words);
  shim_failed = shim_failed || result != 0;
  return result;
}

static inline shim_result_t stay_after_an_error(shim_call_t* call) {
  if (!shim_failed) return shim_real(call->index, call->words);
  shim_failed = false;
  return nothing(call);
}

/* TURNS_INTO(NAME, INDEX): another function is called, which takes the first two in the other's order. */
#define TURNS_INTO(name, function)                                        \
  static shim_result_t name(shim_call_t* call) {                          \
    const uintptr_t words[SHIM_WORDS] = {call->words[1], call->words[0]}; \
    shim_hit();                                                           \
    return shim_real(function, words);                                    \
  }
/* ADDS(NAME, WORD, AMOUNT), SETS(NAME, WORD, VALUE): one argument is wrong. */
#define ADDS(name, word, amount)                 \
  static shim_result_t name(shim_call_t* call) { \
    call->words[word] += (uintptr_t)(amount);    \
    return go_on(call);                          \
  }
#define SETS(name, word, value)                  \
  static shim_result_t name(shim_call_t* call) { \
    call->words[word] = (uintptr_t)(value);      \
    return go_on(call);                          \
  }
/* EXCHANGES(NAME, ONE, TWO): two arguments are in each other's place. */
#define EXCHANGES(name, one, two)                \
  static shim_result_t name(shim_call_t* call) { \
    uintptr_t first = call->words[one];          \
    call->words[one] = call->words[two];         \
    call->words[two] = first;                    \
    return go_on(call);                          \
  }
/* SWAPS(NAME, WORD): another live handle, where there is one. */
#define SWAPS(name, word)                                                       \
  static shim_result_t name(shim_call_t* call) {                                \
    uintptr_t other = shim_other(call->index, word, call->words[word]);         \
    if (other == call->words[word]) return shim_real(call->index, call->words); \
    call->words[word] = other;                                                  \
    return go_on(call);                                                         \
  }
/* BEFORE(NAME, WORD): the argument of the call before, of whatever thread. */
#define BEFORE(name, word)                                                         \
  static shim_result_t name(shim_call_t* call) {                                   \
    static uintptr_t kept; /* atomic */                                            \
    uintptr_t mine = call->words[word];                                            \
    uintptr_t before = __atomic_exchange_n(&kept, mine, __ATOMIC_ACQ_REL);         \
    if (before == 0 || before == mine) return shim_real(call->index, call->words); \
    call->words[word] = before;                                                    \
    return go_on(call);                                                            \
  }

#endif /* SIMKIT_ACTS_H */
