/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shim.h: a driver that stands before the simulated one and hands each call on, but for one fault.
 * TBK_<NAME>_SHIM names the fault:
 *   skip:SYMBOL:K         call K does nothing, and says success
 *   swap:SYMBOL.NAME:K    call K gets another live handle for its parameter NAME
 *   drop:SYMBOL:K         error K is answered as success
 *   fail:SYMBOL:K:RESULT  call K does nothing, and answers RESULT; also all later ones, where it is a
 *                         fault that a context does not survive; K = 0 is each call
 *   NAME                  one that was written by hand (hooks.c)
 * TBK_<NAME>_SHIM_HITS and TBK_<NAME>_SHIM_SEEN name files: of what took place, of what is called.
 * All that can be said by position is made from the driver's own map: nothing here names a function.
 *
 * A driver has a header shim_driver.h with
 *   SHIM_NAME     "CUDA": what stands for <NAME>
 *   SHIM_BEHIND   the file name of the simulated driver, which lies beside this library
 *   SHIM_MARKER   the symbol that marks it
 *   SHIM_MAP      SHIM_ROW(member, symbol, result, parameters) for each function, the last two as text
 *   SHIM_ENVIRONMENT(simulator)   may be there: sets what else the backend is to find in its environment
 * and functions that say what this header asks for below.
 */
#ifndef SIMKIT_SHIM_H
#define SIMKIT_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim_driver.h"

/* No function of the map takes more parameters, nor one that is not passed like a word. */
enum { SHIM_WORDS = 19 };

#define SHIM_ROW(member, symbol, result, parameters) SHIM_##member,
typedef enum shim_index { SHIM_MAP SHIM_FUNCTIONS } shim_index_t;
#undef SHIM_ROW

/* A code, or a pointer; 0 is success of the one and failure of the other. */
typedef uintptr_t shim_result_t;

typedef struct shim_call {
  shim_index_t index;
  uintptr_t words[SHIM_WORDS];
} shim_call_t;

/* Calls what stands behind, with these words. */
shim_result_t shim_real(shim_index_t index, const uintptr_t words[SHIM_WORDS]);

/* Remembers, for whoever judges the fault, that it took place. */
void shim_hit(void);

/* A fault of the backend, written by hand: what it does instead of one call. */
typedef struct shim_hook {
  const char* name;
  shim_index_t index;
  shim_result_t (*act)(shim_call_t* call);
} shim_hook_t;

/* Tables of them, up to NULL; each up to one without a name. */
extern const shim_hook_t* const shim_hook_tables[];

/* Returns another live handle of the kind that the parameter takes; the same where there is none. */
uintptr_t shim_other(shim_index_t index, size_t parameter, uintptr_t value);

/* Keeps what the call has made, and forgets what it has ended. */
void shim_note(const shim_call_t* call, shim_result_t result);

/* Copies the name of parameter `number` to `out`; false where there is none. */
bool shim_parameter(shim_index_t index, size_t number, char out[32]);

/* Whether that parameter takes a handle. */
bool shim_is_handle(shim_index_t index, size_t number);

extern const char* const shim_symbols[SHIM_FUNCTIONS];
extern const char* const shim_results[SHIM_FUNCTIONS]; /* what each returns, as in the map */
extern const char* const shim_texts[SHIM_FUNCTIONS];   /* of the parameters */

/* -------------------------------------------------------------------------- said by each driver -- */

typedef struct shim_handle {
  const char* kind; /* the name of the type, or what it begins with */
  int stars;        /* of a parameter that takes one */
  size_t bytes;     /* of what is written where one is given out */
} shim_handle_t;

/* The types that are handles, up to one with no kind; those of a longer name first. */
extern const shim_handle_t shim_handles[];

/* Whether every call is answered with this code from then on, but for those that it does not concern. */
bool shim_is_sticky(int result);
bool shim_meets_sticky(const char* symbol);

#endif /* SIMKIT_SHIM_H */
