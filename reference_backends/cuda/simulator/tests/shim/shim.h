/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * shim.h: a driver that stands before the simulated one and hands each call on, but for one fault.
 * TBK_CUDA_SHIM names the fault:
 *   skip:SYMBOL:K         call K does nothing, and says success
 *   swap:SYMBOL.NAME:K    call K gets another live handle for its parameter NAME
 *   drop:SYMBOL:K         error K is answered as success
 *   fail:SYMBOL:K:RESULT  call K does nothing, and answers RESULT; also all later ones, where it is a
 *                         fault that a context does not survive; K = 0 is each call
 *   NAME                  one that was written by hand (hooks.c)
 * All that can be said by position is made from the map in driver.h: nothing here names a function.
 */
#ifndef SIM_SHIM_H
#define SIM_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../driver.h"

/* No function of the map takes more parameters, nor one that is not passed like a word. */
enum { SHIM_WORDS = 11 };

#define SHIM_INDEX(member, symbol, parameters) SHIM_##member,
typedef enum shim_index { CUDA_DRIVER_MAP(SHIM_INDEX) SHIM_FUNCTIONS } shim_index_t;
#undef SHIM_INDEX

typedef struct shim_call {
  shim_index_t index;
  uintptr_t words[SHIM_WORDS];
} shim_call_t;

/* Calls what stands behind, with these words. */
cu_result shim_real(shim_index_t index, const uintptr_t words[SHIM_WORDS]);

/* Remembers, for whoever judges the fault, that it took place. */
void shim_hit(void);

/* A fault of the backend, written by hand: what it does instead of one call. */
typedef struct shim_hook {
  const char* name;
  shim_index_t index;
  cu_result (*act)(shim_call_t* call);
} shim_hook_t;

extern const shim_hook_t shim_hooks[];
extern const size_t shim_hook_count;

/* Returns another live handle of the kind that the parameter takes; the same where there is none. */
uintptr_t shim_other(shim_index_t index, size_t parameter, uintptr_t value);

/* Keeps what the call has made, and forgets what it has ended. */
void shim_note(const shim_call_t* call);

/* Copies the name of parameter `number` to `out`; false where there is none. */
bool shim_parameter(shim_index_t index, size_t number, char out[32]);

/* Whether that parameter takes a handle. */
bool shim_is_handle(shim_index_t index, size_t number);

extern const char* const shim_symbols[SHIM_FUNCTIONS];
extern const char* const shim_texts[SHIM_FUNCTIONS]; /* of the parameters, as in the map */

#endif /* SIM_SHIM_H */
