/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rules.c: a broken rule is written to the error stream, and ends the process like a sanitizer's
 * finding unless the option report=answer is given: a code alone might be dropped by who gets it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "simulator.h"

static const struct {
  int number;
  sim_class_t class;
  cu_result answer;
  const char* source;
  const char* sentence;
} rules[] = {
#define SIM_RULE_ROW(name, number, class, answer, source, sentence) \
  [number] = {number, class, answer, source, sentence},
    SIM_RULES(SIM_RULE_ROW)
#undef SIM_RULE_ROW
};

static const char* const classes[] = {"documented", "undefined there", "our guess"};

static _Thread_local int broken;

int tbk_cuda_simulator_broken(void) {
  int last = broken;
  broken = 0;
  return last;
}

static void say(FILE* to, sim_rule_t rule, const char* call) {
  fprintf(to, "SIM-CUDA-%03d: %s%s Broken by %s. (%s; %s)\n", rules[rule].number,
          rules[rule].class == SIM_GUESS ? "warning: " : "", rules[rule].sentence, call,
          classes[rules[rule].class], rules[rule].source);
}

/* For whoever does not see what a process writes to its error stream. */
static void log_broken(sim_rule_t rule, const char* call) {
  const char* path = getenv("TBK_CUDA_SIMULATOR_LOG");
  FILE* file = path != NULL ? fopen(path, "ae") : NULL;
  if (file == NULL) return;
  say(file, rule, call);
  fclose(file);
}

#ifdef SIM_SITES
/* The linker puts these around the section. */
extern const sim_site_t __start_sim_sites[];
extern const sim_site_t __stop_sim_sites[];

bool sim_is_off(const sim_site_t* site) {
  const char* off = getenv("TBK_CUDA_SIMULATOR_OFF");
  return off != NULL && site - __start_sim_sites == strtol(off, NULL, 10);
}

/* Returns site `number`; NULL where there are no more. */
SIM_EXPORT const sim_site_t* tbk_cuda_simulator_site(size_t number);
const sim_site_t* tbk_cuda_simulator_site(size_t number) {
  size_t count = (size_t)(__stop_sim_sites - __start_sim_sites);
  return number < count ? &__start_sim_sites[number] : NULL;
}
#endif

cu_result(sim_broken)(sim_rule_t rule, const char* call) {
  broken = (int)rule;
  bool guess = rules[rule].class == SIM_GUESS;
  say(stderr, rule, call);
  log_broken(rule, call);
  if (!guess && !(sim_options() && sim.own.answer)) abort();
  return rules[rule].answer;
}
