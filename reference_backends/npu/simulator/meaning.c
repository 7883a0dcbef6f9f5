/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * meaning.c: what each function means, as a routine and formulas: "softmax: a", or "exp(a)" for each element.
 */
#include <string.h>

#include "routine.h"

static const char* const meanings[ACLNN_FUNCTIONS] = {
#define ACLNN(name, signature, arguments, page, meaning, overloads) (meaning),
#include "../aclnn.def"
#undef ACLNN
};

static const struct {
  const char* name;
  sim_routine_t run;
} routines[] = {
#define ROUTINE(name) {#name, sim_##name},
    SIM_ROUTINES(ROUTINE)
#undef ROUTINE
};

const char* sim_meaning_of(aclnn_function_t function) {
  return meanings[function];
}

static sim_routine_t find(const char* text, size_t length) {
  for (size_t i = 0; i < sizeof routines / sizeof *routines; i++)
    if (strlen(routines[i].name) == length && strncmp(routines[i].name, text, length) == 0)
      return routines[i].run;
  return NULL;
}

bool sim_meaning_compile(const char* text, sim_routine_t* out_routine, sim_run_t* run) {
  const char* colon = strchr(text, ':');
  *out_routine = colon != NULL ? find(text, (size_t)(colon - text)) : sim_pointwise;
  text = colon != NULL ? colon + 1 : text;
  for (int i = 0; i < SIM_RESULTS && text != NULL && *text != '\0'; i++) {
    text = sim_formula_compile(text, &run->formula[i]);
    if (text != NULL && *text == ';') text++;
  }
  return *out_routine != NULL && text != NULL && *text == '\0';
}
